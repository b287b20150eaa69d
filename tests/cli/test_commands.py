"""`kaiku` as people run it, against servers that are there, gone or silent."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.address import Address
from cli.credentials import Credentials
from tests.cli.asking import asked
from tests.cli.programs import built, person_of, ran
from tests.cli.servers import answering, plain
from tests.parts import python
from tests.processes import PATIENCE_S, patience, wait_until

WHO = (
    b'{"user": "alice\\u001b[2J", "display_name": null, "scopes": ["read"],'
    b' "token": {"name": "x\\u202e", "expires_at": "2027"}}'
)


@pytest.fixture(scope="module")
def kaiku(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("built"))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return person_of(tmp_path)


@pytest.fixture
def answered(kaiku: str, environ: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Once read from a portal that is gone since."""
    with answering([plain(WHO)]) as (port, _):
        environ |= {"KAIKU_URL": f"http://127.0.0.1:{port}", "KAIKU_TOKEN": "kaiku_pat_x"}
        assert ran(kaiku, environ, "whoami")[0] == 0
    return kaiku, environ


def test_without_the_portal_there_is_what_was_read_before(answered: tuple[str, dict[str, str]]) -> None:
    kaiku, environ = answered
    for words, why in ((("whoami",), ": the portal did not answer"), (("--offline", "whoami"), "")):
        status, said, _ = ran(kaiku, environ, *words)
        assert status == 0
        assert said.splitlines()[2] == f"as it was less than a minute ago{why}"
    assert "\x1b" not in said
    assert "\u202e" not in said
    status, _, why = ran(kaiku, environ | {"KAIKU_TOKEN": "kaiku_pat_y"}, "whoami")
    assert (status, "Connection refused" in why) == (4, True)


def test_signing_out_without_the_portal_is_said_to_be_half_of_it(answered: tuple[str, dict[str, str]]) -> None:
    kaiku, environ = answered
    status, _, why = ran(kaiku, environ, "logout")
    assert (status, "the token is still valid: revoke it under Settings" in why) == (4, True)
    assert ran(kaiku, environ, "whoami", "--offline")[0] == 4


def test_a_token_that_was_given_is_revoked_and_the_stored_one_stays(kaiku: str, environ: dict[str, str]) -> None:
    with answering([plain(b"", "204 No Content")], [plain(WHO)]) as (port, requests):
        at_portal = environ | {"KAIKU_URL": f"http://127.0.0.1:{port}"}
        said = {"token": "kaiku_pat_stored", "user": "alice", "name": "x", "expires_at": ""}
        Credentials(at_portal).store(Address(at_portal["KAIKU_URL"]), **said)
        assert ran(kaiku, at_portal | {"KAIKU_TOKEN": "kaiku_pat_given"}, "logout")[0] == 0
        assert ran(kaiku, at_portal, "whoami")[0] == 0
    assert [b"kaiku_pat_given" in requests[0], b"kaiku_pat_stored" in requests[1]] == [True, True]


@pytest.mark.parametrize(
    "said",
    [b"{}", b"[]", b"5", b'{"token": {}}', b'{"token": {}, "scopes": 5}', b'{"token": {}, "scopes": {"a": [1]}}'],
)
def test_an_answer_of_another_shape_is_no_traceback(kaiku: str, environ: dict[str, str], said: bytes) -> None:
    with answering([plain(said)]) as (port, _):
        status, _, why = ran(kaiku, environ | {"KAIKU_URL": f"http://127.0.0.1:{port}", "KAIKU_TOKEN": "x"}, "whoami")
    assert status == 4
    assert why.startswith("kaiku: the portal's answer is not the owner of a token (")
    assert why.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nonsense\x1b[2J"], "unknown command 'nonsense"),
        (["whoami", "--nonsense"], "unknown option --nonsense"),
        (["whoami", "word"], "unexpected 'word'"),
        (["whoami", "--url"], "--url needs a value"),
        (["whoami", "--json=1"], "--json takes no value"),
        (["--timeout", "0", "whoami"], "--timeout must be a whole number from 1 to 600"),
        (["whoami", "--url", "http://kaiku.example"], "must begin with https"),
        (["whoami"], "which portal?"),
    ],
)
def test_what_cannot_be_understood_is_status_2(kaiku: str, environ: dict[str, str], words: list[str], why: str) -> None:
    status, said, wrong = ran(kaiku, environ, *words)
    assert (status, said, wrong.count("\n")) == (2, "", 1)
    assert why in wrong
    assert "\x1b" not in wrong


def test_help_is_there_for_everything(kaiku: str, environ: dict[str, str], tmp_path: Path) -> None:
    """Of the built file each command is run once, to have all its parts; the widths are tried in this process."""
    status, said, _ = ran(kaiku, environ, "--help")
    assert status == 0
    for name in re.findall(r"^  (\w+) ", said.partition("for every command")[0], re.MULTILINE):
        status, said, _ = ran(kaiku, environ, name, "-h")
        assert (status, said.startswith(f"kaiku {name}")) == (0, True)
        assert asked(tmp_path, "help", name) == asked(tmp_path, name, "--help") == (0, said)
        for columns in (40, 60, 80):
            lines = asked(tmp_path, name, "--help", columns=columns)[1].splitlines()
            assert max(map(len, lines)) <= columns
    assert ran(kaiku, environ, "help")[1] == ran(kaiku, environ, "--help")[1]
    assert ran(kaiku, environ, "help", "nonsense")[0] == 2
    assert ran(kaiku, environ, "--version")[1].startswith("kaiku ")


