"""`python -m demo`: ninety days of sample jobs through the real ingest and analysis, then the portal.

For an empty embedded database. DEMO_SERVE=0 ends once the data are loaded; BIND=HOST:PORT serves there in place of
127.0.0.1:8000.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from threading import Event, Thread

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m demo", description=__doc__).parse_args()

import django
from django.core.exceptions import ImproperlyConfigured

try:
    django.setup()
except ImproperlyConfigured as error:
    sys.exit(f"demo: {error}")

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, transaction
from django.db.models import Sum
from django.utils import timezone
from tqdm import tqdm

from analysis.escalation.services import escalate
from analysis.models import JobEfficiency
from analysis.months.services import close_months
from analysis.outcomes.services import ADVICE, settle_due
from analysis.predictions.services import keep_records
from analysis.predictions.services import settle as settle_predictions
from analysis.rollups.services import roll_up_due
from analysis.selectors import due_jobs
from analysis.services import analyse_job
from analysis.site.services import site_months
from analysis.waiting.services import check_waits
from demo.daily_works import pipeline_runs, unused_runs
from demo.experiments import sample_experiments
from demo.generate import sample_jobs
from demo.people import sample_people
from demo.running import show_running
from demo.scaling_study import scaling_study
from jobs.allocations import AllocatedHours
from jobs.directory import Directory
from jobs.models import Grant, Job, User
from jobs.services import record_directory, share_job
from portal.environment import flag
from portal.ingest.body import records
from portal.ingest.services import KINDS, ingest
from portal.months import MONTHS
from reports.models import Report
from reports.selectors import due_efficiencies
from reports.services.formats import rendered
from reports.services.publishing import publish

SEED = 2026
ADDRESS = os.environ.get("BIND") or "127.0.0.1:8000"
MAIL_DOMAIN = "users.example"  # RFC 2606: a domain that cannot exist; mail of the demo is written as files anyway
ADVISED_SHOWN = 3
PROJECTS = 2  # of seven or eight people: fewer are no group whose sums are shown, or three of them have nearly all
SCALES_UP = "grace"  # who tries one program on several numbers of GPUs
LOG_EXPERIMENTS = ("alice", "mallory")  # a PI, and a member of her project one of whose jobs reached its time limit
RUNS_A_PIPELINE, LEAVES_GPUS_UNUSED = "bob", "leo"
RUN_IN, QUEUE_READ_S = "project_465000001", 60.0
SHOWN_FINDING = "parallelism_mismatch"
SHARED_DAYS, SHARED_NOTE = 14, "Two GPUs do all the work. How do I start one rank on each?"
REPORT_AFTER = timedelta(minutes=5)
ALLOCATION_DAYS, USED_SHARES = 360, (0.64, 1.06)
SCIENCE_FIELDS = ("Computer and information sciences", "Physical sciences")
"""OECD's names of fields, one for each project."""
FLAG_DAYS = 40
"""For so many days back flags are raised and cleared as they would have been, so that support has cases."""

STAFF = {"peggy": Grant.Role.SUPPORT, "victor": Grant.Role.POLICY, "trent": Grant.Role.ADMINISTRATOR}


def demo() -> None:
    """Everything that `make demo` does; CommandError if the demo cannot run here."""
    if settings.OIDC_PROVIDER:
        raise CommandError(
            "the demo creates accounts with a shared password, but people sign in through a provider here"
        )
    if not settings.IS_EMBEDDED:
        raise CommandError("the demo creates accounts with a shared password, so it runs on the embedded database only")
    call_command("migrate", verbosity=0)
    call_command("seed_lessons", verbosity=0)
    if Job.objects.exists():
        print("The sample jobs are already loaded; `make clean` removes them.")
    else:
        feed()
    began = timezone.now()
    run_jobs(began)
    show_report()
    show_accounts()
    if flag("DEMO_SERVE", True):
        serve(began)


def run_jobs(began: datetime) -> None:
    """Some jobs that run now, as squeue lists them and their nodes measured them so far; they began with this start."""
    people = tuple(
        person.username for person in sample_people(seed=SEED, projects=PROJECTS) if person.project == RUN_IN
    )
    show_running(people, RUN_IN, began, timezone.now(), SEED)


def keep_running(began: datetime, over: Event) -> None:
    """The same again each minute until the demo ends: nothing else reads a queue here, and an old one counts as old.

    What finds the database busy is tried again with the next minute.
    """
    while not over.wait(QUEUE_READ_S):
        with suppress(DatabaseError):
            run_jobs(began)


def show_report() -> None:
    """One report with advice, as text."""
    row = (
        Report.objects.filter(job__efficiency__findings__code=SHOWN_FINDING)
        .select_related("job")
        .order_by("job__efficiency__coverage_fraction", "-job__ended_at")
        .last()
    )
    if row is not None:
        print(rendered(row.job, row, "txt").decode())
        print(f"The same as a PDF: manage.py report {row.job} --format pdf -o report.pdf\n")


def show_accounts() -> None:
    """Every demo account gets one new password, which is printed only here."""
    password = secrets.token_urlsafe(9)
    User.objects.update(password=make_password(password))
    leads = User.objects.filter(memberships__role="pi").distinct().order_by("username")
    others = User.objects.exclude(pk__in=leads).exclude(username__in=STAFF).order_by("username")
    print(f"Sign in at http://{ADDRESS}/ with the password {password}")
    print(f"  as a PI, who sees a whole project: {', '.join(user.username for user in leads)}")
    print(f"  as a member, who sees own jobs:    {', '.join(user.username for user in others)}")
    sums = JobEfficiency.objects.values_list("user__username").annotate(saved=Sum("saved_gpu_hours"))
    with_advice = [name for name, _ in sums.filter(saved__gt=0).order_by("-saved")[:ADVISED_SHOWN]]
    print(f"  with the biggest savings:          {', '.join(with_advice)}")
    for name, role in STAFF.items():
        print(f"  as {role.label.lower()}: {name}")
    print("Their mail is written as files in var/outbox/, by the worker or with `manage.py deliver --due`.")


