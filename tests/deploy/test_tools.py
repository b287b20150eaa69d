"""What contributors and releases use: the lint of `make lint` before each commit, and lists of what is inside."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement

from portal.version import VERSION
from tests.deploy.compose import ROOT
from tests.processes import PATIENCE_S

BIN = Path(sys.executable).parent
MAKEFILE = (ROOT / "Makefile").read_text()


def recipe(target: str) -> list[str]:
    """The commands of a target, with the tools' place written out."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    assert found is not None
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in found[1].splitlines()]


def test_hooks_before_a_commit_are_what_make_lint_runs() -> None:
    configuration = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    (local,) = configuration["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == recipe("lint")
    assert all(hook["language"] == "system" and not hook["pass_filenames"] for hook in local["hooks"])
    check = [BIN / "pre-commit", "validate-config", ROOT / ".pre-commit-config.yaml"]
    assert subprocess.run(check, capture_output=True, timeout=PATIENCE_S).returncode == 0


def test_the_bill_of_materials_names_the_portal_and_every_library_with_its_version(tmp_path: Path) -> None:
    # Of the environment that runs these tests: it is here already, and more than an installed one.
    output = tmp_path / "kaiku.cdx.json"
    subprocess.run([ROOT / "deploy/sbom", output, BIN.parent], check=True, capture_output=True, timeout=PATIENCE_S)
    document = yaml.safe_load(output.read_text())
    assert document["bomFormat"] == "CycloneDX"
    subject = document["metadata"]["component"]
    assert (subject["name"], subject["version"]) == ("kaiku", VERSION)
    found = {plain(each["name"]): each["version"] for each in document["components"]}
    pins = re.findall(r"^([A-Za-z][\w.-]+)(?:\[[^]]*\])?==(\S+)", (ROOT / "requirements.txt").read_text(), re.M)
    assert [name for name, version in pins if found.get(plain(name)) != version] == []
    assert all(
        each["purl"].startswith("pkg:pypi/") for each in document["components"] if plain(each["name"]) == "django"
    )


def test_an_audit_that_cannot_ask_fails_instead_of_finding_nothing() -> None:
    (command,) = recipe("audit")
    nowhere = {"PIP_AUDIT_VULNERABILITY_SERVICE": "pypi", "HTTPS_PROXY": "http://127.0.0.1:9", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command.split(), cwd=ROOT, env=nowhere, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode != 0
    assert "--strict" in command
    assert "No known vulnerabilities" not in done.stdout + done.stderr


def plain(name: str) -> str:
    """The name of a package as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_direct_dependency_is_pinned_with_what_it_pulls_in() -> None:
    pinned = {plain(name) for name in re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.M)}
    for file in ("requirements.txt", "requirements-dev.txt"):
        direct = re.findall(r"^([A-Za-z][\w.-]+)(?:\[[^]]*\])?==\S+ +# \S", (ROOT / file).read_text(), re.M)
        lines = [line for line in (ROOT / file).read_text().splitlines() if line and not line.startswith("#")]
        assert len(direct) == len(lines), file
        assert {plain(name) for name in direct} <= pinned


def test_what_libraries_need_on_the_python_of_debian_12_alone_is_pinned_too() -> None:
    debian = default_environment() | {"python_version": "3.11", "python_full_version": "3.11.2", "extra": ""}
    needed = [Requirement(line) for each in distributions() for line in each.requires or ()]
    names = {plain(each.name) for each in needed if each.marker is None or each.marker.evaluate(debian)}
    pinned = {plain(name) for name in re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.M)}
    assert "async-timeout" in names
    assert names - pinned - {"setuptools", "pip"} == set()
