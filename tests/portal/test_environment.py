"""The environment is read strictly: a wrong word stops the start and says what is allowed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from portal.environment import (
    allowed_hosts,
    choice,
    cluster_names,
    flag,
    mail_address,
    number,
    secret_key,
    site_url,
    text,
    words,
)


def test_a_flag_is_yes_or_no_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS", "On")
    assert flag("HTTPS")
    monkeypatch.setenv("HTTPS", "maybe")
    with pytest.raises(ImproperlyConfigured, match="HTTPS must be one of 1, true, yes, on, 0, false, no, off"):
        flag("HTTPS")


def test_a_number_is_whole_and_not_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEP_SECONDS", "0")
    with pytest.raises(ImproperlyConfigured, match="STEP_SECONDS must be a whole number of at least 1, not '0'"):
        number("STEP_SECONDS", 10)


def test_a_secret_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hush\n")
    monkeypatch.setenv("A_SECRET_FILE", str(tmp_path / "key"))
    assert text("A_SECRET") == "hush"
    monkeypatch.setenv("A_SECRET_FILE", str(tmp_path / "none"))
    with pytest.raises(ImproperlyConfigured, match="A_SECRET_FILE: cannot read"):
        text("A_SECRET")


def test_a_list_is_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "a.example, b.example,")
    assert words("ALLOWED_HOSTS", "") == ["a.example", "b.example"]


def test_clusters_are_separated_by_blanks_and_each_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cluster_names("QUEUE_CLUSTERS") == []
    monkeypatch.setenv("QUEUE_CLUSTERS", " lumi  other lumi ")
    assert cluster_names("QUEUE_CLUSTERS") == ["lumi", "other"]
    for wrong in ("lumi,other", "--all", "x" * 65):
        monkeypatch.setenv("QUEUE_CLUSTERS", f"lumi {wrong}")
        with pytest.raises(ImproperlyConfigured, match=f"names of clusters separated by blanks, not '{wrong}'"):
            cluster_names("QUEUE_CLUSTERS")


@pytest.mark.parametrize("said", [None, "", " , "])
def test_a_server_must_be_given_its_names(monkeypatch: pytest.MonkeyPatch, said: str | None) -> None:
    monkeypatch.delenv("ALLOWED_HOSTS", raising=False)
    assert allowed_hosts(is_embedded=True) == ["127.0.0.1", "localhost"]
    if said is not None:
        monkeypatch.setenv("ALLOWED_HOSTS", said)
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_HOSTS is required with DATABASE_URL"):
        allowed_hosts(is_embedded=False)


def test_an_embedded_key_is_made_once_and_for_its_owner_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    path = tmp_path / "var" / "secret_key"
    key = secret_key(path, is_embedded=True)
    assert len(key) >= 50
    assert secret_key(path, is_embedded=True) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_server_must_be_given_its_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY or SECRET_KEY_FILE is required"):
        secret_key(tmp_path / "secret_key", is_embedded=False)


@pytest.mark.parametrize("wrong", ["kaiku.example", "ftp://kaiku.example", "https://", "https://kaiku.example/sub"])
def test_a_site_url_is_a_scheme_and_a_host(monkeypatch, wrong: str) -> None:
    monkeypatch.setenv("SITE_URL", "https://kaiku.example:8443/")
    assert site_url("") == "https://kaiku.example:8443"
    monkeypatch.setenv("SITE_URL", wrong)
    with pytest.raises(ImproperlyConfigured, match="SITE_URL must look like"):
        site_url("")


def test_a_choice_is_one_of_the_words_that_the_error_names(monkeypatch) -> None:
    monkeypatch.setenv("SMTP_SECURITY", "TLS")
    assert choice("SMTP_SECURITY", "none", ("none", "tls")) == "tls"
    monkeypatch.setenv("SMTP_SECURITY", "ssl")
    with pytest.raises(ImproperlyConfigured, match="SMTP_SECURITY must be one of none, tls, not 'ssl'"):
        choice("SMTP_SECURITY", "none", ("none", "tls"))


@pytest.mark.parametrize("wrong", ["kaiku", "@example.org", "kaiku@", "Kaiku <kaiku@example.org>\nBcc: x@example.org"])
def test_a_sender_is_one_address_on_one_line(monkeypatch, wrong: str) -> None:
    assert mail_address("MAIL_FROM", "Kaiku <kaiku@example.org>") == "Kaiku <kaiku@example.org>"
    monkeypatch.setenv("MAIL_FROM", wrong)
    with pytest.raises(ImproperlyConfigured, match="MAIL_FROM must look like"):
        mail_address("MAIL_FROM", "")


def test_a_number_has_a_lowest_and_a_highest(monkeypatch) -> None:
    monkeypatch.setenv("SMTP_TIMEOUT_SECONDS", "61")
    with pytest.raises(ImproperlyConfigured, match="must be at most 60"):
        number("SMTP_TIMEOUT_SECONDS", 30, highest=60)
