"""Very many made-up jobs in PostgreSQL, by COPY: people, projects, arrays, classes and findings in realistic shares.

`load` fills an empty migrated database in about ten seconds for each hundred thousand jobs: it drops the secondary
indexes, copies, and creates them again. Four people have known names: `heavy` leads a project of 100,000 jobs and ran
two fifths of them, `pi` leads one of 4,000 without own jobs, `member` ran a quarter of those, and `person` ran some
hundred.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection, transaction

from analysis.efficiency import classify
from analysis.findings import code_list
from jobs.models import Membership, Project, User

HEAVY_JOBS, PI_JOBS, PERSON_JOBS = 100_000, 4_000, 600
JOBS_A_PROJECT, USERS_A_PROJECT = 4_000, 4
DAYS = 400
# One submission in ten is an array; together arrays are about half of all jobs.
ARRAY_CHANCE, ARRAY_SIZES, ARRAY_SIZE_CHANCES = 0.1, (2, 8, 30, 200), (0.5, 0.35, 0.12, 0.03)
UNMEASURED_SHARE, SHORT_SHARE, FAILED_SHARE = 0.02, 0.05, 0.08
GPUS, FIRST_ID = 8, 5_000_000
BATCH_ROWS = 50_000
PARTITIONS = ("small-g", "standard-g", "dev-g")
CODES_BY_CLASS = {
    "EFFICIENT": ((), ("walltime_overrequest",), ("kernel_tuning",)),
    "ACCEPTABLE": ((), ("walltime_overrequest",), ("load_imbalance",), ("kernel_tuning", "walltime_overrequest")),
    "INEFFICIENT": (("overscaling",), ("cpu_bottleneck",), ("idle_gpus", "parallelism_mismatch"), ("late_start",)),
    "WASTED": (("no_gpu_use",), ("idle_gpus", "parallelism_mismatch"), ("idle_tail", "timeout"), ("overscaling",)),
    "UNKNOWN": ((), ("walltime_overrequest",)),
}
ADVISED = {"overscaling": "overscaling", "idle_gpus": "active_gpus", "no_gpu_use": "no_gpu_use"}
WANTED = json.dumps({"nodes": 1, "gpus": 2})
# The numbers that any of those codes is ranked by.
EVIDENCE = json.dumps(
    {
        **{"gpus": GPUS, "idle_gpus": 6, "active_gpus": 2, "idle_fraction": 0.4, "busy_percent": 60.0},
        **{"avg_util_percent": 30.0, "gpu_util_percent": 30.0, "mean_util_percent": 50.0, "highest_util_percent": 90.0},
    }
)
TABLES = {
    "jobs_job": (
        "id cluster job_id attempt array_job_id array_task_id user_id project_id job_name partition qos state exit_code"
        " nodes node_count gpus_allocated walltime_requested_s walltime_used_s submitted_at eligible_at started_at"
        " ended_at request script_key work_key revision changed_at"
    ),
    "analysis_jobefficiency": (
        "id job_id efficiency_class avg_gpu_util coverage_fraction is_partial allocated_gpus measured_gpus gpu_hours"
        " wasted_gpu_hours savings not_measured user_id project_id started_at ended_at saved_gpu_hours finding_codes"
        " uncounted_reason missing_nodes rules_version revision job_revision metrics_revision analysed_at work_key"
        " ended_early"
    ),
    "analysis_findingrow": "efficiency_id position code confidence evidence",
    "analysis_recommendationrow": (
        "efficiency_id position kind basis recommended_gpus evidence wanted changes request"
    ),
}


@dataclass(frozen=True)
class Work:
    """Jobs by column, in the order of their ids; `array` is the place of an array's first task, -1 for none."""

    owner: np.ndarray
    project: np.ndarray
    array: np.ndarray
    task: np.ndarray
    ended_s: np.ndarray


