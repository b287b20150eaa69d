"""Asking directories: Waldur is an HTTP server here, sacctmgr a script that prints what the real one printed."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from jobs.allocations import AllocatedHours
from jobs.directory_client import DirectoryError, files, read_source, slurm, waldur
from tests.conftest import NOW

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm"
OFFERING = "0f0e"
ACCOUNTS = [{"user_username": f"{name}@idp", "username": name, "state": "OK"} for name in ("alice", "carol")]
RESOURCES = [
    {"uuid": "r1", "backend_id": "p1", "project_uuid": "u1", "limits": {"gpu_hours": 700}, "end_date": None},
    {"uuid": "r2", "backend_id": ""},
]
TEAM = [
    {"user_username": "carol@idp", "role_name": "PROJECT.MANAGER", "expiration_time": None},
    {"user_username": "alice@idp", "role_name": "PROJECT.MEMBER", "expiration_time": None},
]


class Waldur(BaseHTTPRequestHandler):
    """One page for each row; `server.spoil(path)` may give another status and body."""

    lists = {
        "/api/marketplace-offering-users/": ACCOUNTS,
        "/api/marketplace-provider-resources/": RESOURCES,
        "/api/projects/u1/list_users/": TEAM,
    }

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.server.asked.append((url.path, parse_qs(url.query), self.headers["Authorization"]))
        status, body, following = self.server.spoil(url.path) or self.page(url.path, parse_qs(url.query))
        self.send_response(status)
        if following:
            self.send_header("Link", f'<{following}>; rel="next"')
        self.end_headers()
        self.wfile.write(body)

    def page(self, path: str, query: dict[str, list[str]]) -> tuple[int, bytes, str]:
        rows, number = self.lists[path], int(query.get("page", ["1"])[0])
        following = f"http://{self.headers['Host']}{path}?page={number + 1}" if number < len(rows) else ""
        return 200, json.dumps(rows[number - 1 : number]).encode(), following

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Waldur) as server:
        server.asked, server.spoil = [], lambda path: None
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def url_of(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def test_waldur_is_read_page_by_page_with_its_token(server: ThreadingHTTPServer) -> None:
    found = waldur(url_of(server) + "/api/", token="secret", offering=OFFERING, now=NOW)
    assert found.roles == {"p1": {"carol": "pi", "alice": "member"}}
    assert found.subjects == {"alice": "alice@idp", "carol": "carol@idp"}
    assert found.allocations == {"p1": AllocatedHours(700.0)}
    assert {token for _, _, token in server.asked} == {"Token secret"}
    path, query, _ = server.asked[0]
    assert (path, query) == (
        "/api/marketplace-offering-users/",
        {"offering_uuid": [OFFERING], "page_size": ["200"]},
    )


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((403, b"{}", ""), "answered with status 403"),
        ((302, b"", ""), "answered with status 302"),
        ((200, b"<html>", ""), "not JSON"),
        ((200, b'{"detail": "x"}', ""), "not a list of rows"),
        ((200, b"[1]", ""), "not a list of rows"),
        ((200, b"[" + b" " * 2**24 + b"]", ""), "more than 16777216 bytes"),
        ((200, b"[]", "http://evil.example/api/"), "its next page is on another host"),
    ],
)
def test_what_waldur_should_not_say(server, answer: tuple[int, bytes, str], why: str) -> None:
    server.spoil = lambda path: answer
    with pytest.raises(DirectoryError, match=why):
        waldur(url_of(server), token="secret", offering=OFFERING, now=NOW)


def test_waldurs_identifiers_are_compared_as_they_are_unless_the_site_folds_them(server, monkeypatch) -> None:
    mixed = [{**row, "user_username": str(row["user_username"]).upper()} for row in TEAM]
    monkeypatch.setitem(Waldur.lists, "/api/projects/u1/list_users/", mixed)
    how = {"token": "secret", "offering": OFFERING, "cluster": "lumi", "now": NOW}
    assert read_source(url_of(server), **how).roles == {"p1": {}}
    assert read_source(url_of(server), **how, case="lower").roles == {"p1": {"carol": "pi", "alice": "member"}}


def test_waldur_that_is_away_hangs_or_was_not_configured(server: ThreadingHTTPServer) -> None:
    wait = threading.Event()
    server.spoil = lambda path: wait.wait(5) and None
    server.handle_error = lambda *_: None  # it answers into a connection that nobody holds any more
    with pytest.raises(DirectoryError, match="no answer"):
        waldur(url_of(server), token="secret", offering=OFFERING, now=NOW, call_s=0.2)
    wait.set()
    with pytest.raises(DirectoryError, match="no answer"):
        waldur("http://127.0.0.1:9", token="secret", offering=OFFERING, now=NOW)
    with pytest.raises(DirectoryError, match="WALDUR_TOKEN"):
        waldur(url_of(server), token="", offering=OFFERING, now=NOW)


@pytest.fixture
def sacctmgr(tmp_path: Path) -> Callable[[str], str]:
    """A stand-in that prints what a real sacctmgr printed, after `body`."""

    def script(body: str = "") -> str:
        file = tmp_path / "sacctmgr"
        texts = [(SAMPLES / f"sacctmgr-{name}.txt").read_text() for name in ("associations", "accounts-withcoord")]
        file.write_text(f"#!{sys.executable}\nimport sys\n{body}\nprint({texts!r}['account' in sys.argv], end='')\n")
        file.chmod(0o755)
        return str(file)

    return script


def test_slurm_is_asked_for_associations_and_coordinators(sacctmgr) -> None:
    assert slurm("lumi", sacctmgr()).roles["project_465000001"]["carol"] == "pi"
    with pytest.raises(DirectoryError, match="ended with status 1: no database"):
        slurm("lumi", sacctmgr("sys.exit('no database')"))


def test_a_path_is_a_csv_a_project_file_or_the_folder_of_all(tmp_path: Path) -> None:
    for name in ("project_1", "project_2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.json").write_text('{"members": {"alice": {"active": true}}}')
    whole, one = files(tmp_path), files(tmp_path / "project_1" / "project_1.json")
    assert (set(whole.roles), whole.is_complete) == ({"project_1", "project_2"}, True)
    assert (set(one.roles), one.is_complete) == ({"project_1"}, False)
    (tmp_path / "list.csv").write_text("username,project\nalice,p1\n")
    assert files(tmp_path / "list.csv").source == "csv"


def test_a_path_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    with pytest.raises(DirectoryError, match="No such file"):
        files(tmp_path / "nowhere.csv")
    with pytest.raises(DirectoryError, match="contains no project files"):
        files(tmp_path)
    (tmp_path / "list.csv").write_text("a,b\n")
    with pytest.raises(DirectoryError, match=r"list\.csv: the first line must name the columns"):
        read_source(str(tmp_path / "list.csv"), token="", offering="", cluster="lumi", now=NOW)
