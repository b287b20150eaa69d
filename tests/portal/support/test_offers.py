"""Offers of help and the weekly summary: from a text that staff edit, through the outbox, to nobody who opted out."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from analysis.models import CaseEvent, SupportCase
from jobs.models import AuditEntry, User
from reports.mail.digest import Choices, Frequency
from reports.mail.offer import PLACEHOLDERS, SHIPPED, OfferText, filled
from reports.mail.services.offers import OfferConflict, save_offer
from reports.mail.services.preferences import opt_out, save_choices
from reports.mail.services.sending import send_due
from reports.mail.services.summaries import plan_summaries
from reports.models import Delivery, HelpLetter, Notice
from reports.selectors import offer_text
from reports.services.expiry import remove_letters

pytestmark = pytest.mark.django_db

LETTER = "/support/letter/"
NO_BREAK = "\u00a0"


@pytest.fixture(autouse=True)
def in_memory(settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture
def addressed(flagged) -> None:
    for user in User.objects.all():
        User.objects.filter(pk=user.pk).update(email=f"{user.username}@users.example")


def case_of(kind: str = "user") -> SupportCase:
    return SupportCase.objects.get(flag__kind=kind)


def offer(client: Client, kind: str = "user") -> str:
    case = case_of(kind)
    path = f"/support/queue/{case.pk}/offer/"
    return client.post(path, {"version": case.version}, follow=True).content.decode()


def joined(body: str) -> str:
    return " ".join(body.split())


def user(name: str) -> User:
    return User.objects.get(username=name)


def test_an_offer_goes_through_the_outbox_to_the_owner(cast, addressed) -> None:
    assert "The offer is in the outbox, for alice." in offer(cast("erin"))
    assert (case_of().state, case_of().holder) == ("waiting", user("erin"))
    assert CaseEvent.objects.get(kind="offer").text == "To alice."
    assert AuditEntry.objects.get(action="help_offered").details == "alice"
    assert send_due(10) == 1
    (letter,) = mail.outbox
    assert (letter.to, letter.subject) == (["alice@users.example"], "Help with your GPU jobs")
    flag = case_of().flag.at_last
    days = f"in the 14 days from {flag.first_day:%Y-%m-%d} to {flag.last_day:%Y-%m-%d} (estimate)."
    assert f"About 60 of 70 GPU-hours of your GPU jobs were unused {days}" in joined(letter.body)
    assert max(map(len, letter.body.splitlines()[:12])) <= 78
    assert "/flags/" in letter.body
    assert "erin, support" in letter.body
    assert "support staff offer you help" in letter.body
    assert "GPU jobs of your account alice ended" not in letter.body
    assert "List-Unsubscribe" in letter.extra_headers
    assert "train" not in letter.body
    assert Delivery.objects.get().state == "sent"


def stored(name: str, first_day: str, last_day: str, **counted: float) -> None:
    """What a check of alice's flag would have stored as `evidence` or `latest`."""
    flag = case_of().flag
    row = getattr(flag, name)
    setattr(flag, name, row | {"first_day": first_day, "last_day": last_day, "counted": row["counted"] | counted})
    flag.save()


def test_an_offer_states_the_sums_of_the_case_page_and_their_days(cast, addressed) -> None:
    stored("evidence", "2026-10-01", "2026-10-14", jobs=12, unused_gpu_hours=260.0, gpu_hours=317.0)
    stored("latest", "2026-11-01", "2026-11-14", jobs=11, unused_gpu_hours=443.0, gpu_hours=481.0)
    page = cast("erin").get(f"/support/queue/{case_of().pk}/").content.decode().replace(NO_BREAK, " ")
    # 443 of 481 would be 400 of 500 by itself.
    assert (
        "About 400 of 500 GPU-hours of your GPU jobs were unused in the 14 days from 2026-11-01 to 2026-11-14" in page
    )
    assert "<dd>about 400</dd>" in page
    assert "of about 500 GPU-hours in" in page
    # 243 of 281 would both be 300.
    stored("latest", "2026-11-02", "2026-11-15", jobs=11, unused_gpu_hours=243.0, gpu_hours=281.0)
    offer(cast("erin"))
    text = joined(Notice.objects.get().text)
    assert "About 200 of 300 GPU-hours of your GPU jobs were unused in the 14 days from 2026-11-02 to" in text
    page = cast("erin").get(f"/support/queue/{case_of().pk}/").content.decode()
    assert "<dd>about 200</dd>" in page


