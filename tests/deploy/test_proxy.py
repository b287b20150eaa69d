"""The shipped proxy in front of the real servers: TLS alone, nobody's word for an address, deadlines and sizes."""

from __future__ import annotations

import gzip
import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.utils import timezone

from jobs.models import PointBatch, Token, User
from jobs.tokens.services import issue_token
from metrics.models import NodeSummary
from tests.deploy.proxy import NAME, Proxy, certificate, laid_out, nginx, proxied
from tests.payloads import summary
from tests.portal.served import SUMMARIES
from tests.processes import PATIENCE_S, free_ports, wait_until
from tests.tokens import create_collector_token

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("proxy")]

CALLS_MAX = 5
PASSWORD = "a password of the proxy's test"
METRICS_TOKEN = "a token of the proxy's test"
DRIP_PAUSE_S = 1.0


class Drip(threading.Thread):
    """A client that sends a body byte by byte, and one that stops amid a head, from the beginning of these tests on."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(daemon=True)
        self.connection, self.head, self.is_ended = proxy.connection(), b"", False
        text = f"POST /sign-in/ HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 5000\r\n\r\n"
        self.connection.sendall(text.encode())
        self.connection.settimeout(DRIP_PAUSE_S)
        self.half_a_head = socket.create_connection(("127.0.0.1", proxy.plain_port), timeout=PATIENCE_S)
        self.half_a_head.sendall(b"GET / HTTP/1.1\r\n")

    def run(self) -> None:
        while not self.is_ended:
            try:
                self.connection.send(b" ")
                said = self.connection.recv(4096)
                self.head, self.is_ended = self.head + said, not said
            except TimeoutError:
                continue
            except OSError:
                self.is_ended = True
        self.connection.close()


@pytest.fixture(scope="module")
def running(django_db_setup, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    settings = {"ANONYMOUS_API_CALLS_PER_MINUTE": str(CALLS_MAX), "METRICS_TOKEN": METRICS_TOKEN}
    with proxied(tmp_path_factory.mktemp("proxy"), **settings) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def drip(running: Proxy) -> Drip:
    """Begun by the first test that names it, so that its half a minute passes beside the others."""
    started = Drip(running)
    started.start()
    return started


@pytest.fixture
def proxy(running: Proxy) -> Proxy:
    return running


def test_what_comes_without_encryption_is_sent_on_and_tokens_are_refused(proxy: Proxy, drip: Drip) -> None:
    page = proxy.ask_plain("/jobs/?sort=-ended")
    assert (page.status, page.headers["Location"]) == (308, f"https://{NAME}/jobs/?sort=-ended")
    for path in (SUMMARIES, "/mlflow/api/2.0/mlflow/runs/create", "/webhooks/slurm", "/feeds/x/reports.atom"):
        assert proxy.ask_plain(path, "POST").status == 403
    with pytest.raises(OSError, match=r"closed|reset"):
        proxy.ask_plain("/", host="other.example")


def test_old_protocols_and_other_names_get_no_connection(proxy: Proxy) -> None:
    with proxy.connection() as connection:
        assert connection.version() == "TLSv1.3"
    with proxy.connection(minimum=ssl.TLSVersion.TLSv1_2) as connection:
        assert connection.version() == "TLSv1.2"
    with pytest.raises(ssl.SSLError), pytest.warns(DeprecationWarning, match="TLSv1_1"):
        proxy.connection(minimum=ssl.TLSVersion.TLSv1_1)
    with pytest.raises(ssl.SSLError):
        proxy.connection("other.example")


def test_headers_are_the_portals_and_each_answer_has_a_number_of_its_own(proxy: Proxy) -> None:
    first, second = proxy.ask("/about/"), proxy.ask("/about/", X_Request_ID="chosen by the client")
    assert first.status == 200
    lower = {name.lower(): value for name, value in first.headers.items()}
    assert lower["strict-transport-security"].startswith("max-age=31536000")
    assert "default-src 'none'" in lower["content-security-policy"]
    assert lower["server"] == "nginx"
    assert [name.lower() for name, _ in first.headers.items()].count("strict-transport-security") == 1
    numbers = [answer.headers["X-Request-ID"] for answer in (first, second)]
    assert all(re.fullmatch("[0-9a-f]{32}", number) for number in numbers)
    assert numbers[0] != numbers[1]


def test_packed_payloads_pass_to_the_ingest_and_pages_do_not(proxy: Proxy) -> None:
    body = gzip.compress(json.dumps(summary()).encode())
    token = create_collector_token("nodes", "lumi")
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Authorization": f"Bearer {token}"}
    answer = proxy.ask(SUMMARIES, "POST", body, **headers)
    assert (answer.status, answer.json()["accepted"]) == (201, 1)
    assert NodeSummary.objects.count() == 1
    # What the ingest does not know ends there: it shows no pages.
    assert proxy.ask("/api/v1/ingest/other").body == b"Not Found\n"


def test_what_scripts_log_passes_to_the_portal(proxy: Proxy) -> None:
    alice = User.objects.create(username="alice")
    token = issue_token(alice, name="training", days=1, now=timezone.now(), kind=Token.Kind.RUNS)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    made = proxy.ask("/api/v1/experiments/", "POST", b'{"name": "vit"}', **headers).json()
    run = proxy.ask(f"/api/v1/experiments/{made['experiment_id']}/runs", "POST", b"{}", **headers).json()["run_id"]
    answer = proxy.ask(f"/api/v1/runs/{run}/metrics", "POST", b'{"name": "loss", "value": 0.5}', **headers)
    assert (answer.status, answer.json()["accepted"]) == (201, 1)
    assert PointBatch.objects.count() == 1


def test_a_forged_address_changes_no_limit(proxy: Proxy) -> None:
    # Calls are counted by the minute, and these fall into two of them at most.
    forged = [
        {"X_Forwarded_For": f"192.0.2.{number}", "X_Real_IP": f"192.0.2.{number}", "Forwarded": f"for=192.0.2.{number}"}
        for number in range(2 * CALLS_MAX + 1)
    ]
    statuses = {proxy.ask("/api/v1/education/links/", **headers).status for headers in forged}
    assert statuses == {200, 429}


@pytest.mark.parametrize("path", ["/metrics", "//metrics", "/%6detrics", "/about/../metrics", "/readyz", "/./readyz"])
def test_numbers_and_readiness_are_not_for_outside(proxy: Proxy, path: str) -> None:
    answer = proxy.ask(path, X_Forwarded_For="127.0.0.1")
    assert answer.status == 404
    assert b"kaiku_" not in answer.body
    assert b"status" not in answer.body
    assert proxy.ask("/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize(("path", "mib"), [(SUMMARIES, 9), ("/sign-in/", 5)])
def test_bodies_past_the_limit_are_refused(proxy: Proxy, path: str, mib: int) -> None:
    with proxy.connection() as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: {mib * 2**20}\r\n\r\n".encode())
        said = connection.recv(4096)
    assert said.startswith(b"HTTP/1.1 413 ")
    assert (b"application/problem+json" in said) == (path == SUMMARIES)


def test_people_sign_in_over_https_with_cookies_that_never_leave_it(proxy: Proxy) -> None:
    # As the product hashes it; the tests themselves do it faster.
    get_user_model().objects.create(username="alice", password=PBKDF2PasswordHasher().encode(PASSWORD, "salt", 1000))
    page = proxy.ask("/sign-in/")
    (csrf,) = cookies(page.headers)
    token = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', page.body)
    assert token is not None
    form = f"csrfmiddlewaretoken={token[1].decode()}&username=alice&password={PASSWORD.replace(' ', '+')}".encode()
    sent = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": csrf.partition(";")[0]}
    refused = proxy.ask("/sign-in/", "POST", form, **sent)
    assert refused.status == 403  # without a referrer over HTTPS Django takes no form
    answer = proxy.ask("/sign-in/", "POST", form, **sent, Referer=f"https://{NAME}/sign-in/")
    assert (answer.status, answer.headers["location"]) == (302, "/")
    # On another port than 443 browsers name it, in the address they ask and in the origin of the form.
    here = f"{NAME}:{proxy.port}"
    answer = proxy.ask("/sign-in/", "POST", form, **sent, Host=here, Origin=f"https://{here}")
    assert (answer.status, answer.headers["location"]) == (302, "/")
    assert all("; Secure" in cookie for cookie in [csrf, *cookies(answer.headers)])


def cookies(headers: dict[str, str]) -> list[str]:
    return [value for name, value in headers.items() if name.lower() == "set-cookie"]


def test_the_log_holds_no_address_of_a_page(proxy: Proxy) -> None:
    proxy.ask("/about/?secret=word")
    wait_until("the log", lambda: len(proxy.log.read_text().splitlines()) > 5)
    lines = [json.loads(line) for line in proxy.log.read_text().splitlines()]
    assert {"request_id", "status", "upstream_status", "seconds", "part"} <= set(lines[-1])
    assert "secret" not in proxy.log.read_text()


@pytest.mark.parametrize("path", ["/sign-in/callback/?code=SECRET", "/jobs/?q=SECRET", "/mail/stop/SECRET/"])
def test_no_log_holds_the_address_of_a_page_while_the_portal_is_away(tmp_path: Path, path: str) -> None:
    with alone(tmp_path) as proxy:
        assert proxy.ask(path).status == 503
        assert proxy.ask(SUMMARIES, "POST", b"{}").status == 503
        wait_until("the log", lambda: len(proxy.log.read_text().splitlines()) == 2)
    first = json.loads(proxy.log.read_text().splitlines()[0])
    assert (first["status"], first["upstream_status"]) == (503, "502")
    errors = (tmp_path / "error.log").read_text()
    assert SUMMARIES in errors  # an address without secrets, and why the ingest did not answer
    assert "SECRET" not in proxy.log.read_text() + errors
    assert path.partition("?")[0] not in errors


@pytest.mark.parametrize("address", ["127.0.0.1", "192.0.2.10"])
def test_the_block_for_prometheus_on_another_machine_lets_one_address_pass(
    proxy: Proxy, tmp_path: Path, address: str
) -> None:
    ports = dict(zip(("plain", "tls"), free_ports(2), strict=True))
    tmp_path.chmod(0o755)
    certificate(tmp_path)
    configuration = laid_out(tmp_path, ports | {"portal": proxy.portal_port, "ingest": proxy.portal_port})
    site = tmp_path / "kaiku.conf"
    block = re.search(r"^ *#location = /metrics \{\n(?: *#.*\n)+? *#\}\n", site.read_text(), re.M)
    assert block is not None
    closed = "    location = /metrics { return 404; }\n"
    opened = block[0].replace("#", "").replace("192.0.2.10", address)
    site.write_text(site.read_text().replace(closed, "").replace(block[0], opened))
    with nginx(configuration, ports["tls"]):
        opening = Proxy(ports["plain"], ports["tls"], proxy.portal_port, {}, tmp_path / "access.log")
        answer = opening.ask("/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
        without = opening.ask("/metrics")
    is_allowed = address == "127.0.0.1"
    assert (answer.status, b"\nkaiku_info" in answer.body) == (200 if is_allowed else 403, is_allowed)
    assert without.status == (404 if is_allowed else 403)


@pytest.mark.parametrize(("path", "kind"), [("/about/", "text/plain"), (SUMMARIES, "application/problem+json")])
def test_servers_that_are_away_are_said_to_be_away_for_a_while(tmp_path: Path, path: str, kind: str) -> None:
    with alone(tmp_path) as proxy:
        answer = proxy.ask(path, "POST", b"{}")
    assert (answer.status, answer.headers["Retry-After"], answer.headers["Content-Type"]) == (503, "30", kind)


@contextmanager
def alone(folder: Path) -> Iterator[Proxy]:
    """The proxy while portal and ingest are stopped."""
    folder.chmod(0o755)
    ports = dict(zip(("plain", "tls", "portal", "ingest"), free_ports(4), strict=True))
    certificate(folder)
    with nginx(laid_out(folder, ports), ports["tls"]):
        yield Proxy(ports["plain"], ports["tls"], ports["portal"], {}, folder / "access.log")


def test_a_head_that_stops_is_given_up(drip: Drip) -> None:
    with drip.half_a_head as silent, suppress(ConnectionResetError):
        assert silent.recv(100) == b""


def test_a_dripping_body_is_ended(drip: Drip) -> None:
    wait_until("the end of the drip", lambda: drip.is_ended)
    assert drip.head.startswith(b"HTTP/1.1 408 ")
