"""The job page states how many jobs of others could have started on the GPUs that a job left idle, and never whose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from analysis.models import IdleHold
from analysis.waiting.services import check_waits
from jobs.models import Job
from jobs.services import share_job
from portal.pages.job.views import waited_text
from tests.analysis.waiting.accounting import imported, started

PAGE = "/jobs/lumi/123456/"
WAITED = "jobs of other people that fit there waited"


@pytest.fixture
def waited(reported: Callable[..., None]) -> Callable[..., None]:
    """A judged job of alice's with six idle GPUs, while some people's jobs of 2 GPUs waited for its first hour."""

    def report(*people: str) -> None:
        imported(*(started(place, name, 2, 0, 60) for place, name in enumerate(people, start=11)))
        reported()
        assert check_waits(100, timezone.now()) == 1

    return report


def test_the_owner_and_the_pi_see_how_many_could_have_started(cast, waited) -> None:
    waited("u1", "u2", "u3", "u4", "u5")
    page = cast("alice").get(PAGE).content.decode()
    assert (
        f"While your job left GPUs idle, {WAITED}: up to 3 of them could probably have started on these 6 GPUs." in page
    )
    assert "This is an estimate" in page
    assert not any(name in page for name in ("u1", "u2", "project_465000009"))
    assert f"While this job left GPUs idle, {WAITED}: up to 3" in cast("carol").get(PAGE).content.decode()
    assert {name: cast(name).get(PAGE).status_code for name in ("bob", "dave", "erin")} == dict.fromkeys(
        ("bob", "dave", "erin"), 404
    )


def test_support_that_a_job_is_shared_with_does_not_see_it(cast, waited) -> None:
    waited("u1", "u2", "u3", "u4", "u5")
    share_job(Job.objects.get(job_id=123456), days=7, note="", now=timezone.now())
    page = cast("erin").get(PAGE)
    assert page.status_code == 200
    assert WAITED not in page.content.decode()


@pytest.mark.parametrize(
    "people",
    [
        ("u1", "u2", "u3", "u4"),
        ("u1", "u2", "u3", "u4", "alice"),
        (*["u1"] * 24, "u2", "u3", "u4", "u5"),
    ],
    ids=["four people", "four people and the owner", "one of five has 24 of 28 jobs"],
)
def test_too_few_people_are_not_shown(cast, waited, people: tuple[str, ...]) -> None:
    waited(*people)
    hold = IdleHold.objects.get(job__job_id=123456)
    assert (hold.could_start, hold.is_shown) == (3, False)
    assert WAITED not in cast("alice").get(PAGE).content.decode()


def test_a_job_during_which_nobody_waited_has_no_such_line(cast, waited) -> None:
    waited()
    assert WAITED not in cast("alice").get(PAGE).content.decode()


def test_the_sentence_in_numbers() -> None:
    def sentence(could_start: int | None, idle_gpus: int) -> str:
        return waited_text(IdleHold(could_start=could_start, idle_gpus=idle_gpus), is_owner=True)

    assert "left one GPU idle" in sentence(1, 1)
    assert "up to 1 of them could probably have started on this GPU." in sentence(1, 1)
    assert "up to 9 of them could probably have started on these 16 GPUs." in sentence(9, 16)
    assert "10 or more of them could" in sentence(17, 64)
    assert "1,000 or more of them could probably have started on these 8,000 GPUs." in sentence(1999, 8000)
    assert sentence(None, 8) == ""
    assert waited_text(None, is_owner=True) == ""
