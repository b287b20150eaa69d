"""The running jobs of the demo: each shows what its story says, and later starts of the demo show them anew."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from analysis.early.models import EarlyWord
from demo.running import FIRST_JOB, SAMPLES, show_running
from jobs.models import Job, User
from jobs.selectors import reach_of
from portal.charts.running import RunningJob, running_jobs

pytestmark = pytest.mark.django_db

PEOPLE = ("alice", "mallory", "carol")


def shown(name: str) -> dict[str, RunningJob]:
    """The running jobs of one person by their names."""
    found = running_jobs(reach_of(User.objects.get(username=name)), timezone.now(), is_own=True)
    return {row.name: row for row in found.rows}


def words(row: RunningJob) -> list[str]:
    return [word.row.code for word in row.words]


def test_each_running_job_has_the_word_that_its_story_is_about_and_the_others_none() -> None:
    now = timezone.now()
    show_running(PEOPLE, "project_465000001", now, now, 2026)
    own = shown("alice")
    assert words(own["vit-pretrain"]) == ["all_gpus_idle"]
    assert words(own["gromacs_md"]) == []
    assert own["gromacs_md"].figures.use_percent == pytest.approx(92.0, abs=1.0)
    assert own["finetune_7b"].figures is None
    assert words(own["jupyter"]) == ["all_gpus_idle"]
    assert own["jupyter"].words[0].text.title == "This session does not use its GPUs"
    assert words(shown("mallory")["diffusion_train"]) == ["spinning"]
    assert words(shown("carol")["embed_corpus"]) == ["host_memory_filling"]
    assert not Job.objects.exists()


def test_what_happened_stays_when_it_happened_and_figures_come_each_ten_minutes() -> None:
    now = timezone.now()
    began = now - timedelta(minutes=25)
    seen = []
    for minutes in (0, 9, 21):
        show_running(PEOPLE, "project_465000001", began, began + timedelta(minutes=minutes), 2026)
        idle = shown("alice")["vit-pretrain"]
        seen.append((round((idle.measured_until - began).total_seconds() / 60), (began - idle.idle_since)))
    # Four minutes before the start, the same again, and two times ten minutes later.
    assert [until for until, _ in seen] == [-4, -4, 16]
    # Idle since 70 minutes before the start, to the length of a part of the line.
    assert all(since == pytest.approx(timedelta(minutes=70), abs=timedelta(minutes=4)) for _, since in seen)


def test_a_later_start_shows_them_anew() -> None:
    now = timezone.now()
    began = now - timedelta(hours=5)
    show_running(PEOPLE, "project_465000001", began, now - timedelta(hours=4, minutes=59), 2026)
    show_running(PEOPLE, "project_465000001", now, now, 2026)
    own = shown("alice")
    assert own["gromacs_md"].line.ran_s == pytest.approx(305 * 60, abs=60)
    assert own["gromacs_md"].measured_until == pytest.approx(now - timedelta(minutes=4), abs=timedelta(minutes=1))
    assert words(own["vit-pretrain"]) == ["all_gpus_idle"]
    assert EarlyWord.objects.filter(job_id=FIRST_JOB).count() == 1
    assert len(own) == sum(sample.user == 0 for sample in SAMPLES)
