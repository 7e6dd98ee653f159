"""Search for the proof of a window event (``window_event``) by linear programming in floats.

The search finds the centre of the box, and for each shifted noise the multipliers of its tail. The checker
trusts none of these numbers: any other numbers that it accepts prove the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from dpaudit.certify.witnesses.window_event import event_rows
from dpaudit.core.errors import NotTractableError
from dpaudit.core.exact import exact_str

__all__ = ["with_proof"]

HALF_WIDTH = Fraction(3, 10)
TRANSPORT = (Fraction(40), Fraction(17, 4))
MARGIN, EXPONENT, GRID = 1 / 256, 0.9, 2**16

Floats = NDArray[np.float64]
#: A noise, its sign, and its part of the transport's length: ``sign * m + part * (s0 + u*s1) >= 0``.
Extra = tuple[str, int, float]


def with_proof(body: Mapping[str, Any], tails: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return ``body``, an instance without a proof, with its box and its tails.

    ``tails`` names every shifted noise in the order of step 2. It maps each to the noises that a transport
    raises while it lowers this noise, and to none for a tail by step 4 alone. Raise ``NotTractableError`` if
    a linear program has no solution.
    """
    search = _Search(body)
    centre = search.centre()
    cost = float((np.abs(centre[:, 1]) / search.scales).sum())
    charge, found = Fraction(0), []
    for name, raised in tails.items():
        charge += 1 / Fraction(body["scales"][name])
        slope = -cost - 2 * float(charge) - 0.25
        found.append(search.transported(name, raised, slope) if raised else search.chernoff(name, slope))
    box = {"half_width": exact_str(HALF_WIDTH), "centre": search.named(centre)}
    return {**body, "tails": found, "box": box}


class _Search:
    """The search for one event. Row i of ``matrix`` and of ``offsets`` (constant, slope in u) is a
    comparison of E.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        rows = event_rows(body)
        self.keys, self.names = list(rows), list(body["scales"])
        self.scales = np.array([float(Fraction(value)) for value in body["scales"].values()])
        coefficients = [[row.coefficients.get(name, 0) for name in self.names] for row in rows.values()]
        self.matrix = np.array(coefficients, dtype=float)
        ends = [(row.constant, row.slope) for row in rows.values()]
        self.offsets = np.array([[float(end.mid()) for end in both] for both in ends])

    def centre(self) -> Floats:
        """Return the likeliest centre of a box inside E.

        Column 0 leaves room for the box, and column 1 for rounding.
        """
        room = np.abs(self.matrix) @ (float(HALF_WIDTH) * self.scales)
        limits = (self.offsets[:, 0] - room, self.offsets[:, 1])
        return np.column_stack([self._likeliest(limit) for limit in limits])

    def _likeliest(self, offsets: Floats) -> Floats:
        rates, both = np.tile(1 / self.scales, 2), np.hstack([-self.matrix, self.matrix])
        plus, minus = np.split(_solved(linprog(rates, A_ub=both, b_ub=offsets - MARGIN)), 2)
        return np.asarray(np.round((plus - minus) * GRID) / GRID)

    def chernoff(self, name: str, slope: float) -> dict[str, Any]:
        """Apply step 4 to the event that ``name`` is positive."""
        return {"noise": name, "chernoff": self._multipliers([(name, 1, 0.0)], slope)}

    def transported(self, name: str, raised: Sequence[str], slope: float) -> dict[str, Any]:
        """Apply step 5 to the same event: ``name`` goes down, and ``raised`` go up, or one of them
        escapes.
        """
        wrong = (name, 1, 0.0)
        escapes = {other: self._multipliers([wrong, (other, 1, 1.0)], slope) for other in raised}
        move = {name: "-1", **dict.fromkeys(raised, "1")}
        length = [exact_str(s) for s in TRANSPORT]
        return {"noise": name, "transport": {"move": move, "length": length, "escapes": escapes}}

    def _multipliers(self, extra: Sequence[Extra], slope: float) -> dict[str, Any]:
        """Return multipliers of the rows and of ``extra`` that respect ``slope``."""
        rows = np.zeros((len(extra), len(self.names)))
        for row, (name, sign, _) in zip(rows, extra, strict=True):
            row[self.names.index(name)] = sign
        lengths = np.outer([part for *_, part in extra], [float(s) for s in TRANSPORT])
        offsets = np.vstack([self.offsets, lengths])
        theta = np.vstack([self.matrix, rows]).T
        limits = np.concatenate([np.tile(EXPONENT / self.scales, 2), [slope]])
        found = _solved(linprog(offsets[:, 0], A_ub=np.vstack([theta, -theta, offsets[:, 1]]), b_ub=limits))
        exact_values = [exact_str(Fraction(int(y * GRID), GRID)) for y in found]
        split = len(self.keys)
        kept = {key: y for key, y in zip(self.keys, exact_values[:split], strict=True) if y != "0"}
        return {"rows": kept, "extra": exact_values[split:]}

    def named(self, centre: Floats) -> dict[str, list[str]]:
        """Return the centre as exact numbers by name, without the zeros."""
        return {
            name: [exact_str(Fraction(float(x))) for x in values]
            for name, values in zip(self.names, centre, strict=True)
            if values.any()
        }


def _solved(result: Any) -> Floats:
    if result.status != 0:
        raise NotTractableError(
            f"the linear program must have a solution, got {result.message!r}.", code="E-EVENT-NOT-PROVED"
        )
    return np.asarray(result.x, dtype=float)
