"""Files of a target folder: whole or not there, readable by their group, and no left-overs of what was killed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reports.performance.targets.address import Address, AddressError, Folder, address_of
from reports.performance.targets.faults import Fault, TargetError
from reports.performance.targets.services.stores import ABANDONED_S, opened

NO_KEYS = {"endpoint": "", "region": "", "access_key": "", "secret_key": ""}
KEYS = {"endpoint": "https://s3.example", "region": "lumi", "access_key": "a", "secret_key": "b"}


def put(folder: Path, name: str, content: bytes) -> None:
    with opened(Folder(str(folder))) as store:
        store.put(name, content)


def test_a_file_is_readable_by_its_group_alone_and_replaced_as_a_whole(tmp_path: Path) -> None:
    put(tmp_path, "2026-11-20/lumi/1-0-r1.json", b"first")
    before = (tmp_path / "2026-11-20/lumi/1-0-r1.json").open("rb")
    put(tmp_path, "2026-11-20/lumi/1-0-r1.json", b"second")
    path = tmp_path / "2026-11-20" / "lumi" / "1-0-r1.json"
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"second", 0o640)
    # Who reads the older file goes on reading it.
    assert before.read() == b"first"
    before.close()
    assert list((tmp_path / ".unfinished").iterdir()) == []


def test_what_a_killed_process_left_is_removed_after_a_day(tmp_path: Path) -> None:
    unfinished = tmp_path / ".unfinished"
    unfinished.mkdir()
    (unfinished / "old").touch()
    (unfinished / "new").touch()
    long_ago = time.time() - ABANDONED_S - 60
    os.utime(unfinished / "old", (long_ago, long_ago))
    put(tmp_path, "a", b"")
    assert [path.name for path in unfinished.iterdir()] == ["new"]


def test_a_name_that_is_a_folder_already_is_a_fault_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(TargetError) as raised:
        put(tmp_path, "a", b"x")
    assert raised.value.fault == Fault.OTHER
    assert list((tmp_path / ".unfinished").iterdir()) == []


@pytest.mark.parametrize(
    ("target", "settings", "said"),
    [
        ("relative/folder", NO_KEYS, "absolute path of a folder, or look like s3://BUCKET/PREFIX"),
        ("ftp://host/folder", NO_KEYS, "absolute path of a folder, or look like s3://BUCKET/PREFIX"),
        ("/", NO_KEYS, "a folder of its own"),
        ("/data/../etc", NO_KEYS, "a folder of its own"),
        ("/data\n", NO_KEYS, "a folder of its own"),
        ("s3://", KEYS, "must look like s3://BUCKET/PREFIX"),
        ("s3://b/p", KEYS, "the name of a bucket has 3 to 63 characters"),
        ("s3://UPPER/x", KEYS, "must look like s3://BUCKET/PREFIX"),
        ("s3://bucket/../x", KEYS, "must look like s3://BUCKET/PREFIX"),
        ("s3://bucket//x", KEYS, "must look like s3://BUCKET/PREFIX"),
        ("s3://bucket", NO_KEYS, "EXPORT_S3_ACCESS_KEY and EXPORT_S3_SECRET_KEY are required"),
        ("s3://bucket", KEYS | {"endpoint": "s3.example"}, "EXPORT_S3_ENDPOINT must look like"),
        ("s3://bucket", KEYS | {"endpoint": "https://user:pass@s3.example"}, "EXPORT_S3_ENDPOINT must look like"),
        ("s3://bucket", KEYS | {"endpoint": "https://s3.example/path"}, "EXPORT_S3_ENDPOINT must look like"),
        ("s3://bucket", KEYS | {"endpoint": "https://s3.example:99999"}, "EXPORT_S3_ENDPOINT must look like"),
    ],
)
def test_a_target_that_cannot_be_one_is_refused(target: str, settings: dict[str, str], said: str) -> None:
    with pytest.raises(AddressError, match=said):
        address_of(target, **settings)


def test_no_key_of_a_bucket_is_shown() -> None:
    address: Address | None = address_of("s3://runs", **KEYS | {"secret_key": "hidden", "access_key": "unseen"})
    assert not {"hidden", "unseen"} & set(repr(address).replace("'", " ").split())
    assert str(address) == "s3://runs"
