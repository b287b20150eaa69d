"""What a person wants to hear of running jobs: nothing until they choose it, with the mail as it would be sent."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from jobs.models import User
from reports.early.models import EarlyChoice
from reports.mail.digest import Choices, Frequency
from reports.mail.services.preferences import save_choices

pytestmark = pytest.mark.django_db
PAGE = "/settings/running/"


def line(client: Client) -> str:
    """What the mail settings state in one line."""
    page = " ".join(client.get("/settings/").content.decode().split())
    return re.findall(r"While a job still runs: (.*?)\. <a", page)[0]


def test_nothing_is_sent_until_it_is_chosen_and_the_settings_state_it_in_one_line(cast) -> None:
    client = cast("alice")
    assert not re.findall(r'type="checkbox" name="[^>]* checked', client.get(PAGE).content.decode())
    assert line(client) == "nothing is sent"
    assert client.post(PAGE, {"by_mail": "on", "in_feed": "on"}).status_code == 302
    assert line(client) == "mail and entries in your feed"
    choice = EarlyChoice.objects.get()
    assert (choice.by_mail, choice.at_night, choice.in_feed, choice.to_project) == (True, False, True, False)
    client.post(PAGE, {})
    assert line(client) == "nothing is sent"


def test_the_preview_is_the_mail_about_a_job_that_does_not_exist(cast) -> None:
    page = cast("alice").get(PAGE).content.decode()
    assert "A sample: this job does not exist." in page
    assert "Kaiku: 8 GPUs of sample (lumi/123456) idle for 1 h 05 min" in page
    assert "scancel 123456" in page


def test_who_gets_no_mail_at_all_is_told_so(cast) -> None:
    client = cast("alice")
    assert "You have chosen to get no mail at all" not in client.get(PAGE).content.decode()
    save_choices(User.objects.get(username="alice"), Choices(frequency=Frequency.OFF))
    assert "You have chosen to get no mail at all" in client.get(PAGE).content.decode()


def test_choices_sent_after_the_session_ended_are_in_the_form_and_not_saved(cast) -> None:
    cast("alice")
    late = Client()
    late.post(PAGE, {"by_mail": "on", "writer": str(User.objects.get(username="alice").pk)})
    late.force_login(User.objects.get(username="alice"))
    assert not EarlyChoice.objects.exists()
