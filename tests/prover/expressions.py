"""Evaluate random statements on symbols and on the numbers that the symbols represent.

A ``Valued`` follower answers every comparison as these numbers do. One evaluation on symbols is therefore one
path of a proof, and its result must equal the result on numbers.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import CodeType
from typing import Any, NoReturn

from dpaudit.prover.forms import Form, symbol
from dpaudit.prover.symbols import Private, Public, RefusedError

__all__ = ["Difference", "differences", "statements"]

#: The values of the names: two private values and an outcome, as integers, floats or fractions.
VALUES: tuple[dict[str, Any], ...] = (
    {"x": 3, "y": -2, "o": 5},
    {"x": 0.5, "y": 0.5, "o": -1.0},
    {"x": Fraction(-7, 2), "y": Fraction(0), "o": Fraction(3, 4)},
)

SYMBOLS = ("x", "y", "o")
PLAIN = (
    *("0", "1", "2", "3", "-1", "0.5", "True", "False", "None", "math.inf", "Fraction(1, 4)", "math.pi"),
    *("'abc'", "''", "'%s'", "'%d'", "'%(k)s'", "'%*d'", "b'abc'", "b''", "b'%d'"),
    *("[]", "[1, 2, 3]", "()", "(1, 2)", "{}", "{'k': 1}", "range(3)", "same", "larger"),
)
BINARY = ("+", "-", "*", "/", "//", "%", "@", "&", "|", "^")
COMPARED = ("<", "<=", ">", ">=", "==", "!=", "in", "not in", "is None and", "and", "or")
POWERS = ("**", "<<", ">>")
CALLS = (
    *(
        "abs",
        "all",
        "any",
        "bool",
        "float",
        "int",
        "len",
        "list",
        "max",
        "min",
        "reversed",
        "round",
        "sorted",
    ),
    *("str", "sum", "tuple", "enumerate", "zip", "range", "Fraction", "math.floor", "math.ceil", "math.sqrt"),
    *("math.log", "math.exp", "same", "larger"),
)
#: Statements in which {a}, {b} and {c} are expressions and {s} is a symbol.
FORMS = (
    *("r = {a}", "r = ({a}, {b})", "r = {a} if {b} else {c}", "r = not {a}", "r = {a} < {b} < {c}"),
    *(
        "r = {c}\nr += {s}",
        "r = {c}\nr -= {s}",
        "r = {c}\nr *= {s}",
        "r = {c}\nr /= {s}",
        "r = {c}\nr %= {s}",
    ),
    *("r = {c}\nr //= {s}", "r = {c}\nr |= {s}", "r = {c}\nr &= {s}", "r = {c}\nr @= {s}"),
    *(
        "r = {s}\nr += {a}",
        "r = {s}\nr -= {a}",
        "r = {s}\nr *= {a}",
        "r = {s}\nr /= {a}",
        "r = {s}\nr %= {a}",
    ),
    *("r = {a}[{b}]", "r = {a}[{b}:]", "r = {a}[:{b}:{c}]", "r = {s}[{a}]", "r = [1, 2, 3][{s}:{a}]"),
    *(
        "r = [1, 2]\nr[{s}] = {a}",
        "r = [1, 2]\nr[0:1] = {a}",
        "r = [1, 2]\ndel r[{a}]",
        "r = {s}\nr[0] = {a}",
    ),
    *("p, q = {a}\nr = (p, q)", "p, *q = {a}\nr = (p, q)", "(p, q), z = {a}, {b}\nr = (p, q, z)"),
    *("r = [*{a}]", "r = (*{a}, {b})", "r = {{**{a}}}", "r = larger(*{a})", "r = same(**{a})"),
    *('r = f"{{({a})}}"', 'r = f"{{({a})!r}}"', 'r = f"{{({a}):>8}}"', 'r = f"{{1:{{{s}}}}}"'),
    *("r = 'abc' % {a}", "r = '%s' % {a}", "r = '%d' % {s}", "r = '%s%s' % ({a}, {b})", "r = b'abc' % {a}"),
    *("r = ''\nr %= {s}", "r = '%.2f' % {a}", "r = '%c' % {s}", "r = '%(k)s' % {a}"),
    *("r = [v for v in {a}]", "r = [v + {s} for v in {a}]", "r = [v for v in {a} if v < {s}]"),
    *("r = list(map({a}, {b}))", "r = list(filter({a}, {b}))", "r = list(zip({a}, {b}))"),
    *("r = sum({a}, {b})", "r = sum([{a}, {b}])", "r = max({a}, {b})", "r = min({a}, {b})", "r = max([{a}])"),
    *("r = sorted([{a}, {b}])", "r = sorted([{a}, {s}], key={b})", "r = sorted([], key={a}, reverse={b})"),
    *("r = min([{s}], key={a})", "r = max([], default={a})", "r = list(enumerate({a}, {b}))"),
    *("r = pow({s}, {a})", "r = pow({s}, 2, {a})", "r = pow(2, {s}, 3)", "r = round({a}, {s})"),
    *("r = int({a}, {s})", "r = str({a}, {s})", "r = range({a}, {s})", "r = [1, 2]\nr.insert({a}, {b})"),
    *(
        "r = [1, 2]\nr.extend({a})",
        "r = [{a}]\nr.append({b})",
        "r = [{a}, {b}]\nr.sort()",
        "r = [1, 2].pop({a})",
    ),
    *("r = {{}}.pop({a}, {b})", "r = {{'k': 1}}.pop({a}, {b})", "r = {{{a}: {b}}}", "r = {{'k': {a}}}['k']"),
    *("r = [{a}] == [{b}]", "r = ({a},) < ({b},)", "r = [{a}, 1] == [{s}]", "r = {a} in [{b}, {s}]"),
    *(
        "r = abs({s})",
        "r = {a}()",
        "r = {s}({a})",
        "r = {a} is None",
        "r = {a} is not None",
        "r = (lambda v=1: v)({a})",
    ),
    *("r = 0\nfor v in {a}:\n    r += v", "r = 0\nwhile r < 3 and {a}:\n    r += 1", "assert {a}\nr = 1"),
    *("r = 0\nmatch {a}:\n    case 1:\n        r = 1\n    case 'abc' | None:\n        r = 2",),
    *("r = (lambda: (yield {a}))()\nr = list(r)", "r = all([{a}, {b}])", "r = any([{a}, {b}])"),
)


def same(value: Any) -> Any:
    """Return the value unchanged. The programs call this function."""
    return value


def larger(one: Any, other: Any) -> Any:
    """Return the larger value by a comparison."""
    return one if one > other else other


def expression(rng: random.Random, depth: int) -> str:
    """Return a random expression.

    Powers and shifts have only leaves as operands, because results can be huge.
    """
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(SYMBOLS if rng.random() < 0.6 else PLAIN)
    one, other = expression(rng, depth - 1), expression(rng, depth - 1)
    kind = rng.randrange(8)
    if kind < 3:
        return f"({one} {rng.choice(BINARY)} {other})"
    if kind == 3:
        return f"({one} {rng.choice(COMPARED)} {other})"
    if kind == 4:
        return f"{rng.choice(CALLS)}({one})"
    if kind == 5:
        return f"({rng.choice('+-~')}{one})"
    if kind == 6:
        return f"({rng.choice(SYMBOLS)} {rng.choice(POWERS)} {rng.choice(PLAIN[:8])})"
    return rng.choice((f"[{one}, {other}]", f"({one}, {other})", f"[{one}]", f"larger({one}, {other})"))


def statements(count: int, seed: int) -> Iterator[str]:
    """Yield ``count`` random pieces of code that leave their result in ``r``."""
    rng = random.Random(seed)
    for _ in range(count):
        parts = {name: expression(rng, rng.randrange(3)) for name in "abc"}
        yield rng.choice(FORMS).format(s=rng.choice(SYMBOLS), **parts)


class Valued:
    """A follower that answers questions about symbols by the numbers they represent."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = {name: Fraction(value) for name, value in values.items()}
        self.refused: str | None = None

    def of_form(self, form: Form) -> Fraction:
        terms = (factor * self.values[name] for name, factor in form.terms.items())
        return sum(terms, Fraction(form.constant))

    def below(self, form: Form, *, strict: bool) -> bool:
        value = self.of_form(form)
        return value < 0 if strict else value <= 0

    def fork(self, key: str, answers: int, /) -> int:
        assert answers == 2
        return int(_Key(key, self.values).compared())

    def place_of(self, code: CodeType) -> int:
        return 0

    def refuse(self, what: str) -> NoReturn:
        self.refused = self.refused or what
        raise RefusedError(what)

    def public_divisor(self, what: str) -> None:
        self.refuse(what)

    def public_form(self, key: str, what: str) -> Form:
        name = f"public {key}"
        self.values[name] = _Key(key, self.values).value()
        return symbol(name)


