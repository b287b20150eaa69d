"""The systemd units: sound, closed to almost everything, and the same commands as the containers'."""

from __future__ import annotations

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.compose import ROOT, composition
from tests.parts import program
from tests.processes import PATIENCE_S

UNITS = ROOT / "deploy/portal"
SERVICES = sorted(UNITS.glob("*.service"))
EXPOSURE_MAX = 3.0
"""Of ten, as systemd-analyze counts it; what it calls OK ends at 4.9."""


@pytest.fixture
def analyze() -> str:
    return program("systemd-analyze")


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_a_service_reaches_little_of_its_host(analyze: str, unit: Path) -> None:
    done = subprocess.run(
        [analyze, "security", "--offline=yes", unit], capture_output=True, text=True, timeout=PATIENCE_S
    )
    level = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
    assert level is not None, done.stderr
    assert float(level[1]) < EXPOSURE_MAX


def test_systemd_finds_nothing_to_say_about_them(analyze: str, tmp_path: Path) -> None:
    units = []
    for path in [*SERVICES, *UNITS.glob("*.timer"), *UNITS.glob("*.target")]:
        units.append(tmp_path / path.name)
        units[-1].write_text(path.read_text().replace("/opt/kaiku", str(ROOT)))
    done = subprocess.run([analyze, "verify", "--man=no", *units], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["portal", "ingest", "worker"])
def test_a_service_runs_the_command_of_its_container(name: str) -> None:
    unit = UNITS / f"kaiku-{name}{'@' if name == 'worker' else ''}.service"
    started = parsed(unit)["Service"]["ExecStart"].removeprefix("/opt/kaiku/").replace("%%", "%")
    same = started.replace("127.0.0.1:", "0.0.0.0:").replace("worker-%i@", "worker@")
    assert same.split() == composition(KAIKU_HOST="kaiku.example")["services"][name]["command"]


def parsed(unit: Path) -> configparser.ConfigParser:
    """A unit as sections; of settings that come twice the last one."""
    reader = configparser.ConfigParser(strict=False, interpolation=None)
    reader.optionxform = str  # type: ignore[assignment]
    reader.read(unit)
    return reader


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_a_service_is_no_administrator_and_has_bounds(unit: Path) -> None:
    service = parsed(unit)["Service"]
    assert service["User"] == "kaiku"
    assert {"MemoryMax", "TasksMax"} <= set(service)
    assert service["EnvironmentFile"] == "/etc/kaiku/portal.env"
