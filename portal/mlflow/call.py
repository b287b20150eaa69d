"""One call of a client, as what answers it needs it, and whose experiments and runs it is about."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from jobs.experiments.models import RUN_ID_LENGTH, Experiment, ExperimentRun
from jobs.experiments.rules import NoSuchExperiment, NoSuchRun
from jobs.experiments.selectors import own_run, visible_experiments, visible_runs
from jobs.experiments.services.experiments import named_experiment
from jobs.experiments.services.runs import StatedJob
from jobs.models import Token, User
from jobs.tokens.models import PREFIXES
from portal.ingest.senders import BEARER, TurnedAway, bearer
from portal.mlflow.wire import Kind, read
from portal.tracking.call import logging_person

DEFAULT_ID, DEFAULT_NAME = "0", "Default"
"""Clients log to experiment 0 where their script names none; here each person has one of their own."""

RUN_ID = re.compile(rf"[0-9a-f]{{{RUN_ID_LENGTH}}}")
EXPERIMENT_ID = re.compile(r"[0-9]{1,18}")

NO_TOKEN = (
    f"Set MLFLOW_TRACKING_TOKEN to a token that logs runs ({PREFIXES[Token.Kind.RUNS]}…); you create it under Settings."
)
BASIC = (
    "The client sent a user name and password in place of the token. Remove the entry of this host from ~/.netrc, "
    "unset MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, and use an address without user name."
)


@dataclass(frozen=True)
class Call:
    """A call of this person; `sent` is its body, or the query of a GET, and `job` the one that its address states."""

    user: User
    now: datetime
    sent: bytes | Mapping[str, str] = b""
    job: StatedJob | None = None

    def read(self, kind: type[Kind]) -> Kind:
        """What was sent. Raises Refused."""
        return read(self.sent, kind)

    def experiment_pk(self, experiment_id: str) -> int:
        """The row of this identifier, whoever's it is; the default experiment is made when it is first named.

        Raises NoSuchExperiment.
        """
        if experiment_id == DEFAULT_ID:
            return named_experiment(self.user, DEFAULT_NAME, self.now)[0].pk
        if not EXPERIMENT_ID.fullmatch(experiment_id):
            raise NoSuchExperiment
        return int(experiment_id)

    def seen_experiment(self, experiment_id: str) -> Experiment:
        """An experiment that this person sees. Raises NoSuchExperiment."""
        found = visible_experiments(self.user).filter(pk=self.experiment_pk(experiment_id)).first()
        if found is None:
            raise NoSuchExperiment
        return found

    def seen_run(self, run_id: str) -> ExperimentRun:
        """A run that this person sees. Raises NoSuchRun."""
        found = visible_runs(self.user).filter(run_id=checked_id(run_id)).first()
        if found is None:
            raise NoSuchRun
        return found

    def own_run(self, run_id: str) -> ExperimentRun:
        """A run that this person may change. Raises NoSuchRun."""
        return own_run(self.user, checked_id(run_id))


def checked_id(run_id: str) -> str:
    """The identifier of a run, if it can be one. Raises NoSuchRun."""
    if not RUN_ID.fullmatch(run_id):
        raise NoSuchRun
    return run_id


def holder_of(authorization: str, now: datetime) -> User:
    """The person whose token this header has: only one that logs runs is accepted, no session. Raises TurnedAway."""
    secret = bearer(authorization)
    if secret is None:
        is_basic = authorization.lower().startswith("basic ")
        raise TurnedAway(HTTPStatus.UNAUTHORIZED, BASIC if is_basic else NO_TOKEN, BEARER)
    return logging_person(secret, now)
