"""`kaiku check` for people: what the parser found, then what the portal answered, component by component."""

from __future__ import annotations

from cli.answers import number, objects, text, texts, value
from cli.layout import NOT_KNOWN, count, duration, gigabytes, hours, percent, spread
from cli.sections import indented, labelled, whole_table
from cli.suggested import change_line
from cli.terminal import harmless
from wire.numbers import NO_BREAK, counted
from wire.sbatch.script import REMARKS_MAX
from wire.sbatch.sharing import NAMES, left_out, resource_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.job_script import JobScript
    from cli.suggested import Suggested
    from cli.terminal import Terminal
    from wire.sbatch.rewriting import Change
    from wire.sbatch.script import Component, Remark, Script

SPREADS = (
    ("gpus_used", "GPUs over 30\u00a0%:", count),
    ("memory_gb", "memory", gigabytes),
    ("run_time_s", "run time", duration),
    ("use_percent", "GPU use", percent),
)
SAME_KIND_MAX = 5
"""Remarks of one kind that are shown: thousands of lines may be alike."""
UNPRICED = "not known: the site states no price."
PARTITION_HEAD = ("partition", "at limit", "typically", "wait", "starts")


class Lines:
    """The lines of a report, in the width of its terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.columns = terminal.columns
        self.lines: list[str] = []

    def labelled(self, label: str, said: str, colour: str = "") -> None:
        """A labelled paragraph, nothing where nothing is said."""
        self._add(labelled(label, said, self.columns) if said else [], colour)

    def points(self, label: str, said: list[str], colour: str = "") -> None:
        """A paragraph for each sentence, the first beside the label."""
        for place, sentence in enumerate(said):
            self._add(indented(sentence, self.columns) if place else labelled(label, sentence, self.columns), colour)

    def heading(self, said: str) -> None:
        """A line of its own, after an empty one."""
        if self.lines:
            self.lines.append("")
        self._add(labelled(said, "", self.columns) or [said], "bold")

    def blank(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def plain(self, lines: list[str]) -> None:
        self.lines += lines

    def _add(self, lines: list[str], colour: str) -> None:
        self.lines += [self.terminal.paint(line, colour) for line in lines] if colour else lines


def script_lines(into: Lines, job: JobScript) -> None:
    """What the parser found, the refusals first."""
    script = job.script
    into.points("Refused", _few(script.refusals), "red")
    into.points("Script", _few(script.warnings), "yellow")
    for component in script.components:
        names = [name for name in left_out(component) if name in NAMES]
        into.points("Not sent", [harmless(_not_sent(component, name)) for name in names], "yellow")
    if not script.refusals and not script.warnings:
        into.labelled("Script", f"Slurm reads every directive as written{_unchecked(script)}.")
    if job.words.behind:
        shown = " ".join(harmless(word) for word in job.words.behind)
        into.labelled(
            "Arguments",
            f"{shown}: counted as arguments of sbatch. sbatch itself takes them only before {job_name(job)}.",
        )
    if job.words.belong:
        into.labelled(
            "Arguments", f"{counted(len(job.words.belong), 'word')} behind the script: left to the script, not read."
        )


def _few(remarks: list[Remark]) -> list[str]:
    """The sentences, of each kind the first ones and how many more there are."""
    by_kind: dict[str, list[str]] = {}
    for remark in remarks:
        by_kind.setdefault(remark.code, []).append(harmless(remark.sentence))
    least = "At least " if len(remarks) == REMARKS_MAX else ""
    lines = []
    for sentences in by_kind.values():
        more = len(sentences) - SAME_KIND_MAX
        lines += sentences[:SAME_KIND_MAX]
        lines += [f"{least}{more} more of this kind; --json has them."] if more > 0 else []
    return lines


def _unchecked(script: Script) -> str:
    """Of which options that is not known, because only the cluster, or a file, decides."""
    names = " and ".join(f"--{name}" for name in script.unchecked)
    return f"; whether the cluster accepts the values of {names} is not checked here" if names else ""


def job_name(job: JobScript) -> str:
    """The script's name, harmless; what stands for it on a command line where it has none."""
    return "-" if job.is_piped else harmless(job.name)


