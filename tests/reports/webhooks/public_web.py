"""A small internet inside a network of its own, and where webhooks as shipped post to in it, as JSON.

Run by `test_where_posts_go`: `lo` carries a public address with an https server, loopback has another one that nobody
may reach, both with certificates for every name here, and the only name server changes its mind between two questions.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

import django

from tests.education.public_web import INSIDE, PUBLIC, serve_names
from tests.web_receiver import receiver

NAMES = ("inside.example", "changes.example", "localhost")
HTTPS = 443


def main() -> None:
    django.setup()
    # After the setup, as its settings need it.
    from reports.webhooks.services.posting import post

    names = socket.socket(type=socket.SOCK_DGRAM)
    names.bind((INSIDE, 53))
    threading.Thread(target=serve_names, args=(names,), daemon=True).start()
    with ExitStack() as servers:
        reached, trusted = {}, b""
        for address in (PUBLIC, INSIDE):
            folder = Path(tempfile.mkdtemp())
            reached[address] = servers.enter_context(receiver(folder, address, HTTPS, NAMES))
            trusted += reached[address].authority.read_bytes()
        reached[PUBLIC].statuses["/redirect"] = 307
        reached[PUBLIC].headers["Location"] = "https://127.0.0.1/"
        both = Path(tempfile.mkdtemp()) / "ca.pem"
        both.write_bytes(trusted)
        os.environ["SSL_CERT_FILE"] = str(both)
        answers = {url: post(url, b"{}", {}).said for url in sys.argv[1:]}
        posts = {address: [each.path for each in known.posts] for address, known in reached.items()}
        json.dump({"answers": answers, "posts": posts}, sys.stdout)


if __name__ == "__main__":
    main()
