"""The values of options in the normal form in which Slurm reports them, and which it refuses.

Every rule was observed on Slurm 22.05.8 (cli_filter, `slurm.json_cli_options`).
"""

from __future__ import annotations

import re
from typing import Callable

from wire.sbatch.value_forms import FOR_ADMINISTRATORS, FORMS, LATE, is_taken
from wire.times import walltime_text

MEGABYTES = {"": 1, "M": 1, "G": 1024, "T": 1024**2}
MEMORY = re.compile(r"(\d+)(?:([KMGT])B?)?\Z", re.ASCII | re.IGNORECASE)
TIME = re.compile(
    r"(?:(?P<days>\d+)-(?:(?P<h>\d+)(?::(?P<m>\d+)(?::(?P<s>\d+))?)?)?|(?P<negative>-\d+)"
    r"|(?:(?P<hours>\d+):(?=\d+:))?(?P<minutes>\d+)(?::(?P<seconds>\d+))?)\Z",
    re.ASCII,
)
ODD_TIME = re.compile(r"-(?!1\Z)|.*\d{8}", re.ASCII | re.DOTALL)
"""A time that Slurm may read as another one: below 0, or beyond the numbers in which it counts."""
UNLIMITED = frozenset({"-1", "INFINITE", "UNLIMITED"})
BITS_32, BITS_64 = 1 << 32, 1 << 64
INTEGER = re.compile(r"[ \t]*([+-]?\d+)\Z", re.ASCII)
NODES = re.compile(r"\+?(?P<least>\d{1,9}[km]?)?(?P<dash>-)?(?P<most>\d{1,9}[km]?)?\Z", re.ASCII | re.IGNORECASE)
NODE_LIST = re.compile(r"\d{1,9}(-\d{1,9}(:\d{1,9})?)?(,\d{1,9}(-\d{1,9}(:\d{1,9})?)?)*\Z", re.ASCII)
NODE_LIST_SINCE = "23.11"
SIGNALS = dict(
    enumerate("HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT".split(), 1)
)
SIGNAL = re.compile(r"(?:([BR]+):)?(?:SIG)?([A-Z0-9]+)(?:@(\d{1,5}))?\Z", re.ASCII | re.IGNORECASE)
SIGNAL_DIGITS_MAX = 10
SIGNAL_SECONDS = 60
MAIL_ALL = frozenset("INVALID_DEPEND BEGIN END FAIL REQUEUE STAGE_OUT".split())
MAIL_EVENTS = (
    "ARRAY_TASKS INVALID_DEPEND BEGIN END FAIL REQUEUE STAGE_OUT"
    " TIME_LIMIT_50 TIME_LIMIT_80 TIME_LIMIT_90 TIME_LIMIT".split()
)
EXCLUSIVE = {"": "exclusive", "exclusive": "exclusive", "user": "user", "mcs": "mcs"}
EXCLUSIVE_TOPO_SINCE = "24.05"
GRES_PREFIX = re.compile(r"(?:^|(?<=,))gres:")
ENOUGH = frozenset(
    "cores-per-socket cpus-per-gpu cpus-per-task mincpus ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node"
    " ntasks-per-socket ntasks-per-tres sockets-per-node threads-per-core".split()
)
FLAGS = {"oversubscribe": "oversubscribe", "requeue": "requeue", "no-requeue": "no-requeue", "get-user-env": "0"}


