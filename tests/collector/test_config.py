"""The settings file: defaults without one, and a message with file, line and reason for whatever is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.config import Config, ConfigError, load

SETTINGS = [name for name, value in vars(Config).items() if isinstance(value, (str, float)) and name[0] != "_"]


def loaded(tmp_path: Path, content: str | bytes) -> Config:
    file = tmp_path / "collector.conf"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(str(file), "nid005001")


def test_without_a_file_every_setting_has_its_default(tmp_path: Path) -> None:
    found = load(str(tmp_path / "nowhere.conf"), "nid005001")
    assert {name: getattr(found, name) for name in SETTINGS} == {name: getattr(Config, name) for name in SETTINGS}
    assert (found.spool_dir, found.jobs_dir) == ("/var/lib/kaiku/spool", "/var/lib/kaiku/jobs")


def test_settings_are_names_and_values_with_comments_and_blank_lines(tmp_path: Path) -> None:
    found = loaded(
        tmp_path, "# where to\n\n portal_url=https://kaiku.example  # ours\ninterval_s = 2\n\tcluster = lumi\n"
    )
    assert (found.portal_url, found.interval_s, found.cluster) == ("https://kaiku.example", 2.0, "lumi")
    assert found.checkpoint_s == Config.checkpoint_s
    assert Config.portal_url == ""


def test_the_nodes_name_goes_where_a_value_names_it(tmp_path: Path) -> None:
    found = loaded(tmp_path, "state_dir = /shared/kaiku/{node}\nsysfs_root = /{node}/{node}/{other}\n")
    assert found.spool_dir == "/shared/kaiku/nid005001/spool"
    assert found.sysfs_root == "/nid005001/nid005001/{other}"


def test_an_empty_value_switches_a_command_off(tmp_path: Path) -> None:
    assert loaded(tmp_path, "scontrol =\n").scontrol == ""


@pytest.mark.parametrize(
    "line",
    [
        "interval = 1",
        "just words",
        "= 1",
        "load = 1",
        "jobs_dir = /tmp",
        "__class__ = x",
        "__doc__ = x",
        "_take = x",
        "portal_url",
        "spool dir = /tmp",
        "x" * 5000 + " = 1",
    ],
)
def test_an_unknown_name_is_refused_with_file_and_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError, match=r"collector\.conf, line 2: unknown setting") as caught:
        loaded(tmp_path, f"cluster = lumi\n{line}\n")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("value", ["", "fast", "1,5", "0x10", "1 s", "nan", "inf", "-1", "-inf", "1e400"])
def test_a_number_that_is_none_is_refused_with_file_line_and_name(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"collector\.conf, line 3: checkpoint_s must be"):
        loaded(tmp_path, f"\n\ncheckpoint_s = {value}\n")


@pytest.mark.parametrize(("value", "is_taken"), [("0.05", True), ("60", True), ("0.04", False), ("60.1", False)])
def test_the_interval_lies_between_a_twentieth_of_a_second_and_a_minute(
    tmp_path: Path, value: str, is_taken: bool
) -> None:
    if is_taken:
        assert loaded(tmp_path, f"interval_s = {value}\n").interval_s == float(value)
        return
    with pytest.raises(ConfigError, match=r"collector\.conf: interval_s must be between"):
        loaded(tmp_path, f"interval_s = {value}\n")


def test_a_file_that_cannot_be_read_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"collector\.conf: 'utf-8' codec"):
        loaded(tmp_path, b"cluster = \xff\n")
    with pytest.raises(ConfigError, match="Is a directory"):
        load(str(tmp_path), "nid005001")


def test_a_path_with_a_null_byte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 1: state_dir"):
        loaded(tmp_path, "state_dir = /var\0/lib\n")
