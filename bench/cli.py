"""The cost of `kaiku`: what a command takes beside a bare start of Python and one call of the portal over TLS.

    python -m bench.cli

The portal is a process on loopback that answers at once; `kaiku.pyz` runs as people run it. The call is what a program
costs that does nothing but one such call with the same Python, less its start. Costs are processor time, which a busy
machine disturbs less than the clock; turns of all alternate, so that it disturbs them alike.
"""

from __future__ import annotations

import os
import resource
import ssl
import statistics
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TURNS = 40
SYSTEM_PYTHON = "/usr/bin/python3"
"""As on a login node; another `python3` on the PATH may be a script that looks for one."""
STARTS_MAX = 3.0
"""A command may cost this many starts of Python and one call (issue 19)."""

WHO = b'{"user":"alice","display_name":null,"token":{"name":"kaiku on uan01","expires_at":"2027-01-01T00:00:00Z"},"scopes":["read"]}'  # noqa: E501  one line, as the portal sends it
SAMPLES = Path(__file__).resolve().parent.parent / "tests/samples/cli"
ANSWERS = {
    "/api/v1/whoami/": WHO,
    "/api/v1/jobs/latest/": (SAMPLES / "job_inefficient.json").read_bytes(),
    "/api/v1/jobs/": (SAMPLES / "jobs.json").read_bytes(),
    "/api/v1/insights/": (SAMPLES / "insights.json").read_bytes(),
    "/api/v1/hints/": b'{"is_on":false,"hints":[]}',
}
COMMANDS: tuple[tuple[str, ...], ...] = (("whoami",), ("last",), ("history",), ("insights",))
"""What is measured: commands that make one call."""

CALL = """
import ssl, socket
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.load_verify_locations({ca_file!r})
with context.wrap_socket(socket.create_connection(("127.0.0.1", {port})), server_hostname="127.0.0.1") as portal:
    portal.sendall(b"GET /api/v1/whoami/ HTTP/1.1\\r\\nHost: portal\\r\\nConnection: close\\r\\n\\r\\n")
    while portal.recv(65536):
        pass
"""
"""The least that a call costs with the standard library: no reading of the answer at all."""


class Portal(BaseHTTPRequestHandler):
    """Answers each address with what it always answers."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = ANSWERS[self.path.partition("?")[0]]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what is printed here are the costs."""


def serve(folder: Path) -> tuple[int, str]:
    """The port of a portal with a certificate of its own, and the file of the certificate."""
    names = (
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(folder / "key.pem"),
        "-out",
        str(folder / "ca.pem"),
    )
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1"
    subprocess.run([*made.split(), *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Portal)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port, str(folder / "ca.pem")


def cost_s(command: list[str], environment: dict[str, str]) -> float:
    """Seconds of a processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def medians_s(commands: dict[str, list[str]], environment: dict[str, str]) -> dict[str, float]:
    """The median of each command, in alternating turns after one that fills the caches."""
    turns = [{name: cost_s(command, environment) for name, command in commands.items()} for _ in range(TURNS + 1)]
    return {name: statistics.median(turn[name] for turn in turns[1:]) for name in commands}


def main() -> None:
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        kaiku = str(folder / "kaiku.pyz")
        subprocess.run(["deploy/cli-zip", kaiku], check=True, env=os.environ | {"NODE_PYTHON": SYSTEM_PYTHON})
        port, ca_file = serve(folder)
        environment = {
            **{"PATH": "/usr/bin:/bin", "HOME": top, "LANG": "C.UTF-8", "SSL_CERT_FILE": ca_file},
            **{"KAIKU_URL": f"https://127.0.0.1:{port}", "KAIKU_TOKEN": "kaiku_pat_of_the_bench"},
        }
        commands = {
            "python": [SYSTEM_PYTHON, "-IS", "-c", "pass"],
            "call": [SYSTEM_PYTHON, "-IS", "-c", CALL.format(ca_file=ca_file, port=port)],
            **{" ".join(words): [kaiku, *words] for words in COMMANDS},
        }
        costs = medians_s(commands, environment)
    start_s = costs.pop("python")
    call_s = costs.pop("call") - start_s
    print(f"kaiku.pyz, median of {TURNS}: a bare start {start_s * 1e3:.1f} ms, one call over TLS {call_s * 1e3:.1f} ms")
    for name, spent_s in costs.items():
        starts = (spent_s - call_s) / start_s
        word = "ok" if starts <= STARTS_MAX else "MISSED"
        print(f"  {name} {spent_s * 1e3:.1f} ms: {starts:.2f} starts and the call  <= {STARTS_MAX:g} {word}")


if __name__ == "__main__":
    main()
