"""The record at the border: what is cleaned, what is refused, what is never kept."""

from __future__ import annotations

import msgspec
import pytest

from jobs.records import JobRecord, problems

BASE = {"cluster": "lumi", "job_id": 7, "user_id": "alice", "project_id": "project_465000001", "state": "COMPLETED"}


def record(**fields) -> JobRecord:
    return msgspec.convert(BASE | fields, JobRecord)


def test_only_options_that_ask_for_resources_are_kept() -> None:
    run = record(request={"--gpus": "8", "--wrap": "rm -rf", "--chdir": "/users/alice", "--export": "TOKEN=1"})
    assert run.request == {"--gpus": "8"}


def test_names_lose_what_a_terminal_acts_on_and_are_cut() -> None:
    assert record(job_name="a\x1b[31m\nb\u202ec").job_name == "a�[31m�b�c"
    assert len(record(job_name="x" * 1000).job_name) == 256
    assert record(request={"--time": "1\n2" + "0" * 100}).request["--time"] == "1�2" + "0" * 61


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"job_id": "seven"}, r"\$\.job_id"),
        ({"job_id": 0}, r"\$\.job_id"),
        ({"user_id": "a/b"}, r"\$\.user_id"),
        ({"user_id": "alice\n"}, r"\$\.user_id"),
        ({"cluster": ""}, r"\$\.cluster"),
        ({"nodes": ["nid1;rm"]}, r"\$\.nodes\[0\]"),
        ({"walltime_used_s": -1}, r"\$\.walltime_used_s"),
        ({"started_at": "2026-11-20T10:00:00"}, r"\$\.started_at"),
    ],
)
def test_what_cannot_be_is_refused_by_its_path(fields: dict, path: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=path):
        record(**fields)


def test_contradictions_are_named() -> None:
    run = record(
        started_at="2026-11-20T10:00:00Z", ended_at="2026-11-20T09:00:00Z", nodes=["nid005001", "nid005001"]
    )  # fmt: skip
    assert problems(run) == [("ended_at", "is before started_at"), ("nodes", "names the same node twice")]
    assert problems(record()) == []


def test_a_node_with_and_without_its_domain_is_one_node() -> None:
    twice = [("nodes", "names the same node twice")]
    assert problems(record(nodes=["nid005001", "nid005001.lumi.csc.fi"])) == twice
    assert problems(record(nodes=["nid005001.a", "nid005001.b"])) == twice
    assert problems(record(nodes=["nid005001.a", "nid005002.a"])) == []
    assert problems(record(nodes=["10.0.5.1", "10.0.5.2"])) == []


def test_states_tell_whether_a_run_is_over_and_whose_fault_it_was() -> None:
    assert not record(state="RUNNING").has_ended
    assert record(state="TIMEOUT").has_ended
    assert record(state="NODE_FAIL").is_system_failure
    assert record(state="REQUEUED").is_system_failure
    assert record(state="REVOKED").is_system_failure
    assert not record(state="OUT_OF_MEMORY").is_system_failure


def moments(**times: str) -> JobRecord:
    """A run by the clock of one day; `yesterday` and the like are said in full."""
    return record(**{name: at if "-" in at else f"2026-11-20T{at}Z" for name, at in times.items()})


def test_a_run_waited_from_when_it_could_start_until_it_did() -> None:
    # Submitted at 9, held back until 9:30, started at 10:00:30: half an hour and 30 s.
    run = moments(submitted_at="09:00:00", eligible_at="09:30:00", started_at="10:00:30")
    assert run.queue_wait_s == 1830.0
    assert moments(eligible_at="10:00:00", started_at="10:00:00").queue_wait_s == 0.0


@pytest.mark.parametrize(
    "times",
    [
        {"started_at": "10:00:00"},
        {"eligible_at": "09:00:00"},
        {"submitted_at": "09:00:00", "started_at": "10:00:00"},
        {"eligible_at": "10:00:01", "started_at": "10:00:00"},
        {"eligible_at": "1970-01-01T00:00:00Z", "started_at": "10:00:00"},
        {"eligible_at": "0001-01-01T00:00:00Z", "started_at": "9999-12-31T23:59:59Z"},
    ],
)
def test_a_wait_that_is_not_known_or_cannot_be_is_none(times: dict[str, str]) -> None:
    assert moments(**times).queue_wait_s is None
