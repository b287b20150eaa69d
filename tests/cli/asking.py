"""Commands run in this process, against a server that answers what a test says."""

from __future__ import annotations

import io
from pathlib import Path

from cli.__main__ import run
from cli.terminal import Terminal
from tests.cli.servers import NEXT, answering, plain

SAMPLES = Path(__file__).resolve().parents[1] / "samples/cli"
SCRIPT = SAMPLES / "train.sbatch"


def asked(home: Path, *words: str, answers: tuple[bytes, ...] = (), columns: int = 80, **more: str) -> tuple[int, str]:
    """Exit status and output, without the requests."""
    return requested(home, *words, answers=answers, columns=columns, **more)[:2]


def requested(
    home: Path, *words: str, answers: tuple[bytes, ...] = (), columns: int = 80, **more: str
) -> tuple[int, str, list[bytes]]:
    """The same with the requests that the portal got; without answers there is no portal."""
    closing = "Connection: close\r\n"
    parts = [part for answer in answers[:-1] for part in (plain(answer), NEXT)]
    parts += [plain(answer, more=closing) for answer in answers[-1:]]
    with answering(parts) as (port, requests):
        environ = {"HOME": str(home), "COLUMNS": str(columns), "LANG": "C.UTF-8", "PATH": "", **more}
        if answers:
            environ |= {"KAIKU_URL": f"http://127.0.0.1:{port}", "KAIKU_TOKEN": "kaiku_pat_x"}
        out = io.BytesIO()
        status = run(words, environ, Terminal(environ, out, is_tty=False))
    return status, out.getvalue().decode(), requests


def sample(name: str) -> bytes:
    """A stored answer of the portal."""
    return (SAMPLES / name).read_bytes()
