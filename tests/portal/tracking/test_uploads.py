"""Files that MLflow's clients upload: kept where they are small text, else dropped as they arrive, and always done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from jobs.models import User
from portal.ingest.senders import TurnedAway
from portal.mlflow.answers import done
from portal.tracking import uploads
from portal.tracking.uploads import Uploads, upload_of

PATH = f"/mlflow/api/2.0/mlflow-artifacts/artifacts/7/{'0' * 32}/artifacts/model.pt"
MIB = 2**20


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes | None, int]]:
    """What would be stored."""
    found: list[tuple[bytes | None, int]] = []
    monkeypatch.setattr(uploads, "holder_of", lambda authorization, now: User(pk=1, username="alice"))
    monkeypatch.setattr(uploads, "keep", lambda call, address, content, size: found.append((content, size)) or done())
    monkeypatch.setattr(uploads, "close_old_connections", lambda: None)
    return found


async def sent(*parts: bytes, is_whole: bool = True) -> Any:
    """The answer to an upload in these parts, which the client may leave half-way."""
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    messages.append(
        {"type": "http.request", "body": b"", "more_body": False} if is_whole else {"type": "http.disconnect"}
    )
    left = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(left)

    return await Uploads().answered({"authorization": "Bearer x"}, "7/x", receive)


def test_small_text_is_whole_and_a_large_file_is_only_counted(kept: list[tuple[bytes | None, int]]) -> None:
    assert asyncio.run(sent(b'{"a":', b"1}")).status == 200
    assert asyncio.run(sent(*[b"x" * MIB] * 300)).status == 200
    assert kept == [(b'{"a":1}', 7), (None, 300 * MIB)]


def test_an_upload_that_ends_half_way_is_not_stored(kept: list[tuple[bytes | None, int]]) -> None:
    assert asyncio.run(sent(b"half", is_whole=False)) is None
    assert kept == []


def test_an_upload_that_stops_is_given_up(
    kept: list[tuple[bytes | None, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "QUIET_S", 0.05)

    async def stopped() -> Any:
        async def receive() -> dict[str, Any]:
            await asyncio.sleep(60)
            return {}

        return await Uploads().answered({}, "7/x", receive)

    assert asyncio.run(stopped()).status == 408
    assert kept == []


def test_nobody_uploads_without_a_token_that_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(authorization: str, now: object) -> User:
        raise TurnedAway(401, "no")  # type: ignore[arg-type]

    monkeypatch.setattr(uploads, "holder_of", refuse)
    assert asyncio.run(sent(b"x")).status == 401


def test_an_unexpected_error_is_answered(kept: list[tuple[bytes | None, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*about: object) -> Iterator[None]:
        raise ValueError("odd")

    monkeypatch.setattr(uploads, "keep", fail)
    assert asyncio.run(sent(b"x")).status == 500


@pytest.mark.parametrize(
    ("method", "path", "is_here"),
    [
        ("PUT", PATH, True),
        ("PUT", PATH.replace("/mlflow/", "/mlflow/j/lumi/123/"), True),
        ("GET", PATH, False),
        ("PUT", "/mlflow/api/2.0/mlflow/runs/create", False),
    ],
)
def test_only_uploads_come_here(method: str, path: str, is_here: bool) -> None:
    assert (upload_of({"method": method, "path": path}) is not None) is is_here
