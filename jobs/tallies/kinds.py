"""Everything that is counted: its name, its meaning, its labels, and for times the limits of their classes.

Names and units follow Prometheus (prometheus.io/docs/practices/naming): seconds and bytes, no unit for plain counts.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

Counts = Counter[tuple[str, tuple[str, ...]]]
"""What to add, by name and labels."""

SINCE_END_S = (60, 120, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
"""From a minute to a week: a run waits minutes for its nodes, and a message up to a week if its reader chose so."""

STEP_S = (0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 1800)
"""Up to the time limit of the longest step."""


@dataclass(frozen=True)
class Count:
    """Something that happens, counted permanently under these labels.

    `known` are the values that labels are known to have, for each label: these numbers exist from the beginning,
    because Prometheus sees no increase in a number that appears.
    """

    name: str
    meaning: str
    labels: tuple[str, ...] = ()
    known: tuple[tuple[str, ...], ...] = ()

    @property
    def zeros(self) -> list[tuple[str, ...]]:
        """Every combination of known label values; none where the values of a label are not known."""
        return list(product(*self.known)) if len(self.known) == len(self.labels) else []

    def of(self, *labels: str, times: float = 1) -> Counts:
        """An addition of this many occurrences."""
        return Counter({(self.name, labels): times})


@dataclass(frozen=True)
class Times:
    """How long something took: counted in classes, each up to one of `limits_s`, and summed."""

    name: str
    meaning: str
    limits_s: tuple[float, ...]
    labels: tuple[str, ...] = ()
    classes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", (*(f"{limit:g}" for limit in self.limits_s), "+Inf"))

    def of(self, seconds: float, *labels: str) -> Counts:
        """An addition of one duration."""
        in_class = self.classes[bisect_left(self.limits_s, seconds)]
        return Counter({(f"{self.name}_class", (*labels, in_class)): 1, (f"{self.name}_sum", labels): seconds})


SENDING = (("outcome",), (("sent", "failed", "tried again", "not wanted"),))
"""The label of what is sent, and its values."""

PAYLOADS = ("node-summary", "job-record", "raw-samples")
STATUSES = ("200", "201", "202", "400", "401", "403", "404", "408", "413", "422", "429", "500", "503")

END_TO_JUDGEMENT = Times("kaiku_end_to_judgement_seconds", "From a job's end to its first judgement", SINCE_END_S)
END_TO_REPORT = Times("kaiku_end_to_report_seconds", "From a job's end to its first report", SINCE_END_S)
END_TO_MAIL = Times("kaiku_end_to_mail_seconds", "From a job's end to the message about it", SINCE_END_S)
STEP_TIMES = Times("kaiku_step_seconds", "Duration of a step of background work", STEP_S, ("step",))

JUDGEMENTS = Count(
    "kaiku_judgements",
    "First judgements of jobs, by how many of their nodes had sent a summary",
    ("nodes",),
    (("all", "some", "none"),),
)
REPORTS = Count("kaiku_reports", "First reports of jobs")
MESSAGES = Count("kaiku_mail_messages", "Attempts to send a message, by result", *SENDING)
WEBHOOK_POSTS = Count("kaiku_webhook_posts", "Attempts to post early words to a webhook, by result", *SENDING)
STEP_FAILURES = Count("kaiku_step_failures", "Steps of background work that ended with an error", ("step",))
CALLS = Count(
    "kaiku_ingest_calls", "Calls of the ingest, by the status of their answer", ("kind", "code"), (PAYLOADS, STATUSES)
)
BODY_BYTES = Count("kaiku_ingest_bytes", "Bodies of calls of the ingest, as sent", ("kind",), (PAYLOADS,))
RECORDS = Count(
    "kaiku_ingest_records",
    "Records that the ingest answered",
    ("kind", "outcome"),
    (PAYLOADS, ("accepted", "duplicate", "rejected")),
)
LOGGED_CALLS = Count(
    "kaiku_logged_calls", "Calls of scripts that log points, by the status of their answer", ("code",), (STATUSES,)
)
LOGGED_POINTS = Count(
    "kaiku_logged_points",
    "Points that scripts logged; thinned ones were left out while too much waited",
    ("outcome",),
    (("stored", "thinned"),),
)
EXPORTED_RUNS = Count("kaiku_exported_runs", "Runs that the target of the export has confirmed, repeated ones again")
SUMMARIES = Count("kaiku_node_summaries", "Final node summaries stored from the site's collectors", ("cluster",))
COLLECTOR_FAILURES = Count(
    "kaiku_collector_failures", "Node summaries that state what their collector could not do", ("cluster", "reason")
)

KINDS: tuple[Count | Times, ...] = (
    *(END_TO_JUDGEMENT, END_TO_REPORT, END_TO_MAIL, STEP_TIMES),
    *(JUDGEMENTS, REPORTS, MESSAGES, STEP_FAILURES, CALLS, BODY_BYTES, RECORDS, SUMMARIES, COLLECTOR_FAILURES),
    *(LOGGED_CALLS, LOGGED_POINTS, EXPORTED_RUNS, WEBHOOK_POSTS),
)


def running_total(counts: dict[str, float], classes: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """The classes of `Times` as in Prometheus: each counts what took at most its limit."""
    total = 0.0
    for limit in classes:
        total += counts.get(limit, 0)
        yield limit, total
