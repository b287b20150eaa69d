"""The JSON Schema of learning documents, as the file beside this module has it."""

import json
from pathlib import Path
from typing import Any

import msgspec

from analysis.anonymous.lines import DIALECT
from reports.performance.learning.document import SCHEMA, LearningDocument

FILE = Path(__file__).with_name("kaiku-learning-1.schema.json")
"""What is published; `python -m reports.performance.learning.json_schema` writes it again."""


def json_schema() -> dict[str, Any]:
    """The schema as it follows from the types."""
    made = msgspec.json.schema(LearningDocument)
    return {"$schema": DIALECT, "$id": f"urn:kaiku:{SCHEMA.replace('/', ':')}", "title": SCHEMA, **_without_null(made)}


def _without_null(schema: Any) -> Any:
    """The same without null as a value: what is not known is absent."""
    if isinstance(schema, list):
        return [_without_null(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _without_null(value) for name, value in schema.items() if (name, value) != ("default", None)}
    kinds = [kind for kind in kept.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del kept["anyOf"]
        kept |= kinds[0]
    return kept


if __name__ == "__main__":
    FILE.write_text(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
