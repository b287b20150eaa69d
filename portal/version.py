"""The version of the portal. It is set only in pyproject.toml; the collector has its own in wire/payloads.py."""

import tomllib
from pathlib import Path

PROJECT_FILE = Path(__file__).resolve().parent.parent / "pyproject.toml"

VERSION: str = tomllib.loads(PROJECT_FILE.read_text())["project"]["version"]
