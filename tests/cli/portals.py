"""A portal on loopback that answers with what was captured from the real one, and `kaiku` run against it in process."""

from __future__ import annotations

import contextlib
import io
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cli.__main__ import run
from cli.terminal import Terminal

SAMPLES = Path(__file__).resolve().parents[1] / "samples/cli"


def sample(name: str) -> Any:
    """A captured answer, as JSON."""
    return json.loads((SAMPLES / name).read_text())


class Served:
    """A portal: `answers` by path, with the query where it matters; bytes, a document, or a status with its headers.
    What was requested."""

    def __init__(self, answers: Mapping[str, object]) -> None:
        self.answers = dict(answers)
        self.requested: list[str] = []
        self.url = ""

    def answer(self, target: str) -> tuple[int, bytes, dict[str, str]]:
        self.requested.append(target)
        found = self.answers.get(target, self.answers.get(target.partition("?")[0]))
        if found is None:
            return 404, b'{"detail": "There is no such job here."}', {}
        if isinstance(found, tuple):
            return found[0], b"{}", found[1]
        return 200, found if isinstance(found, bytes) else json.dumps(found).encode(), {}


@contextlib.contextmanager
def serving(answers: Mapping[str, object]) -> Iterator[Served]:
    """A portal with these answers, until the block ends."""
    served = Served(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body, headers = served.answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            # `kaiku` ends with its connection open; a test must not.
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the tests read what was requested."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Person:
    """Somebody who is signed in at a portal and runs `kaiku`."""

    def __init__(self, home: Path, url: str) -> None:
        self.environ = {
            **{"HOME": str(home), "XDG_CACHE_HOME": f"{home}/cache", "XDG_CONFIG_HOME": f"{home}/config"},
            **{
                "LANG": "C.UTF-8",
                "KAIKU_URL": url,
                "KAIKU_TOKEN": "kaiku_pat_x",
                "KAIKU_HINTS": "off",
                "KAIKU_PAGER": "",
                "KAIKU_DEBUG": "1",
            },
        }

    def bytes_of(self, *words: str, columns: int = 80, is_tty: bool = False, **more: str) -> tuple[int, bytes]:
        """Exit status and output of one command line; `more` is added to the environment."""
        out = io.BytesIO()
        environ = self.environ | {"COLUMNS": str(columns), "TERM": "xterm"} | more
        return run(words, environ, Terminal(environ, out, is_tty=is_tty)), out.getvalue()

    def shown(self, *words: str, columns: int = 80, is_tty: bool = False, **more: str) -> str:
        """The output of a command line that succeeds, with ordinary blanks and the portal's address as PORTAL."""
        status, out = self.bytes_of(*words, columns=columns, is_tty=is_tty, **more)
        assert status == 0
        return out.decode().replace("\u00a0", " ").replace(self.environ["KAIKU_URL"], "PORTAL")
