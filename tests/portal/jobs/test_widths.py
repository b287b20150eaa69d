"""The Jobs page at the widths of phones, tablets and desktops, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe

from reports.wording import TITLES
from tests.portal.conftest import carry_session, overflow_px
from tests.portal.jobs.test_job_pages import run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE = {"width": 390, "height": 844}
# How much of a finding's title is seen: the characters that fit into its link, in its own type.
SEEN = """link => {
    const range = document.createRange();
    const text = link.firstChild;
    const right = link.getBoundingClientRect().right;
    let end = 0;
    while (end < text.length) {
        range.setStart(text, end);
        range.setEnd(text, end + 1);
        if (range.getBoundingClientRect().right > right + 0.5) break;
        end += 1;
    }
    return text.data.slice(0, end);
}"""


@pytest.fixture
def opened(browser, live_server, cast) -> Iterator[Callable[..., object]]:
    """The Jobs page of somebody at some width."""
    contexts = []

    def open_page(name: str, address: str = "", **options: object) -> object:
        context = browser.new_context(base_url=live_server.url, reduced_motion="reduce", **options)
        contexts.append(context)
        carry_session(context, live_server, cast(name))
        page = context.new_page()
        page.goto(f"/jobs/{address}")
        return page

    yield open_page
    for context in contexts:
        context.close()


def of_every_kind() -> None:
    """Every finding with more behind it, hours of many digits, names without a space, an array, a short run."""
    for job_id, code in enumerate(TITLES, start=1):
        judged = {
            "efficiency_class": "INEFFICIENT",
            "finding_codes": f" {code} timeout idle_gpus ",
            "wasted_gpu_hours": 1234.5,
            "gpu_hours": 2345.6,
            "is_partial": True,
            "uncounted_reason": "short" if job_id % 3 == 0 else "",
        }
        name = "a_name_without_any_space_to_break_" * 2 if job_id % 2 else "md"
        run(17300000 + job_id, judged=judged, job_name=name, gpus_allocated=1024, state="OUT_OF_MEMORY")
    for task in range(30):
        name = ("WASTED", "INEFFICIENT", "EFFICIENT")[task % 3]
        judged = {"efficiency_class": name, "wasted_gpu_hours": 1234.5}
        run(17200000 + task, array_job_id=17200000, array_task_id=task, job_name="sweep", judged=judged)


@pytest.mark.parametrize("name", ["alice", "carol"])
def test_a_page_of_jobs_on_a_phone_is_at_most_2500_pixels_high(opened, name: str) -> None:
    for job_id in range(1, 31):
        run(job_id, job_name="even" if job_id % 2 == 0 else "odd")
    page = opened(name, viewport=PHONE)
    assert page.locator("#shown tbody tr").count() == 25
    assert page.evaluate("document.documentElement.scrollHeight") <= 2500
    assert overflow_px(page) == 0


def test_no_two_findings_read_alike_on_a_phone_and_nothing_is_wider_than_it(opened) -> None:
    of_every_kind()
    page = opened("carol", viewport=PHONE)
    assert overflow_px(page) == 0
    links = page.locator("td.finding a")
    seen = [links.nth(place).evaluate(SEEN) for place in range(links.count())]
    assert len(seen) == len(TITLES)
    for text in seen:
        assert sum(title.startswith(text[:-1]) for title in TITLES.values()) == 1, text
    row = page.locator("tbody tr:not(.array)").first
    assert row.locator("td.finding small").bounding_box()["width"] > 5
    for part in ("text=Inefficient", ".partial", ".owner"):
        box = row.locator(part).first.bounding_box()
        assert box["width"] > 20
        assert box["x"] + box["width"] <= PHONE["width"]
    unit = "getComputedStyle(document.querySelector('td.unused.known'), '::after').content"
    assert page.evaluate(unit) == '"\u00a0GPU-h unused"'


def test_an_array_shows_its_classes_and_a_short_run_its_mark_on_a_phone(opened) -> None:
    of_every_kind()
    page = opened("alice", viewport=PHONE)
    array = page.locator("tr.array td.class")
    for part in ("10 Wasted", "10 Inefficient", "10 Efficient"):
        assert array.get_by_text(part, exact=True).is_visible()
    assert page.locator("text=short, not counted").first.is_visible()


@pytest.mark.parametrize("address", ["", "?sort=class", "?group=work", "?array=lumi/17200000"])
def test_the_page_of_a_pi_never_scrolls_sideways(opened, address: str) -> None:
    of_every_kind()
    page = opened("carol", address, viewport={"width": 1280, "height": 800})
    widths = (320, 390, 600, 736, 738, 800, 900, 1000, 1040, 1100, 1150, 1175, 1201, 1280)
    wider = {}
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        if over := overflow_px(page):
            wider[width] = over
    assert wider == {}


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 800}], ids=["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["?sort=finding", "?group=work"])
def test_no_barrier_in_any_of_its_lists(opened, address: str, scheme: str, viewport: dict[str, int]) -> None:
    of_every_kind()
    page = opened("carol", address, viewport=viewport, color_scheme=scheme)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_the_list_of_a_pi_stays_within_the_page_however_long_its_names(opened, reported) -> None:
    reported(1, job_name="a_name_without_any_space_to_break_" * 4, gpus_allocated=1024)
    for job_id in range(2, 5):
        reported(job_id, job_name="x" * 60)
    page = opened("carol", viewport={"width": 1280, "height": 800})
    table, search = (page.locator(one).bounding_box() for one in (".job-table", ".job-filters"))
    name, finding = (page.locator(f"td.{one}").first.bounding_box() for one in ("name", "finding"))
    assert table["x"] + table["width"] <= search["x"] + search["width"] + 1
    assert name["width"] <= finding["width"], "the name is cut before the finding is squeezed"
