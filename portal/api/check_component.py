"""One component of a check: its request beside the asking person's own earlier runs of the same work."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec
from django.urls import reverse

from analysis.check.asked import Asked, asked, cheapest, fits, own_fit, soonest
from analysis.check.earlier import REFUSED, YEAR, Earlier, earlier
from analysis.check.enough import enough
from analysis.check.reasons import why_nothing
from analysis.check.risks import risks, size_risks
from analysis.check.selectors import NamedWork, advised_shape, latest_runs, measured, named_work
from analysis.check.suggestion import Suggestion, suggestion, typical_s_of
from analysis.check.within import Within, accepted, within
from analysis.findings import FindingCode
from analysis.queue_waits.selectors import WaitHistory
from analysis.works.best_request import best_request, gpus_of_work
from analysis.works.patterns import WithoutUse, without_use
from analysis.works.runs import PastRun
from education.lesson import Programs
from jobs.hardware import partition_of
from jobs.models import User
from jobs.work_key import normalised_name
from portal.api.check_answers import (
    ChangeAnswer,
    ComponentAnswer,
    EarlierAnswer,
    PartitionAnswer,
    ProgramAnswer,
    RiskAnswer,
    ShapeAnswer,
    SuggestionAnswer,
    WorkLink,
)
from portal.api.check_body import CheckComponent
from portal.api.check_costs import GPU_HOUR, Waits, cost_of, in_partition, own_project, shorter_wait, with_other_starts
from portal.api.check_elsewhere import elsewhere
from portal.api.check_predictions import expected_answers, expected_of, keep
from portal.api.work_answers import range_of
from portal.charts.typical_run import size_sentence
from reports.check_texts import (
    accepted_text,
    earlier_text,
    raised_text,
    reason_text,
    refused_text,
    risk_text,
    suggestion_text,
    why_none_text,
    work_gpus_text,
)
from reports.insight_texts import no_use_text
from reports.lessons import named_program


@dataclass(frozen=True)
class Checking:
    """Who asks, when, and what holds for all components."""

    user: User
    cluster: str
    now: datetime
    tasks: int
    has_elsewhere: bool
    is_single: bool
    waits: WaitHistory
    programs: Programs = field(default_factory=dict)


@dataclass(frozen=True)
class Looked:
    """A component with everything that was read for it."""

    component: CheckComponent
    request: Asked
    work: NamedWork | None
    found: Earlier
    base: Within
    given: Suggestion | None
    why_none: str
    waits: Waits = field(compare=False)

    @property
    def shown(self) -> tuple[PastRun, ...]:
        """The completed runs that ranges are of: of the same size where there are any."""
        return self.found.completed or tuple(run for run in self.found.runs if run.is_comparable)


def looked_up(checking: Checking, component: CheckComponent) -> Looked:
    """Read what one component needs."""
    given_options, name = component.given, component.job_name or ""
    request = asked(checking.cluster, given_options)
    user, account = checking.user, given_options.get("--account", "")
    work, other_projects = named_work(user, checking.cluster, name, account)
    runs = latest_runs(user, work.key, checking.now) if work else []
    found = earlier(runs, request, checking.now)
    base, given, why = _suggested(checking, request, found, runs)
    why = why_nothing(why, request, found, has_name=bool(normalised_name(name)), other_projects=other_projects)
    why_none = "" if given else why_none_text(why, request, account, other_projects)
    project = own_project(user, account or (work.project.name if work else ""))
    return Looked(component, request, work, found, base, given, why_none, Waits(user, project, checking.waits))


def _suggested(
    checking: Checking, request: Asked, found: Earlier, runs: Sequence[PastRun]
) -> tuple[Within, Suggestion | None, str]:
    """The request as a partition accepts it, and what earlier runs suggest for that."""
    base = within(request, found.times_s)
    if base.request is None:
        return base, None, REFUSED
    again = found if base.request is request else earlier(runs, base.request, checking.now)
    report_shape = advised_shape if checking.is_single else lambda run: None
    found_shape = suggestion(base.request, again, measured, report_shape)
    given, why = enough(base.request, again, *found_shape)
    return base, *accepted(request, base, given, why)


def answered(checking: Checking, looked: Looked) -> ComponentAnswer:
    """The answer for one component, without the allocation, which all of them share."""
    request, typical_s, tasks = looked.request, typical_s_of(looked.found), checking.tasks
    places, next_run = _partitions(checking, looked, typical_s), expected_of(request, looked.found)
    fitting = [each for each in places if each.fits]
    own = request.shape.partition if request.shape else ""
    at = "cost_typical" if typical_s is not None else "cost_at_limit"
    has_wait = any(each.wait for each in fitting if each.is_requested)
    answer: dict[str, Any] = {"elsewhere": None, "elsewhere_text": None}
    if checking.has_elsewhere:
        memory_gb = max((run.peak_gpu_mem_gb or 0.0 for run in looked.shown), default=0.0) or None
        offers, text = elsewhere(request, fits(request), looked.given, typical_s, memory_gb, looked.waits, tasks)
        answer = {"elsewhere": offers, "elsewhere_text": text or None}
    if looked.work is not None:
        keep(checking.user, looked.work, request, looked.found, next_run, looked.waits)
    return ComponentAnswer(
        job_name=looked.component.job_name,
        refused=refused_text(request, own_fit(request), () if request.options.get("--partition") else fits(request)),
        shape=msgspec.convert(request.shape, ShapeAnswer, from_attributes=True) if request.shape else None,
        cost=with_other_starts(cost_of(request.partition, request.shape, typical_s, tasks), request, tasks),
        earlier_runs=_earlier(looked),
        expected=expected_answers(next_run),
        suggestion=_suggestion(checking, looked),
        no_suggestion=f"{looked.why_none}{_of_the_work(looked)}" if looked.why_none else None,
        risks=_risks(looked),
        partitions=places,
        cheapest=cheapest([(each.partition, getattr(each, at)) for each in fitting], own),
        soonest=soonest([(each.partition, _ends(each)) for each in fitting]),
        shorter_wait=shorter_wait(request, looked.given, checking.waits) if has_wait else None,
        allocation=None,
        program=_program(checking, looked),
        **answer,
    )


def _program(checking: Checking, looked: Looked) -> ProgramAnswer | None:
    """Hints for the program that the job's name tells, for a request of GPUs."""
    request = looked.request
    partition = request.options.get("--partition", "").partition(",")[0]
    if request.shape is not None and not request.shape.gpus:
        return None
    found = named_program(looked.component.job_name or "", (checking.cluster, partition), checking.programs)
    if found is None:
        return None
    return ProgramAnswer(
        code=found.code,
        name=found.name,
        text=found.said,
        hints=list(found.texts),
        links=[link.url for link in found.links],
        lesson_url=reverse("lesson", args=[found.code]),
    )


