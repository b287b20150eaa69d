"""Where the links of a served portal lead."""

from __future__ import annotations

import pytest

from portal.management.commands.serve import link_to


@pytest.mark.parametrize(
    ("site_url", "leads_to"),
    [("http://127.0.0.1:8000", "http://127.0.0.1:8133"), ("https://kaiku.example", "https://kaiku.example")],
)
def test_links_lead_to_where_the_portal_is_served_unless_its_address_is_set(settings, site_url, leads_to) -> None:
    settings.BIND, settings.SITE_URL = "127.0.0.1:8000", site_url
    link_to("127.0.0.1:8133")
    assert leads_to == settings.SITE_URL
