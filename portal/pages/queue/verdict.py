"""What the jobs in the queue may take of the GPU-hours that are left, in a sentence."""

from __future__ import annotations

from portal.charts.queue_lines import Sums
from reports.numbers import hours, unbroken


def verdict(sums: Sums, left: float, *, leads: bool) -> str:
    """The sentence for own jobs, or for all of a led project; empty where they take nothing.

    >>> from portal.charts.queue_lines import Sum
    >>> both = Sums(Sum(jobs=2, at_limit=120.0), Sum(jobs=9, at_limit=400.0))
    >>> print(verdict(both, 300.0, leads=False).replace(chr(160), " "))
    Your running jobs will use up to 120.0 of the 300.0 GPU-hours left, the pending ones up to 400.0 more: together up \
to 220.0 more than are left.
    """
    running, waiting = sums.running.at_limit, sums.pending.at_limit
    whose = "the project's" if leads else "your"
    if not running and not waiting:
        return ""
    if not left:
        return unbroken(f"No GPU-hours are left, and {whose} jobs may use up to {hours(running + waiting)}.")
    if running > left:
        more = f", and the pending ones up to {hours(waiting)} more" if waiting else ""
        said = (
            f"{whose} running jobs alone may use up to {hours(running)} GPU-hours{more}; only {hours(left)} are left."
        )
    else:
        said = f"{whose} {_uses(running, waiting, left)}: {_rest(running, waiting, left)}."
    return unbroken(said[0].upper() + said[1:])


def _uses(running: float, waiting: float, left: float) -> str:
    of_left = f"of the {hours(left)} GPU-hours left"
    if not running:
        return f"pending jobs may use up to {hours(waiting)} {of_left}"
    more = f", the pending ones up to {hours(waiting)} more" if waiting else ""
    return f"running jobs will use up to {hours(running)} {of_left}{more}"


def _rest(running: float, waiting: float, left: float) -> str:
    over = running + waiting - left
    if over <= 0:
        return f"at least {hours(-over)} remain" if over else "none may remain"
    return f"{'together ' if running else ''}up to {hours(over)} more than are left"
