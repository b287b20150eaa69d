"""What people read of progress that stopped, and names of metrics as a script wrote them."""

from __future__ import annotations

import pytest

from analysis.findings import Finding, FindingCode
from reports.finding_texts import finding_text
from reports.wording import kind_title, title
from tests.analysis.runs import facts, of_nodes
from tests.payloads import node_payload

STOPPED = {"flat_s": 39_600.0, "flat_fraction": 0.9, "since_s": 3600.0, "gpu_hours_since": 44.0}
HANG = Finding(FindingCode.BUSY_BUT_WAITING, 1.0, STOPPED | {"power_fraction": 0.45})


def test_steps_that_stopped_are_a_fact_with_since_when_and_what_it_cost() -> None:
    text = finding_text(HANG, facts([99.0] * 8))
    assert "The last step was logged 1 h 00 min after the start." in text
    assert "In the 11 h 00 min until the job ended no further step was logged" in text
    assert "at 45 % of the power cap on average over the run (44.0 GPU-hours)" in text
    assert "probably" not in text
    assert HANG.is_fact
    assert title(HANG) == "The GPUs were busy, but no step was made"
    assert kind_title("busy_but_waiting", title(HANG)) == "GPUs showed as busy but drew little power"


def test_power_and_price_that_are_not_known_are_left_out() -> None:
    evidence = {name: STOPPED[name] for name in ("flat_s", "flat_fraction", "since_s")}
    text = finding_text(Finding(FindingCode.BUSY_BUT_WAITING, 1.0, evidence), facts([99.0]))
    assert "the GPUs showed as busy. They waited" in text
    assert "GPU-hours" not in text


def test_across_nodes_a_collective_is_named() -> None:
    many = of_nodes(node_payload(node="nid1"), node_payload(node="nid2"))
    assert "a collective across nodes" in finding_text(HANG, many)


def test_power_alone_stays_an_inference() -> None:
    inferred = Finding(FindingCode.BUSY_BUT_WAITING, 0.9, {"power_fraction": 0.2})
    assert not inferred.is_fact
    assert title(inferred) == "GPUs showed as busy but drew little power"


@pytest.mark.parametrize(
    ("name", "shown"), [("lo\u202ess\n x", "“lo\ufffdss x”"), ("a" * 250, f"“{'a' * 59}…”"), ("loss", "“loss”")]
)
def test_the_name_of_a_metric_fits_a_line_and_turns_no_text_around(name: str, shown: str) -> None:
    evidence = {"metric": name, "step": 1, "since_s": 60.0, "nan_s": 3600.0, "nan_fraction": 0.5}
    assert shown in finding_text(Finding(FindingCode.LOSS_IS_NAN, 1.0, evidence), facts([90.0]))
