"""Read the exact output probabilities of a program on integers as one-dimensional integrals.

A certificate with ``exact`` is of a program whose only noise is hidden in comparisons, and whose comparisons
are on private integers in known ranges. The probability of a cell is then enumerated for all values of these
integers. For fixed values, the region of a cell is given by inequalities in the noise alone. They are read
as one integral if there is one draw, the pivot t, such that each inequality has at most one other draw:

    integral of f(t) prod_j (F_j(upper end of n_j) - F_j(lower end of n_j)) dt,

where each end is linear in t, and t is between constants. ``t2.exact_cells`` encloses these integrals.

Proof. Given t, the other draws are independent, and each is constrained on its own. So the probability of the
region given t is the product of the probabilities of intervals. The rows of a cell describe its region up to
null sets (``program_t0``). The cells of an output are disjoint, so their probabilities add. The values of the
integers are taken as independent, with changes in their boxes: this is a superset of all neighbouring data.
With P(q) the distribution of the outputs, delta at e is at most the maximum over these pairs of the sum over
outputs of (P_o(q) - exp(e) P_o(q'))_+. It is equal if all the pairs come from data. QED
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor, prod
from typing import Any

from dpaudit.kernel.program_t0 import Cell, Interval
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting, need

__all__ = ["ExactCase", "Factor", "Integral", "exact_case"]

#: Limits on integrals, and on terms of all sums over outputs of pairs of neighbours: below a minute together.
MAX_INTEGRALS, MAX_TERMS = 3_000, 3_000_000

#: The end of an interval: slope times the pivot, plus a constant.
End = tuple[Fraction, Fraction]


@dataclass(frozen=True, order=True)
class Factor:
    """The probability that a draw is between two ends. ``None`` is an infinite end."""

    noise: str
    scale: Fraction
    low: End | None
    high: End | None


@dataclass(frozen=True)
class Integral:
    """The integral of the pivot's density from ``low`` to ``high``, times the factors."""

    noise: str
    scale: Fraction
    low: Fraction | None
    high: Fraction | None
    factors: tuple[Factor, ...]


