"""Which format an answer has: the one that the address names, whatever a client says it would accept."""

from __future__ import annotations

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class OwnFormat(DefaultContentNegotiation):
    """JSON, or the file that `report.{format}` asks for; never 406."""

    def select_renderer(
        self, request: Request, renderers: list[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type