def job_title(job: JobScript) -> str:
    """The heading of an answer."""
    return f"{'standard input' if job.is_piped else job_name(job)}, job name {harmless(job.job_name)}"


def offline_lines(into: Lines, job: JobScript, missing: str) -> None:
    """The request as the parser knows it, and what only the portal could add."""
    is_one = len(job.script.components) == 1
    for component in job.script.components:
        into.labelled("Request" if is_one else f"Request {component.index + 1}", _options(component))
    without = "cost, earlier runs, risks, suggestion, partitions and allocation, which only the portal knows."
    into.points("Missing", [without, harmless(missing[:1].upper() + missing[1:])], "yellow")


def answer_lines(into: Lines, job: JobScript, answer: dict[str, Any], made: Suggested) -> None:
    """The portal's answer."""
    said = objects(answer, "components")
    for place, (component, each) in enumerate(zip(job.script.components, said)):
        if len(said) > 1:
            name = text(each, "job_name")
            into.heading(f"Component {place + 1} of {len(said)}" + (f", {name}" if name else ""))
        # What the options alone show to be refused the parser has named, with its lines.
        if not job.script.refusals or value(each, "shape"):
            into.labelled("Refused", text(each, "refused"), "red")
        _component_lines(into, component, each, made.changes[place])
    if len(said) > 1:
        into.heading("All components")
        into.labelled("Cost", text(answer, "cost", "text") or _unknown_cost(said))
    into.points("Not changed", [harmless(sentence) for sentence in made.not_changed], "yellow")
    into.points("Note", texts(answer, "sentences"))


def _component_lines(into: Lines, component: Component, said: dict[str, Any], changes: tuple[Change, ...]) -> None:
    into.labelled("Request", shape_text(value(said, "shape")) or _options(component))
    into.labelled("Cost", text(said, "cost", "text") or ("" if text(said, "refused") else _unknown(component, said)))
    if not any(text(risk, "code") == "allocation" for risk in objects(said, "risks")):
        into.labelled("Allocation", text(said, "allocation", "text"))
    earlier = value(said, "earlier_runs")
    into.labelled("Earlier runs", text(earlier, "text"))
    into.plain(indented(_spread(earlier), into.columns) if _spread(earlier) else [])
    into.points("Next run", [text(each, "text") for each in objects(said, "expected")])
    into.points("Risks", [text(risk, "text") for risk in objects(said, "risks")], "yellow")
    _suggestion_lines(into, said, changes)
    program = value(said, "program")
    into.points(
        "Program", [text(program, "text"), *texts(program, "hints"), *texts(program, "links")[:1]][: 3 * bool(program)]
    )
    _partition_lines(into, said)


def _unknown(component: Component, said: dict[str, Any]) -> str:
    """Why the cost of one component is not known."""
    name = resource_options(component).get("--partition", "").partition(",")[0]
    if not name:
        return "not known without a partition" + (": those of each are below." if objects(said, "partitions") else ".")
    described = [text(each, "partition") for each in objects(said, "partitions")]
    if described and name not in described:
        return f"not known: the site does not describe the partition {harmless(name)}."
    if value(said, "shape") and number(said, "shape", "walltime_s") is None:
        return "not known: the request sets no time limit, and no earlier run shows how long it takes."
    return UNPRICED


def _unknown_cost(said: list[dict[str, Any]]) -> str:
    """Why the cost of all components is not known."""
    missing = [str(place + 1) for place, each in enumerate(said) if not text(each, "cost", "text")]
    which = f"{'components' if len(missing) > 1 else 'component'} {' and '.join(missing)}"
    return f"not known, because that of {which} is not." if missing else "not known: the units differ."


def _not_sent(component: Component, name: str) -> str:
    """A value that the portal is not asked about."""
    setting = component.winner.get(name)
    where = f"Line {setting.line}: " if setting and setting.line else ""
    shown = component.options[name][:40]
    return f"{where}--{name}={shown} holds characters that the portal does not read, so it is left out of the answer."