class _Key:
    """The value of a public value's key, read from left to right."""

    def __init__(self, key: str, values: dict[str, Fraction]) -> None:
        self.parts = re.findall(r"\w+:[^\s()|]+|<=|>=|==|!=|[-+*/<>()|]|\w+", key)
        self.values = values

    def compared(self) -> bool:
        one, sign, other = self.value(), self.parts.pop(0), self.value()
        assert not self.parts
        signs: dict[str, Callable[[Any, Any], bool]] = {
            "<": lambda a, b: a < b,
            "<=": lambda a, b: a <= b,
            ">": lambda a, b: a > b,
            ">=": lambda a, b: a >= b,
            "==": lambda a, b: a == b,
            "!=": lambda a, b: a != b,
        }
        return signs[sign](one, other)

    def value(self) -> Any:
        first = self.parts.pop(0)
        if first == "|":
            inner = abs(self.value())
            assert self.parts.pop(0) == "|"
            return inner
        if first == "(" and self.parts[0] == "-":
            self.parts.pop(0)
            inner = -self.value()
            assert self.parts.pop(0) == ")"
            return inner
        if first == "(":
            one, sign, other = self.value(), self.parts.pop(0), self.value()
            assert self.parts.pop(0) == ")"
            return {
                "+": lambda: one + other,
                "-": lambda: one - other,
                "*": lambda: one * other,
                "/": lambda: one / other,
            }[sign]()
        if ":" not in first:
            return self.values[first]
        kind, text = first.split(":")
        if kind == "float":
            number = float.fromhex(text)
            return number if math.isinf(number) else Fraction(number)
        return Fraction(int(text == "True")) if kind == "bool" else Fraction(text)


