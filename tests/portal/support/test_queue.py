"""The support queue: sums alone, after the grace; two who act at once notice each other; all of it is written down."""

from __future__ import annotations

import re
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from analysis.cases.selectors import queue_summary
from analysis.cases.services import CaseConflict, NotPossible, change_state, decline_sharing, request_sharing
from analysis.cases.states import CLOSED, NEXT, Action, State, after
from analysis.escalation.services import escalate
from analysis.findings import FindingCode
from analysis.models import CaseEvent, Flag, ShareRequest, SupportCase
from jobs.models import AuditEntry, User
from reports.mail.services.summaries import summary_text
from reports.wording import TITLES
from tests.processes import PATIENCE_S

pytestmark = pytest.mark.django_db

QUEUE = "/support/queue/"


def words(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).replace("\u00a0", " ").split())


def case_of(kind: str = "user") -> SupportCase:
    return SupportCase.objects.select_related("flag").get(flag__kind=kind)


def act(client: Client, action: str, case: SupportCase | None = None, version: int | None = None) -> str:
    row = case or case_of()
    sent = {"action": action, "version": row.version if version is None else version}
    return client.post(f"{QUEUE}{row.pk}/change/", sent, follow=True).content.decode()


def user(name: str) -> User:
    return User.objects.get(username=name)


def test_every_state_can_be_left_and_reached() -> None:
    assert set(NEXT) == set(State)
    assert {state for steps in NEXT.values() for state in steps.values()} == set(State)
    assert all(set(NEXT[state]) == {Action.REOPEN} for state in CLOSED)
    assert after(State.WAITING, Action.CLAIM) is State.WAITING


def test_staff_see_a_case_after_the_grace_and_nobody_else_ever(cast, flagged) -> None:
    case = case_of()
    assert "All GPU jobs of alice" in words(cast("erin"), QUEUE)
    assert cast("erin").get(f"{QUEUE}{case.pk}/").status_code == 200
    Flag.objects.update(visible_to_staff_at=timezone.now() + timedelta(hours=1))
    assert "No cases" in words(cast("erin"), QUEUE)
    assert cast("erin").get(f"{QUEUE}{case.pk}/").status_code == 404
    assert cast("erin").post(f"{QUEUE}{case.pk}/change/", {"action": "claim", "version": 1}).status_code == 404
    Flag.objects.update(visible_to_staff_at=timezone.now())
    for name in ("alice", "bob", "carol", "dave", "frank"):
        assert cast(name).get(QUEUE).status_code == 404
        assert cast(name).get(f"{QUEUE}{case.pk}/").status_code == 404
        for what in ("change", "note", "offer", "request"):
            assert cast(name).post(f"{QUEUE}{case.pk}/{what}/", {"action": "claim", "version": 1}).status_code == 404
    assert case_of().state == "open"


def test_staff_read_sums_and_no_figure_or_name_of_a_job(cast, flagged) -> None:
    for path in (QUEUE, *(f"{QUEUE}{case.pk}/" for case in SupportCase.objects.all())):
        shown = words(cast("erin"), path)
        assert "train" not in shown
        assert "/jobs/lumi/" not in cast("erin").get(path).content.decode()
    shown = words(cast("erin"), f"{QUEUE}{case_of().pk}/")
    # 56.16 of 72.0 GPU-hours, to one digit.
    assert "GPU-hours unused (estimate) about 60" in shown
    assert "of about 70 GPU-hours in Inefficient or Wasted about 100 %" in shown
    assert "Findings of these jobs: Only some of the GPUs were used" in shown
    assert "56.2" not in shown


def test_the_sums_of_fewer_jobs_than_raise_a_flag_are_not_shown(cast, flagged) -> None:
    flag = case_of().flag
    flag.latest["counted"]["jobs"] = 4
    flag.save()
    for path in (QUEUE, f"{QUEUE}{case_of().pk}/"):
        shown = words(cast("erin"), path)
        assert "too few jobs are left" in shown
    assert "GPU-hours unused" not in shown


