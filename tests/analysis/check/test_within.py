"""Limits of partitions: nothing is suggested that the partition refuses. LUMI: small-g 4 nodes and 3 days, standard-g
1,024 nodes and 2 days, dev-g 32 nodes and 3 hours."""

from __future__ import annotations

import pytest

from analysis.check.asked import asked, fit, own_fit
from analysis.check.suggestion import Suggestion
from analysis.check.within import Within, accepted, within
from jobs.sbatch import OptionChange, apply
from tests.analysis.check.cases import FULL, WHOLE

HOUR_S, DAY_S = 3600.0, 86_400.0
REFUSED = "refused"


@pytest.mark.parametrize("limit", ["UNLIMITED", "INFINITE", "-1", "0", "5-00:00:00", "4320:01", "9999-00:00:00"])
def test_what_is_longer_than_the_partition_allows_does_not_fit(limit: str) -> None:
    request = asked("lumi", FULL | {"--time": limit})
    assert fit(request, request.partition).why_not == "walltime"


@pytest.mark.parametrize("limit", ["3-00:00:00", "4320", "02:00:00"])
def test_the_longest_limit_fits(limit: str) -> None:
    request = asked("lumi", FULL | {"--time": limit})
    assert fit(request, request.partition).why_not == ""
    assert within(request, ()).request is request


def test_of_several_partitions_one_that_accepts_the_request_is_enough() -> None:
    """Two and a half days: standard-g allows two, small-g three."""
    both = asked("lumi", FULL | {"--partition": "standard-g,small-g", "--time": "2-12:00:00"})
    assert own_fit(both).partition.name == "small-g"
    assert within(both, ()) == Within(both, None)
    longer = asked("lumi", FULL | {"--partition": "standard-g,small-g", "--time": "5-00:00:00"})
    assert own_fit(longer).why_not == "walltime"


def test_without_a_limit_the_partition_sets_one() -> None:
    request = asked("lumi", {name: value for name, value in FULL.items() if name != "--time"})
    assert fit(request, request.partition).why_not == ""


@pytest.mark.parametrize(
    ("options", "times_s", "expected"),
    [
        # No partition allows five days: three are the most that small-g does.
        (FULL | {"--time": "5-00:00:00"}, (), {"--time": "3-00:00:00"}),
        (FULL | {"--time": "UNLIMITED"}, (), {"--time": "3-00:00:00"}),
        # dev-g has three hours; a day fits into small-g. Two hours, and a fifth more, would fit into dev-g.
        (FULL | {"--partition": "dev-g"}, (), {"--partition": "small-g"}),
        (FULL | {"--partition": "dev-g"}, (2 * HOUR_S,), {"--time": "03:00:00"}),
        # Whole nodes for two and a half days: small-g allows that, with the same cores and memory.
        (
            WHOLE | {"--time": "2-12:00:00"},
            (2.1 * DAY_S,),
            {"--partition": "small-g", "--cpus-per-task": "7", "--mem": "480G"},
        ),
        # Five nodes for a day fit only into standard-g, for three days nowhere, for three hours first into dev-g.
        (FULL | {"--nodes": "5"}, (), {"--partition": "standard-g"}),
        (FULL | {"--nodes": "5", "--time": "3-00:00:00"}, (), None),
        (FULL | {"--nodes": "5", "--time": "03:00:00"}, (), {"--partition": "dev-g"}),
        (FULL | {"--nodes": "2000"}, (), None),
        (FULL | {"--gpus-per-node": "a100:8"}, (), None),
    ],
)
def test_the_request_as_a_partition_accepts_it(options, times_s, expected) -> None:
    request = asked("lumi", options)
    base = within(request, times_s)
    assert base.obstacle is not None
    if expected is None:
        assert base.request is None
        assert accepted(request, base, None, "no_runs") == (None, REFUSED)
        return
    changed = {name: value for name, value in base.request.options.items() if options.get(name) != value}
    assert changed == expected
    given, why = accepted(request, base, None, "no_runs")
    assert ({change.option: change.recommended for change in given.changes}, why) == (expected, "")
    again = asked("lumi", apply(request.options, given.changes))
    assert fit(again, again.partition).why_not == ""
    assert again.shape == given.wanted


def test_a_suggestion_is_of_the_requests_own_lines_and_never_too_long() -> None:
    request = asked("lumi", FULL | {"--time": "5-00:00:00"})
    base = within(request, ())
    changes = (OptionChange("--gpus-per-node", "8", "2"), OptionChange("--time", "3-00:00:00", "3-12:00:00"))
    wanted = asked("lumi", apply(base.request.options, changes)).shape
    given, _ = accepted(request, base, Suggestion(changes, (), wanted, (), None, None, 4, None, None), "")
    assert list(map(str, given.changes)) == [
        "--gpus-per-node=8 -> --gpus-per-node=2",
        "--time=5-00:00:00 -> --time=3-00:00:00",
    ]
    assert given.wanted.walltime_s == 3 * DAY_S
    block = ("--partition=small-g", "--nodes=1", "--gpus-per-node=2", "--mem=120G", "--time=3-12:00:00")
    given, _ = accepted(request, base, Suggestion((), block, wanted, (), None, None, 4, None, None), "")
    assert given.block == (*block[:-1], "--time=3-00:00:00")
