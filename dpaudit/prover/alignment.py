"""Find the cheapest shifts of hidden noise with which the neighbour has the same output (alignment).

For one cell and one change d of the data, minimise the sum of abs(shift) / scale over the draws and
abs(change) / scale over the releases, subject to C s + E d <= 0 for every comparison C n + E x <= 0 (strict
or not) and C s + E d = 0 for every shown form (B, G2, G8: these rows are checked without draws too). The
solver only proposes. The returned shifts are exact and keep every row exactly, or None is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from dpaudit.prover.explore import Draw
from dpaudit.prover.forms import ZERO, Form
from dpaudit.prover.linear import Floats, cheapest, rounded, solved_exactly

__all__ = ["Aligned", "Alignment"]

SLACK = 1e-7


@dataclass(frozen=True)
class Aligned:
    """Exact shifts of the draws in order, and their privacy cost."""

    shifts: tuple[Fraction, ...]
    cost: Fraction


@dataclass(eq=False)
class Alignment:
    """The linear program of one cell. ``rows`` and ``equal`` are forms over data and draws."""

    rows: Sequence[Form]
    equal: Sequence[Form]
    releases: Sequence[tuple[Form, Fraction]]
    draws: Sequence[Draw]
    #: Whether an optimum was found but not made exact. The bound is then missing rather than infinite.
    inexact: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        m, r = len(self.draws), len(self.releases)
        names = [draw.symbol for draw in self.draws]
        self._cost = np.array(
            [*(2 * [float(1 / draw.scale) for draw in self.draws]), *(float(1 / b) for _, b in self.releases)]
        )
        kept, same = self._noise(self.rows, names), self._noise(self.equal, names)
        moved = self._noise([form for form, _ in self.releases], names)
        none, one = np.zeros((len(kept), r)), np.eye(r)
        self._upper = np.vstack(
            [
                np.hstack([kept, -kept, none]),
                np.hstack([moved, -moved, -one]),
                np.hstack([-moved, moved, -one]),
            ]
        )
        self._equal = np.hstack([same, -same, np.zeros((len(same), r))])
        self._whole = np.array([*(2 * [0 if draw.continuous else 1 for draw in self.draws]), *([0] * r)])
        self._size = m
        data = sorted({s for form in self._forms() for s in form.terms} - set(names))
        self._data = data
        self._moves = [
            self._noise(forms, data) for forms in (self.rows, self.equal, [f for f, _ in self.releases])
        ]

    def _forms(self) -> list[Form]:
        return [*self.rows, *self.equal, *(form for form, _ in self.releases)]

    @staticmethod
    def _noise(forms: Sequence[Form], names: Sequence[str]) -> Floats:
        table = np.zeros((len(forms), len(names)))
        for i, form in enumerate(forms):
            for j, name in enumerate(names):
                if name in form.terms:
                    table[i, j] = float(form.terms[name])
        return table

    def best(self, moved: dict[str, Fraction]) -> Aligned | None:
        """Return the cheapest exact shifts for one change of the data, or None if the solver finds none."""
        if not self.draws:  # there are no shifts: the rows hold or they do not
            return self._exactly([], moved)
        for integrality in (None, self._whole):
            found = self._solve(moved, integrality)
            if found is None:
                return None
            near = found[: self._size] - found[self._size : 2 * self._size]
            aligned = self._exactly(self._rounded(near), moved)
            if aligned is None:
                aligned = self._exactly(self._active(near, moved), moved)
            if aligned is not None:
                return aligned
            if not self._whole.any():
                break
        self.inexact = True
        return None

    def _solve(self, moved: dict[str, Fraction], integrality: Any) -> Floats | None:
        by = np.array([float(moved.get(name, ZERO)) for name in self._data])
        kept, same, change = (table @ by for table in self._moves)
        if integrality is None:
            vertex = cheapest(
                self._cost,
                np.vstack([self._upper, self._equal, -self._equal]),
                np.concatenate([-kept, -change, change, -same, same]),
            )
            if vertex is not None:
                return vertex
        found = linprog(
            self._cost,
            A_ub=self._upper if len(self._upper) else None,
            b_ub=np.concatenate([-kept, -change, change]) if len(self._upper) else None,
            A_eq=self._equal if len(self._equal) else None,
            b_eq=-same if len(self._equal) else None,
            integrality=integrality,
            method="highs",
        )
        return None if found.x is None else np.asarray(found.x)

    def _rounded(self, near: Floats) -> list[Fraction]:
        return [rounded(value) for value in near]

    def _active(self, near: Floats, moved: dict[str, Fraction]) -> list[Fraction] | None:
        """Return the exact point at which the proposal's tight constraints are equalities."""
        lines: list[list[Fraction]] = []
        right: list[Fraction] = []
        forms = [(form, True) for form in self.equal]
        forms += [(form, False) for form in [*self.rows, *(form for form, _ in self.releases)]]
        for form, always in forms:
            line = [form.terms.get(draw.symbol, ZERO) for draw in self.draws]
            value = sum(float(a) * s for a, s in zip(line, near, strict=True)) + float(form.change(moved))
            if always or abs(value) <= SLACK * (1 + sum(abs(float(a)) for a in line)):
                lines.append(line)
                right.append(-form.change(moved))
        for j, shift in enumerate(near):
            if abs(shift) <= SLACK:
                lines.append([Fraction(int(i == j)) for i in range(len(near))])
                right.append(ZERO)
        return solved_exactly(lines, right, [float(shift) for shift in near])

    def _exactly(self, shifts: list[Fraction] | None, moved: dict[str, Fraction]) -> Aligned | None:
        """Return the shifts with their exact cost if they keep every row exactly (H10), else None."""
        if shifts is None:
            return None
        both = {**moved, **{draw.symbol: shift for draw, shift in zip(self.draws, shifts, strict=True)}}
        whole = all(d.continuous or s.denominator == 1 for d, s in zip(self.draws, shifts, strict=True))
        kept = whole and all(form.change(both) <= 0 for form in self.rows)
        if not kept or any(form.change(both) for form in self.equal):
            return None
        cost = sum((abs(s) / draw.scale for draw, s in zip(self.draws, shifts, strict=True)), ZERO)
        cost += sum((abs(form.change(both)) / scale for form, scale in self.releases), ZERO)
        return Aligned(tuple(shifts), cost)