def test_a_closed_pipe_and_control_c_are_quiet(kaiku: str, environ: dict[str, str]) -> None:
    command = f"{kaiku} --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode in (0, 141), done.stderr) == (True, "")
    done = subprocess.run(["bash", "-c", f"{kaiku} --help >/dev/full"], env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (4, b"kaiku: No space left on device\n")
    with answering([20.0]) as (port, requests):
        asking = environ | {"KAIKU_URL": f"http://127.0.0.1:{port}", "KAIKU_TOKEN": "x", "KAIKU_TIMEOUT": "20"}
        process = subprocess.Popen([kaiku, "whoami"], env=asking, stderr=subprocess.PIPE, text=True)
        wait_until("its call", lambda: requests)
        process.send_signal(signal.SIGINT)
        assert (process.communicate(timeout=PATIENCE_S)[1], process.returncode) == ("", 130)


def test_it_never_waits_longer_than_it_may(kaiku: str, environ: dict[str, str]) -> None:
    with answering([20.0]) as (port, _):
        began = time.monotonic()
        asking = environ | {"KAIKU_URL": f"http://127.0.0.1:{port}", "KAIKU_TOKEN": "x"}
        assert ran(kaiku, asking, "whoami", "--timeout", "1")[0] == 4
        assert time.monotonic() - began < patience(3)


def test_the_file_is_the_same_each_time_and_has_the_address_of_the_site(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = (built(tmp_path / name, "https://kaiku.example") for name in "ab")
    assert Path(first).read_bytes() == Path(second).read_bytes()
    done = ran(first, {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, "whoami")
    assert done[2] == "kaiku: not signed in at https://kaiku.example: run `kaiku login`\n"
    with pytest.raises(subprocess.CalledProcessError):
        built(tmp_path, '"|x')


def test_a_command_loads_no_other_and_nothing_large(kaiku: str) -> None:
    code = f"import sys; sys.path.insert(0, {kaiku!r})\nimport cli.__main__, cli.commands.whoami\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-IS", "-c", code], check=True, capture_output=True, text=True).stdout
    large = {"http.client", "urllib.parse", "argparse", "dataclasses", "typing", "inspect", "subprocess", "threading"}
    assert not large & set(loaded.split())
    assert "cli.commands.login" not in loaded.split()


@pytest.mark.parametrize(
    ("words", "more", "how"),
    [
        ((), {}, "run `kaiku login`"),
        (("--url", "URL"), {}, "run `kaiku login --url URL`"),
        (("--url", "URL"), {"KAIKU_TOKEN": "x"}, "unset KAIKU_TOKEN and run `kaiku login --url URL`"),
        (("--token-file", "FILE"), {}, "run `kaiku login`, and leave out --token-file"),
    ],
)
def test_how_to_sign_in_is_said_as_this_command_line_needs_it(
    kaiku: str, environ: dict[str, str], tmp_path: Path, words: tuple[str, ...], more: dict[str, str], how: str
) -> None:
    named = tmp_path / "token"
    named.touch(0o600)
    named.write_text("kaiku_pat_revoked")
    with answering([plain(b'{"detail": "Invalid token."}', "401 Unauthorized")]) as (port, _):
        url = f"http://127.0.0.1:{port}"
        given = [word.replace("URL", url).replace("FILE", str(named)) for word in words]
        status, _, why = ran(kaiku, environ | more | {"KAIKU_URL": url}, "last", *given)
    assert (status, why.endswith(f": {how.replace('URL', url)}\n"), why.count("\n")) == (3, True, 1)


@pytest.mark.parametrize(
    ("words", "closed", "status", "why"),
    [
        ("nonsense", "2>&-", 2, ""),
        ("--help", "2>&-", 0, ""),
        ("--help", "<&- 2>&-", 0, ""),
        ("--help", ">&-", 4, "kaiku: standard output is closed\n"),
        ("--help", ">&- 2>&-", 4, ""),
        ("whoami", "<&- 2>&-", 4, ""),
    ],
)
def test_closed_standard_files_change_no_status(
    kaiku: str, environ: dict[str, str], words: str, closed: str, status: int, why: str
) -> None:
    at_portal = environ | {"KAIKU_URL": "http://127.0.0.1:9", "KAIKU_TOKEN": "x"}
    done = subprocess.run(
        ["bash", "-c", f"{kaiku} {words} {closed}"], env=at_portal, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (status, why)


def test_what_a_closed_number_would_get_is_not_the_connection(kaiku: str, environ: dict[str, str]) -> None:
    with answering([plain(b"nonsense")]) as (port, requests):
        at_portal = environ | {"KAIKU_URL": f"http://127.0.0.1:{port}", "KAIKU_TOKEN": "x"}
        subprocess.run(["bash", "-c", f"{kaiku} whoami 2>&-"], env=at_portal, check=False)
    assert requests[0].endswith(b"\r\n\r\n")


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7", "3.8"])
def test_an_older_python_says_so(kaiku: str, version: str) -> None:
    done = subprocess.run([python(version), kaiku, "last"], capture_output=True, text=True, check=False)
    needs = f"kaiku: needs Python 3.9 or later, this is {version}: put a newer python3 first on the PATH\n"
    assert (done.returncode, done.stdout, done.stderr) == (4, "", needs)


@pytest.mark.parametrize(
    ("locale", "is_utf8"),
    [
        ({"LANG": "C"}, False),
        ({"LANG": "POSIX"}, False),
        ({}, False),
        ({"LC_ALL": "C", "LANG": "C.UTF-8"}, False),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
    ],
)
def test_the_persons_own_locale_decides_not_pythons(
    answered: tuple[str, dict[str, str]], locale: dict[str, str], is_utf8: bool
) -> None:
    kaiku, environ = answered
    plain = {name: value for name, value in environ.items() if name != "LANG"}
    done = subprocess.run([kaiku, "whoami", "--offline"], env=plain | locale, capture_output=True, check=True)
    assert done.stdout.isascii() != is_utf8
