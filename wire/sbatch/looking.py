"""Warnings about a script that Slurm accepts: options that lose, add up, or are never read."""

from __future__ import annotations

from collections.abc import Mapping

from wire.sbatch.resources import MEMORY_OPTIONS
from wire.sbatch.rules import INSTEAD_OF_HINT, gpus_named, memory_forms
from wire.sbatch.script import REMARKS_MAX, Component, Script, Setting
from wire.sbatch.table import GROUPS

NO_VARIABLES = {
    "SBATCH_NODES": "--nodes",
    "SBATCH_NNODES": "--nodes",
    "SBATCH_NTASKS": "--ntasks",
    "SBATCH_NTASKS_PER_NODE": "--ntasks-per-node",
    "SBATCH_CPUS_PER_TASK": "--cpus-per-task",
    "SBATCH_MEM": "--mem",
    "SBATCH_TIME": "--time",
}
"""Variables that people expect and sbatch does not read (option tables of Slurm 22.05 to 25.05)."""


def look_at(script: Script, variables: Mapping[str, str]) -> None:
    """Adds the warnings that need all components."""
    for component in script.components:
        _look_for_losers(script, component)
        _look_at_gpus(script, component)
        _look_at_memory(script, component)
        _look_at_inherited(script, component)
        _look_at_nodes(script, component)
        _look_at_groups(script, component)
        _look_at_hint(script, component)
    for variable, option in NO_VARIABLES.items():
        if variable in variables:
            script.warn("variable_not_read", 0, f"sbatch does not read {variable}. Set {option} in the script.")


def place(setting: Setting | None) -> str:
    """Where an option is set, for people.

    >>> place(Setting("gpus", "2", "environment", 0, "SBATCH_GPUS")), place(Setting("gpus", "2", "script", 4, "-G"))
    ('SBATCH_GPUS in the environment', 'line 4')
    """
    if setting is None:
        return "an earlier component"
    if setting.source == "environment":
        return f"{setting.origin} in the environment"
    if setting.source == "arguments":
        return "the arguments of sbatch"
    return f"line {setting.line}" + (f" ({setting.source})" if setting.source != "script" else "")


def _look_for_losers(script: Script, component: Component) -> None:
    for setting in component.settings if len(script.warnings) < REMARKS_MAX else ():
        winner = component.winner.get(setting.option)
        if setting.source != "script" or winner is None or winner is setting or winner.value == setting.value:
            continue
        if setting.value is None:  # refused, also where a later one replaces it
            continue
        code = "duplicate" if winner.source == "script" else "overridden"
        script.warn(
            code, setting.line, f"Line {setting.line}: --{setting.option} of this line is replaced by {place(winner)}."
        )


def _look_at_gpus(script: Script, component: Component) -> None:
    named = gpus_named(component.options)
    if len(named) < 2:
        return
    shown = [f"--{option}={component.options[option][:40]} ({place(component.winner.get(option))})" for option in named]
    script.warn(
        "gpu_forms",
        component.last_line(named),
        f"{' and '.join(shown)} all apply. Slurm combines different GPU options, which can give more nodes or GPUs."
        " Use one of them.",
    )


def _look_at_memory(script: Script, component: Component) -> None:
    own, outside = memory_forms(component)
    for form in outside if own else ():
        script.warn(
            "memory_not_used", 0, f"Slurm ignores {component.winner[form].origin}, because --{own[0]} is set elsewhere."
        )


def _look_at_inherited(script: Script, component: Component) -> None:
    """Memory that a later component has only because an earlier one sets it, whatever their sizes are."""
    for form in MEMORY_OPTIONS:
        if component.index and form in component.inherited and form not in component.winner:
            line = component.lines[0].number if component.lines else 0
            where = f"Line {line}: component" if line else "Component"
            script.warn(
                "inherited",
                line,
                f"{where} {component.index + 1} inherits --{form}={component.options[form][:40]} from the one before."
                f" Set --{form} in it if it needs another amount.",
            )


def _look_at_nodes(script: Script, component: Component) -> None:
    nodes, tasks = component.options.get("nodes", "").partition("-")[0], component.options.get("ntasks", "")
    if nodes.isdecimal() and tasks.isdecimal() and int(tasks) < int(nodes):
        script.warn(
            "nodes_over_tasks",
            component.last_line(("nodes", "ntasks")),
            f"--nodes={nodes} is more than --ntasks={tasks}: Slurm lowers the number of nodes to {tasks}.",
        )


def _look_at_groups(script: Script, component: Component) -> None:
    for group in GROUPS:
        found = [name for name in group if name in component.winner]
        if len(found) > 1:
            first, last = sorted(found, key=lambda name: component.settings.index(component.winner[name]))
            line = component.winner[last].line
            script.warn("replaced", line, f"--{last} ({place(component.winner[last])}) replaces --{first}.")


def _look_at_hint(script: Script, component: Component) -> None:
    for other in sorted(INSTEAD_OF_HINT & component.options.keys()):
        if "hint" in component.options:
            line = component.last_line(("hint",))
            script.warn("hint_ignored", line, f"Slurm ignores --hint, because --{other} is set.")
