"""The environment is read strictly: a wrong word stops the start and says what is allowed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from portal.environment import flag, number, secret_key, text, words


def test_a_flag_is_yes_or_no_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS", "On")
    assert flag("HTTPS")
    monkeypatch.setenv("HTTPS", "maybe")
    with pytest.raises(ImproperlyConfigured, match="HTTPS must be one of 1, true, yes, on, 0, false, no, off"):
        flag("HTTPS")


def test_a_number_is_whole_and_not_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP_SECONDS", "0")
    with pytest.raises(ImproperlyConfigured, match="SWEEP_SECONDS must be a whole number of at least 1, not '0'"):
        number("SWEEP_SECONDS", 10)


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
