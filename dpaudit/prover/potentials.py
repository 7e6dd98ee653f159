"""Find shifts, differences and potentials of one run by a linear program, and decide by exact arithmetic.

The unknowns are the shifts of the draws on every edge, the differences of the values that contain noise, and
a potential for each node with V(node) >= cost of the edge + V(next node). The solver's values are rounded to
rationals, and every row is checked. The potentials are then computed exactly from the exact costs. So a
positive cost around a cycle of nodes, however small, has no potentials (H10).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from dpaudit.prover.alignment import Alignment
from dpaudit.prover.differences import Automaton, Edge, Moves
from dpaudit.prover.forms import ZERO, Form, symbol
from dpaudit.prover.linear import rounded

__all__ = ["Solved", "UnsolvedError", "solve"]

SOLVER_INFEASIBLE = 2
#: Time limit of one linear program. After it there is no proposal, and therefore no bound.
MAX_SECONDS = 60.0


class UnsolvedError(Exception):
    """No proof of a bound was found.

    ``infinite`` is true if, according to the solver, no proof of the searched form exists.
    """

    def __init__(self, reason: str, *, infinite: bool) -> None:
        super().__init__(reason)
        self.infinite = infinite


@dataclass(frozen=True)
class Solved:
    """The exact solution of one run.

    ``differences`` has one entry per node, for its values with noise. ``shifts`` are by edge, ``potentials``
    by node. ``epsilon`` is the cost of the whole run.
    """

    differences: list[Moves]
    shifts: dict[Edge, tuple[Fraction, ...]]
    potentials: list[Fraction]
    epsilon: Fraction


def solve(automaton: Automaton) -> Solved:
    """Return shifts of least cost. Raise ``UnsolvedError`` if none are found."""
    unique = _unique(automaton)
    edges = list(dict.fromkeys(unique.values()))
    program = _Program(automaton, edges)
    near: dict[Edge, list[float]] = {edge: [] for edge in edges}
    differences: list[Moves] = [{} for _ in automaton.order]
    if program.has_unknowns:
        differences, near = program.solved()
    exact = _Exact(automaton, differences)
    shifts = {edge: exact.shifts(edge, near[edge]) for edge in edges}
    costs = [(edge, exact.cost(edge, shifts[edge])) for edge in edges]
    potentials = _potentials(len(automaton.order), costs)
    starts = [
        cost + (ZERO if edge.target is None else potentials[edge.target])
        for edge, cost in costs
        if edge.source is None
    ]
    every_edge = {edge: shifts[unique[edge]] for edge in automaton.edges}
    return Solved(differences, every_edge, potentials, max(starts, default=ZERO))


def _unique(automaton: Automaton) -> dict[Edge, Edge]:
    """Map each edge to the first edge with the same constraints."""
    first: dict[Any, Edge] = {}
    read: dict[int, list[str]] = {}
    for edge in automaton.edges:
        names = read.get(id(edge.path))
        if names is None:
            names = sorted({name for form in _all_forms(automaton, edge) for name in form.terms})
            read[id(edge.path)] = names
        moved = tuple(edge.moved.get(name) for name in names)
        first.setdefault((edge.source, edge.target, id(edge.path), moved), edge)
    found = {}
    for edge in automaton.edges:
        moved = tuple(edge.moved.get(name) for name in read[id(edge.path)])
        found[edge] = first[edge.source, edge.target, id(edge.path), moved]
    return found


def _all_forms(automaton: Automaton, edge: Edge) -> Iterator[Form]:
    yield from (row.form for row in edge.path.comparisons.values())
    yield from edge.path.shown_forms()
    yield from (form for form, _, _ in edge.path.releases())
    yield from automaton.liveness.forms(edge.path).values()


def _led(automaton: Automaton, edge: Edge) -> dict[str, Form]:
    """Return the values with noise at the target of an edge."""
    if edge.target is None:
        return {}
    names = automaton.unknowns(edge.target)
    return {name: form for name, form in automaton.liveness.forms(edge.path).items() if name in names}


@dataclass(eq=False)
class _Program:
    """The linear program of a whole run, in floats. It only proposes."""

    automaton: Automaton
    edges: list[Edge]
    lines: dict[str, list[tuple[dict[int, float], float]]] = field(
        default_factory=lambda: {"upper": [], "equal": []}
    )

    def __post_init__(self) -> None:
        nodes = len(self.automaton.order)
        self.width = 1 + nodes  # epsilon, then the potentials
        self.free: set[int] = set()
        self.unknown: list[dict[str, int]] = []
        for node in range(nodes):
            names = self.automaton.unknowns(node)
            self.unknown.append({name: self.width + i for i, name in enumerate(names)})
            self.free |= set(self.unknown[-1].values())
            self.width += len(names)
        self.first: dict[Edge, int] = {}
        for edge in self.edges:
            self.first[edge] = self.width
            self.width += 2 * len(edge.path.draws) + len(edge.path.releases())

    @property
    def has_unknowns(self) -> bool:
        """Return whether there are differences or shifts to find."""
        return bool(self.free) or any(edge.path.draws for edge in self.edges)

    def solved(self) -> tuple[list[Moves], dict[Edge, list[float]]]:
        for edge in self.edges:
            self._constrain(edge)
        upper, equal = (self._matrix(self.lines[kind]) for kind in ("upper", "equal"))
        cost = np.zeros(self.width)
        cost[0] = 1
        bounds = [(None, None) if i in self.free else (0, None) for i in range(self.width)]
        found = linprog(
            cost,
            A_ub=upper[0],
            b_ub=upper[1],
            A_eq=equal[0],
            b_eq=equal[1],
            bounds=bounds,
            method="highs",
            options={"time_limit": MAX_SECONDS},
        )
        if found.x is None:
            infinite = found.status == SOLVER_INFEASIBLE
            raise UnsolvedError(
                "no shifts of the hidden noise keep the output of every step at a cost that is bounded for "
                "all numbers of records.",
                infinite=infinite,
            )
        values = np.asarray(found.x)
        differences = [{name: rounded(values[i]) for name, i in table.items()} for table in self.unknown]
        return differences, {edge: self._shifts(edge, values) for edge in self.edges}

    def _shifts(self, edge: Edge, values: Any) -> list[float]:
        at, m = self.first[edge], len(edge.path.draws)
        return [float(values[at + j] - values[at + m + j]) for j in range(m)]

    def _constrain(self, edge: Edge) -> None:
        path, at, m = edge.path, self.first[edge], len(edge.path.draws)
        for row in path.comparisons.values():
            self._line("upper", *self._change(edge, row.form))
        for form in path.shown_forms():
            self._line("equal", *self._change(edge, form))
        for name, form in _led(self.automaton, edge).items():
            terms, known = self._change(edge, form)
            column = self.unknown[edge.target or 0][name]
            terms[column] = terms.get(column, 0.0) - 1
            self._line("equal", terms, known)
        charged: dict[int, float] = {}
        for j, draw in enumerate(path.draws):
            charged[at + j] = charged[at + m + j] = float(1 / draw.scale)
        for r, (form, _, scale) in enumerate(path.releases()):
            terms, known = self._change(edge, form)
            column = at + 2 * m + r
            self._line("upper", {**terms, column: -1.0}, known)
            self._line("upper", {**{k: -v for k, v in terms.items()}, column: -1.0}, -known)
            charged[column] = float(1 / scale)
        if edge.target is not None:
            charged[1 + edge.target] = charged.get(1 + edge.target, 0.0) + 1
        own = 0 if edge.source is None else 1 + edge.source
        charged[own] = charged.get(own, 0.0) - 1
        self._line("upper", charged, 0.0)

    def _change(self, edge: Edge, form: Form) -> tuple[dict[int, float], float]:
        """Return the change of a form on an edge: unknown columns with coefficients, and the known part."""
        at, m = self.first[edge], len(edge.path.draws)
        mine = {} if edge.source is None else self.unknown[edge.source]
        terms: dict[int, float] = {}
        known = ZERO
        for name, value in form.terms.items():
            if name.startswith("n"):
                terms[at + int(name[1:])] = float(value)
                terms[at + m + int(name[1:])] = -float(value)
            elif name in mine:
                terms[mine[name]] = float(value)
            elif not name.startswith("p"):
                known += value * edge.moved[name]
        return terms, float(known)

    def _line(self, kind: str, terms: dict[int, float], known: float) -> None:
        """Add one row: the sum of ``terms``, plus the known part, is at most (or exactly) 0."""
        self.lines[kind].append((terms, -known))

    def _matrix(self, lines: list[tuple[dict[int, float], float]]) -> tuple[Any, Any]:
        if not lines:
            return None, None
        at = [(i, column, value) for i, (terms, _) in enumerate(lines) for column, value in terms.items()]
        rows, columns, values = zip(*at, strict=True) if at else ((), (), ())
        table = csr_matrix((values, (rows, columns)), shape=(len(lines), self.width))
        return table, [right for _, right in lines]


@dataclass(eq=False)
class _Exact:
    """The search for exact shifts with fixed differences."""

    automaton: Automaton
    differences: list[Moves]

    def shifts(self, edge: Edge, near: list[float]) -> tuple[Fraction, ...]:
        """Return shifts that keep every row exactly: the rounded proposal, or the best shifts of the edge."""
        proposed = tuple(rounded(value) for value in near)
        if self._keeps(edge, proposed):
            return proposed
        targets = [
            form.plus(symbol(f"t:{name}"), Fraction(-1)) for name, form in _led(self.automaton, edge).items()
        ]
        program = Alignment(
            [row.form for row in edge.path.comparisons.values()],
            [*edge.path.shown_forms(), *targets],
            [(form, scale) for form, _, scale in edge.path.releases()],
            edge.path.draws,
        )
        wanted = {} if edge.target is None else self.differences[edge.target]
        best = program.best({**self.moved(edge), **{f"t:{name}": value for name, value in wanted.items()}})
        if best is None:
            raise UnsolvedError(
                "on one path no shift of the hidden noise keeps the output and the comparisons of the step.",
                infinite=not near,
            )
        return best.shifts

    def moved(self, edge: Edge) -> Moves:
        """Return the changes of the record and of the state's values."""
        return edge.moved if edge.source is None else {**edge.moved, **self.differences[edge.source]}

    def _both(self, edge: Edge, shifts: tuple[Fraction, ...]) -> Moves:
        own = {draw.symbol: shift for draw, shift in zip(edge.path.draws, shifts, strict=True)}
        return {**self.moved(edge), **own}

    def _keeps(self, edge: Edge, shifts: tuple[Fraction, ...]) -> bool:
        both = self._both(edge, shifts)
        if any(row.form.change(both) > 0 for row in edge.path.comparisons.values()):
            return False
        if any(form.change(both) for form in edge.path.shown_forms()):
            return False
        led = _led(self.automaton, edge)
        wanted = {} if edge.target is None else self.differences[edge.target]
        return all(form.change(both) == wanted[name] for name, form in led.items())

    def cost(self, edge: Edge, shifts: tuple[Fraction, ...]) -> Fraction:
        """Return the exact privacy cost of the shifts on an edge."""
        both = self._both(edge, shifts)
        cost = sum((abs(s) / draw.scale for draw, s in zip(edge.path.draws, shifts, strict=True)), ZERO)
        return cost + sum((abs(form.change(both)) / b for form, _, b in edge.path.releases()), ZERO)


def _potentials(nodes: int, costs: list[tuple[Edge, Fraction]]) -> list[Fraction]:
    """Return the least potentials exactly: the largest cost of all walks from each node.

    A walk that costs more than the sum of all nodes' most expensive edges goes around a cycle of positive
    cost. Then there are no potentials, and ``UnsolvedError`` is raised.
    """
    out: list[dict[int | None, Fraction]] = [{} for _ in range(nodes)]
    for edge, cost in costs:
        if edge.source is not None:
            table = out[edge.source]
            table[edge.target] = max(cost, table.get(edge.target, ZERO))
    most = sum((max(table.values(), default=ZERO) for table in out), ZERO)
    values = [ZERO] * nodes
    changed, passes = True, 0
    while changed:
        changed = False
        passes += 1
        for node in range(nodes - 1, -1, -1):
            best = max(
                (cost + (ZERO if to is None else values[to]) for to, cost in out[node].items()), default=ZERO
            )
            if best > values[node]:
                values[node], changed = best, True
        if passes > nodes + 1 or max(values, default=ZERO) > most:
            raise UnsolvedError(
                "the total cost of the steps has no bound for all numbers of records.", infinite=True
            )
    return values
