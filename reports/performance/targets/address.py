"""Where the automatic export writes: a folder, or a bucket of an object store, as EXPORT_TARGET names it.

What it writes has the same name again for the same, so that a second try replaces the first.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote, urlsplit

BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
"""General purpose buckets (docs.aws.amazon.com, "Bucket naming rules")."""
PREFIX = re.compile(r"([A-Za-z0-9_=-][A-Za-z0-9._=-]*(/[A-Za-z0-9_=-][A-Za-z0-9._=-]*)*)?")
"""Characters that need no encoding anywhere; no part of it begins with a dot."""

UNFINISHED = ".unfinished"
"""The folder within a target folder where files are written before they get their names."""


class AddressError(ValueError):
    """A target that cannot be one; its text names what is wrong, without the value."""


@dataclass(frozen=True)
class Folder:
    """A folder that is there already: a mount point that is not mounted must not be filled."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Bucket:
    """Objects below `prefix`, which is empty or ends without a slash, in a store that speaks S3.

    `endpoint` is scheme://host:port. The keys are shown nowhere.
    """

    name: str
    prefix: str
    endpoint: str
    region: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)

    def __str__(self) -> str:
        return "/".join(filter(None, ("s3:/", self.name, self.prefix)))


Address = Folder | Bucket


def address_of(target: str, *, endpoint: str, region: str, access_key: str, secret_key: str) -> Address | None:
    """The target that these settings name; None for none. Raises AddressError.

    >>> address_of("/data/export/", endpoint="", region="", access_key="", secret_key="")
    Folder(path='/data/export')
    >>> keys = {"region": "lumi", "access_key": "a", "secret_key": "b"}
    >>> str(address_of("s3://runs/kaiku/", endpoint="https://lumidata.eu", **keys))
    's3://runs/kaiku'
    """
    if not target:
        return None
    if target.startswith("/"):
        path = target.rstrip("/")
        if not path or ".." in path.split("/") or not path.isprintable():
            raise AddressError("EXPORT_TARGET must be the absolute path of a folder of its own")
        return Folder(path)
    if not target.startswith("s3://"):
        raise AddressError("EXPORT_TARGET must be the absolute path of a folder, or look like s3://BUCKET/PREFIX")
    bucket, _, prefix = target.removeprefix("s3://").rstrip("/").partition("/")
    if bucket and not 3 <= len(bucket) <= 63:
        raise AddressError("EXPORT_TARGET: the name of a bucket has 3 to 63 characters")
    if not BUCKET.fullmatch(bucket) or not PREFIX.fullmatch(prefix):
        raise AddressError("EXPORT_TARGET must look like s3://BUCKET/PREFIX, with letters, digits and ._=- alone")
    if not access_key or not secret_key:
        raise AddressError("EXPORT_S3_ACCESS_KEY and EXPORT_S3_SECRET_KEY are required with s3:// in EXPORT_TARGET")
    return Bucket(bucket, prefix, _checked(endpoint), region, access_key, secret_key)


def _checked(endpoint: str) -> str:
    parts = urlsplit(endpoint.rstrip("/"))
    try:
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        has_port = False
    named = has_port and parts.hostname and parts.username is None
    if parts.scheme not in ("http", "https") or not named or parts.path or parts.query or parts.fragment:
        raise AddressError("EXPORT_S3_ENDPOINT must look like https://HOST or https://HOST:PORT")
    return f"{parts.scheme}://{parts.netloc}"


def run_name(cluster: str, job_id: int, attempt: int, revision: int, ended_at: datetime) -> str:
    """The name of one judgement of one run; `revision` counts the judgements.

    >>> from datetime import UTC
    >>> run_name("lumi", 123456, 0, 2, datetime(2026, 11, 20, 12, 30, tzinfo=UTC))
    '2026-11-20/lumi/123456-0-r2.json'
    """
    return f"{ended_at:%Y-%m-%d}/{_plain(cluster)}/{job_id}-{attempt}-r{revision}.json"


def part_name(batch: int, opened_at: datetime, ending: str) -> str:
    """The name of the rows of one batch. The time keeps it unique if a restored database counts its batches again.

    >>> from datetime import UTC
    >>> part_name(17, datetime(2026, 11, 20, 12, 30, 5, tzinfo=UTC), "parquet")
    '2026-11-20/runs-20261120T123005Z-000017.parquet'
    """
    return f"{opened_at:%Y-%m-%d}/runs-{opened_at:%Y%m%dT%H%M%SZ}-{batch:06d}.{ending}"


def _plain(cluster: str) -> str:
    """The name of a cluster as one part of a path.

    >>> _plain("lumi"), _plain("..")
    ('lumi', '%2E%2E')
    """
    quoted = quote(cluster, safe="")
    return quoted.replace(".", "%2E") if quoted.startswith(".") else quoted
