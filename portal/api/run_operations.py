"""The calls about experiments and runs, which training scripts make, and their query parameters."""

from __future__ import annotations

from typing import Any

from jobs.experiments.limits import KEY_LENGTH_MAX
from jobs.experiments.status import Status
from portal.api.operation import LOGGER, READER, Operation
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
    "experiment_q": {"name": "q", "description": "Only experiments with this in their name.", "schema": TEXT},
    "run_q": {
        "name": "q",
        "description": "Only runs with this in their name, or whose id begins so.",
        "schema": TEXT,
    },
    "run_status": {
        "name": "status",
        "description": "Only runs of this status.",
        "schema": {"type": "string", "enum": [word.value for word in Status]},
    },
    "metric_sort": {
        "name": "sort",
        "description": "The name of a metric: by its last value, the least first; with a minus before it the greatest"
        " first. Runs without it come last. Without this the run that started last is first.",
        "schema": TEXT,
    },
    "metric": {"name": "name", "description": "Only this metric.", "schema": TEXT},
}
EXPERIMENT, RUN = "/api/v1/experiments/{pk}", "/api/v1/runs/{run_id}"
OF_THE_EXPERIMENT = {"pk": "$response.body#/experiment_id"}
OF_THE_RUN = {"run_id": "$response.body#/run_id"}
PAGES = ("page", "page_size")

RUN_OPERATIONS = (
    Operation(
        "listExperiments",
        "get",
        "/api/v1/experiments/",
        "Your experiments, and those that a project of yours sees; the one that changed last first.",
        {200: ExperimentPage},
        access=READER,
        query=(*PAGES, "experiment_q"),
        links={"getExperiment": {"pk": "$response.body#/results/0/experiment_id"}},
    ),
    Operation(
        "makeExperiment",
        "post",
        "/api/v1/experiments/",
        "A new experiment; 200 with the one there is, unchanged, where you have one of that name.",
        {200: ExperimentAnswer, 201: ExperimentAnswer},
        takes=ExperimentRequest,
        access=LOGGER,
        links={"getExperiment": OF_THE_EXPERIMENT, "startRun": OF_THE_EXPERIMENT},
    ),
    Operation("getExperiment", "get", EXPERIMENT, "One experiment.", {200: ExperimentAnswer}, access=READER),
    Operation(
        "changeExperiment",
        "patch",
        EXPERIMENT,
        "Its name, its tags, and which project sees it.",
        {200: ExperimentAnswer},
        takes=ExperimentChange,
        access=LOGGER,
    ),
    Operation(
        "deleteExperiment",
        "delete",
        EXPERIMENT,
        "Delete an experiment with its runs and everything that they logged.",
        {204: None},
        access=LOGGER,
    ),
    Operation(
        "listRuns",
        "get",
        f"{EXPERIMENT}/runs",
        "The runs of an experiment.",
        {200: RunPage},
        access=READER,
        query=(*PAGES, "run_q", "run_status", "metric_sort"),
        links={"getRun": {"run_id": "$response.body#/results/0/run_id"}},
    ),
    Operation(
        "startRun",
        "post",
        f"{EXPERIMENT}/runs",
        "A new run. The job that it states is linked once there is a record of it as a job of yours.",
        {201: MadeRun},
        takes=RunRequest,
        access=LOGGER,
        links={"getRun": OF_THE_RUN, "logPoints": OF_THE_RUN, "changeRun": OF_THE_RUN},
    ),
    Operation(
        "getRunTable",
        "get",
        f"{EXPERIMENT}/runs.csv",
        "The runs of an experiment as a table: a column for each parameter and tag, three for each metric, and the"
        " progress and its cost as far as you see the jobs.",
        {200: str},
        content_types=("text/csv",),
        access=READER,
        query=("run_q", "run_status", "metric_sort"),
    ),
    Operation("getRun", "get", RUN, "One run with what is exact of its metrics.", {200: RunAnswer}, access=READER),
    Operation(
        "changeRun",
        "patch",
        RUN,
        "What a script reports of its run: its status and end, parameters, tags, another job.",
        {200: RunAnswer},
        takes=RunPatch,
        access=LOGGER,
    ),
    Operation("deleteRun", "delete", RUN, "Delete a run with everything that it logged.", {204: None}, access=LOGGER),
    Operation(
        "listPoints",
        "get",
        f"{RUN}/metrics",
        "The kept points of each metric: all, or of very many the ends and extremes of neighbours.",
        {200: list[SeriesAnswer]},
        access=READER,
        query=("metric",),
    ),
    Operation(
        "logPoints",
        "post",
        f"{RUN}/metrics",
        "One point, or a list; everything accepted is committed. Under load a call may be thinned to the ends and"
        " extremes of each metric, which the run states.",
        {201: PointsAnswer},
        takes=LoggedPoint | list[LoggedPoint],
        access=LOGGER,
    ),
    Operation(
        "getPointTable",
        "get",
        f"{RUN}/metrics.csv",
        "The kept points of a run as a table.",
        {200: str},
        content_types=("text/csv",),
        access=READER,
    ),
    Operation(
        "listArtifacts",
        "get",
        f"{RUN}/artifacts",
        "The files of a run, by path.",
        {200: list[ArtifactAnswer]},
        access=READER,
    ),
    Operation(
        "stateArtifacts",
        "post",
        f"{RUN}/artifacts",
        "A file on shared storage, or a list, by path alone: nothing reads it.",
        {201: ArtifactsAnswer},
        takes=ArtifactRequest | list[ArtifactRequest],
        access=LOGGER,
    ),
)
