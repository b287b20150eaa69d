"""The policy figures for schedulers: the export by month, the flags that are raised, and their JSON Schemas.

With a policy token, or the session or personal token of staff and policy readers. Every read is in the audit log.
"""

from django.http import Http404, StreamingHttpResponse
from django.utils import timezone
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.policy.figures import PolicyExport
from analysis.policy.raised import FlagList
from analysis.policy.selectors import flag_list
from jobs.audit.services import Actor, by_person, by_policy_token
from jobs.models import Token, User
from portal.access import person, reads_the_policy
from portal.api.authentication import PersonalTokenAuthentication, ProgramAuthentication
from portal.api.bases import OpenView
from portal.downloads import CSV, streamed
from portal.policy_reading import NoSuchPeriod, Reading, log_reading, parts, reading, what_of
from reports.policy_export import json_parts, json_schema

CONTENT_TYPES = {"json": "application/json", "csv": CSV}
SCHEMAS: dict[str, type[PolicyExport] | type[FlagList]] = {"efficiency": PolicyExport, "flags": FlagList}


class PolicyAuthentication(ProgramAuthentication):
    """`Authorization: Bearer kaiku_policy_…`: a program that reads the policy figures alone."""

    kind = Token.Kind.POLICY


class ReadsPolicy(BasePermission):
    """Programs with a policy token, policy readers and administrators; other people get 404."""

    def has_permission(self, request: Request, view: object) -> bool:
        user = request.user
        if isinstance(user, User) and not reads_the_policy(user):
            raise Http404("There is no such call here.")
        return bool(user.is_authenticated)


class PolicyView(APIView):
    """A call for readers of the policy figures."""

    authentication_classes = (PolicyAuthentication, PersonalTokenAuthentication, SessionAuthentication)
    permission_classes = (ReadsPolicy,)


class PolicyEfficiency(PolicyView):
    """`GET /api/v1/policy/efficiency.{json,csv}`: closed months by `?period=`, or `?since=` and `?until=`; `?by=`."""

    def get(self, request: Request, name: str) -> StreamingHttpResponse:
        asked = _asked(request)
        log_reading(actor_of(request), what_of(asked), name, asked.rows.count())
        return streamed(parts(asked, name), f"{asked.file_name}.{name}", CONTENT_TYPES[name])


class Flags(PolicyView):
    """`GET /api/v1/flags`: projects with a raised flag that staff see, and users as of Monday, by the month's keys."""

    def get(self, request: Request) -> StreamingHttpResponse:
        found = flag_list(timezone.now())
        log_reading(actor_of(request), "flags", "json", len(found.rows))
        head = {
            **{"schema": found.schema, "advisory": found.advisory},
            **{"users_as_of": found.users_as_of, "withheld_users": found.withheld_users},
        }
        return StreamingHttpResponse(json_parts(head, found.rows), content_type=CONTENT_TYPES["json"])


class PolicySchema(OpenView):
    """`GET /api/v1/policy/{efficiency,flags}.schema.json`: the JSON Schema of an answer, open to everyone."""

    def get(self, request: Request, name: str) -> Response:
        return Response(json_schema(SCHEMAS[name]))


def actor_of(request: Request) -> Actor:
    """Who reads, for the audit log."""
    if isinstance(request.auth, Token) and request.auth.kind == Token.Kind.POLICY:
        return by_policy_token(request.auth.name)
    return by_person(person(request))


def _asked(request: Request) -> Reading:
    given = {name: request.query_params.get(name) for name in ("period", "since", "until", "by")}
    try:
        return reading(**given)
    except ValueError as error:
        raise ValidationError(str(error)) from error
    except NoSuchPeriod as error:
        raise NotFound(str(error)) from error
