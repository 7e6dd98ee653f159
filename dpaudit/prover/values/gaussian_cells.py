"""Choose the cells, groups and shifts of a program with hidden Gaussian noise.

``dpaudit.kernel.values.hidden_gaussian`` has the rule and its proof, and checks every row exactly. This file
only proposes. Two proposals are compared by the delta that they give:

* each cell is a group of its own, with the shortest shift that keeps its inequalities;
* all cells are one group, with the shortest common shift.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import log_ndtr

from dpaudit.kernel import program_t0
from dpaudit.prover.alignment import Alignment
from dpaudit.prover.certificate import merged_fields
from dpaudit.prover.explore import Draw, Explored
from dpaudit.prover.forms import ZERO, Form
from dpaudit.prover.linear import solved_exactly
from dpaudit.prover.regions import merge, patterns
from dpaudit.prover.symbols import RefusedError

__all__ = ["gaussian_cells", "has_gaussian"]

#: Limit on the extreme changes of one region. The regions of all cells together have many.
MAX_CORNERS = 1_100

Cells = list[dict[str, Any]]
Table = dict[str, list[str]]


def has_gaussian(explored: Explored) -> bool:
    """Return whether a path has a hidden Gaussian draw."""
    return any(draw.distribution == "gaussian" for path in explored.paths for draw in path.draws)


def gaussian_cells(
    explored: Explored, checker: program_t0.Data, *, epsilon: Fraction | None, until: float
) -> tuple[Cells, list[list[int]]]:
    """Return the cells and their groups with the smallest delta at ``epsilon`` that was found.

    ``epsilon`` is None for a claim of Gaussian DP or zCDP, which only a single group proves.
    """
    search = _Search(explored, checker, epsilon, until)
    cells, rows, forms, delta = search.separate()
    together = search.common(rows, forms)
    if together is not None and (delta is None or together[0] <= delta):
        for cell in cells:
            cell.pop("shifts", None)
        cells[0]["shifts"] = together[1]
        return cells, [list(range(len(cells)))]
    if delta is None:
        raise RefusedError(
            "no shift of the hidden noise keeps the path and the output, or it has too many extreme changes"
        )
    return cells, [[k] for k in range(len(cells))]


class _Search:
    """The proposals for one explored program."""

    def __init__(
        self, explored: Explored, checker: program_t0.Data, epsilon: Fraction | None, until: float
    ) -> None:
        self.explored, self.checker, self.epsilon, self.until = explored, checker, epsilon, until

    def separate(self) -> tuple[Cells, list[Form], list[Form], float | None]:
        """Return cells with shifts of their own, all their rows and shown forms, and their delta.

        The delta is None if some cell has no shift.
        """
        cells: Cells = []
        rows: dict[Form, None] = {}
        forms: dict[Form, None] = {}
        delta: float | None = 0.0
        paths = self.explored.paths
        for members in patterns(paths, range(len(paths))):
            first = paths[members[0]]
            parts: list[tuple[dict[str, Any], list[Form]]] = []
            merged = merge(self.explored, members, {}) if len(members) > 1 else None
            if merged is not None:
                supports = [row.form for name, row in first.rows.items() if name.startswith("n")]
                parts = [({"paths": list(members), **merged_fields(merged)}, [*merged.rows, *supports])]
            else:
                parts = [
                    ({"paths": [k]}, [row.form for row in paths[k].comparisons.values()]) for k in members
                ]
            for (cell, kept), k in zip(parts, members, strict=False):
                shown = paths[k].shown_forms()
                found = None if self.epsilon is None else self.shifts(paths[k].draws, kept, shown)
                cells.append(cell)
                rows.update(dict.fromkeys(kept))
                forms.update(dict.fromkeys(shown))
                if found is None:
                    delta = None
                else:
                    delta = None if delta is None else delta + found[0]
                    cell["shifts"] = found[1]
        return cells, list(rows), list(forms), delta

    def common(self, rows: Sequence[Form], forms: Sequence[Form]) -> tuple[float, Table] | None:
        """Return the delta and the shifts of all cells as one group, or None."""
        paths = self.explored.paths
        longest: Sequence[Draw] = max((path.draws for path in paths), key=len)
        if any(path.draws != longest[: len(path.draws)] for path in paths):
            return None
        return self.shifts(longest, rows, forms)

    def shifts(
        self, draws: Sequence[Draw], rows: Sequence[Form], forms: Sequence[Form]
    ) -> tuple[float, Table] | None:
        """Return the delta and the shifts of one region for each extreme change, or None."""
        solver = Alignment(rows, forms, [], draws)
        route = program_t0.Route(
            0,
            {},
            draws=tuple((draw.distribution, draw.scale) for draw in draws),
            forms=tuple(program_t0.make(form.terms, form.constant) for form in forms),
        )
        kept = {str(k): (program_t0.make(form.terms, form.constant), False) for k, form in enumerate(rows)}
        worst, table = 0.0, {}
        try:
            extremes = list(islice(self.checker.extremes(program_t0.Cell(route, kept, {})), MAX_CORNERS + 1))
        except program_t0.ProgramProofError:  # far more than the limit
            return None
        if len(extremes) > MAX_CORNERS:
            return None
        for moved in extremes:
            if time.monotonic() > self.until:
                raise RefusedError("the time limit was reached while shifts of hidden noise were sought")
            best = _best(draws, (_shortest(solver, moved), _cheapest(solver, moved)), self.epsilon)
            if best is None:
                return None
            key = ",".join(str(moved.get(name, 0)) for name in self.checker.names)
            table[key] = [str(shift) for shift in best[1]]
            worst = max(worst, best[0])
        return worst, table


def _best(
    draws: Sequence[Draw], candidates: Iterable[tuple[Fraction, ...] | None], epsilon: Fraction | None
) -> tuple[float, tuple[Fraction, ...]] | None:
    found: tuple[float, tuple[Fraction, ...]] | None = None
    for shifts in candidates:
        if shifts is None:
            continue
        delta = _delta(draws, shifts, epsilon)
        if found is None or delta < found[0]:
            found = delta, shifts
    return found


def _delta(draws: Sequence[Draw], shifts: Sequence[Fraction], epsilon: Fraction | None) -> float:
    """Return exp(c) d(mu, epsilon - c) in floats, or c + mu^2 without an epsilon."""
    c = mu2 = 0.0
    for draw, shift in zip(draws, shifts, strict=True):
        size = float(abs(shift) / draw.scale)
        c, mu2 = (c, mu2 + size * size) if draw.distribution == "gaussian" else (c + size, mu2)
    if epsilon is None:
        return c + mu2
    e = float(epsilon)
    if mu2 == 0:
        return max(math.exp(min(c, 700)) - math.exp(min(e, 700)), 0.0)
    mu = math.sqrt(mu2)
    near, far = c + log_ndtr(mu / 2 - (e - c) / mu), e + log_ndtr(-mu / 2 - (e - c) / mu)
    return math.exp(min(near, 700)) - math.exp(min(far, 700))


def _cheapest(solver: Alignment, moved: dict[str, Fraction]) -> tuple[Fraction, ...] | None:
    """Return the shift with the least sum of abs(shift) / scale."""
    aligned = solver.best(moved)
    return None if aligned is None else aligned.shifts


def _shortest(solver: Alignment, moved: dict[str, Fraction]) -> tuple[Fraction, ...] | None:
    """Return the shift with the least sum of (shift / scale)^2 that keeps every row.

    With t = shift / scale this is the problem to minimise |t| subject to G t >= h. Its dual is a
    non-negative least squares problem (Lawson and Hanson 1974, chapter 23, LDP). The rows with a positive
    multiplier are equalities, which are then solved exactly.
    """
    forms = [(form, -1) for form in (*solver.rows, *solver.equal)] + [(form, 1) for form in solver.equal]
    lines = [
        [sign * form.terms.get(draw.symbol, ZERO) * draw.scale for draw in solver.draws]
        for form, sign in forms
    ]
    right = [-sign * form.change(moved) for form, sign in forms]
    if all(value <= 0 for value in right):
        return tuple(ZERO for _ in solver.draws)
    table = np.array([[float(value) for value in line] for line in lines])
    goal = np.array([float(value) for value in right])
    try:
        weights, _ = nnls(np.vstack([table.T, goal]), np.append(np.zeros(len(solver.draws)), 1.0))
    except RuntimeError:
        return None
    rest = 1.0 - float(goal @ weights)
    if rest <= 1e-12:
        return None
    active = [k for k in range(len(forms)) if weights[k] > 1e-10]
    gram = [[_dot(lines[i], lines[j]) for j in active] for i in active]
    factors = solved_exactly(gram, [right[k] for k in active], [float(weights[k]) / rest for k in active])
    if factors is None:
        return None
    shifts = [
        draw.scale * sum((f * lines[k][j] for f, k in zip(factors, active, strict=True)), ZERO)
        for j, draw in enumerate(solver.draws)
    ]
    aligned = solver._exactly(shifts, moved)
    return None if aligned is None else aligned.shifts


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), ZERO)