def test_an_offer_states_no_sums_of_few_jobs_but_those_of_the_raising(cast, addressed) -> None:
    stored("evidence", "2026-10-01", "2026-10-14", jobs=12, unused_gpu_hours=260.0, gpu_hours=317.0)
    stored("latest", "2026-11-01", "2026-11-14", jobs=4, unused_gpu_hours=40.0, gpu_hours=80.0)
    page = cast("erin").get(f"/support/queue/{case_of().pk}/").content.decode()
    assert (
        "About 200 of 300 GPU-hours of your GPU jobs were unused in the 14 days from 2026-10-01 to 2026-10-14" in page
    )
    assert "About 40" not in page


def test_an_offer_about_a_project_goes_to_its_pi(cast, addressed) -> None:
    assert "for carol." in offer(cast("erin"), "project")
    send_due(10)
    assert mail.outbox[0].to == ["carol@users.example"]
    assert "GPU-hours of project project_465000001 were unused" in joined(mail.outbox[0].body)


@pytest.mark.parametrize("how", ["opted out", "project off", "no address", "closed"])
def test_nobody_is_written_to_who_cannot_or_does_not_want_to_be(cast, addressed, how: str) -> None:
    alice, kind = user("alice"), "work" if how == "project off" else "user"
    if how == "opted out":
        opt_out(alice)
    elif how == "project off":
        save_choices(alice, Choices(projects={case_of("work").flag.project_id: Frequency.OFF}))
    else:
        User.objects.filter(pk=alice.pk).update(**({"email": ""} if how == "no address" else {"is_active": False}))
    why = "the account is closed" if how == "closed" else "no mail address is known, or mail was turned off"
    assert f"Nothing was changed. Nobody can be written to: {why}." in offer(cast("erin"), kind)
    page = cast("erin").get(f"/support/queue/{case_of(kind).pk}/").content.decode()
    assert f"<p>Nobody can be written to: {why}.</p>" in page
    assert not Notice.objects.exists()
    assert case_of(kind).state == "open"


def test_opting_out_after_the_offer_still_applies(cast, addressed) -> None:
    offer(cast("erin"))
    opt_out(user("alice"))
    assert send_due(10) == 0
    assert mail.outbox == []
    assert Delivery.objects.get().state == "suppressed"


def test_new_mail_choices_do_not_lose_an_offer(cast, addressed) -> None:
    offer(cast("erin"))
    save_choices(user("alice"), Choices(frequency=Frequency.WEEKLY))
    assert send_due(10) == 1
    CaseEvent.objects.filter(kind="offer").update(at=timezone.now() - timedelta(days=8))
    offer(cast("erin"), "work")
    save_choices(user("alice"), Choices(frequency=Frequency.OFF))
    assert send_due(10) == 0


def test_two_offers_at_once_send_one(cast, addressed) -> None:
    case = case_of()
    path = f"/support/queue/{case.pk}/offer/"
    cast("erin").post(path, {"version": case.version})
    second = cast("grace").post(path, {"version": case.version}, follow=True).content.decode()
    assert "somebody else changed this case first" in second
    assert Notice.objects.count() == 1


def test_the_outbox_names_the_kind_and_not_the_text(cast, addressed) -> None:
    offer(cast("erin"))
    shown = cast("erin").get("/support/outbox/").content.decode()
    assert "<small>Offer of help</small>" in shown
    assert "56.2" not in shown


