"""The example that prints sacctmgr commands: from a captured export, in both formats, whatever names it has."""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from reports.policy_export import COLUMNS, table
from tests.deploy.compose import ROOT

PROGRAM = ROOT / "deploy/slurm/policy-commands"
ACCOUNT = "sacctmgr --immediate modify account where "
CAPTURED = ROOT / "tests/samples/policy/efficiency.json"


def printed(*arguments: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-I", PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def export(path: Path, *rows: dict[str, object]) -> Path:
    """The captured export with these rows in place of its own, as JSON or CSV by the name of the file."""
    captured = json.loads(CAPTURED.read_text())
    like = captured["rows"][0]
    lines = [like | row for row in rows]
    if path.suffix == ".json":
        path.write_text(json.dumps(captured | {"rows": lines}))
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(table(lines))
    return path


def project(name: str, multiplier: float, **more: object) -> dict[str, object]:
    return {"kind": "project", "key": name, "withheld": None, "suggested_multiplier": multiplier} | more


def test_a_captured_export_becomes_a_line_for_each_suggestion() -> None:
    rows = json.loads(CAPTURED.read_text())["rows"]
    suggested = [row for row in rows if row["kind"] == "project" and row["suggested_multiplier"] not in (None, 1.0)]
    commands = [line for line in printed(CAPTURED, "--cluster", "lumi") if not line.startswith("#")]
    assert suggested
    assert len(commands) == len(suggested)
    for row, line in zip(suggested, commands, strict=True):
        value = round(100 * row["suggested_multiplier"])
        words = ["sacctmgr", "--immediate", "modify", "account", "where", f"name={row['key']}", "cluster=lumi"]
        assert shlex.split(line, comments=True) == [*words, "set", f"fairshare={value}"]


@pytest.mark.parametrize("name", ["export.json", "export.csv"])
def test_multipliers_by_hand(tmp_path: Path, name: str) -> None:
    path = export(
        tmp_path / name,
        project("project_1", 0.92),
        project("project_2", 1.0),
        project("project_3", 1.2),
        project("project_4", 1.1) | dict.fromkeys(("suggested_multiplier", "jobs")) | {"withheld": "few_people"},
        {"kind": "user", "key": "ab" * 16, "name": None, "withheld": None, "suggested_multiplier": 0.8},
        {"kind": "user", "key": "cd" * 16, "name": "alice", "withheld": None, "suggested_multiplier": 0.8},
    )
    assert printed(path, "--base", "1000", "--limit", "GrpTRESMins=billing") == [
        "# Suggestions of Kaiku, advice only. Nothing has been run: read each line, and decide.",
        f"{ACCOUNT}name=project_1 set GrpTRESMins=billing=920  # 2026-10: multiplier 0.92",
        f"{ACCOUNT}name=project_3 set GrpTRESMins=billing=1200  # 2026-10: multiplier 1.20",
        "# 2026-10: 'project' 'project_4': withheld",
        "sacctmgr --immediate modify user where name=alice set GrpTRESMins=billing=800  # 2026-10: multiplier 0.80",
        "# Users without a name in this export, and so without a command: 1",
    ]


def test_a_reset_undoes_an_earlier_month_and_a_base_of_its_own_is_for_some_alone(tmp_path: Path) -> None:
    # 0.92 in October and 1.00 in November: without the line of November the account would keep 92 for ever.
    path = export(tmp_path / "export.csv", project("project_1", 1.0), project("project_2", 0.9))
    assert printed(path)[1:] == [f"{ACCOUNT}name=project_2 set fairshare=90  # 2026-10: multiplier 0.90"]
    assert printed(path, "--reset")[1:] == [
        f"{ACCOUNT}name=project_1 set fairshare=100  # 2026-10: multiplier 1.00",
        f"{ACCOUNT}name=project_2 set fairshare=90  # 2026-10: multiplier 0.90",
    ]
    assert printed(path, "--base", "500", "--only", "project_2", "project_3")[1:] == [
        f"{ACCOUNT}name=project_2 set fairshare=450  # 2026-10: multiplier 0.90"
    ]


def test_several_months_are_refused(tmp_path: Path) -> None:
    path = export(tmp_path / "export.json", project("project_1", 0.9), project("project_1", 1.1, period="2026-11"))
    done = subprocess.run([sys.executable, "-I", PROGRAM, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "it has the months 2026-10 2026-11: export one of them, with --period" in done.stderr


@pytest.mark.parametrize("suffix", [".json", ".csv"])
@pytest.mark.parametrize(
    "name",
    [
        "a; touch /tmp/owned", "$(reboot)", "`reboot`", "a\nreboot", "a,b", "a set fairshare=0", "-i", "a'b", 'a"b',
        "a=b", "=cmd", "\u202eroot", "a#b", "a|b", "x" * 65,
    ],
)  # fmt: skip
def test_a_hostile_name_becomes_no_command(tmp_path: Path, suffix: str, name: str) -> None:
    path = export(tmp_path / f"export{suffix}", project(name, 0.8))
    lines = printed(path)
    assert len(lines) == 2
    assert lines[1].startswith("# 2026-10: skipped, the name is not plain: ")
    assert lines[1].isascii()
    assert lines[1].isprintable()
    done = subprocess.run(["bash", "-n"], input="\n".join(lines), text=True, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "policy-efficiency/2", "rows": []}', "[1]", '{"schema": 1'])
def test_what_is_no_export_ends_with_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(text)
    done = subprocess.run([sys.executable, "-I", PROGRAM, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1


def test_a_multiplier_out_of_its_bounds_ends_it(tmp_path: Path) -> None:
    path = export(tmp_path / "export.csv", project("project_1", 0.0))
    done = subprocess.run([sys.executable, "-I", PROGRAM, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert set(COLUMNS) >= {"schema", "kind", "key", "name", "withheld", "suggested_multiplier"}
