"""Files as attachments: a browser saves them, and never executes them in the portal's own origin."""

from collections.abc import Iterable

from django.http import HttpResponse, StreamingHttpResponse

CSV = "text/csv; charset=utf-8"


def attachment(content: bytes, name: str, content_type: str) -> HttpResponse:
    """A file that is saved under this name."""
    return HttpResponse(content, content_type=content_type, headers=_saved_as(name))


def streamed(parts: Iterable[str] | Iterable[bytes], name: str, content_type: str = CSV) -> StreamingHttpResponse:
    """The same, written part by part."""
    return StreamingHttpResponse(parts, content_type=content_type, headers=_saved_as(name))


def _saved_as(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
