"""`kaiku watch`: running jobs until they end, what changed alone, and nothing that ends it before."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.errors import NoAnswer
from cli.terminal import width
from tests.cli.portals import SAMPLES, Person, Served, sample, serving

RUNNING = "/api/v1/running/"
REPORT = "/api/v1/jobs/lumi/17300411/"
EVIL = "\x1b]0;owned\x07\x1b[2J\u202etxt\n\r" + "漢" * 300
NOW = 1795541400.0  # 2026-11-24 17:30 UTC, on the day of the sample


@pytest.fixture
def at_half_past_five(in_utc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW)


@pytest.fixture
def portal(at_half_past_five) -> Iterator[Served]:
    with serving({RUNNING: sample("running.json")}) as served:
        yield served


@pytest.fixture
def alice(tmp_path: Path, portal: Served) -> Person:
    return Person(tmp_path, portal.url)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """What happens in each wait, one after the other; the seconds of each wait. After the last it is interrupted."""

    def happening(*each: Callable[[], object]) -> list[float]:
        rest, waits = list(each), []

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if not rest:
                raise KeyboardInterrupt
            rest.pop(0)()

        monkeypatch.setattr("cli.commands.watch.time.sleep", sleep)
        return waits

    return happening


def jobs_of(*kept: int) -> dict[str, Any]:
    """The sample with these of its jobs alone."""
    found = copy.deepcopy(sample("running.json"))
    found["jobs"] = [job for job in found["jobs"] if job["job_id"] in kept]
    return found | {"count": len(kept)}


def ended(state: str = "CANCELLED") -> dict[str, Any]:
    """The report of the job that idled, which ended at 17:35."""
    report = copy.deepcopy(sample("job_inefficient.json"))
    report["job"] |= {"cluster": "lumi", "job_id": 17300411, "state": state, "job_name": "resnet50_train"}
    report["job"] |= {"started_at": "2026-11-24T16:11:33Z", "ended_at": "2026-11-24T17:35:00Z"}
    return report


@pytest.mark.parametrize("columns", [80, 50])
def test_the_status_of_each_job_is_within_the_width_and_commands_are_whole(alice, columns: int) -> None:
    shown = alice.shown("watch", "--once", columns=columns)
    assert shown == (SAMPLES / f"watch.{columns}.txt").read_text()
    commands = [line for line in shown.splitlines() if line.startswith("      ")]
    assert all(width(line) <= columns for line in shown.splitlines() if line not in commands)
    assert "      srun --overlap --jobid=17300411 --nodes=1 --ntasks=1 --pty rocm-smi" in commands


def test_a_job_of_somebody_else_names_its_owner_and_has_no_commands(alice, portal) -> None:
    of_bob = jobs_of(17300411)
    of_bob["jobs"][0] |= {"user_id": "bob", "is_own": False}
    portal.answers[RUNNING] = of_bob
    shown = alice.shown("watch", "--once", "17300411")
    assert "bob's job" in shown.splitlines()[0]
    assert "! No GPU of this job has work" in shown
    assert "  The commands to look into the job work for its owner.\n" in shown
    assert "srun" not in shown
    assert "scancel" not in shown


def test_own_jobs_are_asked_for_and_one_that_is_named_by_its_number(alice, portal) -> None:
    alice.shown("watch", "--once")
    alice.shown("watch", "--once", "lumi/17300412")
    assert portal.requested == [f"{RUNNING}?limit=100&own=1", f"{RUNNING}?limit=100&job_id=17300412"]


def test_a_task_of_an_array_is_named_as_squeue_names_it(alice) -> None:
    shown = alice.shown("watch", "--once", "17300400_3")
    assert shown.startswith("lumi/17300400_3 · fresh · 2 GPUs · small-g\n")
    assert "resnet50_train" not in shown


def test_a_job_that_does_not_run_is_not_found_and_its_report_is_named(alice, portal, capfd) -> None:
    portal.answers[RUNNING] = jobs_of()
    assert alice.bytes_of("watch", "7")[0] == 1
    assert "no job 7 of yours runs now" in capfd.readouterr().err
    assert alice.shown("watch") == "None of your GPU jobs runs now.\n"


def test_only_what_changed_is_printed_new_figures_a_new_word_and_one_that_is_over(alice, portal, steps) -> None:
    works, later = jobs_of(17300412), jobs_of(17300412)
    later["jobs"][0]["measured"] |= {"until": "2026-11-24T17:31:00Z", "use_percent": 40.0}
    warned = copy.deepcopy(later)
    warned["jobs"][0]["words"] = jobs_of(17300411)["jobs"][0]["words"]
    portal.answers[RUNNING] = works
    steps(
        lambda: None,
        lambda: portal.answers.update({RUNNING: later}),
        lambda: portal.answers.update({RUNNING: warned}),
        lambda: portal.answers.update({RUNNING: later}),
        lambda: portal.answers.update({RUNNING: jobs_of(), "/api/v1/jobs/lumi/17300412/": ended() | {}}),
    )
    shown = alice.shown("watch").split("\n\n")
    assert [part.splitlines()[0] for part in shown[1:5]] == ["17:30 lumi/17300412 gromacs_md"] * 4
    assert "40.0 % GPU use · measured until 17:31" in shown[1]
    assert shown[2].splitlines()[1] == "! No GPU of this job has work"
    assert "      scancel 17300411" in shown[2]
    assert "GPU use" not in shown[2]
    assert shown[3].splitlines()[1] == "No longer so: No GPU of this job has work"
    assert shown[4].splitlines()[1] == "has left the queue. Its report usually follows within minutes."


def test_a_job_that_ended_is_named_with_its_report_once_that_exists(alice, portal, steps) -> None:
    portal.answers[RUNNING] = jobs_of(17300411)
    earlier = ended() | {}
    earlier["job"] = earlier["job"] | {"ended_at": "2026-11-24T16:00:00Z"}
    without = {"job": ended()["job"], "efficiency": None, "is_told_by_owner": False}
    waits = steps(
        lambda: portal.answers.update({RUNNING: jobs_of()}),
        lambda: portal.answers.update({REPORT: earlier}),
        lambda: portal.answers.update({REPORT: without}),
        lambda: portal.answers.update({REPORT: ended()}),
    )
    shown = alice.shown("watch")
    assert len(waits) == 4
    assert shown.count("has left the queue.") == 1
    # As `kaiku last` has it of the same report: 69.7 of 87.7 GPU-hours.
    assert shown.endswith(
        "Inefficient: 20.6 % GPU use, 69.7 of 87.7 GPU-hours unused\n      kaiku job lumi/17300411\n\n"
    )
    assert "lumi/17300411 · resnet50_train · cancelled · small-g\n" in shown


def test_a_report_that_does_not_come_is_not_waited_for_without_end(alice, portal, steps, monkeypatch) -> None:
    portal.answers[RUNNING] = jobs_of(17300411)
    minutes = iter(range(0, 100_000, 20))
    monkeypatch.setattr("cli.commands.watch.time.monotonic", lambda: 60.0 * next(minutes))
    steps(lambda: portal.answers.update({RUNNING: jobs_of()}), *[lambda: None] * 3)
    monkeypatch.setattr("cli.http_client.time_left", lambda until: 5.0)
    monkeypatch.setattr("cli.http_answer.time_left", lambda until: 5.0)
    assert alice.shown("watch").endswith("has no report yet. Later:\n      kaiku job lumi/17300411\n\n")


def test_a_portal_that_is_away_is_said_once_and_waited_for_as_long_as_it_asks(alice, portal, steps, capfd) -> None:
    portal.answers[RUNNING] = jobs_of(17300412)
    away = {RUNNING: (503, {"Retry-After": "240"})}
    waits = steps(
        lambda: portal.answers.update(away),
        lambda: None,
        lambda: portal.answers.update({RUNNING: jobs_of(17300412)}),
        lambda: portal.answers.update({RUNNING: (429, {"Retry-After": "999999"})}),
    )
    with pytest.raises(KeyboardInterrupt):
        alice.bytes_of("watch")
    # At most ten minutes, whatever it asks.
    assert waits == [60, 240, 240, 60, 60]
    said = capfd.readouterr().err
    assert said.count("still trying") == 2
    assert said.count("the portal answers again") == 1


def test_a_portal_that_does_not_answer_at_first_ends_it(alice, portal, capfd) -> None:
    portal.answers[RUNNING] = (503, {})
    assert alice.bytes_of("watch")[0] == NoAnswer.status


def test_an_expired_token_ends_it_and_says_what_to_do(alice, portal, steps, capfd) -> None:
    steps(lambda: portal.answers.update({RUNNING: (401, {})}))
    assert alice.bytes_of("watch")[0] == 3
    assert "the token is not valid (expired or revoked)" in capfd.readouterr().err


def test_json_is_one_line_for_each_answer(alice, portal, steps) -> None:
    portal.answers[RUNNING] = jobs_of(17300412)
    steps(lambda: None, lambda: portal.answers.update({RUNNING: jobs_of(), "/api/v1/jobs/lumi/17300412/": ended()}))
    status, out = alice.bytes_of("watch", "--json")
    assert status == 0
    assert [json.loads(line)["count"] for line in out.splitlines()] == [1, 1, 0]


def test_hostile_names_and_texts_print_nothing_that_a_terminal_obeys(alice, portal) -> None:
    evil = jobs_of(17300411)
    job = evil["jobs"][0]
    job |= {"name": EVIL, "partition": EVIL}
    job["words"][0] |= {"title": EVIL, "text": EVIL}
    job["words"][0]["steps"][0] = {"text": EVIL, "command": EVIL}
    job["measured"]["silent_nodes"] = [{"node": EVIL, "since": "2026-11-24T12:40:00Z"}]
    portal.answers[RUNNING] = evil
    shown = alice.shown("watch", "--once")
    assert not set("\x1b\x07\r\u202e") & set(shown)
    assert "is silent: last heard" in shown or "…" in shown


@pytest.mark.parametrize("interval", ["29", "3601", "x"])
def test_an_interval_below_half_a_minute_is_refused(alice, interval: str, capfd) -> None:
    assert alice.bytes_of("watch", "--interval", interval)[0] == 2
    assert "a whole number from 30 to 3600" in capfd.readouterr().err


def test_offline_makes_no_sense(alice, portal, capfd) -> None:
    assert alice.bytes_of("watch", "--offline")[0] == 2
    assert portal.requested == []
