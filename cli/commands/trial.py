"""kaiku trial [options] job.sbatch

Writes short runs of the same script on several numbers of GPUs:
job.gpus2.sbatch and so on. It submits nothing, and shows what they would cost
at most and how to submit them. Once they have run, `kaiku scale` and the page
of the work show how it scales. Tasks, cores and memory follow the GPUs.

  --gpus 1,2,4,8   the numbers of GPUs; powers of two up to those of the script
                   if not set
  --time 10        the time limit of each run: minutes, or any form that sbatch
                   reads
  --folder FOLDER  where to write, made if it does not exist; beside the script
                   if not set
  --name NAME      the name of the work, if the script has none of its own
  --force          replace files of the same names

A run that ends by itself within its limit gives a run time: let it do the same
small amount of work on every number of GPUs, a minute or more. In the script,
SLURM_JOB_NAME ends with -kaiku-trial-N, which can be tested to take fewer
steps. A run that reaches its limit shows GPU use, but no run time.

exit status: 0; 2 usage; 5 Slurm would refuse the script, or every size.
"""

from __future__ import annotations

import os
import shlex
import stat
from typing import NamedTuple

from cli.answers import number, objects, text
from cli.check_request import asked
from cli.check_text import Lines, job_name
from cli.commands.check import REFUSED
from cli.errors import CliError, Usage
from cli.job_script import job_script
from cli.layout import hours
from cli.new_files import new_folder, write_new
from cli.options import FLAG, TEXT
from cli.sections import whole_table
from cli.terminal import harmless
from cli.trial_scripts import Trial, file_name, trial, work_name
from cli.trial_sizes import NoSize, size_of, sizes_between
from wire.numbers import counted
from wire.sbatch.reading import read_script
from wire.sbatch.values import ValueRefused
from wire.sbatch.values import time as time_limit_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cli.job_script import JobScript
    from cli.session import Session

TIME_DEFAULT = "10"
SIZES_MAX, GPUS_MAX = 12, 100_000


class Place(NamedTuple):
    """The partition of the trials: `gpus` are those of a node, None where they are not known."""

    name: str
    gpus: int | None
    is_whole_nodes: bool


class Cost(NamedTuple):
    """What a trial costs at its limit, and by name what it would cost in other partitions, in the same unit."""

    amount: float
    unit: str
    elsewhere: dict[str, float]


def sizes(written: str) -> str:
    """The kind of `--gpus`: numbers of GPUs, separated by commas, each once, the fewest first.

    >>> sizes("8,2,2")
    '2,8'
    """
    parts = written.split(",")
    if not all(part.isascii() and part.isdecimal() and len(part) < 9 and 0 < int(part) <= GPUS_MAX for part in parts):
        raise ValueError("numbers of GPUs, such as 1,2,4,8")
    if len(set(parts)) > SIZES_MAX:
        raise ValueError(f"at most {SIZES_MAX} numbers")
    return ",".join(map(str, sorted(set(map(int, parts)))))


def limit(written: str) -> str:
    """The kind of `--time`: a time limit as Slurm writes it."""
    try:
        found = time_limit_of(written)
    except ValueRefused as refused:
        raise ValueError(refused.reason.replace("is no time. ", "a time limit. ")) from refused
    if found == "UNLIMITED":
        raise ValueError("a limit: a trial is short, and Slurm reads 0 and UNLIMITED as none")
    return found


OPTIONS = {"gpus": sizes, "time": limit, "folder": TEXT, "name": TEXT, "force": FLAG}
WORDS_MAX = 1


def run(session: Session) -> int:
    """Make the trials, ask what they cost, write them; the exit status."""
    job = job_script(session)
    if job.is_piped:
        raise Usage("trials are named after their script: write it to a file first")
    into = Lines(session.terminal)
    if job.script.refusals:
        into.points("Refused", [harmless(remark.sentence) for remark in job.script.refusals], "red")
        session.terminal.page(into.lines)
        return REFUSED
    place = _place(session, job.script.components[0].options.get("partition", ""))
    trials, missed = _trials(session, job, place.gpus)
    costs, missing = _costs(session, trials, missed)
    written = [each for each in trials if each.gpus not in missed]
    folder = session.options.text("folder") or os.path.dirname(job.path) or "."
    paths = {each.gpus: os.path.join(folder, file_name(job.path, each.gpus)) for each in written}
    if written:
        new_folder(folder)
    _write(session, job, written, paths)
    if written:
        _show_costs(into, job, written, paths, costs, missing)
    into.points(
        "Not written", [f"{counted(gpus, 'GPU')}: {harmless(why)}." for gpus, why in sorted(missed.items())], "yellow"
    )
    if written:
        _show_commands(into, written, paths, _whole_node_notes(place, written, costs))
    session.terminal.page(into.lines)
    return 0 if written else REFUSED


def _trials(session: Session, job: JobScript, node_gpus: int | None) -> tuple[list[Trial], dict[int, str]]:
    """The trials, and why there is none of a size. Raises Usage."""
    if len(job.script.components) > 1:
        raise Usage("a heterogeneous job has no single number of GPUs to try")
    options = job.script.components[0].options
    name = work_name(session.options.text("name") or job.job_name)
    try:
        now = size_of(options, node_gpus)
    except NoSize as why:
        raise Usage(str(why)) from why
    named = session.options.text("gpus")
    wanted = [int(each) for each in named.split(",")] if named else sizes_between(now.gpus)[-SIZES_MAX:]
    time_limit = session.options.text("time") or limit(TIME_DEFAULT)
    made, missed = [], {}
    for gpus in wanted:
        try:
            made.append(
                trial(job.script, session.environ, now, gpus, name=name, time_limit=time_limit, node_gpus=node_gpus)
            )
        except NoSize as why:
            missed[gpus] = str(why)
    return made, missed


