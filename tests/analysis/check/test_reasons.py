"""Why nothing is suggested, as precisely as it is known."""

from __future__ import annotations

import pytest

from analysis.check.asked import asked
from analysis.check.earlier import earlier
from analysis.check.reasons import is_as_suggested, why_nothing
from tests.analysis.check.cases import FULL, QUARTER
from tests.analysis.check.test_risks import NOW, run


@pytest.mark.parametrize(("count", "expected"), [(1, "few_fit"), (2, "few_fit"), (3, "fits"), (5, "fits")])
def test_a_request_is_said_to_fit_from_three_runs_on(count: int, expected: str) -> None:
    request = asked("lumi", FULL)
    found = earlier([run(number, 8, 1, 3.0) for number in range(1, count + 1)], request, NOW)
    assert why_nothing("fits", request, found, has_name=True, other_projects=()) == expected


@pytest.mark.parametrize(
    ("recommended", "options", "expected"),
    [
        ((2, 2, 2), QUARTER, True),
        ((2, 2, 2), FULL | {"--gpus-per-node": "1", "--ntasks-per-node": "1"}, False),
        # One of the last five needed all eight.
        ((2, None, 2), QUARTER, False),
        # What ran before the last five does not count.
        ((2, 2, 2, 2, 2, None), QUARTER, True),
        ((), QUARTER, False),
    ],
)
def test_a_request_matches_what_runs_on_more_gpus_suggest(recommended, options, expected: bool) -> None:
    request = asked("lumi", options)
    runs = [run(at, 8, 1, 3.0, recommended_gpus=gpus) for at, gpus in enumerate(recommended, start=1)]
    found = earlier(runs, request, NOW)
    assert is_as_suggested(found, request) is expected
    why = why_nothing("other_size", request, found, has_name=True, other_projects=())
    assert why == ("as_suggested" if expected else "other_size")


def test_a_request_that_is_known_to_be_too_short_matches_no_suggestion() -> None:
    request = asked("lumi", QUARTER | {"--time": "02:00:00"})
    runs = [run(at, 8, 1, 3.0, recommended_gpus=2) for at in (1, 2, 3)]
    found = earlier(runs, request, NOW)
    assert is_as_suggested(found, request)
    assert why_nothing("other_size", request, found, has_name=True, other_projects=()) == "other_size"


@pytest.mark.parametrize(
    ("partition", "has_name", "projects", "expected"),
    [
        ("small-g", True, (), "no_runs"),
        ("small-g", False, (), "no_name"),
        ("small-g", True, ("project_1",), "other_project"),
        ("gpu-big", True, ("project_1",), "unknown_partition"),
        ("small", True, (), "no_gpus"),
        ("", True, (), "no_runs"),
    ],
)
def test_the_reason_is_the_one_that_can_be_acted_on(partition, has_name, projects, expected: str) -> None:
    request = asked("lumi", FULL | {"--partition": partition} if partition else {"--gpus": "1"})
    found = earlier([], request, NOW)
    assert why_nothing("no_runs", request, found, has_name=has_name, other_projects=projects) == expected
