"""Tier 0 for programs on data of every size: checks a proof by a generic step, by rational arithmetic alone.

    python step_t0.py certificate.json     (or a report; with claim_t0.py and kernel_t0.py in its folder)

The certificate holds decision trees: of the code before the loop over the data, and for each abstract state
at the loop's head, of one step with a new record and of the code after the loop. A *run* has nodes. A node is
a state with the difference of each of its private values ``s0``, ``s1``, ... between the two sides, and a
potential. This file derives epsilon from them and trusts no count or name: it walks the trees, enumerates the
changes of a record, and checks every inequality exactly.

The rule. From every node, for every path of its state's trees and every extreme change of the record, the
certificate states the shifts of the path's draws. Comparisons must be kept and shown forms must be equal. If
the path returns to the head, it must lead to a node with exactly the differences that its values then have.
The cost is the sum of abs(shift) / scale over draws and abs(change) / scale over releases. A node's potential
is at least 0, at least the cost plus the next node's potential, and at least the cost of every exit. Epsilon
is the largest cost before the loop plus the potential of the first node.

Why that suffices, for every number N of records. A path of the whole program is a separate cell: its noise
changes by the stated shifts, to the same path on the neighbour's data with the same shown values (randomness
alignment). Costs telescope. Changes inside the box are averages of extreme ones: shifts, costs and
constraints of one whole path are averaged likewise, and before the loop there is one shift for all. Records
and changes may depend on earlier output. Discrete noise is refused, because differences may be any rationals.

Assumptions: the trees are the program's; numbers are exact and finite; both sides have the same N; each
record is delivered once; the running time is not part of the output.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

__all__ = ["Box", "Checked", "StepProofError", "check", "main"]

MAX_NODES, MAX_STEPS, MAX_EXTREMES, MAX_WIDTH = 200_000, 500_000, 4_096, 64
NUMBER = re.compile(r"-?\d{1,1000}(/[1-9]\d{0,999})?", re.ASCII)
SYMBOL, PUBLIC = re.compile(r"s\d{1,6}", re.ASCII), re.compile(r"p\d{1,6}", re.ASCII)

ZERO, ONE = Fraction(0), Fraction(1)

Form = tuple[tuple[tuple[str, Fraction], ...], Fraction]
#: One constraint: the form is below 0 if strict, else at most 0.
Row = tuple[Form, bool]
Moves = dict[str, Fraction]


class StepProofError(Exception):
    """The certificate is malformed or does not prove its statement."""


def need(holds: Any, message: str) -> None:
    """Refuse the certificate with ``message`` unless ``holds``."""
    if not holds:
        raise StepProofError(message)


def rational(text: Any) -> Fraction:
    """Read an exact number in its only valid form, reduced: ``"2"``, ``"-3/8"``."""
    number = Fraction(text) if isinstance(text, str) and NUMBER.fullmatch(text) else Fraction()
    need(text == str(number), f"a number must be exact and reduced, got {str(text)[:40]!r}.")
    return number


def positive(text: Any) -> Fraction:
    number = rational(text)
    need(number > 0, f"a scale, step or claim must be positive, got {number}.")
    return number


def entry(record: Any, key: str, kind: type) -> Any:
    """Return a field of exactly this type. A bool is not accepted as an int."""
    need(isinstance(record, dict) and key in record, f"the certificate must have the field {key!r}.")
    need(type(record[key]) is kind, f"{key!r} must be a {kind.__name__}, got {str(record[key])[:40]!r}.")
    return record[key]


def total(parts: Iterable[tuple[Fraction, Form]]) -> Form:
    """Return the sum of factor times form."""
    terms: dict[str, Fraction] = {}
    constant = ZERO
    for factor, (form, number) in parts:
        constant += factor * number
        for name, value in form:
            terms[name] = terms.get(name, ZERO) + factor * value
    return tuple(sorted((name, value) for name, value in terms.items() if value)), constant


def change(form: Form, moved: Moves) -> Fraction:
    """Return the change of a form when its symbols change."""
    return sum((value * moved[name] for name, value in form[0] if name in moved), ZERO)


@dataclass(frozen=True)
class Box:
    """One record and its changes.

    ``runs`` holds for each run the possible changes in one step, as (phase before, change, phase after). All
    runs together must cover the adjacency.
    """

    names: tuple[str, ...]
    rows: dict[str, Row]
    runs: tuple[tuple[tuple[int, Moves, int], ...], ...]

    @classmethod
    def read(cls, data: Any, adjacency: Any, *, apart: bool) -> Box:
        """Read the data and the adjacency. With ``apart``, one replaced record has a separate run for each
        extreme change.
        """
        need(entry(data, "size", str) == "every", "the data must be of every size.")
        width = data.get("width")
        need(width is None or (type(width) is int and 0 < width <= MAX_WIDTH), "a record's width is wrong.")
        names = tuple(f"x{i}" for i in range(width or 1))
        low, high = (None if data.get(k) is None else rational(data[k]) for k in ("low", "high"))
        need(None in (low, high) or low < high, "the data need a range.")  # type: ignore[operator]
        rows: dict[str, Row] = {}
        for name in names:
            if low is not None:
                rows[f"{name}>"] = (((name, -ONE),), low), False
            if high is not None:
                rows[f"{name}<"] = (((name, ONE),), -high), False
        by, kind = positive(adjacency.get("by")), adjacency.get("kind")
        if kind == "each-moves":
            ways = [(-by, ZERO), (ZERO, by)] if entry(adjacency, "one_way", bool) else [(-by, by)]
            return cls(names, rows, tuple(tuple((0, d, 0) for d in corners(names, *way)) for way in ways))
        need(kind == "one-replaced", f"unknown adjacency {str(kind)[:40]!r}.")
        spans = None not in (low, high) and by >= high - low  # type: ignore[operator]
        need(spans or adjacency.get("at_most") is True, "one record's change must span its domain.")
        still = dict.fromkeys(names, ZERO)
        around = (0, still, 0), (1, still, 1)
        found = [(0, d, 1) for d in corners(names, -by, by)]
        return cls(names, rows, tuple((*around, d) for d in found) if apart else ((*around, *found),))


def corners(names: tuple[str, ...], low: Fraction, high: Fraction) -> list[Moves]:
    """Return all extreme changes of one record: every sign pattern of its numbers (H9)."""
    need(2 ** len(names) <= MAX_EXTREMES, f"a record has more than {MAX_EXTREMES} extreme changes.")
    return [dict(zip(names, ends, strict=True)) for ends in product((low, high), repeat=len(names))]


@dataclass(frozen=True)
class Route:
    """A path of one tree up to a node.

    At its end, ``leads`` is the next state with its values, or ``None`` at the program's end.
    """

    node: int
    rows: dict[str, Row]
    kept: tuple[Form, ...] = ()
    draws: tuple[Fraction, ...] = ()
    forms: tuple[Form, ...] = ()
    releases: tuple[tuple[Form, Fraction], ...] = ()
    leads: tuple[int, dict[str, Form]] | None = None
    compared: int = 0

    def to(self, node: Any, **more: Any) -> Route:
        """Return the route extended by one node. Numbers grow downwards, so that no route has a cycle."""
        need(type(node) is int and node > self.node, "a node must come after the one above it.")
        return replace(self, node=node, **more)


class Tree:
    """A decision tree: a list of nodes, the root first.

    ``known`` are the symbols that its forms may have besides its own draws. ``symbols`` are those of each
    state that it may lead to.
    """

    def __init__(
        self, nodes: Any, known: Iterable[str], rows: dict[str, Row], symbols: list[list[str]] | None
    ) -> None:
        need(isinstance(nodes, list) and 0 < len(nodes) <= MAX_NODES, f"a tree has 1 to {MAX_NODES} nodes.")
        need(all(isinstance(node, list) and node for node in nodes), "a node must be a list.")
        self.nodes, self.known, self.symbols = nodes, set(known), symbols
        self.paths = list(self._walk(rows))

    def _walk(self, rows: dict[str, Row]) -> Iterator[Route]:
        """Yield all paths, first answers first. Pruned branches are proved empty."""
        pending, count = [Route(0, rows)], 0
        while pending:
            route = pending.pop()
            count += 1
            need(count <= MAX_STEPS, f"a tree takes more than {MAX_STEPS} steps.")
            need(route.node < len(self.nodes), "a node of the tree is missing.")
            node = self.nodes[route.node]
            kind, *rest = node
            if kind == "end" or kind == "goto":
                yield route if node == ["end"] else self._goto(route, *rest)
            elif kind == "empty":
                (weights,) = rest
                self._contradicts(weights, route)
            elif kind == "compare":
                pending.extend(reversed(self._answers(route, *rest)))
            elif kind == "finite":
                pending.extend(reversed(self._outcomes(route, *rest)))
            elif kind == "fork":
                question, then = rest
                need(isinstance(then, list) and then, f"the question {str(question)[:40]!r} has no answers.")
                pending.extend(route.to(child) for child in reversed(then))
            else:
                pending.append(self._straight(route, kind, rest))

    def _form(self, written: Any, route: Route) -> Form:
        """Read a form over known symbols, earlier draws, and public values ``p0``, ``p1``, ...

        Public values are any numbers that are equal on both sides.
        """
        need(isinstance(written, dict), "a form must be a table of coefficients.")
        for name in written.keys() - self.known - {""}:
            own = name in {f"n{i}" for i in range(len(route.draws))}
            need(
                own or PUBLIC.fullmatch(name),
                f"a form has the unknown symbol {str(name)[:20]!r}.",
            )
        terms = [(rational(value), (((name, ONE),), ZERO)) for name, value in written.items() if name]
        return total([*terms, (rational(written.get("", "0")), ((), ONE))])

    def _goto(self, route: Route, state: Any, values: Any) -> Route:
        need(self.symbols is not None, "the code after the loop must not return to it.")
        need(type(state) is int and 0 <= state < len(self.symbols or []), "a state is missing.")
        wanted = (self.symbols or [])[state]
        need(isinstance(values, dict) and sorted(values) == sorted(wanted), "a state has other values.")
        forms = {name: self._form(form, route) for name, form in values.items()}
        return replace(route, leads=(state, forms))

    def _straight(self, route: Route, kind: Any, rest: list[Any]) -> Route:
        """Extend the route by a node without a choice."""
        if kind == "draw":
            noise, scale, then = rest
            need(noise in ("laplace", "exponential"), f"a draw cannot have {str(noise)[:40]!r} noise.")
            name, rows, kept = f"n{len(route.draws)}", route.rows, route.kept
            if noise == "exponential":
                support = (((name, -ONE),), ZERO)
                rows, kept = {**rows, f"{name}>": (support, False)}, (*kept, support)
            return route.to(then, draws=(*route.draws, positive(scale)), rows=rows, kept=kept)
        if kind == "show":
            text, then = rest
            need(isinstance(text, str), "a shown constant must be a text.")
            return route.to(then)
        if kind == "form":
            form, then = rest
            return route.to(then, forms=(*route.forms, self._form(form, route)))
        need(kind == "release", f"a node of the tree is malformed: {str(kind)[:40]!r}.")
        form, noise, scale, then = rest
        need(noise == "laplace", f"a release cannot have {str(noise)[:40]!r} noise.")
        return route.to(then, releases=(*route.releases, (self._form(form, route), positive(scale))))

    def _answers(self, route: Route, written: Any, strict: Any, yes: Any, no: Any) -> list[Route]:
        """Return the routes of both answers of a comparison. Following both makes the tree complete."""
        need(type(strict) is bool, "a comparison must be strict or not.")
        form, name = self._form(written, route), str(route.compared)
        rows = ((form, strict), (total([(-ONE, form)]), not strict))
        return [
            route.to(
                child,
                rows={**route.rows, name: row},
                kept=(*route.kept, row[0]),
                compared=route.compared + 1,
            )
            for child, row in zip((yes, no), rows, strict=True)
        ]

    def _outcomes(self, route: Route, written: Any, then: Any) -> list[Route]:
        """Return one route for each outcome of a finite draw with positive probability."""
        weights = [rational(weight) for weight in written]
        need(sum(weights) == 1 and min(weights) >= 0, "the probabilities of a finite draw must sum to 1.")
        return [route.to(child) for weight, child in zip(weights, then, strict=True) if weight]

    def _contradicts(self, weights: Any, route: Route) -> None:
        """Require that the closed region has no point, or only a null set through a draw of this step, for
        all values of the state.

        Multipliers >= 0 must give 0 >= k with k > 0, or k = 0 with weight on a strict row, or on a row that
        contains a draw of this tree (H8) and no public value. A public value may be computed from that very
        draw after it was shown, and then equality is certain.
        """
        need(
            isinstance(weights, dict) and weights.keys() <= route.rows.keys(),
            "a multiplier names an unknown row.",
        )
        numbers = {name: positive(weight) for name, weight in weights.items()}
        terms, constant = total((number, route.rows[name][0]) for name, number in numbers.items())
        need(not terms, "the multipliers of a pruned branch leave a symbol.")
        draws = {f"n{i}" for i in range(len(route.draws))}
        used = [({name for name, _ in route.rows[row][0][0]}, route.rows[row][1]) for row in numbers]
        broken = any(
            strict or (draws & names and not any(n[0] == "p" for n in names)) for names, strict in used
        )
        need(constant > 0 or (constant == 0 and broken), "the multipliers of a pruned branch prove nothing.")


@dataclass(frozen=True)
class Node:
    """A state with the differences of its private values between the sides, its phase and its potential."""

    state: int
    phase: int
    differences: Moves
    potential: Fraction


class Run:
    """The nodes of one run, and the check of everything that starts from them."""

    def __init__(self, written: Any, trees: list[tuple[Tree, Tree]], symbols: list[list[str]]) -> None:
        self.trees = trees
        self.nodes = [self._node(node, symbols) for node in entry(written, "nodes", list)]

    @staticmethod
    def _node(written: Any, symbols: list[list[str]]) -> Node:
        state, phase, moved, potential = written
        need(type(state) is int and 0 <= state < len(symbols), "a state is missing.")
        need(type(phase) is int and phase in (0, 1), "a phase must be 0 or 1.")
        need(isinstance(moved, dict) and sorted(moved) == sorted(symbols[state]), "a difference is missing.")
        value = rational(potential)
        need(value >= 0, f"a potential must be at least 0, got {value}.")
        return Node(state, phase, {name: rational(moved[name]) for name in moved}, value)

    def follow(self, path: Route, moved: Moves, written: Any, phase: int) -> Fraction:
        """Return the cost of one path with its shifts, and of everything that may follow."""
        target, written_shifts = written
        need(isinstance(written_shifts, list), "shifts must be a list.")
        future = ZERO
        shifts = [rational(shift) for shift in written_shifts]
        need(len(shifts) == len(path.draws), "each draw must have its shift.")
        both = {**moved, **{f"n{i}": shift for i, shift in enumerate(shifts)}}
        for form in path.kept:
            need(change(form, both) <= 0, "a comparison is not kept.")
        for form in path.forms:
            need(change(form, both) == 0, "a shown value is not kept.")
        cost = sum((abs(s) / scale for s, scale in zip(shifts, path.draws, strict=True)), ZERO)
        cost += sum((abs(change(form, both)) / scale for form, scale in path.releases), ZERO)
        if path.leads is None:
            need(target is None, "a path that ends cannot lead to a node.")
        else:
            need(type(target) is int and 0 <= target < len(self.nodes), "a node of a run is missing.")
            node, (state, values) = self.nodes[target], path.leads
            need((node.state, node.phase) == (state, phase), "a path leads to another state or phase.")
            for name, form in values.items():
                need(
                    change(form, both) == node.differences[name],
                    f"{name} must have the difference of its node.",
                )
            future = node.potential
        return cost + future

    def epsilon(self, written: Any, before: Tree, moves: tuple[tuple[int, Moves, int], ...]) -> Fraction:
        """Return the largest cost from the program's start, if all potentials are valid."""
        start, steps, exits = (entry(written, key, list) for key in ("start", "moves", "exits"))
        need(len(steps) == len(exits) == len(self.nodes), "each node must have its moves and exits.")
        for node, own, ends in zip(self.nodes, steps, exits, strict=True):
            step, after = self.trees[node.state]
            mine = [(change_, then) for phase, change_, then in moves if phase == node.phase]
            for (moved, phase), paths in zip(mine, own, strict=True):
                for path, one in zip(step.paths, paths, strict=True):
                    spent = self.follow(path, {**moved, **node.differences}, one, phase)
                    need(spent <= node.potential, "a potential is too small.")
            for path, one in zip(after.paths, ends, strict=True):
                spent = self.follow(path, node.differences, one, node.phase)
                need(spent <= node.potential, "a potential is too small at an exit.")
        costs = [self.follow(path, {}, one, 0) for path, one in zip(before.paths, start, strict=True)]
        return max(costs, default=ZERO)


