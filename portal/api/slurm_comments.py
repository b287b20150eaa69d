"""The comments of judged jobs for Slurm's accounting, for the operator's puller alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, cast

import msgspec
from django.conf import settings
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, NotFound, PermissionDenied, ValidationError
from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.comments.selectors import comment_page
from analysis.comments.services import number_comments
from jobs.models import CommentToken
from portal.api.answers import SlurmCommentAnswer, SlurmCommentsAnswer
from portal.api.operations import COMMENTS_DEFAULT, COMMENTS_MAX, SINCE_MAX
from portal.ingest.senders import ENDED, bearer
from portal.sign_in.comment_tokens import COMMENT_PREFIX, valid_comment_token

DIGITS = re.compile(r"[0-9]{1,19}")
SWITCHED_OFF = "This portal has no comments for Slurm: SLURM_COMMENTS is off."


@dataclass(frozen=True)
class CommentProgram:
    """Who calls with a comment token; `pk` is what calls are counted by."""

    token: CommentToken
    is_authenticated: ClassVar[bool] = True

    @property
    def pk(self) -> str:
        return f"comment token {self.token.pk}"


class CommentTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer kaiku_comments_…`; no other token, and no session, reads comments."""

    def authenticate(self, request: Request) -> tuple[CommentProgram, CommentToken] | None:
        secret = bearer(get_authorization_header(request).decode("latin-1"))
        if secret is None:
            return None
        token = valid_comment_token(secret, timezone.now()) if secret.startswith(COMMENT_PREFIX) else None
        if token is None:
            raise AuthenticationFailed(ENDED)
        if request.method not in SAFE_METHODS:
            raise PermissionDenied("A comment token is read-only.")
        return CommentProgram(token), token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class SlurmComments(APIView):
    """`GET /api/v1/slurm-comments?since=&limit=`: what changed behind that place, of the token's cluster."""

    authentication_classes = (CommentTokenAuthentication,)
    permission_classes = (IsAuthenticated,)

    def get(self, request: Request) -> Response:
        if not settings.SLURM_COMMENTS:
            raise NotFound(SWITCHED_OFF)
        since = _whole(request, "since", 0, 0, SINCE_MAX)
        limit = _whole(request, "limit", COMMENTS_DEFAULT, 1, COMMENTS_MAX)
        cluster = cast("CommentToken", request.auth).cluster
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
