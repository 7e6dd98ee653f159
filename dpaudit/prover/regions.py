"""Group paths into cells that share one shift of the noise.

Each path alone is a cell. Paths that show and draw literally the same values (rules A, G4, G6), without
releases and public questions, may be merged if their union is one closed convex region. The region is given
by the rows that all of these paths imply, with exact multipliers, and no other path may meet it in more than
a null set (G5). The checker repeats every step, so that nothing here is accepted without its multipliers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from dpaudit.prover.explore import Explored, Node, Path, tightened
from dpaudit.prover.forms import Form, Row
from dpaudit.prover.linear import Floats, contradiction, matrix

__all__ = ["Merged", "merge", "patterns", "similar_paths"]

#: A row that a sampled point of a path violates by more than this is not a candidate. No proof depends on it.
BROKEN = 1e-6
#: Approximate number of paths of which a point is sampled.
MAX_POINTS = 32


@dataclass(frozen=True)
class Merged:
    """Several paths as one region.

    ``rows`` are the region's constraints (each <= 0). ``inside`` has the multipliers by which each path
    implies each row. ``cuts`` has the multipliers that cut off other branches, by node and answer.
    """

    rows: tuple[Form, ...]
    inside: tuple[tuple[dict[str, Fraction], ...], ...]
    cuts: dict[tuple[int, int], dict[str, Fraction]]


def similar_paths(paths: Sequence[Path]) -> list[list[int]]:
    """Group paths whose events are equal except for the shown forms, as a change of variables allows."""
    return _grouped(
        range(len(paths)), lambda i: tuple(e[:1] if e[0] == "form" else e for e in paths[i].events)
    )


def patterns(paths: Sequence[Path], members: Sequence[int]) -> list[list[int]]:
    """Group the ``members`` that show, draw and fork literally the same (G4, G6), as lists of positions."""
    return _grouped(members, lambda i: paths[i].events)


def _grouped(members: Iterable[int], key: Callable[[int], Any]) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for i in members:
        groups.setdefault(key(i), []).append(i)
    return list(groups.values())


def merge(explored: Explored, members: Sequence[int], domain: Mapping[str, Row]) -> Merged | None:
    """Return the common region of the paths ``members``, which have equal events, or None."""
    paths = [explored.paths[i] for i in members]
    if any(event[0] in ("release", "fork") for event in paths[0].events):
        return None
    rows = _common(paths)
    named = [{row.form: name for name, row in reversed(path.rows.items())} for path in paths]
    implied: dict[Form, list[dict[str, Fraction]]] = {}
    for row in rows:
        weights = _by_all(paths, named, row)
        if weights is not None:
            implied[row] = weights
    for row in _redundant(list(implied)):
        del implied[row]
    cuts = _Cover(explored, members, list(implied), domain).cuts()
    inside = tuple(zip(*implied.values(), strict=True)) if implied else tuple(() for _ in paths)
    return None if cuts is None else Merged(tuple(implied), inside, cuts)


def _redundant(rows: Sequence[Form]) -> list[Form]:
    """Return rows that the others imply. Without them the region is the same and splits into fewer pieces."""
    left = {str(i): row for i, row in enumerate(rows)}
    redundant = []
    for name, row in list(left.items()):
        del left[name]
        if contradiction({**left, "goal": row.times(Fraction(-1))}, {"goal"}) is None:
            left[name] = row
        else:
            redundant.append(row)
    return redundant


def _by_all(
    paths: Sequence[Path], named: Sequence[Mapping[Form, str]], row: Form
) -> list[dict[str, Fraction]] | None:
    """Return the multipliers by which each path implies ``row``, or None if some path does not.

    ``named`` has the names of each path's rows.
    """
    found = []
    for path, names in zip(paths, named, strict=True):
        weights = {names[row]: Fraction(1)} if row in names else _implied(path, row)
        if weights is None:
            return None
        found.append(weights)
    return found


def _common(paths: Sequence[Path]) -> list[Form]:
    """Return candidate rows: no path negates them, and no sampled point of a few paths violates them."""
    symbols = sorted({s for path in paths for row in path.rows.values() for s in row.form.terms})
    all_forms = {row.form: None for path in paths for row in path.comparisons.values()}
    forms = [form for form in all_forms if form.times(Fraction(-1)) not in all_forms]
    table = matrix(forms, symbols)
    scale = np.abs(table[:, :-1]).sum(axis=1)
    good = np.ones(len(forms), dtype=bool)
    for path in paths[:: 1 + len(paths) // MAX_POINTS]:
        if not good.any():
            break
        point = _point(path, symbols)
        if point is not None:
            good &= table[:, :-1] @ point + table[:, -1] <= BROKEN * scale
    return [form for form, fine in zip(forms, good, strict=True) if fine]


def _point(path: Path, symbols: Sequence[str]) -> Floats | None:
    """Return a point inside a path's region, far from its boundary if there is room. It is only a hint."""
    table = matrix([row.form for row in path.rows.values()], symbols)
    if not len(table):
        return np.zeros(len(symbols))
    room = np.linalg.norm(table[:, :-1], axis=1)
    upper = np.hstack([table[:, :-1], room[:, None]])
    goal = np.append(np.random.default_rng(len(table)).normal(size=len(symbols)) / 10, -1.0)
    bounds = [(-100.0, 100.0)] * len(symbols) + [(0.0, 1.0)]
    found = linprog(goal, A_ub=upper, b_ub=-table[:, -1], bounds=bounds, method="highs")
    return None if found.x is None else np.asarray(found.x)[:-1]


