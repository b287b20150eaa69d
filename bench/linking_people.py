"""People whose rows the attack of `bench.linking` looks for: those of the demo, more of their kind, and drawn ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

from analysis.anonymous.bands import Run
from cases.scorecard import judged
from demo.generate import SampleJob, sample_jobs
from education.recognition import program_code
from education.seeds import seed_programs
from jobs.hardware import partition_of

SEED = 2026
PROGRAMS = ("gromacs", "pytorch", "lammps", "cp2k", "vllm", "unknown", "unknown")
FIELDS = ("Physical sciences", "Biology", "Computer science", "Chemistry")
STATES = ("COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "TIMEOUT", "FAILED", "OUT_OF_MEMORY")
CLASSES = ((70.0, "EFFICIENT"), (40.0, "ACCEPTABLE"), (15.0, "INEFFICIENT"), (0.0, "WASTED"))
CODES = {"EFFICIENT": ("none", "walltime_overrequest"), "ACCEPTABLE": ("none", "load_imbalance", "kernel_tuning")}
CODES |= {"INEFFICIENT": ("overscaling", "cpu_bottleneck", "none"), "WASTED": ("no_gpu_use", "idle_gpus", "none")}


def drawn_people(people: int, seed: int = 1) -> Iterator[Run]:
    """A month of runs: each person has a program, usual sizes and a usual use; some run very much, some once."""
    dice = np.random.default_rng(seed)
    for person in range(people):
        projects = dice.choice(max(people // 4, 5), size=int(dice.integers(1, 3)), replace=False)
        program, field = dice.choice(PROGRAMS), dice.choice(FIELDS)
        size, use = int(2 ** dice.integers(0, 7)), float(dice.uniform(2, 98))
        for _ in range(1 + int(dice.pareto(1.1) * 6) % 400):
            use_now = float(np.clip(use + dice.normal(0, 12), 0, 100))
            hours = float(np.clip(dice.lognormal(1.2, 1.3), 0.1, 72))
            efficiency_class = next(name for least, name in CLASSES if use_now >= least)
            yield Run(
                person=person,
                project=int(dice.choice(projects)),
                gpu_hours=size * hours / 2,
                program=str(program),
                science_field=str(field),
                gpu="AMD MI250X GCD",
                partition_type="whole_nodes" if size >= 8 else "shared",
                gpus=size if dice.random() < 0.8 else int(dice.integers(1, 300)),
                run_time_h=hours,
                state=str(dice.choice(STATES)),
                efficiency_class=efficiency_class,
                gpu_use_percent=use_now,
                gpu_memory_percent=float(dice.uniform(0, 100)),
                finding=str(dice.choice(CODES[efficiency_class])),
            )


def sample_month(users: int, projects: int, jobs: int) -> Iterator[Run]:
    """The counted runs of a month that the sample people made, judged as everybody's are."""
    numbers: dict[str, int] = {}
    until = datetime(2026, 11, 1, tzinfo=UTC)
    for job in sample_jobs(seed=SEED, jobs=jobs, users=users, projects=projects, until=until, days=31):
        run = _run(job, numbers)
        if run:
            yield run


def _run(job: SampleJob, numbers: dict[str, int]) -> Run | None:
    """None for a run that does not count."""
    record, found = job.record, judged(job)
    efficiency = found.efficiency
    if efficiency.uncounted_reason or not efficiency.gpu_hours:
        return None
    partition = partition_of(record["cluster"], record["partition"])
    project = numbers.setdefault(record["project_id"], len(numbers))
    memory = efficiency.peak_gpu_mem_fraction
    return Run(
        person=numbers.setdefault(record["user_id"], len(numbers)),
        project=project,
        gpu_hours=efficiency.gpu_hours,
        program=program_code(record["job_name"] or "", seed_programs()) or "unknown",
        science_field=FIELDS[project % len(FIELDS)],
        gpu=partition.node.gpu_name if partition else "unknown",
        partition_type="whole_nodes" if partition and partition.is_exclusive else "shared",
        gpus=efficiency.allocated_gpus,
        run_time_h=record["walltime_used_s"] / 3600,
        state=record["state"],
        efficiency_class=efficiency.efficiency_class,
        gpu_use_percent=efficiency.avg_gpu_util,
        gpu_memory_percent=None if memory is None else 100 * memory,
        finding=found.findings[0].code if found.findings else "none",
    )