@dataclass(frozen=True)
class Difference:
    """A statement that symbols accept, and that numbers reject or evaluate to another result."""

    statement: str
    on_symbols: Any
    on_numbers: Any


def _equal(found: Any, number: Any, follower: Valued) -> bool:
    """Return whether the result on symbols, at their numbers, is the result on numbers."""
    if type(found) is Private:
        return _is_near(follower.of_form(Private.form_of(found)), number)
    if type(found) is Public:
        return _is_near(_Key(Public.key_of(found), follower.values).value(), number)
    if type(found) is not type(number):
        return False
    if type(found) in (list, tuple):
        return len(found) == len(number) and all(map(_equal, found, number, [follower] * len(found)))
    if type(found) is dict:
        both = zip(found.items(), number.items(), strict=False)
        return len(found) == len(number) and all(a == b and _equal(v, w, follower) for (a, v), (b, w) in both)
    if type(found) in (enumerate, zip, reversed) or hasattr(type(found), "__next__"):
        return True  # not consumed; other statements consume it
    if type(found) is str:
        return _without_addresses(found) == _without_addresses(number)
    return bool(found == number) or (found != found and number != number)


def _is_near(exact: Fraction, number: Any) -> bool:
    """Return whether two numbers are equal up to the rounding of floats, which a proof does not follow."""
    if type(number) is float:
        return math.isclose(exact, number, rel_tol=1e-9, abs_tol=1e-9)
    return type(number) in (int, bool, Fraction) and exact == number


def _without_addresses(text: str) -> str:
    return re.sub("0x[0-9a-f]+", "0x", text)


def _run(code: CodeType, names: dict[str, Any]) -> Any:
    scope = {**names, "same": same, "larger": larger, "math": math, "Fraction": Fraction}
    exec(code, scope)
    return scope["r"]


def differences(pieces: Iterator[str], *, enough: int = 100) -> tuple[int, int, list[Difference]]:
    """Return the number of statements run, the number with a symbol that were accepted, and the differences.

    The search ends after ``enough`` differences.
    """
    count = accepted = 0
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as: 'int' object is not callable
        for piece in pieces:
            values = VALUES[count % len(VALUES)]
            count += 1
            code = compile(piece, "statement", "exec")
            follower = Valued(values)
            private = {name: Private(symbol(name), follower) for name in ("x", "y")}
            try:
                result = _run(code, {**private, "o": Public("o", follower)})
            except Exception:  # any exception is inconclusive
                continue
            if follower.refused is not None:
                continue
            accepted += re.search(r"\b[xyo]\b", piece) is not None
            try:
                number = _run(code, values)
                equal = _equal(result, number, follower)
            except Exception as error:
                number, equal = error, False
            if not equal:
                found.append(Difference(piece, type(result), number))
                if len(found) == enough:
                    break
    return count, accepted, found
