"""Reading the process environment: typed, with `_FILE` variants for secrets, with clear errors at the start."""

import errno
import os
import re
import secrets
from email.utils import parseaddr
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from wire.names import SLUG

CLUSTER_NAME = re.compile(SLUG)
ORIGIN = re.compile(r"https?://(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?::[0-9]{1,5})?")
TRUE_WORDS, FALSE_WORDS = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


def text(name: str, default: str = "") -> str:
    """The variable, or the content of the file that `NAME_FILE` points to."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE: cannot read {path}: {error.strerror}") from error
    return os.environ.get(name, default)


def flag(name: str, default: bool = False) -> bool:
    """A yes or no; anything else is an error."""
    word = os.environ.get(name, str(default)).strip().lower()
    if word not in TRUE_WORDS + FALSE_WORDS:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(TRUE_WORDS + FALSE_WORDS[:-1])}, not {word!r}")
    return word in TRUE_WORDS


def number(name: str, default: int, lowest: int = 1, highest: int = 2**53) -> int:
    """A whole number from `lowest` to `highest`."""
    word = os.environ.get(name, str(default)).strip()
    if not word.isdigit() or int(word) < lowest:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {lowest}, not {word!r}")
    if int(word) > highest:
        raise ImproperlyConfigured(f"{name} must be at most {highest}, not {word!r}")
    return int(word)


def fraction(name: str, default: str) -> Fraction:
    """A fraction above 0 and up to 1, such as 1/3, 0.5 or 1; it stays exact."""
    word = os.environ.get(name, default).strip()
    try:
        value = Fraction(word)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value <= 1:
        raise ImproperlyConfigured(f"{name} must be a fraction above 0 and up to 1, such as 1/3 or 0.5, not {word!r}")
    return value


def data_directory(default: Path, is_embedded: bool) -> Path:
    """KAIKU_VAR_DIR; created where everything is stored in it.

    It may be read-only, as after a fault of its disk: the portal starts and reports that.
    """
    path = Path(text("KAIKU_VAR_DIR", str(default)))
    if not is_embedded:
        return path
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = os.strerror(errno.ENOTDIR) if isinstance(error, FileExistsError) else error.strerror
        raise ImproperlyConfigured(f"KAIKU_VAR_DIR: cannot write to {path}: {reason}") from error
    return path


def database(url: str) -> dict[str, Any]:
    """The connection that DATABASE_URL names; no error shows any of it, because it holds a password."""
    try:
        connection = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    except ValueError:
        connection = {}
    if connection.get("ENGINE") != "django.db.backends.postgresql":
        raise ImproperlyConfigured(
            "DATABASE_URL must look like postgres://NAME:PASSWORD@HOST:5432/DATABASE, special characters as %XX"
        )
    return connection


def redis_url() -> str:
    """REDIS_URL; empty if not set."""
    url = text("REDIS_URL")
    if url and not url.startswith(("redis://", "rediss://")):
        raise ImproperlyConfigured("REDIS_URL must look like redis://HOST:6379/0, or rediss:// for TLS")
    return url


def time_zone(default: str) -> str:
    """TIME_ZONE, a name of the IANA database."""
    name = text("TIME_ZONE", default)
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise ImproperlyConfigured(f"TIME_ZONE: {name!r} is not a known time zone") from error
    return name


def words(name: str, default: str) -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def cluster_names(name: str) -> list[str]:
    """Names of clusters, separated by blanks, each once."""
    found = list(dict.fromkeys(text(name).split()))
    wrong = [word for word in found if not CLUSTER_NAME.fullmatch(word)]
    if wrong:
        raise ImproperlyConfigured(f"{name} must be names of clusters separated by blanks, not {wrong[0]!r}")
    return found


def origins(name: str) -> list[str]:
    """Origins of other sites, separated by commas: scheme, host and, if it is not the usual one, port; no wildcards."""
    found = list(dict.fromkeys(words(name, "")))
    for origin in found:
        if not ORIGIN.fullmatch(origin):
            raise ImproperlyConfigured(f"{name} must be origins such as https://ondemand.example, not {origin!r}")
    return found


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    """One of the allowed words."""
    word = text(name, default).strip().lower()
    if word not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {word!r}")
    return word


def site_url(default: str) -> str:
    """SITE_URL: scheme, host and optionally a port, without a slash at the end."""
    address = text("SITE_URL", default).strip().rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        raise ImproperlyConfigured(f"SITE_URL must look like https://kaiku.example, not {address!r}")
    return address


EVERY_ADDRESS = ("", "0.0.0.0", "[::]")  # noqa: S104 (compared, not listened at)


def own_address(bind: str) -> str:
    """Where a browser on this machine finds a server that listens at HOST:PORT.

    >>> own_address("127.0.0.1:8133"), own_address("0.0.0.0:80")
    ('http://127.0.0.1:8133', 'http://127.0.0.1:80')
    """
    host, _, port = bind.rpartition(":")
    return f"http://{THIS_MACHINE[0] if host in EVERY_ADDRESS else host}:{port}"


def mail_address(name: str, default: str) -> str:
    """`name@host` or `Somebody <name@host>`; empty if not set."""
    address = text(name, default).strip()
    local, _, domain = parseaddr(address)[1].rpartition("@")
    if address and not (local and domain and address.isprintable()):
        raise ImproperlyConfigured(f"{name} must look like Kaiku <kaiku@example.org>, not {address!r}")
    return address


THIS_MACHINE = ("127.0.0.1", "localhost")


def allowed_hosts(is_embedded: bool) -> list[str]:
    """ALLOWED_HOSTS, the names the portal answers to, and those of this machine, for health checks and Prometheus.

    Without any name a server would start and reject every request of people.
    """
    hosts = words("ALLOWED_HOSTS", "127.0.0.1" if is_embedded else "")
    if not hosts:
        with_what = "must name a host" if is_embedded else "is required with DATABASE_URL"
        raise ImproperlyConfigured(f"ALLOWED_HOSTS {with_what}, such as kaiku.example")
    return list(dict.fromkeys((*hosts, *THIS_MACHINE)))


def secret_key(path: Path, is_embedded: bool) -> str:
    """SECRET_KEY; on one machine with SQLite a random one, created once and readable by its owner only."""
    key = text("SECRET_KEY")
    if key or not is_embedded:
        if not key:
            raise ImproperlyConfigured("SECRET_KEY or SECRET_KEY_FILE is required with DATABASE_URL")
        return key
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"KAIKU_VAR_DIR: cannot write {path}: {error.strerror}") from error
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(50))
    return path.read_text().strip()
