"""Follow finite distributions whose parameters are functions of one private integer.

``RandomisedResponse(symbols=..., truth=x, ...)`` and ``Categorical(weights=[...])`` are constructed for every
possible value of the integer, and their exact probabilities form a table, which the kernel compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit import distributions
from dpaudit.core.errors import BrokenHarnessError
from dpaudit.kernel.values.tables import MAX_ROWS
from dpaudit.prover.values.functions import unwrapped
from dpaudit.prover.values.operations import content, is_plain
from dpaudit.prover.values.reference import REFERENCE
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.values import MISSING, Entries, Private, Public, Symbol

__all__ = ["TABULATED", "Tabulated", "make_tabulated", "randomiser", "tabulated_outcome"]

#: The distributions, with the parameters that may depend on private data.
TABULATED: dict[type, tuple[str, ...]] = {
    distributions.RandomisedResponse: ("truth",),
    distributions.Categorical: ("weights", "probabilities"),
}


@dataclass(frozen=True, eq=False)
class Tabulated(Symbol):
    """A finite distribution, as the program constructed it. ``given`` holds its parameters."""

    kind: type
    given: dict[str, Any]

    def real(self) -> Any:
        """Return the distribution itself, for a run on real data."""
        return self.kind(**self.given)


def make_tabulated(run: Run, kind: type, arguments: list[Any], options: dict[str, Any]) -> Tabulated:
    """Construct a finite distribution from constants and private numbers."""
    if arguments:
        run.refuse(f"{kind.__name__} requires keyword arguments")
    given = {name: _parameter(run, value) for name, value in options.items()}
    others = {name: value for name, value in given.items() if name not in TABULATED[kind]}
    if not is_plain(others):
        run.refuse(f"the parameters {', '.join(others)} of {kind.__name__} must be constants")
    return Tabulated(kind, given)


def _parameter(run: Run, value: Any) -> Any:
    inner = content(value)
    if isinstance(inner, Entries):
        inner = inner.items
    if isinstance(inner, list | tuple):
        return [_parameter(run, item) for item in inner]
    if isinstance(inner, Symbol) and not (isinstance(inner, Private) and inner.shape == ()):
        run.refuse("a parameter of a finite distribution must be a constant or a single private number")
    return inner if isinstance(inner, Private) else unwrapped(inner)


def tabulated_outcome(run: Run, found: Tabulated) -> Public:
    """Publish an outcome, with the table of its probabilities."""
    symbols = [one for value in found.given.values() for one in _privates(value)]
    if found.kind is distributions.RandomisedResponse and found.given.get("epsilon") is not None:
        return _k_ary(run, found, symbols)
    root, values = _root(run, symbols)
    rows = [_row(run, found, lambda node, v=value: _evaluated(run, node, root, v)) for value in values]
    for side in run.worlds.sides:
        sample = run.samples[root][side] if symbols else values[0]
        if sample is MISSING:
            continue
        real = _row(run, found, lambda node, side=side: run.samples[node][side])
        if real != rows[int(sample) - int(values[0])]:
            raise BrokenHarnessError(
                f"{run.where}: the table of {found.kind.__name__} differs from the distribution on sample"
                " data. Please report this as a bug of dpaudit.",
                code="E-INTERPRETER-DIFFERS",
            )
    info = run.record.infos[root]
    written = [[str(chance) for chance in row] for row in rows]
    release = {"law": "table", "node": root, "low": int(values[0]), "rows": written}
    samples = [apply(lambda row: row.index(max(row)), rows[0]) for _ in run.worlds.sides]
    count = len(rows[0])
    return run.released(
        release,
        info,
        shape=(),
        kind="i",
        samples=samples,
        python=True,
        count=count if count <= MAX_ROWS else None,
    )


def _k_ary(run: Run, found: Tabulated, symbols: list[Private]) -> Public:
    """Publish a randomised response whose probabilities are irrational."""
    probe = run.plain(found.kind, **{**found.given, "truth": 0})
    truth = symbols[0] if symbols else run.lift(found.given.get("truth"))
    release = {"law": "k-ary", "node": truth.node, "symbols": probe.symbols, "epsilon": str(probe.epsilon)}
    samples = [apply(int, one) for one in truth.samples]
    count = probe.symbols if probe.symbols <= MAX_ROWS else None
    return run.released(release, truth.info, shape=(), kind="i", samples=samples, python=True, count=count)


def randomiser(run: Run, found: Tabulated) -> tuple[int, dict[str, Any], int]:
    """Return a user's symbol, the randomiser as the kernel reads it, and how many messages it has."""
    symbols = [one for value in found.given.values() for one in _privates(value)]
    if found.kind is distributions.RandomisedResponse:
        probe = run.plain(found.kind, **{**found.given, "truth": 0})
        truth = symbols[0] if symbols else run.lift(found.given.get("truth"))
        if probe.epsilon is not None and probe.symbols == 2:
            return truth.node, {"epsilon": str(probe.epsilon)}, 2
        if probe.keep is None or probe.symbols > MAX_ROWS:
            run.refuse(
                "shuffled randomised response requires bits, or keep= instead of epsilon= and at most"
                f" {MAX_ROWS} symbols"
            )
        other = (1 - probe.keep) / (probe.symbols - 1)
        rows = [
            [str(probe.keep if answer == true else other) for answer in range(probe.symbols)]
            for true in range(probe.symbols)
        ]
        return truth.node, {"rows": rows}, probe.symbols
    root, values = _root(run, symbols)
    if not symbols or int(values[0]) != 0:
        run.refuse("the messages of a shuffler require functions of a private integer from 0")
    table = [_row(run, found, lambda node, v=value: _evaluated(run, node, root, v)) for value in values]
    return root, {"rows": [[str(chance) for chance in row] for row in table]}, len(table[0])


