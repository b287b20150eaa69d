"""Idle GPU-hours of the site that others waited for: added up by month, and withheld where they could reveal anyone."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from io import StringIO

import numpy as np
import pytest
from django.core.management import call_command
from django.utils import timezone

from analysis.models import IdleHold, JobEfficiency
from analysis.months.services import close_months
from analysis.rollups.services import roll_up_due
from analysis.services import analyse_job
from analysis.site import suppression
from analysis.site.idle import IDLE, IdleHours, IdleSums
from analysis.site.selectors import closed_months
from analysis.site.suppression import Runs, Withheld, runs_of, step_of, suppress
from analysis.waiting import services as waiting
from analysis.waiting.selectors import CHECK, CLOSES_ANYWAY
from analysis.waiting.services import check_waits
from jobs.models import Job, WorkFailure
from jobs.services import record_job
from jobs.work_queue.selectors import TRIES_MAX
from metrics.services import record_node_summary
from portal.months import SITE
from tests.analysis.site import attacker
from tests.analysis.site.test_suppression import breaches
from tests.payloads import gpu, job_record, node_payload

PEOPLE = ("alice", "bob", "carol", "dave", "erin")
OCTOBER = datetime(2026, 10, 15, 12, 0, tzinfo=UTC)
NOW = datetime(2026, 11, 8, 0, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def sums(*people: tuple[float, float, float]) -> IdleSums:
    """Each person's one run in one group: hours used, hours of idle GPUs, and how many of these others waited for."""
    found = IdleSums()
    for person, (used, idle, wanted) in enumerate(people):
        found.add(person, ("small-g",), (used, idle, 0.0), idle, wanted)
    return found


def test_five_people_are_added_up_and_rounded() -> None:
    # 30 idle hours, 15 waited for; the largest has 6 idle hours, a fifth of it is 1.2: the step is 2.
    assert sums(*[(10.0, 6.0, 3.0)] * 5).figures([{"small-g"}]) == IdleHours("", 16.0, 16.0, 2.0)
    # 30 of 5 hours each waited for: 25 and 5.
    assert sums(*[(10.0, 6.0, 5.0)] * 5).figures([{"small-g"}]) == IdleHours("", 24.0, 4.0, 2.0)


def test_four_people_with_idle_gpus_are_withheld_although_more_ran_jobs() -> None:
    rows = [(10.0, 6.0, 3.0)] * 4 + [(10.0, 0.0, 0.0)] * 6
    assert sums(*rows).figures([{"small-g"}]) == IdleHours("few_people")


def test_hours_that_one_person_kept_others_waiting_are_withheld() -> None:
    # Five left GPUs idle, others waited for those of one: 40 of 40 hours.
    assert sums((10.0, 50.0, 40.0), *[(10.0, 50.0, 0.0)] * 4).figures([{"small-g"}]) == IdleHours("few_people")


def test_the_rest_without_the_idle_gpus_is_a_sum_too() -> None:
    # All six left GPUs idle; one alone used any, and the total minus the idle hours would be theirs.
    rows = [(100.0, 10.0, 5.0), *[(0.0, 10.0, 5.0)] * 5]
    assert sums(*rows).figures([{"small-g"}]) == IdleHours("other_group")


def test_a_shown_group_whose_other_hours_are_one_persons_withholds_them() -> None:
    """Partition a is idle GPUs of six people and the work of one, so a without the idle hours is that one's work."""
    found = IdleSums()
    for person in range(6):
        found.add(person, ("a",), (0.0, 10.0, 0.0), 10.0, 5.0)
        found.add(person + 10, ("b",), (10.0, 10.0, 0.0), 0.0, 0.0)
    found.add(20, ("a",), (40.0, 0.0, 0.0), 0.0, 0.0)
    assert found.figures([{"a", "b"}]) == IdleHours("other_group")
    # With a withheld, and b as well, a reader knows the total alone.
    assert found.figures([set()]) == IdleHours("", 30.0, 30.0, 2.0)


def test_idle_hours_are_never_more_than_the_unused_ones() -> None:
    found = IdleSums()
    for person in range(5):
        found.add(person, ("a",), (4.0, 4.0, 2.0), 6.0, 6.0)
    # 4 of 10 hours each were unused: 20, all of them waited for; the step is 1.
    assert found.figures([{"a"}]) == IdleHours("", 20.0, 0.0, 1.0)


