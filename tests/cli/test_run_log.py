"""The command line of `kaiku run-log`, what it sends, and that it never stops a script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.asking import requested

RUN = "0123456789abcdef0123456789abcdef"
EXPERIMENT, STARTED = b'{"experiment_id": 7}', json.dumps({"run_id": RUN, "url": "/"}).encode()
TOKEN = {"KAIKU_LOG_TOKEN": "kaiku_log_x"}


def bodies(requests: list[bytes]) -> list[tuple[str, object]]:
    """Method and path, and the document, of each request."""
    parts = [request.partition(b"\r\n\r\n") for request in requests]
    assert all(b"Authorization: Bearer kaiku_log_x" in head for head, _, _ in parts)
    return [(head.decode().split(" HTTP")[0], json.loads(body)) for head, _, body in parts]


def started(tmp_path: Path, *words: str, **more: str) -> object:
    """The body of a run that is started."""
    known = TOKEN | more
    status, said, requests = requested(
        tmp_path, "run-log", "start", "--experiment", "vit", *words, answers=(EXPERIMENT, STARTED), **known
    )
    assert (status, said) == (0, f"{RUN}\n")
    [(made, named), (run, body)] = bodies(requests)
    assert (made, named) == ("POST /api/v1/experiments/", {"name": "vit"})
    assert run == "POST /api/v1/experiments/7/runs"
    return body


@pytest.mark.parametrize(
    ("environ", "words", "job"),
    [
        ({}, (), {}),
        ({"SLURM_JOB_ID": "123"}, (), {"slurm_job_id": 123}),
        ({"SLURM_JOB_ID": "123", "SLURM_CLUSTER_NAME": "lumi"}, (), {"slurm_job_id": 123, "cluster": "lumi"}),
        ({"SLURM_JOB_ID": "123", "SLURM_CLUSTER_NAME": "(null)"}, (), {"slurm_job_id": 123}),
        ({"SLURM_JOB_ID": "123_4", "SLURM_CLUSTER_NAME": "lumi"}, (), {}),
        ({"SLURM_JOB_ID": "123"}, ("--job", "9", "--cluster", "c"), {"slurm_job_id": 9, "cluster": "c"}),
    ],
)
def test_the_job_is_that_of_slurms_variables(
    tmp_path: Path, environ: dict[str, str], words: tuple[str, ...], job: dict[str, object]
) -> None:
    assert started(tmp_path, *words, **environ) == {"config": {}, **job}


def test_texts_are_sent_as_they_are_where_json_can_have_them(tmp_path: Path) -> None:
    words = ("--name", "ä", "--seed", "0x7", "--param", "a=b=c", "--param", "path=/x\udcff", "--param=empty=")
    assert started(tmp_path, *words) == {
        "name": "ä",
        "seed": "0x7",
        "config": {"a": "b=c", "path": "/x?", "empty": ""},
    }


def test_values_of_metrics_are_sent_and_what_is_none_is_stated(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("run-log", "metric", RUN, "loss=1e-3", "acc=nan", "n=1,5", "word", "--step=-4")
    status, _, requests = requested(tmp_path, *words, answers=(b'{"accepted": 2, "rejected": []}',), **TOKEN)
    [(called, points)] = bodies(requests)
    assert (status, called) == (0, f"POST /api/v1/runs/{RUN}/metrics")
    assert [(point["name"], point["value"], point["step"]) for point in points] == [
        ("loss", 0.001, -4),
        ("acc", "NaN", -4),
    ]
    assert capfd.readouterr().err == "kaiku: not logged: 'n=1,5' is not name=number; 'word' is not name=number\n"


@pytest.mark.parametrize(
    ("words", "why", "strict"),
    [
        (("metric", "", "loss=1"), "there is no run: it was not started", 1),
        (("metric", "x\x1b", "loss=1"), "'x\\x1b' is not the id of a run", 1),
        (("metric", RUN, "loss=1", "--step", "1.5"), "--step must be a whole number, not '1.5'", 2),
        (("metric", RUN, "loss="), "'loss=' is not name=number", 2),
        (("end", RUN), "127.0.0.1:9: Connection refused", 4),
        (("start", "--experiment", "vit"), "127.0.0.1:9: Connection refused", 4),
    ],
)
def test_what_is_not_logged_is_stated_and_stops_no_script(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], why: str, strict: int
) -> None:
    at = TOKEN | {"KAIKU_URL": "http://127.0.0.1:9"}
    assert requested(tmp_path, "run-log", *words, **at)[:2] == (0, "")
    assert capfd.readouterr().err == f"kaiku: not logged: {why}\n"
    assert requested(tmp_path, "run-log", *words, "--strict", **at)[:2] == (strict, "")
    assert capfd.readouterr().err == f"kaiku: {why}\n"


@pytest.mark.parametrize("answer", [b"[]", b"{}", b"null", b'{"experiment_id": "x"}', b"<html>"])
def test_an_answer_that_is_none_stops_no_script(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], answer: bytes
) -> None:
    words = ("run-log", "start", "--experiment", "vit")
    assert requested(tmp_path, *words, answers=(answer,), **TOKEN)[:2] == (0, "")
    assert capfd.readouterr().err.startswith("kaiku: not logged: the portal's answer is not ")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "run-log start, metric, file, end, pipe or token: kaiku run-log --help"),
        (("begin",), "run-log start, metric, file, end, pipe or token: kaiku run-log --help"),
        (("start",), "which experiment? --experiment NAME"),
        (("start", "--experiment", " "), "which experiment? --experiment NAME"),
        (("start", "--experiment", "x", "y"), "unexpected 'y': kaiku run-log --help"),
        (("start", "--experiment", "x", "--param", "=1"), "--param must be name=value, not '=1'"),
        (("metric", RUN), "run-log metric RUN name=value ..."),
        (("metric", RUN, "a=1", "--kind", "log"), "--kind does not belong to run-log metric"),
        (("file", RUN), "run-log file RUN PATH"),
        (("file", RUN, "x", "--kind", "model"), "--kind must be one of checkpoint, log, file"),
        (("end",), "run-log end RUN"),
        (("token", "x"), "run-log token takes no words"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    assert requested(tmp_path, "run-log", *words, **TOKEN)[:2] == (2, "")
    assert capfd.readouterr().err == f"kaiku: {why}\n"


def test_a_file_that_is_not_there_is_logged_by_its_path(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = f"{tmp_path}/later.pt"
    _, _, requests = requested(tmp_path, "run-log", "file", RUN, path, answers=(b'{"accepted": 1}',), **TOKEN)
    assert bodies(requests) == [
        (f"POST /api/v1/runs/{RUN}/artifacts", {"path": path, "kind": "file", "step": None}),
    ]
    assert capfd.readouterr().err == f"kaiku: {path}: No such file or directory; its path is logged\n"


def test_the_token_of_a_file_that_others_can_read_is_not_used(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token"
    file.write_text("kaiku_log_x\n")
    file.chmod(0o600)
    words = ("run-log", "token", "--url", "http://127.0.0.1:9", "--token-file", str(file))
    assert requested(tmp_path, *words)[:2] == (0, "kaiku_log_x\n")
    file.chmod(0o644)
    assert requested(tmp_path, *words)[:2] == (0, "")
    assert "can be read by others: chmod 600 it" in capfd.readouterr().err