class ValueRefused(Exception):
    """sbatch refuses the value; `reason` completes "--option=value: ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def normal(option: str, text: str | None, version: str) -> str:
    """The value of a long option as Slurm reports it; `text` is None where the option has no argument.

    Raises `ValueRefused`. What only a cluster can judge (names of partitions, accounts, features) stays as it is.

    >>> normal("time", "90:30", "22.05"), normal("mem", "60GB", "22.05"), normal("nodes", "2-2", "22.05")
    ('01:31:00', '60G', '2')
    """
    if option in ENOUGH:
        return count(text or "", 1)
    rule = RULES.get(option)
    if rule is not None:
        return rule(text, version) if option in DATED else rule(text)
    if option in FOR_ADMINISTRATORS:
        raise ValueRefused("is for administrators alone")
    if text is not None and option not in LATE and is_taken(option, text) is False:
        raise ValueRefused(FORMS[option].reason)
    return FLAGS.get(option, "set") if text is None else text


def time(text: str | None) -> str:
    """A time limit, whole minutes.

    >>> time("90"), time("1-6"), time("0"), time("00:00:30"), time("-5")
    ('01:30:00', '1-06:00:00', 'UNLIMITED', '00:01:00', '2982611-04:17:00')
    """
    limit = minutes(text)
    return "UNLIMITED" if limit is None else walltime_text(60 * limit)


def minutes(text: str | None) -> int | None:
    """A time limit in minutes, rounded up; None where it is no limit.

    >>> minutes("90:30"), minutes("1-6"), minutes("0")
    (91, 1800, None)
    """
    if (text or "").upper() in UNLIMITED:
        return None
    found = TIME.match(text or "")
    if found is None:
        raise ValueRefused('is no time. Slurm reads "minutes", "hours:minutes:seconds" and "days-hours"')
    part = {name: _whole(value or "0") for name, value in found.groupdict().items()}
    hours = (part["days"] + part["negative"]) * 24 + part["h"] + part["hours"]
    seconds = (hours * 60 + part["m"] + part["minutes"]) * 60 + part["s"] + part["seconds"]
    # As the numbers of C, which begin anew and are rounded towards 0.
    rounded = _wrapped(seconds + 59)
    limit = (rounded // 60 if rounded >= 0 else -(-rounded // 60)) % BITS_32
    return None if limit in (0, BITS_32 - 1) else limit


def _whole(text: str) -> int:
    """A number as C reads it: the nearest of 64 bits, of which 32 are kept."""
    digits = text.lstrip("-").lstrip("0") or "0"
    most = BITS_64 // 2
    number = int(digits) if len(digits) < 20 else most
    return _wrapped(max(-number, -most) if text.startswith("-") else min(number, most - 1))


def _wrapped(number: int) -> int:
    """A number with a sign in 32 bits."""
    return (number + BITS_32 // 2) % BITS_32 - BITS_32 // 2


def memory(text: str | None) -> str:
    """An amount of memory in megabytes, or in the largest unit that gives a whole number.

    >>> memory("60g"), memory("1024"), memory("2000000K"), memory("0")
    ('60G', '1G', '1954', '0')
    """
    amount = megabytes(text)
    for unit in ("", "G", "T", "P"):
        if not amount or amount % 1024 or unit == "P":
            break
        amount //= 1024
    return f"{amount}{unit}" if amount else "0"


def megabytes(text: str | None) -> int:
    """An amount of memory, rounded up.

    >>> megabytes("60g"), megabytes("2000000K")
    (61440, 1954)
    """
    found = MEMORY.match(text or "")
    if found is None or len(found[1]) > 18:
        raise ValueRefused("is no amount of memory. Slurm reads a whole number and K, M, G or T")
    unit = (found[2] or "").upper()
    return -(-int(found[1]) // 1024) if unit == "K" else int(found[1]) * MEGABYTES[unit]


def count(text: str, least: int) -> str:
    """A whole number of at least `least`, in 32 bits.

    >>> count("007", 1)
    '7'
    """
    found = INTEGER.match(text)
    if found is None or len(found[1]) > 19 or int(found[1]) < least:
        raise ValueRefused(f"is no whole number of {least} or more")
    number = int(found[1]) & 0xFFFFFFFF
    return str(number - (1 << 32) if number >> 31 else number)


def nodes(text: str | None, version: str) -> str:
    """A number of nodes or a range; lists such as "1,4-8:2" from Slurm 23.11.

    >>> nodes("1-3", "22.05"), nodes("-3", "22.05"), nodes("2k", "22.05")
    ('1-3', '1-3', '2048')
    """
    text = text or ""
    found = NODES.match(text)
    if found is None or not (found["least"] or found["most"]):
        if version >= NODE_LIST_SINCE and NODE_LIST.match(text):
            return text
        raise ValueRefused("is no number of nodes")
    least = _thousands(found["least"] or "1")
    if not found["dash"]:
        return str(least)
    if not found["most"] or _thousands(found["most"]) < least:
        raise ValueRefused("has a maximum below its minimum")
    most = _thousands(found["most"])
    return str(least) if least == most else f"{least}-{most}"


def _thousands(text: str) -> int:
    unit = {"k": 1024, "m": 1024**2}.get(text[-1].lower(), 1)
    return int(text if unit == 1 else text[:-1]) * unit


def exclusive(text: str | None, version: str) -> str:
    word = (text or "").lower()
    if word == "topo" and version >= EXCLUSIVE_TOPO_SINCE:
        return "topo"
    if word not in EXCLUSIVE:
        raise ValueRefused('is not one of "exclusive", "user" and "mcs"')
    return EXCLUSIVE[word]


def gres(text: str | None) -> str:
    """Generic resources without the prefix that depends on the version.

    >>> gres("gres:gpu:2,nvme:1")
    'gpu:2,nvme:1'
    """
    return GRES_PREFIX.sub("", text or "")


def mail_type(text: str | None) -> str:
    words = (text or "").upper().split(",")
    if "NONE" in words:
        return "NONE"
    chosen = {each for word in words for each in (MAIL_ALL if word == "ALL" else (word,))}
    if not chosen <= set(MAIL_EVENTS):
        raise ValueRefused(f"names an event other than ALL, NONE, {', '.join(MAIL_EVENTS)}")
    return ",".join(word for word in MAIL_EVENTS if word in chosen)


def signal(text: str | None) -> str:
    """A signal, by name, and the seconds before the end where they are not the usual 60.

    >>> signal("B:USR1@120"), signal("10@60"), signal("TERM")
    ('B:USR1@120', 'USR1', 'TERM')
    """
    found = SIGNAL.match(text or "")
    name = found[2].upper() if found else ""
    number = int(name) if name.isdecimal() and len(name) <= SIGNAL_DIGITS_MAX else 0
    known = name in SIGNALS.values() or 0 < number < 65
    if found is None or not known:
        raise ValueRefused("is no signal")
    flags = (found[1] or "").upper()
    marks = "".join(mark for mark in "RB" if mark in flags)
    seconds = int(found[3] or SIGNAL_SECONDS)
    after = "" if seconds == SIGNAL_SECONDS else f"@{seconds}"
    return f"{marks}{':' if marks else ''}{SIGNALS.get(number, name)}{after}"


def added(option: str, before: str, now: str) -> str:
    """The value after a setting: later ones replace earlier ones, but events of mail and marks of a signal add up.

    >>> added("mail-type", "END", "BEGIN"), added("mail-type", "END", "NONE"), added("signal", "B:TERM", "USR1@9")
    ('BEGIN,END', 'END', 'B:USR1@9')
    """
    if option == "mail-type":
        chosen = {word for word in f"{before},{now}".split(",") if word != "NONE"}
        return ",".join(word for word in MAIL_EVENTS if word in chosen) or "NONE"
    if option == "signal":
        marks = "".join(mark for mark in "RB" if any(mark in each.rpartition(":")[0] for each in (before, now)))
        return f"{marks}{':' if marks else ''}{now.rpartition(':')[2]}"
    return now


def open_mode(text: str | None) -> str:
    if (text or "")[:1].lower() not in ("a", "t"):
        raise ValueRefused('is neither "append" nor "truncate"')
    return (text or "")[0].lower()


def no_kill(text: str | None) -> str:
    if text not in (None, "", "off"):
        raise ValueRefused('allows only "off"')
    return "unset" if text == "off" else "set"


def nice(text: str | None) -> str:
    """A number; anything else is 0, nothing is 100."""
    found = re.match(r"[ \t]*[+-]?\d{1,9}", text or "", re.ASCII)
    return (str(int(found[0])) if found else "0") if text else "100"


def wait_all_nodes(text: str | None) -> str:
    found = count(text or "0", 0)
    if found not in ("0", "1"):
        raise ValueRefused("is neither 0 nor 1")
    return found


def yes_or_no(text: str | None) -> str:
    if (text or "").lower() not in ("yes", "no"):
        raise ValueRefused('is neither "yes" nor "no"')
    return (text or "").lower()


DATED = frozenset({"nodes", "exclusive"})
RULES: dict[str, Callable[..., str]] = {
    "time": time,
    "time-min": time,
    "mem": memory,
    "mem-per-cpu": memory,
    "mem-per-gpu": memory,
    "tmp": memory,
    "nodes": nodes,
    "exclusive": exclusive,
    "gres": gres,
    "mail-type": mail_type,
    "signal": signal,
    "open-mode": open_mode,
    "no-kill": no_kill,
    "nice": nice,
    "wait-all-nodes": wait_all_nodes,
    "kill-on-invalid-dep": yes_or_no,
    "core-spec": lambda text: count(text or "0", 0),
    "thread-spec": lambda text: count(text or "", 1),
}
