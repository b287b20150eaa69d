"""The calls by which collectors and epilogs bring their payloads; 2xx means committed."""

from __future__ import annotations

from http import HTTPStatus

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from collector.wire import NODE_SUMMARY
from jobs.records import SCHEMA as JOB_RECORD
from portal.api.authentication import CollectorTokenAuthentication, IsCollector
from portal.api.parsers import PayloadParser
from portal.api.problems import Malformed, problem
from portal.ingest.body import MalformedBody, records
from portal.ingest.services import Outcome, ingest


class IngestView(APIView):
    """One object or a list of one kind of payload."""

    authentication_classes = [CollectorTokenAuthentication]
    permission_classes = [IsCollector]
    throttle_classes = ()
    parser_classes = [PayloadParser]
    schema_name = ""

    def post(self, request: Request) -> Response:
        body = request.data
        if not isinstance(body, bytes):
            raise Malformed("The body is empty.")
        try:
            documents = records(body)
        except MalformedBody as error:
            raise Malformed(str(error)) from error
        return answer(ingest(documents, [self.schema_name], cluster=request.auth.cluster))


class NodeSummaries(IngestView):
    schema_name = NODE_SUMMARY


class JobRecords(IngestView):
    schema_name = JOB_RECORD


def answer(outcome: Outcome) -> Response:
    """201 when anything was new, 200 when nothing was, 422 when every record was refused."""
    rejected = [
        {"index": index, "errors": [{"path": path, "message": message} for path, message in problems]}
        for index, problems in outcome.rejected
    ]
    counts = {"accepted": outcome.accepted, "duplicate": outcome.duplicate, "rejected": rejected}
    if rejected and not outcome.accepted and not outcome.duplicate:
        errors = [error for record in rejected for error in record["errors"]]
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "No record was taken.", errors=errors, **counts)
    return Response(counts, HTTPStatus.CREATED if outcome.accepted else HTTPStatus.OK)
