"""What happens to nodes while jobs run: killed processes, GPUs that hang, a portal that is away, a full disk."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collector.answers import Answers, counted
from tests.parts import need
from tests.payloads import errors_of
from tests.processes import wait_until
from tests.slurm.case_nodes import NODE_SETTINGS, CaseNodes, number_in, seconds_at, seconds_of
from tests.slurm.cluster import NODES, pids_of

_, KILLED, FRAIL, CUT_OFF = NODES
"""Whatever a case does to a node, the jobs of no other case are there meanwhile (`CaseNodes.alone`)."""

HOOK_S_MAX = 4.0
HANG_S_MAX = 2.0
STATE_BYTES = 1 << 18
LOST = r"the sampling process hung or was killed: the last ([0-9]+) s of the job were not measured"
STOOD_STILL = r"sampling stood still for ([0-9]+) s"
NO_EPILOG = "no epilog ran for this job on this node; it ends with its last sample, which may lie after the job's end"


def killed_sampler(nodes: CaseNodes) -> None:
    """Started again by the timer in one job, left dead in the other: each says how many seconds were lost."""
    with nodes.alone[KILLED]:
        mended = nodes.work("--gpus=2", f"--nodelist={KILLED}", percent=60, seconds=13)
        left = nodes.work("--gpus=2", f"--nodelist={KILLED}", percent=40, seconds=9)
        nodes.wait_for_samples(mended, 2)
        kill_sampler(nodes, mended)
        gone_at = time.monotonic()
        wait_until("two seconds", lambda: time.monotonic() > gone_at + 2)
        nodes.ship(KILLED)
        wait_until("its new process", lambda: nodes.checkpoint(mended).get("restarts") == 1)
        nodes.wait_for_samples(left, 5)
        kill_sampler(nodes, left)
        ends = {job: nodes.summary(job) for job in (left, mended)}
    lost_s = number_in(errors_of(ends[left])[0], LOST)
    assert len(errors_of(ends[left])) == 1
    # Killed after 5 to 6 s of 9, with a checkpoint every second.
    assert 2 <= lost_s <= 6 + nodes.slack_s
    assert ends[left].gpus[0].measured_s + lost_s == pytest.approx(seconds_of(ends[left]), abs=nodes.slack_s)
    assert seconds_at(ends[left]).keys() <= {0, 40}
    stood_still, restarted = ends[mended].errors
    still_s = number_in(stood_still, STOOD_STILL)
    assert 2 <= still_s <= 6 + nodes.slack_s
    assert restarted == "the collector was restarted 1 times"
    assert ends[mended].gpus[0].measured_s + still_s == pytest.approx(seconds_of(ends[mended]), abs=nodes.slack_s)
    assert seconds_at(ends[mended]).keys() <= {0, 60}
    assert nodes.failures(KILLED) == []


def kill_sampler(nodes: CaseNodes, job: int) -> None:
    (pid,) = [pid for pid in nodes.samplers(KILLED) if f"/{job}.0" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(pid, signal.SIGKILL)
    wait_until("its end", lambda: pid not in nodes.samplers(KILLED))


def hanging_gpu(nodes: CaseNodes) -> None:
    """Files of the driver that never answer: the jobs end on time, no process stays, and what is unmeasured is said."""
    with nodes.alone[FRAIL]:
        here = ("--gpus=2", f"--nodelist={FRAIL}")
        with nodes.fake.hanging(FRAIL, 0, "mem_info_vram_used"), nodes.fake.hanging(FRAIL, 2, "gpu_metrics"):
            unread = nodes.work(*here, percent=50, seconds=1)
            wait_until("its sampling", lambda: nodes.samplers(FRAIL))
            by_text = nodes.work(*here, percent=50, seconds=6)
            took_s = {job: nodes.wait_until_completed(job) for job in (unread, by_text)}
            found = {job: nodes.summary(job) for job in (unread, by_text)}
            assert nodes.samplers(FRAIL) == []
        with nodes.fake.hanging(FRAIL, 0, "device"):
            slow = nodes.work(*here, percent=50, seconds=1)
            took_s[slow], found[slow] = nodes.wait_until_completed(slow), nodes.summary(slow)
            assert nodes.samplers(FRAIL) == []
        wait_until("the node", lambda: nodes.is_idle(FRAIL))
    assert [[gpu.gpu_id for gpu in found[job].gpus] for job in (unread, by_text)] == [[0, 1], [2, 3]]
    # Slurm counts whole seconds; a prolog that hangs is ended by its own limit, and the job is as much later.
    assert took_s[unread] <= 1 + nodes.slack_s
    assert took_s[by_text] <= 6 + nodes.slack_s
    assert took_s[slow] <= 1 + HOOK_S_MAX + nodes.slack_s
    # The epilog waits for a process that hangs no longer than for a last sample.
    assert seconds_of(found[unread]) <= 1 + HANG_S_MAX + nodes.slack_s
    (unsampled,) = errors_of(found[unread])
    assert unsampled.startswith("not sampled: mem_info_vram_used of 0000:c1:00.0: no answer in time")
    assert errors_of(found[slow]) == ("not sampled: prolog: TooLong: no answer in time",)
    assert {gpu.avg_util for job in (unread, slow) for gpu in found[job].gpus} == {None}
    # Without the table the driver's text is read, which stands still here; the other GPU has its own use.
    (still,) = found[by_text].errors
    still_s = number_in(still, STOOD_STILL)
    assert HANG_S_MAX - nodes.slack_s <= still_s <= HANG_S_MAX + nodes.slack_s
    silent, sound = found[by_text].gpus
    assert (silent.avg_util, silent.missing["energy"]) == (0.0, "no gpu_metrics table of a known layout")
    assert sound.active_s == pytest.approx(6 - still_s, abs=nodes.slack_s)
    assert sound.measured_s + still_s == pytest.approx(seconds_of(found[by_text]), abs=nodes.slack_s)


def portal_away(nodes: CaseNodes) -> None:
    """Nobody listens from before the job until after it: what waits is sent by the timer, once."""
    portal = LatePortal()
    with nodes.alone[CUT_OFF]:
        nodes.configure(CUT_OFF, **NODE_SETTINGS, portal_url=f"http://{portal.address}", ship_max_s=1)
        job = nodes.work("--gpus=2", f"--nodelist={CUT_OFF}", percent=70, seconds=4)
        wait_until("both payloads", lambda: nodes.waiting_on(CUT_OFF) == ["record", "summary"])
        wait_until("its sender to give up", lambda: not senders(nodes, CUT_OFF))
        assert nodes.failures(CUT_OFF) == []
        with portal.listening():
            nodes.ship(CUT_OFF)
        nodes.configure(CUT_OFF, **NODE_SETTINGS)
        assert (nodes.waiting_on(CUT_OFF), nodes.jobs_on(CUT_OFF)) == ([], [])
    sent = {path.rpartition("/")[2]: body for path, _, body in portal.requests}
    assert (len(portal.requests), sorted(sent)) == (2, ["job-records", "node-summaries"])
    summary, record = sent["node-summaries"], sent["job-records"]
    assert (summary["job_id"], errors_of(summary)) == (job, ())
    assert [gpu["active_s"] for gpu in summary["gpus"]] == [pytest.approx(4, abs=nodes.slack_s)] * 2
    assert (record["job_id"], record["state"], record["gpus_allocated"]) == (job, "COMPLETED", 2)


class LatePortal(Answers):
    """A portal whose address is known, and where nobody listens before `listening`."""

    def __init__(self) -> None:
        super().__init__((201, counted()))
        self.server.server_close()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        with type(self.server)(self.server.server_address, self.server.RequestHandlerClass) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.shutdown()
                thread.join()


def senders(nodes: CaseNodes, node: str) -> list[int]:
    """The processes on a node that the hooks started, beside the sampling ones."""
    ours = pids_of(f"SLURM_CONF={nodes.top}/slurm.conf", f"SLURMD_NODENAME={node}")
    return [pid for pid in ours if "\0ship\0" in command_of(pid)]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def epilogs_at_once(nodes: CaseNodes) -> None:
    """Two jobs end at one moment on one node, and each has two epilogs: one summary and one record of each."""
    twice = nodes.top / "nodes" / KILLED / "twice"
    with nodes.alone[KILLED]:
        twice.touch()
        jobs = [nodes.work("--gpus=2", f"--nodelist={KILLED}", percent=percent) for percent in (90, 30)]
        for job in jobs:
            nodes.wait_for_samples(job, 3)
        nodes.cluster.run("scancel", *map(str, jobs))
        found = [(nodes.summary(job), nodes.record(job)) for job in jobs]
        wait_until("the senders", lambda: not senders(nodes, KILLED))
        twice.unlink()
        assert (nodes.failures(KILLED), nodes.waiting_on(KILLED), nodes.jobs_on(KILLED)) == ([], [], [])
    for (summary, record), percent in zip(found, (90, 30), strict=True):
        assert (errors_of(summary), record.state) == ((), "CANCELLED")
        assert seconds_at(summary).keys() <= {0, percent}
        assert summary.gpus[0].active_s == pytest.approx(seconds_of(summary), abs=nodes.slack_s)
    for job in jobs:
        assert [len(nodes.told_so_far(kind, job)) for kind in ("node-summaries", "job-records")] == [1, 1]


def restarted_slurmd(nodes: CaseNodes) -> None:
    """Killed in the middle of a job, away at the end of another, started clean under a third: each has its summary."""
    with nodes.alone[CUT_OFF]:
        here = ("--gpus=2", f"--nodelist={CUT_OFF}", "--no-requeue")
        through = nodes.work(*here, percent=50, seconds=10)
        ended = nodes.work(*here, percent=30, seconds=4)
        nodes.wait_for_samples(ended, 2)
        stop_slurmd(nodes)
        wait_until("its end", lambda: not pids_of(f"SLURM_JOB_ID={ended}", f"SLURM_CONF={nodes.top}/slurm.conf"))
        nodes.cluster.start_node(CUT_OFF)
        found = {job: (nodes.summary(job), nodes.record(job)) for job in (ended, through)}
        swept = nodes.work(*here, percent=70)
        nodes.wait_for_samples(swept, 2)
        stop_slurmd(nodes)
        nodes.cluster.start_node(CUT_OFF, "-c")
        found[swept] = (nodes.summary(swept), nodes.record(swept))
        assert (nodes.samplers(CUT_OFF), nodes.jobs_on(CUT_OFF), nodes.failures(CUT_OFF)) == ([], [], [])
        wait_until("the node", lambda: nodes.is_idle(CUT_OFF))
    for job, percent, active_s in ((through, 50, 10), (ended, 30, 4)):
        summary, record = found[job]
        assert (record.state, seconds_at(summary).keys() <= {0, percent}) == ("COMPLETED", True)
        assert [gpu.active_s for gpu in summary.gpus] == [pytest.approx(active_s, abs=nodes.slack_s)] * 2
    assert {errors_of(summary) for summary, _ in found.values()} == {()}
    # `slurmd -c` ends what ran there.
    assert (found[swept][1].state, found[swept][1].exit_code) == ("FAILED", "0:9")
    assert found[swept][0].gpus[0].active_s == pytest.approx(seconds_of(found[swept][1]), abs=2 * nodes.slack_s)


def stop_slurmd(nodes: CaseNodes) -> None:
    slurmd = nodes.cluster.daemons[f"slurmd-{CUT_OFF}"]
    slurmd.kill()
    slurmd.wait()


def crashed_node(nodes: CaseNodes) -> None:
    """All of a node is gone but its disk, and no job is requeued: the timer closes the job with its last checkpoint."""
    with nodes.alone[CUT_OFF]:
        here = ("--gpus=2", f"--nodelist={CUT_OFF}", "--no-requeue")
        lost = nodes.work(*here, percent=50)
        nodes.wait_for_samples(lost, 3)
        nodes.crash(CUT_OFF)
        elapsed_s = nodes.checkpoint(lost)["elapsed_s"]
        nodes.cluster.run("scontrol", "update", f"nodename={CUT_OFF}", "state=down", "reason=no answer")
        wait_until("Slurm to know", lambda: nodes.state(lost) == "NODE_FAIL")
        nodes.ship(CUT_OFF)
        summary = nodes.summary(lost)
        assert (nodes.samplers(CUT_OFF), nodes.jobs_on(CUT_OFF), nodes.waiting_on(CUT_OFF)) == ([], [], [])
        nodes.cluster.start_node(CUT_OFF)
        wait_until("the node", lambda: nodes.is_idle(CUT_OFF))
        after = nodes.work(*here, percent=70, seconds=2)
        assert (errors_of(nodes.summary(after)), nodes.record(after).state) == ((), "COMPLETED")
    assert errors_of(summary) == (NO_EPILOG,)
    assert [gpu.measured_s for gpu in summary.gpus] == [pytest.approx(elapsed_s, abs=0.01)] * 2
    assert seconds_of(summary) == pytest.approx(elapsed_s, abs=0.01)
    assert seconds_at(summary).keys() <= {0, 50}
    # The record of a job without an epilog comes from accounting.
    assert nodes.told_so_far("job-records", lost) == []


def state_folder(nodes: CaseNodes) -> None:
    """Full before a job, full or read-only at its end: the jobs are unharmed, and the next summary counts it."""
    with nodes.alone[FRAIL], small_disk(nodes.top / f"nodes/{FRAIL}/state") as state:
        here = ("--gpus=2", f"--nodelist={FRAIL}")
        fill(state)
        unsampled = nodes.work(*here, percent=50, seconds=1)
        assert nodes.wait_until_completed(unsampled) <= 1 + nodes.slack_s
        wait_until("the senders", lambda: not senders(nodes, FRAIL))
        full = "OSError: [Errno 28] No space left on device"
        assert sorted(nodes.failures(FRAIL)) == [f"{unsampled}\tepilog: {full}", f"{unsampled}\tprolog: {full}"]
        (state / "filling").unlink()

        found = {}
        for name, close in (("full", fill), ("read-only", make_read_only)):
            job = nodes.work(*here, percent=50, seconds=4)
            nodes.wait_for_samples(job, 2)
            close(state)
            assert nodes.wait_until_completed(job) <= 4 + nodes.slack_s
            wait_until("the senders", lambda: not senders(nodes, FRAIL))
            assert (nodes.samplers(FRAIL), nodes.jobs_on(FRAIL)) == ([], [f"{job}.0"])
            make_writable(state)
            nodes.ship(FRAIL)
            found[name] = nodes.summary(job)
            assert (nodes.failures(FRAIL), nodes.jobs_on(FRAIL), nodes.waiting_on(FRAIL)) == ([], [], [])
        wait_until("the senders", lambda: not senders(nodes, FRAIL))
    before = "before on this node, {} times: {}: {}"
    # One prolog, and the epilogs of the job before and of this one.
    assert set(found["full"].errors) >= {before.format(1, "prolog", full), before.format(2, "epilog", full)}
    read_only = before.format(1, "epilog", "OSError: [Errno 30] Read-only file system")
    assert [error for error in found["read-only"].errors if error.startswith(read_only)]
    for summary in found.values():
        assert summary.errors[0] == NO_EPILOG
        assert 2 < summary.gpus[0].measured_s <= 4 + nodes.slack_s
        assert seconds_at(summary).keys() <= {0, 50}


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own in place of a folder that nobody has open."""
    folder.mkdir(mode=0o700, exist_ok=True)
    options = f"size={STATE_BYTES},mode=700"
    need("mounts")
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(state: Path) -> None:
    with (state / "filling").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def make_read_only(state: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", state], check=True)


def make_writable(state: Path) -> None:
    subprocess.run(["mount", "-o", "remount,rw", state], check=True)
    (state / "filling").unlink(missing_ok=True)


def failing_prolog(nodes: CaseNodes) -> None:
    """A prolog of the site's that fails after ours: the job never starts, is requeued and held, and nothing stays."""
    fails = nodes.top / "nodes" / FRAIL / "fails"
    with nodes.alone[FRAIL]:
        fails.touch()
        job = nodes.work("--gpus=2", f"--nodelist={FRAIL}", percent=50, seconds=2)
        summary, record = nodes.summary(job), nodes.record(job)
        fails.unlink()
        nodes.cluster.run("scancel", str(job))
        nodes.cluster.run("scontrol", "update", f"nodename={FRAIL}", "state=resume")
        wait_until("the node", lambda: nodes.is_idle(FRAIL))
        assert (nodes.samplers(FRAIL), nodes.jobs_on(FRAIL), nodes.failures(FRAIL)) == ([], [], [])
    assert (summary.attempt, errors_of(summary), record.attempt, record.state) == (0, (), 0, "REQUEUED")
    assert seconds_of(summary) < nodes.slack_s
    assert [gpu.active_s for gpu in summary.gpus] == [0.0, 0.0]
