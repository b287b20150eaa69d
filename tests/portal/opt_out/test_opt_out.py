"""Ending all mail by the link in it, without signing in."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import Project, User
from reports.mail.digest import Choices, Frequency
from reports.mail.services.preferences import save_choices
from reports.models import Delivery
from reports.selectors import delivery_choices
from reports.services.links import opt_out_address

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def link(cast, settings) -> str:
    """Alice's link, below the host of the tests."""
    settings.SITE_URL = ""
    return opt_out_address(User.objects.get(username="alice"))


def choices(name: str = "alice") -> Choices:
    pk = User.objects.get(username=name).pk
    return delivery_choices([pk])[pk]


def test_opening_the_link_asks_and_changes_nothing(link: str) -> None:
    for method in ("get", "head"):
        answer = getattr(Client(), method)(link)
        assert answer.status_code == 200
        assert choices() == Choices()
    assert b"Stop all mail from Kaiku?" in Client().get(link).content


def test_one_click_of_a_mail_program_ends_the_mail_of_every_project(link: str) -> None:
    alice = User.objects.get(username="alice")
    save_choices(alice, Choices(projects={Project.objects.get().pk: Frequency.IMMEDIATE}))
    # RFC 8058, section 3.1: a POST with this body, without cookies or any other context.
    answer = Client(enforce_csrf_checks=True).post(link, ONE_CLICK)
    assert (answer.status_code, answer.wsgi_request.user.is_authenticated) == (200, False)
    assert choices() == Choices(Frequency.OFF)
    assert choices("bob") == Choices()


def test_the_button_of_the_page_does_the_same_and_again_is_fine(link: str) -> None:
    for _ in range(2):
        assert b"No more mail" in Client().post(link).content
        assert choices().frequency is Frequency.OFF


def test_it_holds_for_what_is_in_the_outbox_already(link: str) -> None:
    alice = User.objects.get(username="alice")
    row = Delivery.objects.create(
        user=alice, frequency="daily", created_at="2026-11-20T12:00Z", due_at="2026-11-20T12:00Z"
    )
    Client().post(link, ONE_CLICK)
    row.refresh_from_db()
    assert (row.state, row.reason) == ("suppressed", "mail_off")


def test_other_choices_stay_for_the_day_it_is_switched_on_again(link: str) -> None:
    save_choices(User.objects.get(username="alice"), Choices(with_pdf=True))
    Client().post(link)
    assert choices() == Choices(Frequency.OFF, with_pdf=True)


@pytest.mark.parametrize("wrong", ["a changed signature", "/mail/stop/1/", "/mail/stop/1:x/"])
def test_a_link_that_was_not_signed_here_is_not_found(link: str, wrong: str) -> None:
    wrong = wrong if wrong.startswith("/") else link.replace(":", ":x")
    for answer in (Client().get(wrong), Client().post(wrong, ONE_CLICK)):
        assert answer.status_code == 404
    assert choices() == Choices()


def test_a_link_whose_account_is_gone_is_not_found(link: str) -> None:
    User.objects.filter(username="alice").delete()
    assert Client().post(link, ONE_CLICK).status_code == 404


def test_nothing_but_reading_and_posting_is_answered(link: str) -> None:
    for method in ("put", "delete", "patch"):
        assert getattr(Client(), method)(link).status_code == 405


def test_no_cache_keeps_the_page(link: str) -> None:
    assert "no-store" in Client().get(link)["Cache-Control"]
