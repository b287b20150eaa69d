"""Which job is meant: `CLUSTER/JOBID`, or only `JOBID` or `ARRAY_TASK`, whose cluster is looked up; and which work."""

from __future__ import annotations

from cli.address import quoted
from cli.answers import document, number, objects, text
from cli.errors import NotFound, Usage
from cli.http_answer import Answer
from cli.shapes import job_list, job_report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cli.session import Session

DIGITS_MAX = 18
CLUSTER_MAX = 64
JOBS = "/api/v1/jobs/"
SEARCHED = {"own": 1, "days": 366, "limit": 500}
SAME_NUMBER_MAX = 100
"""Runs of one number: one for each cluster and attempt."""


class JobName:
    """A job as somebody wrote it; `cluster` is empty and `task` None where not stated."""

    def __init__(self, cluster: str, job_id: int, task: int | None) -> None:
        self.cluster, self.job_id, self.task = cluster, job_id, task


def read(written: str) -> JobName:
    """Raises Usage.

    >>> name = read("lumi/123_4"); name.cluster, name.job_id, name.task
    ('lumi', 123, 4)
    """
    cluster, slash, rest = written.rpartition("/")
    job_id, underscore, task = rest.partition("_")
    is_cluster = (
        len(cluster) <= CLUSTER_MAX and cluster.isprintable() and "/" not in cluster and cluster.strip(".") == cluster
    )
    if not is_cluster or bool(slash) != bool(cluster) or not _is_number(job_id) or int(job_id) == 0:
        raise Usage(f"not a job: {written[:60]!r}; write JOBID or CLUSTER/JOBID")
    if underscore and not _is_number(task):
        raise Usage(f"not a task of an array: {written[:60]!r}; write JOBID_TASK, such as 123_4")
    return JobName(cluster, int(job_id), int(task) if underscore else None)


def _is_number(written: str) -> bool:
    return written.isascii() and written.isdecimal() and len(written) <= DIGITS_MAX


def path_of(cluster: str, job_id: int) -> str:
    """The API's path of a job, percent-encoded."""
    return f"{JOBS}{quoted(cluster)}/{job_id}/"


def found(session: Session, written: str) -> tuple[str, Answer, float | None]:
    """The path of a job, its answer, and the age of the answer. Raises NotFound, and what `Session.get` raises."""
    named = read(written)
    if named.task is not None:
        named = _task(session, named)
    missing: NotFound | None = None
    for cluster in [named.cluster] if named.cluster else _clusters(session, named.job_id):
        path = path_of(cluster, named.job_id)
        try:
            return path, *session.get(path, check=job_report)
        except NotFound as error:
            missing = error
    raise NotFound(f"no job {written} of yours, or of a project that you lead, is known to the portal") from missing


def unknown_work(written: str) -> NotFound:
    return NotFound(f"no work of yours is called {written[:60]!r}: `kaiku history --by-work` names yours")


def check_work(session: Session, written: str) -> None:
    """Raises NotFound if nothing of the last year belongs to this work: its name or key is mistyped."""
    listed = session.get(JOBS, {**SEARCHED, "limit": 1, "work": written}, check=job_list)[0]
    if not document(listed)["count"]:
        raise unknown_work(written)


def _clusters(session: Session, job_id: int) -> list[str]:
    """The clusters with a run of this number; the one that Slurm's own commands are set to use comes first."""
    said = document(session.get(JOBS, {"job_id": job_id, "limit": SAME_NUMBER_MAX}, check=job_list)[0])
    runs = [run for run in objects(said, "results") if number(run, "job_id") == job_id]
    preferred = (session.environ.get("SLURM_CLUSTERS", "") or session.environ.get("SLURM_CLUSTER_NAME", "")).split(",")
    return sorted(dict.fromkeys(text(run, "cluster") for run in runs), key=lambda name: name not in preferred)


def _task(session: Session, named: JobName) -> JobName:
    """The run of an array's task, among the person's latest runs: Slurm gives each task a job id of its own."""
    for run in objects(document(session.get(JOBS, SEARCHED, check=job_list)[0]), "results"):
        same = number(run, "array_job_id") == named.job_id and number(run, "array_task_id") == named.task
        if same and named.cluster in ("", text(run, "cluster")):
            return JobName(text(run, "cluster"), round(number(run, "job_id") or 0), None)
    raise NotFound(
        f"no task {named.job_id}_{named.task} among your latest {SEARCHED['limit']} runs: "
        "write the task's own job id, which `sacct --format=JobID,JobIDRaw` shows"
    )
