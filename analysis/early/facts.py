"""What is known of a job while it runs: what was measured so far, its last stretch, its limit and its earlier runs.

Pure. Shapes: G GPUs and N nodes as in `run`; NaN is not measured, never zero. All seconds count from the job's start.
Sessions in which a person works are told by the name of the job, more generously than in reports: a batch job that is
taken for one gets its word later, a session that is taken for a batch job gets one at lunch.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from analysis.causes.request import is_interactive
from analysis.comparable import ComparableRun
from analysis.facts import JobFacts, job_facts
from analysis.progress.logged import LoggedRun
from jobs.records import JobRecord
from metrics.series import Floats, RunMetrics

WORD = re.compile(r"[a-z0-9]+")
SESSION_WORDS = frozenset(
    {
        *("interactive", "salloc", "bash", "sh", "zsh", "csh", "tcsh", "fish", "shell", "terminal", "tmux"),
        *("jupyter", "jupyterlab", "jupyterhub", "notebook", "ipython", "vscode", "codeserver", "rstudio", "marimo"),
        *("ood", "dashboard", "desktop", "vnc", "xfce"),
    }
)
"""Names of shells, of notebook and editor servers, and of apps of Open OnDemand (`sys/dashboard/sys/…`)."""


def is_session(job_name: str) -> bool:
    """Whether a name is one of a session.

    >>> is_session("jupyter-notebook"), is_session("sys/dashboard/sys/ood_vscode"), is_session("code-server")
    (True, True, True)
    >>> is_session("train_v2"), is_session("virtual_screening"), is_session("shock")
    (False, False, False)
    """
    words = WORD.findall(job_name.lower())
    return not SESSION_WORDS.isdisjoint(words) or any(first + then in SESSION_WORDS for first, then in pairwise(words))


@dataclass(frozen=True)
class MemoryCourse:
    """Host memory of the job on one node without page cache: `gb` `(P,)`, 2^30 bytes, in the middle of equal parts at
    `at_s` `(P,)`; parts without a reading are left out."""

    at_s: Floats
    gb: Floats


@dataclass(frozen=True)
class Recent:
    """The last stretch of each node: `until_s` `(N,)` is when its last sample was, `span_s` `(N,)` how long the stretch
    before it is that `busy_cores` `(N,)` and the module's `power_w` `(G,)` are means of."""

    until_s: Floats
    span_s: Floats
    busy_cores: Floats
    power_w: Floats
    memory: tuple[MemoryCourse, ...] = ()


@dataclass(frozen=True)
class EarlyFacts:
    """One running job: `run` is what was measured so far, as if it had ended with its last sample.

    `ran_s` is how long it runs now. `earlier` are comparable runs of the same work that ended, the latest first. `held`
    are the codes of the words that held at the last look: these are judged by lower thresholds, so that none flickers.
    """

    run: JobFacts
    recent: Recent
    ran_s: float
    time_limit_s: float | None = None
    earlier: tuple[ComparableRun, ...] = ()
    held: frozenset[str] = frozenset()

    @property
    def is_interactive(self) -> bool:
        """Whether a person works in the job, who may be at lunch."""
        return is_interactive(self.run) or is_session(self.run.record.job_name)

    @property
    def left_s(self) -> float | None:
        """Seconds until the time limit; None without one."""
        return None if self.time_limit_s is None else max(self.time_limit_s - self.ran_s, 0.0)

    @cached_property
    def gpu_until_s(self) -> Floats:
        """When the last sample of each GPU was `(G,)`."""
        return np.asarray(self.recent.until_s[self.run.gpus.node_index], dtype=np.float64)


@dataclass(frozen=True)
class NodeStretch:
    """What one node sent beside its summary: see `Recent`; `power_w` by number of the GPU on the node."""

    until_s: float
    span_s: float
    busy_cores: float
    power_w: dict[int, float]
    memory: MemoryCourse


def early_facts(
    record: JobRecord,
    metrics: RunMetrics,
    stretches: dict[str, NodeStretch],
    *,
    ran_s: float,
    time_limit_s: float | None,
    earlier: Sequence[ComparableRun] = (),
    logged: Sequence[LoggedRun] = (),
    held: Collection[str] = (),
) -> EarlyFacts:
    """The facts of a running job; `record` is Slurm's, with the time until the last sample as its run time.

    `stretches` by node; a node that is not among them has no last stretch.
    """
    run = job_facts(record, metrics, logged=logged)
    nodes = [stretches.get(node) for node in run.nodes]
    power = [
        np.nan if (stretch := nodes[place]) is None else stretch.power_w.get(int(gpu), np.nan)
        for place, gpu in zip(run.gpus.node_index, run.gpus.gpu_id, strict=True)
    ]
    empty = MemoryCourse(np.zeros(0), np.zeros(0))
    recent = Recent(
        until_s=np.array([np.nan if node is None else node.until_s for node in nodes]),
        span_s=np.array([np.nan if node is None else node.span_s for node in nodes]),
        busy_cores=np.array([np.nan if node is None else node.busy_cores for node in nodes]),
        power_w=np.array(power, dtype=np.float64),
        memory=tuple(empty if node is None else node.memory for node in nodes),
    )
    return EarlyFacts(run, recent, ran_s, time_limit_s, tuple(earlier), frozenset(held))
