"""Jobs that still run, for programs: what was measured of them so far, and the early words that hold."""

import msgspec
from django.conf import settings
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.selectors import reach_of
from portal.access import or_404, person
from portal.api.asked import asked_choice, asked_job_id, asked_number
from portal.api.running_answers import (
    MeasuredAnswer,
    OverWordAnswer,
    RunningAnswer,
    RunningList,
    SilentNodeAnswer,
    StepAnswer,
    UseAnswer,
    WordAnswer,
)
from portal.charts.running import RunningJob, running_job, running_jobs
from portal.charts.running_words import ShownWord
from reports.from_rows import struct_from

JOBS, JOBS_MAX = 20, 100


class Running(APIView):
    """`GET /api/v1/running/`: own jobs and those of led projects that run now."""

    def get(self, request: Request) -> Response:
        limit = asked_number(request, "limit", JOBS, JOBS_MAX)
        is_own = asked_choice(request, "own", ("0", "1"), "0") == "1"
        job_id = asked_job_id(request) if "job_id" in request.query_params else None
        found = running_jobs(reach_of(person(request)), timezone.now(), limit, is_own=is_own, job_id=job_id)
        answer = RunningList(found.count, found.is_more, [running_answer(row) for row in found.rows])
        return Response(msgspec.to_builtins(answer))


class RunningDetail(APIView):
    """`GET /api/v1/running/{cluster}/{job_id}/`: one of them; 404 where it does not run, or no longer."""

    def get(self, request: Request, cluster: str, job_id: int) -> Response:
        found = running_job(reach_of(person(request)), cluster, job_id, timezone.now())
        return Response(msgspec.to_builtins(running_answer(or_404(found, "No such job of yours runs now."))))


def running_answer(row: RunningJob) -> RunningAnswer:
    """One running job as data."""
    job, line = row.job, row.line
    return struct_from(
        RunningAnswer,
        job,
        attempt=row.run.attempt if row.run and row.figures else None,
        name=job.job_name,
        user_id=job.user.username,
        is_own=line.is_own,
        project_id=job.project.name,
        gpus=job.gpus or 0,
        started_at=job.started_at or row.now,
        ran_s=line.ran_s or 0.0,
        left_s=row.left_s,
        ends_at=line.ends_at,
        gpu_hours_so_far=line.cost.used,
        gpu_hours_at_limit=line.cost.at_limit,
        as_of=line.as_of,
        is_old=row.reading.is_old,
        url=f"{settings.SITE_URL}{row.url}",
        measured=_measured(row),
        words=[_word(word, is_own=line.is_own) for word in row.words],
        words_over=[struct_from(OverWordAnswer, word) for word in row.words_over],
    )


def _measured(row: RunningJob) -> MeasuredAnswer | None:
    figures, until = row.figures, row.measured_until
    if figures is None or until is None:
        return None
    return MeasuredAnswer(
        until=until,
        use_percent=figures.use_percent,
        gpus_with_work=figures.active_gpus,
        idle_since=row.idle_since,
        gpu_memory_peak_gb=figures.gpu_peak_gb,
        gpu_memory_capacity_gb=figures.gpu_capacity_gb,
        host_memory_peak_gb=figures.host_peak_gb,
        host_memory_limit_gb=figures.host_limit_gb,
        nodes_heard=figures.nodes,
        nodes_expected=figures.nodes_expected,
        silent_nodes=[struct_from(SilentNodeAnswer, silent) for silent in row.silent_nodes],
        use=UseAnswer(figures.step_s, list(figures.use)),
    )


def _word(word: ShownWord, *, is_own: bool) -> WordAnswer:
    """A word as data; what its steps ask for works for the owner of the job alone."""
    return struct_from(
        WordAnswer,
        word.row,
        title=word.text.title,
        text=" ".join(word.text.sentences),
        steps=[struct_from(StepAnswer, step) for step in word.text.steps] if is_own else [],
        possibility=struct_from(StepAnswer, word.text.possibility) if is_own else StepAnswer("", ""),
        since_s=word.since_s,
    )
