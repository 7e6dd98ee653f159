"""Derive bounds for columns of texts: private strings, and functions of each of them.

A text is never released and has no range. Its only use is in a function of one text, which returns a number
for each record. The range of that number follows from the name of the function and its constants alone.
Lengths and positions count code points, as Python does. The kernel never evaluates a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.info import Info, Setting, fit, need
from dpaudit.kernel.values.polynomials import Bound, Poly

__all__ = ["EXPANSION", "TEXTS", "text_column"]

#: Functions of a text that return a Boolean, with the number of their constants (None for any number).
TRUTHS = {
    "contains": 1, "within": 1, "equals": 1, "among": None, "startswith": None, "endswith": None,
    "isalnum": 0, "isalpha": 0, "isascii": 0, "isdecimal": 0, "isdigit": 0, "islower": 0, "isnumeric": 0,
    "isspace": 0, "istitle": 0, "isupper": 0,
}  # fmt: skip
#: A change of case maps a code point to at most three (Unicode Standard, section 5.18). A test tries all.
EXPANSION = 3
CASES = ("lower", "upper", "casefold", "title", "capitalize", "swapcase")
#: Changes that only remove code points.
SHORTER = ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix")


def text_column(s: Setting, p: dict[str, Any]) -> Info:
    """Bound a column of one text for each record, of at most ``high`` code points (None for any length).

    A text has no numbers, so no bound of the result is known. The null record of zero-out is the empty text.
    """
    count: int | Poly = Poly.symbol("N") if s.size is None or s.length_is_private else s.size
    need(tuple(p["shape"]) == (count,), "texts must have one entry for each record")
    need(p["low"] is None and p["ball"] is None, "texts have only a largest length")
    longest = None if p["high"] is None else Fraction(p["high"])
    whole = longest is None or (longest.denominator == 1 and 0 <= longest < 2**32)
    need(whole, "the largest length of a text must be an integer from 0 to 2^32 - 1")
    return Info(
        shape=(count,),
        kind="t",
        records=1,
        change1=None,
        change2=None,
        change=None,
        support=((0, s.size if isinstance(count, int) else None, 1),),
        aligned=(0, None, 1),
        facts={"longest": longest},
    )


def of_text(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a function of each text, after a chain of ``changes`` to the text.

    Proof. Row i of the result is a function of text i alone, so the result has the records of the column. On
    both sides it is in the range of the function (``_range``), whatever the texts are. ``fit`` derives the
    change and the norms from the range. Without an upper end nothing else is known.
    """
    [i] = infos
    need(
        i.kind == "t" and i.records == 1 and len(i.shape) == 1,
        "a function of texts requires a column of texts",
    )
    need(
        p.keys() == {"function", "arguments", "changes"},
        "a function of texts must have exactly its parameters",
    )
    kind, low, high = _range(p["function"], p["arguments"], _longest(i.facts["longest"], p["changes"]))
    found = replace(i, kind=kind, low=low, high=high, facts={})
    return fit(s, found)


def _range(name: Any, given: Any, longest: Fraction | None) -> tuple[str, Bound, Bound]:
    """Return the kind and the range of a function of texts of at most ``longest`` code points.

    A Boolean is 0 or 1. A length is at most ``longest``. ``count`` returns the number of occurrences that do
    not overlap. Each has the length of the constant, and the empty text occurs once more than there are code
    points. A lookup returns one of the listed numbers, or the default.
    """
    need(isinstance(name, str) and isinstance(given, list), "a function of texts must have a name and a list")
    if name == "lookup":
        return _lookup(given)
    need(all(isinstance(one, str) for one in given), "the arguments of a function of texts must be texts")
    if name in TRUTHS:
        need(TRUTHS[name] in (None, len(given)), f"{name} has a wrong number of arguments")
        return "b", Poly.of(0), Poly.of(1)
    if name == "len":
        need(not given, "len has no argument besides the text")
        return "i", Poly.of(0), None if longest is None else Poly.of(longest)
    need(name == "count" and len(given) == 1, "the function of a text has no rule")
    if longest is None:
        return "i", Poly.of(0), None
    return "i", Poly.of(0), Poly.of(longest // len(given[0]) if given[0] else longest + 1)


def _lookup(given: list[Any]) -> tuple[str, Bound, Bound]:
    """Return the kind and range of ``table.get(text, default)``.

    ``given`` is the kind, the default, and the table as a list of keys with their numbers.
    Python integers and floats that are equal could be told apart, so all numbers have one kind.
    """
    need(len(given) == 3, "a lookup must have a kind, a default and a table")
    kind, default, table = given
    need(kind in ("b", "i", "f") and isinstance(table, list), "a lookup must have the kind b, i or f")
    need(all(isinstance(key, str) for key, _ in table), "the keys of a lookup must be texts")
    numbers = [Fraction(number) for number in (default, *(number for _, number in table))]
    whole = all(number.denominator == 1 and abs(number) < 2**63 for number in numbers)
    need(kind == "f" or whole, "the numbers of a lookup must fit its kind")
    need(kind != "b" or all(number in (0, 1) for number in numbers), "the numbers must be 0 and 1")
    return kind, Poly.of(min(numbers)), Poly.of(max(numbers))


def _longest(longest: Fraction | None, changes: Any) -> Fraction | None:
    """Return a bound on the length of a text after a chain of changes.

    A change of case expands each code point to at most three. Removals do not lengthen a text. ``replace``
    replaces disjoint occurrences of a nonempty text. With an empty one, it inserts n + 1 copies between n
    code points.
    """
    need(isinstance(changes, list), "the changes of a text must be a list")
    for name, *given in changes:
        need(all(isinstance(one, str) for one in given), "the arguments of a change must be texts")
        if name in CASES:
            need(not given, f"{name} has no argument")
            longest = None if longest is None else longest * EXPANSION
        elif name == "replace":
            need(len(given) == 2, "replace has two arguments")
            old, new = given
            if longest is not None:
                longest = longest * max(1, len(new)) if old else longest + (longest + 1) * len(new)
        else:
            need(name in SHORTER and len(given) <= 1, "the change of a text has no rule")
    return longest


TEXTS = {"of_text": of_text}