def test_a_finding_of_fewer_jobs_than_raise_a_flag_is_not_named(cast, flagged, reported) -> None:
    """Ten of her jobs use only some of their GPUs; one of these, of yesterday, ended at its time limit too."""
    ended = timezone.now() - timedelta(days=1)
    times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=2)).isoformat()}
    reported(20, state="TIMEOUT", **times)
    escalate(timezone.now())
    counts = case_of().flag.latest["findings"]
    alone = [TITLES[FindingCode(code)] for code, jobs in counts.items() if jobs == 1]
    assert (case_of().flag.latest["counted"]["jobs"], len(alone)) == (10, 1), counts
    shown = words(cast("erin"), f"{QUEUE}{case_of().pk}/")
    named = shown.split("Findings of these jobs: ")[1].split(" Only those of")[0]
    assert named.startswith("Only some of the GPUs were used, ")
    assert named.endswith(", other findings.")
    assert alone[0] not in shown
    assert f"{alone[0]} (1)" in words(cast("alice"), "/flags/")


@pytest.mark.parametrize(("jobs", "named"), [(5, True), (4, False)])
def test_findings_of_exactly_as_many_jobs_are_named(cast, flagged, jobs: int, named: bool) -> None:
    flag = case_of().flag
    flag.latest["findings"] = {FindingCode.PARALLELISM_MISMATCH.value: 9, FindingCode.LATE_START.value: jobs}
    flag.save()
    shown = words(cast("erin"), f"{QUEUE}{case_of().pk}/")
    assert (TITLES[FindingCode.LATE_START] in shown, "other findings" in shown) == (named, not named)


@pytest.mark.parametrize(
    ("unused", "low", "whole", "shown"),
    [
        (243.0, 260.0, 281.0, ("about 200", "of about 300", "about 90 %")),
        (310.0, 317.0, 330.0, ("about 300", "of more than 300", "more than 90 %")),
        (330.0, 330.0, 330.0, ("about 300", "of about 300", "about 100 %")),
    ],
)
def test_no_rounding_of_a_part_reads_as_all(
    cast, flagged, unused: float, low: float, whole: float, shown: tuple[str, str, str]
) -> None:
    flag = case_of().flag
    flag.latest["counted"] |= {"unused_gpu_hours": unused, "low_gpu_hours": low, "gpu_hours": whole}
    flag.save()
    expected = f"GPU-hours unused (estimate) {shown[0]} {shown[1]} GPU-hours in Inefficient or Wasted {shown[2]}"
    assert expected in words(cast("erin"), f"{QUEUE}{case_of().pk}/")


def test_nobody_is_asked_again_soon_after_a_no_and_a_closed_case_asks_nothing(cast, flagged) -> None:
    erin, case = cast("erin"), case_of()
    erin.post(f"{QUEUE}{case.pk}/request/", {"version": case.version})
    decline_sharing(ShareRequest.objects.get(), timezone.now())
    again = erin.post(f"{QUEUE}{case.pk}/request/", {"version": case_of().version}, follow=True).content.decode()
    assert (
        f"The owner shared nothing. A new request is possible from {timezone.now() + timedelta(days=30):%Y-%m-%d} on."
        in again
    )
    ShareRequest.objects.update(answered_at=timezone.now() - timedelta(days=31))
    erin.post(f"{QUEUE}{case.pk}/request/", {"version": case_of().version})
    assert ShareRequest.objects.filter(answered_at=None).count() == 1
    act(erin, "dismiss")
    assert ShareRequest.objects.filter(answered_at=None).count() == 0
    assert "asks to look" not in words(cast("alice"), "/")


def test_the_most_to_win_comes_first(cast, flagged) -> None:
    for kind, saved, unused in (("user", 5.0, 60.0), ("project", 50.0, 60.0), ("work", 5.0, 70.0)):
        Flag.objects.filter(kind=kind).update(saved_gpu_hours=saved, unused_gpu_hours=unused)
    rows = cast("erin").get(QUEUE).context["rows"]
    assert [case.flag.kind for case, *_ in rows] == ["project", "work", "user"]


