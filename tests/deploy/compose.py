"""deploy/compose.yaml as a reader of it understands it: with its variables filled in, one value for each service."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "deploy/compose.yaml"
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::([-?])([^${}]*))?\}")


def filled(text: str, variables: dict[str, str]) -> str:
    """The text with `${NAME}`, `${NAME:-default}` and `${NAME:?error}` replaced, inner ones first, and `$$` as `$`."""

    def value(found: re.Match[str]) -> str:
        name, kind, default = found.groups()
        assert kind != "?" or name in variables, f"{name}: {default}"
        return variables.get(name) or (default if kind == "-" else "") or ""

    while VARIABLE.search(text):
        text = VARIABLE.sub(value, text)
    return text.replace("$$", "$")


def composition(**variables: str) -> dict[str, Any]:
    """The whole file; anchors and merges are YAML's own."""
    return _each(yaml.safe_load(FILE.read_text()), variables)


def _each(part: Any, variables: dict[str, str]) -> Any:
    if isinstance(part, dict):
        return {key: _each(value, variables) for key, value in part.items()}
    if isinstance(part, list):
        return [_each(value, variables) for value in part]
    return filled(part, variables) if isinstance(part, str) else part
