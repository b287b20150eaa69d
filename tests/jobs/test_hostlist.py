"""Node lists: Slurm's forms, and no text that costs more than it may."""

from __future__ import annotations

import pytest

from jobs.hostlist import NODES_MAX, HostlistError, node_names


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("nid005001", ("nid005001",)),
        ("nid[005001-005003]", ("nid005001", "nid005002", "nid005003")),
        ("nid[005002-005003,005007],login1", ("nid005002", "nid005003", "nid005007", "login1")),
        ("n[8-11]", ("n8", "n9", "n10", "n11")),
        ("n[08-11]", ("n08", "n09", "n10", "n11")),
        ("x[1-2]n[0,3]", ("x1n0", "x1n3", "x2n0", "x2n3")),
        ("gpu-1.site", ("gpu-1.site",)),
    ],
)
def test_a_list_is_spelled_out_in_its_order(written: str, names: tuple[str, ...]) -> None:
    assert node_names(written) == names


def test_the_largest_partition_fits() -> None:
    names = node_names("nid[005000-007977]")
    assert (len(names), names[0], names[-1]) == (2978, "nid005000", "nid007977")


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "is not a list of nodes"),
        ("n1,,n2", "is not a list of nodes"),
        ("n[1-", "is not a list of nodes"),
        ("n1; rm", "is not a list of nodes"),
        ("n[1-2-3]", "not a number or two"),
        ("n[5-3]", "descending"),
        ("n[0-999999999999]", f"more than {NODES_MAX}"),
        ("n[0-999][0-999]", f"more than {NODES_MAX}"),
        ("[0-1]" * 5, "bracket groups"),
        ("n" * 65, "more than 64 characters"),
    ],
)
def test_what_is_no_list_or_names_too_many_is_refused(written: str, why: str) -> None:
    with pytest.raises(HostlistError, match=why):
        node_names(written)
