"""The links that MLflow's clients print: they lead to the pages of the run and of the experiment."""

from __future__ import annotations

import re

import pytest
from django.test import Client

RUN_ID = "0123456789abcdef" * 2
PLACES = [
    (f"/mlflow/#/experiments/7/runs/{RUN_ID}", f"/runs/{RUN_ID}/"),
    (f"/mlflow/j/lumi/123456/#/experiments/7/runs/{RUN_ID}/model-metrics?a=1", f"/runs/{RUN_ID}/"),
    ("/mlflow/j/123456/#/experiments/7", "/experiments/7/"),
    (f"/mlflow/#/experiments/7/runs/{RUN_ID}x", "/experiments/7/"),
]
NOWHERE = ["/mlflow/", "/mlflow/#/experiments//evil.example", "/mlflow/#/models"]


@pytest.mark.parametrize("path", ["/mlflow/", "/mlflow/j/123456", "/mlflow/j/lumi/123456/", "/mlflow/j/"])
def test_the_page_is_open_and_has_no_script_within(db: None, path: str) -> None:
    answer = Client().get(path)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "MLFLOW_TRACKING_TOKEN" in page
    assert re.findall(r"<script[^>]*>(.*?)</script>", page) == ["", ""]
    assert "script-src 'self'" in answer["Content-Security-Policy"]


def test_the_address_without_its_slash_leads_there(db: None) -> None:
    assert Client().get("/mlflow")["Location"] == "/mlflow/"


@pytest.mark.browser
def test_a_link_leads_to_the_page_of_its_run(live_server, browser) -> None:
    page = browser.new_page()
    for link, place in PLACES:
        page.goto("about:blank")
        with page.expect_request(f"{live_server.url}{place}"):
            page.goto(live_server.url + link)
    for link in NOWHERE:
        page.goto("about:blank")
        page.goto(live_server.url + link, wait_until="networkidle")
        assert page.url == live_server.url + link
    page.goto(f"{live_server.url}/mlflow/")
    with page.expect_request(f"{live_server.url}/experiments/7/"):
        page.evaluate("location.hash = '#/experiments/7'")
