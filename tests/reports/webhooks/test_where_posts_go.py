"""Where webhooks post to: the https port of public addresses, whatever a name or a redirect says; nowhere else."""

from __future__ import annotations

import pytest

from reports.webhooks.services.posting import checked_target, may_reach, post
from tests.education.test_link_addresses import INSIDE, LOOPBACK, PUBLIC, server
from tests.internet import seen_by

NOT_PUBLIC = "leads to an address that is not public"
NOT_USED = "not an address that may be used"


@pytest.mark.parametrize("host", LOOPBACK)
def test_no_spelling_of_this_machine_is_posted_to(host: str) -> None:
    reached: list[object] = []
    with server(reached.append) as port:
        for address in (f"https://{host}:{port}/", f"https://{host}/"):
            said = post(address, b"{}", {}).said
            assert said in (NOT_PUBLIC, NOT_USED) or said.startswith("not reached: ")
    assert not reached


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_of_somebodys_own_network_are_not_reached(address: str) -> None:
    assert not may_reach(address, 443)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached_on_the_port_of_https_alone(address: str) -> None:
    assert [port for port in range(1, 65536) if may_reach(address, port)] == [443]


def test_loopback_is_reached_only_where_the_site_allows_it_and_no_other_private_network(settings) -> None:
    settings.WEBHOOK_LOOPBACK = True
    assert [may_reach(address, 8443) for address in ("127.0.0.1", "::1", "10.0.0.1", "169.254.169.254")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_beginning_of_an_address_is_https() -> None:
    with pytest.raises(ValueError, match="https://"):
        checked_target("http://hooks.example.org/")


ANSWERS = {
    "https://9.9.9.9/page": "200 OK",
    "https://9.9.9.9/redirect": "307 Temporary Redirect: redirects are not followed",
    "https://inside.example/": NOT_PUBLIC,
    # Public at the first question and loopback ever after: it is asked once, and the post goes to that answer.
    "https://changes.example/": "200 OK",
    "https://127.0.0.1/": NOT_USED,
    "https://2130706433/": NOT_USED,
    "http://9.9.9.9/": NOT_USED,
}


@pytest.fixture(scope="module")
def seen_in_public(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What webhooks as shipped reach in an internet of their own."""
    return seen_by("tests.reports.webhooks.public_web", [*ANSWERS], tmp_path_factory.mktemp("public-web"))


def test_what_is_public_gets_posts_and_what_is_not_gets_none(seen_in_public: dict) -> None:
    assert seen_in_public["answers"] == ANSWERS
    assert seen_in_public["posts"] == {"9.9.9.9": ["/page", "/redirect", "/"], "127.0.0.1": []}
