"""`kaiku login` from end to end: the real file, the real portal, and a person who answers on its page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from jobs.experiments.models import ExperimentRun
from jobs.models import Token
from portal.api import device as device_api
from portal.sign_in import device as device_sign_in
from tests.cli.programs import built, end, person_of, ran, signing_in


@pytest.fixture(scope="module")
def kaiku(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("built"))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return person_of(tmp_path)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A portal that may be asked every second."""
    monkeypatch.setattr(device_api, "INTERVAL_S", 1)
    monkeypatch.setattr(device_sign_in, "INTERVAL_S", 1)


@pytest.mark.django_db(transaction=True)
def test_the_life_of_a_sign_in(live_server, cast, kaiku, environ) -> None:
    alice, at_portal = cast("alice"), environ | {"KAIKU_URL": live_server.url}
    assert ran(kaiku, at_portal, "whoami")[::2] == (
        3,
        f"kaiku: not signed in at {live_server.url}: run `kaiku login`\n",
    )
    process, code = signing_in(kaiku, at_portal, "--name", "kaiku on uan01")
    assert "kaiku on uan01" in alice.get("/device/", {"user_code": code}).content.decode()
    alice.post("/device/", {"user_code": code, "answer": "approve"})
    status, rest = end(process)
    assert status == 0
    assert "Signed in as alice, read-only, until 20" in rest
    files = [path for path in Path(environ["XDG_CONFIG_HOME"]).rglob("*") if path.is_file()]
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600]
    # Also without an address: it is the only portal there is a token for.
    for known in (at_portal, environ):
        status, said, _ = ran(kaiku, known, "whoami")
        assert (status, said.splitlines()[0]) == (0, f"alice at {live_server.url}")
        assert "token “kaiku on uan01”, read, until 20" in said
    process, code = signing_in(kaiku, environ, "--name", "again")
    alice.post("/device/", {"user_code": code, "answer": "approve"})
    assert end(process)[0] == 0
    # The earlier token of this machine has ended with it.
    assert [token.name for token in Token.objects.filter(revoked_at=None)] == ["again"]
    assert ran(kaiku, environ, "logout")[:2] == (0, "Signed out: the token is revoked.\n")
    assert not Token.objects.filter(revoked_at=None).exists()
    left = [path for folder in ("config", "cache") for path in Path(environ["HOME"], folder).rglob("*")]
    assert [path for path in left if path.is_file()] == []
    assert ran(kaiku, at_portal, "logout")[0] == 3


@pytest.mark.django_db(transaction=True)
def test_the_token_that_logs_runs_is_beside_the_one_that_reads(live_server, cast, kaiku, environ) -> None:
    alice, at_portal = cast("alice"), environ | {"KAIKU_URL": live_server.url}
    missing = f"kaiku: not logged: not signed in at {live_server.url}: run `kaiku login --runs`\n"
    assert ran(kaiku, at_portal, "run-log", "start", "--experiment", "vit") == (0, "", missing)
    # The second needs no address: it is that of the only portal there is a token for.
    for where, words in ((at_portal, ("--name", "reads")), (environ, ("--runs", "--name", "logs"))):
        process, code = signing_in(kaiku, where, *words)
        approved(alice, code)
        status, rest = end(process)
        assert (status, ("to log runs" if "--runs" in words else "read-only") in rest) == (0, True)
    assert dict(Token.objects.values_list("name", "kind")) == {"reads": "read", "logs": "runs"}
    files = sorted(path for path in Path(environ["XDG_CONFIG_HOME"]).rglob("*.json"))
    assert [(path.parent.name, path.stat().st_mode & 0o777) for path in files] == [("cli", 0o600), ("runs", 0o600)]
    assert "token “reads”, read, until 20" in ran(kaiku, environ, "whoami")[1]
    assert "token “logs”, runs, until 20" in ran(kaiku, environ, "whoami", "--runs")[1]
    token = ran(kaiku, environ, "run-log", "token")[1].strip()
    assert token.startswith("kaiku_log_")
    status, run_id, _ = ran(kaiku, environ, "run-log", "start", "--experiment", "vit")
    assert (status, ExperimentRun.objects.get().run_id) == (0, run_id.strip())
    assert ran(kaiku, environ, "logout", "--runs")[:2] == (0, "Signed out: the token is revoked.\n")
    assert [token.name for token in Token.objects.filter(revoked_at=None)] == ["reads"]
    assert ran(kaiku, at_portal, "run-log", "start", "--experiment", "vit") == (0, "", missing)
    given = at_portal | {"KAIKU_LOG_TOKEN": token}
    ended = "the token is not valid (expired or revoked): unset KAIKU_LOG_TOKEN and run `kaiku login --runs`"
    assert ran(kaiku, given, "run-log", "start", "--experiment", "vit") == (0, "", f"kaiku: not logged: {ended}\n")
    assert ran(kaiku, environ, "whoami")[0] == 0


@pytest.mark.django_db(transaction=True)
def test_a_refusal_and_a_revoked_token_are_no_sign_in(live_server, cast, kaiku, environ) -> None:
    environ |= {"KAIKU_URL": live_server.url}
    process, code = signing_in(kaiku, environ)
    cast("alice").post("/device/", {"user_code": code, "answer": "refuse"})
    assert end(process)[0] == 3
    status, _, why = ran(kaiku, environ | {"KAIKU_TOKEN": "kaiku_pat_unknown"}, "whoami")
    assert (status, "run `kaiku login`" in why) == (3, True)


def approved(alice, code: str) -> None:
    alice.post("/device/", {"user_code": code, "answer": "approve"})


@pytest.mark.django_db(transaction=True)
def test_of_two_sign_ins_at_once_the_only_token_that_stays_is_in_the_file(live_server, cast, kaiku, environ) -> None:
    alice, at_portal = cast("alice"), environ | {"KAIKU_URL": live_server.url}
    begun = [signing_in(kaiku, at_portal, "--name", name) for name in ("one", "two")]
    for _, code in begun:
        approved(alice, code)
    assert [end(process)[0] for process, _ in begun] == [0, 0]
    [valid] = Token.objects.filter(revoked_at=None)
    assert f"token “{valid.name}”" in ran(kaiku, at_portal, "whoami")[1]
    assert Token.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_token_that_cannot_be_stored_is_revoked(live_server, cast, kaiku, environ) -> None:
    alice, config = cast("alice"), Path(environ["XDG_CONFIG_HOME"])
    process, code = signing_in(kaiku, environ, "--url", live_server.url, is_erring=True)
    shutil.rmtree(config)
    config.write_text("the folder is gone")
    approved(alice, code)
    status, rest = end(process)
    assert status == 3
    assert rest.splitlines()[-1] == (
        f"kaiku: the token cannot be stored in {config}/kaiku/cli: Not a directory; the new token is revoked again"
    )
    assert [token.revoked_at is None for token in Token.objects.all()] == [False]


def test_where_nothing_can_be_stored_no_code_is_shown(kaiku, environ) -> None:
    at_portal = environ | {"KAIKU_URL": "http://127.0.0.1:9"}
    # As on a full disk: no file may have even one byte.
    limited = ["bash", "-c", 'ulimit -f 0; exec "$0" login', kaiku]
    done = subprocess.run(limited, env=at_portal, capture_output=True, text=True, check=False)
    folder = f"{environ['XDG_CONFIG_HOME']}/kaiku/cli"
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"kaiku: no token can be stored in {folder}: File too large\n"
    assert not list(Path(folder).iterdir())
