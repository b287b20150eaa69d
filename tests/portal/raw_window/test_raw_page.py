"""The page that draws raw samples: only where the site wants it, for whom the CSV is, without scripts and with them."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import Job, JobOpening
from jobs.services import share_job
from metrics.services import record_raw_window
from tests.payloads import raw_payload
from tests.portal.conftest import carry_session

pytestmark = pytest.mark.django_db

JOB, PAGE = "/jobs/lumi/123456/", "/jobs/lumi/123456/raw/"
TICKS_S = [float(tick) for tick in range(600)]


def window(**changes: object) -> None:
    """Ten minutes: GPU 0 steady at 50 %, GPU 1 idle but for one second at 300 s."""
    spike = [100.0 if tick == 300 else 0.0 for tick in range(600)]
    gpus = [{"gpu_id": at, "util": util, "mem_gb": [10.0] * 600} for at, util in enumerate(([50.0] * 600, spike))]
    record_raw_window(raw_payload(*gpus, **{"at_s": TICKS_S} | changes))


@pytest.fixture
def drawn(cast, reported, settings):
    settings.RAW_ON_PAGE = True
    reported()
    window()
    return cast


def words(client: Client, path: str = PAGE) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", " ", answer.content.decode())))


def test_it_is_there_only_where_the_site_turns_it_on(drawn, settings) -> None:
    alice = drawn("alice")
    assert f'href="{PAGE}?attempt=0"' in alice.get(JOB).content.decode()
    settings.RAW_ON_PAGE = False
    assert alice.get(PAGE).status_code == 404
    page = alice.get(JOB).content.decode()
    assert PAGE not in page
    assert "raw-samples.csv" in page


def test_it_opens_for_whom_the_csv_opens(drawn) -> None:
    people = ("alice", "carol", "bob", "dave", "erin", "frank", "grace")
    statuses = (200, 200, 404, 404, 404, 404, 404)
    assert {name: drawn(name).get(PAGE).status_code for name in people} == dict(zip(people, statuses, strict=True))
    assert Client().get(PAGE)["Location"] == f"/sign-in/?next={PAGE}"
    share_job(Job.objects.get(), days=7, note="why?", now=timezone.now())
    assert drawn("erin").get(PAGE).status_code == 200
    assert set(JobOpening.objects.values_list("user__username", flat=True)) == {"carol", "erin"}


def test_it_is_nobodys_while_only_the_owner_tells_of_the_run(drawn) -> None:
    Job.objects.update(is_told_by_owner=True)
    assert drawn("alice").get(PAGE).status_code == 404
    assert PAGE not in drawn("alice").get(JOB).content.decode()


@pytest.mark.parametrize("query", ["?node=nid009999", "?attempt=1", "?attempt=0&node=nid%205"])
def test_what_is_not_there_is_not_found(drawn, query: str) -> None:
    assert drawn("alice").get(PAGE + query).status_code == 404


def test_without_a_window_there_is_no_page(cast, reported, settings) -> None:
    settings.RAW_ON_PAGE = True
    reported()
    assert cast("alice").get(PAGE).status_code == 404


def test_it_says_in_words_and_in_a_table_what_it_draws(drawn) -> None:
    said = words(drawn("alice"))
    assert "Node nid005123, 0 s to 599 s after 2026-11-20 11:50 UTC" in said
    assert "GPU 0 50.0 % 50.0 % 50.0 % 600 0" in said
    # One second of 600 at 100 %.
    assert "GPU 1 0.0 % 0.2 % 100.0 % 600 0" in said
    picture = drawn("alice").get(PAGE).content.decode()
    assert 'aria-label="GPU use of 2 GPUs on nid005123, 0 s to 599 s: between 0.0 and 100.0 %."' in picture
    assert "style=" not in picture


def test_every_link_of_it_leads_on_without_scripts(drawn) -> None:
    alice = drawn("alice")
    zoomed = words(alice, f"{PAGE}?attempt=0&node=nid005123&from=290&to=310")
    assert "290 s to 310 s after" in zoomed
    assert "GPU 1 0.0 % 4.8 % 100.0 % 21 0" in zoomed
    page = alice.get(PAGE).content.decode()
    links = {html.unescape(link) for link in re.findall(r'href="(\?attempt[^"]+)"', page)}
    assert "?attempt=0&node=nid005123&from=149.75&to=449.25" in links
    assert len(links) == 1 + 6, "zooming in, and six parts"
    assert {alice.get(PAGE + link).status_code for link in links} == {200}


def test_several_nodes_are_chosen_from_a_list_and_very_many_are_written(drawn, monkeypatch) -> None:
    window(node="nid005124")
    alice = drawn("alice")
    assert "<option selected>nid005123</option><option>nid005124</option>" in alice.get(PAGE).content.decode()
    assert "Node nid005124, 0 s" in words(alice, f"{PAGE}?node=nid005124")
    monkeypatch.setattr("portal.pages.raw_window.views.NODES_LISTED_MAX", 1)
    assert '<input id="id_node" name="node" value="nid005123"' in alice.get(PAGE).content.decode()


def test_only_the_chosen_node_is_read(drawn) -> None:
    for number in range(20):
        window(node=f"nid00600{number:02d}")
    alice = drawn("alice")
    alice.get(PAGE)
    with CaptureQueriesContext(connection) as queries:
        alice.get(PAGE)
    whole = [query["sql"] for query in queries if "mem_gb" in query["sql"]]
    assert len(whole) == 1
    assert "nid005123" in whole[0]


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_keys_zoom_and_read_the_lanes_in_place(drawn, browser, live_server) -> None:
    context = browser.new_context(base_url=live_server.url, viewport={"width": 390, "height": 900})
    carry_session(context, live_server, drawn("alice"))
    page, errors = context.new_page(), []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(PAGE)
    page.evaluate("window.isTheSamePage = true")
    page.focus("text=Zoom in")
    for from_s in ("149.75", "224.625"):
        page.keyboard.press("Enter")
        page.wait_for_url(f"**from={from_s}&**")
        page.wait_for_function(f"document.querySelector('#id_from').value === '{from_s}'")
    assert page.evaluate("[window.isTheSamePage, document.activeElement.textContent]") == [True, "Zoom in"]
    page.locator("[data-plot][tabindex]").first.focus()
    page.keyboard.press("ArrowDown")
    # 224.625 s to 374.375 s in 360 columns: 300 s is in column 181.
    for _ in range(181):
        page.keyboard.press("ArrowRight")
    assert page.locator(".reading").first.text_content() == "GPU 1, 299.9 s to 300.3 s: 100.0 %"
    page.click("text=Whole window")
    page.wait_for_url("**from=0&to=599")
    page.go_back()
    page.wait_for_function("document.querySelector('#id_from').value === '224.625'")
    assert errors == []
    context.close()
