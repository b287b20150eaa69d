"""The page of a job in a real browser: its first screen, copying, zooming, finding a node, addresses, printing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.core.management import call_command

from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload
from tests.portal.conftest import PASSWORD, carry_session, overflow_px

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGE = "/jobs/lumi/123456/"
BOTTOM = "part => part.getBoundingClientRect().bottom + scrollY"


@pytest.fixture
def opened(browser, live_server, cast) -> Iterator[Callable[..., object]]:
    """A page of somebody who is signed in."""
    contexts = []

    def page_of(name: str = "alice", path: str = PAGE, **more: object) -> object:
        settings = {"viewport": {"width": 1280, "height": 800}, "base_url": live_server.url, **more}
        context = browser.new_context(**settings)
        contexts.append(context)
        carry_session(context, live_server, cast(name))
        page = context.new_page()
        page.goto(path)
        page.wait_for_load_state("networkidle")
        return page

    yield page_of
    for context in contexts:
        context.close()


def test_the_first_screen_holds_the_answer_and_what_to_change(opened, reported) -> None:
    reported()
    page = opened()
    assert page.locator(".class-name").evaluate(BOTTOM) < 800
    assert page.locator(".request-diff").evaluate(BOTTOM) < 800
    assert page.locator("button.copy").evaluate(BOTTOM) < 800
    assert page.locator("#figure-gpu_use").bounding_box()["y"] < 700
    phone = opened(viewport={"width": 390, "height": 844})
    assert overflow_px(phone) == 0
    order = [".job-line", ".class-name", ".request-diff", "#figure-gpu_use", "#why", "#every-node"]
    tops = [phone.locator(part).bounding_box()["y"] for part in order]
    assert tops == sorted(tops)
    # The job, its answer, three changed lines and the button that copies them: 844 px are the first screen.
    three = "[...document.querySelectorAll('.request-diff .line')].slice(6).forEach((line) => line.remove())"
    phone.evaluate(three)
    assert phone.locator("button.copy").evaluate(BOTTOM) <= 844


def test_from_the_sign_in_two_clicks_copy_the_new_request(browser, live_server, reported) -> None:
    reported()
    context = browser.new_context(base_url=live_server.url, permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto("/sign-in/?next=/jobs/")
    page.fill("#id_username", "alice")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_load_state("networkidle")
    page.locator(f"a[href^='{PAGE}']").first.click()
    page.wait_for_load_state("networkidle")
    page.click("text=Copy new request")
    page.wait_for_selector("text=Copied")
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[:2] == ["#SBATCH --gpus-per-node=2", "#SBATCH --ntasks-per-node=2"]
    context.close()


def test_use_over_time_is_zoomed_by_dragging_and_by_keys_and_shown_whole_again(opened, reported) -> None:
    reported()
    page = opened()
    plot, said = page.locator("#figure-gpu_use [data-plot]"), page.locator("#figure-gpu_use .reading")
    box = plot.bounding_box()
    # The axes begin after 0.61 of 11.4 inch and are 10.59 wide: from the half to three quarters of 120 minutes.
    left, width = box["x"] + box["width"] * 0.61 / 11.4, box["width"] * 10.59 / 11.4
    middle = box["y"] + box["height"] / 2
    page.mouse.move(left + width * 0.5 + 2, middle)
    page.mouse.down()
    page.mouse.move(left + width * 0.75 - 2, middle, steps=4)
    page.mouse.up()
    assert page.locator(".zoom-bar [role=status]").inner_text() == "Shown: 1:00:00 to 1:30:00"
    # The course, and its line in the legend.
    assert page.locator(".zoomed polyline.mean").count() == page.locator(".zoomed line.mean").count() == 1
    assert page.locator(".zoomed .legend").all_text_contents() == ["least to most used", "mean"]
    assert page.locator(".zoomed .title").all_text_contents() == ["time since the start", "GPU use (%)"]
    times = page.locator(".zoomed text:not([class])").all_text_contents()
    assert (times[times.index("1:00:00") :][-1], page.locator(".zoomed .disc").count()) == ("1:30:00", 2)
    plot.focus()
    page.keyboard.press("Home")
    assert said.inner_text().startswith("1:00:00: 22.0 %")
    page.keyboard.press("End")
    assert said.inner_text().startswith("1:29:00: 22.0 %")
    # Half of thirty columns, the last of them in sight.
    page.keyboard.press("+")
    assert page.locator(".zoom-bar [role=status]").inner_text() == "Shown: 1:15:00 to 1:30:00"
    page.click("text=Show the whole run")
    assert page.locator(".zoomed").count() == 0
    assert page.locator("text=Show the whole run").is_hidden()
    page.keyboard.press("Home")
    assert said.inner_text().startswith("0:00:00: 22.0 %")


def test_without_scripts_the_picture_stays_and_every_node_is_reached(opened) -> None:
    nodes = [f"nid{number:06d}" for number in range(20)]
    record_job(job_record(nodes=nodes, node_count=20, gpus_allocated=160))
    for number, name in enumerate(nodes):
        record_node_summary(node_payload(node=name, gpus=[gpu(0, 10.0 + number)]))
    call_command("analyse_job", "--due", verbosity=0)
    page = opened(java_script_enabled=False)
    assert page.locator("#figure-gpu_use img").is_visible()
    assert page.locator(".zoom-bar").count() == 0
    page.click("#every-node > summary")
    assert page.locator("tr.node th").first.inner_text() == "nid000000"
    page.click("nav[aria-label='Pages of nodes'] >> text=2")
    assert page.locator("tr.node th").all_inner_texts() == nodes[8:16]
    page.fill("#node", "19")
    page.click(".node-search button")
    page.wait_for_url("**node=19**")
    assert page.locator("tr.node th").all_inner_texts() == ["nid000019"]
    assert page.url.endswith("#every-node")
    assert overflow_px(page) == 0


def test_an_address_that_points_into_a_fold_opens_it(opened, reported) -> None:
    reported()
    page = opened(path=f"{PAGE}#figure-gpu_memory")
    assert page.locator("#figure-gpu_memory img").is_visible()
    page.goto(f"{PAGE}#finding-parallelism_mismatch")
    assert page.locator("#finding-parallelism_mismatch").bounding_box()["y"] < 800


def test_on_paper_stands_the_report_without_the_menu(opened, reported) -> None:
    reported()
    page = opened(name="alice")
    page.emulate_media(media="print")
    for gone in (".top", "button.copy", ".said", "#note", "#support", ".zoom-bar"):
        assert not page.locator(gone).first.is_visible(), gone
    for there in (
        ".crumbs",
        ".class-name",
        ".request-diff",
        "#figure-gpu_use img",
        "#figure-gpu_heatmap img",
        "#facts dl",
    ):
        assert page.locator(there).first.is_visible(), there


def test_a_pi_reads_of_a_members_job_and_cannot_write_notes(opened, reported) -> None:
    reported()
    page = opened(name="carol")
    assert page.locator(".sentence").inner_text() == "alice's job kept its 8 GPUs busy 22.0\u00a0% of the time."
    assert not re.search(r"\byour\b", page.locator("main").inner_text(), re.IGNORECASE)
    assert page.locator("#note").count() == 0
