"""The settings: what the environment may say is written down, and a server starts safe or not at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables import copy_sqlite

ROOT = Path(__file__).resolve().parents[2]
READS = re.compile(r'\b(?:text|flag|number|words|choice|mail_address|cluster_names)\("([A-Z_]+)"')


MODE = "import portal.settings as s; print(s.IS_EMBEDDED, s.IS_HTTPS, s.DEBUG, s.ALLOWED_HOSTS)"


SCHEDULE = "import portal.celery, django; django.setup(); from portal.tasks import beat_schedule"


def started(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Import the settings in a process of its own, with nothing but this environment."""
    command = [sys.executable, "-c", code]
    kept = {"PATH": os.environ["PATH"]}
    return subprocess.run(command, cwd=ROOT, env=kept | environment, capture_output=True, text=True, check=False)


def test_every_variable_that_is_read_is_in_the_example() -> None:
    source = "".join(path.read_text() for path in (ROOT / "portal").rglob("*.py"))
    example = (ROOT / ".env.example").read_text()
    read = set(READS.findall(source))
    assert len(read) > 10
    assert {name for name in read if f"#{name}=" not in example} == set()


def test_without_a_database_url_everything_is_embedded(tmp_path: Path) -> None:
    assert started(MODE, KAIKU_VAR_DIR=str(tmp_path)).stdout == "True False False ['127.0.0.1', 'localhost']\n"


def test_a_server_is_https_only_and_needs_its_key(tmp_path: Path) -> None:
    server = {"KAIKU_VAR_DIR": str(tmp_path), "DATABASE_URL": "postgres://kaiku@db.example/kaiku"}
    assert "SECRET_KEY or SECRET_KEY_FILE is required" in started(MODE, **server).stderr
    nameless = started(MODE, **server, SECRET_KEY="k")
    assert (nameless.returncode, nameless.stdout) == (1, "")
    assert "ALLOWED_HOSTS is required with DATABASE_URL" in nameless.stderr
    assert started(MODE, **server, SECRET_KEY="k", ALLOWED_HOSTS="kaiku.example").stdout == (
        "False True False ['kaiku.example', '127.0.0.1', 'localhost']\n"
    )


PROVIDER = {
    "OIDC_ISSUER": "https://idp.example",
    "OIDC_CLIENT_ID": "kaiku",
    "OIDC_END_SESSION_ENDPOINT": "https://logout.example/out",
}
SAID = """
import portal.settings as s
print(s.AUTHENTICATION_BACKENDS, s.CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"], s.OIDC_PROVIDER)
"""


def test_a_provider_takes_the_place_of_passwords_and_its_sign_out_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden\n")
    said = started(
        SAID, KAIKU_VAR_DIR=str(tmp_path), OIDC_CLIENT_SECRET_FILE=str(tmp_path / "secret"), **PROVIDER
    ).stdout
    assert said.startswith(
        "['portal.sign_in.backend.ProviderBackend'] [\"'self'\", 'https://idp.example', 'https://logout.example']"
    )
    assert "hidden" not in said
    without = started(SAID, KAIKU_VAR_DIR=str(tmp_path)).stdout
    assert without == "['django.contrib.auth.backends.ModelBackend'] [\"'self'\"] None\n"


def test_half_a_provider_or_an_unsafe_one_is_refused_at_the_start(tmp_path: Path) -> None:
    half = started(SAID, KAIKU_VAR_DIR=str(tmp_path), **PROVIDER).stderr
    assert "sign-in through a provider also needs OIDC_CLIENT_SECRET" in half
    whole = {"KAIKU_VAR_DIR": str(tmp_path), "OIDC_CLIENT_SECRET": "k"} | PROVIDER
    for name in ("OIDC_ISSUER", "OIDC_END_SESSION_ENDPOINT"):
        plain = started(SAID, **whole | {name: "http://idp.example"}).stderr
        assert f"{name} must be an https:// address" in plain


def test_identifiers_are_compared_as_they_are_unless_said_otherwise(tmp_path: Path) -> None:
    code = "import portal.settings as s; print(s.OIDC_SUBJECT_CASE)"
    said = [started(code, KAIKU_VAR_DIR=str(tmp_path), **more) for more in ({}, {"OIDC_SUBJECT_CASE": "Lower"})]
    assert [each.stdout for each in said] == ["exact\n", "lower\n"]
    wrong = started(code, KAIKU_VAR_DIR=str(tmp_path), OIDC_SUBJECT_CASE="upper").stderr
    assert "OIDC_SUBJECT_CASE must be one of exact, lower" in wrong


def test_a_directory_is_asked_on_a_beat_where_one_is_configured(tmp_path: Path) -> None:
    code = f"{SCHEDULE}; print(beat_schedule().get('DIRECTORY_SECONDS', dict()).get('schedule'))"
    assert started(code, KAIKU_VAR_DIR=str(tmp_path)).stdout == "None\n"
    assert started(code, KAIKU_VAR_DIR=str(tmp_path), DIRECTORY_SOURCE="slurm", DIRECTORY_SECONDS="60").stdout == "60\n"


