"""What pages cost: as many queries for few rows as for many, at every address, and few bytes with all they load."""

from __future__ import annotations

import random
import re
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from msgspec import to_builtins

from analysis.early.figures import RunningFigures
from analysis.early.models import EarlyWord, RunningRun
from analysis.escalation.rules import evidence_of
from analysis.history.run_sums import RunSums
from analysis.models import CaseEvent, Feedback, Flag, SupportCase
from education.models import Lesson, LessonVersion
from jobs.models import (
    Job,
    JobOpening,
    Project,
    ProjectAllocation,
    QueuedJob,
    QueueReading,
    SavedFilter,
    Token,
    User,
)
from jobs.services import record_opening, share_job
from metrics.services import record_raw_window
from reports.models import Delivery, HelpLetter
from tests.payloads import raw_payload
from tests.portal.experiments.logged import experiment_of, log_run
from tests.portal.test_access import NAMES, TABLE, address
from tests.roles import set_role

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

PAGE_BYTES_MAX = 250_000
LOADED = re.compile(r'(?:<link[^>]* href|<script[^>]* src|<img[^>]* src)="([^"]+)"')
HASH = re.compile(r"\.[0-9a-f]{12}\.")
"""What the address of a static file has more than its name."""
MANY = 10
# The first visit of somebody writes down that it was there; the second costs what every later one does.
VISITS = 2
TICKS_S = [float(tick) for tick in range(600)]


@pytest.fixture
def clients(cast, reported, settings) -> dict[str, Client]:
    settings.RAW_ON_PAGE = True
    reported(123456, **hours_ago(1))
    call_command("seed_lessons", verbosity=0)
    grow(reported, range(1))
    return {person: cast(name) for person, name in NAMES.items()}


def hours_ago(hours: float) -> dict[str, str]:
    ended_at = timezone.now() - timedelta(hours=hours)
    return {"started_at": (ended_at - timedelta(hours=2)).isoformat(), "ended_at": ended_at.isoformat()}


def full_window() -> list[dict[str, object]]:
    """Ten minutes of eight GPUs, no two samples alike."""
    dice = random.Random(1)
    return [
        {"gpu_id": gpu, **{name: [round(dice.random() * 60, 2) for _ in TICKS_S] for name in ("util", "mem_gb")}}
        for gpu in range(8)
    ]


def grow(reported, numbers: range) -> None:
    """For each number one more of everything that a page may list."""
    now, alice, carol = timezone.now(), User.objects.get(username="alice"), User.objects.get(username="carol")
    for number in numbers:
        reported(1000 + number, user_id=f"reader{number}", job_name=f"part {number}", **hours_ago(2))
        reported(2000 + number, **hours_ago(3))
        reader = User.objects.get(username=f"reader{number}")
        queue_up(alice, reader, number)
        project = Project.objects.create(name=f"project_46500010{number}")
        for user in (alice, carol):
            set_role(user, project, "pi")
        ProjectAllocation.objects.create(source="lumi", project=project, gpu_hours=10, used_gpu_hours=1, read_at=now)
        seen = Job.objects.get(job_id=123456)
        record_opening(seen, reader, JobOpening.Role.PI, now)
        share_job(seen, days=7, note="again", now=now)
        share_job(Job.objects.get(job_id=2000 + number), days=7, note="help", now=now)
        Feedback.objects.create(
            job=seen, user=reader, code="idle_gpus", is_right=True, comment="yes", rules_version="1", given_at=now
        )
        SavedFilter.objects.create(user=alice, name=f"{number}", address="q=part", saved_at=now)
        Delivery.objects.create(user=reader, created_at=now, due_at=now)
        Token.objects.create(
            user=alice,
            kind=Token.Kind.READ,
            name=f"{number}",
            digest=f"{number}",
            created_at=now,
            expires_at=now + timedelta(days=1),
        )
        record_raw_window(raw_payload(*full_window(), node=f"nid00600{number}", at_s=TICKS_S))
        flag(reader, alice, project, number)
        experiment = experiment_of("alice", f"experiment {number}", project="project_465000001")
        log_run(experiment, job=123456, began_at=now - timedelta(hours=2))
        lesson = Lesson.objects.get(code="timeout")
        newest = lesson.versions.first()
        LessonVersion.objects.create(
            lesson=lesson,
            number=newest.number + 1,
            content=newest.content,
            is_shipped=False,
            editor=carol,
            saved_at=now,
        )


