"""The word to the workers that something arrived: seldom, and never in the way."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from kombu.exceptions import OperationalError

from portal.ingest import nudges
from portal.ingest.nudges import Nudges
from portal.steps.step import OFTEN
from portal.tasks import run_steps
from tests.payloads import interim, summary
from tests.tokens import create_collector_token


class Broker:
    """Takes words, or is away."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.words = error, 0

    def send_task(self, name: str, args: tuple[str, ...], **options: object) -> None:
        assert (name, args) == (run_steps.name, (OFTEN,))
        self.words += 1
        if self.error:
            raise self.error


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, settings) -> list[float]:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    now = [1000.0]
    monkeypatch.setattr(nudges.time, "monotonic", lambda: now[0])
    return now


def test_one_word_a_second_however_much_arrives(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    broker, told = Broker(), Nudges()
    monkeypatch.setattr(nudges, "application", broker)
    for step in range(40):
        clock[0] = 1000.0 + step / 20
        told.arrived()
    assert broker.words == 2


@pytest.mark.parametrize("error", [OperationalError("away"), ConnectionRefusedError()])
def test_a_broker_that_is_away_is_left_alone_for_a_minute(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    broker, told = Broker(error), Nudges()
    monkeypatch.setattr(nudges, "application", broker)
    for second in (0, 5, 59, 61):
        clock[0] = 1000.0 + second
        told.arrived()
    assert broker.words == 2


def test_without_a_broker_nobody_is_told(monkeypatch: pytest.MonkeyPatch, settings) -> None:
    settings.REDIS_URL = ""
    broker = Broker()
    monkeypatch.setattr(nudges, "application", broker)
    Nudges().arrived()
    assert broker.words == 0


@pytest.mark.django_db
def test_what_a_run_that_goes_on_tells_wakes_nobody(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    words: list[str] = []
    monkeypatch.setattr("portal.api.ingest.nudges.arrived", lambda: words.append("arrived"))
    secret = create_collector_token("nodes", "lumi")
    seen = []
    for documents in (
        [interim()],
        [interim()],
        [interim(node="nid005124"), interim(sequence=2)],
        [interim(sequence=3), summary(node="nid005124", sequence=2)],
        [summary(node="nid005124", sequence=2)],
    ):
        client.post(
            "/api/v1/ingest/node-summaries",
            json.dumps(documents),
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )
        seen.append(len(words))
    assert seen == [0, 0, 0, 1, 1]
