"""What runs were requested with differently, in sbatch's terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.works.best_request import allocated_options, is_spelling_known
from analysis.works.runs import PastRun
from jobs.sbatch import READING_ORDER

NOT_SET, LEFT_OUT = "(not set)", "(leave out)"


@dataclass(frozen=True)
class OptionRow:
    """One option of several runs: how each writes it, None where it does not."""

    option: str
    values: tuple[str | None, ...]

    @property
    def is_same(self) -> bool:
        return len(set(self.values)) == 1

    @property
    def written(self) -> tuple[str, ...]:
        """The option as each run writes it; empty where it does not."""
        return tuple("" if value is None else _written(self.option, value) for value in self.values)


def option_rows(runs: Sequence[PastRun]) -> list[OptionRow]:
    """Every option that any of the runs has, in the order in which a request reads best.

    They are the persons' own options where those are known of all runs, else what each was allocated in plain ones.
    """
    own = are_own_options(runs)
    return rows_of([run.request if own else allocated_options(run) for run in runs])


def rows_of(requests: Sequence[Mapping[str, str]]) -> list[OptionRow]:
    """The same of requests.

    >>> [(row.option, row.written) for row in rows_of([{"--gpus": "8"}, {"--gpus": "2", "--exclusive": ""}])]
    [('--gpus', ('--gpus=8', '--gpus=2')), ('--exclusive', ('', '--exclusive'))]
    """
    named = sorted({option for request in requests for option in request}, key=_place)
    return [OptionRow(option, tuple(request.get(option) for request in requests)) for option in named]


def are_own_options(runs: Sequence[PastRun]) -> bool:
    """Whether the options of all these runs are known as they were written."""
    return all(is_spelling_known(run) for run in runs)


def changes_between(before: PastRun, after: PastRun) -> tuple[OptionRow, ...] | None:
    """The options that differ from one request to the next; None where nothing is known of one of them."""
    own = are_own_options((before, after))
    requests = [run.request if own else allocated_options(run) for run in (before, after)]
    return tuple(row for row in rows_of(requests) if not row.is_same) if all(requests) else None


def changed_options(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """The options that differ, as the changes of a recommendation read.

    >>> changed_options({"--gpus": "8", "--exclusive": ""}, {"--gpus": "2", "--mem": "60G"})
    ('--gpus=8 -> --gpus=2', '(not set) -> --mem=60G', '--exclusive -> (leave out)')
    """
    return tuple(
        f"{row.written[0] or NOT_SET} -> {row.written[1] or LEFT_OUT}"
        for row in rows_of([before, after])
        if not row.is_same
    )


def _place(option: str) -> tuple[int, str]:
    return (READING_ORDER.index(option) if option in READING_ORDER else len(READING_ORDER)), option


def _written(option: str, value: str) -> str:
    return f"{option}={value}" if value else option