def test_staff_edit_the_offer_and_every_version_stays(cast, addressed) -> None:
    erin = cast("erin")
    assert SHIPPED.subject in erin.get(LETTER).content.decode()
    sent = {"version": 0, "subject": "Hei {name}", "text": "About {what}.\r\n{link}"}
    preview = erin.post(LETTER, sent | {"preview": "1"}).content.decode()
    assert "Hei alice" in preview
    assert not HelpLetter.objects.exists()
    assert b"Saved as a new version." in erin.post(LETTER, sent, follow=True).content
    assert offer_text() == (1, OfferText("Hei {name}", "About {what}.\n{link}"))
    assert AuditEntry.objects.get(action="letter_changed").actor == "erin"
    assert b"Nothing was changed." in erin.post(LETTER, sent | {"version": 1}, follow=True).content
    offer(erin)
    send_due(10)
    assert mail.outbox[0].subject == "Hei alice"


def test_a_version_that_never_was_is_a_conflict_and_help_is_offered_once_a_week(cast, addressed) -> None:
    erin = cast("erin")
    sent = {"version": 99, "subject": "Hei {name}", "text": "About {what}.\r\n{link}"}
    assert b"Saved as a new version." in erin.post(LETTER, sent, follow=True).content
    assert HelpLetter.objects.get().number == 1
    assert erin.post(LETTER, sent | {"subject": "Moi {name}"}).status_code == 409
    offer(erin)
    assert "Help was offered on" in offer(erin)
    assert Notice.objects.count() == 1


def test_a_person_is_offered_help_once_a_week_over_all_their_cases(cast, addressed) -> None:
    """The flags of alice and of her work are two cases; the one of the project goes to carol."""
    erin, now = cast("erin"), timezone.now()
    assert "for alice." in offer(erin)
    second = offer(cast("grace"), "work")
    assert f"Help was offered on {now:%Y-%m-%d} already in another case of this person." in second
    assert (Notice.objects.count(), case_of("work").state, case_of("work").holder) == (1, "open", None)
    assert "for carol." in offer(erin, "project")
    CaseEvent.objects.filter(kind="offer").update(at=now - timedelta(days=7, minutes=1))
    assert "for alice." in offer(erin, "work")


def test_the_second_of_two_editors_keeps_the_text_and_reads_of_the_first(cast, addressed) -> None:
    save_offer(0, OfferText("First", "one"), user("grace"), timezone.now())
    late = cast("erin").post(LETTER, {"version": 0, "subject": "Second", "text": "two"})
    assert late.status_code == 409
    content = late.content.decode()
    assert "Somebody saved version 1 while you were writing." in content
    assert "Second" in content
    assert cast("erin").post(LETTER, {"version": 1, "subject": "Second", "text": "two"}).status_code == 302
    with pytest.raises(OfferConflict):
        save_offer(0, OfferText("Third", "three"), user("grace"), timezone.now())
    assert [row.subject for row in HelpLetter.objects.order_by("number")] == ["First", "Second"]


@pytest.mark.parametrize("changes", [{"text": "{nmae}"}, {"subject": "{}"}, {"text": " "}, {"subject": "x" * 151}])
def test_what_makes_no_letter_is_not_saved(cast, addressed, changes: dict[str, str]) -> None:
    sent = {"version": "0", "subject": "Help", "text": "Hello"} | changes
    answer = cast("erin").post(LETTER, sent)
    assert answer.status_code == 422
    assert not HelpLetter.objects.exists()


def test_a_hostile_template_stays_text(cast, addressed) -> None:
    text = "<script>alert(1)</script> {name}"
    save_offer(0, OfferText("S\r\nBcc: all@example.org", text), user("erin"), timezone.now())
    assert "<script>alert" not in cast("erin").get(LETTER).content.decode()
    offer(cast("erin"))
    send_due(10)
    assert mail.outbox[0].subject == "S Bcc: all@example.org"
    assert "<script>alert" not in mail.outbox[0].html


def test_a_subject_is_one_line_without_marks_however_it_comes(cast, addressed) -> None:
    hostile = "Hei\t{name}\u202e\r\nBcc: x\u200b"
    cast("erin").post(LETTER, {"version": 0, "subject": hostile, "text": "About {what}."})
    assert HelpLetter.objects.get().subject == "Hei {name} Bcc: x"
    save_offer(1, OfferText("Moi\t\u2066{name}", "two"), user("grace"), timezone.now())
    assert HelpLetter.objects.get(number=2).subject == "Moi {name}"
    HelpLetter.objects.filter(number=2).update(subject="Old\t\u202erow", text="a\u202eb")
    assert offer_text() == (2, OfferText("Old row", "a\ufffdb"))
    offer(cast("erin"))
    assert Notice.objects.get().subject == "Old row"


