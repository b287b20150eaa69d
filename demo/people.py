"""The fictional users of the sample jobs: their projects, who leads them, and how each of them works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

NAMES = (
    "alice bob carol dave erin frank grace heidi ivan judy kim leo mallory nina oscar"
    " peggy quinn rupert sybil trent ursula victor wendy xavier yolanda zoe"
).split()
FIRST_PROJECT = 465_000_001  # LUMI's numbers of projects granted by EuroHPC and national allocations begin with 465

Weights = Mapping[str, float]

CAREFUL: Weights = MappingProxyType(
    {
        "efficient_training": 6,
        "efficient_part_node": 5,
        "efficient_multi_node": 0.6,
        "small_single_gpu": 9,
        "acceptable": 2,
        "timeout_busy": 0.6,
        "array_task": 0.5,
        "cancelled": 0.5,
        "failed": 0.5,
        "short_job": 0.5,
        "dev_test": 0.5,
    }
)
WASTEFUL: Weights = MappingProxyType(
    {
        "overscaled": 5,
        "parallelism_mismatch": 5,
        "single_process": 4,
        "no_gpu_use": 2,
        "cpu_bottleneck": 2,
        "one_core_per_rank": 1,
        "io_stall": 1,
        "acceptable": 1,
        "small_light_gpu": 1,
    }
)
MIXED: Weights = MappingProxyType(
    {
        "efficient_training": 4,
        "efficient_part_node": 4,
        "efficient_multi_node": 0.4,
        "small_single_gpu": 8,
        "small_light_gpu": 4,
        "acceptable": 4,
        "array_task": 0.5,
        "bursty": 1,
        "one_idle_gpu": 1,
        "parallelism_mismatch": 1.5,
        "overscaled": 1.5,
        "cpu_bottleneck": 1,
        "io_stall": 1,
        "sync_stall": 0.3,
        "walltime_overrequest": 2,
        "memory_over_share": 1,
        "timeout_busy": 1,
        "timeout_hung": 0.4,
        "host_out_of_memory": 0.7,
        "failed": 1,
        "cancelled": 1,
        "short_job": 1,
        "dev_test": 2,
        "interactive": 1,
        "unmeasured": 0.4,
        "never_started": 0.4,
    }
)

HABITS: Mapping[str, tuple[Weights, Weights]] = MappingProxyType(
    {
        "improving": (WASTEFUL, CAREFUL),
        "declining": (CAREFUL, WASTEFUL),
        "wasteful": (WASTEFUL, WASTEFUL),
        "careful": (CAREFUL, CAREFUL),
        "mixed": (MIXED, MIXED),
    }
)
"""For each habit how often each kind of job comes, at the first and at the last day."""

STORIES = ("improving", "declining", "wasteful")
STORY_ACTIVITY = 6  # enough jobs that a trend shows above the chance of single ones


@dataclass(frozen=True)
class Person:
    """One user; `leads` is true for the PI of `project`, `activity` is the relative number of jobs."""

    username: str
    project: str
    leads: bool
    habit: str
    activity: int

    def kind_weights(self, elapsed_fraction: float) -> dict[str, float]:
        """How likely each kind of job is for this person when this share of the period has passed.

        >>> Person("alice", "project_465000001", True, "improving", 1).kind_weights(1.0)["no_gpu_use"]
        0.0
        """
        first, last = HABITS[self.habit]
        # A smooth step: people keep to their ways for a while before and after they change.
        changed = elapsed_fraction**2 * (3 - 2 * elapsed_fraction)
        return {kind: (1 - changed) * first.get(kind, 0) + changed * last.get(kind, 0) for kind in {**first, **last}}


def sample_people(*, seed: int, users: int = 15, projects: int = 5) -> tuple[Person, ...]:
    """The users in a fixed order, the PI of each project first; the seed deals out habits and activity.

    Raises ValueError when there are fewer users than projects: each project has a PI.

    >>> [person.project for person in sample_people(seed=1, users=3, projects=2) if person.leads]
    ['project_465000001', 'project_465000002']
    """
    if not 1 <= projects <= users:
        raise ValueError(f"{projects} projects need at least as many users, and one project: not {users}")
    rng = np.random.default_rng(seed)
    habits = rng.permutation(_habits(users)).tolist()
    activities = rng.integers(2, 5, users).tolist()
    return tuple(
        Person(
            username=_username(index),
            project=f"project_{FIRST_PROJECT + index % projects}",
            leads=index < projects,
            habit=habit,
            activity=STORY_ACTIVITY if habit in STORIES else activity,
        )
        for index, (habit, activity) in enumerate(zip(habits, activities, strict=True))
    )


def _habits(users: int) -> list[str]:
    """One of each story, and everyone else careful or mixed."""
    usual = [("mixed", "mixed", "careful")[index % 3] for index in range(users)]
    return [*usual[: max(users - len(STORIES), 1)], *STORIES][:users]


def _username(index: int) -> str:
    turn, name = divmod(index, len(NAMES))
    return f"{NAMES[name]}{turn + 1}" if turn else NAMES[name]
