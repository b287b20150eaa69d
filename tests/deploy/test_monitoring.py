"""The alert rules under promtool, the dashboard by Grafana's own models, and both on a real Prometheus."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from django.test import Client
from django.utils import timezone
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from analysis.months.kind import LATE
from jobs.models import DirectoryImport, Process, WorkFailure
from jobs.tallies import kinds
from jobs.tallies.services import add
from portal.system.concerns import FAILING_S, LATE_S, STEP_LATE_S, STEPS_MISSED
from tests.parts import program
from tests.processes import PATIENCE_S, free_ports, wait_until

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
RUNBOOK = MONITORING.parents[1] / "docs" / "runbook.md"
RULES = yaml.safe_load((MONITORING / "kaiku.rules.yml").read_text())["groups"][0]["rules"]
CASES = yaml.safe_load((MONITORING / "kaiku.rules.test.yml").read_text())["tests"]
BOARD = json.loads((MONITORING / "kaiku.dashboard.json").read_text())
EXPRESSIONS = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]
NAME = re.compile(r"\bkaiku_\w+")


@pytest.mark.parametrize(
    "command",
    ["check rules kaiku.rules.yml", "test rules kaiku.rules.test.yml", "check config --syntax-only prometheus.yml"],
)
def test_prometheus_own_tool_finds_nothing(command: str) -> None:
    done = subprocess.run([program("promtool"), *command.split()], cwd=MONITORING, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tried_with_numbers_that_fire_it_and_numbers_that_do_not() -> None:
    fires = {case["alert_rule_test"][0]["alertname"] for case in CASES if case["alert_rule_test"][0]["exp_alerts"]}
    quiet = {case["alert_rule_test"][0]["alertname"] for case in CASES if not case["alert_rule_test"][0]["exp_alerts"]}
    assert fires == quiet == {rule["alert"] for rule in RULES}


def test_every_alert_has_its_part_in_the_runbook() -> None:
    headings = re.findall(r"^#+ (Kaiku\w+)$", RUNBOOK.read_text(), re.MULTILINE)
    assert sorted(headings) == sorted(rule["alert"] for rule in RULES)
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"


def test_the_system_page_calls_late_what_the_alerts_do() -> None:
    limits = re.findall(r'kaiku_oldest_due_seconds\{kind="(\w+)"\} > (\d+)', " ".join(rule["expr"] for rule in RULES))
    assert {kind: float(limit) for kind, limit in limits} == LATE_S
    limit_of = {rule["alert"]: rule["expr"].rpartition(" > ")[2] for rule in RULES}
    assert float(limit_of["KaikuWorkFailing"]) == FAILING_S
    late = f"{STEPS_MISSED} * max by (step) (kaiku_step_period_seconds) + {STEP_LATE_S})"
    assert limit_of["KaikuStepLate"].startswith(late)
    assert float(limit_of["KaikuMonthNotClosed"]) == LATE.total_seconds()


@pytest.fixture
def numbers(db: None, settings) -> None:
    """A portal in which each number has a value."""
    settings.DIRECTORY_SOURCE = "people.csv"
    now = timezone.now()
    for kind in kinds.KINDS:
        labels = [f"a {label}" for label in kind.labels]
        add(kind.of(1.0, *labels) if isinstance(kind, kinds.Times) else kind.of(*labels))
    Process.objects.create(name="host 1 2", kind="worker", version="1", seen_at=now, waiting_records=1)
    DirectoryImport.objects.create(asked="csv", source="csv", began_at=now - timedelta(minutes=5))
    WorkFailure.objects.create(kind="report", key=1, tries=1, first_at=now, last_at=now)


def test_every_number_that_rules_and_dashboard_name_is_there(numbers: None) -> None:
    there = set(NAME.findall(Client(SERVER_NAME="127.0.0.1").get("/metrics").content.decode()))
    named = {name for text in (*EXPRESSIONS, *(rule["expr"] for rule in RULES)) for name in NAME.findall(text)}
    assert len(named) > 20
    assert named - there == set()


def lost(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """What of a document Grafana's models do not know."""
    if isinstance(ours, dict):
        for key, value in ours.items():
            known = isinstance(theirs, dict) and key in theirs
            yield from lost(value, theirs[key], f"{path}.{key}") if known else [f"{path}.{key}"]
    elif isinstance(ours, list):
        yield from (each for pair in zip(ours, theirs, strict=True) for each in lost(*pair, path))
    elif ours != theirs:
        yield path


def read_by_grafana(board: dict[str, Any]) -> Any:
    register_default_plugins()
    return json.loads(json.dumps(Dashboard.from_json(board), cls=JSONEncoder))


def test_grafanas_own_models_know_every_part_of_the_dashboard() -> None:
    assert list(lost(BOARD, read_by_grafana(BOARD))) == []
    misspelt = BOARD | {"refesh": "1m"}
    assert list(lost(misspelt, read_by_grafana(misspelt))) == [".refesh"]
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


@contextmanager
def prometheus(target: str, folder: Path) -> Iterator[str]:
    """A real Prometheus with the shipped rules that scrapes this portal each second; yields its address."""
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(MONITORING / "kaiku.rules.yml")],
        "scrape_configs": [{"job_name": "kaiku", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_ports(1)[0]}"
    options = (
        *(f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"),
        f"--web.listen-address={address}",
    )
    command = [program("prometheus", part="Prometheus"), *options]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield f"http://{address}"
    finally:
        process.kill()
        process.wait()


def asked(address: str, path: str, **query: str) -> dict[str, Any]:
    answer = requests.get(f"{address}/api/v1/{path}", params=query, timeout=PATIENCE_S).json()
    assert answer["status"] == "success", (query, answer)
    return answer["data"]


def is_scraped(address: str) -> bool:
    try:
        (target,) = asked(address, "targets")["activeTargets"]
    except (requests.ConnectionError, ValueError):
        return False
    return target["health"] == "up"


@pytest.mark.django_db(transaction=True)
def test_a_real_prometheus_reads_the_numbers_and_answers_rules_and_dashboard(
    numbers: None, live_server, tmp_path: Path
) -> None:
    with prometheus(live_server.url.removeprefix("http://"), tmp_path) as address:
        wait_until("a scrape", lambda: is_scraped(address))
        wait_until("numbers", lambda: asked(address, "query", query="kaiku_info")["result"])
        wait_until("two scrapes", lambda: rate(address) is not None)
        for expression in EXPRESSIONS:
            asked(address, "query", query=expression)
        (up,) = asked(address, "query", query='kaiku_part_up{part="worker"}')["result"]
        assert up["value"][1] == "1"
        (median,) = asked(address, "query", query="kaiku_end_to_report_seconds_count")["result"]
        assert median["value"][1] == "1"
        (group,) = asked(address, "rules")["groups"]
        assert {rule["health"] for rule in group["rules"]} <= {"ok", "unknown"}
        wait_until(
            "the rules", lambda: {rule["health"] for rule in asked(address, "rules")["groups"][0]["rules"]} == {"ok"}
        )


def rate(address: str) -> object:
    found = asked(address, "query", query="rate(kaiku_reports_total[1m])")["result"]
    return found[0] if found else None
