"""Prove claims by a change of variables: solve a shown value for a draw (B, under the conditions of G3).

Suppose that every path of an outcome shows one value g, and that the draw i has a coefficient of the same
size in it on all paths. Then n_i = h_p(other draws, g) on path p. Keep the other draws and g, and let n_i
follow. At the neighbour's data, the same point (others, g) lies on some path q, and n_i has moved by
h'_q - h_p. The cost is the largest such move over all pairs of paths, divided by the scale. ``program_t0``
checks the conditions exactly: equal draws, regions in (others, g) that do not overlap, and each point of a
region in some region of the neighbour. Changes d of the data are unknowns here, so that the whole adjacency
is treated at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from dpaudit.prover.data import Piece
from dpaudit.prover.explore import Path
from dpaudit.prover.forms import ZERO, Form, Row, symbol
from dpaudit.prover.linear import contradiction, matrix, rounded

__all__ = ["Part", "change_of_variables"]

Rows = dict[str, Row]
ONE = Fraction(1)
#: The largest number of pieces into which a region is split.
MAX_SPLITS = 3000


@dataclass(frozen=True)
class Part:
    """A cell of a change of variables: one of its paths, its rows by name, and its certificate fields."""

    path: Path
    rows: Rows
    fields: dict[str, Any]


def change_of_variables(
    parts: Sequence[Part], domain: Rows, pieces: Sequence[Piece]
) -> tuple[Fraction, dict[str, Any]] | None:
    """Return the cost and the certificate cell of the cheapest solved draw for ``parts``, or None."""
    best: tuple[Fraction, dict[str, Any]] | None = None
    for draw in _candidates([part.path for part in parts]):
        fields = _SolvedDraw(parts, draw, domain, pieces).fields()
        if fields is not None and (best is None or Fraction(fields["cost"]) < best[0]):
            best = Fraction(fields["cost"]), {"parts": [part.fields for part in parts], **fields}
    return best


def _candidates(group: Sequence[Path]) -> list[str]:
    """Return the draws that can be solved for: Laplace, of one size in all shown values (G3 a, b)."""
    first = group[0]
    plain = all(
        len(path.shown_forms()) == 1 and not any(e[0] in ("release", "fork") for e in path.events)
        for path in group
    )
    alike = len({path.draws for path in group}) == 1 and all(draw.continuous for draw in first.draws)
    if not plain or not alike:
        return []
    found = []
    for draw in first.draws:
        sizes = {abs(path.shown_forms()[0].terms.get(draw.symbol, ZERO)) for path in group}
        if draw.distribution == "laplace" and len(sizes) == 1 and ZERO not in sizes:
            found.append(draw.symbol)
    return found


class _SolvedDraw:
    """One solved draw, with the rows of all paths in the other draws, g, x and the change ``dx`` of x."""

    def __init__(self, parts: Sequence[Part], draw: str, domain: Rows, pieces: Sequence[Piece]) -> None:
        self.draw, self.domain, self.pieces = draw, domain, pieces
        group = [part.path for part in parts]
        self.scale = next(d.scale for d in group[0].draws if d.symbol == draw)
        self.noise = {d.symbol for d in group[0].draws} | {"g"}
        self.solved: list[Form] = []
        self.here: list[Rows] = []
        for path, part in zip(group, parts, strict=True):
            form = path.shown_forms()[0]
            a = form.terms[draw]
            h = symbol("g").plus(form, -ONE).times(1 / a).plus(symbol(draw))
            self.solved.append(h)
            self.here.append({name: self._put(row, h) for name, row in part.rows.items()})
        self.splits = 0

    def _put(self, row: Row, h: Form) -> Row:
        factor = row.form.terms.get(self.draw, ZERO)
        return Row(row.form.plus(h, factor).plus(symbol(self.draw), -factor), row.strict)

    def fields(self) -> dict[str, Any] | None:
        """Return the fields of the certificate, or None if a condition is not met."""
        apart = self._apart()
        if apart is None:
            return None
        cover: dict[str, Any] = {}
        proved: dict[str, Any] = {}
        worst = ZERO
        for k, box in enumerate(self.pieces):
            base = self._base(box)
            there = [{n: Row(_primed(r.form, box), r.strict) for n, r in rows.items()} for rows in self.here]
            everywhere = self._cover({**base, **self._common()}, there, set(range(len(there))))
            if everywhere is not None:
                cover[str(k)] = everywhere
            for p in range(len(self.here)):
                mine = {**base, **_tagged("p", self.here[p])}
                if everywhere is None:
                    found = self._cover(mine, there, set(range(len(there))))
                    if found is None:
                        return None
                    cover[f"{k}.{p}"] = found
                for q, after in enumerate(there):
                    rows = {**mine, **_tagged("q", after)}
                    moved = _primed(self.solved[q], box).plus(self.solved[p], -ONE)
                    pair = self._bounded(rows, moved, worst)
                    if pair is None:  # more expensive than all earlier pairs, whose proofs stay valid
                        worst = max(worst, self._largest(rows, moved) or ZERO)
                        pair = self._bounded(rows, moved, worst)
                    if pair is None:
                        return None
                    proved[f"{k}.{p}.{q}"] = pair
        return {
            "solved": self.draw,
            "cost": str(worst / self.scale),
            "apart": apart,
            "cover": cover,
            "pairs": proved,
        }

    def _apart(self) -> dict[str, Any] | None:
        """Return multipliers by which no two regions overlap at the same data (G3 c), or None."""
        apart = {}
        for q in range(len(self.here)):
            for p in range(q):
                weights = self._empty(
                    {**self.domain, **_tagged("p", self.here[p]), **_tagged("q", self.here[q])}
                )
                if weights is None:
                    return None
                apart[f"{p}.{q}"] = _written(weights)
        return apart

    def _common(self) -> Rows:
        """Return the rows that all regions have."""
        first, *others = self.here
        common = {n: row for n, row in first.items() if all(row in rows.values() for rows in others)}
        return _tagged("p", common)

    def _base(self, box: Piece) -> Rows:
        base = dict(self.domain)
        for name, (low, high) in box.items():
            base[f"d{name}>"] = Row(symbol(f"d{name}").times(-ONE).moved(low), strict=False)
            base[f"d{name}<"] = Row(symbol(f"d{name}").moved(-high), strict=False)
        return base | {f"{n}'": Row(_primed(r.form, box), r.strict) for n, r in self.domain.items()}

    def _empty(self, rows: Rows) -> dict[str, Fraction] | None:
        breaking = {k for k, row in rows.items() if row.strict or not self.noise.isdisjoint(row.form.terms)}
        return contradiction({name: row.form for name, row in rows.items()}, breaking)

    def _cover(self, rows: Rows, there: Sequence[Rows], left: set[int]) -> Any:
        """Return a proof that each point of ``rows`` is in some region ``there``.

        The proof is multipliers that contradict ``rows``, or a region and, for each of its rows, a proof for
        the points outside that row. Return None if some point was found in no region.
        """
        self.splits += 1
        if self.splits > MAX_SPLITS:
            return None
        weights = self._empty(rows)
        if weights is not None:
            return _written(weights)
        point = _inside(rows)
        holding = [q for q in sorted(left) if point is None or _holds(there[q], point)]
        if not holding:
            return None
        q, outside = holding[0], []
        for row in there[q].values():
            below = self._cover({**rows, f"c{len(rows)}": row.opposite}, there, left - {q})
            if below is None:
                return None
            outside.append(below)
            rows = {**rows, f"c{len(rows)}": row}
        return [q, outside]

    def _largest(self, rows: Rows, moved: Form) -> Fraction | None:
        """Return the solver's largest abs(moved) over the closed region (0 if it is empty)."""
        names = sorted({s for row in rows.values() for s in row.form.terms} | set(moved.terms))
        table, goal = matrix([row.form for row in rows.values()], names), matrix([moved], names)[0]
        sizes = [ZERO]
        for sign in (1.0, -1.0):
            found = linprog(
                -sign * goal[:-1], A_ub=table[:, :-1], b_ub=-table[:, -1], bounds=(None, None), method="highs"
            )
            if found.status == 3:
                return None
            if found.x is not None:
                sizes.append(rounded(abs(goal[:-1] @ np.asarray(found.x) + goal[-1])))
        return max(sizes)

    def _bounded(self, rows: Rows, moved: Form, size: Fraction) -> Any:
        """Return multipliers by which abs(moved) <= size on the rows, one table per sign, or a contradiction.

        Return None if neither is found.
        """
        weights = self._empty(rows)
        if weights is not None:
            return _written(weights)
        pair: list[Any] = []
        for sign in (ONE, -ONE):
            forms = {**{k: row.form for k, row in rows.items()}, "goal": moved.times(-sign).moved(size)}
            found = contradiction(forms, {"goal"})
            if found is None or "goal" not in found:
                if not moved.terms and abs(moved.constant) <= size:
                    pair.append({})
                    continue
                return None
            goal = found.pop("goal")
            pair.append(_written({name: weight / goal for name, weight in found.items()}))
        return pair


