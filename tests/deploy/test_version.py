"""The version stands in one place and is shown to readers and administrators."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from django.test import Client

from portal.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "portal/pages/dashboard/sample_job.json"
"""Names the version of the collector that measured it."""


def test_the_about_page_shows_the_version_of_the_project_file(db: None) -> None:
    assert f'version = "{VERSION}"' in (ROOT / "pyproject.toml").read_text()
    assert f"This is Kaiku {VERSION}" in Client().get("/about/").content.decode()


@pytest.mark.needs("git")
def test_no_other_file_of_the_portal_repeats_it() -> None:
    files = subprocess.run(
        ["git", "ls-files", "portal", "deploy", "static", "templates", "*.toml"], cwd=ROOT, capture_output=True
    )
    naming = re.compile(rf"""(version|VERSION)["']?\s*[=:]\s*["']{re.escape(VERSION)}["']""")
    found = [
        path
        for path in files.stdout.decode().split()
        if naming.search((ROOT / path).read_text(errors="replace")) and path != SAMPLE
    ]
    assert found == ["pyproject.toml"]


def test_the_changelog_begins_with_it() -> None:
    headings = re.findall(r"^## \[?([^\]\s]+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert VERSION in headings[:2]
