"""Settings that were sent after the session had ended are in their forms after signing in, not saved and not lost."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from jobs.models import Project, Token, User
from reports.mail.digest import Choices
from reports.selectors import delivery_choices
from tests.portal.conftest import PASSWORD

pytestmark = pytest.mark.django_db
NOT_SAVED = "Not saved yet: you were signed out when you sent this."


def sent_late(path: str, sent: dict[str, str], reader: str = "alice") -> tuple[Client, str]:
    """What alice sends after her session has ended, and the page that `reader` gets by signing in there."""
    late = Client()
    answer = late.post(path, sent | {"writer": str(User.objects.get(username="alice").pk)})
    assert answer["Location"] == f"/sign-in/?next={path}"
    page = late.post(answer["Location"], {"username": reader, "password": PASSWORD}, follow=True)
    assert page.redirect_chain[-1] == (path, 302)
    return late, page.content.decode()


def test_choices_of_mail_are_in_the_form_and_saved_by_sending_it_again(cast) -> None:
    cast("alice")
    field = f"project_{Project.objects.get().pk}"
    sent = {"frequency": "weekly", "minimum_class": "INEFFICIENT", field: "off"}
    late, page = sent_late("/settings/", sent)
    assert NOT_SAVED in page
    assert re.findall(r'<input type="radio"[^>]* value="(\w+)"[^>]* checked', page) == ["weekly"]
    assert re.findall(r'<option value="(\w+)" selected>', page) == ["INEFFICIENT", "off"]
    alice = User.objects.get(username="alice").pk
    assert delivery_choices([alice])[alice] == Choices()
    assert NOT_SAVED not in late.get("/settings/").content.decode(), "it is shown once"


def test_so_are_colours_and_the_time_zone(cast) -> None:
    cast("alice")
    _, page = sent_late("/settings/appearance/", {"theme": "dark", "time_zone": "Europe/Helsinki"})
    assert NOT_SAVED in page
    assert '<option value="Europe/Helsinki" selected>' in page
    assert User.objects.get(username="alice").time_zone == ""


def test_so_is_a_token_which_is_not_made(cast) -> None:
    cast("alice")
    _, page = sent_late("/settings/tokens/", {"name": "my plots", "kind": "read", "days": "30"})
    assert NOT_SAVED in page
    assert 'value="my plots"' in page
    assert not Token.objects.exists()


def test_another_account_finds_its_own_settings(cast) -> None:
    cast("alice")
    late, page = sent_late("/settings/tokens/", {"name": "my secret", "kind": "read", "days": "30"}, "carol")
    assert "secret" not in page
    assert NOT_SAVED not in page
    assert "unsaved" not in late.session


def test_the_page_of_mail_leaves_what_was_sent_on_another_page_of_settings(cast) -> None:
    cast("alice")
    late = Client()
    writer = {"writer": str(User.objects.get(username="alice").pk)}
    late.post("/settings/appearance/", {"theme": "dark", "time_zone": ""} | writer)
    late.post("/sign-in/", {"username": "alice", "password": PASSWORD})
    assert NOT_SAVED not in late.get("/settings/").content.decode()
    assert NOT_SAVED in late.get("/settings/appearance/").content.decode()


def test_a_link_to_the_end_of_a_token_leads_to_the_tokens(cast) -> None:
    answer = cast("alice").get("/settings/tokens/1/revoke/", follow=True)
    assert answer.redirect_chain == [("/settings/tokens/", 302)]
    assert "Nothing was revoked." in answer.content.decode()