def test_mail_goes_to_files_until_a_server_is_named(tmp_path: Path) -> None:
    code = "import portal.settings as s; print(s.EMAIL_BACKEND, s.SITE_URL, s.DEFAULT_FROM_EMAIL, s.EMAIL_USE_TLS)"
    named = {"SMTP_HOST": "mail.example", "SMTP_SECURITY": "starttls", "SITE_URL": "https://kaiku.example/"}
    moved = {"BIND": "0.0.0.0:8133"}
    assert [started(code, KAIKU_VAR_DIR=str(tmp_path), **more).stdout for more in ({}, moved, named)] == [
        "reports.mail.services.files.FileBackend http://127.0.0.1:8000 Kaiku <kaiku@127.0.0.1> False\n",
        "reports.mail.services.files.FileBackend http://127.0.0.1:8133 Kaiku <kaiku@127.0.0.1> False\n",
        "reports.mail.emails.SmtpBackend https://kaiku.example Kaiku <kaiku@kaiku.example> True\n",
    ]


EXPORTED = (
    f"{SCHEDULE}; import portal.settings as s;"
    " print(s.EXPORT_TARGET, s.EXPORT_FORMAT, 'EXPORT_SECONDS' in beat_schedule())"
)


def test_runs_are_exported_where_a_target_is_named(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden\n")
    store = {
        **{"EXPORT_TARGET": "s3://runs/kaiku", "EXPORT_FORMAT": "parquet", "EXPORT_S3_ENDPOINT": "https://s3.example"},
        **{"EXPORT_S3_ACCESS_KEY": "a", "EXPORT_S3_SECRET_KEY_FILE": str(tmp_path / "secret")},
    }
    targets = ({}, {"EXPORT_TARGET": "/data/export/"}, store)
    assert [started(EXPORTED, KAIKU_VAR_DIR=str(tmp_path), **target).stdout for target in targets] == [
        "None learning False\n",
        "/data/export learning True\n",
        "s3://runs/kaiku parquet True\n",
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"EXPORT_TARGET": "data/export"}, "EXPORT_TARGET must be the absolute path of a folder"),
        ({"EXPORT_TARGET": "s3://runs", "EXPORT_S3_SECRET_KEY": "hidden"}, "EXPORT_S3_ACCESS_KEY and EXPORT_S3_SECRET"),
        ({"EXPORT_FORMAT": "xlsx"}, "EXPORT_FORMAT must be one of learning, jsonl, csv, parquet"),
        ({"EXPORT_FORMAT": "institutional"}, "institutional is made of closed months"),
        ({"EXPORT_SECONDS": "86400"}, "EXPORT_SECONDS must be at most 3600"),
    ],
)
def test_a_target_that_cannot_be_one_stops_the_start(tmp_path: Path, wrong: dict[str, str], said: str) -> None:
    failed = started(EXPORTED, KAIKU_VAR_DIR=str(tmp_path), **wrong)
    assert (failed.returncode, said in failed.stderr, "hidden" in failed.stderr) == (1, True, False), failed.stderr


TRANSPORT = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings"
import django; django.setup()
from django.core.management import call_command
from django.test import Client
call_command("check", deploy=True, fail_level="WARNING", verbosity=0)
from jobs.models import User
User.objects.create_user("alice", password="a password of hers")
plain = Client().get("/about/", headers={"host": "kaiku.example"})
print(plain.status_code, plain["Location"])
client = Client(headers={"host": "kaiku.example"})
answer = client.post("/sign-in/", {"username": "alice", "password": "a password of hers"}, secure=True)
page = client.get("/settings/", secure=True)
print(page.status_code, page["Strict-Transport-Security"], page["X-Content-Type-Options"], page["Referrer-Policy"])
for name in ("sessionid", "csrftoken"):
    cookie = client.cookies[name]
    print(name, cookie["secure"], bool(cookie["httponly"]), cookie["samesite"])
"""


def test_a_server_speaks_https_alone_and_so_do_its_cookies(tmp_path: Path) -> None:
    """Django's own check for deployments has nothing to say either."""
    site = {"KAIKU_VAR_DIR": str(tmp_path), "HTTPS": "1", "ALLOWED_HOSTS": "kaiku.example", "SECRET_KEY": "Kq7-vb" * 10}
    copy_sqlite(tmp_path / "kaiku.sqlite3")
    said = started(TRANSPORT, **site)
    assert said.stdout.splitlines() == [
        "System check identified no issues (0 silenced).",
        "301 https://kaiku.example/about/",
        "200 max-age=31536000; includeSubDomains; preload nosniff same-origin",
        "sessionid True True Lax",
        "csrftoken True False Lax",
    ], said.stderr
