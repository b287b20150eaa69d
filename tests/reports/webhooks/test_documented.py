"""What docs/webhooks.md states: its lines that check a signature, and the fields of the body."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.early.findings import EarlyCode
from reports.early.services.telling import told_words
from reports.webhooks.services.secrets import signature
from reports.webhooks.shape import Shape
from reports.webhooks.shapes import Post, body_of
from tests.early_words import FOUND_AT, found_word

DOCUMENT = (Path(__file__).parents[3] / "docs/webhooks.md").read_text()
NOW_S = 1_800_000_000


@pytest.fixture
def check() -> Any:
    """The function of the document."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.S)
    names: dict[str, Any] = {}
    exec(code, names)
    return names["is_from_kaiku"]


def test_its_lines_accept_what_is_sent_and_refuse_the_rest(check) -> None:
    header = signature("secret", NOW_S, b'{"a":1}')
    assert check("secret", header, b'{"a":1}', NOW_S + 299)
    assert not check("another", header, b'{"a":1}', NOW_S)
    assert not check("secret", header, b'{"a":2}', NOW_S)
    assert not check("secret", header, b'{"a":1}', NOW_S + 300), "a repeated one"
    assert not check("secret", header.replace(f"t={NOW_S}", f"t={NOW_S + 1}"), b'{"a":1}', NOW_S)


@pytest.mark.django_db
def test_every_field_and_code_is_in_the_document() -> None:
    words = told_words([found_word()], FOUND_AT)
    told = json.loads(body_of(Shape.GENERIC, Post("key", words, FOUND_AT)))
    word = told["words"][0]
    for name in (*told, *word, *word["job"], *word["possibility"], *(code.value for code in EarlyCode)):
        assert re.search(rf"`(words\[\]\.)?{name}`", DOCUMENT), name
    assert f"`{told['schema']}`" in DOCUMENT
