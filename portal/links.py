"""Addresses of a run's pages and files."""

from __future__ import annotations

from django.urls import reverse

from jobs.models import Job


def job_url(run: Job) -> str:
    """The page of a run."""
    return reverse("job", args=[run.cluster, run.job_id]) + f"?attempt={run.attempt}"


def report_url(run: Job, name: str) -> str:
    """The report of a run as a file of the format `name`."""
    return reverse("api-report", args=[run.cluster, run.job_id, name]) + f"?attempt={run.attempt}"


def raw_samples_url(run: Job) -> str:
    """The raw samples of a run as a file."""
    return reverse("api-raw-samples", args=[run.cluster, run.job_id]) + f"?attempt={run.attempt}"


def raw_window_url(run: Job) -> str:
    """The page that draws the raw samples of a run."""
    return reverse("raw-window", args=[run.cluster, run.job_id]) + f"?attempt={run.attempt}"


def figure_url(run: Job, name: str) -> str:
    """One figure of a run."""
    return reverse("figure", args=[run.cluster, run.job_id, name]) + f"?attempt={run.attempt}"
