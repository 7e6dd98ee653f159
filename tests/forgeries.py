"""One generator of forged certificates: each part of a valid one, changed in every way of a fixed list.

A forgery of the form (another type, no number, an entry too many or too few) is no certificate, and must be
refused. A forgery of a number, or of the order, may be the certificate of another program, for which another
bound is derived: the caller says which parts describe the program, and what may come of the others.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["NO_NUMBER", "Forgery", "Path", "accepted", "at", "forgeries", "places", "put", "same"]

Path = tuple[Any, ...]

#: An exact number as certificates write it.
EXACT = re.compile(r"-?\d+(/\d+)?")
#: Values that are no number, no choice and no text of any certificate.
NO_VALUE: tuple[Any, ...] = (True, False, None, 1.5, float("nan"), [], {}, [[]], {"note": "1"}, "\u200b")
#: Texts that look like numbers.
NO_NUMBER = (
    "nan",
    "inf",
    "-inf",
    "1e99999999",
    "1/0",
    "0x1",
    "1_0",
    "\u0661",
    "2 * 3",
    "perfect secrecy",
    "",
)


@dataclass(frozen=True)
class Forgery:
    """What was changed, how (``kind``: "form", "number" or "order"), and the forged certificate."""

    path: Path
    how: str
    kind: str
    certificate: Any

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.how}"


def places(value: Any, path: Path = (), *, first: int | None = None) -> Iterator[Path]:
    """The places of all parts but the whole; of lists only the ``first`` entries."""
    if path:
        yield path
    inner: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inner = enumerate(value[:first])
    for step, part in inner:
        yield from places(part, (*path, step), first=first)


def at(tree: Any, path: Path) -> Any:
    """The part at a place."""
    for step in path:
        tree = tree[step]
    return tree


def put(tree: Any, path: Path, value: Any) -> Any:
    """A copy with another value at a place."""
    edited = copy.copy(tree)
    edited[path[0]] = put(tree[path[0]], path[1:], value) if path[1:] else value
    return edited


def same(value: Any, other: Any) -> bool:
    """Whether two values are one in JSON: true is no 1."""
    return type(value) is type(other) and value == other


def _numbers(value: Any) -> Iterator[tuple[str, Any]]:
    """Other numbers, written as this one is."""
    write: Callable[[Fraction], Any] = str if isinstance(value, str) else int
    number = Fraction(value)
    others = {
        "up": number + 1,
        "down": number - 1,
        "sign": -number,
        "zero": Fraction(0),
        "huge": Fraction(10**9),
    }
    if isinstance(value, str):
        others |= {"half": number / 2, "double": number * 2, "tiny": Fraction(1, 10**9)}
    yield from ((how, write(other)) for how, other in others.items() if other != number)


def _of_a_list(value: list[Any]) -> Iterator[tuple[str, str, Any]]:
    for k in range(len(value)):
        yield "form", f"without entry {k}", [*value[:k], *value[k + 1 :]]
        yield "form", f"entry {k} twice", [*value[: k + 1], *value[k:]]
    for k in range(len(value) - 1):
        swapped = [*value[:k], value[k + 1], value[k], *value[k + 2 :]]
        if swapped != value:
            yield "order", f"entries {k} and {k + 1} swapped", swapped


def _of(value: Any) -> Iterator[tuple[str, str, Any]]:
    """The kind, the name and the value of each change of one part."""
    yield from (("form", f"is {junk!r}", junk) for junk in NO_VALUE if not same(junk, value))
    if isinstance(value, dict):
        yield from (
            ("form", f"without {name!r}", {k: v for k, v in value.items() if k != name}) for name in value
        )
        yield "form", "an entry more", {**value, "discount": "1/2"}
    elif isinstance(value, list):
        yield from _of_a_list(value)
        yield "form", "a text more", [*value, "perfect secrecy"]
    elif isinstance(value, str) and EXACT.fullmatch(value):
        yield from (
            ("form", f"is {junk!r}", junk) for junk in (*NO_NUMBER, int(Fraction(value)), value + "\u200b")
        )
        yield from (("number", how, other) for how, other in _numbers(value))
    elif isinstance(value, str):
        yield from (("form", f"is {junk!r}", junk) for junk in ("", value + "\u200b", value + "x", 1))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from (("form", f"is {junk!r}", junk) for junk in (str(value), float(value)))
        yield from (("number", how, other) for how, other in _numbers(value))
    elif isinstance(value, bool):
        yield "form", "is a number", int(value)
        yield "number", "the other", not value


def forgeries(certificate: Any, within: Path = ()) -> Iterator[Forgery]:
    """Every change of every part of a certificate below ``within``."""
    for path in places(at(certificate, within), ()):
        whole = (*within, *path)
        for kind, how, value in _of(at(certificate, whole)):
            yield Forgery(whole, how, kind, put(certificate, whole, value))


def accepted(
    certificate: Any, check: Callable[[Any], Any], refusal: type[Exception], within: Path = ()
) -> Iterator[tuple[Forgery, Any]]:
    """The forgeries that are not refused, with what is derived from them. Whatever else a checker raises
    fails the test."""
    for forgery in forgeries(certificate, within):
        try:
            yield forgery, check(forgery.certificate)
        except refusal:
            continue
