"""Nodes that fall silent while their jobs run: for administrators, by their names alone, and as a number."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from analysis.early.services import watch_running
from jobs.models import QueueReading
from portal.system.concerns import concerns
from portal.system.state import system_state
from tests.portal.conftest import text
from tests.portal.queue.queued import read, started
from tests.portal.running.shown import measured

pytestmark = pytest.mark.django_db


def titles() -> list[str]:
    return [concern.title for concern in concerns(system_state(timezone.now()))]


def test_a_node_of_a_running_job_that_is_silent_for_too_long_is_a_concern_and_a_number(cast, settings) -> None:
    grace = cast("grace")
    measured(cells={"Name": "secret_name"})
    assert "1 node of running jobs silent" not in titles()
    # Its last sample is a minute old.
    settings.INTERIM_SILENT_SECONDS = 50
    assert "1 node of running jobs silent" in titles()
    said = text(grace, "/system/")
    assert "nid005123" in said
    assert "secret_name" not in said
    assert "123456" not in said
    assert 'kaiku_silent_running_nodes{cluster="lumi"} 1.0' in text(Client(SERVER_NAME="127.0.0.1"), "/metrics")


def test_a_node_whose_job_has_ended_or_whose_queue_is_not_read_is_not_silent(cast, settings) -> None:
    settings.INTERIM_SILENT_SECONDS = 50
    measured()
    silent = "1 node of running jobs silent"
    assert silent in titles()
    QueueReading.objects.update(read_at=timezone.now() - timedelta(minutes=30))
    assert silent not in titles()
    read(started(7), minutes_ago=0)
    watch_running(100, timezone.now())
    assert silent not in titles()
