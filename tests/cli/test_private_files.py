"""Tokens and stored answers on disk: modes, links, other people's hands, damage, and two processes at once."""

from __future__ import annotations

import json
import os
import pwd
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli import cache as cache_module
from cli.address import Address
from cli.cache import Cache
from cli.credentials import Credentials, Site, site_settings
from cli.errors import NoSignIn, Usage
from cli.private_files import base_folder
from tests.processes import PATIENCE_S

PORTAL = Address("https://kaiku.example")
CALL = "/api/v1/jobs/?"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def stored(environ: dict[str, str]) -> Path:
    """A token of alice's, stored."""
    said = {"token": "kaiku_pat_x", "user": "alice", "name": "kaiku on uan01", "expires_at": "2027-01-01T00:00:00Z"}
    return Path(Credentials(environ).store(PORTAL, **said)[0])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def token(environ: dict[str, str], file: str = "") -> str:
    return Credentials(environ).token(PORTAL, file)


def test_a_token_is_readable_by_its_owner_alone_whatever_the_umask(environ: dict[str, str]) -> None:
    before = os.umask(0)
    try:
        said = {"user": "alice", "name": "x", "expires_at": ""}
        path = Path(Credentials(environ).store(PORTAL, token="kaiku_pat_x", **said)[0])
    finally:
        os.umask(before)
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert token(environ) == "kaiku_pat_x"
    assert [name.name for name in path.parent.iterdir()] == [path.name]


def test_each_portal_has_its_own(environ: dict[str, str], stored: Path) -> None:
    with pytest.raises(NoSignIn, match=r"not signed in at https://other\.example"):
        Credentials(environ).token(Address("https://other.example"), "")
    here = [Address(f"{scheme}://127.0.0.1:8000") for scheme in ("http", "https")]
    for address in here:
        Credentials(environ).store(address, token=f"kaiku_pat_{address.scheme}", user="", name="", expires_at="")
    assert [Credentials(environ).token(address, "") for address in here] == ["kaiku_pat_http", "kaiku_pat_https"]
    twin = Address("https://kaiku.example:8443/a")
    Credentials(environ).store(twin, token="kaiku_pat_y", user="", name="", expires_at="")
    assert Credentials(environ).token(twin, "") == "kaiku_pat_y"
    assert token(environ) == "kaiku_pat_x"


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660])
def test_a_token_that_others_can_read_is_refused(environ: dict[str, str], stored: Path, bits: int) -> None:
    stored.chmod(bits)
    with pytest.raises(NoSignIn, match="can be read by others: chmod 600 it"):
        token(environ)


def test_a_folder_that_others_can_write_to_is_refused(environ: dict[str, str], stored: Path) -> None:
    stored.parent.chmod(0o770)
    with pytest.raises(NoSignIn, match="nobody else may write to it"):
        token(environ)


def test_a_link_is_never_followed(environ: dict[str, str], stored: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    stored.rename(victim)
    stored.symlink_to(victim)
    with pytest.raises(NoSignIn, match=rf"{stored} is a symbolic link, which is not followed"):
        token(environ)
    Credentials(environ).store(PORTAL, token="kaiku_pat_new", user="", name="", expires_at="")
    assert not stored.is_symlink()
    assert b"kaiku_pat_x" in victim.read_bytes()
    stored.parent.rename(tmp_path / "moved")
    stored.parent.symlink_to(tmp_path / "moved")
    with pytest.raises(NoSignIn, match=rf"{stored.parent} is a symbolic link, which is not followed"):
        token(environ)


def test_a_folder_in_place_of_a_token_is_named(environ: dict[str, str], stored: Path, tmp_path: Path) -> None:
    stored.unlink()
    stored.mkdir(mode=0o700)
    for file in ("", str(tmp_path)):
        with pytest.raises(NoSignIn, match=rf"{file or stored} is not a plain file"):
            token(environ, file)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 10_000, b'{"portal": "https://evil.example"}'])
def test_a_damaged_file_is_no_sign_in(environ: dict[str, str], stored: Path, content: bytes) -> None:
    stored.write_bytes(content)
    with pytest.raises(NoSignIn, match="is damaged"):
        token(environ)


STORING = """\
import sys
from cli.address import Address
from cli.credentials import Credentials
credentials = Credentials({"XDG_CONFIG_HOME": sys.argv[1]})
for number in range(40):
    said = {"token": f"kaiku_pat_{sys.argv[2]}_{number}", "user": "", "name": "", "expires_at": ""}
    print(*credentials.store(Address("https://kaiku.example"), **said)[1], sep="\\n")
"""


