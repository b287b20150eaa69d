"""`POST /webhooks/slurm`: an epilog states that a job ended, as a form or as JSON, with a collector's token.

    curl -H "Authorization: Bearer $TOKEN" -d job_id=$SLURM_JOB_ID -d user=$SLURM_JOB_USER \\
         -d exit_code=$SLURM_JOB_EXIT_CODE2 https://kaiku.example/webhooks/slurm

It ends the logged runs of that job and user at once; Slurm's record decides when it arrives. Nothing else is stored.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.utils import timezone
from rest_framework.exceptions import PermissionDenied
from rest_framework.parsers import FormParser, JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.experiments.rules import job_number
from jobs.experiments.services.following import note_event
from jobs.models import Token
from jobs.records import ENDED_STATES
from portal.api.authentication import Program, ProgramAuthentication
from portal.api.problems import problem
from wire.names import SLUG

NAMES = {
    "job_id": ("job_id", "slurm_job_id", "SLURM_JOB_ID"),
    "user": ("user", "SLURM_JOB_USER"),
    "state": ("state", "job_state", "SLURM_JOB_STATE"),
    "exit_code": ("exit_code", "SLURM_JOB_EXIT_CODE2", "SLURM_JOB_EXIT_CODE"),
    "cluster": ("cluster", "SLURM_CLUSTER_NAME"),
}
"""What a call states, by the names that epilogs have for it (slurm.conf(5), "PROLOG AND EPILOG SCRIPTS")."""

EXIT_CODE = re.compile(r"[0-9]{1,5}(:[0-9]{1,3})?")
USER = re.compile(SLUG)
OF_A_NODE = "A token of a single node cannot state the end of jobs; use one of the whole cluster."
NO_STATE = "must be one of the final states of Slurm, unless exit_code is given"


@dataclass(frozen=True)
class Event:
    """The end of a job as an epilog states it."""

    job_id: int
    user: str
    state: str


class CollectorAuthentication(ProgramAuthentication):
    """`Authorization: Bearer …` of a collector of the whole cluster."""

    kind = Token.Kind.COLLECTOR
    only_reads = False

    def authenticate(self, request: Request) -> tuple[Program, Token] | None:
        found = super().authenticate(request)
        if found is not None and found[1].node:
            raise PermissionDenied(OF_A_NODE)
        return found


class SlurmEvents(APIView):
    """One event; nodes end many jobs at once, so there is no limit by minute."""

    authentication_classes = (CollectorAuthentication,)
    throttle_classes = ()
    parser_classes = (FormParser, MultiPartParser, JSONParser)

    def post(self, request: Request) -> Response:
        token: Token = request.auth  # type: ignore[assignment]
        event = event_of(request.data, token.cluster)
        if isinstance(event, list):
            errors = [{"path": path, "message": message} for path, message in event]
            return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(map(": ".join, event)), errors=errors)
        return Response({"runs": note_event(event.user, token.cluster, event.job_id, event.state, timezone.now())})


def event_of(said: Any, cluster: str) -> Event | list[tuple[str, str]]:
    """The event that a call states of a cluster, or what is wrong with it.

    >>> event_of({"job_id": 7, "user": "alice", "exit_code": "0:9"}, "lumi")
    Event(job_id=7, user='alice', state='FAILED')
    """
    if not isinstance(said, Mapping):
        return [("", "must be a form or an object")]
    given = {name: _text(said, names) for name, names in NAMES.items()}
    found = []
    number = job_number(given["job_id"])
    if number is None:
        found.append(("job_id", "must be the number of a job"))
    if not USER.fullmatch(given["user"]):
        found.append(("user", "must be the account name of the job's owner"))
    if given["cluster"] not in ("", cluster):
        found.append(("cluster", f"this token is valid for {cluster} only"))
    state = _state(given["state"], given["exit_code"])
    if state is None:
        found.append(("state", NO_STATE))
    if found or number is None or state is None:
        return found
    return Event(number, given["user"], state)


def _state(state: str, exit_code: str) -> str | None:
    """A final state: as stated, or as the exit code has it."""
    word = state.upper().partition(" ")[0].rstrip("+")
    if word in ENDED_STATES:
        return word
    if word or not EXIT_CODE.fullmatch(exit_code):
        return None
    return "FAILED" if any(part.strip("0") for part in exit_code.split(":")) else "COMPLETED"


def _text(said: Mapping[str, Any], names: tuple[str, ...]) -> str:
    value = next((said[name] for name in names if name in said), "")
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
