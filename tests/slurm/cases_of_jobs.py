"""What users do with jobs: cancel, suspend, split and share them, and give them names made to deceive."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.payloads import errors_of
from tests.processes import wait_until
from tests.slurm.case_nodes import (
    SHARED_GPU,
    SUSPENDING_USER,
    CaseNodes,
    number_in,
    seconds_at,
    seconds_of,
)
from tests.slurm.cluster import NODES, pids_of

CALM, OTHER = NODES[:2]


def cancelled(nodes: CaseNodes) -> None:
    """Running, it counts until then; pending, it leaves nothing."""
    pending = nodes.work("--gpus=1", "--begin=now+1hour")
    running = nodes.work("--gpus=1", f"--nodelist={CALM}")
    nodes.wait_for_samples(running, 4)
    nodes.as_user("scancel", str(running), str(pending))
    summary, record = nodes.summary(running), nodes.record(running)
    (gpu,) = summary.gpus
    elapsed_s = seconds_of(summary)
    assert elapsed_s > 4
    assert (gpu.measured_s, gpu.active_s) == (pytest.approx(elapsed_s, abs=nodes.slack_s),) * 2
    assert seconds_at(summary).keys() <= {0, 90}
    assert (record.state, record.exit_code, errors_of(summary)) == ("CANCELLED", "0:15", ())
    assert nodes.traces(pending) == []


def heterogeneous(nodes: CaseNodes) -> None:
    """Each component has a job's number, a summary and a record of its own."""
    both = nodes.script("het", "srun --het-group=0 {work} 90 4 &", "srun --het-group=1 {work} 30 4 &", "wait")
    components = ("--gpus=1", f"--nodelist={CALM}", ":", "--gpus=2", f"--nodelist={OTHER}")
    with nodes.alone[OTHER]:
        first = nodes.cluster.submit(both, *components)
        parts = [(nodes.summary(job), nodes.record(job)) for job in (first, first + 1)]
    for (summary, record), node, gpus, percent in zip(parts, (CALM, OTHER), (1, 2), (90, 30), strict=True):
        assert (summary.node, len(summary.gpus), errors_of(summary)) == (node, gpus, ())
        # Four seconds on each GPU of the component, and nothing else but idleness.
        assert seconds_at(summary).keys() <= {0, percent}
        assert [gpu.active_s for gpu in summary.gpus] == [pytest.approx(4, abs=nodes.slack_s)] * gpus
        assert (record.state, record.nodes, record.gpus_allocated) == ("COMPLETED", (node,), gpus)
        assert record.request["--gpus"] == str(gpus)
        assert record.array_job_id is None


STEPS = (
    "srun --exact --ntasks=2 --gpus=1 --mem=100M {work} 80 3",
    "srun --exact --ntasks=3 --gpus=1 --mem=100M {work} 40 4 &",
    "srun --exact --ntasks=4 --gpus=1 --mem=100M {work} 60 4 &",
    "wait",
)
STEP_OPTIONS = ("--ntasks=8", "--gpus=2")


def several_steps(nodes: CaseNodes) -> None:
    """One after the other and two at once: one summary of all."""
    job = nodes.cluster.submit(nodes.script("steps", *STEPS), *STEP_OPTIONS, f"--nodelist={CALM}")
    summary = nodes.summary(job)
    at = seconds_at(summary)
    # One GPU for 3 s, then one for 4 s and the other for 4 s; each stands idle while it has no step.
    assert {percent: at[percent] for percent in (80, 40, 60)} == {
        80: pytest.approx(3, abs=nodes.slack_s),
        40: pytest.approx(4, abs=nodes.slack_s),
        60: pytest.approx(4, abs=nodes.slack_s),
    }
    assert [gpu.measured_s for gpu in summary.gpus] == [pytest.approx(seconds_of(summary), abs=nodes.slack_s)] * 2
    assert (nodes.record(job).state, errors_of(summary)) == ("COMPLETED", ())


