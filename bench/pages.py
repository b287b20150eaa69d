"""What a person scrolls and clicks from signing in to the new request copied, and what each page weighs.

Feeds the sample jobs into a database of its own, serves it, and drives Chromium as one person on a desktop and on a
phone. Every figure stands beside its limit: the height of the screen, 2,500 px for 25 jobs on a phone, 250 kB a page.
Run by `python -m bench.pages`, within three minutes; ends with 1 where a limit is missed.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = "/usr/bin/chromium"
SCREENS = {"desktop": (1280, 800), "phone": (390, 844)}
PERSON = re.compile(r"with the biggest savings:\s+(\w+)")
PASSWORD = re.compile(r"with the password (\S+)")
REQUEST, COPY = ".request-diff", ".request-diff button.copy"
JOBS_ON_PHONE_PX, PAGE_BYTES, CLICKS_MAX, START_S = 2500, 250_000, 2, 60


@dataclass(frozen=True)
class Figure:
    """One measured figure beside its limit."""

    what: str
    screen: str
    measured: float
    limit: float

    def __str__(self) -> str:
        mark = "" if self.measured <= self.limit else "  missed"
        return f"{self.what:<52}{self.screen:<10}{self.measured:>9,.0f}{self.limit:>9,.0f}{mark}"


def main() -> int:
    """Print every figure; 1 where one is past its limit."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"KAIKU_VAR_DIR": folder, "DEMO_SERVE": "0"}
        fed = subprocess.run(
            [sys.executable, "-m", "demo"], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
        )
        person, password = (pattern.findall(fed.stdout)[0] for pattern in (PERSON, PASSWORD))
        with served(environment) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            found = [figure for screen in SCREENS for figure in walked(browser, address, screen, person, password)]
    print(f"{'':<52}{'screen':<10}{'measured':>9}{'limit':>9}")
    print(*found, sep="\n")
    return int(any(figure.measured > figure.limit for figure in found))


@contextmanager
def served(environment: dict[str, str]) -> Iterator[str]:
    """The portal on a free port of this machine, until the end of the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        bind = f"127.0.0.1:{free.getsockname()[1]}"
    server = subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--bind", bind],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://{bind}/healthz")
        yield f"http://{bind}"
    finally:
        server.terminate()
        server.wait()


def wait_for(address: str) -> None:
    """Until this address answers; TimeoutError after a minute."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"{address} does not answer")


def walked(browser: Browser, address: str, screen: str, person: str, password: str) -> Iterator[Figure]:
    """One person's way on one screen: from the sign-in to the copied request, twice, and the list of jobs."""
    width, height = SCREENS[screen]
    context = browser.new_context(viewport={"width": width, "height": height})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    weights: list[int] = []
    page.on("response", lambda answer: weights.append(weight(answer)))

    def opened(path: str) -> None:
        weights.clear()
        page.goto(address + path)
        page.wait_for_load_state("networkidle")

    opened("/sign-in/")
    page.fill("input[name=username]", person)
    page.fill("input[name=password]", password)
    page.press("input[name=password]", "Enter")
    page.wait_for_selector(REQUEST)
    opened("/")
    yield Figure("pixels from the top to the request on the dashboard", screen, top_px(page), height)
    yield Figure("clicks to copy it there", screen, clicks_to_copy(page, 0), CLICKS_MAX)
    yield Figure("bytes of the dashboard and all that it loads", screen, sum(weights), PAGE_BYTES)
    job = page.locator("a[href^='/jobs/lumi/']").first.get_attribute("href")
    opened("/jobs/")
    if screen == "phone":
        yield Figure("pixels of the list of 25 jobs", screen, height_px(page), JOBS_ON_PHONE_PX)
    yield Figure("bytes of the list of jobs", screen, sum(weights), PAGE_BYTES)
    assert job
    opened(job)
    yield Figure("pixels from the top to the request of a job", screen, top_px(page), height)
    yield Figure("clicks to copy it there, with the one to the job", screen, clicks_to_copy(page, 1), CLICKS_MAX)
    yield Figure("bytes of the page of a job", screen, sum(weights), PAGE_BYTES)
    context.close()


def weight(answer: Any) -> int:
    """Bytes of the body as they came over the line."""
    size: int = answer.request.sizes()["responseBodySize"]
    return size


def top_px(page: Page) -> float:
    """Where the first suggested request of a page begins."""
    return float(page.locator(REQUEST).first.evaluate("part => part.getBoundingClientRect().top + window.scrollY"))


def height_px(page: Page) -> float:
    """How high the whole page is."""
    return float(page.evaluate("document.documentElement.scrollHeight"))


def clicks_to_copy(page: Page, before: int) -> int:
    """Clicks until the new request is in the clipboard; it holds lines of a batch script then."""
    page.locator(COPY).first.click()
    copied = page.evaluate("navigator.clipboard.readText()")
    if not copied.startswith("#SBATCH "):
        raise AssertionError(f"the button copied {copied!r}")
    return before + 1


if __name__ == "__main__":
    sys.exit(main())