@dataclass(frozen=True)
class Checked:
    """The result of a check: ``epsilon`` holds for every number of records, all data and outcomes."""

    epsilon: Fraction
    claimed: Fraction
    paths: int

    @property
    def holds(self) -> bool:
        return self.epsilon <= self.claimed


def check(certificate: Any) -> Checked:
    """Derive epsilon from a certificate. Raise ``StepProofError`` if a step does not follow."""
    try:
        return _check(certificate)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise StepProofError(f"the certificate is malformed: {type(error).__name__}.") from error


def _check(certificate: Any) -> Checked:
    need(certificate.get("proof") == "program, generic step", "the certificate is of another kind.")
    claimed = positive(entry(certificate, "claim", dict).get("epsilon"))
    data, adjacency = (entry(certificate, key, dict) for key in ("data", "adjacency"))
    box = Box.read(data, adjacency, apart=entry(certificate, "apart", bool))
    states = entry(certificate, "states", list)
    symbols = [entry(state, "symbols", list) for state in states]
    for names in symbols:
        proper = all(isinstance(name, str) and SYMBOL.fullmatch(name) for name in names)
        need(proper and len(set(names)) == len(names), "a state's values must be s0, s1, ... each once.")
    before = Tree(certificate["before"], (), {}, symbols)
    trees = [
        (Tree(state["step"], {*names, *box.names}, box.rows, symbols), Tree(state["exit"], names, {}, None))
        for state, names in zip(states, symbols, strict=True)
    ]
    runs = entry(certificate, "runs", list)
    costs = [
        Run(run, trees, symbols).epsilon(run, before, moves)
        for run, moves in zip(runs, box.runs, strict=True)
    ]
    paths = len(before.paths) + sum(len(tree.paths) for pair in trees for tree in pair)
    return Checked(max(costs), claimed, paths)


def main(arguments: list[str]) -> int:
    """Check a certificate, or all of this kind in a report (see ``claim_t0.run``)."""
    try:
        from dpaudit.kernel.claim_t0 import ASSUMED_AT_EVERY_SIZE, run
    except ImportError:  # run as a script, with the other files in its folder
        sys.path.append(str(Path(__file__).parent))
        from claim_t0 import ASSUMED_AT_EVERY_SIZE, run  # type: ignore[import-not-found,no-redef]
    return run(
        arguments,
        "program, generic step",
        check,
        lambda found: f"for every size: derived {found.epsilon} from {found.paths} paths",
        assumed=ASSUMED_AT_EVERY_SIZE,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
