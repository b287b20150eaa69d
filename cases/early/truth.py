"""Which early words would have been right at a cut, and which were due: by what was true then and what came after.

A word is DUE if a colleague who looks at the live job then would write to its owner and the owner would thank for it.
It is RIGHT, but not due, if it is a fact and welcome or harmless. Everything else is noise and wrong to send. Nothing
here knows a rule's limits; thresholds are wide, and what lies near them is right but not due.

- A fact must have lasted: GPUs idle for 35 minutes are idle "since 30 minutes" however idleness is read, 25 to 35 are
  near enough to be right; below, the word states something untrue.
- Work that returns within an hour makes the word noise: the owner knew of the pause (loading, evaluation, a phase on
  the CPU), and would read about GPUs that already work. Work that returns later leaves the hours wasted (preparation
  belongs into a job without GPUs), but the owner may have planned it: right, not due. The same holds for GPUs that
  stood unused for two hours, however soon they work: so much is worth knowing for the next run.
- Nothing to win, nothing due: with less than half an hour left, the run would have ended before anybody acted.
- Sessions of people (Jupyter, a shell) idle while their owner thinks or eats: up to two hours are none of our business,
  four hours without any use are worth a word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cases.early.activity import Activity, Bools
from cases.early.cutting import Cut, Host
from cases.early.exceptions import BUSY_BUT_WAITING, HANGS, OWN_WORDS, PAGE_CACHE

CODES = (
    "all_gpus_idle",
    "some_gpus_unused",
    "spinning",
    "host_memory_filling",
    "gpu_memory_full",
    "limit_too_short",
    "cpu_only",
)
NOTHING: frozenset[str] = frozenset()

IDLE_NEAR_S, IDLE_SURE_S = 1500.0, 1800.0
"""Windows of five minutes: an idle time of 30 whole minutes is sure, one of 25 may be 30."""
RETURNS_S, WASTED_S, WORTH_S = 3600.0, 7200.0, 1800.0
SESSION_NEAR_S, SESSION_SURE_S = 2 * 3600.0, 4 * 3600.0
HOST_BUSY_CORES, HOST_IDLE_CORES = 0.8, 0.3
"""One computing process keeps a core busy; shells, servers and a kernel of Jupyter stay below a third of one."""
WORKED_S = 600.0
"""Nobody expects the word before the others have worked for ten minutes."""
FULL_SHARE, NEAR_FULL_SHARE, GROWTH_SHARE = 0.97, 0.9, 0.02
VISIBLE_GROWTH_SHARE, VISIBLE_SHARE = 0.05, 0.3
"""A growth that a person sees in a plot: a twentieth of the limit within an hour, to at least 30 % of the limit."""

SESSION_NAMES = ("interactive", "bash", "sh", "zsh", "jupyter", "ood", "notebook", "rstudio", "vscode", "code-server")


@dataclass(frozen=True)
class Words:
    """Codes that had to be sent and codes that were right to send too; any other code was wrong."""

    must: frozenset[str] = NOTHING
    may: frozenset[str] = NOTHING


def is_session(job_name: str) -> bool:
    """A job of a person at a keyboard: an interactive shell or an app of Open OnDemand."""
    name = job_name.lower()
    parts = name.replace("_", "-").replace("/", "-").split("-")
    return "sys/dashboard" in name or any(part in SESSION_NAMES for part in parts)


def truth(cut: Cut, seen: Activity, gpu_out_of_memory: bool = False) -> Words:
    """The words of a cut of the noisy library or of a real run. `seen` is the activity of its course;
    `gpu_out_of_memory`: it is known that the run later died of full GPU memory. Exceptions by name come last: they
    replace the mechanical verdicts of their codes wherever one of these codes is right at all."""
    due: dict[str, str] = {}
    if cut.payloads and seen.util.shape[1] and not np.all(np.isnan(seen.util)):
        due |= _idle(cut, seen) | _unused(cut, seen) | _spinning(cut, seen)
        due |= {"gpu_memory_full": _gpu_memory(cut, seen, gpu_out_of_memory)}
    if cut.payloads:
        due |= {"host_memory_filling": _host_memory(cut)}
    due |= {"limit_too_short": "may" if _hits_limit(cut) else "wrong"}
    own = OWN_WORDS.get(cut.course.name, {})
    if any(due.get(code, "wrong") != "wrong" for code in own):
        due |= own
    return Words(
        frozenset(code for code, verdict in due.items() if verdict == "must"),
        frozenset(code for code, verdict in due.items() if verdict == "may"),
    )


def _idle(cut: Cut, seen: Activity) -> dict[str, str]:
    """`all_gpus_idle`, and `cpu_only` where no GPU was ever used while the host computes: the more exact word is due,
    the other is then true as well. Before half an hour `cpu_only` is right only if the GPUs stay unused to the end."""
    idle_s, resumes_s = seen.idle_s(cut.at_s), seen.resumes_s(cut.at_s)
    is_untouched = seen.work_s(cut.at_s) == 0 and idle_s >= cut.at_s - 300.0
    busy_cores = _busy_cores(cut)
    verdict = _verdict(cut, idle_s, resumes_s)
    words = {"all_gpus_idle": verdict}
    is_noise = resumes_s < RETURNS_S and idle_s < WASTED_S
    if not is_untouched or busy_cores < HOST_IDLE_CORES or is_noise or is_session(cut.course.job_name):
        return words
    if idle_s < IDLE_NEAR_S:
        return words | {"cpu_only": "may" if math.isinf(resumes_s) else "wrong"}
    if verdict == "must" and busy_cores >= HOST_BUSY_CORES:
        return {"all_gpus_idle": "may", "cpu_only": "must"}
    return words | {"cpu_only": "may"}


def _verdict(cut: Cut, idle_s: float, resumes_s: float) -> str:
    """Whether GPUs that are idle so long deserve a word."""
    near_s, sure_s, wasted_s = IDLE_NEAR_S, IDLE_SURE_S, WASTED_S
    if is_session(cut.course.job_name):
        near_s, sure_s, wasted_s = SESSION_NEAR_S, SESSION_SURE_S, SESSION_SURE_S
    if idle_s < near_s or (resumes_s < RETURNS_S and idle_s < wasted_s):
        return "wrong"
    is_due = idle_s >= sure_s and math.isinf(resumes_s) and cut.left_s >= WORTH_S
    return "must" if is_due else "may"


def _unused(cut: Cut, seen: Activity) -> dict[str, str]:
    """`some_gpus_unused`: due from half an hour on if they stay unused to the end, right before that."""
    unused = seen.unused(cut.at_s)
    if not unused.any() or seen.work_s(cut.at_s) == 0:
        return {"some_gpus_unused": "wrong"}
    resumes_s = seen.resumes_s(cut.at_s, unused)
    returns_soon = resumes_s < RETURNS_S and cut.at_s < WASTED_S
    if returns_soon or (is_session(cut.course.job_name) and cut.at_s < SESSION_NEAR_S):
        return {"some_gpus_unused": "wrong"}
    is_early = min(cut.at_s / IDLE_SURE_S, seen.work_s(cut.at_s) / WORKED_S, cut.left_s / WORTH_S) < 1.0
    is_early = is_early or is_session(cut.course.job_name)
    return {"some_gpus_unused": "may" if is_early or math.isfinite(resumes_s) else "must"}


def _spinning(cut: Cut, seen: Activity) -> dict[str, str]:
    """`spinning`: due for runs whose story says that they hang; right for those that only wait all the time (latency,
    slow transport): the power is too low there as well, but the run proceeds. By fact it must last 25 minutes."""
    name, spin_s = cut.course.name, seen.spin_s(cut.at_s)
    if spin_s < IDLE_NEAR_S or name not in HANGS | BUSY_BUT_WAITING:
        return {"spinning": "wrong"}
    is_due = name in HANGS and spin_s >= IDLE_SURE_S and cut.left_s >= WORTH_S
    return {"spinning": "must" if is_due else "may"}


def _gpu_memory(cut: Cut, seen: Activity, dies: bool) -> str:
    """`gpu_memory_full`: due if the run later dies of it and memory was seen to grow to its end, right if it dies of it
    or has grown to the end. Memory that is full and flat is a framework's pool or a well-filled GPU: no error."""
    now, before = seen.memory_share(cut.at_s), seen.memory_share(cut.at_s, 3600.0)
    is_full: Bools = now >= NEAR_FULL_SHARE
    if not is_full.any():
        return "wrong"
    grows = bool(np.any(is_full & (now - before >= GROWTH_SHARE) & (before > 0.0))) and cut.at_s > 3600.0 + 900.0
    if dies and grows and np.any(now >= FULL_SHARE):
        return "must" if cut.left_s >= 600.0 else "may"
    return "may" if dies or grows else "wrong"


