"""The policy export and the flags for programs: who may read, what they get, and that each read is logged."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from analysis.escalation.services import escalate
from analysis.policy.figures import PolicyExport
from analysis.policy.keys import user_key
from analysis.policy.raised import FlagList
from jobs.models import AuditEntry, Token, User
from jobs.tokens.services import issue_token
from reports.policy_export import COLUMNS, json_schema
from tests.analysis.policy.test_flag_list import PROJECT, person_day
from tests.analysis.policy.test_months import PEOPLE, close
from tests.analysis.site.test_months import OCTOBER, run
from tests.tokens import create_collector_token, site_token

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
EXPORT, FLAGS = "/api/v1/policy/efficiency", "/api/v1/flags"


def bearing(secret: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {secret}"})


def token(name: str = "slurm", days: int = 30) -> str:
    return site_token(Token.Kind.POLICY, name, days=days)


@pytest.fixture
def program(db) -> Client:
    return bearing(token())


@pytest.fixture
def closed(db) -> None:
    """October has a project of five people, and one of a single person; September the five alone."""
    for month in (0, 1):
        for number, user in enumerate(PEOPLE, start=1):
            run(10 * month + number, user, ended=OCTOBER - timedelta(days=30 * month))
    for number, user in enumerate(("frank", "grace", "heidi", "ivan", "judy"), start=31):
        run(number, user, project_id="project_465000002")
    close()


def body(client: Client, path: str) -> bytes:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.content)
    return b"".join(answer.streaming_content)


def exported(client: Client, query: str = "") -> dict[str, Any]:
    return json.loads(body(client, f"{EXPORT}.json{query}"))


def typed(row: dict[str, str]) -> dict[str, Any]:
    """A line of the table as the member of the JSON that it stands for."""
    line: dict[str, Any] = {}
    for name, text in row.items():
        value: Any = None if text == "" else text
        if text in ("true", "false"):
            value = text == "true"
        elif name == "withheld_columns":
            value = text.split()
        elif text and name not in ("schema", "period", "kind", "key", "name", "withheld", "withheld_columns_reason"):
            value = float(text) if "." in text else int(text)
        group = next((each for each in ("classes_by_gpu_hours", "classes_by_jobs") if name.startswith(f"{each}_")), "")
        if group and value is None:
            line[group] = None
        elif group:
            line.setdefault(group, {})[name.removeprefix(f"{group}_")] = value
        else:
            line[name] = value
    return line


def test_both_formats_have_the_same_rows_which_fit_the_schema(program, closed) -> None:
    found = exported(program, "?since=2026-09")
    jsonschema.validate(found, json_schema(PolicyExport))
    assert (found["schema"], found["periods"]) == ("policy-efficiency/1", ["2026-09", "2026-10"])
    lines = list(csv.DictReader(io.StringIO(body(program, f"{EXPORT}.csv?since=2026-09").decode())))
    assert tuple(lines[0]) == COLUMNS
    rows = [typed(line) for line in lines]
    assert {row.pop("schema") for row in rows} == {"policy-efficiency/1"}
    assert rows == found["rows"]


def test_the_files_in_docs_are_the_schemas_that_are_served() -> None:
    for name, number, kind in (("efficiency", 1, PolicyExport), ("flags", 1, FlagList)):
        written = json.loads((ROOT / f"docs/policy-{name}-{number}.schema.json").read_text())
        assert written == json_schema(kind) == Client().get(f"/api/v1/policy/{name}.schema.json").json()
        jsonschema.Draft202012Validator.check_schema(written)


def test_rows_are_in_a_stable_order(program, closed) -> None:
    found = exported(program, "?since=2026-09&until=2026-11")
    order = [(row["period"], row["kind"], row["key"]) for row in found["rows"]]
    assert order == sorted(order)
    assert len(order) == (1 + 5) + (2 + 10)
    assert exported(program, "?since=2026-09&until=2026-11") == found


def test_without_a_period_it_is_the_latest_closed_month(program, closed) -> None:
    assert exported(program)["periods"] == ["2026-10"]
    assert exported(program, "?period=2026-09")["periods"] == ["2026-09"]
    assert exported(program, "?since=2026-09-01&until=2026-10-01")["periods"] == ["2026-09"]
    assert {row["kind"] for row in exported(program, "?by=user")["rows"]} == {"user"}


def test_before_the_first_closed_month_there_are_no_rows(program) -> None:
    found = exported(program)
    assert (found["periods"], found["rows"]) == ([], [])


@pytest.mark.parametrize(
    ("query", "status", "detail"),
    [
        ("?period=2026-11", 404, "There are no figures of 2026-11"),
        ("?since=2020-01&until=2020-05", 404, "no figures of months from 2020-01 and before 2020-05; without a period"),
        ("?since=2026-11", 404, "There are no figures of months from 2026-11;"),
        ("?until=2026-09-01", 404, "There are no figures of months before 2026-09;"),
        ("?period=2026-10-05", 400, "A period is a month"),
        ("?period=october", 400, "A period is a month"),
        ("?since=2026-10-05", 400, "only whole months"),
        ("?until=", 400, "only whole months"),
        ("?period=", 400, "A period is a month"),
        ("?since=2026-10&until=2026-10", 400, "since 2026-10 is not before until 2026-10"),
        ("?since=2026-10-01&until=2026-09", 400, "since 2026-10 is not before until 2026-09"),
        ("?since=2027-01&until=2026-12&period=2026-10", 400, "since 2027-01 is not before until 2026-12"),
        ("?since=2026-10&period=2026-09", 400, "The period 2026-09 is outside since and until"),
        ("?until=2026-10&period=2026-10", 400, "The period 2026-10 is outside since and until"),
        ("?by=job", 400, "by must be one of project, user."),
        ("?by=user%27", 400, "by must be one of"),
    ],
)
def test_other_periods_cannot_be_asked_for(program, closed, query: str, status: int, detail: str) -> None:
    answer = program.get(f"{EXPORT}.json{query}")
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert detail in answer.json()["detail"]


def test_nobody_reads_without_a_valid_token(closed) -> None:
    secret = token()
    expired = token("old")
    Token.objects.filter(name="old").update(expires_at=timezone.now() - timedelta(seconds=1))
    revoked = token("gone")
    call_command("create_token", "--kind", "policy", "gone", "--revoke")
    sends = issue_token(User.objects.get(username="alice"), name="n", days=30, now=timezone.now(), kind="send")
    others = (secret[:-1] + "x", expired, revoked, create_collector_token("nodes", "lumi"), "", "kaiku_policy_")
    for path in (f"{EXPORT}.json", f"{EXPORT}.csv", FLAGS):
        assert Client().get(path).status_code == 401
        assert [bearing(other).get(path).status_code for other in others] == [401] * len(others)
        assert bearing(sends).get(path).status_code == 403
        assert bearing(secret).get(path).status_code == 200
        assert bearing(secret).post(path).status_code == 403


def test_a_policy_token_opens_nothing_else(program, closed) -> None:
    for path in ("/api/v1/jobs/", "/api/v1/jobs/lumi/1/", "/api/v1/projects/project_465000001/summary/"):
        assert program.get(path).status_code == 401
    assert program.post("/api/v1/ingest/job-records", b"{}", "application/json").status_code == 401
    assert program.get("/policy/").status_code == 302


def test_people_need_the_role(cast) -> None:
    for name, status in (("alice", 404), ("carol", 404), ("dave", 404), ("erin", 404), ("frank", 200), ("grace", 200)):
        assert cast(name).get(f"{EXPORT}.json").status_code == status
        assert cast(name).get(FLAGS).status_code == status
    secret = issue_token(User.objects.get(username="frank"), name="n", days=30, now=timezone.now())
    assert bearing(secret).get(f"{EXPORT}.csv").status_code == 200


def test_each_read_is_logged_with_who_what_and_how_many_rows(program, closed, capsys) -> None:
    body(program, f"{EXPORT}.csv?by=user")
    body(program, f"{EXPORT}.json?since=2026-09")
    body(program, FLAGS)
    call_command("export_policy", "--period", "2026-09", "--format", "csv")
    reads = AuditEntry.objects.filter(action="policy_read").order_by("pk")
    assert list(reads.values_list("actor_kind", "actor", "name", "details")) == [
        ("policy_token", "slurm", "efficiency by user, 2026-10", "csv, 10 rows"),
        ("policy_token", "slurm", "efficiency, 2026-09 to 2026-10", "json, 18 rows"),
        ("policy_token", "slurm", "flags", "json, 0 rows"),
        ("command", "manage.py export_policy", "efficiency, 2026-09", "csv, 6 rows"),
    ]
    assert Token.objects.get().last_used_at is not None


def test_a_program_that_reads_too_often_waits(program, closed, settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portal.rate_limits.time.time", lambda: 1_800_000_013.5)
    settings.API_CALLS_PER_MINUTE = 2
    assert [program.get(FLAGS).status_code for _ in range(3)] == [200, 200, 429]
    assert bearing(token("other")).get(FLAGS).status_code == 200


def test_the_flags_are_those_that_staff_see_by_the_keys_of_this_month(program, settings) -> None:
    now = timezone.now()
    flagged = ("alice", "dave", "erin", "frank", "grace")
    for name, jobs, hours in (*((name, 5, 130.0) for name in flagged), ("bob", 4, 130.0), ("carol", 5, 49.9)):
        person_day(name, PROJECT, (now - timedelta(days=17)).date(), jobs, hours)
    escalate(now - timedelta(days=14, hours=1))
    found = json.loads(body(program, FLAGS))
    jsonschema.validate(found, json_schema(FlagList))
    # bob and carol do not reach the thresholds; `tests/analysis/policy/test_flag_list.py` has the days and projects.
    secret, users = settings.POLICY_KEY_SECRET.encode(), User.objects.filter(username__in=flagged)
    keys = sorted(user_key(secret, f"{now:%Y-%m}", user.pk) for user in users)
    assert (found["schema"], found["withheld_users"]) == ("policy-flags/1", False)
    assert [(row["kind"], row["key"], row["name"], row["flag"]) for row in found["rows"]] == [
        ("user", key, None, "low_use") for key in keys
    ]
    settings.POLICY_NAMES = True
    assert {row["name"] for row in json.loads(body(program, FLAGS))["rows"]} == set(flagged)


def test_no_flag_is_listed_during_its_time_of_grace(program) -> None:
    now = timezone.now()
    person_day("alice", PROJECT, now.date(), 5, 130.0)
    assert escalate(now) == 1
    assert json.loads(body(program, FLAGS))["rows"] == []


def test_the_command_writes_a_whole_file_or_none(closed, tmp_path: Path, program) -> None:
    path = tmp_path / "export.json"
    call_command("export_policy", "--period", "2026-10", "--output", str(path))
    assert json.loads(path.read_bytes()) == exported(program, "?period=2026-10")
    assert [each.name for each in tmp_path.iterdir()] == ["export.json"]
    with pytest.raises(CommandError, match="cannot be written: No such file or directory"):
        call_command("export_policy", "--output", str(tmp_path / "no" / "file"))
    with pytest.raises(CommandError, match="There are no figures of 2026-12"):
        call_command("export_policy", "--period", "2026-12")
    with pytest.raises(CommandError, match="There are no figures of months from 2020-01 and before 2020-05"):
        call_command("export_policy", "--since", "2020-01", "--until", "2020-05")
    for months in (("2026-10", "2026-09"), ("2026-10", "2026-10")):
        with pytest.raises(CommandError, match=f"since 2026-10 is not before until {months[1]}") as raised:
            call_command("export_policy", "--since", months[0], "--until", months[1], "--output", str(path))
        assert raised.value.returncode == 2, "a usage error"
    assert json.loads(path.read_bytes())["periods"] == ["2026-10"], "the earlier file stays"


def test_the_command_that_creates_tokens(capsys) -> None:
    call_command("create_token", "--kind", "policy", "slurm", "--days", "30")
    secret = capsys.readouterr().out.strip()
    assert secret.startswith("kaiku_policy_")
    assert secret not in str(Token.objects.values()) + str(AuditEntry.objects.values())
    for arguments in (
        ("slurm",),
        ("x", "--days", "0"),
        ("x", "--days", "731"),
        ("",),
        ("a\nb",),
        ("nobody", "--revoke"),
    ):
        with pytest.raises(CommandError):
            call_command("create_token", "--kind", "policy", *arguments)
    call_command("create_token", "--kind", "policy", "slurm", "--revoke")
    entries = AuditEntry.objects.order_by("pk").values_list("action", "kind", "name")
    assert list(entries) == [("token_made", "policy_token", "slurm"), ("token_revoked", "policy_token", "slurm")]


def test_nothing_that_is_read_names_a_person(program, closed) -> None:
    pages = [body(program, f"{EXPORT}.{form}?since=2026-01") for form in ("json", "csv")] + [body(program, FLAGS)]
    names = [user.encode() for user in User.objects.values_list("username", flat=True)]
    assert not [name for name in names for page in pages if name in page]


@pytest.mark.one_database
def test_accounting_of_one_person_finds_no_single_row_in_any_answer(program, db) -> None:
    """An attacker who knows each person's jobs and GPU-hours exactly, and asks everything that may be asked."""
    people = "alice bob carol dave erin frank grace heidi ivan judy mallory niaj".split()
    for month in (0, 1):
        for place, user in enumerate(people):
            for each in range(1 + place // 3):
                number = 1000 * month + 10 * place + each + 1
                run(number, user, util=8.0 * place, ended=OCTOBER - timedelta(days=30 * month))
    close()
    answers = [exported(program, query)["rows"] for query in ("", "?period=2026-09", "?since=2026-01", "?by=user")]
    answers += [[typed(row) for row in csv.DictReader(io.StringIO(body(program, f"{EXPORT}.csv?by=user").decode()))]]
    for rows in answers:
        cells = [(row["period"], row["jobs"], row["gpu_hours"]) for row in rows if row["kind"] == "user"]
        assert cells
        assert all(cells.count(cell) >= 5 for cell in cells)
    keys = {row["key"]: row for rows in answers for row in rows if row["kind"] == "user"}
    assert len(keys) == 24, "no key joins two months, and no answer differs from another"
    for rows in answers:
        assert all(all(row[name] == keys[row["key"]][name] for name in row if name != "schema") for row in rows
                   if row["kind"] == "user")  # fmt: skip


def test_the_keys_of_one_person_in_two_months_differ(program, closed) -> None:
    keys = [row["key"] for row in exported(program, "?since=2026-01&by=user")["rows"]]
    assert len(keys) == len(set(keys)) == 15
