"""Options whose values have a form of their own, and of which a check needs nothing else: whether sbatch takes a value.

For each one there are the forms that it takes, and odd ones that it takes at times, depending on settings, the clock or
its own way of reading: these are not decided here. It refuses every other value. Observed on Slurm 22.05.8 with
some thousand made-up values; the options have the same forms up to 25.05.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

CHARACTERS_MAX = 200
"""A longer value is not decided."""
FOR_ADMINISTRATORS = frozenset({"uid", "gid"})
"""sbatch refuses them to everybody else, whatever their value is."""
LATE = ("dependency", "propagate")
"""Of these only the last value counts; a wrong value of the others is refused even if a later one replaces it."""

LIMITS = "AS|CORE|CPU|DATA|FSIZE|MEMLOCK|NOFILE|NPROC|RSS|STACK"
CLOCK = (
    r"(?:(?:0?\d|1[0-2]):[0-5]\d(?::[0-5]\d)?(?:\s*[ap]m)?"
    r"|(?:1[3-9]|2[0-3]):[0-5]\d(?::[0-5]\d)?(?!\s*[ap]m))"
)
DAY = r"(?:0[1-9]|[12]\d|3[01]|[1-9](?!\d))"
DATE = rf"(?:\d{{4}}-(?:0[1-9]|1[0-2])-{DAY}|(?:0[1-9]|1[0-2]|[1-9](?!\d))[./]?{DAY}[./]?(?:\d\d|(?!\d)))"
MOMENT = rf"(?:today|tomorrow|midnight|noon|fika|teatime|{CLOCK}|{DATE})"
BETWEEN = r"(?:[ \t-]|(?-i:T))"
UNIT = "(?:second|minute|hour|day|week)s?"
NO_TIME = "is no time. Slurm reads 16:00, 2027-01-31T16:00, tomorrow and now+1hour"
TIME = rf"uts[1-9]\d{{6,11}}|{BETWEEN}*{MOMENT}(?:{BETWEEN}+{MOMENT})*{BETWEEN}*"
NOW = rf"now[ \t]*[+-]\s*\d[\d\s]*(?:{UNIT})?"
ODD_TIME = rf"{NOW}(?:{BETWEEN}|{MOMENT})*|(?:{BETWEEN}|{MOMENT}|elevenses)+(?:now.*)?|uts.*"
SPREAD = r"(?:\*|block|cyclic|fcyclic)"
PART = r"(?:\*|[ \t]*\+?\d{1,9}[km]?)?"
JOB = r"[1-9]\d{0,9}(?:_(?:\d+|\*))?"
DEPENDS = rf"(?:singleton|after(?:any|burstbuffer|corr|notok|ok)?:{JOB}(?:\+\d+)?(?::{JOB}(?:\+\d+)?)*)"
DECIMALS = r"\d+(?:\*\d+)?(?:,\d+(?:\*\d+)?)*"
HEXADECIMALS = r"(?:0x)?[\da-f]+(?:\*\d+)?(?:,(?:0x)?[\da-f]+(?:\*\d+)?)*"
BOUND = rf"(?:no|none|rank|local|sort|nosort|p|prefer|v|verbose|q|quiet|map_mem:{DECIMALS}|mask_mem:{HEXADECIMALS})"
SPEED = r"(?:\d{1,9}|low|medium|high|highm1)"
GPU_SPEED = rf"(?-i:(?:memory=)?{SPEED}|verbose)"
SAMPLED = r"(?:(?:task|energy|network|filesystem)=)?(?:[1-9]|[12]\d|30)"
DURATION = r"unlimited|infinite|-?\d{1,9}|\d{1,9}:\d{1,9}(?::\d{1,9})?|\d{1,9}-\d{1,9}(?::\d{1,9}(?::\d{1,9})?)?"


class Form(NamedTuple):
    """What completes "--option=value ...", the forms that sbatch takes, and odd ones that it may take."""

    reason: str
    taken: str
    odd: str = r"(?!)"


FORMS = {
    "begin": Form(NO_TIME, rf"now[ \t]*|{NOW}|{TIME}", ODD_TIME),
    # Only a time that is still to come, for which the clock would be needed.
    "deadline": Form(NO_TIME, rf"now\+[1-9]\d{{0,8}}{UNIT}", rf"now[ \t]*|{TIME}|{ODD_TIME}"),
    # A plane or a list of nodes has to fit the nodes and tasks of the job.
    "distribution": Form(
        "is no distribution, such as block:cyclic or plane=4",
        rf"(?:\*|block|cyclic)(?::{SPREAD}){{0,2}}(?:,(?:no)?pack)?|(?:no)?pack",
        rf"(?:arbitrary|hostfile|plane).*|[:,]*(?:\*|block|cyclic)(?:[:,]+{SPREAD}?){{0,3}}(?:,*(?:no)?pack)?[:,]*"
        r"|[:,]*(?:no)?pack[:,]*",
    ),
    "extra-node-info": Form(
        "is not sockets:cores:threads",
        rf"{PART}(?::{PART}){{0,2}}",
        r"[\d \t*:km+-]*|.*\*.*|(?:[^:]*:){3}.*",
    ),
    "switches": Form("is no number of switches, such as 1 or 1@30:00", r"[ \t]*\+?0*[1-9]\d*(?:@.*)?"),
    "gpu-bind": Form(
        "is not one of closest, none, single:N, per_task:N, map_gpu:LIST and mask_gpu:LIST",
        rf"(?:verbose,)?(?:closest|none|single:\d+|per_task:\d+|map_gpu:{DECIMALS}|mask_gpu:{HEXADECIMALS})",
        r"(?:verbose,)?(?:closest|none|single:|per_task:|map|mask).*",
    ),
    "mem-bind": Form(
        "is not one of local, none, rank, prefer, sort, map_mem:LIST and mask_mem:LIST",
        rf"{BOUND}(?:,{BOUND})*",
        r".*(?:no|rank|local|sort|map_mem|mask_mem).*|[pvq][,;].*",
    ),
    "profile": Form(
        "is not one of all, none, energy, task, lustre and network", ".*(?:none|all|energy|task|lustre|network).*"
    ),
    "dependency": Form(
        "is no dependency, such as afterok:123456 or singleton",
        rf"|{DEPENDS}(?:,{DEPENDS})*|{DEPENDS}(?:\?{DEPENDS})*|{JOB}(?:,{JOB})*",
        r"(?:after(?:any|burstbuffer|corr|notok|ok)?:[\d +-]|expand:|singleton[?,]|\d).*",
    ),
    "delay-boot": Form("is no time, such as 10 or 1:00:00", DURATION, r"[\d:-]+"),
    "cpu-freq": Form(
        "is no frequency, such as high, 2000 or 1000-2000:Performance",
        SPEED,
        r"(?:\d|low|medium|high|conservative|ondemand|performance|powersave|schedutil|userspace).*",
    ),
    "gpu-freq": Form(
        "is no frequency, such as high, 900 or medium,memory=high",
        rf"{GPU_SPEED}(?:,{GPU_SPEED})*",
        r".*(?:low|medium|high|memory=|verbose|\d).*|,+",
    ),
    "acctg-freq": Form("is no number of seconds, such as 30 or task=30", rf"|{SAMPLED}(?:,{SAMPLED})*", r".*\d.*|,*"),
    "gres-flags": Form(
        "is neither disable-binding nor enforce-binding", "(?:disable|enforce)-binding", ".*-(?:binding|sharing).*"
    ),
    "propagate": Form(
        f"is not one of ALL, NONE and {LIMITS.replace('|', ', ')}",
        rf"|(?-i:ALL|NONE|(?:{LIMITS})(?:,(?:{LIMITS}))*)",
        r".*\b(?-i:(?:RLIMIT_)?[A-Z]{2,8})\b.*|,+",
    ),
    "priority": Form("is no number from 0", r"\d{1,9}|TOP", r"(?![ \t]*-[ \t]*0*[1-9]).*"),
}


def is_taken(option: str, text: str) -> bool | None:
    """Whether sbatch takes a value; None where it is not decided here.

    >>> is_taken("begin", "now+1hour"), is_taken("begin", "yesterday"), is_taken("cpu-freq", "1000-2000")
    (True, False, None)
    """
    form = FORMS.get(option)
    if form is None:
        return True
    if len(text) > CHARACTERS_MAX:
        return None
    if _compiled(form.taken).match(text):
        return True
    return None if _compiled(form.odd).match(text) else False


@cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{form})\Z", re.ASCII | re.IGNORECASE)