def _partitions(checking: Checking, looked: Looked, typical_s: float | None) -> list[PartitionAnswer]:
    """Every partition of the cluster; the wait of the requested one is read first."""
    request, waits = looked.request, looked.waits
    every = fits(request)
    found = {
        place.partition.name: waits.of(checking.cluster, place.partition.name, place.shape)
        for place in sorted(every, key=lambda place: place.partition is not request.partition)
        if not place.why_not and place.shape is not None
    }
    return [in_partition(place, request, typical_s, checking.tasks, found.get(place.partition.name)) for place in every]


def _risks(looked: Looked) -> list[RiskAnswer]:
    """What runs of this size show; where they do not, what depends on a size of the request."""
    unused = without_use(looked.found.runs)
    shape = looked.request.shape
    # A request without GPUs does not use any in vain.
    is_for_gpus = shape is None or shape.gpus > 0
    first = [_unused(unused)] if unused is not None and not unused.is_over and is_for_gpus else []
    found = first + [
        RiskAnswer(each.code, risk_text(each), each.runs, each.of) for each in risks(looked.found, looked.request)
    ]
    said = {risk.code for risk in found}
    for code, split in size_risks(looked.found, looked.request):
        failed, of = (
            (split.failed_above, split.runs_above) if split.is_above else (split.failed_below, split.runs_below)
        )
        if code not in said:
            found.append(RiskAnswer(code, size_sentence(split), failed, of))
    return found


