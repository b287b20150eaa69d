"""What a request would cost, and what the asking person's own earlier runs suggest for it.

Nothing of the question is kept. What is predicted for an own work is, until its next run shows how it was.
"""

from http import HTTPStatus

import msgspec
from django.core.exceptions import RequestDataTooBig
from django.http import RawPostDataException
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.queue_waits.selectors import WaitHistory
from analysis.rollups.selectors import site_now
from education.selectors import current_programs
from jobs.hardware import clusters
from portal.access import person
from portal.api.authentication import AskingTokenAuthentication
from portal.api.check_answers import SCHEMA, CheckAnswer, PlatformList
from portal.api.check_body import CheckRefused, CheckRequest, check_request
from portal.api.check_component import Checking, answered, looked_up
from portal.api.check_costs import allocation_of, total_cost, with_allocation
from portal.api.check_elsewhere import platforms
from portal.api.problems import problem

NO_CLUSTER = "The cluster is not known: name one of those that this portal describes."
HET_ARRAY = "Slurm has no arrays of heterogeneous jobs."
AMBIGUOUS = "Jobs of this name ran in several projects; these are those of the latest. Name another with --account."


class Check(APIView):
    """`POST /api/v1/check`: resource options in, an answer out; 400 states what is wrong where, and repeats nothing."""

    authentication_classes = (AskingTokenAuthentication, SessionAuthentication)

    def post(self, request: Request) -> Response:
        try:
            asked = check_request(_body(request))
        except CheckRefused as error:
            errors = [{"path": error.path, "message": str(error)}]
            return problem(HTTPStatus.BAD_REQUEST, f"{error.path} {error}", errors=errors)
        return Response(msgspec.to_builtins(_answer(request, asked)))


class Platforms(APIView):
    """`GET /api/v1/platforms/`: where work can run, as the site's profile states it."""

    def get(self, request: Request) -> Response:
        return Response(msgspec.to_builtins(PlatformList(platforms())))


def _body(request: Request) -> bytes:
    """The body as it was sent. Raises CheckRefused where it is a form or far too long."""
    try:
        return bytes(request._request.body)
    except (RawPostDataException, RequestDataTooBig):
        raise CheckRefused("$", "is not the JSON of a check") from None


def _answer(request: Request, asked: CheckRequest) -> CheckAnswer:
    cluster = asked.cluster or _only_cluster(asked)
    is_single = len(asked.components) == 1
    now = site_now()
    checking = Checking(
        user=person(request),
        cluster=cluster or "",
        now=now,
        tasks=asked.array_tasks,
        has_elsewhere=asked.elsewhere,
        is_single=is_single,
        waits=WaitHistory(cluster or "", now),
        programs=current_programs(),
    )
    looked = [looked_up(checking, component) for component in asked.components]
    components = [answered(checking, each) for each in looked]
    cost = total_cost([component.cost for component in components])
    allocation = allocation_of(looked[0].waits.project, cost)
    sentences = [] if cluster in clusters() else [NO_CLUSTER]
    sentences += [HET_ARRAY] if asked.array_tasks > 1 and not is_single else []
    sentences += [AMBIGUOUS] if any(each.work and each.work.is_ambiguous for each in looked) else []
    return CheckAnswer(
        schema=SCHEMA,
        cluster=cluster,
        array_tasks=asked.array_tasks,
        cost=cost,
        components=with_allocation(components, allocation),
        sentences=sentences,
    )


def _only_cluster(asked: CheckRequest) -> str | None:
    """The only cluster of the site, or the only one that has the partition of the first component."""
    known = clusters()
    if len(known) == 1:
        return next(iter(known))
    partition = asked.components[0].given.get("--partition", "").partition(",")[0]
    found = [name for name, cluster in known.items() if partition in cluster.partitions]
    return found[0] if len(found) == 1 else None
