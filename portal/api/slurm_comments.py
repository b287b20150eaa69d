"""The comments of judged jobs for Slurm's accounting, for the operator's puller alone."""

import re
from typing import cast

import msgspec
from django.conf import settings
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.comments.selectors import comment_page
from analysis.comments.services import number_comments
from jobs.models import Token
from portal.api.answers import SlurmCommentAnswer, SlurmCommentsAnswer
from portal.api.authentication import ProgramAuthentication
from portal.api.operations import COMMENTS_DEFAULT, COMMENTS_MAX, SINCE_MAX

DIGITS = re.compile(r"[0-9]{1,19}")
SWITCHED_OFF = "This portal has no comments for Slurm: SLURM_COMMENTS is off."


class CommentAuthentication(ProgramAuthentication):
    """`Authorization: Bearer kaiku_comments_…`; no other token, and no session, reads comments."""

    kind = Token.Kind.COMMENTS


class SlurmComments(APIView):
    """`GET /api/v1/slurm-comments?since=&limit=`: what changed behind that place, of the token's cluster."""

    authentication_classes = (CommentAuthentication,)

    def get(self, request: Request) -> Response:
        if not settings.SLURM_COMMENTS:
            raise NotFound(SWITCHED_OFF)
        since = _whole(request, "since", 0, 0, SINCE_MAX)
        limit = _whole(request, "limit", COMMENTS_DEFAULT, 1, COMMENTS_MAX)
        cluster = cast("Token", request.auth).cluster
        last = number_comments(cluster)
        # A place that was never given is of a database before its restoration: the reader begins anew.
        page = comment_page(cluster, since if since <= last else 0, limit)
        found = [
            SlurmCommentAnswer(cluster, row.job.job_id, row.job.started_at.replace(microsecond=0), row.text)
            for row in page.rows
            if row.job.started_at
        ]
        return Response(msgspec.to_builtins(SlurmCommentsAnswer(found, page.next_since)))


def _whole(request: Request, name: str, default: int, least: int, most: int) -> int:
    """The number in this parameter. Raises ValidationError for anything else."""
    written = request.query_params.get(name)
    if written is None:
        return default
    if not DIGITS.fullmatch(written) or not least <= int(written) <= most:
        raise ValidationError(f"{name} must be a whole number from {least} to {most}.")
    return int(written)
