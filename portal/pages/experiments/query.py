"""The runs of an experiment that are asked for, in their order, and the names that its columns may have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isnan

from django.db.models import Count, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast

from jobs.experiments.models import Experiment, ExperimentRun, MetricSeries
from portal.pages.experiments.choices import OF_METRIC, OF_PARAM, RunChoices

LOOKED_THROUGH, OFFERED_MAX = 200, 60
"""Names of columns are those of so many latest runs, and at most so many of them are offered."""

PARAMS_USUAL, METRICS_USUAL = 3, 2
COLUMNS = {"started": "started_at", "name": "name", "status": "status"}
VALUE_COLUMNS = {"last": "last_value", "least": "least_value", "most": "most_value"}


class ParamText(Func):
    """The text of one parameter, by any name; NULL where a run has none of that name."""

    output_field = TextField()
    template = "(%(expressions)s)"
    arg_joiner = " ->> "

    def __init__(self, name: str) -> None:
        super().__init__(F("params"), Cast(Value(name), TextField()))

    def as_sqlite(self, compiler, connection, **context):  # type: ignore[no-untyped-def]
        """SQLite's operator takes a name as a path, where a quotation mark or a digit means something else."""
        context |= {"template": "(SELECT value FROM json_each(%(expressions)s)", "arg_joiner": ") WHERE key = "}
        return super().as_sql(compiler, connection, **context)


@dataclass(frozen=True)
class Offered:
    """Names of columns in the latest runs: of parameters those that differ first, of metrics the most frequent first.

    `more_…` is how many there are beyond those.
    """

    params: tuple[str, ...]
    different: int
    metrics: tuple[str, ...]
    more_params: int = 0
    more_metrics: int = 0

    def shown_params(self, choices: RunChoices) -> tuple[str, ...]:
        """The chosen columns, else the first of those that differ."""
        return self.params[: min(self.different, PARAMS_USUAL)] if choices.params is None else choices.params

    def shown_metrics(self, choices: RunChoices) -> tuple[str, ...]:
        return self.metrics[:METRICS_USUAL] if choices.metrics is None else choices.metrics


def chosen_runs(experiment: Experiment, choices: RunChoices) -> QuerySet[ExperimentRun]:
    """The runs that are asked for, in no order."""
    runs = experiment.runs.all()
    if choices.status:
        runs = runs.filter(status=choices.status)
    if choices.q:
        runs = runs.filter(Q(name__icontains=choices.q) | Q(run_id__startswith=choices.q.lower()))
    if choices.param:
        runs = runs.alias(asked_param=ParamText(choices.param)).filter(asked_param=choices.equals)
    bounds = {"gt": choices.above, "lt": choices.below}
    within = {f"{VALUE_COLUMNS[choices.value]}__{way}": to for way, to in bounds.items() if to is not None}
    if choices.metric and within:
        series = MetricSeries.objects.filter(run=OuterRef("pk"), name=choices.metric, **within)
        runs = runs.filter(Exists(series))
    return runs


def ordered_keys(runs: QuerySet[ExperimentRun], choices: RunChoices) -> list[int]:
    """The keys of these runs in the order that is asked for; what has no value there comes last."""
    by = choices.sorted_by
    if by.startswith(OF_PARAM):
        rows = runs.order_by("-started_at", "-pk").values_list("pk", ParamText(by.removeprefix(OF_PARAM)))
        return _by_text(list(rows), is_backward=choices.is_backward)
    if by.startswith(OF_METRIC):
        series = MetricSeries.objects.filter(run=OuterRef("pk"), name=by.removeprefix(OF_METRIC))
        sorted_by = Subquery(series.values(VALUE_COLUMNS[choices.value])[:1])
    elif by == "duration":
        sorted_by = F("ended_at") - F("started_at")  # type: ignore[assignment]
    else:
        sorted_by = F(COLUMNS[by])  # type: ignore[assignment]
    runs = runs.annotate(sorted_by=sorted_by)
    way = F("sorted_by").desc(nulls_last=True) if choices.is_backward else F("sorted_by").asc(nulls_last=True)
    return list(runs.order_by(way, "-pk").values_list("pk", flat=True))


def offered_columns(experiment: Experiment) -> Offered:
    """The names in the latest runs: three queries, however many there are."""
    latest = list(experiment.runs.order_by("-started_at", "-pk").values_list("pk", "params")[:LOOKED_THROUGH])
    texts: dict[str, Counter[str]] = {}
    for _, params in latest:
        for name, value in params.items():
            texts.setdefault(name, Counter())[value] += 1
    differ = {name for name, found in texts.items() if len(found) > 1 or found.total() < len(latest)}
    params = sorted(texts, key=lambda name: (name not in differ, -texts[name].total(), name))
    series = MetricSeries.objects.filter(run__in=[pk for pk, _ in latest])
    names = series.values_list("name").annotate(runs=Count("pk")).order_by("-runs", "name")
    metrics = [name for name, _ in names[:OFFERED_MAX]]
    all_metrics = series.values("name").distinct().count()
    return Offered(
        params=tuple(params[:OFFERED_MAX]),
        different=min(len(differ), OFFERED_MAX),
        metrics=tuple(metrics),
        more_params=max(len(params) - OFFERED_MAX, 0),
        more_metrics=all_metrics - len(metrics),
    )


def _by_text(rows: list[tuple[int, str | None]], *, is_backward: bool) -> list[int]:
    """Keys by the text beside them: numbers by their value and before words."""
    known = [(pk, text) for pk, text in rows if text is not None]
    known.sort(key=lambda row: _natural(row[1]), reverse=is_backward)
    return [pk for pk, _ in known] + [pk for pk, text in rows if text is None]


def _natural(text: str) -> tuple[bool, float, str]:
    """
    >>> sorted(["relu", "10", "9", "1e-3", "nan"], key=_natural)
    ['1e-3', '9', '10', 'nan', 'relu']
    """
    try:
        value = float(text)
    except ValueError:
        return True, 0.0, text
    return (True, 0.0, text) if isnan(value) else (False, value, text)
