"""What may be written into Slurm, and the one command that writes it: nothing else ever reaches sacctmgr.

`sacctmgr -i modify job` without WHERE changes every job of a site, and an id that is not a number may be anything.
"""

from __future__ import annotations

import calendar
import json
import re
import time
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

IDS_MAX = 500
"""Jobs in one command: measured on Slurm 22.05, 0.4 s for 500 and 0.3 s for one."""
ID_MAX = 0xFFFFFFF0
"""Slurm's job ids are 32-bit numbers, of which the greatest have a meaning of their own (NO_VAL, INFINITE: slurm.h)."""
SINCE_MAX = 2**63 - 1
PAGE_MAX = 1000
TEXT = re.compile(
    r"kaiku:class=(?:unknown|(?:efficient|acceptable|inefficient|wasted)"
    r";util=(?:100(?:\.0)?|[1-9]?[0-9](?:\.[0-9])?));v=1"
)
"""A comment that may be written: no text of a person, no quote, comma, pipe, blank or newline."""
OURS = re.compile(r"kaiku:class=[a-z]{1,16}(?:;util=[0-9]{1,3}(?:\.[0-9]{1,2})?)?;v=[1-9][0-9]{0,2}")
"""A comment that Kaiku wrote, now or in another version; all others belong to somebody else."""
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
CLUSTER = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")


class Refused(Exception):
    """Something that must not reach sacctmgr, or an answer that is not as agreed."""


class Wanted(NamedTuple):
    """The comment of one attempt of a job: of the one that started then (s since 1970)."""

    text: str
    started_s: int


class Page(NamedTuple):
    """One answer of the portal: the comment for each job, and where to go on."""

    wanted: Mapping[int, Wanted]
    next_since: int


def seconds_of(written: str) -> int | None:
    """A time of Slurm or of the portal, in UTC, as seconds since 1970; None for anything else.

    >>> seconds_of("2026-11-20T10:00:00"), seconds_of("Unknown")
    (1795168800, None)
    """
    if not INSTANT.fullmatch(written):
        return None
    try:
        return calendar.timegm(time.strptime(written, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None


def read_page(content: bytes, cluster: str) -> Page:
    """A page of comments of this cluster, if every single one is as agreed. Raises Refused."""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Refused("the portal's answer is not JSON") from error
    comments = said.get("comments") if isinstance(said, dict) else None
    if not isinstance(comments, list) or len(comments) > PAGE_MAX:
        raise Refused("the portal's answer has no list of comments, or too many")
    wanted = {}
    for comment in comments:
        if not isinstance(comment, dict) or comment.get("cluster") != cluster:
            raise Refused("the portal's answer has a comment of another cluster")
        if not _is_whole(comment.get("job_id"), 1, ID_MAX):
            raise Refused("the portal's answer has a job id that is not a number of a job")
        if not isinstance(comment.get("text"), str) or not TEXT.fullmatch(comment["text"]):
            raise Refused("the portal's answer has a text that may not be written")
        started = comment.get("started_at")
        started_s = seconds_of(started[:-1]) if isinstance(started, str) and started.endswith("Z") else None
        if started_s is None:
            raise Refused("the portal's answer does not say which attempt of a job is meant")
        wanted[comment["job_id"]] = Wanted(comment["text"], started_s)
    if not _is_whole(said.get("next_since"), 0, SINCE_MAX):
        raise Refused("the portal's answer does not say where to go on")
    return Page(wanted, said["next_since"])


def _is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def grouped(texts: Mapping[int, str]) -> list[tuple[str, Sequence[int]]]:
    """Jobs with equal texts together, at most `IDS_MAX` each: every group is one command.

    >>> grouped({3: "kaiku:class=unknown;v=1", 1: "kaiku:class=unknown;v=1"})
    [('kaiku:class=unknown;v=1', [1, 3])]
    """
    ids: dict[str, list[int]] = {}
    for job_id in sorted(texts):
        ids.setdefault(texts[job_id], []).append(job_id)
    return [(text, some) for text in sorted(ids) for some in parted(ids[text])]


def parted(ids: Sequence[int]) -> list[Sequence[int]]:
    """The ids in order, in parts of at most `IDS_MAX`."""
    return [ids[at : at + IDS_MAX] for at in range(0, len(ids), IDS_MAX)]


def id_list(ids: Iterable[int]) -> str:
    """The ids as Slurm reads them: plain numbers. Raises Refused for none, too many, or anything else."""
    some = list(ids)
    if not 1 <= len(some) <= IDS_MAX or not all(_is_whole(job_id, 1, ID_MAX) for job_id in some):
        raise Refused("a command must name 1 to 500 jobs by their numbers")
    return ",".join(str(job_id) for job_id in some)


def modification(sacctmgr: str, cluster: str, text: str, ids: Iterable[int]) -> list[str]:
    """The command that writes one text into these jobs of a cluster, and no others. Raises Refused."""
    if not TEXT.fullmatch(text):
        raise Refused("this text may not be written")
    if not CLUSTER.fullmatch(cluster):
        raise Refused("this is no name of a cluster")
    where = [f"cluster={cluster}", f"jobid={id_list(ids)}"]
    return [sacctmgr, "-i", "modify", "job", "where", *where, "set", f"admincomment={text}"]