def _host_memory(cut: Cut) -> str:
    """`host_memory_filling`: due if memory later reaches its limit and its growth was to be seen; right if it reaches
    the limit at all. Page cache is given back and is no memory in use."""
    verdicts = [_host_memory_of(host, cut.at_s) for host in cut.course.hosts if host is not None]
    if cut.course.name in PAGE_CACHE or not verdicts:
        return "wrong"
    if "must" in verdicts:
        return "must" if cut.left_s >= 600.0 else "may"
    return "may" if "may" in verdicts else "wrong"


def _host_memory_of(host: Host, at_s: float) -> str:
    now = int(at_s / host.step_s)
    if host.memory_gb is None or not host.limit_gb or np.all(np.isnan(host.memory_gb[now:])):
        return "wrong"
    if np.nanmax(host.memory_gb[now:]) < FULL_SHARE * host.limit_gb:
        return "wrong"
    past = host.memory_gb[max(0, now - int(3600.0 / host.step_s)) : now]
    past = past[~np.isnan(past)]
    is_seen = past.size > 1 and past[-1] - past[0] >= VISIBLE_GROWTH_SHARE * host.limit_gb
    return "must" if is_seen and past[-1] >= VISIBLE_SHARE * host.limit_gb and at_s >= 1800.0 else "may"


def _hits_limit(cut: Cut) -> bool:
    """Without logged progress or earlier runs nobody can know: true if said, never due."""
    return cut.course.state == "TIMEOUT"


def _busy_cores(cut: Cut) -> float:
    """Mean busy cores of the busiest node so far, 0 where no host was read."""
    means = [
        float(np.nanmean(so_far))
        for host in cut.course.hosts
        if host is not None
        for so_far in [host.busy_cores[: max(1, int(cut.at_s / host.step_s))]]
        if not np.all(np.isnan(so_far))
    ]
    return max(means, default=0.0)
