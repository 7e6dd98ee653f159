"""Prove claims for data of every size by the program's loop, its differences and potentials.

The values of a number are followed one by one up to a limit. Beyond it, the number is a public generic.
Several limits are tried in turn. For one replaced record, one run covers all changes, or there is a run for
each change (``apart``). Every bound comes from ``dpaudit/kernel/step_t0.py``, which derives it from the
certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.kernel import step_t0
from dpaudit.prover.certificate import written_tree
from dpaudit.prover.data import Adjacent, OneReplaced, Symbols
from dpaudit.prover.differences import Automaton, Edge, Liveness
from dpaudit.prover.explore import Event, Explored
from dpaudit.prover.generic_step import Graph, Loop
from dpaudit.prover.potentials import Solved, UnsolvedError, solve
from dpaudit.prover.states import Place
from dpaudit.prover.symbols import RefusedError

__all__ = ["Found", "prove_every_size", "states_and_trees"]

#: A number with more values than this becomes a public generic. The limits are tried in turn.
LIMITS = (4, 16)

Bound = Fraction | float


@dataclass(frozen=True)
class Found:
    """A proved bound (or infinity, or None) with its certificate, or one sentence that says why it failed."""

    bound: Fraction | float | None
    reason: str = ""
    paths: int = 0
    certificate: dict[str, Any] | None = None

    @property
    def rank(self) -> tuple[bool, Fraction | float]:
        """Return a sort key. Smaller is better."""
        return self.bound is None, math.inf if self.bound is None else self.bound


def prove_every_size(
    program: Callable[..., Any], claim: Fraction, data: Symbols, adjacency: Adjacent
) -> Found:
    """Return the best bound over all limits and both forms of runs. Stop once the bound proves ``claim``."""
    fields = {"data": data.to_json(), "adjacency": adjacency.to_json(data)}
    best = Found(None)
    try:
        loop = Loop(program, data)
    except RefusedError as refusal:
        return Found(None, str(refusal))
    for graph in _graphs(loop):
        for apart in (False, True) if isinstance(adjacency, OneReplaced) else (False,):
            found = _attempt(graph, claim, {**fields, "apart": apart}, best.bound)
            if not best.reason or found.rank < best.rank:
                best = found
            if best.bound is not None and best.bound <= claim:
                return best
            if isinstance(graph, RefusedError):
                break
    return best


def _graphs(loop: Loop) -> Iterator[Graph | RefusedError]:
    """Yield the program's graph for each limit. Widening the numbers of a list separately is tried last."""
    spread = False
    known: set[frozenset[Place]] = set()
    for whole_lists in (True, False):
        if whole_lists or spread:
            for limit in LIMITS:
                try:
                    graph = loop.graph(limit, whole_lists=whole_lists)
                except RefusedError as refusal:
                    spread = True
                    yield refusal
                else:
                    spread = spread or graph.spread
                    if graph.wide not in known:  # the widened places determine the graph
                        known.add(graph.wide)
                        yield graph


def states_and_trees(program: Callable[..., Any], data: Symbols) -> dict[str, Any]:
    """Explore the program again and return the states and trees of a certificate.

    They are those of the first limit at which the exploration ends. Raise ``RefusedError`` if there is none.
    """
    for graph in _graphs(Loop(program, data)):
        if isinstance(graph, Graph):
            return _written_graph(graph, Liveness(graph))
        refusal = graph
    raise refusal


def _attempt(
    graph: Graph | RefusedError, claim: Fraction, fields: dict[str, Any], known: Fraction | float | None
) -> Found:
    """Try one graph and one form of runs. Stop as soon as a run costs at least the ``known`` bound."""
    if isinstance(graph, RefusedError):
        return Found(None, str(graph))
    try:
        liveness = Liveness(graph)
        box = step_t0.Box.read(fields["data"], fields["adjacency"], apart=fields["apart"])
        runs = []
        for moves in box.runs:
            automaton = Automaton(graph, liveness, moves)
            solved = solve(automaton)
            if known is not None and known <= solved.epsilon:
                return Found(known, "the bound is no better than the known bound.", graph.paths)
            runs.append(_written_run(automaton, solved))
    except RefusedError as refusal:
        return Found(None, str(refusal), graph.paths)
    except UnsolvedError as error:
        return Found(math.inf if error.infinite else None, str(error), graph.paths)
    certificate = {
        "proof": "program, generic step",
        "claim": {"epsilon": str(claim)},
        **fields,
        **_written_graph(graph, liveness),
        "runs": runs,
    }
    try:
        checked = step_t0.check(certificate)
    except step_t0.StepProofError as error:
        return Found(None, f"the certificate was not accepted: {error}", graph.paths)
    reason = "" if checked.holds else f"the proved bound {checked.epsilon} is above the claim."
    return Found(checked.epsilon, reason, checked.paths, certificate)


def _written_graph(graph: Graph, liveness: Liveness) -> dict[str, Any]:
    states = [
        {
            "symbols": sorted(liveness.live[i]),
            "names": state.names(),
            "step": _tree(step.step, liveness),
            "exit": _tree(step.exit, liveness),
        }
        for i, (state, step) in enumerate(zip(graph.states, graph.steps, strict=True))
    ]
    return {"before": _tree(graph.before, liveness), "states": states}


def _tree(tree: Explored, liveness: Liveness) -> list[list[Any]]:
    """Return the tree as the checker reads it. A path that leads to a state has the state's live values."""
    return written_tree(tree, leads=lambda event: ["goto", *_led(liveness, event)])


def _led(liveness: Liveness, event: Event) -> tuple[int, dict[str, Any]]:
    state, forms = liveness.leads(event)
    return state, {name: form.to_json() for name, form in forms.items()}


def _written_run(automaton: Automaton, solved: Solved) -> dict[str, Any]:
    nodes = []
    for point, noisy, potential in zip(automaton.order, solved.differences, solved.potentials, strict=True):
        moved = {**dict(point.known), **noisy}
        nodes.append(
            [point.state, point.phase, {name: str(value) for name, value in moved.items()}, str(potential)]
        )

    def written(edges: list[Edge]) -> list[Any]:
        return [[edge.target, [str(shift) for shift in solved.shifts[edge]]] for edge in edges]

    return {
        "nodes": nodes,
        "start": written(automaton.start),
        "moves": [[written(paths) for paths in changes] for changes in automaton.steps],
        "exits": [written(edges) for edges in automaton.exits],
    }