def test_the_order_of_the_queue_reveals_no_more_than_what_it_shows(cast, flagged) -> None:
    """About 100 is shown of 131 and of 96: the older comes first. 4000 hours that are not shown come last."""
    now = timezone.now()
    for days, kind, saved in ((1, "user", 131.0), (2, "project", 96.0), (3, "work", 4000.0)):
        at = {"visible_to_staff_at": now - timedelta(days=days)}
        Flag.objects.filter(kind=kind).update(saved_gpu_hours=saved, unused_gpu_hours=saved, **at)
    hidden = case_of("work").flag
    hidden.latest["counted"]["jobs"] = 4
    hidden.save()
    rows = cast("erin").get(QUEUE).context["rows"]
    assert [case.flag.kind for case, *_ in rows] == ["project", "user", "work"]


def test_states_filter_the_queue(cast, flagged) -> None:
    erin = cast("erin")
    act(erin, "claim")
    for chosen, count in (("", 3), ("open", 2), ("claimed", 1), ("mine", 1), ("resolved", 0), ("nothing", 3)):
        assert len(erin.get(f"{QUEUE}?state={chosen}").context["rows"]) == count, chosen
    assert len(cast("grace").get(f"{QUEUE}?state=mine").context["rows"]) == 0
    assert "Open (2)" in words(erin, QUEUE)


def test_a_case_is_claimed_waits_goes_on_and_is_resolved_with_who_and_when(cast, flagged) -> None:
    erin = cast("erin")
    for action, state in (("claim", "claimed"), ("wait", "waiting"), ("continue", "claimed"), ("resolve", "resolved")):
        assert f"The case is {State(state).label.lower()} now." in act(erin, action)
        assert case_of().state == state
    assert case_of().holder == user("erin")
    events = CaseEvent.objects.filter(case=case_of()).order_by("pk").values_list("actor__username", "state")
    assert list(events) == [
        (None, "open"),
        *(("erin", state) for state in ("claimed", "waiting", "claimed", "resolved")),
    ]
    entries = AuditEntry.objects.filter(action="case_changed").order_by("pk")
    assert (entries[0].actor, entries[0].details) == ("erin", "claim: claimed")
    assert entries.count() == 4
    assert "The case is claimed now." in act(erin, "reopen")


def test_each_change_is_a_line_of_its_own_with_who_did_it(cast, flagged) -> None:
    erin, case = cast("erin"), case_of()
    erin.post(f"{QUEUE}{case.pk}/request/", {"version": case.version})
    decline_sharing(ShareRequest.objects.get(), timezone.now())
    act(cast("grace"), "claim")
    lines = CaseEvent.objects.filter(case=case).order_by("pk").values_list("actor__username", "kind", "state", "text")
    until = timezone.now() + timedelta(days=30)
    assert list(lines) == [
        (None, "state", "open", ""),
        ("erin", "state", "claimed", ""),
        ("erin", "request", "claimed", ""),
        ("erin", "state", "waiting", ""),
        ("alice", "answer", "waiting", f"Nothing was shared. No new request before {until:%Y-%m-%d}."),
        (None, "state", "claimed", "The owner answered."),
        ("grace", "state", "claimed", "Taken over."),
    ]
    shown = words(erin, f"{QUEUE}{case.pk}/")
    assert f"No new request before {until:%Y-%m-%d}" in shown
    assert "Ask to share jobs" not in shown
    ShareRequest.objects.update(answered_at=timezone.now() - timedelta(days=31))
    erin.post(f"{QUEUE}{case.pk}/request/", {"version": case_of().version})
    act(erin, "dismiss")
    latest = CaseEvent.objects.filter(case=case).order_by("-pk").values_list("actor__username", "kind", "state")
    assert list(latest[:2]) == [("erin", "state", "dismissed"), ("erin", "withdrawn", "waiting")]


def test_what_the_state_does_not_allow_changes_nothing(cast, flagged) -> None:
    erin = cast("erin")
    assert "A case that is open cannot be changed like this." in act(erin, "resolve")
    act(erin, "claim")
    assert "You have claimed this case already." in act(erin, "claim")
    assert case_of().state == "claimed"
    assert erin.post(f"{QUEUE}{case_of().pk}/change/", {"action": "explode", "version": 1}).status_code == 404
    for version in ("", "x", "9" * 12):
        assert erin.post(f"{QUEUE}{case_of().pk}/change/", {"action": "claim", "version": version}).status_code == 404


