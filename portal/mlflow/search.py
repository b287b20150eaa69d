"""MLflow's searches: the experiments and runs that the caller sees, filtered, sorted and by page.

Rows are compared here and not in the database: parameters and tags are text of any name, and the last values of
metrics include what was not sorted into its series yet. Only the columns that a search names are read for that; the
runs of the page are read as a whole afterwards.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec
from django.db.models import QuerySet

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.points import Digest
from jobs.experiments.rules import NAME_TAG
from jobs.experiments.selectors import digests_of, own_experiments, visible_experiments, visible_runs
from portal.mlflow.call import DEFAULT_ID, DEFAULT_NAME, EXPERIMENT_ID, Call
from portal.mlflow.grammar import EXPERIMENTS, RUNS, Clause, Kind, Name, Order, parsed_filter, parsed_orders
from portal.mlflow.matching import sorted_by, test_of
from portal.mlflow.shown import (
    artifact_uri,
    begin_of,
    experiment_shown,
    name_of,
    next_page,
    page_of,
    run_shown,
    size_of,
    status_of,
)
from portal.mlflow.wire import Search, milliseconds
from wire.safe_text import printable

DELETED_ONLY = "DELETED_ONLY"
RESULTS_MAX, RESULTS_DEFAULT = 50_000, 1000
ANSWER_BYTES_MAX = 16 * 2**20
"""A page of runs with very much text ends here; clients read the next one."""

COMPARED_TOGETHER, READ_TOGETHER = 500, 100

ATTRIBUTES: dict[str, Callable[[ExperimentRun], Any]] = {
    "run_id": lambda run: run.run_id,
    "run_name": name_of,
    "status": status_of,
    "user_id": lambda run: run.owner.username,
    "artifact_uri": artifact_uri,
    "start_time": lambda run: milliseconds(run.started_at),
    "end_time": lambda run: None if run.ended_at is None else milliseconds(run.ended_at),
}
OF_EXPERIMENTS: dict[str, Callable[[Experiment], Any]] = {
    "name": lambda experiment: experiment.name,
    "experiment_id": lambda experiment: str(experiment.pk),
    "creation_time": lambda experiment: milliseconds(experiment.created_at),
    "last_update_time": lambda experiment: milliseconds(experiment.changed_at),
}
COLUMNS = ("run_id", "name", "status", "started_at", "ended_at", "experiment_id", "owner__username")
"""What the attributes are made of."""


@dataclass(frozen=True)
class Compared:
    """A run with what a search compares of it: metrics by the names that the search has."""

    run: ExperimentRun
    metrics: dict[str, Digest] = field(default_factory=dict)

    def value(self, name: Name) -> Any:
        """The value of a column; None where the run has none."""
        if name.kind is Kind.ATTRIBUTE:
            return ATTRIBUTES[name.key](self.run)
        if name.kind is Kind.METRIC:
            digest = self.metrics.get(printable(name.key))
            return None if digest is None else digest.last_value
        if name == Name(Kind.TAG, NAME_TAG):
            return name_of(self.run)
        return (self.run.params if name.kind is Kind.PARAM else self.run.tags).get(name.key)


def search_experiments(call: Call) -> dict[str, Any]:
    """The experiments that the caller sees, the last changed first."""
    sent = call.read(Search)
    clauses, orders = parsed_filter(sent.filter, EXPERIMENTS), parsed_orders(sent.order_by, EXPERIMENTS)
    if sent.view_type == DELETED_ONLY:
        return {"experiments": []}
    tests = [(clause.name, test_of(clause)) for clause in clauses]
    rows = visible_experiments(call.user).order_by("-changed_at", "-pk")
    fitting = [row for row in rows if all(fits(_experiment_value(row, name)) for name, fits in tests)]
    found = sorted_by(fitting, orders, _experiment_value)
    page, members = page_of(found, sent.page_token, sent.max_results or RESULTS_DEFAULT, RESULTS_MAX)
    return {"experiments": [experiment_shown(row) for row in page], **members}


def search_runs(call: Call) -> dict[str, Any]:
    """The runs of these experiments that the caller sees, the latest first where no order is stated."""
    sent = call.read(Search)
    clauses, orders = parsed_filter(sent.filter, RUNS), parsed_orders(sent.order_by, RUNS)
    begin, size = begin_of(sent.page_token), size_of(sent.max_results or RESULTS_DEFAULT, RESULTS_MAX)
    if sent.run_view_type == DELETED_ONLY:
        return {"runs": []}
    rows = visible_runs(call.user).filter(experiment__in=_experiments(call, sent.experiment_ids))
    rows = rows.order_by("-started_at", "-pk")
    # One more than the page shows whether there is another page.
    found = _found(rows, clauses, orders, begin + size + 1)[begin:]
    shown = _shown(found[:size])
    return {"runs": shown, **(next_page(begin + len(shown)) if len(found) > len(shown) else {})}


def _experiments(call: Call, experiment_ids: Collection[str]) -> list[int]:
    pks = [int(each) for each in experiment_ids if EXPERIMENT_ID.fullmatch(each)]
    if DEFAULT_ID in experiment_ids:
        pks += own_experiments(call.user).filter(name=DEFAULT_NAME).values_list("pk", flat=True)
    return pks


def _found(
    rows: QuerySet[ExperimentRun], clauses: Sequence[Clause], orders: Sequence[Order], count_max: int
) -> list[int]:
    """The first rows that fit, in the order that was stated."""
    if not clauses and not orders:
        return list(rows.values_list("pk", flat=True)[:count_max])
    names = [*(clause.name for clause in clauses), *(order.name for order in orders)]
    tests = [(clause.name, test_of(clause)) for clause in clauses]
    fitting = (each for each in _compared(rows, names) if all(fits(each.value(name)) for name, fits in tests))
    if not orders:
        return [each.run.pk for each in islice(fitting, count_max)]
    return [each.run.pk for each in sorted_by(list(fitting), orders, Compared.value)[:count_max]]


def _compared(rows: QuerySet[ExperimentRun], names: Collection[Name]) -> Iterator[Compared]:
    """The rows with the columns of these names."""
    kinds = {name.kind for name in names}
    texts = [column for kind, column in ((Kind.PARAM, "params"), (Kind.TAG, "tags")) if kind in kinds]
    metrics = {printable(name.key) for name in names if name.kind is Kind.METRIC}
    left = rows.select_related(None).select_related("owner").only(*COLUMNS, *texts).iterator(COMPARED_TOGETHER)
    while runs := list(islice(left, COMPARED_TOGETHER)):
        digests = digests_of(runs, metrics) if metrics else {}
        yield from (Compared(run, digests.get(run.pk, {})) for run in runs)


def _shown(pks: Sequence[int]) -> list[msgspec.Raw]:
    """The runs of these rows, in this order, up to the size of an answer and at least one."""
    shown: list[msgspec.Raw] = []
    left_bytes = ANSWER_BYTES_MAX
    for first in range(0, len(pks), READ_TOGETHER):
        part = pks[first : first + READ_TOGETHER]
        runs = ExperimentRun.objects.select_related("owner").in_bulk(part)
        digests = digests_of(runs.values())
        for run in (runs[pk] for pk in part if pk in runs):
            encoded = msgspec.json.encode(run_shown(run, digests[run.pk]))
            left_bytes -= len(encoded)
            if shown and left_bytes < 0:
                return shown
            shown.append(msgspec.Raw(encoded))
    return shown


def _experiment_value(experiment: Experiment, name: Name) -> Any:
    if name.kind is Kind.TAG:
        return experiment.tags.get(name.key)
    return OF_EXPERIMENTS[name.key](experiment)
