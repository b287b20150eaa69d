"""An attacker who knows who ran what kind of jobs, all that is shown, how it was rounded, and some people's hours."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from analysis.site.suppression import Runs, step_of
from analysis.site.week_map import COARSER, WeekMap, WeekRuns

TINY = 1e-7

Answer = tuple[np.ndarray, float, float]
"""Some atoms, and the least and the most that they are together."""


def bounds(runs: Runs, target: int, known: Collection[int], more: Sequence[Answer] = ()) -> tuple[float, float]:
    """The least and the most allocated GPU-hours of one person that agree with all that is shown.

    Stronger than any reader: the step of each rounding is known, and which groups of runs each person has any of.
    """
    hours = runs.parts.sum(axis=1)
    is_free = ~np.isin(runs.people, list(known))
    kinds = list(zip(*(table.of_atom for table in runs.tables), strict=True))
    columns = sorted({(bool(runs.people[i] == target), kinds[i]) for i in np.flatnonzero(is_free)})
    masks = [np.ones(len(hours), dtype=bool)]
    masks += [table.mask([group]) for table in runs.tables for group in table.shown]
    answers = [_answer(runs, mask) for mask in masks] + list(more)
    place = {column: number for number, column in enumerate(columns)}
    count, width = len(answers), len(columns)
    # Each answer and the rest up to the top of its range; each rest and what it lacks of the whole range.
    rows, values = np.zeros((2 * count, width + 2 * count)), np.zeros(2 * count)
    for row, (answer, low, top) in enumerate(answers):
        for i in np.flatnonzero(answer & is_free):
            rows[row, place[bool(runs.people[i] == target), kinds[i]]] = 1.0
        known_part = float(hours[answer & ~is_free].sum())
        rows[row, width + row] = rows[count + row, width + row] = rows[count + row, width + count + row] = 1.0
        values[row], values[count + row] = top - known_part, min(top - low, top - known_part)
    wanted = np.concatenate([[float(is_target) for is_target, _ in columns], np.zeros(2 * count)])
    return -optimum(rows, values, -wanted), optimum(rows, values, wanted)


def _answer(runs: Runs, mask: np.ndarray) -> Answer:
    shown, step = runs.shown(mask).allocated, step_of(runs.sums(mask).sum(axis=1))
    return mask, shown - step / 2, shown + step / 2


def ranges_of(week: WeekRuns, shown: WeekMap) -> list[tuple[int, float, float]]:
    """The hours of the week that are shown, and the least and the most GPU-hours of each.

    How much coarser the steps were made is not shown; the attacker takes the finest that agree with the truth.
    """
    truth = week.of_person.sum(axis=(0, 2))
    cells = [cell for cell, value in enumerate(shown.allocated) if value is not None]
    drawn = np.array([shown.allocated[cell] for cell in cells]) * week.hours_of_month[cells]
    for factor in COARSER:
        steps = week.steps[cells] * factor
        is_multiple = np.abs(drawn / steps - np.round(drawn / steps)) < TINY
        if (is_multiple & (np.abs(drawn - truth[cells]) < steps)).all():
            return list(zip(cells, drawn - steps, drawn + steps, strict=True))
    raise AssertionError("a figure is further from the truth than any step")


def factor_bounds(week: WeekRuns, ranges: Sequence[tuple[int, float, float]], target: int) -> tuple[float, float]:
    """By which factor the hours of one person may differ from the true ones, for who knows everything else.

    That is everybody else's hours, the total of the month, and in which hours of the week the person used how much of
    the unknown sum.
    """
    runs = week.runs
    hours = week.of_person.sum(axis=2)
    _, *of_total = _answer(runs, np.ones(len(runs.people), dtype=bool))
    answers = [(hours[target].sum(), hours.sum(), *of_total)]
    answers += [(hours[target, cell], hours[:, cell].sum(), low, top) for cell, low, top in ranges]
    least, most = [0.0], [np.inf]
    for own, all_of_them, low, top in answers:
        if own > 0:
            least.append((low - (all_of_them - own)) / own)
            most.append((top - (all_of_them - own)) / own)
    return max(least), min(most)


def optimum(rows: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> float:
    """The largest wanted @ x with rows @ x == values and x >= 0: simplex in two phases, by Bland's rule."""
    count, width = rows.shape
    tableau = np.hstack([rows, np.eye(count), values[:, None]])
    basis = list(range(width, width + count))
    _climb(tableau, basis, np.concatenate([np.zeros(width), -np.ones(count)]), width + count)
    _climb(tableau, basis, np.concatenate([wanted, np.zeros(count)]), width)
    weights = np.concatenate([wanted, np.zeros(count)])
    return float(sum(weights[column] * tableau[row, -1] for row, column in enumerate(basis)))


def _climb(tableau: np.ndarray, basis: list[int], weights: np.ndarray, width: int) -> None:
    while True:
        gains = weights[:width] - weights[basis] @ tableau[:, :width]
        better = np.flatnonzero(gains > TINY)
        if not len(better):
            return
        column = better[0]
        # What is artificial stays zero in the second phase, whatever the sign of its row.
        is_fixed = np.array([member >= width for member in basis]) & (np.abs(tableau[:, column]) > TINY)
        ratios = np.full(len(basis), np.inf)
        np.divide(tableau[:, -1], tableau[:, column], out=ratios, where=tableau[:, column] > TINY)
        ratios[is_fixed] = 0.0
        least = ratios.min()
        assert np.isfinite(least)
        row = min(np.flatnonzero(ratios <= least + TINY), key=lambda at: basis[at])
        tableau[row] /= tableau[row, column]
        for other in range(len(basis)):
            if other != row:
                tableau[other] -= tableau[other, column] * tableau[row]
        basis[row] = int(column)