def drawn(seed: int) -> IdleSums:
    """A small site: five to ten people in two tables, few with most of the hours; some of them leave GPUs idle."""
    dice, found = random.Random(seed), IdleSums()
    is_usual = dice.choice((0.3, 0.9))
    for person in range(dice.randint(5, 10)):
        heavy, leaves_idle = dice.paretovariate(0.8), dice.random() < is_usual
        for _ in range(dice.randint(1, 4)):
            kind = dice.choice("pqr"), dice.choice("12")
            unused = heavy * dice.uniform(1, 10)
            idle = unused * dice.choice((0.5, 1)) * leaves_idle
            found.add(person, kind, (heavy * dice.uniform(0, 10), unused, 0.0), idle, idle * dice.random())
    return found


def published(found: IdleSums) -> tuple[Runs, bool] | None:
    """What is shown of a drawn site, with its idle hours as one more table; None where nothing is shown at all.

    Each person stands for two: their idle GPUs, and everything else.
    """
    plain: dict[tuple[int, tuple[str, ...]], tuple[float, float, float]] = {}
    for (person, groups), (used, unused, unmeasured) in found.atoms.items():
        before = plain.get((person, groups[:-1]), (0.0, 0.0, 0.0))
        plain[person, groups[:-1]] = before[0] + used, before[1] + unused, before[2] + unmeasured
    site = runs_of(plain)
    if site.why(np.ones(len(site.people), dtype=bool)):
        return None
    suppress(site)
    shown = [{table.names[group] for group in table.shown} for table in site.tables]
    is_shown = not found.figures(shown).withheld
    runs = runs_of(
        {(2 * person + (groups[-1] == IDLE), groups): parts for (person, groups), parts in found.atoms.items()}
    )
    for table, names in zip(runs.tables, [*shown, {IDLE} if is_shown else set()], strict=True):
        hidden = (group for group, name in enumerate(table.names) if name not in names)
        table.withheld.update(dict.fromkeys(hidden, Withheld.OTHER_GROUP))
    return runs, is_shown


