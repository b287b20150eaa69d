"""A person with a real browser and a real provider: in, around, out, and without an account."""

from __future__ import annotations

import copy
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.models import User
from portal.sign_in.provider import Provider, form_targets
from tests.parts import need
from tests.portal.conftest import overflow_px
from tests.portal.provider import forget_answers
from tests.processes import PATIENCE_S

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROOT = Path(__file__).resolve().parents[3]
CLIENT_ID, SECRET, PASSWORD = "kaiku", "a client's secret", "a person's long password"


@pytest.fixture
def canaille(live_server, settings, tmp_path: Path) -> Iterator[str]:
    """The provider in a process of its own, the portal configured for it; its address."""
    need("Canaille")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.portal.canaille_site", str(port), live_server.url]
    with (tmp_path / "canaille.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    try:
        wait_for(port, process)
        issuer = f"http://127.0.0.1:{port}"
        settings.OIDC_PROVIDER = Provider(issuer, CLIENT_ID, SECRET, name="Canaille")
        settings.AUTHENTICATION_BACKENDS = ["portal.sign_in.backend.ProviderBackend"]
        policy = copy.deepcopy(settings.CONTENT_SECURITY_POLICY)
        policy["DIRECTIVES"]["form-action"] += form_targets(settings.OIDC_PROVIDER)
        settings.CONTENT_SECURITY_POLICY = policy
        forget_answers()
        yield issuer
    finally:
        process.terminate()
        process.wait()


def wait_for(port: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert process.poll() is None, "the provider ended at its start"
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline, "the provider does not listen"
        time.sleep(0.1)


def identify(page, name: str) -> None:
    """What a person does on the provider's own pages."""
    page.fill("input[name=login]", name)
    page.keyboard.press("Enter")
    page.fill("input[name=password]", PASSWORD)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("width", [1280, 390])
def test_through_the_provider_and_out_of_it_again(browser, live_server, canaille: str, width: int) -> None:
    User.objects.create_user("alice", oidc_subject="alice@myaccessid.org")
    page = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if live_server.url in str(message.location) else None)

    page.goto(f"{live_server.url}/jobs/?class=WASTED")
    assert "Please sign in to see that page." in page.text_content("main")
    assert overflow_px(page) == 0
    page.click("text=Sign in with Canaille")
    page.wait_for_url(f"{canaille}/**")
    identify(page, "alice")
    page.wait_for_url(f"{live_server.url}/jobs/?class=WASTED")
    assert page.text_content(".who span") == "alice"
    assert User.objects.get().email == "alice@example.org"

    page.click("text=Sign out")
    page.wait_for_url(f"{live_server.url}/sign-in/")
    page.goto(f"{live_server.url}/jobs/")
    page.click("text=Sign in with Canaille")
    page.wait_for_url(f"{canaille}/**")
    page.wait_for_selector("input[name=login]")  # The provider asks again who it is.
    assert said == [], "this portal's own pages keep their own policy"
    page.close()


def test_an_identity_without_an_account_is_told_why(browser, live_server, canaille: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(live_server.url)
    page.click("text=Sign in with Canaille")
    identify(page, "frank")
    page.wait_for_url(f"{live_server.url}/sign-in/no-account/")
    assert overflow_px(page) == 0
    assert page.text_content(".identifier").strip() == "frank@myaccessid.org"
    assert not User.objects.exists()

    User.objects.create_user("frank", oidc_subject="frank@myaccessid.org")
    page.click("a.button >> text=Try again")
    page.wait_for_url(f"{live_server.url}/")
    page.close()
