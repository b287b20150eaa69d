"""The settings: what the environment may say is written down, and a server starts safe or not at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READS = re.compile(r'\b(?:text|flag|number|words|choice|mail_address)\("([A-Z_]+)"')


def started(**environment: str) -> subprocess.CompletedProcess:
    """Import the settings in a process of its own, with nothing but this environment."""
    code = "import portal.settings as s; print(s.IS_EMBEDDED, s.IS_HTTPS, s.DEBUG, s.ALLOWED_HOSTS)"
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
    assert started(KAIKU_VAR_DIR=str(tmp_path)).stdout == "True False False ['127.0.0.1', 'localhost']\n"


def test_a_server_is_https_only_and_needs_its_key(tmp_path: Path) -> None:
    server = {"KAIKU_VAR_DIR": str(tmp_path), "DATABASE_URL": "postgres://kaiku@db.example/kaiku"}
    assert "SECRET_KEY or SECRET_KEY_FILE is required" in started(**server).stderr
    assert started(**server, SECRET_KEY="k", ALLOWED_HOSTS="kaiku.example").stdout == (
        "False True False ['kaiku.example']\n"
    )


def test_mail_goes_to_files_until_a_server_is_named(tmp_path: Path) -> None:
    code = "import portal.settings as s; print(s.EMAIL_BACKEND, s.SITE_URL, s.DEFAULT_FROM_EMAIL, s.EMAIL_USE_TLS)"
    kept = {"PATH": os.environ["PATH"], "KAIKU_VAR_DIR": str(tmp_path)}
    named = {"SMTP_HOST": "mail.example", "SMTP_SECURITY": "starttls", "SITE_URL": "https://kaiku.example/"}
    said = [
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True).stdout
        for env in (kept, kept | named)
    ]
    assert said == [
        "reports.services.mail_files.FileBackend http://127.0.0.1:8000 Kaiku <kaiku@127.0.0.1> False\n",
        "reports.emails.SmtpBackend https://kaiku.example Kaiku <kaiku@kaiku.example> True\n",
    ]
