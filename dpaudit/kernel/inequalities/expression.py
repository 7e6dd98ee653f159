"""A table of nodes: the two sides of an inequality, and the conditions of a path, as expressions.

A node is ``(op, *arguments)``. Arguments are earlier nodes, by number. Equal nodes are one node. ``("v", k)``
is the parameter or variable k, ``("c", q)`` an exact number, ``("pow", i, n)`` a power with an integer n.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from dpaudit.kernel.kernel_t0 import CertificateError

__all__ = ["BINARY", "LEAVES", "UNARY", "Node", "Table", "Term", "read_number"]

Node = tuple[Any, ...]

LEAVES = ("v", "c", "pi")
BINARY = ("+", "-", "*", "/", "min", "max")
UNARY = (
    "neg", "abs", "exp", "log", "sqrt", "cosh", "sinh", "tanh", "atanh", "erfc", "ceil", "floor",
)  # fmt: skip

#: Limits on evidence that somebody else wrote.
MOST_NODES = 100_000
MOST_DIGITS = 4300
LARGEST_POWER = 10_000

_NUMBER = re.compile(r"-?[0-9]+(/[1-9][0-9]*)?")


class Table:
    """Nodes, each in terms of earlier ones."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}

    def node(self, *node: Any) -> int:
        """Return the number of a node, added if it is new."""
        found = self._index.get(node)
        if found is None:
            found = self._index[node] = len(self.nodes)
            self.nodes.append(node)
        return found

    def term(self, *node: Any) -> Term:
        """Return the same as something to compute with."""
        return Term(self, self.node(*node))

    def number(self, value: Fraction | int) -> Term:
        """Return an exact constant."""
        return self.term("c", Fraction(value))

    def cone(self, outs: Iterable[int]) -> list[int]:
        """Return the numbers of all nodes that ``outs`` need, in order."""
        need: set[int] = set()
        todo = list(outs)
        while todo:
            i = todo.pop()
            if i not in need:
                need.add(i)
                todo.extend(self.arguments(i))
        return sorted(need)

    def arguments(self, i: int) -> Sequence[int]:
        """Return the nodes that node ``i`` is made of."""
        op, *rest = self.nodes[i]
        return () if op in LEAVES else rest[:1] if op == "pow" else rest

    def with_variables(self, outs: Sequence[int], variables: Sequence[Callable[[Table], int]]) -> Any:
        """Return another table, in which variable k is ``variables[k]``, and where ``outs`` are there."""
        made = Table()
        where: dict[int, int] = {}
        for i in self.cone(outs):
            op, *rest = self.nodes[i]
            if op == "v":
                where[i] = variables[rest[0]](made)
            elif op in LEAVES:
                where[i] = made.node(op, *rest)
            elif op == "pow":
                where[i] = made.node(op, where[rest[0]], rest[1])
            else:
                where[i] = made.node(op, *(where[j] for j in rest))
        return made, [where[i] for i in outs]

    def to_json(self) -> list[list[Any]]:
        """Return the nodes as JSON: constants as text."""
        return [["c", str(node[1])] if node[0] == "c" else list(node) for node in self.nodes]

    @classmethod
    def read(cls, data: Any, *, n_variables: int) -> tuple[Table, list[int]]:
        """Return the table in ``data``, and the node of each entry.

        Raises ``CertificateError`` for anything that is not a table of nodes within the limits.
        """
        if not isinstance(data, list) or len(data) > MOST_NODES:
            raise CertificateError(f"nodes must be a list of at most {MOST_NODES} nodes.")
        table = cls()
        where: list[int] = []
        for entry in data:
            where.append(table.node(*_node(entry, where, n_variables)))
        return table, where


def _node(entry: Any, where: Sequence[int], n_variables: int) -> Node:
    if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
        raise CertificateError(
            f"a node must be a list that begins with its operation, got {str(entry)[:80]}."
        )
    op, *rest = entry
    if op == "pi" and not rest:
        return ("pi",)
    if op == "c" and len(rest) == 1:
        return ("c", read_number(rest[0]))
    if op == "v" and len(rest) == 1:
        return ("v", _whole(rest[0], 0, n_variables - 1))
    last = len(where) - 1
    if op == "pow" and len(rest) == 2:
        return ("pow", where[_whole(rest[0], 0, last)], _whole(rest[1], -LARGEST_POWER, LARGEST_POWER))
    if len(rest) == (2 if op in BINARY else 1) and op in BINARY + UNARY:
        return (op, *(where[_whole(j, 0, last)] for j in rest))
    raise CertificateError(f"{op!r} with {len(rest)} arguments is no node.")


def _whole(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise CertificateError(f"a node's argument must be an integer from {least} to {most}, got {value!r}.")
    return value


def read_number(text: Any) -> Fraction:
    """Return the exact number in a text such as ``-3/4``. Raises ``CertificateError`` for other things."""
    if type(text) is not str or len(text) > MOST_DIGITS:
        raise CertificateError(f"a number must be a text of at most {MOST_DIGITS} characters.")
    if not _NUMBER.fullmatch(text):
        raise CertificateError(f"{text[:40]!r} is no exact number.")
    number = Fraction(text)
    if str(number) != text:
        raise CertificateError(f"{text[:40]!r} must be written as {str(number)[:40]}.")
    return number


class Term:
    """A node to compute with: ``a + b`` adds a node to the table."""

    __slots__ = ("i", "table")
    __hash__ = None  # type: ignore[assignment]  # == of nodes is the table's, not Python's

    def __init__(self, table: Table, i: int) -> None:
        self.table, self.i = table, i

    @property
    def node(self) -> Node:
        return self.table.nodes[self.i]

    def _with(self, op: str, *others: Any) -> Term:
        return self.table.term(op, self.i, *(self._lift(other).i for other in others))

    def _lift(self, other: Any) -> Term:
        return other if isinstance(other, Term) else self.table.number(other)

    def __add__(self, other: Any) -> Term:
        return self._with("+", other)

    def __radd__(self, other: Any) -> Term:
        return self._lift(other) + self

    def __sub__(self, other: Any) -> Term:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Term:
        return self._lift(other) - self

    def __mul__(self, other: Any) -> Term:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> Term:
        return self._lift(other) * self

    def __truediv__(self, other: Any) -> Term:
        return self._with("/", other)

    def __rtruediv__(self, other: Any) -> Term:
        return self._lift(other) / self

    def __neg__(self) -> Term:
        return self._with("neg")

    def __abs__(self) -> Term:
        return self._with("abs")

    def __pow__(self, power: int) -> Term:
        return self.table.term("pow", self.i, power)

    def exp(self) -> Term:
        return self._with("exp")

    def log(self) -> Term:
        return self._with("log")

    def sqrt(self) -> Term:
        return self._with("sqrt")

    def sinh(self) -> Term:
        return self._with("sinh")

    def cosh(self) -> Term:
        return self._with("cosh")