def queue_up(alice: User, reader: User, number: int) -> None:
    """A running job of alice's with a word, and a pending one of a reader's in the queue, which was read now."""
    now, project = timezone.now(), Project.objects.get(name="project_465000001")
    QueueReading.objects.update_or_create(cluster="lumi", defaults={"read_at": now, "tried_at": now})
    shown = {"cluster": "lumi", "project": project, "partition": "small-g", "gpus": 2, "node_count": 1}
    shown |= {"time_limit_s": 3600.0, "eligible_at": now, "reason": "Priority"}
    running = QueuedJob.objects.create(job_id=3000 + number, user=alice, state="RUNNING", started_at=now, **shown)
    known = {"cluster": "lumi", "job_id": running.job_id, "user": alice, "project": project, "started_at": now}
    figures = RunningFigures(600.0, 2, 0.0, 0, 0.0, 1.0, 64.0, 1.0, 60.0, 1, 1, 60.0, (0.0,) * 10)
    RunningRun.objects.create(new_revision=1, revision=1, figures=asdict(figures), **known)
    EarlyWord.objects.create(
        **{"code": "all_gpus_idle", "evidence": {"gpus": 2, "idle_s": 600.0}, "confidence": 1.0, "is_fact": True},
        **{"is_interactive": False, "found_at": now, "held_at": now},
        **known,
    )
    QueuedJob.objects.create(job_id=4000 + number, user=reader, state="PENDING", **shown)


def flag(reader: User, owner: User, project: Project, number: int) -> None:
    """An open flag of a reader, one of a work of the owner, one of a project, and each one's case with its history."""
    now = timezone.now()
    evidence = to_builtins(evidence_of(RunSums(), now.date()))
    shown = {"evidence": evidence, "latest": evidence, "unused_gpu_hours": 60.0, "saved_gpu_hours": 20.0}
    shown |= {"raised_at": now, "visible_to_staff_at": now, "rules_version": "1"}
    for subject in (
        {"kind": "user", "user": reader},
        {"kind": "project", "project": project},
        {
            "kind": "work",
            "user": owner,
            "project": Project.objects.get(name="project_465000001"),
            "work_key": f"{number}",
        },
    ):
        case = SupportCase.objects.create(flag=Flag.objects.create(**subject, **shown), state="open", changed_at=now)
        CaseEvent.objects.create(case=case, kind="note", state="open", actor=reader, text="seen", at=now)
    HelpLetter.objects.create(number=number + 1, subject="Help", text="Hello", editor=reader, saved_at=now)


def queries_of_every_page(clients: dict[str, Client]) -> dict[tuple[str, str], int]:
    """How many queries each address costs each person to whom it opens."""
    owner, counts = User.objects.get(username="alice"), {}
    for name in TABLE:
        for person, client in clients.items():
            path = address(name, owner)
            cache.clear()
            if client.get(path).status_code == 200:
                for _ in range(VISITS):
                    with CaptureQueriesContext(connection) as queries:
                        answer = client.get(path)
                        b"".join(answer) if answer.streaming else answer.content
                counts[name, person] = len(queries)
    return counts


def test_no_page_costs_more_queries_for_many_rows_than_for_few(clients, reported) -> None:
    few = queries_of_every_page(clients)
    assert {
        ("dashboard", "owner"),
        ("project", "pi"),
        ("api-raw-samples", "owner"),
        ("raw-window", "owner"),
        ("compare", "owner"),
        ("work", "pi"),
        ("queue", "pi"),
        ("experiments", "pi"),
        ("shared-jobs", "staff"),
    } <= few.keys()
    grow(reported, range(1, MANY))
    many = queries_of_every_page(clients)
    assert {page: (few[page], count) for page, count in many.items() if count != few[page]} == {}


def test_no_page_weighs_more_than_a_quarter_megabyte_with_all_it_loads(clients, reported) -> None:
    grow(reported, range(1, MANY))
    owner = User.objects.get(username="alice")
    weights = {}
    for name in TABLE:
        for person, client in clients.items():
            answer = client.get(address(name, owner))
            if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
                weights[name, person] = len(answer.content) + sum(
                    size_of(client, path) for path in set(LOADED.findall(answer.content.decode()))
                )
    assert weights["job", "owner"] > 50_000, "its figures count"
    assert weights["raw-window", "pi"] > 100_000, "its lanes count"
    assert {page: weight for page, weight in weights.items() if weight > PAGE_BYTES_MAX} == {}


def size_of(client: Client, path: str) -> int:
    """The bytes of what a page loads, uncompressed."""
    if path.startswith(settings.STATIC_URL):
        plain = HASH.sub(".", path.removeprefix(settings.STATIC_URL))
        return Path(finders.find(plain)).stat().st_size
    answer = client.get(path)
    assert answer.status_code == 200, path
    return len(answer.content)
