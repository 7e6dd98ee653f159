"""Follow functions of private texts, such as ``len(t)``, ``"error" in t`` and ``SCORES.get(t, 0)``.

A text is a record, or all records in a loop over columns. It can only be used in a function that returns a
number, which is one step on the column of texts. Methods that return a text are kept as a chain of changes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.kernel.values.texts import CASES, SHORTER, TRUTHS
from dpaudit.prover.values.matrices import index
from dpaudit.prover.values.operations import content, is_plain
from dpaudit.prover.values.reference import REFERENCE
from dpaudit.prover.values.run import Run, exact
from dpaudit.prover.values.samples import KINDS
from dpaudit.prover.values.values import Array, Private, Text, Texts, changed

__all__ = [
    "METHODS",
    "has_text",
    "text_compared",
    "text_length",
    "text_lookup",
    "text_method",
    "text_records",
]

#: Methods of private texts. A plain text has them too, when the program runs on plain data.
METHODS = ("count", *(name for name in TRUTHS if hasattr(str, name)), *CASES, "replace", *SHORTER)
#: How many arguments a method takes, if not none.
COUNTS = {
    "count": (1,), "replace": (2,), "removeprefix": (1,), "removesuffix": (1,), "startswith": (1,),
    "endswith": (1,), "strip": (0, 1), "lstrip": (0, 1), "rstrip": (0, 1),
}  # fmt: skip
#: Functions of the text in ``dpaudit.kernel.values.texts`` that are not methods of texts.
OPERATORS: dict[str, Callable[..., Any]] = {
    "len": len,
    "contains": lambda t, part: part in t,
    "within": lambda t, whole: t in whole,
    "equals": lambda t, other: t == other,
    "among": lambda t, *others: t in others,
}


def has_text(*values: Any) -> bool:
    """Return whether one of the values is a private text."""
    return any(isinstance(content(value), Text) for value in values)


def text_records(run: Run, column: Private) -> Any:
    """Return the list of texts. If its length is not a known number, it is a symbol."""
    count = column.shape[0]
    if not isinstance(count, int) or run.s.length_is_private:
        return Texts(column)
    return [Text(column, k) for k in range(count)]


def text_length(run: Run, text: Text) -> Any:
    """Follow ``len(t)``."""
    return _step(run, text, "len", [], len)


def text_compared(run: Run, op: ast.cmpop, left: Any, right: Any) -> Any:
    """Follow ``part in t``, ``t in texts`` and ``t == other``, with constants, and their negations."""
    x, y = content(left), content(right)
    negated = isinstance(op, ast.NotIn | ast.NotEq)
    if isinstance(op, ast.In | ast.NotIn):
        if type(x) is str and isinstance(y, Text):
            return _step(run, y, "contains", [x], lambda t: x in t, negated=negated)
        if isinstance(x, Text) and type(y) is str:
            return _step(run, x, "within", [y], lambda t: t in y, negated=negated)
        if isinstance(x, Text) and type(y) in (list, tuple, set, frozenset, dict) and is_plain(list(y)):
            # A text differs from all constants of other types.
            kept = sorted({item for item in y if type(item) is str})
            return _step(run, x, "among", kept, lambda t: t in y, negated=negated)
    if isinstance(op, ast.Eq | ast.NotEq):
        text, other = (x, y) if isinstance(x, Text) else (y, x)
        if isinstance(text, Text) and type(other) is str:
            return _step(run, text, "equals", [other], lambda t: t == other, negated=negated)
    return run.refuse(
        "a private text can only be compared by ==, != and in, with constant texts or a set of them"
    )


def text_lookup(run: Run, text: Text, table: dict[Any, Any], rest: Sequence[Any]) -> Any:
    """Follow ``table.get(t, default)`` for a table of constant numbers of one type."""
    values = [content(value) for value in table.values()]
    if len(rest) != 1:
        run.refuse("get() of a private text requires a default number, because the default None is no number")
    numbers = [content(rest[0]), *values]
    if not is_plain(numbers) or not all(type(one) in (bool, int, float) for one in numbers):
        run.refuse("a private text can only be looked up in a dict of constant Python numbers")
    if len({type(one) for one in numbers}) > 1 or not all(map(math.isfinite, numbers)):
        run.refuse(
            "the values and the default of a dict must be finite numbers of one type (0.0 instead of 0)"
        )
    kind = {bool: "b", int: "i", float: "f"}[type(numbers[0])]
    known = {key: value for key, value in table.items() if type(key) is str}
    written = [[key, str(exact(content(value)))] for key, value in known.items()]
    given = [kind, str(exact(numbers[0])), written]
    plain = {key: content(value) for key, value in table.items()}
    return _step(run, text, "lookup", given, lambda t: plain.get(t, numbers[0]))


def text_method(run: Run, text: Text, name: str, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
    """Follow a method of a text with constant arguments."""
    if name not in METHODS:
        run.refuse(f"the method {name!r} of a private text is not supported")
    plain = [content(one) for one in arguments]
    several = name in ("startswith", "endswith") and len(plain) == 1 and type(plain[0]) is tuple
    given = list(plain[0]) if several else plain
    counts = COUNTS.get(name, (0,))
    if options or len(plain) not in counts or not all(type(one) is str for one in given):
        run.refuse(f"the method {name!r} of a private text requires its usual, constant texts as arguments")
    if name in (*CASES, *SHORTER, "replace"):
        return Text(text.column, text.place, (*text.changes, (name, *given)))
    return _step(run, text, name, given, lambda t: getattr(t, name)(*plain))


def _step(
    run: Run, text: Text, name: str, given: list[Any], real: Callable[[str], Any], *, negated: bool = False
) -> Any:
    """Record a function of all texts, and return its value or its negation for this text."""
    params = {"function": name, "arguments": given, "changes": [list(one) for one in text.changes]}
    column = run.step("of_text", [text.column], params)
    if negated:
        column = run.step("not", [column])

    def value(one: str) -> Any:
        return not real(one) if negated else real(one)

    kind = column.info.kind
    if text.place is None:
        dtype: Any = KINDS[kind]
        return run.verify(Array(column), lambda ts: np.array([value(t) for t in ts], dtype=dtype), text)
    entry = content(index(run, Array(column), text.place))
    found = run.step("cast", [entry], {"kind": kind, "python": True})
    run.record.entries[found.node] = (column.node, text.place)
    return run.verify(found, value, text)


def _reference(params: dict[str, Any], column: Any) -> Any:
    """Compute a function of texts on sample data."""
    name, given = params["function"], params["arguments"]
    texts = [changed(text, params["changes"]) for text in column]
    if name == "lookup":
        kind, default, written = given
        number = float if kind == "f" else int
        table = {key: number(Fraction(value)) for key, value in written}
        return np.array([table.get(t, number(Fraction(default))) for t in texts], dtype=KINDS[kind])
    kind = "b" if name in TRUTHS else "i"
    if name in ("startswith", "endswith"):
        return np.array([getattr(text, name)(tuple(given)) for text in texts], dtype=KINDS[kind])
    function = OPERATORS.get(name) or getattr(str, name)
    return np.array([function(text, *given) for text in texts], dtype=KINDS[kind])


REFERENCE["of_text"] = _reference
