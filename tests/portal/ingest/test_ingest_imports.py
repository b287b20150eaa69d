"""A process that only receives payloads imports what receiving needs: no page, report, step or judgement."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.processes import PATIENCE_S

ROOT = Path(__file__).parents[3]
IMPORTED = """
import json, sys, django
django.setup()
before = set(sys.modules)
import portal.ingest.server
print(json.dumps([sorted(before), sorted(set(sys.modules) - before)]))
"""
OURS = ("portal", "reports", "education", "analysis", "metrics", "jobs", "collector")
NEEDED = {
    *("portal.asgi_bodies", "portal.beat_lease", "portal.ingest", "portal.middleware.request_id"),
    *("portal.rate_limits", "portal.sign_in.attempts", "portal.sign_in.personal_tokens", "portal.steps.step"),
    *("portal.system.readiness", "portal.troubles", "analysis.due.selectors", "reports.numbers", "jobs", "metrics"),
}
"""Besides the tables of every app, which Django loads; `jobs` and `metrics` store what arrives."""

HEAVY = {"weasyprint", "matplotlib", "pyarrow", "boto3", "markdown_it", "a2wsgi"}


def is_needed(name: str) -> bool:
    return any(f"{each}.".startswith(f"{name}.") or name.startswith(f"{each}.") for each in NEEDED)


def test_the_ingest_alone_imports_what_it_needs_and_no_more(tmp_path: Path) -> None:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "portal.settings", "KAIKU_VAR_DIR": str(tmp_path)}
    command = [sys.executable, "-c", IMPORTED]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    of_tables, more = json.loads(done.stdout)
    ours = [name for name in more if name.partition(".")[0] in OURS]
    assert "portal.ingest.services" in ours
    assert [name for name in ours if not is_needed(name)] == []
    everything = {*of_tables, *more}
    assert everything & HEAVY == set()
    pages = (
        "portal.pages",
        "portal.charts",
        "portal.api",
        "portal.tasks",
        "portal.steps.all_steps",
        "reports.services",
    )
    assert [name for name in everything if f"{name}.".startswith(tuple(f"{page}." for page in pages))] == []
