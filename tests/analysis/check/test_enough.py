"""No suggestion has less time or memory than its own risks say is needed; hand-checked, then over generated histories.

LUMI: a node of small-g has 8 GPUs and 512 GB; a limit is the longest run and a fifth more, in quarters of an hour.
"""

from __future__ import annotations

import random

import pytest

from analysis.check.asked import asked
from analysis.check.earlier import AS_SUGGESTED, OTHER_SIZE, earlier
from analysis.check.reasons import why_nothing
from analysis.check.risks import risks
from jobs.sbatch import apply, parse_block
from reports.check_texts import reason_text, risk_text
from tests.analysis.check.cases import FULL, HALF, QUARTER, TWO_USED, Case, Ran, like, times
from tests.analysis.check.test_cases import NOW, answer, history

NO_GPUS = Ran((0.0,) * 8, hours=4.0, busy_cores=42.0, gpu_gb=0.3, host_gb=187.0, options=FULL | {"--time": "12:00:00"})
"""Work of 42 cores: with a fifth more 51 of them, seven for each of eight tasks, so 56."""


def answered(options: dict[str, str], *runs: Ran):
    ran, request = history(Case("", options, runs)), asked("lumi", options)
    found = earlier([each.past for each in ran.values()], request, NOW)
    return request, found, answer(request, found, ran)


def test_the_limit_of_work_for_the_cpu_partition_holds_for_its_longest_run() -> None:
    """10 h 16 min and a fifth are 12 h 19 min, so 12:30; four hours were requested."""
    longest = like(NO_GPUS, hours=10 + 16 / 60, days_ago=5.0, host_gb=256.0)
    _, _, (given, _) = answered(FULL | {"--time": "04:00:00"}, *times(like(NO_GPUS, hours=3.0), 2), longest)
    assert given.block == (
        "--partition=small",
        "--nodes=1",
        "--ntasks-per-node=8",
        "--cpus-per-task=7",
        "--mem=308G",
        "--time=12:30:00",
    )
    (advice,) = given.advice
    assert (
        reason_text(advice, given.facts)
        .replace("\u00a0", " ")
        .endswith("the time limit is raised: the longest of your last comparable runs took 10 h 16 min.")
    )


def test_a_request_without_gpus_and_with_too_little_memory_matches_nothing() -> None:
    """64 GB come with one node of small-g; the runs needed 187 and 256, with a fifth 308."""
    options = {"--partition": "small-g", "--time": "12:00:00"}
    request, found, (given, why) = answered(options, NO_GPUS, like(NO_GPUS, host_gb=256.0, days_ago=2.0))
    assert [(each.code, each.runs, each.of, each.worst) for each in risks(found, request)] == [
        ("out_of_memory", 2, 2, 256.0)
    ]
    assert (why, parse_block(given.block)["--mem"], parse_block(given.block)["--partition"]) == ("", "308G", "small")
    (risk,) = risks(found, request)
    assert risk_text(risk).replace("\u00a0", " ") == (
        "2 of the last 2 runs of other sizes needed more than 64.0 GB of host memory (up to 256.0 GB)."
    )
    said = why_nothing(OTHER_SIZE, request, found, has_name=True, other_projects=())
    assert said == OTHER_SIZE != AS_SUGGESTED


def test_another_size_gets_the_time_that_its_risk_states() -> None:
    """Twenty hours on eight GPUs, of which two worked: on four at least as long; a fifth more are 24."""
    runs = times(like(TWO_USED, hours=20.0), 4)
    request, found, (given, _) = answered(HALF | {"--time": "02:00:00"}, *runs)
    assert [risk.code for risk in risks(found, request)] == ["timeout"]
    assert given.wanted.walltime_s == 24 * 3600
    assert "--time=02:00:00 -> --time=1-00:00:00" in map(str, given.changes)


@pytest.mark.parametrize("limit", ["04:00:00", "3-00:00:00"])
def test_fewer_gpus_have_one_limit_whatever_is_requested(limit: str) -> None:
    """Eight GPUs at 20 % fill 160 / 70, so four: ten hours there are up to twenty, and a fifth more is a day."""
    even = Ran((20.0,) * 8, hours=10.0, options=FULL | {"--time": "1-00:00:00"}, busy_cores=7.0)
    _, _, (given, _) = answered(FULL | {"--time": limit}, *times(even, 4))
    assert (given.wanted.gpus, given.wanted.walltime_s) == (4, 24 * 3600)
    said = " ".join(reason_text(each, given.facts) for each in given.advice).replace("\u00a0", " ")
    assert "on 4 GPUs a run may take 20 h 00 min" in said


def generated(seed: int) -> tuple[dict[str, str], tuple[Ran, ...]]:
    """A request and a history of runs of up to two sizes, some of which failed."""
    pick = random.Random(seed)
    sizes = [(FULL, 8), (HALF, 4), (QUARTER, 2)]
    options, own = pick.choice(sizes)
    limit = pick.choice(["00:30:00", "02:00:00", "04:00:00", "1-00:00:00", "3-00:00:00", "UNLIMITED"])
    memory = pick.choice(["0", "20G", "60G", "120G", "240G", "480G"])
    used = pick.choice([0, 1, 2, 4, 8])
    runs = []
    for day in range(pick.randint(1, 7)):
        had, gpus = pick.choice([(options, own), pick.choice(sizes)])
        held_gb = float(had["--mem"].rstrip("G"))
        state = pick.choice(["COMPLETED"] * 5 + ["OUT_OF_MEMORY", "TIMEOUT"])
        runs.append(
            Ran(
                tuple(88.0 if at < used else 0.0 for at in range(gpus)),
                hours=pick.choice([0.5, 1.0, 3.0, 10.0, 23.0]),
                options=had | {"--time": pick.choice(["1-00:00:00", "3-00:00:00"])},
                state=state,
                host_gb=held_gb if state == "OUT_OF_MEMORY" else min(pick.choice([20.0, 61.0, 150.0, 300.0]), held_gb),
                days_ago=day + 1.0,
                busy_cores=pick.choice([2.0, 7.9, 30.0]),
            )
        )
    return options | {"--time": limit, "--mem": memory}, tuple(runs)


@pytest.mark.parametrize("block", range(3))
def test_no_suggestion_has_what_its_risks_say_is_too_little(block: int) -> None:
    suggested = 0
    for seed in range(block * 30, block * 30 + 30):
        options, runs = generated(seed)
        request, found, (given, _) = answered(options, *runs)
        if given is None:
            continue
        suggested += 1
        after = parse_block(given.block) if given.block else apply(request.options, given.changes)
        shape = asked("lumi", after).shape or given.wanted
        for risk in risks(found, request):
            if risk.code == "timeout":
                assert shape.walltime_s >= risk.least, (seed, risk, after)
            if risk.code == "out_of_memory":
                assert shape.memory_gb >= risk.least, (seed, risk, after)
    assert suggested >= 5