def test_of_several_that_store_at_once_every_token_is_in_the_file_or_handed_to_one(environ: dict[str, str]) -> None:
    command = [sys.executable, "-c", STORING, environ["XDG_CONFIG_HOME"]]
    storing = [subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, text=True) for number in range(4)]
    replaced = " ".join(process.communicate(timeout=PATIENCE_S)[0] for process in storing).split()
    every = {f"kaiku_pat_{process}_{number}" for process in range(4) for number in range(40)}
    assert sorted([*replaced, token(environ)]) == sorted(every)
    assert len(list(Path(environ["XDG_CONFIG_HOME"], "kaiku/cli").iterdir())) == 1


def test_a_file_system_without_hard_links_is_no_obstacle(environ: dict[str, str], stored: Path, monkeypatch) -> None:
    def refused(*names: object, **folders: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    said = {"token": "kaiku_pat_y", "user": "", "name": "", "expires_at": ""}
    assert Credentials(environ).store(PORTAL, **said) == (str(stored), ["kaiku_pat_x"])
    stored.unlink()
    assert Credentials(environ).store(PORTAL, **said) == (str(stored), [])
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]


def test_signing_out_leaves_a_newer_token(environ: dict[str, str], stored: Path) -> None:
    credentials = Credentials(environ)
    credentials.forget(PORTAL, "kaiku_pat_earlier")
    assert token(environ) == "kaiku_pat_x"
    credentials.forget(PORTAL, "kaiku_pat_x")
    assert not stored.exists()


def test_neither_a_pipe_nor_a_huge_file_holds_it_up(environ: dict[str, str], stored: Path) -> None:
    stored.unlink()
    os.mkfifo(stored, 0o600)
    with pytest.raises(NoSignIn, match="not a plain file"):
        token(environ)
    stored.unlink()
    stored.touch(0o600)
    os.truncate(stored, 1 << 40)
    with pytest.raises(NoSignIn, match="too large"):
        token(environ)


def test_a_named_file_and_the_environment_come_first(environ: dict[str, str], stored: Path, tmp_path: Path) -> None:
    named = tmp_path / "token"
    named.touch(0o600)
    named.write_text("kaiku_pat_named\n")
    given = environ | {"KAIKU_TOKEN": "kaiku_pat_given"}
    assert (token(given, str(named)), token(given), token(environ)) == (
        "kaiku_pat_named",
        "kaiku_pat_given",
        "kaiku_pat_x",
    )
    named.chmod(0o644)
    with pytest.raises(NoSignIn, match="chmod 600"):
        token(environ, str(named))


@pytest.mark.parametrize("given", ["two words", "line\nHost: evil", "\u00e4", "x" * 513])
def test_what_is_no_token_is_not_sent(environ: dict[str, str], given: str) -> None:
    with pytest.raises(NoSignIn, match="exactly one token"):
        token(environ | {"KAIKU_TOKEN": given})


def test_where_the_portal_is(environ: dict[str, str], stored: Path) -> None:
    site = Site("https://site.example")

    def told(named: str, site: Site, **more: str) -> str:
        return str(Credentials(environ | more).address(named, site))

    assert told("https://named.example/", site, KAIKU_URL="https://set.example") == "https://named.example"
    assert told("", site, KAIKU_URL="https://set.example") == "https://set.example"
    assert told("", site) == "https://site.example"
    assert told("", Site()) == "https://kaiku.example"


@pytest.mark.parametrize(
    "written",
    ["http://kaiku.example", "ftp://x", "https://", "https://x/?q", "https://u:p@x", "https://x:0", "https://x\n", "x"],
)
def test_addresses_that_are_refused(written: str) -> None:
    with pytest.raises(Usage):
        Address(written + "y" if written.endswith("\n") else written)


@pytest.mark.parametrize("content", ["{", "[]", '{"portal_url": 5}', "[" * 10_000])
def test_a_site_file_that_cannot_be_understood_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "cli.json"
    path.write_text(content)
    with pytest.raises(Usage, match=r"cli\.json"):
        site_settings(str(path))


def test_xdg_folders_are_absolute_or_ignored() -> None:
    listed = pwd.getpwuid(os.geteuid()).pw_dir
    for home, expected in (("/home/alice", "/home/alice"), ("relative", listed), ("", listed)):
        environ = {"XDG_CONFIG_HOME": "relative", "HOME": home}
        assert base_folder(environ, "XDG_CONFIG_HOME", ".config") == f"{expected}/.config/kaiku"


