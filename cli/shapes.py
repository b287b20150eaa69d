"""Whether an answer is what the API documents, for what is shown of it: a row without a job id would be nonsense.

Members that are not listed may be missing, and new ones may come: another version of the portal is understood.
"""

from __future__ import annotations

from cli.answers import number
from cli.errors import NoAnswer
from cli.layout import instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Kind = Callable[[object], str]
    """What is wrong with a value: how a sentence about it ends, or empty."""

PERCENT_MAX = 100.0 + 1e-6
NUMBER_MAX = 1e15


def job_list(said: object) -> None:
    """Raises NoAnswer unless this is a page of `GET /api/v1/jobs/`."""
    _check("a list of jobs", said, {"count": _number, "results": _list_of(_object(RUN))})


def job_report(said: object) -> None:
    """Raises NoAnswer unless this is a report, or the record of a job without one."""
    is_judged = isinstance(said, dict) and said.get("efficiency") is not None
    _check("the report of a job", said, REPORT if is_judged else {"job": _object(RECORD), "efficiency": _nothing})


def running_list(said: object) -> None:
    """Raises NoAnswer unless this is `GET /api/v1/running/`."""
    _check("a list of running jobs", said, {"count": _whole, "jobs": _list_of(_object(RUNNING))})


def work_list(said: object) -> None:
    """Raises NoAnswer unless this is `GET /api/v1/works/`."""
    _check("a list of works", said, {"works": _list_of(_object(WORK))})


def one_work(said: object) -> None:
    """Raises NoAnswer unless this is `GET /api/v1/works/{key}/`."""
    _check("a work", said, {**WORK, "scaling": _or_none(_object({"points": _list_of(_object(POINT)), "text": _text}))})


def hint_list(said: object) -> None:
    """Raises NoAnswer unless this is `GET /api/v1/hints/`; a hint that is none is left out by its reader."""
    _check("a list of hints", said, {"is_on": _flag, "hints": _list_of(lambda each: "")})


def insights(said: object) -> None:
    """Raises NoAnswer unless this is `GET /api/v1/insights/`."""
    lists = dict.fromkeys(("would_save", "repeats"), _list_of(_object({"text": _text})))
    _check("insights", said, {"sentences": _list_of(_text), "period": _object({"days": _whole}), **lists})


def token_owner(said: object) -> None:
    """Raises NoAnswer unless this is an answer of `GET /api/v1/whoami/`."""
    token = _object({"name": _text, "expires_at": _or_none(_text)})
    _check("the owner of a token", said, {"user": _name, "scopes": _list_of(_text), "token": token})


def _check(what: str, said: object, members: Mapping[str, Kind]) -> None:
    wrong = _object(members)(said)
    if wrong:
        raise NoAnswer(f"the portal's answer is not {what} ({wrong.strip()}): check KAIKU_URL")


def _object(members: Mapping[str, Kind]) -> Kind:
    def wrong(said: object) -> str:
        if not isinstance(said, dict):
            return " is not an object"
        for name, kind in members.items():
            if name not in said:
                return f" {name} is missing"
            if ending := kind(said[name]):
                return f" {name}{ending}"
        return ""

    return wrong


def _list_of(kind: Kind) -> Kind:
    def wrong(said: object) -> str:
        if not isinstance(said, list):
            return " is not a list"
        return next((f" {place}{ending}" for place, each in enumerate(said, 1) if (ending := kind(each))), "")

    return wrong


def _or_none(kind: Kind) -> Kind:
    return lambda said: "" if said is None else kind(said)


def _text(said: object) -> str:
    return "" if isinstance(said, str) else " is not text"


def _name(said: object) -> str:
    return _text(said) or ("" if said else " is empty")


def _instant(said: object) -> str:
    return "" if isinstance(said, str) and instant(said) is not None else " is not a time"


def _number(said: object) -> str:
    found = number({"": said}, "")
    return "" if found is not None and 0 <= found <= NUMBER_MAX else " is not a number from 0"


def _whole(said: object) -> str:
    return "" if isinstance(said, int) and not _number(said) else " is not a whole number from 0"


def _percentage(said: object) -> str:
    found = number({"": said}, "")
    return "" if found is not None and 0 <= found <= PERCENT_MAX else " is not a percentage"


def _flag(said: object) -> str:
    return "" if isinstance(said, bool) else " is not true or false"


def _nothing(said: object) -> str:
    return "" if said is None else " is not null"


RECORD: Mapping[str, Kind] = {
    **{"cluster": _name, "job_id": _whole, "attempt": _whole, "state": _text},
    **dict.fromkeys(("job_name", "partition"), _or_none(_text)),
    **dict.fromkeys(("started_at", "ended_at"), _or_none(_instant)),
    **dict.fromkeys(("gpus_requested", "gpus_allocated", "walltime_requested_s", "walltime_used_s"), _or_none(_number)),
}
WORD: Mapping[str, Kind] = {
    **dict.fromkeys(("code", "title", "text"), _text),
    "steps": _list_of(_object({"text": _text, "command": _text})),
    "possibility": _object({"text": _text, "command": _text}),
}
RUNNING: Mapping[str, Kind] = {
    **{"cluster": _name, "job_id": _whole, "name": _text, "gpus": _whole, "started_at": _instant, "ran_s": _number},
    **dict.fromkeys(("left_s", "gpu_hours_so_far", "gpu_hours_at_limit"), _or_none(_number)),
    "measured": _or_none(_object({"until": _instant, "use_percent": _or_none(_percentage)})),
    "words": _list_of(_object(WORD)),
}
WORK: Mapping[str, Kind] = {
    **{"key": _name, "name": _text, "cluster": _text, "url": _text, "jobs": _whole},
    **{name: _or_none(_number) for name in ("gpu_hours", "unused_gpu_hours")},
}
POINT: Mapping[str, Kind] = {"gpus": _whole, "n": _whole, "run_time_s": _object({"typical": _number})}
EFFICIENCY: Mapping[str, Kind] = {
    "efficiency_class": _name,
    "avg_gpu_util": _or_none(_percentage),
    **{name: _or_none(_number) for name in ("coverage_fraction", "gpu_hours", "wasted_gpu_hours")},
}
RUN: Mapping[str, Kind] = {**RECORD, "efficiency": _or_none(_object(EFFICIENCY))}
REPORT: Mapping[str, Kind] = {
    "job": _object(RECORD),
    "efficiency": _object(EFFICIENCY),
    "is_use_judged": _flag,
    "findings": _list_of(_object({"title": _text, "text": _text})),
    "recommendations": _list_of(_object({"diff": _list_of(_text), "request": _list_of(_text)})),
    "savings": _or_none(_object({"gpu_hours": _or_none(_number)})),
    **dict.fromkeys(("headline", "verdict", "no_causes", "no_advice"), _text),
}
