"""The calls about experiments and runs, which training scripts make, and their query parameters."""

from typing import Any

from jobs.experiments.limits import KEY_LENGTH_MAX
from jobs.experiments.status import Status
from portal.api.operation import LOGGER, READER, Operation, one_of, parameter
from portal.api.run_answers import (
    ArtifactAnswer,
    ArtifactsAnswer,
    ExperimentAnswer,
    ExperimentPage,
    MadeRun,
    PointsAnswer,
    RunAnswer,
    RunPage,
    SeriesAnswer,
)
from portal.api.run_bodies import ArtifactRequest, ExperimentChange, ExperimentRequest, RunPatch, RunRequest
from portal.tracking.own_points import LoggedPoint

TEXT: dict[str, Any] = {"type": "string", "pattern": rf"^[ -~]{{0,{KEY_LENGTH_MAX}}}$"}
RUN_QUERY: dict[str, dict[str, Any]] = {
    "experiment_q": parameter("Only experiments with this in their name.", TEXT, "q"),
    "run_q": parameter("Only runs with this in their name, or whose id begins so.", TEXT, "q"),
    "run_status": parameter("Only runs of this status.", one_of(word.value for word in Status), "status"),
    "metric_sort": parameter(
        "The name of a metric: by its last value, the least first; with a minus before it the greatest first. Runs"
        " without it come last. Without this the run that started last is first.",
        TEXT,
        "sort",
    ),
    "metric": parameter("Only this metric.", TEXT, "name"),
}
EXPERIMENT, RUN = "/api/v1/experiments/{pk}", "/api/v1/runs/{run_id}"
OF_THE_EXPERIMENT = {"pk": "$response.body#/experiment_id"}
OF_THE_RUN = {"run_id": "$response.body#/run_id"}
PAGES = ("page", "page_size")

RUN_OPERATIONS = (
    Operation(
        "listExperiments",
        "/api/v1/experiments/",
        "Your experiments, and those that a project of yours sees; the one that changed last first.",
        {200: ExperimentPage},
        access=READER,
        query=(*PAGES, "experiment_q"),
        links={"getExperiment": {"pk": "$response.body#/results/0/experiment_id"}},
    ),
    Operation(
        "makeExperiment",
        "/api/v1/experiments/",
        "A new experiment; 200 with the one there is, unchanged, where you have one of that name.",
        {200: ExperimentAnswer, 201: ExperimentAnswer},
        method="post",
        takes=ExperimentRequest,
        access=LOGGER,
        links={"getExperiment": OF_THE_EXPERIMENT, "startRun": OF_THE_EXPERIMENT},
    ),
    Operation("getExperiment", EXPERIMENT, "One experiment.", {200: ExperimentAnswer}, access=READER),
    Operation(
        "changeExperiment",
        EXPERIMENT,
        "Its name, its tags, and which project sees it.",
        {200: ExperimentAnswer},
        method="patch",
        takes=ExperimentChange,
        access=LOGGER,
    ),
    Operation(
        "deleteExperiment",
        EXPERIMENT,
        "Delete an experiment with its runs and everything that they logged.",
        {204: None},
        method="delete",
        access=LOGGER,
    ),
    Operation(
        "listRuns",
        f"{EXPERIMENT}/runs",
        "The runs of an experiment.",
        {200: RunPage},
        access=READER,
        query=(*PAGES, "run_q", "run_status", "metric_sort"),
        links={"getRun": {"run_id": "$response.body#/results/0/run_id"}},
    ),
    Operation(
        "startRun",
        f"{EXPERIMENT}/runs",
        "A new run. The job that it states is linked once there is a record of it as a job of yours.",
        {201: MadeRun},
        method="post",
        takes=RunRequest,
        access=LOGGER,
        links={"getRun": OF_THE_RUN, "logPoints": OF_THE_RUN, "changeRun": OF_THE_RUN},
    ),
    Operation(
        "getRunTable",
        f"{EXPERIMENT}/runs.csv",
        "The runs of an experiment as a table: a column for each parameter and tag, three for each metric, and the"
        " progress and its cost as far as you see the jobs.",
        {200: str},
        content_types=("text/csv",),
        access=READER,
        query=("run_q", "run_status", "metric_sort"),
    ),
    Operation("getRun", RUN, "One run with what is exact of its metrics.", {200: RunAnswer}, access=READER),
    Operation(
        "changeRun",
        RUN,
        "What a script reports of its run: its status and end, parameters, tags, another job.",
        {200: RunAnswer},
        method="patch",
        takes=RunPatch,
        access=LOGGER,
    ),
    Operation(
        "deleteRun", RUN, "Delete a run with everything that it logged.", {204: None}, method="delete", access=LOGGER
    ),
    Operation(
        "listPoints",
        f"{RUN}/metrics",
        "The kept points of each metric: all, or of very many the ends and extremes of neighbours.",
        {200: list[SeriesAnswer]},
        access=READER,
        query=("metric",),
    ),
    Operation(
        "logPoints",
        f"{RUN}/metrics",
        "One point, or a list; everything accepted is committed. Under load a call may be thinned to the ends and"
        " extremes of each metric, which the run states.",
        {201: PointsAnswer},
        method="post",
        takes=LoggedPoint | list[LoggedPoint],
        access=LOGGER,
    ),
    Operation(
        "getPointTable",
        f"{RUN}/metrics.csv",
        "The kept points of a run as a table.",
        {200: str},
        content_types=("text/csv",),
        access=READER,
    ),
    Operation(
        "listArtifacts",
        f"{RUN}/artifacts",
        "The files of a run, by path.",
        {200: list[ArtifactAnswer]},
        access=READER,
    ),
    Operation(
        "stateArtifacts",
        f"{RUN}/artifacts",
        "A file on shared storage, or a list, by path alone: nothing reads it.",
        {201: ArtifactsAnswer},
        method="post",
        takes=ArtifactRequest | list[ArtifactRequest],
        access=LOGGER,
    ),
)
