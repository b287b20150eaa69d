"""The sample report: for people without jobs, marked as a sample, and what such a job really gets."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client

from demo.generate import make_job
from jobs.models import Job
from portal.ingest.body import records
from portal.ingest.services import KINDS, ingest
from portal.pages.dashboard.sample_report import FILE
from tests.portal.conftest import text

PATH = "/sample-report/"
SEED = 11


def words(page: str) -> str:
    """What a page says, without the names of its places."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).replace("\u00a0", " ").split())


def test_the_first_steps_show_the_sample_and_lead_to_its_report(cast) -> None:
    assert not Job.objects.exists()
    page = text(cast("dave"), "/")
    assert f'href="{PATH}"' in page
    assert "Inefficient Your job kept its 8 GPUs busy 20.5 % of the time" in words(page)
    assert "+ #SBATCH --gpus=2" in page


def test_the_sample_report_needs_no_job_and_is_marked_as_a_sample(cast) -> None:
    page = words(text(cast("dave"), PATH))
    assert "This is a sample. The job is made up, and nobody ran it." in page
    for part in ("Inefficient", "Suggested request", "Findings", "Measurements", "--gpus=2", "gromacs_md"):
        assert part in page


def test_who_is_not_signed_in_signs_in_first(db) -> None:
    assert Client().get(PATH).status_code == 302
    assert Client().get(f"{PATH}gpu_use.svg").status_code == 302


@pytest.mark.one_database
def test_every_figure_of_it_can_be_loaded_in_each_size_and_scheme(cast) -> None:
    client = cast("dave")
    addresses = re.findall(r'(?:src|srcset)="(/sample-report/[^"]+)"', text(client, PATH))
    assert {address.partition(".svg")[0].rpartition("/")[2] for address in addresses} == {
        "gpu_use",
        "gpu_memory",
        "gpu_heatmap",
    }
    for address in addresses:
        answer = client.get(address.replace("&amp;", "&"))
        assert answer["Content-Type"] == "image/svg+xml"
        assert b"<svg" in answer.content
    assert client.get(f"{PATH}no_such.svg").status_code == 404


def test_the_sample_is_one_of_the_sample_jobs() -> None:
    made = make_job(
        "parallelism_mismatch",
        job_id=17300001,
        user="alice",
        project="project_465000001",
        ended_at=datetime(2026, 11, 2, 12, tzinfo=UTC),
        rng=np.random.default_rng(SEED),
        job_name="gromacs_md",
    )
    assert FILE.read_bytes() == made.to_json() + b"\n"


@pytest.mark.django_db
def test_it_states_what_the_page_of_the_same_job_states(cast) -> None:
    """Through the real ingest and analysis, as alice sees it."""
    call_command("seed_lessons", verbosity=0)
    alice = cast("alice")
    assert ingest(records(FILE.read_bytes()), list(KINDS)).rejected == []
    call_command("analyse_job", "lumi/17300001", verbosity=0)
    shown, sample = alice.get("/jobs/lumi/17300001/").context["page"], alice.get(PATH).context["page"]
    for part in ("headline", "verdict", "class_name", "numbers", "saving", "request", "findings", "observed"):
        assert getattr(sample, part) == getattr(shown, part), part
