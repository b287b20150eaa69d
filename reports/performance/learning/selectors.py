"""Reading runs as learning documents: whose runs they are decides the caller, with a queryset of `jobs.selectors`."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from django.db.models import QuerySet

from analysis.facts import job_facts
from analysis.models import FindingRow, RecommendationRow
from analysis.outcomes.selectors import works_to_settle
from analysis.predictions.selectors import predictions_of
from analysis.scaling import Scaling, scaling
from analysis.works.selectors import past_runs_of_work
from jobs.models import Job
from jobs.selectors import counted_senders, record_of
from metrics.many_runs.selectors import figures_of_runs
from reports.performance.judged_row import STORED, judged_row
from reports.performance.learning.build import Known, learning_document
from reports.performance.learning.document import Advice, JudgedFinding, LearningDocument, MadePrediction, Validated
from reports.performance.tables import batches

RUNS_TOGETHER = 50
"""Their measurements are in memory at a time: 1.5 MB for each run on all of LUMI-G, 4 kB for one on a node."""

WORKS_KEPT, SCALED_RUNS_MAX = 256, 200
"""Of so many works the scaling is kept while their runs are read, each from its latest runs."""

Told = TypeVar("Told", JudgedFinding, Advice)

NOT_READ = ("efficiency__use_course", "efficiency__savings", "efficiency__not_measured")


def learning_documents(runs: QuerySet[Job]) -> Iterator[LearningDocument]:
    """A document for each of these ended runs, in their order, else by key.

    Seven queries for some runs at a time, and one for each work that was not among the latest.
    """
    ordered = runs if runs.ordered else runs.order_by("pk")
    read = ordered.select_related("user", "project", "efficiency").defer(*NOT_READ)
    scaled = lru_cache(maxsize=WORKS_KEPT)(_scaling_of)
    for some in batches(read.iterator(chunk_size=RUNS_TOGETHER), RUNS_TOGETHER):
        yield from map(learning_document, _known(some, scaled))


def _known(runs: Sequence[Job], scaled: Callable[[str], Scaling]) -> Iterator[Known]:
    pks = [run.pk for run in runs]
    judged = [run for run in runs if hasattr(run, "efficiency")]
    measured = figures_of_runs({(run.cluster, run.job_id, run.attempt): counted_senders(run) for run in judged})
    # Read before the predictions: what is settled between the two is compared already.
    unsettled = works_to_settle({run.user_id for run in judged})
    predictions = predictions_of(pks)
    findings = _by_run(FindingRow.objects.all(), JudgedFinding, pks)
    advice = _by_run(RecommendationRow.objects.all(), Advice, pks)
    for run in runs:
        record, facts = record_of(run), None
        if hasattr(run, "efficiency"):
            facts = job_facts(record, measured[run.cluster, run.job_id, run.attempt])
        given = sorted(predictions.get(run.pk, ()), key=attrgetter("given_at"))
        yield Known(
            row=judged_row({name: _stored(run, path) for name, path in STORED.items()}),
            record=record,
            facts=facts,
            is_compared=facts is not None and (run.user_id, run.work_key) not in unsettled,
            scaled=scaled(run.work_key) if run.work_key else None,
            predictions=[msgspec.convert(each, MadePrediction, from_attributes=True) for each in given],
            validated=[msgspec.convert(each, Validated, from_attributes=True) for each in given],
            findings=findings.get(run.pk, ()),
            advice=advice.get(run.pk, ()),
        )


def _stored(run: Job, path: str) -> Any:
    """The value at a path of `judged_row.STORED`; None where the run is not judged."""
    value: Any = run
    for name in path.split("__"):
        value = getattr(value, name, None)
    return value


def _by_run(rows: QuerySet[Any], kind: type[Told], job_pks: Sequence[int]) -> Mapping[int, list[Told]]:
    """What the judgements of these runs state, in their order."""
    names = kind.__struct_fields__
    found: dict[int, list[Told]] = defaultdict(list)
    stated = rows.filter(efficiency__job__in=job_pks).order_by("efficiency", "position")
    for pk, *values in stated.values_list("efficiency__job", *names):
        found[pk].append(kind(**dict(zip(names, values, strict=True))))
    return found


def _scaling_of(work_key: str) -> Scaling:
    # A key is of one person's work in one project: whoever sees one of its runs sees all of them.
    return scaling(past_runs_of_work(Job.objects.all(), work_key, SCALED_RUNS_MAX))