def suspended(nodes: CaseNodes) -> None:
    """Without control groups: while all of the user's processes are stopped, nothing counts."""
    job = nodes.work("--gpus=2", f"--nodelist={CALM}", percent=80, seconds=18, user=SUSPENDING_USER)
    nodes.wait_for_samples(job, 2)
    nodes.cluster.run("scontrol", "suspend", str(job))
    wait_until("its processes to stop", lambda: are_all_stopped(nodes, job))
    began = time.monotonic()
    wait_until("eight seconds", lambda: time.monotonic() > began + 8)
    nodes.cluster.run("scontrol", "resume", str(job))
    suspended_s = time.monotonic() - began
    assert_suspended(nodes, job, suspended_s, late_s=3 * nodes.slack_s)


def assert_suspended(nodes: CaseNodes, job: int, suspended_s: float, late_s: float) -> None:
    """A job of two GPUs at 80 percent that was suspended so long, which may be seen so late."""
    summary = nodes.summary(job)
    for gpu in summary.gpus:
        said_s = number_in(
            gpu.missing["suspended"], "the job was suspended for ([0-9]+) s, which count as neither use nor idle"
        )
        assert suspended_s - late_s < said_s < suspended_s + late_s
        assert gpu.measured_s + said_s == pytest.approx(seconds_of(summary), abs=late_s)
        # The GPUs showed 80 percent all the time, also while the job was suspended.
        assert gpu.idle_s < suspended_s / 2
        assert gpu.active_s < seconds_of(summary) - suspended_s + late_s
    assert (nodes.record(job).state, errors_of(summary)) == ("COMPLETED", ())


def are_all_stopped(nodes: CaseNodes, job: int) -> bool:
    pids = pids_of(f"SLURM_JOB_ID={job}", f"SLURM_CONF={nodes.top}/slurm.conf")
    states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids]
    return bool(states) and set(states) == {"T"}


def one_gpu_of_two_jobs(nodes: CaseNodes) -> None:
    """Slurm shares a GPU out as shards: both are sampled, and both say whose use it was as well."""
    share = ("--gres=shard:1", f"--nodelist={CALM}")
    long = nodes.work(*share, percent=50, seconds=11)
    nodes.wait_for_samples(long, 2)
    short = nodes.work(*share, percent=30, seconds=4)
    found = {job: nodes.summary(job) for job in (long, short)}
    # As the portal decodes it: whose job the other one is, its reader does not learn.
    sentence = f"GPU {SHARED_GPU} was another job's as well for some of the time: its use is of both"
    assert [errors_of(summary) for summary in found.values()] == [(sentence,), (sentence,)]
    assert [[gpu.gpu_id for gpu in summary.gpus] for summary in found.values()] == [[SHARED_GPU]] * 2
    # While both ran, the GPU showed what the second did, and both were told so.
    assert [seconds_at(summary)[30] for summary in found.values()] == [pytest.approx(4, abs=nodes.slack_s)] * 2
    assert 2 < seconds_at(found[long])[50] < 7 + nodes.slack_s
    assert found[long].gpus[0].measured_s == pytest.approx(seconds_of(found[long]), abs=nodes.slack_s)


