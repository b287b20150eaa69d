"""What the page of a run says beside its curves: its metrics, parameters, files, and what of it is not kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.http import QueryDict

from jobs.experiments.limits import KEY_LENGTH_MAX, METRICS_MAX
from jobs.experiments.models import Artifact, ExperimentRun
from jobs.experiments.points import Digest, Series
from jobs.experiments.selectors import artifacts_of
from jobs.records import printable_lines
from portal.charts.logged_runs import shown
from reports.numbers import counted

DRAWN_USUAL, DRAWN_MAX = 2, 6
METRICS_LISTED, TEXTS_LISTED = 25, 200
TEXT_SHOWN_MAX = 500


@dataclass(frozen=True)
class MetricRow:
    """One metric of a run: what is exact of it, and whether it is drawn."""

    name: str
    label: str
    digest: Digest
    is_drawn: bool


@dataclass(frozen=True)
class Text:
    """A parameter or tag as it is shown."""

    name: str
    value: str


def drawn_metrics(query: QueryDict, digests: Mapping[str, Digest]) -> list[str]:
    """The metrics that an address asks for, else the usual ones; those that this run has."""
    asked = list(dict.fromkeys(name for name in query.getlist("metric")[: 4 * DRAWN_MAX] if name in digests))
    return asked[:DRAWN_MAX] or _usual(digests)


def _usual(digests: Mapping[str, Digest]) -> list[str]:
    """Losses first, then the metrics with most points."""
    names = sorted(digests, key=lambda name: ("loss" not in name.lower(), -digests[name].count, name))
    return names[:DRAWN_USUAL]


def metric_rows(query: QueryDict, digests: Mapping[str, Digest], drawn: Sequence[str]) -> Page[MetricRow]:
    """One page of the metrics whose name holds `?find=`, those that are drawn first."""
    word = query.get("find", "")[:KEY_LENGTH_MAX].lower()
    names = [name for name in digests if word in name.lower()]
    names.sort(key=lambda name: (name not in drawn, name))
    rows = [MetricRow(name, shown(name), digests[name], name in drawn) for name in names]
    return Paginator(rows, METRICS_LISTED).get_page(query.get("metrics"))


def texts_of(texts: Mapping[str, str]) -> list[Text]:
    """Parameters or tags by name, as many as are listed."""
    found = sorted(texts.items())[:TEXTS_LISTED]
    return [Text(shown(name), _cut(printable_lines(value))) for name, value in found]


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN_MAX else f"{text[: TEXT_SHOWN_MAX - 1]}…"


def files_of(run: ExperimentRun) -> list[Artifact]:
    """The files of a run by path; a run has few (`ARTIFACTS_MAX`)."""
    return list(artifacts_of(run))


def remarks(run: ExperimentRun, digests: Mapping[str, Digest], series: Mapping[str, Series]) -> list[str]:
    """What was left out, and what is odd, in sentences."""
    found = []
    if run.points_dropped:
        points, verb = counted(run.points_dropped, "point"), "is" if run.points_dropped == 1 else "are"
        found.append(f"{points} of metrics beyond the first {METRICS_MAX:,} names {verb} not kept.")
    if run.points_thinned:
        points = counted(run.points_thinned, "point")
        found.append(
            f"{points} did not fit while the portal had too much to store: the first, last, least and greatest of each"
            " call are kept."
        )
    if run.odd_times:
        points = counted(run.odd_times, "point")
        found.append(f"{points} had an impossible time and got that of their arrival.")
    thinned = [name for name, one in series.items() if one.is_thinned]
    if thinned:
        found.append(
            f"Of {', '.join(map(shown, thinned))} more points arrived than are kept: the curve shows the extremes of"
            " neighbours; last, least and greatest value are exact."
        )
    return found + _lost_values(digests)


def _lost_values(digests: Mapping[str, Digest]) -> list[str]:
    """Which metrics became NaN for good."""
    lost = [(name, digest) for name, digest in sorted(digests.items()) if digest.nan_since_step is not None]
    said = [f"{shown(name)} is NaN since step {digest.nan_since_step:,}." for name, digest in lost[:3]]
    if len(lost) > len(said):
        said.append(f"So are {counted(len(lost) - len(said), 'more metric')}.")
    return said