def test_without_any_home_directory_nothing_is_stored_in_the_present_folder(monkeypatch) -> None:
    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert base_folder({"HOME": "."}, "XDG_CACHE_HOME", ".cache") == "/nonexistent/.cache/kaiku"


def test_an_answer_comes_back_with_its_age_and_to_its_token_alone(environ: dict[str, str], monkeypatch) -> None:
    mine = Cache(environ, str(PORTAL), "kaiku_pat_x")
    mine.put(CALL, b"answer")
    content, age_s = mine.get(CALL)
    assert content == b"answer"
    assert 0 <= age_s < 60
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 7200)
    assert mine.get(CALL)[1] == pytest.approx(7200, abs=2)
    assert Cache(environ, str(PORTAL), "kaiku_pat_y").get(CALL) is None
    assert Cache(environ, "https://other.example", "kaiku_pat_x").get(CALL) is None
    assert mine.get("/api/v1/works/?") is None
    (file,) = Path(mine.folder.path).iterdir()
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    monkeypatch.setattr(time, "time", lambda: now + 31 * 86400)
    assert mine.get(CALL) is None
    # A clock that was set back for some minutes since.
    monkeypatch.setattr(time, "time", lambda: now - 250)
    assert mine.get(CALL)[1] == 0
    monkeypatch.setattr(time, "time", lambda: now - 3700)
    assert mine.get(CALL) is None


def test_signing_out_clears_the_answers_of_one_token(environ: dict[str, str]) -> None:
    mine, other = Cache(environ, str(PORTAL), "x"), Cache(environ, str(PORTAL), "y")
    for stored_answers in (mine, other):
        stored_answers.put(CALL, b"answer")
    mine.clear()
    assert (mine.get(CALL), other.get(CALL)[0]) == (None, b"answer")


def test_the_folder_of_answers_stays_small(environ: dict[str, str], monkeypatch) -> None:
    monkeypatch.setattr(cache_module, "ENTRIES_MAX", 3)
    monkeypatch.setattr(cache_module, "BYTES_MAX", 1200)
    monkeypatch.setattr(cache_module, "ENTRY_BYTES_MAX", 600)
    mine = Cache(environ, str(PORTAL), "x")
    mine.put("too long", b"x" * 601)
    assert mine.get("too long") is None
    for number in range(5):
        mine.put(str(number), b"x")
        for at, file in enumerate(sorted(Path(mine.folder.path).iterdir(), key=lambda file: file.stat().st_mtime)):
            os.utime(file, (at, at))
    assert [mine.get(str(number)) is not None for number in range(5)] == [False, False, True, True, True]
    mine.put("long", b"x" * 600)
    mine.put("longer", b"x" * 550)
    assert sum(file.stat().st_size for file in Path(mine.folder.path).iterdir()) <= 1200


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"kaiku-cache/1 9999999999999 x 1\n{",
        b"kaiku-cache/1 -1 x 1\n{",
        b"\x00" * 5000,
        b"kaiku-cache/1 1 " + b"0" * 64 + b" 5\n{",
    ],
)
def test_a_damaged_answer_is_none(environ: dict[str, str], content: bytes) -> None:
    mine = Cache(environ, str(PORTAL), "x")
    mine.put(CALL, b"answer")
    (file,) = Path(mine.folder.path).iterdir()
    file.write_bytes(content)
    assert mine.get(CALL) is None


def test_neither_links_nor_others_files_are_answers(environ: dict[str, str], tmp_path: Path) -> None:
    mine = Cache(environ, str(PORTAL), "x")
    mine.put(CALL, b"answer")
    (file,) = Path(mine.folder.path).iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert mine.get(CALL) is None
    file.unlink()
    file.mkdir()
    assert mine.get(CALL) is None
    mine.put(CALL, b"answer")
    mine.clear()


def test_two_processes_write_and_read_at_once(environ: dict[str, str]) -> None:
    code = (
        "import os; from cli.cache import Cache\n"
        "mine = Cache(os.environ, 'p', 't')\n"
        "for number in range(150):\n"
        "    mine.put('call', b'%d' % (number % 10) * 5000)\n"
        "    found = mine.get('call')\n"
        "    assert found and len(set(found[0])) == 1 and len(found[0]) == 5000, found\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code], env=os.environ | environ) for _ in range(2)]
    assert [process.wait(PATIENCE_S) for process in running] == [0, 0]


def test_the_stored_token_states_what_it_is(stored: Path) -> None:
    assert json.loads(stored.read_text()) == {
        "portal": "https://kaiku.example",
        "token": "kaiku_pat_x",
        "user": "alice",
        "name": "kaiku on uan01",
        "expires_at": "2027-01-01T00:00:00Z",
    }
