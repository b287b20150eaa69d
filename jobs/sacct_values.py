"""Single cells of sacct output as numbers with units and aware instants; an empty cell is None, never zero.

Source of every form: sacct(1), section "Job Accounting Fields", Slurm 21.08 to 24.11. A cell in no known form
raises ValueError with a message for the log of the import.
"""

import re
from datetime import UTC, datetime, tzinfo

MINUTE_S = 60
# Slurm's M is 2^20 bytes whatever it is called; a bare number in a TRES list or in ReqMem is M as well.
GB_OF_UNIT = {"K": 2.0**-20, "M": 2.0**-10, "": 2.0**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}

NO_INSTANT = frozenset({"", "Unknown", "None", "NONE"})
# Time limits that are no number: sacct(1), "TimelimitRaw".
NO_LIMIT = frozenset({"", "UNLIMITED", "Partition_Limit", "INVALID"})
NO_NODES = frozenset({"", "None assigned", "None", "(null)"})

WHOLE = re.compile(r"[0-9]{1,18}")
CLOCK = re.compile(r"(?:(?:([0-9]{1,6})-)?([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{2}(?:\.[0-9]{1,6})?)")
MEMORY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGTP]?)([nc]?)")
GPU_COUNT = re.compile(r"gres/gpu(?::([^=,]+))?=([0-9]{1,9})")


def whole(cell: str) -> int | None:
    """A count."""
    if not cell:
        return None
    if not WHOLE.fullmatch(cell):
        raise ValueError("is not a whole number")
    return int(cell)


def clock_s(cell: str) -> float | None:
    """Seconds of `[[days-]hours:]minutes:seconds[.fraction]`.

    >>> clock_s("1-02:00:30"), clock_s("01:30.5"), clock_s("")
    (93630.0, 90.5, None)
    """
    if not cell:
        return None
    parts = CLOCK.fullmatch(cell)
    if not parts:
        raise ValueError("is not a duration")
    days, hours, minutes, seconds = (float(part or 0) for part in parts.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def limit_s(raw: str, written: str) -> float | None:
    """The time limit in seconds, from TimelimitRaw (minutes) or else Timelimit; None where there is no limit.

    >>> limit_s("90", ""), limit_s("", "1-00:00:00"), limit_s("UNLIMITED", "")
    (5400.0, 86400.0, None)
    """
    if raw in NO_LIMIT:
        return None if written in NO_LIMIT or raw else clock_s(written)
    return float(whole(raw) or 0) * MINUTE_S


def instant(cell: str, zone: tzinfo) -> datetime | None:
    """The moment as aware UTC; a time without an offset is of `zone`."""
    if cell in NO_INSTANT:
        return None
    try:
        moment = datetime.fromisoformat(cell)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError("is not a time in ISO form") from error


def gpu_count(tres: str) -> int | None:
    """GPUs of a TRES list: the untyped count, the typed ones only where it is absent; never both.

    None for an empty list, which means unknown; 0 for a list without GPUs. Slurm writes both counts for an
    allocation of typed GPUs (`gres/gpu:mi250=8,gres/gpu=8` are eight).

    >>> gpu_count("cpu=8,gres/gpu:mi250=8,gres/gpu=8"), gpu_count("gres/gpu:a=2,gres/gpu:b=1"), gpu_count("cpu=1")
    (8, 3, 0)
    """
    if not tres:
        return None
    counts = [(found[1], int(found[2])) for found in map(GPU_COUNT.fullmatch, tres.split(",")) if found]
    untyped = [count for kind, count in counts if not kind]
    return untyped[0] if untyped else sum(count for _, count in counts)


def tres_count(tres: str, name: str) -> int | None:
    """How many of a countable resource, such as `cpu` or `node`, a TRES list names; None where it names none.

    >>> tres_count("cpu=8,mem=300M,node=1", "node"), tres_count("", "cpu")
    (1, None)
    """
    named = [element.removeprefix(f"{name}=") for element in tres.split(",") if element.startswith(f"{name}=")]
    return whole(named[0]) if named else None


def tres_memory_gb(tres: str) -> float | None:
    """Host memory of a TRES list, over all nodes (2^30 bytes); None where it names none.

    >>> tres_memory_gb("cpu=8,mem=300M,node=1")
    0.29296875
    """
    named = [element.removeprefix("mem=") for element in tres.split(",") if element.startswith("mem=")]
    return memory_gb(named[0]) if named else None


def memory_gb(cell: str, nodes: int | None = None, cpus: int | None = None) -> float | None:
    """Memory in 2^30 bytes over all nodes; Slurm before 21.08 wrote it per node (`4Gn`) or per CPU (`2Gc`).

    >>> memory_gb("4Gn", nodes=2), memory_gb("2000Mc", cpus=16), memory_gb("1.50T")
    (8.0, 31.25, 1536.0)
    """
    if not cell:
        return None
    parts = MEMORY.fullmatch(cell)
    if not parts:
        raise ValueError("is not an amount of memory")
    times = {"n": nodes, "c": cpus, "": 1}[parts[3]]
    return None if times is None else float(parts[1]) * GB_OF_UNIT[parts[2]] * times