def _primed(form: Form, box: Mapping[str, Any]) -> Form:
    return form.plus(Form({f"d{name}": value for name, value in form.terms.items() if name in box}))


def _tagged(tag: str, rows: Rows) -> Rows:
    return {f"{tag}{name}": row for name, row in rows.items()}


def _written(weights: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: str(weight) for name, weight in weights.items()}


def _inside(rows: Rows) -> dict[str, float] | None:
    """Return a point well inside the region, in floats. It only determines which part to split off."""
    names = sorted({s for row in rows.values() for s in row.form.terms})
    table = matrix([row.form for row in rows.values()], names)
    room = np.abs(table[:, :-1]).sum(axis=1)
    bounds = [(-1e4, 1e4)] * len(names) + [(0.0, 1.0)]
    goal = np.append(np.zeros(len(names)), -1.0)
    upper = np.hstack([table[:, :-1], room[:, None]])
    found = linprog(goal, A_ub=upper, b_ub=-table[:, -1], bounds=bounds, method="highs")
    return None if found.x is None else dict(zip(names, np.asarray(found.x), strict=False))


def _holds(rows: Rows, point: Mapping[str, float]) -> bool:
    return all(
        float(row.form.constant) + sum(float(v) * point.get(s, 0.0) for s, v in row.form.terms.items())
        <= 1e-9
        for row in rows.values()
    )