def _place(session: Session, partition: str) -> Place:
    """The partition, as the portal knows or once knew it."""
    try:
        said = session.get("/api/v1/platforms/")[0].json()
    except CliError:
        return Place(partition, None, is_whole_nodes=False)
    found = [each for each in objects(said, "platforms") if text(each, "name") == partition]
    if len(found) != 1:
        return Place(partition, None, is_whole_nodes=False)
    gpus = number(found[0], "gpus_per_node")
    is_known = gpus is not None and 0 < gpus <= GPUS_MAX
    return Place(
        partition, int(gpus) if gpus and is_known else None, is_whole_nodes=found[0].get("is_whole_nodes") is True
    )


def _costs(session: Session, trials: list[Trial], missed: dict[int, str]) -> tuple[dict[int, Cost], CliError | None]:
    """What each size costs at its limit, and why it is not known; `missed` gets what the partition cannot give."""
    costs: dict[int, Cost] = {}
    for each in trials:
        script = read_script(each.content, session.environ)
        try:
            said = objects(asked(session, script, each.job_name), "components")[0]
        except CliError as error:
            return costs, session.explained(error)
        partitions = [place for place in objects(said, "partitions") if place.get("is_requested") is True]
        does_not_fit = next((text(place, "why_not") for place in partitions if place.get("fits") is False), None)
        refused = text(said, "refused") or does_not_fit
        if refused is not None:
            missed[each.gpus] = (refused or "the partition cannot give it").rstrip(".")
            continue
        cost = number(said, "cost", "at_limit")
        if cost is not None:
            elsewhere = {
                text(place, "partition"): amount
                for place in objects(said, "partitions")
                if (amount := number(place, "cost_at_limit")) is not None and place.get("is_requested") is not True
            }
            costs[each.gpus] = Cost(cost, text(said, "cost", "unit"), elsewhere)
    return costs, None


def _write(session: Session, job: JobScript, trials: list[Trial], paths: dict[int, str]) -> None:
    """Write the scripts, none if one of them exists. Raises Usage."""
    is_forced = session.options.flag("force")
    there = [path for path in paths.values() if os.path.lexists(path)]
    if there and not is_forced:
        raise Usage(f"{there[0][:200]!r} exists: --force replaces it, --folder writes elsewhere")
    mode = stat.S_IMODE(job.mode)
    for each in trials:
        write_new(paths[each.gpus], each.content, mode=mode, is_forced=is_forced)


def _show_costs(
    into: Lines, job: JobScript, written: list[Trial], paths: dict[int, str],
    costs: dict[int, Cost], missing: CliError | None,
) -> None:  # fmt: skip
    """The scripts with their costs."""
    into.heading(f"Trials of {job_name(job)}, named {harmless(written[0].job_name.rpartition('-')[0])}-N")
    rows = [
        [str(each.gpus), harmless(os.path.basename(paths[each.gpus])), _cost(costs.get(each.gpus))] for each in written
    ]
    into.plain(whole_table(["GPUs", "script", "cost at most"], rows, into.columns, to_right=(0,)))
    known = [costs[each.gpus] for each in written if each.gpus in costs]
    if len(known) == len(written):
        into.labelled("Cost", f"at most {_cost(_together(known))} together")
    elif missing:
        into.labelled("Cost", f"not known: {harmless(str(missing))}", "yellow")


def _together(costs: list[Cost]) -> Cost:
    """The costs of several trials, elsewhere where that is known of each."""
    places = set(costs[0].elsewhere).intersection(*(each.elsewhere for each in costs))
    elsewhere = {place: sum(each.elsewhere[place] for each in costs) for place in sorted(places)}
    return Cost(sum(each.amount for each in costs), costs[0].unit, elsewhere)


def _whole_node_notes(place: Place, written: list[Trial], costs: dict[int, Cost]) -> list[str]:
    """That small trials cost as much as a node, and where they cost less; none where parts of nodes are billed."""
    if not place.is_whole_nodes or not place.gpus or all(each.gpus >= place.gpus for each in written):
        return []
    said = f"{harmless(place.name)} bills whole nodes: fewer GPUs cost as much as the {place.gpus} of a node."
    known = [costs[each.gpus] for each in written if each.gpus in costs]
    together = _together(known) if len(known) == len(written) else None
    if together is None or not together.elsewhere:
        return [said]
    best = min(together.elsewhere, key=together.elsewhere.__getitem__)
    if together.elsewhere[best] >= together.amount:
        return [said]
    less = _cost(together._replace(amount=together.elsewhere[best]))
    return [f"{said} In {harmless(best)} these trials would cost at most {less} together."]


def _show_commands(into: Lines, written: list[Trial], paths: dict[int, str], notes: list[str]) -> None:
    """How to submit them, and what to know before."""
    if len(written) == 1:
        other = "1,2,4" if written[0].gpus == 1 else f"1,{written[0].gpus}"
        notes = [*notes, f"One size alone shows no scaling. Name several, such as --gpus {other}."]
    into.points("Note", [
        *notes,
        "They read and write the same files as the script itself: keep results and checkpoints apart.",
        "A run that ends by itself within its limit gives a run time; one that reaches the limit shows GPU use alone.",
    ])  # fmt: skip
    into.heading("Submit them with:")
    into.plain([f"  sbatch {harmless(shlex.quote(paths[each.gpus]))}" for each in written])
    into.blank()
    name = harmless(shlex.quote(work_name(written[0].job_name)))
    into.labelled("Afterwards", f"kaiku scale {name}")


def _cost(cost: Cost | None) -> str:
    if cost is None:
        return "not known"
    return f"{hours(cost.amount)}\u00a0{cost.unit}" + ("s" if cost.unit == "GPU-hour" else "")
