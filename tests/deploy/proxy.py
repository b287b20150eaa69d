"""The real nginx with the files of deploy/proxy in front of a portal and an ingest of their own, on loopback."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.parts import need, program
from tests.portal.served import Answer, database_environment, serving
from tests.processes import PATIENCE_S, free_ports, wait_until

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "deploy/proxy"
NAME = "kaiku.example"


@dataclass
class Proxy:
    """A running nginx; `portal_port` is where the portal itself answers."""

    plain_port: int
    port: int
    portal_port: int
    environment: dict[str, str]
    log: Path

    def connection(self, name: str = NAME, minimum: ssl.TLSVersion | None = None) -> ssl.SSLSocket:
        """An encrypted connection that asks for this name."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if minimum is not None:
            context.minimum_version = context.maximum_version = minimum
            context.set_ciphers("ALL:@SECLEVEL=0")
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        try:
            return context.wrap_socket(plain, server_hostname=name)
        except BaseException:
            plain.close()
            raise

    def ask(self, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
        asked = http.client.HTTPSConnection(NAME)
        asked.sock = self.connection()
        return told(asked, method, path, body, headers)

    def ask_plain(self, path: str, method: str = "GET", host: str = NAME) -> Answer:
        asked = http.client.HTTPConnection("127.0.0.1", self.plain_port, timeout=PATIENCE_S)
        return told(asked, method, path, b"", {"Host": host})


def told(asked: http.client.HTTPConnection, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
    with closing(asked):
        asked.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = asked.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())


def certificate(folder: Path) -> None:
    """A self-signed one for the name of the example, and its key."""
    need("openssl")
    command = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={NAME}".split()
    keys = ["-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"]
    subprocess.run([*command, *keys], check=True, capture_output=True, timeout=PATIENCE_S)


def laid_out(folder: Path, ports: dict[str, int]) -> Path:
    """The shipped files in a folder, with ports, certificate and files of this run in them; where nginx.conf lies."""
    spools = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    changes = {
        "/run/nginx.pid": f"{folder}/nginx.pid",
        "/var/log/nginx": str(folder),
        "/etc/kaiku/tls": str(folder),
        "http {": f"http {{\n{spools}",
        "127.0.0.1:8000": f"127.0.0.1:{ports['portal']}",
        "127.0.0.1:8001": f"127.0.0.1:{ports['ingest']}",
    }
    listens = {"listen 80": f"listen 127.0.0.1:{ports['plain']}", "listen 443": f"listen 127.0.0.1:{ports['tls']}"}
    for path in FILES.glob("*.conf"):
        text = re.sub(r"^ *listen \[::\].*\n", "", path.read_text(), flags=re.M)
        for old, new in (changes | listens).items():
            text = text.replace(old, new)
        (folder / path.name).write_text(text)
    return folder / "nginx.conf"


def is_up(port: int) -> bool:
    with closing(socket.socket()) as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def nginx(configuration: Path, port: int) -> Iterator[None]:
    """The server until the end of the block."""
    folder = configuration.parent
    command = [program("nginx"), "-p", folder, "-c", configuration, "-e", folder / "error.log"]
    subprocess.run([*command, "-t"], check=True, timeout=PATIENCE_S)
    process = subprocess.Popen([*command, "-g", "daemon off;"], start_new_session=True)
    try:
        wait_until("nginx", lambda: is_up(port))
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def proxied(folder: Path, **settings: str) -> Iterator[Proxy]:
    """Proxy, portal and ingest on the tests' PostgreSQL until the end of the block."""
    need("nginx")
    ports = dict(zip(("plain", "tls", "portal", "ingest"), free_ports(4), strict=True))
    folder.chmod(0o755)
    certificate(folder)
    environment = database_environment(folder) | {
        "ALLOWED_HOSTS": f"{NAME},127.0.0.1",
        "HTTPS": "yes",
        "BEHIND_PROXY": "yes",
        **settings,
    }
    with ExitStack() as running:
        configuration = laid_out(folder, ports)
        running.enter_context(nginx(configuration, ports["tls"]))
        running.enter_context(serving(environment, "--workers", "1", port=ports["portal"]))
        running.enter_context(serving(environment, "--ingest-only", port=ports["ingest"]))
        yield Proxy(ports["plain"], ports["tls"], ports["portal"], environment, folder / "access.log")
