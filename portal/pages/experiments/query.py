"""The runs of an experiment that are asked for, in their order, and the names that its columns may have."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from math import isnan
from typing import Any

from django.db.models import Case, DateTimeField, Exists, F, Func, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, Coalesce, NullIf

from jobs.experiments.models import Experiment, ExperimentRun, MetricSeries
from jobs.experiments.selectors import keys_by_metric, late_values, metric_names
from jobs.experiments.status import Status
from portal.pages.experiments.choices import OF_METRIC, OF_PARAM, OF_TAG, RunChoices

LOOKED_THROUGH, OFFERED_MAX = 200, 60
"""Names of columns are those of so many latest runs, and at most so many of them are offered."""

OF_MLFLOW = "mlflow."
"""Tags that MLflow's clients set by themselves are not offered."""

PARAMS_USUAL, METRICS_USUAL = 3, 2
COLUMNS = {"started": "started_at", "name": "name", "status": "status"}
VALUE_COLUMNS = {"last": "last_value", "least": "least_value", "most": "most_value"}


class TextOf(Func):
    """The text of one of the `params` or `tags`, by any name; NULL where a run has none of that name."""

    output_field = TextField()
    template = "(%(expressions)s)"
    arg_joiner = " ->> "

    def __init__(self, column: str, name: str) -> None:
        super().__init__(F(column), Cast(Value(name), TextField()))

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
    tags: tuple[str, ...]
    has_seeds: bool
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
        runs = runs.alias(asked_param=TextOf("params", choices.param)).filter(asked_param=choices.equals)
    if choices.tag:
        runs = runs.alias(asked_tag=TextOf("tags", choices.tag)).filter(asked_tag=choices.is_tag)
    if choices.seed:
        runs = runs.filter(seed=choices.seed)
    bounds = {"gt": choices.above, "lt": choices.below}
    within = {f"{VALUE_COLUMNS[choices.value]}__{way}": to for way, to in bounds.items() if to is not None}
    if choices.metric and within:
        late = late_values(runs, choices.metric, VALUE_COLUMNS[choices.value])
        in_bounds = [pk for pk, value in late.items() if _is_within(value, choices)]
        series = MetricSeries.objects.filter(run=OuterRef("pk"), name=choices.metric, **within)
        runs = runs.filter((Q(Exists(series)) & ~Q(pk__in=list(late))) | Q(pk__in=in_bounds))
    return runs


def _is_within(value: float | None, choices: RunChoices) -> bool:
    above, below = choices.above, choices.below
    return value is not None and (above is None or value > above) and (below is None or value < below)


def ordered_keys(runs: QuerySet[ExperimentRun], choices: RunChoices, now: datetime) -> list[int]:
    """The keys of these runs in the order that is asked for; what has no value there comes last."""
    by = choices.sorted_by
    if text := _sorted_text(by):
        rows = runs.order_by("-started_at", "-pk").values_list("pk", text)
        return _by_text(list(rows), is_backward=choices.is_backward)
    if by.startswith(OF_METRIC):
        name = by.removeprefix(OF_METRIC)
        return keys_by_metric(runs, name, VALUE_COLUMNS[choices.value], is_backward=choices.is_backward)
    sorted_by = _ended_by(now) - F("started_at") if by == "duration" else F(COLUMNS[by])
    runs = runs.annotate(sorted_by=sorted_by)
    way = F("sorted_by").desc(nulls_last=True) if choices.is_backward else F("sorted_by").asc(nulls_last=True)
    return list(runs.order_by(way, "-pk").values_list("pk", flat=True))


def _sorted_text(by: str) -> Any:
    """The text that runs are sorted by as numbers and words; None for what is not sorted so."""
    if by.startswith(OF_PARAM):
        return TextOf("params", by.removeprefix(OF_PARAM))
    if by.startswith(OF_TAG):
        return TextOf("tags", by.removeprefix(OF_TAG))
    return NullIf("seed", Value("")) if by == "seed" else None


def _ended_by(now: datetime) -> Any:
    """Until when a duration counts (`portal.charts.logged_runs.seconds_of`)."""
    heard = Case(When(status=Status.RUNNING, then=Value(now)), default=F("heard_at"), output_field=DateTimeField())
    return Coalesce("ended_at", heard)


def offered_columns(experiment: Experiment) -> Offered:
    """The names in the latest runs: two queries, and two more while points wait, however many there are."""
    rows = experiment.runs.order_by("-started_at", "-pk").values_list("pk", "params", "tags", "seed")
    latest = list(rows[:LOOKED_THROUGH])
    texts: dict[str, Counter[str]] = {}
    for _, params, _, _ in latest:
        for name, value in params.items():
            texts.setdefault(name, Counter())[value] += 1
    differ = {name for name, found in texts.items() if len(found) > 1 or found.total() < len(latest)}
    named = sorted(texts, key=lambda name: (name not in differ, -texts[name].total(), name))
    tagged = Counter(name for _, _, tags, _ in latest for name in tags if not name.startswith(OF_MLFLOW))
    counted = metric_names([pk for pk, *_ in latest])
    metrics = _most_frequent(counted)
    return Offered(
        params=tuple(named[:OFFERED_MAX]),
        different=min(len(differ), OFFERED_MAX),
        metrics=tuple(metrics[:OFFERED_MAX]),
        tags=tuple(_most_frequent(tagged)[:OFFERED_MAX]),
        has_seeds=any(seed for *_, seed in latest),
        more_params=max(len(named) - OFFERED_MAX, 0),
        more_metrics=max(len(metrics) - OFFERED_MAX, 0),
    )


def _most_frequent(names: Counter[str]) -> list[str]:
    return sorted(names, key=lambda name: (-names[name], name))


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