def _implied(path: Path, form: Form) -> dict[str, Fraction] | None:
    """Return multipliers by which a path's rows imply ``form <= 0``, or None if the solver finds none."""
    forms = {**{name: row.form for name, row in path.rows.items()}, "goal": form.times(Fraction(-1))}
    weights = contradiction(forms, {"goal"})
    if weights is None or "goal" not in weights:
        return None
    goal = weights.pop("goal")
    return {name: weight / goal for name, weight in weights.items()}


class _Cover:
    """A traversal of the tree that shows that the region contains no other path."""

    def __init__(
        self, explored: Explored, members: Sequence[int], rows: Sequence[Form], domain: Mapping[str, Row]
    ) -> None:
        first = explored.paths[members[0]]
        self.explored, self.first = explored, first
        self.order = explored.positions
        self.finite = [event[2] for event in first.events if event[0] == "finite"]
        self.distributions = [(draw.distribution, draw.scale) for draw in first.draws]
        self.blurred = {draw.symbol for draw in first.draws if draw.continuous}
        supports = {name: row for name, row in first.rows.items() if name.startswith("n")}
        self.start = {**domain, **supports, **{f"k{i}": Row(form, False) for i, form in enumerate(rows)}}
        self.inside = _ancestors(explored, set(members))
        self.found: dict[tuple[int, int], dict[str, Fraction]] = {}

    def cuts(self) -> dict[tuple[int, int], dict[str, Fraction]] | None:
        """Return the multipliers that cut off other branches, or None if some branch is not cut off."""
        start = self.explored.root.then[0]
        return self.found if isinstance(start, Node) and self._follow(start, self.start, 0, 0, 0) else None

    def _follow(self, node: Node, rows: dict[str, Row], draws: int, finite: int, compared: int) -> bool:
        """Return whether every path below ``node`` that the region meets belongs to the cell."""
        while True:
            kind = node.event[0]
            if id(node) not in self.inside or kind in ("release", "fork"):
                return False
            if kind == "end":
                return True
            if kind == "compare":
                return self._split(node, rows, draws, finite, compared)
            answer = 0
            if kind == "draw":
                if draws >= len(self.distributions) or self.distributions[draws] != tuple(node.event[1:]):
                    return False
                draws += 1
            elif kind == "finite":
                if finite >= len(self.finite):
                    return False
                answer, finite = self.finite[finite], finite + 1
            following = node.then[answer]
            if not isinstance(following, Node):
                return False
            node = following

    def _split(self, node: Node, rows: dict[str, Row], draws: int, finite: int, compared: int) -> bool:
        row, name = Row(node.event[1], node.event[2]), str(compared)
        for answer, side in enumerate((row, row.opposite)):
            then = node.then[answer]
            if isinstance(then, dict):
                continue
            more = {**rows, name: tightened(side, self.first.integers)}
            if id(then) not in self.inside:
                forms = {key: each.form for key, each in more.items()}
                weights = contradiction(forms, self._breaking(more))
                if weights is None:
                    return False
                self.found[self.order[id(node)], answer] = weights
            elif not isinstance(then, Node) or not self._follow(then, more, draws, finite, compared + 1):
                return False
        return True

    def _breaking(self, rows: Mapping[str, Row]) -> set[str]:
        return {key for key, row in rows.items() if row.strict or not self.blurred.isdisjoint(row.form.terms)}


def _ancestors(explored: Explored, members: set[int]) -> set[int]:
    """Return the nodes (by identity) below which a path of ``members`` ends. Count paths in tree order."""
    inside: set[int] = set()
    count = 0
    trail: list[tuple[Node, int]] = [(explored.root, 0)]
    while trail:
        node, at = trail.pop()
        if node.event[0] == "end":
            if count in members:
                inside.add(id(node))
                inside.update(id(above) for above, _ in trail)
            count += 1
        elif at < len(node.then):
            trail.append((node, at + 1))
            then = node.then[at]
            if isinstance(then, Node):
                trail.append((then, 0))
    return inside