def test_the_original_text_and_every_version_can_be_restored(cast, addressed) -> None:
    erin = cast("erin")
    assert "Restore" not in erin.get(LETTER).content.decode()
    for number, subject in enumerate(("First", "Second")):
        save_offer(number, OfferText(subject, "text"), user("grace"), timezone.now())
    page = erin.get(LETTER).content.decode()
    assert page.count("Restore this version") == 1, "the second is the present one"
    sent = {"version": "2", "number": "0"}
    restored = erin.post(f"{LETTER}restore/", sent, follow=True).content.decode()
    assert "The original text is restored." in restored
    assert offer_text() == (3, SHIPPED)
    assert AuditEntry.objects.filter(action="letter_changed", actor="erin").count() == 1
    assert "Version 3 was saved meanwhile." in erin.post(f"{LETTER}restore/", sent, follow=True).content.decode()
    erin.post(f"{LETTER}restore/", {"version": "3", "number": "1"})
    assert offer_text() == (4, OfferText("First", "text"))
    for number in ("9", "", "x", "-1"):
        assert erin.post(f"{LETTER}restore/", {"version": "4", "number": number}).status_code == 404
    for name in ("alice", "carol", "frank"):
        assert cast(name).post(f"{LETTER}restore/", {"version": "4", "number": "0"}).status_code == 404
    assert HelpLetter.objects.count() == 4


def test_nobody_else_edits_it(cast, addressed) -> None:
    for name in ("alice", "carol", "frank"):
        assert cast(name).post(LETTER, {"version": 0, "subject": "a", "text": "b"}).status_code == 404


def test_every_placeholder_of_the_shipped_text_is_filled() -> None:
    values = {name: f"<{name}>" for name in PLACEHOLDERS}
    done = filled(SHIPPED, values)
    assert not re.search(r"[{}]", done.subject + done.text)
    assert all(value in done.text for value in values.values())


def test_staff_get_one_summary_a_week_with_numbers_of_cases_alone(cast, addressed) -> None:
    later = timezone.now() + timedelta(days=7)
    monday = (later - timedelta(days=later.weekday())).replace(hour=7, minute=0, second=0)
    assert plan_summaries(monday - timedelta(minutes=1)) == 0
    assert plan_summaries(monday) == 2, "erin and grace"
    assert plan_summaries(monday + timedelta(days=3)) == 0
    assert plan_summaries(monday + timedelta(days=7)) == 2
    texts = set(Notice.objects.values_list("text", flat=True))
    assert all("alice" not in text and "train" not in text for text in texts)
    assert any("Open: 3" in text for text in texts)
    assert not any("GPU-hours" in text for text in texts)
    since = timezone.localtime(SupportCase.objects.select_related("flag").first().flag.visible_to_staff_at)
    assert all(f"Oldest case that is not closed: visible since {since:%Y-%m-%d}" in text for text in texts)
    people = set(Delivery.objects.values_list("user__username", flat=True))
    assert people == {"erin", "grace"}


def test_none_without_cases_for_those_who_opted_out_or_where_the_site_turned_it_off(cast, addressed, settings) -> None:
    now = timezone.now() + timedelta(days=2)
    settings.SUPPORT_SUMMARY = False
    assert plan_summaries(now) == 0
    settings.SUPPORT_SUMMARY = True
    opt_out(user("erin"))
    plan_summaries(now)
    assert not Delivery.objects.filter(user=user("erin")).exists()
    SupportCase.objects.all().delete()
    assert plan_summaries(now + timedelta(days=14)) == 0


def test_texts_are_deleted_with_the_text_of_mail(cast, addressed, settings, tmp_path) -> None:
    settings.EMAIL_FILE_PATH = tmp_path
    offer(cast("erin"))
    send_due(10)
    now = timezone.now()
    assert sum(remove_letters(now - timedelta(minutes=1))) == 0
    assert sum(remove_letters(now + timedelta(minutes=1))) == 1
    assert Delivery.objects.get().state == "sent"