def feed() -> None:
    """Sample payloads as JSON through ingest, then everything due through analysis and reports."""
    now = timezone.now()
    people = {person.username: person for person in sample_people(seed=SEED, projects=PROJECTS)}
    jobs = [
        *sample_jobs(seed=SEED, projects=PROJECTS, until=now),
        *scaling_study(people[SCALES_UP], seed=SEED, until=now),
        *pipeline_runs(people[RUNS_A_PIPELINE], seed=SEED, until=now),
        *unused_runs(people[LEAVES_GPUS_UNUSED], seed=SEED, until=now),
    ]
    for job in tqdm(jobs, desc="Ingest  ", unit=" jobs"):
        outcome = ingest(records(job.to_json()), list(KINDS))
        if outcome.rejected:
            raise CommandError(f"sample job {job.record['job_id']} was rejected: {outcome.rejected}")
    for run in tqdm(list(due_jobs(now)), desc="Analysis", unit=" jobs"):
        # As it would have been: each report exists shortly after its run, and the next runs may follow its advice.
        analyse_job(run.pk, run.ended_at + REPORT_AFTER if run.ended_at else now)
    record_directory(sample_directory(now.date()))
    roll_up_due(sys.maxsize, now)
    check_waits(sys.maxsize, now)
    close_months(site_months(timedelta(0)), now)
    for days_ago in range(FLAG_DAYS, -1, -1):
        escalate(now - timedelta(days=days_ago))
    predict_as_time_passed(now)
    settle_due(sys.maxsize, now)
    keep_records(now)
    close_months(replace(ADVICE, after=timedelta(0)), now)
    for kind in MONTHS:
        close_months(kind, now)
    for user in User.objects.filter(email=""):
        user.email = f"{user.username}@{MAIL_DOMAIN}"
        user.save(update_fields=["email"])
    for pk in tqdm(list(due_efficiencies().values_list("pk", flat=True)), desc="Reports ", unit=" jobs"):
        publish(pk, now)
    shown = Job.objects.filter(efficiency__findings__code=SHOWN_FINDING).order_by("ended_at").last()
    if shown is not None:
        share_job(shown, days=SHARED_DAYS, note=SHARED_NOTE, now=now)
    sample_experiments([User.objects.get(username=name) for name in LOG_EXPERIMENTS], seed=SEED, until=now)


def predict_as_time_passed(now: datetime) -> None:
    """What would have been predicted after each run, and answered by the next one; ranges and marks as of each day."""
    calibrated: date | None = None
    named = Job.objects.exclude(work_key="").filter(efficiency__isnull=False, ended_at__lte=now - REPORT_AFTER)
    for user, key, ended_at in tqdm(
        list(named.order_by("ended_at", "pk").values_list("user_id", "work_key", "ended_at")),
        desc="Predict ",
        unit=" jobs",
    ):
        at = (ended_at or now) + REPORT_AFTER
        if at.date() != calibrated:
            calibrated = at.date()
            keep_records(at)
        with transaction.atomic():
            settle_predictions(user, key, at)


def sample_directory(today: date) -> Directory:
    """The members of the sample projects, the staff of the portal, and allocations that fit the jobs' use."""
    people = sample_people(seed=SEED, projects=PROJECTS)
    roles: dict[str, dict[str, str]] = {}
    for person in people:
        roles.setdefault(person.project, {})[person.username] = "pi" if person.leads else "member"
    used = dict(JobEfficiency.objects.values_list("job__project__name").annotate(Sum("gpu_hours")))
    begins_on, ends_on = today - timedelta(days=ALLOCATION_DAYS // 2), today + timedelta(days=ALLOCATION_DAYS // 2)
    return Directory(
        source="demo",
        roles=roles,
        allocations={
            project: AllocatedHours(round(used[project] / share, -2), round(used[project], 1), begins_on, ends_on)
            for project, share in zip(sorted(roles), USED_SHARES, strict=True)
        },
        science_fields=dict(zip(sorted(roles), SCIENCE_FIELDS, strict=True)),
        grants=frozenset((name, role.value) for name, role in STAFF.items()),
        grants_roles=True,
        tells_hours=True,
        tells_fields=True,
    )


def serve(began: datetime) -> None:
    """The portal in the foreground, one worker process and the running jobs in the background; all end together."""
    over = Event()
    Thread(target=keep_running, args=(began, over), daemon=True).start()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    environ = os.environ | {"DJANGO_SETTINGS_MODULE": "portal.settings"}
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(subprocess.Popen([sys.executable, "manage.py", "worker"], cwd=settings.BASE_DIR))
        command = [sys.executable, "manage.py", "serve", "--bind", ADDRESS]
        started.append(subprocess.Popen(command, cwd=settings.BASE_DIR, env=environ))
        started[-1].wait()
    except KeyboardInterrupt:
        pass
    finally:
        over.set()
        for each in reversed(started):
            each.terminate()
            each.wait()


if __name__ == "__main__":
    try:
        demo()
    except CommandError as error:
        sys.exit(f"demo: {error}")