HOSTILE = "a\u202e[1-3]|b\n   JobState=FAILED AllocTRES=gres/gpu=9\n|1|COMPLETED|\u2066<b>]["
NAME = HOSTILE + "ä" * ((1000 - len(HOSTILE.encode())) // 2)
COMMENT = "x\n   JobState=FAILED Reason=None\nNodeList=nid[1-99999]|7|\n\u202e"
RECORD_BYTES_MAX = 2000


def hostile_name(nodes: CaseNodes) -> None:
    """A thousand bytes of name, made to look like fields: nothing is forged, and the record stays small."""
    given = ("--gpus=1", "--time=5", f"--nodelist={CALM}")
    job = nodes.work(*given, f"--job-name={NAME}", f"--comment={COMMENT}", percent=50, seconds=3)
    summary, record = nodes.summary(job), nodes.record(job)
    assert (record.state, record.exit_code, record.nodes) == ("COMPLETED", "0:0", (CALM,))
    assert (record.gpus_allocated, record.walltime_requested_s) == (1, 300.0)
    assert record.request == {"--gpus": "1", "--mem": "1G", "--time": "00:05:00", "--partition": "small-g"}
    # The first 256 bytes of it, and what turns text around or breaks lines is marked.
    clean = NAME.encode()[:256].decode("utf-8", "replace")
    for character in "\u202e\u2066\n":
        clean = clean.replace(character, "\ufffd")
    assert record.job_name == clean
    body = json.dumps(nodes.told("job-records", job))
    assert len(body) < RECORD_BYTES_MAX
    assert "NodeList" not in body
    assert "JobState" not in json.dumps(nodes.told("node-summaries", job))
    assert [gpu.active_s for gpu in summary.gpus] == [pytest.approx(3, abs=nodes.slack_s)]


GIVEN = {
    "half of an exclusive node": ("standard-g", ("--gpus=4",), {"--gpus": "4"}),
    "a task for each of them": (
        "standard-g",
        ("--gpus-per-node=4", "--ntasks-per-node=4", "--cpus-per-task=7"),
        {"--gpus-per-node": "4", "--ntasks-per-node": "4", "--cpus-per-task": "7"},
    ),
    "GPUs for each task": (
        "small-g",
        ("--ntasks-per-node=4", "--gpus-per-task=2"),
        {"--ntasks-per-node": "4", "--gpus-per-task": "2"},
    ),
}


def half_of_a_node(nodes: CaseNodes) -> None:
    """The record holds what sbatch was given; all eight GPUs that the job got are measured."""
    jobs = {}
    with nodes.alone[OTHER]:
        for name, (partition, options, _) in GIVEN.items():
            where = (f"--partition={partition}", f"--nodelist={OTHER}", "--time=5")
            jobs[name] = nodes.work(*where, *options, percent=50, seconds=2)
        found = {name: (nodes.summary(job), nodes.record(job)) for name, job in jobs.items()}
    for name, (partition, _, wanted) in GIVEN.items():
        summary, record = found[name]
        # slurm.conf gives every job 1 GB a core.
        common = {"--mem-per-cpu": "1G", "--time": "00:05:00", "--partition": partition}
        assert record.request == wanted | common
        assert (record.gpus_allocated, len(summary.gpus)) == (8, 8)
        assert record.is_exclusive == (partition == "standard-g")
        # The script of a single task shows itself on every GPU that the job has.
        assert [gpu.active_s for gpu in summary.gpus] == [pytest.approx(2, abs=nodes.slack_s)] * 8


def over_at_once(nodes: CaseNodes) -> None:
    """A script that does nothing, and one whose output has no place: each has a summary and a record."""
    nothing = nodes.cluster.submit(nodes.script("nothing", ":"), "--gpus=1", f"--nodelist={CALM}")
    unlaunched = nodes.work("--gpus=1", f"--nodelist={CALM}", "--output=/nonexistent/folder/file")
    for job, ending in ((nothing, ("COMPLETED", "0:0")), (unlaunched, ("FAILED", "0:53"))):
        summary, record = nodes.summary(job), nodes.record(job)
        assert (record.state, record.exit_code) == ending
        assert seconds_of(record) <= nodes.slack_s
        assert errors_of(summary) == ()
        assert [gpu.measured_s for gpu in summary.gpus] == [pytest.approx(seconds_of(summary), abs=nodes.slack_s)]
        assert [gpu.active_s for gpu in summary.gpus] == [0.0]
        assert summary.cpu is not None
        assert summary.cpu.missing == {"cpu": "the job ended before its control group was read"}
