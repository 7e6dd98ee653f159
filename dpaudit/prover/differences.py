"""Compute how the private values of a state differ between neighbouring inputs, as nodes and edges of a run.

A value computed from records alone has a known difference: one number for each history of extreme changes. A
value that contains hidden noise has one unknown difference per node. It is the same for all changes that lead
to the node, so that it also holds for changes inside the box, which are averages of extreme changes. Dead
values have no difference: no comparison, shown form, release or live value reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from dpaudit.prover.explore import Event, Explored, Path
from dpaudit.prover.forms import Form
from dpaudit.prover.generic_step import Graph, goto, tree_events
from dpaudit.prover.states import State, widened
from dpaudit.prover.symbols import RefusedError

__all__ = ["Automaton", "Edge", "Liveness", "Point"]

MAX_POINTS = 4_000

Moves = dict[str, Fraction]


@dataclass(eq=False)
class Liveness:
    """The names of the live values of each state, and which of them contain noise."""

    graph: Graph
    live: list[set[str]] = field(init=False)
    noisy: list[set[str]] = field(init=False)
    #: The state to which each path of each tree leads, by identity of the path.
    target: dict[int, int | None] = field(init=False)

    def __post_init__(self) -> None:
        trees = self.graph.trees
        self._places = {state: i for i, state in enumerate(self.graph.states)}
        self.target = {}
        for tree in trees:
            for path in tree.paths:
                found = goto(path)
                self.target[id(path)] = None if found is None else self._place(found[0])
        self._find_live()
        self._find_noisy()

    def _place(self, state: State) -> int:
        return self._places[widened(state, set(self.graph.wide))]

    def leads(self, event: Event) -> tuple[int, dict[str, Form]]:
        """Return the state to which an event "goto" leads, and its live values."""
        at = self._place(event[1])
        return at, {f"s{i}": form for i, form in enumerate(event[2]) if f"s{i}" in self.live[at]}

    def forms(self, path: Path) -> dict[str, Form]:
        """Return the live values of the state to which a path leads."""
        found, at = goto(path), self.target[id(path)]
        if found is None or at is None:
            return {}
        return {f"s{i}": form for i, form in enumerate(found[1]) if f"s{i}" in self.live[at]}

    def _find_live(self) -> None:
        """Find the values that are read or passed on to a live value of the next state, up to a fixpoint."""
        self.live = [
            set().union(*(_read(tree) for tree in (step.step, step.exit))) for step in self.graph.steps
        ]
        changed = True
        while changed:
            changed = False
            for live, step in zip(self.live, self.graph.steps, strict=True):
                carried = {name for path in step.step.paths for name in _own(self.forms(path).values())}
                if not carried <= live:
                    live |= carried
                    changed = True

    def _find_noisy(self) -> None:
        self.noisy = [set() for _ in self.graph.states]
        changed = True
        while changed:
            changed = False
            for source, path in self._leading():
                noisy = set() if source is None else self.noisy[source]
                at = self.target[id(path)]
                assert at is not None
                for name, form in self.forms(path).items():
                    hidden = any(term.startswith("n") or term in noisy for term in form.terms)
                    if hidden and name not in self.noisy[at]:
                        self.noisy[at].add(name)
                        changed = True

    def _leading(self) -> Iterator[tuple[int | None, Path]]:
        sources: list[tuple[int | None, Explored]] = [(None, self.graph.before)]
        sources += [(i, step.step) for i, step in enumerate(self.graph.steps)]
        for source, tree in sources:
            for path in tree.paths:
                if self.target[id(path)] is not None:
                    yield source, path


def _own(forms: Iterable[Form]) -> set[str]:
    return {name for form in forms for name in form.terms if name.startswith("s")}


def _read(tree: Explored) -> set[str]:
    """Return the values of a state that a tree compares, shows or releases."""
    return _own(event[1] for event in tree_events(tree) if event[0] in ("compare", "form", "release"))


@dataclass(frozen=True)
class Point:
    """A node of a run: a state, a phase, and the differences of its values without noise."""

    state: int
    phase: int
    known: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True, eq=False)
class Edge:
    """One path from one node under one change of the record.

    ``source`` None is the program's start, ``target`` None its end. ``moved`` are the known changes.
    """

    source: int | None
    target: int | None
    path: Path
    moved: Moves


@dataclass(eq=False)
class Automaton:
    """All nodes and edges of one run, from the start."""

    graph: Graph
    liveness: Liveness
    moves: tuple[tuple[int, Moves, int], ...]

    def __post_init__(self) -> None:
        self.order: list[Point] = []
        self.points: dict[Point, int] = {}
        self.edges: list[Edge] = []
        self.start = [self._edge(None, path, {}, 0) for path in self.graph.before.paths]
        self.steps: list[list[list[Edge]]] = []
        self.exits: list[list[Edge]] = []
        while len(self.steps) < len(self.order):
            self._leave(len(self.steps), self.order[len(self.steps)])

    def _leave(self, source: int, point: Point) -> None:
        step, known = self.graph.steps[point.state], dict(point.known)
        mine = [(moved, then) for phase, moved, then in self.moves if phase == point.phase]
        self.steps.append(
            [
                [self._edge(source, path, {**moved, **known}, then) for path in step.step.paths]
                for moved, then in mine
            ]
        )
        self.exits.append([self._edge(source, path, known, point.phase) for path in step.exit.paths])

    def _edge(self, source: int | None, path: Path, moved: Moves, phase: int) -> Edge:
        state = self.liveness.target[id(path)]
        target = None
        if state is not None:
            noisy = self.liveness.noisy[state]
            forms = self.liveness.forms(path)
            known = [(name, form.change(moved)) for name, form in forms.items() if name not in noisy]
            point = Point(state, phase, tuple(known))
            target = self.points.setdefault(point, len(self.order))
            if target == len(self.order):
                self.order.append(point)
            if target > MAX_POINTS:
                raise RefusedError(
                    "the prover cannot follow this program: the values that the loop keeps have more than "
                    f"{MAX_POINTS} combinations of differences.",
                    code="E-DIFFERENCES-TOO-MANY",
                )
        edge = Edge(source, target, path, moved)
        self.edges.append(edge)
        return edge

    def unknowns(self, node: int) -> list[str]:
        """Return the values of a node whose difference is unknown."""
        point = self.order[node]
        return sorted(self.liveness.live[point.state] & self.liveness.noisy[point.state])
