"""Addresses of a run's pages and files; absolute in mail; signed for opting out, which needs no signing in."""

from __future__ import annotations

from django.conf import settings
from django.core import signing
from django.urls import reverse

from jobs.models import Job, User

SIGNER = signing.Signer(salt="reports.opt-out")


def run_key(run: Job) -> str:
    """The name of a run in an address that names several.

    >>> run_key(Job(cluster="lumi", job_id=7, attempt=1))
    'lumi/7.1'
    """
    return f"{run.cluster}/{run.job_id}.{run.attempt}"


def job_url(run: Job) -> str:
    """The page of a run."""
    return reverse("job", args=[run.cluster, run.job_id]) + f"?attempt={run.attempt}"


def finding_anchor(code: str) -> str:
    """Where the page of a run explains the finding of this code.

    >>> finding_anchor("idle_gpus")
    'finding-idle_gpus'
    """
    return f"finding-{code}"


def finding_url(run: Job, code: str) -> str:
    """The page of a run at one of its findings."""
    return f"{job_url(run)}#{finding_anchor(code)}"


def report_url(run: Job, name: str) -> str:
    """The report of a run as a file of the format `name`."""
    return reverse("api-report", args=[run.cluster, run.job_id, name]) + f"?attempt={run.attempt}"


def performance_url(run: Job, ending: str) -> str:
    """A run as a file for analysis; `ending` is that of a format of `reports.performance.services`."""
    return reverse("api-job-performance", args=[run.cluster, run.job_id, ending]) + f"?attempt={run.attempt}"


def raw_samples_url(run: Job) -> str:
    """The raw samples of a run as a file."""
    return reverse("api-raw-samples", args=[run.cluster, run.job_id]) + f"?attempt={run.attempt}"


def raw_window_url(run: Job) -> str:
    """The page that draws the raw samples of a run."""
    return reverse("raw-window", args=[run.cluster, run.job_id]) + f"?attempt={run.attempt}"


def figure_url(run: Job, name: str) -> str:
    """One figure of a run."""
    return reverse("figure", args=[run.cluster, run.job_id, name]) + f"?attempt={run.attempt}"


def address(name: str, *arguments: object) -> str:
    """A page of the portal by the name of its route."""
    return settings.SITE_URL + reverse(name, args=arguments)


def job_address(job: Job) -> str:
    """The absolute address of the page of a run."""
    return settings.SITE_URL + job_url(job)


def opt_out_address(user: User) -> str:
    """The address where one click ends all mail to this person; it never expires."""
    return address("opt-out", SIGNER.sign(str(user.pk)))


def opt_out_user(token: str) -> User | None:
    """Whom a token belongs to; None when it was not signed here or the account is gone."""
    try:
        return User.objects.filter(pk=int(SIGNER.unsign(token))).first()
    except (signing.BadSignature, ValueError):
        return None
