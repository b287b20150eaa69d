"""Which projects of a month are withheld, so that nobody can compute one person's figures from those that are shown.

The rules of a sum are those of the Site page (`analysis.site.suppression`). Policy readers see that page too, so the
sums of projects, and of each class in a project, are also compared with its groups, as they were stored.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.site.suppression import Runs, Table, Withheld, unions


def withheld_projects(
    runs: Runs, of_class: int, unsafe: Mapping[str, Withheld], without_shares: Collection[str]
) -> tuple[dict[str, Withheld], set[str]]:
    """Why projects are withheld, and the projects whose shares of classes are.

    The last table of the runs has the projects, the others are the site's as they are shown; `of_class` is the place of
    the one with the classes. `unsafe` and `without_shares` are withheld in any case.
    """
    *site, projects = runs.tables
    projects.withheld |= {group: unsafe[name] for group, name in enumerate(projects.names) if name in unsafe}
    _withhold(runs, site, projects)
    cells = _cells(projects, site[of_class])
    hidden = {*without_shares, *(projects.names[group] for group in projects.withheld)}
    cells.withheld |= {cell: Withheld.OTHER_GROUP for cell, name in enumerate(cells.names) if name in hidden}
    _withhold(runs, site, cells)
    withheld = {projects.names[group]: why for group, why in projects.withheld.items()}
    return withheld, {cells.names[cell] for cell in cells.withheld}


def _cells(projects: Table, classes: Table) -> Table:
    """A group for each class in each project, by the name of the project."""
    numbers = projects.of_atom * len(classes.names) + classes.of_atom
    cells, of_atom = np.unique(numbers, return_inverse=True)
    return Table(of_atom, tuple(projects.names[cell // len(classes.names)] for cell in cells.tolist()))


def _withhold(runs: Runs, site: Sequence[Table], projects: Table) -> None:
    """Add to `projects.withheld` what may not be shown beside the shown groups of the site's tables."""
    for group in projects.shown:
        why = runs.why(projects.mask([group]))
        if why:
            projects.withheld[group] = why
    allocated = runs.parts.sum(axis=1)
    hours: NDArray[np.float64] = np.bincount(projects.of_atom, allocated, minlength=len(projects.names)).astype(float)
    while _hide_the_rest(runs, projects, hours) or any(_hide_differences(runs, one, projects, hours) for one in site):
        pass


def _hide_the_rest(runs: Runs, projects: Table, hours: NDArray[np.float64]) -> bool:
    """Withhold the smallest further projects until the withheld ones together are safe; whether any were."""
    before = len(projects.withheld)
    while projects.withheld and projects.shown and runs.why(projects.mask(list(projects.withheld))):
        _hide_smallest(projects, projects.shown, hours)
    return len(projects.withheld) > before


def _hide_smallest(projects: Table, among: Sequence[int], hours: NDArray[np.float64]) -> None:
    projects.withheld[min(among, key=lambda group: float(hours[group]))] = Withheld.OTHER_GROUP


def _hide_differences(runs: Runs, table: Table, projects: Table, hours: NDArray[np.float64]) -> bool:
    """Withhold projects until the site's groups without the projects inside, or around them, are safe; whether any."""
    before = len(projects.withheld)
    for union in unions(table.blocks()):
        whole = table.mask(union)
        while near := _unsafe(runs, whole, projects):
            _hide_smallest(projects, near, hours)
    return len(projects.withheld) > before


def _unsafe(runs: Runs, whole: NDArray[np.bool_], projects: Table) -> list[int]:
    """The shown projects of which one has to go, because some union of them differs too little from `whole`."""
    block_of = np.arange(len(projects.names))
    block_of[list(projects.withheld)] = len(projects.names)
    blocks = block_of[projects.of_atom]
    everywhere = np.bincount(blocks, minlength=len(projects.names) + 1)
    here = np.bincount(blocks[whole], minlength=len(projects.names) + 1)
    for chosen in ((here == everywhere) & (everywhere > 0), here > 0):
        left = whole ^ chosen[blocks]
        if np.any(chosen) and np.any(left) and runs.why(left):
            shown = projects.shown
            return [group for group in shown if chosen[group]] or shown
    return []
