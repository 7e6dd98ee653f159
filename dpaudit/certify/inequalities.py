"""Examine a proof of an inequality on a range: check its evidence, and match it to its claim and scope.

The scope of the evidence is derived from the range and the conditions that were checked, so it cannot say
more than was proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.core.claims import Claim, Ordering
from dpaudit.core.claims.statements import Statement
from dpaudit.core.evidence import InequalityProof
from dpaudit.kernel.inequalities.check import Traced, check_inequality, read_ranges, read_traced
from dpaudit.kernel.inequalities.domain import REAL, Choices, Integers, Parameter, Reals, combinations
from dpaudit.kernel.inequalities.leaf import Condition
from dpaudit.kernel.kernel_t0 import CertificateError

__all__ = [
    "ASSUMED",
    "CLAIMED",
    "ExaminedInequality",
    "axis_in_words",
    "examine_inequality",
    "expressions",
    "scope_of",
]

#: What a proof of left <= right says of each measure of a row.
CLAIMED = {"left / right": Fraction(1), "left - right": Fraction(0)}

#: What a check of the evidence alone cannot know.
ASSUMED = ("the expressions of the proof are those of the row's function, which tracing it again confirms",)

#: The largest number of characters of an expression in words.
SHOWN = 400


@dataclass(frozen=True)
class ExaminedInequality:
    """The number of boxes of a proof, and its inequalities as text."""

    boxes: int
    inequalities: tuple[str, ...]


def examine_inequality(item: InequalityProof, claim: Claim) -> ExaminedInequality:
    """Check a proof of an inequality for ``claim``.

    Raises
    ------
    CertificateError
        The kernel does not confirm the proof, or quantity, bound, scope or assumptions are not those of
        the proof and the claim.
    """
    if not isinstance(claim, Ordering):
        raise CertificateError(f"a proof of an inequality must be for an ordering, got {claim.type}.")
    measure = claim.quantity_name if isinstance(claim, Statement) else ""
    wanted = CLAIMED.get(measure)
    if wanted is None or (item.quantity, item.bound, claim.bound) != (measure, wanted, wanted):
        raise CertificateError(
            "a proof of an inequality must bound left / right by 1 or left - right by 0, got "
            f"{item.quantity} at most {item.bound} for the claim {measure} at most {claim.bound}."
        )
    if item.assumptions != ASSUMED:
        raise CertificateError(f"a proof of an inequality must assume {ASSUMED[0]!r}, and nothing else.")
    checked = check_inequality(item.body)
    scope = scope_of(item.body)
    if item.scope != scope:
        raise CertificateError(f"the scope of the proof must be {scope!r}, got {item.scope[:200]!r}.")
    return ExaminedInequality(checked.boxes, expressions(item.body))


def scope_of(body: Any) -> str:
    """Return the range and the conditions of evidence as text: ``all m >= 1, 0 < epsilon <= 1``."""
    ranges = read_ranges(body["range"])
    parts = [axis_in_words(name, axis) for name, axis in ranges.items()]
    for traced, values, given in _traced(body):
        texts = (_condition_of_range(traced, values, each) for each in given)
        parts += [text for text in dict.fromkeys(texts) if text and text not in parts]
    return f"all {', '.join(parts)}" if parts else "no parameters"


def _condition_of_range(traced: Traced, values: Mapping[str, str], condition: Condition) -> str:
    """Return a condition as text. One on single values alone is true, or it excludes them."""
    first, second = (traced.table.nodes[node] for node in (condition.a, condition.b))
    sign = "<" if condition.strict else "<="
    if first[0] == second[0] == "c":
        holds = first[1] < second[1] or (not condition.strict and first[1] == second[1])
        named = ", ".join(f"{name} = {text}" for name, text in values.items() if text != REAL)
        return "" if holds else f"without {named or 'any point'}"
    return f"{_side(traced, condition.a)} {sign} {_side(traced, condition.b)}"


def expressions(body: Any) -> tuple[str, ...]:
    """Return the inequalities of the last combination of single values as text, with their conditions."""
    found: list[str] = []
    combination = body["combinations"][-1]
    for path, _ in read_traced(combination, combination["values"]):
        when = [
            f"{_side(path, each.a)} {'<' if each.strict else '<='} {_side(path, each.b)}"
            + ("" if each.wanted else " is false")
            for each in path.conditions[len(combination["given"]) :]
        ]
        found += [
            f"{_side(path, left)} <= {_side(path, right)}" + (f" if {' and '.join(when)}" if when else "")
            for left, right in path.sides.values()
        ]
    return tuple(found)


def _traced(body: Any) -> Iterator[tuple[Traced, Mapping[str, str], Sequence[Condition]]]:
    """Yield the first path of each combination, its values, and the conditions of the range."""
    wanted = combinations(read_ranges(body["range"]))
    for each, values in zip(body["combinations"], wanted, strict=True):
        traced, _ = read_traced(each, values)[0]
        yield traced, values, traced.conditions[: len(each["given"])]


def axis_in_words(name: str, axis: Parameter) -> str:
    """Return the range of one parameter as text."""
    if isinstance(axis, Choices):
        return f"{name} in {{{', '.join(axis.values)}}}"
    if isinstance(axis, Integers):
        if axis.hi is None:
            return f"integers {name} >= {axis.lo}"
        return f"integers {axis.lo} <= {name} <= {axis.hi}"
    return _reals(name, axis)


def _reals(name: str, axis: Reals) -> str:
    if axis.lo is None and axis.hi is None:
        return f"real {name}"
    if axis.lo is not None and axis.hi is None:
        return f"{name} {'>' if axis.open_lo else '>='} {axis.lo}"
    low = "" if axis.lo is None else f"{axis.lo} {'<' if axis.open_lo else '<='} "
    return f"{low}{name} {'<' if axis.open_hi else '<='} {axis.hi}"


def _side(traced: Traced, node: int) -> str:
    text = _Formula(traced.table.nodes, traced.real).text(node, 0)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


#: Operations between two nodes: their sign and how strongly it binds.
_SIGNS = {"+": (" + ", 1), "-": (" - ", 1), "*": (" * ", 2), "/": ("/", 2)}


class _Formula:
    """Nodes as text. Beyond the limit of characters, nodes are left out, so that any table is finite text."""

    def __init__(self, nodes: Sequence[tuple[Any, ...]], names: Sequence[str]) -> None:
        self._nodes, self._names, self._left = nodes, names, SHOWN

    def text(self, node: int, binding: int) -> str:
        """Return a node, in brackets if its operation binds less strongly than ``binding``."""
        self._left -= 1
        if self._left < 0:
            return "..."
        op, *items = self._nodes[node]
        if op == "v":
            return str(self._names[items[0]])
        if op == "c":
            plain = str(items[0])
            return f"({plain})" if binding > 1 and ("/" in plain or plain.startswith("-")) else plain
        if op == "pi":
            return "pi"
        if op == "pow":
            return f"{self.text(items[0], 4)}^{items[1]}"
        if op == "neg":
            return self._bracketed(f"-{self.text(items[0], 2)}", binding > 1)
        if op in _SIGNS:
            sign, strength = _SIGNS[op]
            first = self.text(items[0], strength)
            second = self.text(items[1], strength + (op in "-/"))
            return self._bracketed(f"{first}{sign}{second}", binding > strength)
        return f"{op}({', '.join(self.text(item, 0) for item in items)})"

    @staticmethod
    def _bracketed(text: str, needed: bool) -> str:
        return f"({text})" if needed else text
