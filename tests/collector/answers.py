"""A portal that answers what it is told to, over real HTTP."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from collector.config import Config


def counted(accepted: int = 1, duplicate: int = 0, rejected: Iterable[object] = ()) -> bytes:
    return json.dumps({"accepted": accepted, "duplicate": duplicate, "rejected": list(rejected)}).encode()


class Answers:
    """A portal that gives these answers `(status, body, headers)` one after the other, the last again and again."""

    def __init__(self, *answers: tuple[Any, ...]) -> None:
        self.answers = [(*answer, *(b"", {})[len(answer) - 1 :]) for answer in answers]
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        asked = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                document = json.loads(gzip.decompress(body))
                status, answer, headers = asked.answer_to(document)
                asked.requests.append((self.path, dict(self.headers), document))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(answer)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def answer_to(self, document: object) -> tuple[int, bytes, dict[str, str]]:
        return self.answers[min(len(self.requests), len(self.answers) - 1)]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.server_port}"


@contextmanager
def serving(portal: Answers) -> Iterator[Answers]:
    """The portal while it answers; its port is closed at the end."""
    portal.thread.start()
    try:
        yield portal
    finally:
        portal.server.shutdown()
        portal.thread.join()
        portal.server.server_close()


def shipping_config(folder: Path) -> Config:
    """The configuration of a node that sends what is spooled in this folder, with a token."""
    token = folder / "token"
    token.touch(0o600)
    token.write_text("secret\n")
    made = Config()
    made.token_file, made.state_dir, made.request_max_s = str(token), str(folder / "state"), 5.0
    return made
