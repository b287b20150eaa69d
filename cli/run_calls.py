"""The calls of `kaiku run-log`: a run and its experiment, points, files and the end of a run."""

from __future__ import annotations

import re

from cli.answers import document, number, objects, text, whole
from cli.errors import NoAnswer, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from cli.http_answer import Answer
    from cli.http_client import Portal
    from cli.options import Options
    from cli.run_points import Point

RUN_ID = re.compile(r"[0-9a-f]{32}")
CLUSTER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}")
JOB_DIGITS_MAX = 15
BATCH = 1000
"""Points of one call; the portal takes ten times as many."""
NONE_ACCEPTED = 422
REASONS_MAX = 3


class Runs:
    """The runs at a portal, with a token that logs. Every call raises CliError."""

    def __init__(self, portal: Portal, timeout_s: float) -> None:
        self._portal, self.timeout_s = portal, timeout_s

    def start(self, experiment: str, run: Mapping[str, Any]) -> str:
        """The id of a new run in the experiment with this name, which is made if it does not exist."""
        made = document(self._call("POST", "/api/v1/experiments/", {"name": experiment}))
        key = number(made, "experiment_id")
        if key is None:
            raise NoAnswer("the portal's answer is not an experiment: check KAIKU_URL")
        run_id = text(document(self._call("POST", f"/api/v1/experiments/{int(key)}/runs", run)), "run_id")
        if not RUN_ID.fullmatch(run_id):
            raise NoAnswer("the portal's answer is not a run: check KAIKU_URL")
        return run_id

    def log(self, run_id: str, points: list[Point]) -> tuple[int, list[str]]:
        """Log points; how many were accepted, and why others were not, each reason once."""
        path = f"/api/v1/runs/{run_id}/metrics"
        answer = self._portal.call("POST", path, document=points, timeout_s=self.timeout_s)
        if answer.status == NONE_ACCEPTED:
            errors = objects(answer.json(), "errors")
            return 0, _reasons(errors) or [answer.detail()]
        said = document(answer.checked())
        rejected = [error for each in objects(said, "rejected") for error in objects(each, "errors")]
        return whole(said, "accepted"), _reasons(rejected)

    def state_file(self, run_id: str, file: Mapping[str, Any]) -> None:
        """Log a file by its path."""
        self._call("POST", f"/api/v1/runs/{run_id}/artifacts", file)

    def end(self, run_id: str, status: str) -> None:
        """Report the status that a run ended with."""
        self._call("PATCH", f"/api/v1/runs/{run_id}", {"status": status})

    def page(self, run_id: str) -> str:
        """The address of its page."""
        return f"{self._portal.address}/runs/{run_id}/"

    def _call(self, method: str, path: str, body: object) -> Answer:
        return self._portal.call(method, path, document=body, timeout_s=self.timeout_s).checked()


def _reasons(errors: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(text(error, "message") for error in errors))[:REASONS_MAX]


def run_of(options: Options, environ: Mapping[str, str]) -> dict[str, Any]:
    """A new run as the command line and Slurm's variables describe it. Raises Usage."""
    run: dict[str, Any] = {"config": dict(_param(written) for written in options.texts("param"))}
    for name in ("name", "seed"):
        if given := options.text(name):
            run[name] = sendable(given)
    job = options.text("job") or environ.get("SLURM_JOB_ID", "")
    if job.isascii() and job.isdecimal() and len(job) <= JOB_DIGITS_MAX and int(job):
        run["slurm_job_id"] = int(job)
        cluster = options.text("cluster") or environ.get("SLURM_CLUSTER_NAME", "")
        if CLUSTER.fullmatch(cluster):
            run["cluster"] = cluster
    elif options.text("job"):
        raise Usage("--job must be the number of a job, SLURM_JOB_ID")
    return run


def sendable(written: str) -> str:
    """Text as JSON can have it: bytes of a command line that are no UTF-8 become question marks."""
    return written.encode("utf-8", "replace").decode("utf-8")


def _param(written: str) -> tuple[str, str]:
    name, separator, value = written.partition("=")
    if not separator or not name.strip():
        raise Usage(f"--param must be name=value, not {written[:60]!r}")
    return sendable(name), sendable(value)
