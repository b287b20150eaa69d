"""Payloads on disk: whole or not there, summaries kept longest, what is bad out of the way."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from collector import spool, statefile


def names(folder: Path) -> list[str]:
    return [entry.name.partition("-")[2].partition("-")[2] for entry in spool.entries(str(folder))]


def put(folder: Path, kind: str, name: str, size: int = 100, max_bytes: float = 1e6) -> None:
    spool.put(str(folder), kind, name, b"x" * size, max_bytes)


def test_entries_come_oldest_first_and_summaries_before_records(tmp_path: Path) -> None:
    for kind, name in ((spool.RECORD, "r1"), (spool.SUMMARY, "s1"), (spool.RECORD, "r2"), (spool.SUMMARY, "s2")):
        put(tmp_path / "spool", kind, name)
    assert names(tmp_path / "spool") == ["s1.json", "s2.json", "r1.json", "r2.json"]
    assert os.stat(tmp_path / "spool").st_mode & 0o777 == 0o700


def test_when_it_is_full_the_oldest_records_go_first_and_summaries_last(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path, spool.SUMMARY, f"s{number}")
        put(tmp_path, spool.RECORD, f"r{number}")
    # 600 bytes are there; 450 may stay beside 100 new ones: 350 old, so three entries go.
    put(tmp_path, spool.SUMMARY, "new", max_bytes=450)
    assert names(tmp_path) == ["s0.json", "s1.json", "s2.json", "new.json"]
    put(tmp_path, spool.SUMMARY, "newer", max_bytes=250)
    assert names(tmp_path) == ["new.json", "newer.json"]


def test_a_full_disk_is_an_error_and_leaves_nothing_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            put(tmp_path, spool.SUMMARY, "s")
    assert os.listdir(tmp_path) == []


def test_what_was_set_aside_keeps_its_reason_and_does_not_pile_up(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(spool, "SET_ASIDE_FILES_MAX", 4)
    for number in range(4):
        put(tmp_path, spool.SUMMARY, f"s{number}")
    for entry in spool.entries(str(tmp_path)):
        spool.set_aside(str(tmp_path), entry, f"refused {entry.name[-7:]}")
    kept = sorted(os.listdir(tmp_path / spool.SET_ASIDE))
    assert len(kept) == 4
    assert (tmp_path / spool.SET_ASIDE / kept[-1]).read_text() == "refused s3.json"
    assert names(tmp_path) == []


def test_a_state_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = str(tmp_path / "state")
    statefile.save(path, {"a": [1.5, None, "x"]}, is_durable=True)
    assert statefile.read(path) == {"a": [1.5, None, "x"]}
    (tmp_path / "state").write_bytes(b"")
    assert statefile.read(path) is None
    (tmp_path / "state").write_bytes(b"{\xff\xff")
    assert statefile.read(path) is None
    assert statefile.read(str(tmp_path / "nowhere")) is None


def test_two_that_make_room_at_once_lose_nothing_that_fits(tmp_path: Path) -> None:
    """Eight processes put what leaves room for ten: none fails over what another took away."""
    code = (
        "import sys; from collector import spool\n"
        "for number in range(40): spool.put(sys.argv[1], spool.SUMMARY, f'{sys.argv[2]}-{number}', b'x' * 100, 1000)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(name)], stderr=subprocess.PIPE)
        for name in range(8)
    ]
    assert [process.communicate()[1] for process in processes] == [b""] * 8
    assert 1 <= len(names(tmp_path)) <= 17


def test_one_payload_that_is_put_twice_is_one(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        spool.put(str(tmp_path), spool.SUMMARY, "7.0-nid005001", content, 1e6, 1_764_000_000_000_000_000)
    (entry,) = spool.entries(str(tmp_path))
    assert Path(entry.path).read_bytes() == b"second"


def test_what_was_set_aside_goes_back_in_its_order(tmp_path: Path) -> None:
    for name in ("s0", "s1"):
        put(tmp_path, spool.SUMMARY, name)
    spool.set_aside(str(tmp_path), next(spool.entries(str(tmp_path))), "422")
    assert names(tmp_path) == ["s1.json"]
    assert spool.resend(str(tmp_path)) == 1
    assert names(tmp_path) == ["s0.json", "s1.json"]
    assert os.listdir(tmp_path / spool.SET_ASIDE) == []
    assert spool.resend(str(tmp_path / "nowhere")) == 0
