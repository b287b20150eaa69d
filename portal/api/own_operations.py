"""The calls about one's own jobs and works, which the command line `kaiku` makes, and their query parameters."""

from typing import Any

from analysis.efficiency import EfficiencyClass
from jobs.records import JOB_NAME_LENGTH_MAX
from portal.api.answers import LatestReport, LatestWithoutReport
from portal.api.asked import DAYS, DAYS_MAX, JobPages
from portal.api.check_answers import CheckAnswer, PlatformList
from portal.api.check_body import CheckRequest
from portal.api.insight_answers import HintList, InsightAnswer
from portal.api.jobs import ORDERS
from portal.api.last_jobs import JOBS, JOBS_MAX, LastJobList
from portal.api.operation import Operation, one_of, parameter, whole
from portal.api.running import JOBS as RUNNING
from portal.api.running import JOBS_MAX as RUNNING_MAX
from portal.api.running_answers import RunningAnswer, RunningList
from portal.api.work_answers import WorkDetailAnswer, WorkList
from portal.api.works import WORKS, WORKS_MAX

NAMED: dict[str, Any] = {"type": "string", "pattern": rf"^[ -~]{{0,{JOB_NAME_LENGTH_MAX}}}$"}
JOB_ID = whole(1, 10**18 - 1)

OWN_QUERY: dict[str, dict[str, Any]] = {
    "limit": parameter("Runs per page instead of `page_size`.", whole(1, JobPages.limit_max)),
    "own": parameter("1 leaves out the projects that you lead.", one_of(("0", "1"))),
    "job_days": parameter("Only runs that ended in these last days.", whole(1, DAYS_MAX), "days"),
    "job_id": parameter("Only runs of this number, on whichever clusters.", JOB_ID),
    "work": parameter("The key of a work, or a job name: only runs of that work.", NAMED),
    "class": parameter("Only runs of this class.", one_of(kind.value for kind in EfficiencyClass)),
    "sort": parameter(
        "The latest first, or the most unused GPU-hours first, of runs where they are known.", one_of(ORDERS)
    ),
    "work_days": parameter(f"Only works with a run in these last days; {DAYS}.", whole(1, DAYS_MAX), "days"),
    "last_jobs": parameter(f"How many jobs, {JOBS} without it.", whole(1, JOBS_MAX), "n"),
    "works": parameter(f"At most so many works; {WORKS}.", whole(1, WORKS_MAX), "limit"),
    "running": parameter(f"At most so many jobs; {RUNNING}.", whole(1, RUNNING_MAX), "limit"),
    "running_id": parameter(
        "Only jobs of this number, and tasks of an array of this number, on whichever clusters.", JOB_ID, "job_id"
    ),
    "q": parameter("Only runs with this in their name, and those of a work of this name.", NAMED),
}

WORK = "/api/v1/works/{key}/"
OWN_OPERATIONS = (
    Operation(
        "getLatestJob",
        "/api/v1/jobs/latest/",
        "The report of your own run that ended last, or its record if there is no report.",
        {200: (LatestReport, LatestWithoutReport)},
        query=("work",),
    ),
    Operation(
        "listRunning",
        "/api/v1/running/",
        "Your jobs that run now, and those of projects that you lead: what was measured so far, and early words.",
        {200: RunningList},
        query=("running", "own", "running_id"),
        links={"getRunning": {name: f"$response.body#/jobs/0/{name}" for name in ("cluster", "job_id")}},
    ),
    Operation(
        "getRunning",
        "/api/v1/running/{cluster}/{job_id}/",
        "One of them; 404 where it does not run, or no longer: its report is then at `/api/v1/jobs/`.",
        {200: RunningAnswer},
    ),
    Operation(
        "listLastJobs",
        "/embed/last-jobs.json",
        "Your latest jobs in few words, for another portal that shows them. There is no CORS.",
        {200: LastJobList},
        query=("last_jobs",),
    ),
    Operation(
        "listWorks",
        "/api/v1/works/",
        "Your works, the latest first: all runs of one program of yours in one project.",
        {200: WorkList},
        query=("work_days", "works", "q"),
        links={"getWork": {"key": "$response.body#/works/0/key"}},
    ),
    Operation(
        "getWork",
        WORK,
        "What the runs of one work are like, how they fail and scale, and which request suits them; for its owner and"
        " the PI of its project.",
        {200: WorkDetailAnswer},
    ),
    Operation(
        "check",
        "/api/v1/check",
        "What a request would cost, and what your own earlier runs of the same work suggest for it. It takes resource"
        " options and the name of the job, never a script, command line, environment or path, and stores nothing.",
        {200: CheckAnswer},
        method="post",
        takes=CheckRequest,
    ),
    Operation(
        "getInsights",
        "/api/v1/insights/",
        "The biggest savings in your own runs, what repeats, and what advice brought.",
        {200: InsightAnswer},
        query=("days", "work"),
    ),
    Operation(
        "listHints",
        "/api/v1/hints/",
        "Lines to show when a job of one of your works is submitted.",
        {200: HintList},
        query=("days",),
    ),
    Operation(
        "listPlatforms",
        "/api/v1/platforms/",
        "Where work can run and what it costs there: the partitions, and other places that the site lists.",
        {200: PlatformList},
    ),
)
