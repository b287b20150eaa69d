"""The target of the automatic export from the environment: EXPORT_TARGET, EXPORT_FORMAT and EXPORT_S3_…."""

from django.core.exceptions import ImproperlyConfigured

from portal.environment import choice, text
from reports.performance.targets.address import Address, AddressError, address_of

FORMATS = ("learning", "jsonl", "csv", "parquet")
NOT_HERE = {
    "institutional": "is made of closed months by `manage.py export_performance --month`",
    "slurm-comment": "is written into Slurm: docs/slurm-comments.md",
}
"""Formats that the automatic export does not have, and why."""


def target_from_environment() -> Address | None:
    """Where to write; None where EXPORT_TARGET is not set. No error shows a key."""
    try:
        return address_of(
            text("EXPORT_TARGET").strip(),
            endpoint=text("EXPORT_S3_ENDPOINT", "").strip(),
            region=text("EXPORT_S3_REGION", "us-east-1").strip(),
            access_key=text("EXPORT_S3_ACCESS_KEY"),
            secret_key=text("EXPORT_S3_SECRET_KEY"),
        )
    except AddressError as error:
        raise ImproperlyConfigured(str(error)) from error


def format_from_environment() -> str:
    """EXPORT_FORMAT."""
    asked = text("EXPORT_FORMAT", FORMATS[0]).strip().lower()
    if asked in NOT_HERE:
        raise ImproperlyConfigured(f"EXPORT_FORMAT: {asked} {NOT_HERE[asked]}; use one of {', '.join(FORMATS)}")
    return choice("EXPORT_FORMAT", FORMATS[0], FORMATS)
