"""The cost of `kaiku`: what a command takes beside a bare start of Python and one call of the portal over TLS, and how
fast `kaiku run-log pipe` passes output on beside `cat`.

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
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TURNS = 40
SYSTEM_PYTHON = "/usr/bin/python3"
"""As on a login node; another `python3` on the PATH may be a script that looks for one."""
STARTS_MAX = 3.0
"""A command may cost this many starts of Python and one call."""

WHO = b'{"user":"alice","display_name":null,"token":{"name":"kaiku on uan01","expires_at":"2027-01-01T00:00:00Z"},"scopes":["read"]}'  # noqa: E501  one line, as the portal sends it
SAMPLES = Path(__file__).resolve().parent.parent / "tests/samples/cli"
ANSWERS = {
    "/api/v1/whoami/": WHO,
    "/api/v1/jobs/latest/": (SAMPLES / "job_inefficient.json").read_bytes(),
    "/api/v1/jobs/": (SAMPLES / "jobs.json").read_bytes(),
    "/api/v1/insights/": (SAMPLES / "insights.json").read_bytes(),
    "/api/v1/hints/": b'{"is_on":false,"hints":[]}',
}
RUN_ID = "0123456789abcdef0123456789abcdef"
METRICS = f"/api/v1/runs/{RUN_ID}/metrics"
POSTED = {
    "/api/v1/experiments/": b'{"experiment_id":1}',
    "/api/v1/experiments/1/runs": b'{"run_id":"%s","url":""}' % RUN_ID.encode(),
    METRICS: b'{"accepted":1,"rejected":[]}',
}
COMMANDS: tuple[tuple[str, ...], ...] = (
    *(("whoami",), ("last",), ("history",), ("insights",)),
    ("run-log", "metric", RUN_ID, "loss=0.12", "--step", "5"),
)
"""What is measured: commands that make one call."""
PIPED_BYTES, PIPE_TURNS = 1 << 30, 5
PIPE_LINE = b"an ordinary line of a program that prints no values, as most lines are\n"
PIPE_RATIO_MIN = 0.3
"""Of the throughput of `cat`, the start of Python not counted: the pipe copies each byte once more."""

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
        self._answer(ANSWERS[self.path.partition("?")[0]])

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(POSTED[self.path])

    def do_PATCH(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"{}")

    def _answer(self, body: bytes) -> None:
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


def passed_s(command: list[str], source: Path, environment: dict[str, str]) -> float:
    """How long it takes until all of a file has come through a pipe of this command."""
    started = time.perf_counter()
    with source.open("rb") as file:
        first = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        element = subprocess.Popen(command, stdin=first.stdout, stdout=subprocess.PIPE, env=environment)
        assert first.stdout
        assert element.stdout
        first.stdout.close()
        last = subprocess.run(["wc", "-c"], stdin=element.stdout, capture_output=True, check=True)
    spent_s = time.perf_counter() - started
    element.stdout.close()
    element.wait()
    first.wait()
    if int(last.stdout) != source.stat().st_size:
        raise SystemExit(f"{command[0]} did not pass everything on")
    return spent_s


def throughput(kaiku: str, folder: Path, environment: dict[str, str]) -> None:
    """Print the throughput of the pipe beside that of `cat`, in alternating turns."""
    source, nothing = folder / "output", folder / "nothing"
    with source.open("wb") as file:
        for _ in range(PIPED_BYTES // (1 << 20)):
            file.write(PIPE_LINE * ((1 << 20) // len(PIPE_LINE)))
    nothing.touch()
    pipe = [kaiku, "run-log", "pipe", "--experiment", "bench", "--quiet"]
    turns = []
    for _ in range(PIPE_TURNS):
        start_s = passed_s(pipe, nothing, environment)
        turns.append((passed_s(["cat"], source, environment), passed_s(pipe, source, environment) - start_s))
    cat_s, pipe_s = (statistics.median(column) for column in zip(*turns, strict=True))
    mib = source.stat().st_size / (1 << 20)
    word = "ok" if cat_s / pipe_s >= PIPE_RATIO_MIN else "MISSED"
    print(f"  run-log pipe {mib / pipe_s:,.0f} MiB/s, cat {mib / cat_s:,.0f} MiB/s, median of {PIPE_TURNS}:", end=" ")
    print(f"ratio {cat_s / pipe_s:.2f}  >= {PIPE_RATIO_MIN:g} {word}")


def main() -> None:
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        kaiku = str(folder / "kaiku.pyz")
        subprocess.run(["deploy/cli-zip", kaiku], check=True, env=os.environ | {"NODE_PYTHON": SYSTEM_PYTHON})
        port, ca_file = serve(folder)
        environment = {
            **{"PATH": "/usr/bin:/bin", "HOME": top, "LANG": "C.UTF-8", "SSL_CERT_FILE": ca_file},
            **{"KAIKU_URL": f"https://127.0.0.1:{port}", "KAIKU_TOKEN": "kaiku_pat_of_the_bench"},
            **{"KAIKU_LOG_TOKEN": "kaiku_log_of_the_bench"},
        }
        commands = {
            "python": [SYSTEM_PYTHON, "-IS", "-c", "pass"],
            "call": [SYSTEM_PYTHON, "-IS", "-c", CALL.format(ca_file=ca_file, port=port)],
            **{" ".join(words): [kaiku, *words] for words in COMMANDS},
        }
        costs = medians_s(commands, environment)
        report(costs)
        throughput(kaiku, folder, environment)


def report(costs: dict[str, float]) -> None:
    """Print what each command costs in starts of Python."""
    start_s = costs.pop("python")
    call_s = costs.pop("call") - start_s
    print(f"kaiku.pyz, median of {TURNS}: a bare start {start_s * 1e3:.1f} ms, one call over TLS {call_s * 1e3:.1f} ms")
    for name, spent_s in costs.items():
        starts = (spent_s - call_s) / start_s
        word = "ok" if starts <= STARTS_MAX else "MISSED"
        print(f"  {name} {spent_s * 1e3:.1f} ms: {starts:.2f} starts and the call  <= {STARTS_MAX:g} {word}")


if __name__ == "__main__":
    main()