def _unused(found: WithoutUse) -> RiskAnswer:
    text = no_use_text(found.runs, found.of, found.gpu_hours, is_over=found.is_over)
    return RiskAnswer(FindingCode.NO_GPU_USE.value, f"Earlier runs: {text[0].lower()}{text[1:]}", found.runs, found.of)


def _ends(place: PartitionAnswer) -> tuple[float, float] | None:
    """The range of the wait in seconds."""
    return (place.wait.low_s, place.wait.high_s) if place.wait else None


def _earlier(looked: Looked) -> EarlierAnswer | None:
    work, found, shown = looked.work, looked.found, looked.shown
    if work is None or not found.runs:
        return None
    gpus, used = range_of(run.gpus for run in shown), range_of(run.effective_gpus for run in shown)
    memory, time = range_of(run.host_peak_gb for run in shown), range_of(run.elapsed_s for run in shown)
    limit_s = looked.request.shape.walltime_s if looked.request.shape else None
    typical = memory.typical if memory else None, time.typical if time else None
    text = earlier_text(len(shown), (used.typical if used else None, gpus.typical if gpus else 0), *typical, limit_s)
    return EarlierAnswer(
        work=WorkLink(work.key, looked.component.job_name or "", reverse("work", args=[work.key])),
        project=work.project.name,
        is_ambiguous=work.is_ambiguous,
        n=len(found.runs),
        same_size=len(found.same_size),
        days=YEAR.days,
        gpus_requested=gpus,
        gpus_used=used,
        memory_gb=memory,
        gpu_memory_gb=range_of(run.peak_gpu_mem_gb for run in shown),
        run_time_s=time,
        use_percent=range_of(run.avg_gpu_util for run in shown),
        text=text if found.completed or not shown else f"{text}; none of this size",
    )


def _of_the_work(looked: Looked) -> str:
    """What the page of the work suggests, where that is another number of GPUs than here."""
    best, shape = best_request(looked.found.runs), looked.request.shape
    here = looked.given.wanted.gpus if looked.given else shape.gpus if shape else None
    if best is None or here is None or gpus_of_work(best) == here:
        return ""
    return f" {work_gpus_text(gpus_of_work(best), best.run.job_id)}"


def _suggestion(checking: Checking, looked: Looked) -> SuggestionAnswer | None:
    given, request = looked.given, looked.request
    if given is None:
        return None
    tasks, facts = checking.tasks, given.facts
    target = partition_of(request.cluster, given.wanted.partition)
    wanted = given.wanted
    if not wanted.walltime_s and request.shape is not None:
        wanted = replace(wanted, walltime_s=request.shape.walltime_s)
    saves = None if given.saves is None else given.saves * tasks
    unit = target.price.unit if target and target.price else GPU_HOUR
    other_size = None if given.runs or given.like is None else given.like.gpus
    reasons = [reason_text(each, facts) for each in given.advice] if facts else []
    reasons += [raised_text(risk, given.wanted) for risk in given.raised]
    if looked.base.obstacle is not None:
        reasons.append(accepted_text(looked.base.obstacle, given.wanted))
    return SuggestionAnswer(
        changes=[ChangeAnswer(each.option, each.requested, each.recommended) for each in given.changes],
        request=list(given.block),
        reasons=reasons,
        saves_gpu_hours=saves,
        runs=given.runs,
        cost=cost_of(target, wanted, given.run_s, tasks),
        text=suggestion_text(
            given.runs, given.like.job_id if given.like else None, saves, unit, other_size, len(looked.found.completed)
        )
        + _of_the_work(looked),
    )
