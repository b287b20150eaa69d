"""The whole judgement of one run: efficiency, root causes, right-sizing and savings from one set of facts."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.comparable import ComparableRun
from analysis.efficiency import Efficiency, efficiency
from analysis.facts import JobFacts, job_facts
from analysis.findings import Finding
from analysis.progress.logged import LoggedRun
from analysis.rightsizing import Recommendation, recommendations
from analysis.rules import findings
from analysis.savings import Savings, savings
from analysis.thresholds import LIMITS, RULES_VERSION, Limits
from jobs.records import JobRecord
from metrics.series import RunMetrics


@dataclass(frozen=True)
class Assessment:
    """The judgement of one run in numbers and codes; `not_measured` are sentences about what is missing and why."""

    rules_version: str
    facts: JobFacts
    efficiency: Efficiency
    findings: tuple[Finding, ...]
    recommendations: tuple[Recommendation, ...]
    savings: Savings | None
    not_measured: tuple[str, ...]


def assess(
    record: JobRecord,
    metrics: RunMetrics,
    limits: Limits = LIMITS,
    past: Sequence[ComparableRun] = (),
    logged: Sequence[LoggedRun] = (),
) -> Assessment:
    """Judge one run; `past` are the user's own comparable runs, `logged` what scripts logged in it."""
    facts = job_facts(record, metrics, limits, logged)
    found = findings(facts, limits, past)
    advised = recommendations(facts, found, limits, past)
    return Assessment(
        rules_version=RULES_VERSION,
        facts=facts,
        efficiency=efficiency(facts, limits),
        findings=found,
        recommendations=advised,
        savings=savings(facts, advised, limits),
        not_measured=facts.not_measured,
    )