def breached(seeds: range, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many drawn sites show their idle hours, and how many of these let the attacker find somebody's.

    Each sum is known twenty times as exactly as it is shown: what is withheld must be enough, without the rounding.
    """
    answers = [answer for seed in seeds if (answer := published(drawn(seed)))]
    shown = [runs for runs, is_shown in answers if is_shown]
    for module in (attacker, suppression):
        monkeypatch.setattr(module, "step_of", lambda hours: step_of(hours) / 20)
    return len(shown), sum(bool(breaches(runs)) for runs in shown)


def test_no_attacker_finds_anyones_idle_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, found = breached(range(100), monkeypatch)
    assert (shown > 20, found) == (True, 0)


def test_the_attacker_finds_them_where_nothing_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IdleSums, "figures", lambda sums, shown: IdleHours(""))
    shown, found = breached(range(40), monkeypatch)
    assert (shown > 20, found > 5) == (True, True)


def run(job_id: int, user: str, idle: int = 4) -> None:
    """A run of 8 GPUs for two hours, 8 GPU-hours; some GPUs are idle."""
    times = {"started_at": (OCTOBER - 2 * HOUR).isoformat(), "ended_at": OCTOBER.isoformat()}
    record_job(job_record(job_id=job_id, user_id=user, walltime_used_s=7200.0, **times))
    gpus = [gpu(index, 0.0 if index < idle else 75.0) for index in range(8)]
    record_node_summary(node_payload(job_id=job_id, gpus=gpus, **times))
    analyse_job(Job.objects.get(job_id=job_id).pk, OCTOBER + 2 * HOUR)
    roll_up_due(100, OCTOBER + 2 * HOUR)


@pytest.fixture
def five(db) -> None:
    waiting = {"eligible_at": (OCTOBER - 2 * HOUR).isoformat(), "started_at": (OCTOBER - HOUR).isoformat()}
    for number, user in enumerate(PEOPLE, start=1):
        run(number, user)
    times = {**waiting, "ended_at": (OCTOBER + HOUR).isoformat(), "walltime_used_s": 7200.0}
    record_job(job_record(job_id=99, user_id="frank", gpus_requested=2, gpus_allocated=2, **times))


def idle() -> IdleHours | None:
    (month,) = closed_months()
    return month.figures.idle


def test_a_month_has_what_others_waited_for(five) -> None:
    check_waits(100, timezone.now())
    close_months(SITE, NOW)
    # 5 runs with 4 of 8 GPU-hours idle: 20. Others waited for 2 of 4 GPUs in one of two hours: 5, and 15 not. The
    # largest has 4: the step is 1.
    assert idle() == IdleHours("", 5.0, 15.0, 1.0)


def test_nothing_is_stated_of_a_month_whose_checks_are_due(five) -> None:
    close_months(SITE, NOW)
    assert idle() is None


def test_what_changes_after_the_month_was_closed_changes_nothing(five) -> None:
    check_waits(100, timezone.now())
    close_months(SITE, NOW)
    IdleHold.objects.all().delete()
    JobEfficiency.objects.filter(user__username="alice").delete()
    close_months(SITE, NOW + timedelta(days=1))
    assert idle() == IdleHours("", 5.0, 15.0, 1.0)


def test_a_stored_month_from_before_the_update_has_none(five) -> None:
    close_months(SITE, NOW)
    (month,) = closed_months()
    assert (month.first_day, month.figures.idle) == (date(2026, 10, 1), None)


def test_months_of_an_import_are_closed_after_the_checks(five) -> None:
    """As an administrator does it: judged, added up and closed at once, before any worker has checked who waited."""
    IdleHold.objects.update(check_at=timezone.now())
    out = StringIO()
    call_command("close_months", "--at-once", stdout=out)
    assert "1 month closed" in out.getvalue()
    assert idle() == IdleHours("", 5.0, 15.0, 1.0)


def failing(monkeypatch: pytest.MonkeyPatch, user: str) -> None:
    """The check of this person's run raises."""
    as_usual = waiting.idle_run_of

    def checked(hold: IdleHold) -> object:
        if hold.user.username == user:
            raise ValueError("cannot be checked")
        return as_usual(hold)

    monkeypatch.setattr(waiting, "idle_run_of", checked)


def test_a_check_that_always_fails_hides_nothing_of_the_others(five, monkeypatch: pytest.MonkeyPatch) -> None:
    run(6, "judy")
    failing(monkeypatch, "judy")
    IdleHold.objects.update(check_at=NOW)
    check_waits(100, NOW)
    for tries in range(1, TRIES_MAX):
        assert WorkFailure.objects.get(kind=CHECK).tries == tries
        assert close_months(SITE, NOW + tries * 3 * HOUR - HOUR) == 0, "it is tried again first"
        check_waits(100, NOW + tries * 3 * HOUR)
    assert close_months(SITE, NOW + (TRIES_MAX - 1) * 3 * HOUR) == 1
    # Those of the five others; the 4 hours of the sixth are in neither sum.
    assert idle() == IdleHours("", 5.0, 15.0, 1.0)


def test_a_month_waits_for_a_check_that_is_due_again(five) -> None:
    check_waits(100, timezone.now())
    IdleHold.objects.filter(user__username="alice").update(check_at=NOW)
    assert close_months(SITE, NOW) == 0
    IdleHold.objects.filter(user__username="alice").update(check_at=NOW + HOUR)
    assert close_months(SITE, NOW) == 1


def test_a_month_does_not_wait_longer_than_three_days(five) -> None:
    check_waits(100, timezone.now())
    IdleHold.objects.filter(user__username="alice").update(check_at=NOW)
    assert close_months(SITE, NOW + CLOSES_ANYWAY - HOUR) == 0
    assert close_months(SITE, NOW + CLOSES_ANYWAY) == 1
    assert idle() is None, "a check is due"


def test_the_command_states_that_a_month_waits_for_a_check_that_failed(five, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "alice")
    IdleHold.objects.update(check_at=timezone.now())
    out, errors = StringIO(), StringIO()
    call_command("close_months", "--at-once", stdout=out, stderr=errors)
    assert "0 months closed" in out.getvalue()
    assert "Idle GPUs of 1 job are not yet checked for who waited." in errors.getvalue()
