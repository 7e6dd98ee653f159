"""Propose solutions of linear programs in floats, and decide by exact arithmetic.

HiGHS works in floats, and its results are only proposals. ``contradiction`` turns a proposal into exact
multipliers or returns None. None only means "explore further" (rules G5, H8, H10 of the prover: no verdict
from the solver).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from dpaudit.prover.forms import ZERO, Form, Table

__all__ = ["cheapest", "combination", "contradiction", "kernel_vector", "matrix", "solved_exactly"]

#: A float of the solver below this counts as 0 in a proposal.
NOISE = 1e-8

#: The largest numbers of steps of a search for a chain, and of pivots of a simplex.
MAX_CHAIN, MAX_PIVOTS = 12, 2_000

Floats = NDArray[np.float64]


def matrix(forms: Sequence[Form], names: Sequence[str]) -> Floats:
    """Return the coefficients as floats: one line per form, one column per symbol, the constant last."""
    place = {name: i for i, name in enumerate(names)}
    table = np.zeros((len(forms), len(names) + 1))
    for i, form in enumerate(forms):
        terms, constant = form.table()
        for name, value in terms.items():
            table[i, place[name]] = float(value)
        table[i, -1] = float(constant)
    return table


def contradiction(forms: Mapping[str, Form], breaking: set[str]) -> dict[str, Fraction] | None:
    """Return exact multipliers that contradict the constraints ``forms`` (each <= 0), or None.

    The multipliers are >= 0. The weighted sum of ``forms`` is a constant k > 0, or k = 0 with weight on one
    of ``breaking``. Then the constraints have no common point or, because of the breaking constraints, only a
    null set. ``breaking`` are the names of the strict constraints and of the constraints that continuous
    noise blurs. None means that the solver proposes nothing.
    """
    names = list(forms)
    chained = _chained(forms, names[-1], breaking)
    if chained is not None:
        return chained
    symbols = sorted({s for form in forms.values() for s in form.terms})
    table = matrix(list(forms.values()), symbols)
    size = np.abs(table).max(axis=1)
    size[size == 0] = 1
    table /= size[:, None]
    gain = table[:, -1] + np.array([name in breaking for name in names], dtype=float)
    # Weights that cancel every symbol and have gain 1: if they exist, their distance is 0.
    system = np.vstack([table[:, :-1].T, gain])
    wanted = np.append(np.zeros(len(symbols)), 1.0)
    try:
        near, distance = nnls(system, wanted, maxiter=50 * len(names))
    except RuntimeError:
        return _exactly(forms, _at_a_vertex(system, gain) / size, breaking)
    if distance > 1e-6:
        return None
    return _exactly(forms, near / size, breaking) or _exactly(
        forms, _at_a_vertex(system, gain) / size, breaking
    )


def _at_a_vertex(system: Floats, gain: Floats) -> Floats:
    """Return few weights that cancel every symbol, with the largest gain. Return zeros if there are none."""
    found = linprog(
        -gain,
        A_eq=system[:-1],
        b_eq=np.zeros(len(system) - 1),
        A_ub=np.ones((1, len(gain))),
        b_ub=[1],
        method="highs",
    )
    return np.zeros(len(gain)) if found.x is None or gain @ found.x < NOISE else np.asarray(found.x)


def _exactly(forms: Mapping[str, Form], near: Floats, breaking: set[str]) -> dict[str, Fraction] | None:
    """Return exact multipliers near the floats ``near`` if they contradict the constraints, else None."""
    names = list(forms)
    support = [i for i, weight in enumerate(near) if weight > NOISE]
    weights = kernel_vector([forms[names[i]] for i in support], [near[i] for i in support])
    if weights is None:
        return None
    proposal = {names[i]: weight for i, weight in zip(support, weights, strict=True) if weight}
    return proposal if _contradicts(forms, proposal, breaking) else None


def _chained(forms: Mapping[str, Form], last: str, breaking: set[str]) -> dict[str, Fraction] | None:
    """Return weights 1 of the last form and a few others whose sum is a contradiction, or None.

    Most contradictions are chains of differences and need no solver.
    """
    tables = {name: form.table() for name, form in forms.items()}
    holders: dict[str, list[tuple[str, int | Fraction]]] = {}  # by symbol
    for other, (terms, _) in tables.items():
        for name, value in terms.items():
            holders.setdefault(name, []).append((other, value))
    steps = 0

    def extend(total: Table, used: tuple[str, ...]) -> tuple[str, ...] | None:
        nonlocal steps
        steps += 1
        terms, constant = total
        if not terms:
            broken = constant > 0 or (constant == 0 and not breaking.isdisjoint(used))
            return used if broken else None
        if steps > MAX_CHAIN or len(used) > MAX_CHAIN:
            return None
        name = min(terms)
        for other, value in holders[name]:
            if value == -terms[name] and other not in used:
                found = extend(_added(total, tables[other]), (*used, other))
                if found is not None:
                    return found
        return None

    used = extend(tables[last], (last,))
    return None if used is None else dict.fromkeys(used, Fraction(1))


def _added(one: Table, other: Table) -> Table:
    terms = dict(one[0])
    for name, value in other[0].items():
        total = terms.get(name, 0) + value
        if total:
            terms[name] = total
        else:
            del terms[name]
    return terms, one[1] + other[1]


def _contradicts(forms: Mapping[str, Form], weights: Mapping[str, Fraction], breaking: set[str]) -> bool:
    total = combination(forms, weights)
    broken = total.constant > 0 or (total.constant == 0 and any(name in breaking for name in weights))
    return broken and not total.terms and all(weight > 0 for weight in weights.values())


def cheapest(cost: Floats, table: Floats, limits: Floats) -> Floats | None:
    """Return a vertex x >= 0 of least ``cost @ x`` with ``table @ x <= limits``, or None if none is found.

    This is the dual simplex method in floats. ``cost`` must be >= 0, so that the slacks are a feasible start.
    """
    rows, columns = table.shape
    board = np.zeros((rows + 1, columns + 1))
    board[:rows, :columns], board[:rows, -1], board[-1, :columns] = table, limits, cost
    outside, inside = list(range(columns)), [-1] * rows  # -1: a slack
    for _ in range(MAX_PIVOTS):
        row = int(np.argmin(board[:rows, -1])) if rows else 0
        if not rows or board[row, -1] > -NOISE:
            found = np.zeros(columns)
            for at, name in enumerate(inside):
                if name >= 0:
                    found[name] = board[at, -1]
            return found
        falling = np.flatnonzero(board[row, :columns] < -NOISE)
        if not falling.size:
            return None
        ratios = board[-1, falling] / -board[row, falling]
        column = int(falling[np.argmin(ratios)])
        pivot = board[row, column]
        line, side = board[row] / pivot, board[:, column].copy()
        board -= np.outer(side, line)
        board[:, column] = -side / pivot
        board[row], board[row, column] = line, 1 / pivot
        outside[column], inside[row] = inside[row], outside[column]
    return None


def combination(forms: Mapping[str, Form], weights: Mapping[str, Fraction]) -> Form:
    """Return the sum of weight times form."""
    total = Form({})
    for name, weight in weights.items():
        total = total.plus(forms[name], weight)
    return total


def kernel_vector(forms: Sequence[Form], near: Sequence[float]) -> list[Fraction] | None:
    """Return exact multipliers that cancel the symbols of ``forms``, or None.

    They are near the floats ``near`` up to a positive factor. Free coordinates are rounded, and the others
    follow exactly.
    """
    symbols = sorted({s for form in forms for s in form.terms})
    lines = [[form.terms.get(s, ZERO) for form in forms] for s in symbols]
    largest = max((abs(v) for v in near), default=0.0)
    if largest == 0:
        return None
    return solved_exactly(lines, [ZERO] * len(lines), [v / largest for v in near])


def solved_exactly(
    lines: Sequence[Sequence[Fraction]], right: Sequence[Fraction], near: Sequence[float]
) -> list[Fraction] | None:
    """Return an exact solution of ``lines @ v = right`` close to ``near``, or None if there is no solution.

    The free unknowns are the values of ``near``, rounded to small denominators.
    """
    rows = [[*line, value] for line, value in zip(lines, right, strict=True)]
    columns, pivots, top = len(near), [], 0
    # Eliminate the largest proposals last: they stay free, and the small ones follow from them.
    for column in sorted(range(columns), key=lambda c: abs(near[c])):
        pivot = next((i for i in range(top, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[top], rows[pivot] = rows[pivot], rows[top]
        head = rows[top][column]
        rows[top] = [value / head if value else ZERO for value in rows[top]]
        for i, row in enumerate(rows):
            if i != top and row[column]:
                factor = row[column]
                rows[i] = [a - factor * b if b else a for a, b in zip(row, rows[top], strict=True)]
        pivots.append(column)
        top += 1
    if any(row[-1] for row in rows[top:]):
        return None
    solution = [rounded(value) for value in near]
    free = [c for c in range(columns) if c not in pivots]
    for i, column in enumerate(pivots):
        solution[column] = rows[i][-1] - sum((rows[i][c] * solution[c] for c in free if rows[i][c]), ZERO)
    return solution


def rounded(value: Any) -> Fraction:
    """Return a nearby fraction with the smallest of a few denominators within the solver's tolerance."""
    for limit in (1, 12, 60, 5040, 10**6):
        near = Fraction(float(value)).limit_denominator(limit)
        if abs(float(near) - float(value)) <= NOISE * max(1.0, abs(float(value))):
            return near
    return Fraction(float(value)).limit_denominator(10**9)
