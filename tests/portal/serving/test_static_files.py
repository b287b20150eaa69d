"""Static files: an address for each content, cached for long, sent compressed."""

from __future__ import annotations

import gzip
import re
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.templatetags.static import static
from django.test import Client

# The end of an answer looks at the connection to the database, if another test left one.
pytestmark = [pytest.mark.django_db, pytest.mark.one_database]
STYLE = Path(settings.BASE_DIR, "static/css/portal.css")


def test_an_address_names_the_content_and_is_cached_for_years() -> None:
    address = static("css/portal.css")
    assert re.fullmatch(r"/static/css/portal\.[0-9a-f]{12}\.css", address)
    with closing(Client().get(address)) as answer:
        assert b"".join(answer) == STYLE.read_bytes()
    assert answer["Cache-Control"] == "max-age=315360000, public, immutable"


def test_the_plain_address_works_and_is_cached_for_a_minute() -> None:
    with closing(Client().get("/static/css/portal.css")) as answer:
        assert answer["Cache-Control"] == "max-age=60, public"


def test_text_is_sent_compressed_to_whoever_takes_it() -> None:
    address, browser = static("css/portal.css"), Client(headers={"Accept-Encoding": "gzip, deflate, br"})
    with closing(browser.get(address)) as answer:
        content = b"".join(answer)
    assert (answer["Content-Encoding"], answer["Content-Type"]) == ("gzip", 'text/css; charset="utf-8"')
    assert "Accept-Encoding" in answer["Vary"]
    assert gzip.decompress(content) == STYLE.read_bytes()
    assert len(content) < STYLE.stat().st_size / 2


def test_a_name_without_a_file_stays_as_it_is_and_is_not_found() -> None:
    assert static("css/nothing.css") == "/static/css/nothing.css"
    assert Client().get("/static/css/portal.000000000000.css").status_code == 404