def test_the_second_of_two_who_claim_reads_who_was_first(cast, flagged) -> None:
    before = case_of().version
    act(cast("erin"), "claim")
    said = act(cast("grace"), "claim", version=before)
    assert "Nothing was changed: somebody else changed this case first. It is now claimed, claimed by erin." in said
    assert case_of().holder == user("erin")
    assert "Take over" in words(cast("grace"), f"{QUEUE}{case_of().pk}/")
    act(cast("grace"), "claim")
    assert case_of().holder == user("grace")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_two_claims_at_the_same_moment_one_wins(cast, flagged) -> None:
    case, together, outcomes = case_of(), threading.Barrier(2), []

    def claim(name: str) -> None:
        try:
            by = user(name)
            together.wait(PATIENCE_S)
            change_state(case, Action.CLAIM, case.version, by, timezone.now())
            outcomes.append("claimed")
        except CaseConflict:
            outcomes.append("conflict")
        finally:
            connection.close()

    threads = [threading.Thread(target=claim, args=[name], daemon=True) for name in ("erin", "grace")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sorted(outcomes) == ["claimed", "conflict"]
    assert CaseEvent.objects.filter(case=case, state="claimed").count() == 1


def test_notes_are_kept_with_their_writer_and_stay_text(cast, flagged) -> None:
    erin, path = cast("erin"), f"{QUEUE}{case_of().pk}/"
    assert erin.post(f"{path}note/", {"text": "Called <b>alice</b>\r\nSecond line\u202e"}).status_code == 302
    content = erin.get(path).content.decode()
    assert "Called &lt;b&gt;alice&lt;/b&gt;<br>Second line" in content
    assert "\u202e" not in content
    assert CaseEvent.objects.get(kind="note").actor == user("erin")
    assert erin.post(f"{path}note/", {"text": " "}).status_code == 422
    assert erin.post(f"{path}note/", {"text": "x" * 2001}).status_code == 422
    assert CaseEvent.objects.filter(kind="note").count() == 1


def test_one_request_at_a_time_and_none_for_a_project(cast, flagged) -> None:
    erin, case = cast("erin"), case_of()
    erin.post(f"{QUEUE}{case.pk}/request/", {"version": case.version})
    assert (case_of().state, case_of().holder) == ("waiting", user("erin"))
    again = erin.post(f"{QUEUE}{case.pk}/request/", {"version": case_of().version}, follow=True).content.decode()
    assert "A request is open already" in again
    assert ShareRequest.objects.count() == 1
    with pytest.raises(NotPossible, match="no single owner"):
        request_sharing(case_of("project"), 1, user("erin"), timezone.now())
    assert "Ask to share" not in words(erin, f"{QUEUE}{case_of('project').pk}/")
    assert AuditEntry.objects.get(action="sharing_requested").actor == "erin"


def test_a_person_is_asked_by_one_case_at_a_time(cast, flagged) -> None:
    erin, other = cast("erin"), f"{QUEUE}{case_of('work').pk}/"
    erin.post(f"{QUEUE}{case_of().pk}/request/", {"version": case_of().version})
    shown = words(erin, other)
    assert "in another case . alice has not answered yet." in shown
    assert "Ask to share" not in shown
    sent = {"version": case_of("work").version}
    second = erin.post(f"{other}request/", sent, follow=True).content.decode()
    assert "A request is open already in another case of this person; the owner has not answered yet." in second
    assert (ShareRequest.objects.count(), case_of("work").state) == (1, "open")
    assert "Ask to share jobs" not in words(erin, f"{QUEUE}{case_of('project').pk}/")
    act(erin, "resolve")
    erin.post(f"{other}request/", {"version": case_of("work").version})
    assert ShareRequest.objects.get(answered_at=None).case == case_of("work")


def test_a_closed_account_is_not_waited_for(cast, flagged) -> None:
    erin, work = cast("erin"), case_of("work")
    erin.post(f"{QUEUE}{case_of().pk}/request/", {"version": case_of().version})
    assert "alice has not answered yet." in words(erin, f"{QUEUE}{case_of().pk}/")
    User.objects.filter(username="alice").update(is_active=False)
    shown = words(erin, f"{QUEUE}{case_of().pk}/")
    assert "The account alice is closed, so nobody can answer." in shown
    assert "has not answered yet" not in shown
    ShareRequest.objects.all().delete()
    shown = words(erin, f"{QUEUE}{work.pk}/")
    assert "The account alice is closed, so nobody can be asked." in shown
    assert "Ask to share jobs" not in shown
    refused = erin.post(f"{QUEUE}{work.pk}/request/", {"version": work.version}, follow=True).content.decode()
    assert "Nothing was changed. The account is closed, so nobody can answer." in refused
    assert not ShareRequest.objects.exists()


def test_when_the_flag_clears_the_case_closes_itself_and_keeps_who_had_it(cast, flagged) -> None:
    act(cast("erin"), "claim")
    act(cast("grace"), "dismiss", case_of("project"))
    escalate(timezone.now() + timedelta(days=20))
    assert (case_of().state, case_of().holder) == ("resolved", user("erin"))
    assert CaseEvent.objects.filter(case=case_of()).latest("at").text == "The flag cleared."
    assert case_of("project").state == "dismissed"
    assert "The flag has cleared, so the case stays closed." in act(cast("erin"), "reopen")


def test_the_case_of_a_deleted_member_of_staff_stays_without_the_name(cast, flagged) -> None:
    act(cast("erin"), "claim")
    user("erin").delete()
    assert case_of().holder is None
    assert "Kaiku" in words(cast("grace"), f"{QUEUE}{case_of().pk}/")


def test_the_start_page_of_support_counts_the_cases(cast, flagged) -> None:
    act(cast("erin"), "claim")
    since = timezone.localtime(Flag.objects.get(kind="user").visible_to_staff_at)
    shown = words(cast("erin"), "/support/")
    assert f"3 cases, 2 not claimed; the oldest visible since {since:%Y-%m-%d} ." in shown
    assert "In the last 7&nbsp;days: 3 new, 0 closed." in shown


def test_no_sum_over_cases_shows_what_one_case_alone_saves(cast, flagged) -> None:
    """Of 490.4 before and 450.8 after a case was dismissed the difference would be the saving of its only job."""
    kinds = [("user", 300.3), ("project", 150.5), ("work", 39.6)]
    for kind, saved in kinds:
        Flag.objects.filter(kind=kind).update(saved_gpu_hours=saved, unused_gpu_hours=saved)
    hidden = case_of("work")
    hidden.flag.latest["counted"]["jobs"] = 1
    hidden.flag.save()
    texts = []
    for _ in range(2):
        texts += [words(cast("erin"), "/support/"), summary_text(queue_summary(timezone.now()))]
        act(cast("erin"), "dismiss", case_of("work"))
    assert not any(word in text for text in texts for word in ("GPU-hours", "490", "450"))


def test_the_summary_counts_what_staff_see(cast, flagged) -> None:
    act(cast("erin"), "claim")
    act(cast("erin"), "dismiss", case_of("project"))
    visible_since = timezone.now() - timedelta(days=3)
    Flag.objects.filter(kind="work").update(visible_to_staff_at=visible_since)
    Flag.objects.filter(kind="project").update(visible_to_staff_at=visible_since - timedelta(days=1))
    found = queue_summary(timezone.now())
    counts = {state.value: count for state, count in found.states.items() if count}
    assert counts == {"open": 1, "claimed": 1, "dismissed": 1}
    assert (found.new, found.closed, found.oldest) == (3, 1, visible_since), "the dismissed case is older"
    assert queue_summary(timezone.now() + timedelta(days=8)).new == 0
    Flag.objects.update(visible_to_staff_at=timezone.now() + timedelta(days=1))
    assert sum(queue_summary(timezone.now()).states.values()) == 0