def load(jobs: int, now: datetime) -> None:
    """`jobs` runs of the last `DAYS` days into empty tables, the same runs every time."""
    dice = np.random.default_rng(1)
    with transaction.atomic():
        work = _work(jobs, now, dice)
        indexes = _drop_indexes()
        for first in range(0, jobs, BATCH_ROWS):
            _copy_batch(work, range(first, min(first + BATCH_ROWS, jobs)), dice)
        with connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}")
            # Checks that wait for the end of the transaction would prevent creating indexes in it.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            for definition in indexes:
                cursor.execute(definition)
    with connection.cursor() as cursor:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        for setting in ("jit = off", "random_page_cost = 1.1"):  # as README says
            cursor.execute(f"ALTER DATABASE {name} SET {setting}")
        cursor.execute(f"VACUUM ANALYZE {', '.join(TABLES)}, jobs_user, jobs_project, jobs_membership")


def _work(jobs: int, now: datetime, dice: np.random.Generator) -> Work:
    people, projects = _people(max(jobs // JOBS_A_PROJECT, 4))
    heavy = min(HEAVY_JOBS, jobs // 2)
    weights = 1 / np.arange(1, len(projects) - 1) ** 0.6
    sizes = [heavy, PI_JOBS, *(weights / weights.sum() * (jobs - heavy - PI_JOBS)).astype(int)]
    sizes[-1] += jobs - sum(sizes)
    parts = []
    for place, (project, size) in enumerate(zip(projects, sizes, strict=True)):
        last = PERSON_JOBS if place == len(projects) - 1 else size // 10
        shares = np.array((0.0, 0.3) if place == 1 else (0.45, 0.3))
        counts = [*(shares * (size - last)).astype(int), last]
        counts.insert(2, size - sum(counts))
        for owner, count in zip(people[place], counts, strict=True):
            submitted, task = _submissions(count, dice)
            parts.append((np.full(count, owner), np.full(count, project), submitted, task))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    # Ids follow the time of submission, so that the tasks of an array are together.
    order = np.argsort(columns[2], kind="stable")
    owners, projects_of, submitted_s, task = (column[order] for column in columns)
    first = np.maximum.accumulate(np.where(task <= 0, np.arange(jobs), 0))
    ended_s = np.minimum(submitted_s + dice.exponential(6 * 3600, jobs), DAYS * 86_400 - 60.0)
    start_s = now.timestamp() - DAYS * 86_400
    return Work(owners, projects_of, np.where(task < 0, -1, first), task, start_s + ended_s)


def _submissions(count: int, dice: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """When each of one person's jobs was submitted, in seconds, and its number in its array, -1 for a single job."""
    tasks: list[np.ndarray] = []
    left = count
    while left:
        is_array = dice.random() < ARRAY_CHANCE
        size = min(int(dice.choice(ARRAY_SIZES, p=ARRAY_SIZE_CHANCES)), left) if is_array else 1
        tasks.append(np.arange(size) if is_array else np.array([-1]))
        left -= size
    times = dice.uniform(0, DAYS * 86_400, len(tasks))
    sizes = [len(numbers) for numbers in tasks]
    return np.repeat(times, sizes), np.concatenate(tasks) if tasks else np.zeros(0, int)


def _people(count: int) -> tuple[list[list[int]], list[int]]:
    projects = Project.objects.bulk_create(Project(name=f"project_{465000001 + place}") for place in range(count))
    names = [[f"user{place}_{who}" for who in range(USERS_A_PROJECT)] for place in range(count)]
    names[0][0], names[1][:2], names[-1][3] = "heavy", ["pi", "member"], "person"
    users = User.objects.bulk_create(User(username=name) for row in names for name in row)
    people = [users[place * USERS_A_PROJECT :][:USERS_A_PROJECT] for place in range(count)]
    roles = (Membership.Role.PI, *[Membership.Role.MEMBER] * (USERS_A_PROJECT - 1))
    Membership.objects.bulk_create(
        Membership(user=user, project=project, role=role)
        for project, members in zip(projects, people, strict=True)
        for user, role in zip(members, roles, strict=True)
    )
    return [[user.pk for user in members] for members in people], [project.pk for project in projects]


def _drop_indexes() -> list[str]:
    """Without them COPY is many times faster; returns the statements that create them again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY(%s) AND indexname NOT IN"
            " (SELECT conname FROM pg_constraint)",
            [list(TABLES)],
        )
        found = cursor.fetchall()
        for name, _ in found:
            cursor.execute(f'DROP INDEX "{name}"')
    return [definition for _, definition in found]


def _copy_batch(work: Work, places: range, dice: np.random.Generator) -> None:
    """The rows of these jobs in all four tables."""
    rows = [_rows(work, place, dice) for place in places]
    with connection.cursor() as cursor:
        for position, (table, columns) in enumerate(TABLES.items()):
            names = ", ".join(columns.split())
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in _flat(made[position] for made in rows):
                    copy.write_row(row)


def _flat(groups: Iterable[Iterable[Any]]) -> Iterator[Any]:
    for group in groups:
        yield from group


def _rows(work: Work, place: int, dice: np.random.Generator) -> tuple[list[Any], ...]:
    """One run: its job, its judgement, its findings, its advice."""
    luck = dice.random(6)
    pk, owner, project = place + 1, int(work.owner[place]), int(work.project[place])
    array = int(work.array[place])
    run_s = 120.0 if luck[0] < SHORT_SHARE else 600.0 + 28_800 * luck[1]
    ended = datetime.fromtimestamp(float(work.ended_s[place]), UTC)
    started = ended - timedelta(seconds=run_s)
    # The work of one person is similar: the key determines most of the use, chance the rest.
    key = int(owner * 7 + luck[2] ** 2 * 6)
    util = None if luck[3] < UNMEASURED_SHARE else float(min(100.0, (key * 37 % 90) * 0.8 + 30 * luck[3]))
    verdict = classify(util).value
    of_array = (FIRST_ID + array, int(work.task[place])) if array >= 0 else (None, None)
    partition = PARTITIONS[int(luck[4] ** 2 * len(PARTITIONS))]
    state = "FAILED" if luck[5] < FAILED_SHARE else "COMPLETED"
    eligible = started - timedelta(seconds=60.0 + 7_200 * luck[0])
    job = (
        *(pk, "lumi", FIRST_ID + place, 0, *of_array, owner, project, f"train_{key % 97}", partition, "normal", state),
        *("0:0", '["nid005123"]', 1, GPUS, 86_400.0, run_s, eligible, eligible, started, ended),
        *("{}", "", f"{key:032x}", 1, ended),
    )
    codes = CODES_BY_CLASS[verdict][int(luck[1] * 97) % len(CODES_BY_CLASS[verdict])]
    advice = [ADVISED[code] for code in codes if code in ADVISED]
    hours = 4 * run_s / 3600
    saved = hours * 0.5 if advice else None
    savings = f'{{"gpu_hours": {saved}, "assumption": "same_run_time", "run_s": {run_s}}}' if advice else None
    wasted = None if util is None else hours * (1 - util / 100)
    measured = 0 if util is None else GPUS
    judgement = (
        *(pk, pk, verdict, util, 1.0 if measured else 0.0, False, GPUS, measured, hours, wasted, savings, "[]"),
        *(owner, project, started, ended, saved, code_list(codes), "short" if run_s < 300 else ""),
        *(int(not measured), "bench", 1, 1, int(bool(measured)), ended, f"{key:032x}"),
        state == "FAILED" and run_s < 600,
    )
    found = [(pk, position, code, 0.8, EVIDENCE) for position, code in enumerate(codes)]
    advised = [(pk, 0, "gpus", basis, 2, "{}", WANTED, "[]", "[]") for basis in advice[:1]]
    return [job], [judgement], found, advised