def _suggestion_lines(into: Lines, said: dict[str, Any], changes: tuple[Change, ...]) -> None:
    suggestion = value(said, "suggestion")
    if not suggestion:
        into.labelled("Suggestion", text(said, "no_suggestion"))
        return
    into.points("Suggestion", [text(suggestion, "text") or "another request", *texts(suggestion, "reasons")])
    for change in changes:
        lines = indented(harmless(change_line(change)), into.columns)
        into.plain([into.terminal.paint(line, "green") for line in lines])
    into.labelled("", text(suggestion, "cost", "text") and "Then: " + text(suggestion, "cost", "text"))


def _partition_lines(into: Lines, said: dict[str, Any]) -> None:
    """A table of partitions, why some do not fit, and which costs least and starts first."""
    found = objects(said, "partitions")
    if not found:
        return
    into.blank()
    rows = [_partition_row(each) for each in found]
    # Without any estimate of a wait there is nothing to show in the last two columns.
    shown = len(PARTITION_HEAD) if any(row[-1] for row in rows) else 3
    into.plain(whole_table(PARTITION_HEAD[:shown], [row[:shown] for row in rows], into.columns, to_right=(1, 2, 4)))
    into.blank()
    does_not = [each for each in found if each.get("fits") is not True]
    reasons = [text(each, "why_not") or f"{text(each, 'partition')}: the request does not fit." for each in does_not]
    into.points("Does not fit", reasons)
    into.labelled("Costs least", text(said, "cheapest"))
    into.labelled("Starts first", text(said, "soonest"))
    waits = [text(each, "wait", "text") for each in found if each.get("is_requested") is True]
    into.points("Wait", [line for line in (*waits, text(said, "shorter_wait", "text")) if line])


def _partition_row(said: dict[str, Any]) -> list[str]:
    """Name, costs, wait and the number of starts behind it."""
    name = text(said, "partition") + (" (yours)" if said.get("is_requested") is True else "")
    if said.get("fits") is not True:
        return [name, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, ""]
    starts = number(said, "wait", "n")
    costs = [hours(number(said, "cost_at_limit")), hours(number(said, "cost_typical"))]
    return [name, *costs, wait_text(value(said, "wait")), count(starts) if starts else ""]


def wait_text(wait: object) -> str:
    """An estimated wait as a range; a dash where none is known.

    >>> wait_text({"low_s": 60, "typical_s": 600, "high_s": 7200, "n": 40}), wait_text(None)
    ('1\\xa0min 00\\xa0s to 2\\xa0h 00\\xa0min', '–')
    """
    low, high = number(wait, "low_s"), number(wait, "high_s")
    return NOT_KNOWN if low is None or high is None else f"{duration(low)} to {duration(high)}"


def shape_text(shape: object) -> str:
    """What Slurm would allocate, in words; "" where it is not known.

    >>> shape_text({"nodes": 1, "gpus": 8, "cores": 56, "memory_gb": 480.0, "walltime_s": 3600, "partition": "small-g"})
    '1 node, 8 GPUs, 56 cores, 480\\xa0GB, 1\\xa0h 00\\xa0min, partition small-g'
    """
    things = (("node", "nodes"), ("GPU", "gpus"), ("task", "ntasks"), ("core", "cores"))
    counts = [counted(int(found), thing) for thing, name in things if (found := number(shape, name))]
    memory_gb, limit_s, partition = number(shape, "memory_gb"), number(shape, "walltime_s"), text(shape, "partition")
    said = [
        *counts,
        f"{count(memory_gb)}{NO_BREAK}GB" if memory_gb else "",
        duration(limit_s) if limit_s else "",
        f"partition {partition}" if partition else "",
        "whole nodes" if value(shape, "is_exclusive") is True else "",
    ]
    return ", ".join(each for each in said if each)


def _spread(earlier: object) -> str:
    """The median of the earlier runs and their middle half, where there are enough of them."""
    said = [
        f"{label} {spread(earlier, name, written=written)}"
        for name, label, written in SPREADS
        if number(earlier, name, "low") is not None
    ]
    return "median and middle half: " + ", ".join(said) if said else ""


def _options(component: Component) -> str:
    """The resource options as the parser read them."""
    return " ".join(f"{name}={value}" if value else name for name, value in resource_options(component).items())
