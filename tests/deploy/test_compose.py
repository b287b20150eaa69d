"""compose.yaml and the Dockerfile: sound by their schemas, closed by their settings, and every command runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.compose import FILE, ROOT, composition
from tests.deploy.pod import Pod
from tests.deploy.proxy import certificate
from tests.parts import need
from tests.payloads import record, summary
from tests.processes import PATIENCE_S, wait_until

NAME = "kaiku.example"
BIN = Path(sys.executable).parent
DOCKERFILE = ROOT / "deploy/Dockerfile"
SERVICES = list(composition(KAIKU_HOST=NAME)["services"])
each_service = pytest.mark.parametrize("name", SERVICES)

# Run inside the pod: what a node sends, through the proxy; prints the statuses.
SENDER = """
import http.client, json, ssl, sys
token, *documents = sys.stdin.read().splitlines()
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
for document in documents:
    path, body = document.split(" ", 1)
    connection = http.client.HTTPSConnection("kaiku.example", context=context, timeout=600)
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    connection.request("POST", "/api/v1/ingest/" + path, body, headers)
    print(connection.getresponse().status)
"""


def test_the_file_is_one_by_the_published_schema() -> None:
    command = [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", FILE]
    assert subprocess.run(command, capture_output=True, timeout=PATIENCE_S).returncode == 0


def test_the_dockerfile_has_nothing_that_hadolint_would_change() -> None:
    done = subprocess.run([BIN / "hadolint", DOCKERFILE], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, "")


@each_service
def test_a_service_is_closed_bounded_and_watched(name: str) -> None:
    service = composition(KAIKU_HOST=NAME)["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert str(service["user"]).split(":")[0] not in ("", "0", "root")
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert "privileged" not in service
    is_once = name == "migrate"
    assert service["restart"] == ("no" if is_once else "unless-stopped")
    assert is_once or {"test", "interval", "timeout", "retries"} <= set(service["healthcheck"])
    assert ("ports" in service) == (name == "proxy")


def test_secrets_are_files_and_nothing_else_holds_one() -> None:
    whole = composition(KAIKU_HOST=NAME)
    for name, service in whole["services"].items():
        for variable, value in service.get("environment", {}).items():
            is_secret = re.search("PASSWORD|SECRET|TOKEN|DATABASE_URL|REDIS_URL", variable)
            assert not is_secret or variable.endswith("_FILE"), (name, variable)
            assert not variable.endswith("_FILE") or value.removeprefix("/run/secrets/") in service["secrets"]
        assert set(service.get("secrets", [])) <= set(whole["secrets"])
    assert all(set(secret) == {"file"} for secret in whole["secrets"].values())
    assert {name for name, service in whole["services"].items() if "data" in service["networks"]} == {
        *("postgres", "redis", "migrate", "portal", "ingest", "worker")
    }
    assert whole["networks"]["data"] == {"internal": True}


def test_every_variable_of_the_file_is_one_that_kaiku_reads() -> None:
    known = set(re.findall(r"^#?([A-Z][A-Z_]+)=", (ROOT / ".env.example").read_text(), re.M))
    given = composition(KAIKU_HOST=NAME)["services"]["portal"]["environment"]
    assert {name.removesuffix("_FILE") for name in given} <= known


@pytest.fixture(scope="module")
def pod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pod]:
    """Everything that compose.yaml starts, in its order, from an empty database."""
    need("redis-server", "nginx", "network namespaces", "mounts", "setpriv", "openssl", "PostgreSQL's programs")
    top = tmp_path_factory.mktemp("pod")
    subprocess.run([ROOT / "deploy/new-site", top / "site", NAME], check=True, timeout=PATIENCE_S)
    certificate(top / "site/tls")
    os.chown(top / "site/tls/privkey.pem", 33, 33)
    whole = composition(KAIKU_HOST=NAME, KAIKU_SITE=str(top / "site"))
    running = Pod(top, whole, NAME)
    try:
        begin(running)
        yield running
    finally:
        running.stop()


def begin(running: Pod) -> None:
    for name in ("postgres", "redis"):
        running.start(name)
    for name in ("postgres", "redis"):
        wait_until(name, lambda name=name: running.is_healthy(name))
    running.start("migrate")
    assert running.running["migrate"].wait(PATIENCE_S) == 0, running.log("migrate").read_text()[-3000:]
    for name in ("portal", "ingest", "worker"):
        running.start(name)
    for name in ("portal", "ingest"):
        wait_until(name, lambda name=name: running.is_healthy(name))
    running.start("proxy")


@pytest.mark.xdist_group("pod")
@pytest.mark.parametrize("name", [name for name in SERVICES if name != "migrate"])
def test_a_service_runs_by_its_command_and_is_well_by_its_own_check(pod: Pod, name: str) -> None:
    wait_until(f"{name} is healthy", lambda: pod.is_healthy(name))


@pytest.mark.xdist_group("pod")
def test_a_job_sent_through_the_proxy_becomes_a_report_by_a_worker(pod: Pod) -> None:
    wait_until("the proxy", lambda: pod.is_healthy("proxy"))
    manage = (".venv/bin/python", "manage.py")
    token = pod.execute("portal", *manage, "create_token", "nodes", "--cluster", "lumi").stdout.decode().split()[0]
    lines = [token, f"node-summaries {json.dumps(summary())}", f"job-records {json.dumps(record())}"]
    # The name of the site is known inside the pod alone.
    sent = pod.execute("worker", ".venv/bin/python", "-c", SENDER, stdin="\n".join(lines))
    assert sent.stdout.split() == [b"201", b"201"], sent.stderr.decode()[-2000:]
    report = (*manage, "report", f"lumi/{record()['job_id']}")
    wait_until("the report", lambda: pod.execute("worker", *report).returncode == 0)
    printed = pod.execute("worker", *report, "--format", "pdf", "-o", "/tmp/report.pdf")
    assert printed.returncode == 0, printed.stderr
    assert pod.execute("worker", "head", "--bytes=5", "/tmp/report.pdf").stdout == b"%PDF-"


@pytest.mark.xdist_group("pod")
def test_prometheus_is_answered_inside_and_only_with_the_token(pod: Pod) -> None:
    script = "import http.client as h; c = h.HTTPConnection('portal', 8000); c.request('GET', '/metrics', headers=%r)"
    token = pod.execute("portal", "cat", "/run/secrets/metrics_token").stdout.decode().strip()
    for headers, status in (({"Authorization": f"Bearer {token}"}, b"200"), ({"X-Forwarded-For": "192.0.2.1"}, b"404")):
        asked = f"{script % headers}; print(c.getresponse().status)"
        assert pod.execute("worker", ".venv/bin/python", "-c", asked).stdout.split() == [status]


@pytest.mark.xdist_group("pod")
def test_nothing_but_the_named_folders_can_be_written(pod: Pod) -> None:
    for name in ("postgres", "redis", "portal", "ingest", "worker", "proxy"):
        assert pod.execute(name, "touch", "/etc/written").returncode != 0, name
        assert pod.execute(name, "touch", "/tmp/written").returncode == 0, name
    status = pod.execute("portal", "cat", "/proc/1/status").stdout.decode()
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.M)
    assert re.search(r"^CapBnd:\s+0+$", status, re.M)
