"""The pages for operators: every alert has its heading, every link leads somewhere, every setting exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.deploy.compose import ROOT

PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
NOT_SETTINGS = set(
    "KAIKU_HOST KAIKU_SITE KEEP_DAYS KAIKU_URL KAIKU_TOKEN KAIKU_LOG_TOKEN MLFLOW_TRACKING_TOKEN".split()
)
"""Of compose.yaml, of the script that dumps, of `kaiku` in the terminal, and of MLflow's clients."""


def test_the_heading_of_each_alert_says_what_it_means_how_to_look_and_what_to_do() -> None:
    parts = re.split(r"^## (\w+)$", (ROOT / "docs/runbook.md").read_text(), flags=re.M)[1:]
    assert len(parts) > 40, "tests/deploy/test_monitoring.py compares them with the rules"
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        assert re.findall(r"^\*\*(\w+):\*\*", text, re.M) == ["Means", "Look", "Do"], name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_that_a_page_names_exist(page: Path) -> None:
    known = set(re.findall(r"^#?([A-Z][A-Z_]+)=", (ROOT / ".env.example").read_text(), re.M)) | NOT_SETTINGS
    ending = r"(?:DAYS|SECONDS|HOST|HOSTS|URL|TOKEN|MAX|PORT|SECRET|KEY|THREADS|PROFILE|SOURCE|MIB_MAX)"
    named = set(re.findall(rf"`([A-Z]+(?:_[A-Z]+)*_{ending})(?:_FILE)?(?:=\w+)?`", page.read_text()))
    assert named - known == set()


def test_what_the_installation_copies_out_of_the_folder_is_renewed_by_an_upgrade_and_put_back_after_it() -> None:
    installed = (ROOT / "docs/install.md").read_text().partition("## With containers")[0]
    copied = {
        word
        for line in re.findall(r"^(?:cp|install -m 0755) (.*)$", installed, re.M)
        for word in line.split()[:-1]
        if word.startswith("deploy/")
    }
    assert {"deploy/portal/manage", "deploy/portal/*.service", "deploy/proxy/kaiku.conf"} <= copied
    upgrade, _, back = (ROOT / "docs/upgrade.md").read_text().partition("## Back")
    for path in copied:
        folder, name = path.rsplit("/", 1)
        assert name in upgrade, path
        assert folder in upgrade, path
        assert path in back or folder == "deploy/proxy", path
    assert "/etc/nginx" in back


def test_readers_of_the_readme_find_every_page() -> None:
    readme = (ROOT / "README.md").read_text()
    pages = [f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")] + ["CHANGELOG.md", "SECURITY.md"]
    assert [page for page in pages if f"]({page})" not in readme] == []


def test_nothing_that_is_kept_for_days_is_missing_from_the_privacy_notice() -> None:
    kept = set(re.findall(r"^#([A-Z]+_DAYS)=(?:.*)$", (ROOT / ".env.example").read_text(), re.M))
    assert kept == {"RAW_DAYS", "SERIES_DAYS", "PDF_DAYS", "MAIL_DAYS", "RUN_DAYS", "LOG_DAYS"}
    notice = (ROOT / "docs/privacy.md").read_text()
    assert [name for name in kept if f"`{name}`" not in notice] == []
    for article in ("6(1)(e)", "6(1)(f)", "13", "14", "15", "17", "21", "30", "32", "35"):
        assert re.search(
            rf"Articles? {re.escape(article)}|\({re.escape(article)}\)|and {article} |{re.escape(article)}[,)]", notice
        ), article
