"""Files that clients upload: small text is kept and read back, anything else is taken, noted and discarded."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.test import RequestFactory

from jobs.experiments.limits import TEXT_BYTES_MAX
from jobs.experiments.models import Artifact
from jobs.experiments.services.artifacts import StatedFile, state_files
from jobs.models import User
from portal.mlflow.views import CHUNK_BYTES, artifacts
from tests.portal.mlflow.tracking import FILES, Tracking, answered, error_of, stored

pytestmark = pytest.mark.django_db

UNKNOWN = (404, "RESOURCE_DOES_NOT_EXIST")
INVALID = (400, "INVALID_PARAMETER_VALUE")
HOSTILE = [
    "../secret",
    "a/../../b",
    "a/./b",
    "a//b",
    "..",
    "%2e%2e/b",
    "%252e%252e/b",
    "a%5C..%5Cb",
    "%2Fetc/passwd",
    "C:/windows",
    "",
    "x" * 1001,
]


@pytest.fixture
def run_id(script: Tracking) -> str:
    return script.run()


def content(script: Tracking, run_id: str, path: str) -> Any:
    return script.sent("GET", f"{FILES}/1/{run_id}/artifacts/{path}")


def listed(script: Tracking, run_id: str, folder: str = "") -> list[tuple[str, bool, int | None]]:
    path = f"1/{run_id}/artifacts{folder}"
    files = answered(script.sent("GET", f"{FILES}?path={path}"))["files"]
    return [(each["path"], each["is_dir"], each.get("file_size")) for each in files]


def test_small_text_is_kept_and_read_back(script: Tracking, run_id: str) -> None:
    assert answered(script.put(run_id, "plots/loss.json", b'{"a": 1}')) == {}
    answer = content(script, run_id, "plots/loss.json")
    assert (answer.status_code, answer.content) == (200, b'{"a": 1}')
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"
    answered(script.put(run_id, "plots/loss.json", b"[]"))
    assert content(script, run_id, "plots/loss.json").content == b"[]"


@pytest.mark.parametrize("body", [b"\x89PNG\r\n\0", b"\xff", b"x" * (TEXT_BYTES_MAX + 1)])
def test_anything_else_is_taken_noted_and_not_kept(script: Tracking, run_id: str, body: bytes) -> None:
    assert answered(script.put(run_id, "model.pt", body)) == {}
    found = Artifact.objects.get()
    assert (found.path, found.kind, found.size_bytes, found.text) == ("model.pt", "discarded", len(body), None)
    answer = content(script, run_id, "model.pt")
    assert error_of(answer) == UNKNOWN
    assert "not kept" in answer.json()["message"]
    assert listed(script, run_id) == []


def test_text_of_just_the_limit_is_kept(script: Tracking, run_id: str) -> None:
    script.put(run_id, "log.txt", b"x" * TEXT_BYTES_MAX)
    assert len(content(script, run_id, "log.txt").content) == TEXT_BYTES_MAX


def test_an_empty_file_is_kept(script: Tracking, run_id: str) -> None:
    script.put(run_id, "empty.txt", b"")
    assert content(script, run_id, "empty.txt").content == b""


def test_a_large_upload_is_read_in_parts(script: Tracking, run_id: str) -> None:
    """Ten megabytes of which no more than the first hundred kilobytes are ever held."""

    class Counted(io.BytesIO):
        most = 0

        def read(self, size: int | None = -1) -> bytes:
            part = super().read(size)
            Counted.most = max(Counted.most, len(part))
            return part

    size_bytes = 10 * 2**20
    request = RequestFactory().put("/", b"", headers={"Authorization": f"Bearer {script.token}"})
    request._stream, request._read_started = Counted(b"x" * size_bytes), False
    assert artifacts(request, f"1/{run_id}/artifacts/big.bin").status_code == 200
    assert Artifact.objects.get().size_bytes == size_bytes
    assert max(TEXT_BYTES_MAX + 1, CHUNK_BYTES) >= Counted.most > 0


def test_folders_are_listed_by_the_names_in_them(script: Tracking, run_id: str) -> None:
    for path in ("a.txt", "plots/b.txt", "plots/deep/c.txt", "plots-2/d.txt"):
        script.put(run_id, path, b"text")
    assert listed(script, run_id) == [("a.txt", False, 4), ("plots", True, None), ("plots-2", True, None)]
    assert listed(script, run_id, "/plots") == [("b.txt", False, 4), ("deep", True, None)]
    assert listed(script, run_id, "/a.txt") == listed(script, run_id, "/none") == []
    assert answered(script.sent("GET", FILES)) == answered(script.sent("GET", f"{FILES}?path=1")) == {"files": []}
    whole = script.get("artifacts/list", run_id=run_id, path="plots")
    assert whole["root_uri"] == f"mlflow-artifacts:/{stored(run_id).experiment_id}/{run_id}/artifacts"
    assert [each["path"] for each in whole["files"]] == ["plots/b.txt", "plots/deep"]


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_that_leads_elsewhere_is_refused(script: Tracking, run_id: str, path: str) -> None:
    assert error_of(script.put(run_id, path, b"text")) == INVALID
    assert not Artifact.objects.exists()


def test_a_name_of_any_text_is_harmless(script: Tracking, run_id: str) -> None:
    name = "gpj%E2%80%AEtxt.exe <script> ä #1.txt".replace("#", "%23").replace(" ", "%20")
    script.put(run_id, name, b"text")
    assert Artifact.objects.get().path == "gpj\ufffdtxt.exe <script> ä #1.txt"
    assert content(script, run_id, name).content == b"text"


def test_a_stated_path_on_shared_storage_is_no_file_of_a_client(script: Tracking, run_id: str, alice: User) -> None:
    state_files(alice, run_id, [StatedFile("checkpoints/1.pt")], stored(run_id).started_at)
    assert listed(script, run_id) == []
    assert error_of(content(script, run_id, "checkpoints/1.pt")) == UNKNOWN


def test_a_strangers_files_are_as_none(script: Tracking, other: Tracking, run_id: str) -> None:
    script.put(run_id, "a.txt", b"text")
    assert error_of(content(other, run_id, "a.txt")) == UNKNOWN
    assert error_of(other.put(run_id, "b.txt", b"text")) == UNKNOWN
    assert other.refused("artifacts/list", "GET", run_id=run_id) == UNKNOWN
    assert error_of(other.sent("GET", f"{FILES}?path=1/{run_id}/artifacts")) == UNKNOWN
    assert Artifact.objects.count() == 1


@pytest.mark.parametrize("address", ["x", "1/2", f"1/{'0' * 32}/other/a.txt", f"1/{'0' * 32}/artifacts/a.txt"])
def test_an_address_of_no_run_is_unknown(script: Tracking, address: str) -> None:
    assert error_of(script.sent("PUT", f"{FILES}/{address}", b"text")) == UNKNOWN
    assert error_of(script.sent("GET", f"{FILES}/{address}")) == UNKNOWN


def test_an_upload_in_parts_is_declined_so_that_the_client_sends_the_whole(script: Tracking, run_id: str) -> None:
    answer = script.sent("POST", f"api/2.0/mlflow-artifacts/mpu/create/1/{run_id}/artifacts", {"path": "a"})
    assert error_of(answer) == (501, "NOT_IMPLEMENTED")
    assert answer.json()["message"].startswith("Multipart upload is not supported for the current artifact repository")


def test_files_are_not_deleted_one_by_one(script: Tracking, run_id: str) -> None:
    answer = script.sent("DELETE", f"{FILES}/1/{run_id}/artifacts/a.txt")
    assert error_of(answer) == (404, "ENDPOINT_NOT_FOUND")