@dataclass(frozen=True)
class ExactCase:
    """All values of the private integers, their neighbours, and the integrals of each output.

    ``tables[k][o]`` has the integrals whose sum is the probability of output o at the values ``points[k]``.
    """

    points: tuple[tuple[int, ...], ...]
    tables: tuple[tuple[tuple[Integral, ...], ...], ...]
    boxes: tuple[tuple[Interval, ...], ...]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the positions of the points of each pair of neighbours."""
        places = {point: k for k, point in enumerate(self.points)}
        for k, point in enumerate(self.points):
            for box in self.boxes:
                moved = [
                    range(ceil(v + low), floor(v + high) + 1)
                    for v, (low, high) in zip(point, box, strict=True)
                ]
                for other in product(*moved):
                    if other in places:
                        yield k, places[other]


def exact_case(
    s: Setting, infos: Sequence[Info], names: Sequence[str], boxes: Any, cells: Sequence[Cell]
) -> ExactCase:
    """Return the exact case of a program, or refuse it."""
    ranges = [_values(s, infos[int(name[1:])]) for name in names]
    points = prod(map(len, ranges))
    count = points * len(cells)
    need(count <= MAX_INTEGRALS, f"exact probabilities have over {MAX_INTEGRALS:,} integrals")
    moves = [
        prod(min(len(r), int(box[n][1] - box[n][0]) + 1) for r, n in zip(ranges, names, strict=True))
        for box in boxes
    ]
    need(count * sum(moves) <= MAX_TERMS, f"exact probabilities have over {MAX_TERMS:,} terms")
    outputs: dict[Any, list[Cell]] = {}
    for cell in cells:
        outputs.setdefault(_output(cell), []).append(cell)
    places = list(product(*ranges))
    tables = []
    for place in places:
        at = {name: Fraction(value) for name, value in zip(names, place, strict=True)}
        tables.append(
            tuple(
                tuple(one for one in (_integral(cell, at) for cell in group) if one is not None)
                for group in outputs.values()
            )
        )
    return ExactCase(tuple(places), tuple(tables), tuple(tuple(box[name] for name in names) for box in boxes))


def _values(s: Setting, info: Info) -> range:
    need(info.kind in "bi", "exact probabilities require integers in comparisons")
    low = None if info.low is None else s.largest(-info.low)
    high = None if info.high is None else s.largest(info.high)
    need(low is not None and high is not None, "exact probabilities require integers in a known range")
    found = range(ceil(-(low or 0)), floor(high or 0) + 1)
    need(len(found) >= 1, "an integer must have a value")
    return found


def _output(cell: Cell) -> Any:
    """Return what the adversary sees of a cell: everything that is shown, but not the draws."""
    path = cell.path
    need(
        not path.forms and not path.releases and not path.finite and not path.forks,
        "exact probabilities require a program whose only noise is hidden in comparisons",
    )
    need(
        path.draws and all(noise in ("gaussian", "laplace") for noise, _ in path.draws),
        "exact probabilities require Gaussian or Laplace noise",
    )
    shown = [event[1] for event in path.events if event[0] == "show"]
    return tuple(text for text in shown if text.split(" ")[0] not in ("draw", "hidden"))


def _integral(cell: Cell, at: dict[str, Fraction]) -> Integral | None:
    """Return the integral of a cell at fixed values, or None if its region is empty."""
    rows: list[tuple[dict[str, Fraction], Fraction]] = []
    for form, strict in cell.rows.values():
        constant = form[1] + sum((a * at[name] for name, a in form[0] if name[0] == "x"), Fraction(0))
        terms = {name: Fraction(a) for name, a in form[0] if name[0] == "n"}
        if terms:
            rows.append((terms, Fraction(constant)))
        elif constant > 0 or (strict and constant == 0):
            return None
    refused: RefusedStepError | None = None
    for k in range(len(cell.path.draws)):
        try:
            return _around(f"n{k}", cell, rows)
        except RefusedStepError as error:
            refused = error
    raise refused or RefusedStepError("a cell must have a draw")


def _around(pivot: str, cell: Cell, rows: Sequence[tuple[dict[str, Fraction], Fraction]]) -> Integral | None:
    """Return the integral with this pivot. Refuse it if some row has two other draws."""
    lows: dict[str, dict[Fraction, Fraction]] = {}
    highs: dict[str, dict[Fraction, Fraction]] = {}
    for terms, constant in rows:
        others = [name for name in terms if name != pivot]
        need(len(others) <= 1, "exact probabilities require one draw that links the others")
        name = others[0] if others else pivot
        a = terms[name]
        slope = Fraction(0) if name == pivot else -terms.get(pivot, Fraction(0)) / a
        end = -constant / a
        table = (highs if a > 0 else lows).setdefault(name, {})
        known = table.get(slope)
        table[slope] = end if known is None else (min if a > 0 else max)(known, end)
    factors = []
    for k, (noise, scale) in enumerate(cell.path.draws):
        name = f"n{k}"
        low, high = (_only(ends.get(name, {})) for ends in (lows, highs))
        if low is not None and high is not None:
            need(low[0] == high[0], "the ends of an interval must not cross")
            if low[1] >= high[1]:
                return None
        if name == pivot:
            within = (None if low is None else low[1], None if high is None else high[1])
            law = noise, scale
        elif low is not None or high is not None:
            factors.append(Factor(noise, Fraction(scale), low, high))
    return Integral(law[0], Fraction(law[1]), *within, tuple(sorted(factors, key=str)))


def _only(ends: dict[Fraction, Fraction]) -> End | None:
    need(len(ends) <= 1, "a draw must have one lower and one upper end")
    return next(iter(ends.items()), None)