def _privates(value: Any) -> list[Private]:
    if isinstance(value, list):
        return [one for item in value for one in _privates(item)]
    return [value] if isinstance(value, Private) else []


def _row(run: Run, found: Tabulated, number: Any) -> list[Fraction]:
    """Return the exact probabilities of all outcomes if private numbers are ``number(node)``."""

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(item) for item in value]
        return number(value.node) if isinstance(value, Private) else value

    real = run.plain(found.kind, **{name: filled(value) for name, value in found.given.items()})
    if found.kind is distributions.Categorical:
        return [Fraction(weight, real.total) for weight in real.weights]
    other = (1 - real.keep) / (real.symbols - 1)
    return [real.keep if k == real.truth else other for k in range(real.symbols)]


def _root(run: Run, symbols: list[Private]) -> tuple[int, list[Any]]:
    """Return the latest private integer of which all ``symbols`` are functions, and its possible values."""
    if not symbols:
        constant = run.lift(0)
        return constant.node, [0]
    record, pending, seen = run.record, [one.node for one in symbols], set()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending += record.nodes[node][1]
    for root in sorted(seen, reverse=True):
        values = _values(run, root)
        if values is None:
            continue
        try:
            for one in symbols:
                _evaluated(run, one.node, root, values[0])
        except LookupError:
            continue
        return root, values
    return run.refuse(
        f"the probabilities of a finite distribution must be functions of one private integer with at most"
        f" {MAX_ROWS} values"
    )


def _values(run: Run, node: int) -> list[Any] | None:
    """Return all values of a private integer, or None if it is another value or has too many."""
    info = run.record.infos[node]
    low, high = (None if end is None else end.number for end in (info.low, info.high))
    if info.shape != () or info.records or info.kind not in "bi" or not info.private:
        return None
    if low is None or high is None or low.denominator != 1 or high.denominator != 1:
        return None
    if high - low >= MAX_ROWS:
        return None
    kind = {("b", True): bool, ("b", False): np.bool_, ("i", True): int}.get(
        (info.kind, info.python), np.int64
    )
    return [kind(value) for value in range(int(low), int(high) + 1)]


def _evaluated(run: Run, node: int, root: int, value: Any) -> Any:
    """Return a node's value if the value of ``root`` is ``value``. Raise LookupError if it needs more."""
    known: dict[int, Any] = {root: value}
    pending = [node]
    while pending:
        here = pending[-1]
        op, ids, params = run.record.nodes[here]
        if here in known:
            pending.pop()
        elif op == "const":
            known[here] = run.samples[here][0]
        elif op not in REFERENCE or not ids or run.record.infos[here].shape != ():
            raise LookupError(op)
        elif missing := [k for k in ids if k not in known]:
            pending += missing
        else:
            known[here] = REFERENCE[op](params, *[known[k] for k in ids])
    return known[node]
