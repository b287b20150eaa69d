"""Addresses of a run's pages and files; absolute in mail; signed for opting out, which needs no signing in."""

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
    return run_url("job", run)


def finding_anchor(code: str) -> str:
    """Where the page of a run explains the finding of this code.

    >>> finding_anchor("idle_gpus")
    'finding-idle_gpus'
    """
    return f"finding-{code}"


def finding_url(run: Job, code: str) -> str:
    """The page of a run at one of its findings."""
    return f"{job_url(run)}#{finding_anchor(code)}"


def raw_samples_url(run: Job) -> str:
    """The raw samples of a run as a file."""
    return run_url("api-raw-samples", run)


def run_url(page: str, run: Job, *more: str) -> str:
    """A page or file of a run by the name of its route; `more` is what that takes behind the number of the job."""
    return reverse(page, args=[run.cluster, run.job_id, *more]) + f"?attempt={run.attempt}"


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
