"""A small internet inside a network of its own, and what the link checker as shipped finds in it, as JSON.

Run by `test_link_addresses`: `lo` carries a public address with a web server on port 80, loopback has another one that
nobody may reach, and the only name server changes its mind between two questions.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import django

PUBLIC, INSIDE = "9.9.9.9", "127.0.0.1"
QUESTION_AT, A_RECORD, ANSWER_TTL_S = 12, 1, 0
asked: list[list[str]] = []
lookups: dict[str, int] = {}


class Pages(BaseHTTPRequestHandler):
    """Redirects as the path says, and notes which of the two servers was asked what."""

    def do_HEAD(self) -> None:
        asked.append([self.server.server_address[0], self.command, self.headers["Host"] + self.path])
        to = unquote(self.path.partition("?to=")[2])
        self.send_response(302 if to else 200)
        if to:
            self.send_header("Location", to)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def answered(question: bytes) -> bytes:
    """The answer of the name server: `changes.example` is public at first and loopback ever after (RFC 1035)."""
    end = question.index(b"\0", QUESTION_AT) + 5
    name = question[QUESTION_AT + 1 : end - 5].decode(errors="replace")
    (kind,) = struct.unpack("!H", question[end - 4 : end - 2])
    is_address = kind == A_RECORD
    head = question[:2] + struct.pack("!HHHHH", 0x8180, 1, int(is_address), 0, 0)
    if not is_address:
        return head + question[QUESTION_AT:end]
    lookups[name] = lookups.get(name, 0) + 1
    address = PUBLIC if lookups[name] == 1 and name.startswith("changes") else INSIDE
    record = b"\xc0\x0c" + struct.pack("!HHIH", A_RECORD, 1, ANSWER_TTL_S, 4) + socket.inet_aton(address)
    return head + question[QUESTION_AT:end] + record


def serve_names(listening: socket.socket) -> None:
    while True:
        question, who = listening.recvfrom(4096)
        listening.sendto(answered(question), who)


def main() -> None:
    django.setup()
    # After the setup, as its models need it.
    from education.services.links import link_problem

    names = socket.socket(type=socket.SOCK_DGRAM)
    names.bind((INSIDE, 53))
    threading.Thread(target=serve_names, args=(names,), daemon=True).start()
    for address in (PUBLIC, INSIDE):
        server = ThreadingHTTPServer((address, 80), Pages)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    json.dump({"problems": {url: link_problem(url) for url in sys.argv[1:]}, "asked": asked}, sys.stdout)


if __name__ == "__main__":
    main()
