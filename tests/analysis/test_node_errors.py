"""What the collectors of a run could not do, as its owner reads it: once, where, and with nothing of other jobs."""

from __future__ import annotations

import pytest

from analysis.assess import assess
from analysis.node_errors import KINDS_MAX, TEXT_LENGTH_MAX, node_errors
from tests.analysis.runs import metrics_of
from tests.payloads import job_record, node_payload

NO_PROLOG = "not sampled: no prolog ran for this job on this node"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sampling stood still for 31 s", "sampling paused for 31 s"),
        ("the collector was restarted 1 times", "the collector restarted once during the job"),
        ("the collector was restarted 4 times", "the collector restarted 4 times during the job"),
        ("1 checkpoints could not be written", "the collector could not save its measurements once"),
        ("12 checkpoints could not be written", "the collector could not save its measurements 12 times"),
        ("2 times a reading hung and was cut off", "a reading hung and was aborted 2 times"),
        (
            "the sampling process hung or was killed: the last 95 s of the job were not measured",
            "the collector hung or was killed: the last 95 s of the job were not measured",
        ),
        (
            "no epilog ran for this job on this node; it ends with its last sample, which may lie after the job's end",
            "the end of the job was not seen: the measurements stop where they were last saved",
        ),
        (NO_PROLOG, "nothing was measured: the collector was not started for this job"),
        ("not sampled: no driver", "nothing was measured: no driver"),
        ("the sampling process ended with an error: OSError", "the collector ended with an error: OSError"),
        (
            "GPU 1, 3 was job 8's as well for some of the time: its use is of both",
            "another job also had GPU 1, 3 for part of the time: the measured use includes both jobs",
        ),
        ("interval_s: not possible: 0 s", "the sampling interval is not known: 0 s is not possible"),
        ("gpu 5: busy counter could not be read", "the collector reports “gpu 5: busy counter could not be read”"),
    ],
)
def test_each_error_of_a_collector_is_a_plain_sentence(text: str, said: str) -> None:
    assert node_errors([("nid005123", text)]) == (f"On nid005123: {said}",)


def test_what_happened_before_on_the_node_was_another_jobs() -> None:
    others = "before on this node, 2 times: ship: URLError: <urlopen error timed out>"
    assert node_errors([("nid005123", others), ("nid005123", "  "), ("nid005123", "")]) == ()


def test_the_same_on_several_nodes_is_said_once() -> None:
    said = [(f"nid00{number}", f"sampling stood still for {seconds} s") for number, seconds in enumerate((31, 12, 45))]
    assert node_errors([*said, ("nid009", NO_PROLOG), ("nid010", NO_PROLOG)]) == (
        "On 2 nodes: nothing was measured: the collector was not started for this job",
        "On 3 nodes: sampling paused for 12 to 45 s",
    )
    assert node_errors(
        [("nid1", "the collector was restarted 1 times"), ("nid2", "the collector was restarted 3 times")]
    ) == ("On 2 nodes: the collector restarted 1 to 3 times during the job",)
    assert node_errors([said[0], said[0]]) == ("On nid000: sampling paused for 31 s",)


def test_two_other_jobs_on_one_gpu_are_one_sentence_and_two_gpus_are_two() -> None:
    shared = "GPU {} was job {}'s as well for some of the time: its use is of both"
    said = node_errors([("nid1", shared.format(gpu, job)) for gpu, job in ((0, 8), (0, 99), (1, 8))])
    assert [line.partition(" for part")[0] for line in said] == [
        "On nid1: another job also had GPU 0",
        "On nid1: another job also had GPU 1",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "GPU 1 was job 4711's as well for some of the time: its use is of both",
        "not sampled: the pipe of job 4711.0 is open",
        "something new about Job 4711 and job  4711's GPUs",
        "the sampling process ended with an error: jobs/4711.0 is held",
    ],
)
def test_no_number_of_a_job_is_told(text: str) -> None:
    (said,) = node_errors([("nid005123", text)])
    assert "4711" not in said
    assert "another job" in said


def test_hostile_texts_are_bounded_in_length_and_number() -> None:
    long, many = "x" * 5000, [("nid1", f"fault {chr(97 + index)}") for index in range(26)]
    (said,) = node_errors([("nid1", long)])
    assert len(said) < TEXT_LENGTH_MAX + 60
    lines = node_errors(many)
    assert len(lines) == KINDS_MAX + 1
    assert lines[-1] == f"On 1 node: {26 - KINDS_MAX} more errors of the collector"
    (endless,) = node_errors([("nid1", "sampling stood still for " + "9" * 300 + " s")])
    assert endless.startswith("On nid1: the collector reports “sampling stood still for 999")
    assert len(endless) < TEXT_LENGTH_MAX + 60


def test_a_run_says_them_among_what_was_not_measured_and_only_for_its_own_nodes() -> None:
    said = ["sampling stood still for 31 s", "before on this node, 1 times: ship: no token"]
    nodes = [node_payload(errors=said), node_payload(node="nid009999", errors=["not sampled: no driver"])]
    judged = assess(job_record(), metrics_of(*nodes))
    assert judged.not_measured == (
        "On nid005123: sampling paused for 31 s",
        "nid009999: not part of this job, left out",
    )
