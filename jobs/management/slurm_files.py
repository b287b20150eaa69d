"""Files that an operator had Slurm's programs write."""

import sys
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import CommandError


def file_and_zone(options: dict[str, Any]) -> tuple[str, ZoneInfo]:
    """The text of the named file, and where its times were printed. Raises CommandError."""
    name = options["from_file"]
    try:
        zone = ZoneInfo(options["time_zone"])
    except (ValueError, OSError, KeyError) as error:
        raise CommandError(f"--time-zone {options['time_zone']}: not a known time zone") from error
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
    return content.decode(errors="replace"), zone
