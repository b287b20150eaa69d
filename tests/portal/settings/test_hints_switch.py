"""The site's switch for hints at sbatch: off, nobody gets any, everybody reads why, and choices stay."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import User
from tests.reports.builders import WHOLE_REQUEST

pytestmark = pytest.mark.django_db

PAGE, HINTS = "/settings/appearance/", "/api/v1/hints/"
CHOSEN = {"theme": "dark", "time_zone": "UTC"}
OFF = "This site shows no hints at sbatch."


@pytest.fixture
def alice(cast, reported) -> Client:
    """Whose three runs used two of eight GPUs: there is a hint to show."""
    reported(1, 2, 3, job_name="train", request=WHOLE_REQUEST)
    return cast("alice")


def shows_hints() -> bool:
    return User.objects.get(username="alice").shows_hints


def test_switched_off_nobody_gets_any_and_the_reason_is_the_site_s(alice: Client, settings) -> None:
    on = alice.get(HINTS).json()
    assert (on["is_on"], len(on["hints"]), on["off_reason"]) == (True, 1, "")
    settings.SBATCH_HINTS = False
    off = alice.get(HINTS).json()
    assert (off["is_on"], off["hints"], off["off_reason"]) == (False, [], OFF)
    User.objects.update(shows_hints=False)
    assert alice.get(HINTS).json()["off_reason"] == OFF
    settings.SBATCH_HINTS = True
    assert "Settings, Appearance" in alice.get(HINTS).json()["off_reason"]


@pytest.mark.parametrize("before", [True, False])
def test_the_page_states_it_and_saving_the_rest_keeps_the_choice(alice: Client, settings, before: bool) -> None:
    User.objects.update(shows_hints=before)
    assert 'name="shows_hints"' in alice.get(PAGE).content.decode()
    settings.SBATCH_HINTS = False
    page = alice.get(PAGE).content.decode()
    assert 'name="shows_hints"' not in page
    assert OFF.rstrip(".") in page
    for sent in (CHOSEN, CHOSEN | {"shows_hints": "on"}):
        assert alice.post(PAGE, sent).status_code == 302
        assert shows_hints() is before
    assert User.objects.get(username="alice").theme == "dark"
    settings.SBATCH_HINTS = True
    assert alice.post(PAGE, CHOSEN).status_code == 302
    assert not shows_hints()
