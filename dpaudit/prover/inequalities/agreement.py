"""Compare a traced function with itself, called on numbers.

At points of a grid and at random points of the range, the sides of the function must lie in the enclosures of
the traced expressions. This finds a stand-in that differs from the function it stands for.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpaudit.certify.ranges import Range
from dpaudit.kernel.ball import arb, ball, precision
from dpaudit.kernel.inequalities.domain import Integers, Reals, real_range
from dpaudit.kernel.inequalities.evaluate import nonnegative_nodes, values
from dpaudit.kernel.inequalities.interval import Interval
from dpaudit.prover.inequalities.symbols import Decision, NotTraceableError
from dpaudit.prover.inequalities.trace import Path, Traced

__all__ = ["called_sides", "first_difference", "is_false"]

#: Random points of each combination of single values, and the largest number of combinations examined.
POINTS, COMBINATIONS = 16, 40
BITS = 128
SEED = 20_000


def first_difference(
    function: Callable[..., Any],
    over: Range,
    traced: Sequence[Traced],
    *,
    fixed: Mapping[str, Any],
    grid: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return where a side of the function is not in the enclosure of its expression, or "".

    Raises ``NotTraceableError`` if the function can be called at no point of a combination of single values
    that was examined, or raises where its expression has a value.
    """
    rng = random.Random(SEED)
    inside = [point for point in grid if over.holds(point)]
    shown = traced if len(traced) <= COMBINATIONS else rng.sample(list(traced), COMBINATIONS)
    for one in traced:
        found, _ = _compared(function, one, _of_grid(one, inside), fixed)
        if found:
            return found
    for one in shown:
        found, called = _compared(function, one, _random_points(over, one, rng), fixed)
        if found:
            return found
        if not called and not any(_of_grid(one, inside)):
            raise NotTraceableError(
                f"the function must accept a point of the range, but refused all with {dict(one.values)}."
            )
    return ""


def _compared(
    function: Callable[..., Any],
    one: Traced,
    points: Iterator[dict[str, Any]],
    fixed: Mapping[str, Any],
) -> tuple[str, int]:
    """Return the first difference at some points, and the number of points that decided something."""
    called = 0
    for point in points:
        path, value = _path_at(one, point)
        if path is None:
            called += 1  # outside the conditions, or at their border
            continue
        try:
            own = called_sides(function, {**point, **fixed})
        except TypeError:  # whole numbers are wanted
            continue
        except Exception as error:
            if path.raises:
                called += 1
                continue
            text = f"at {_shown(point)} the function raises {type(error).__name__}: {str(error)[:120]}"
            raise NotTraceableError(text) from error
        if any(isinstance(side, float) for pair in own.values() for side in pair):
            continue  # a power of fractions, for example: the row accepts no float
        called += 1
        if path.raises or not _agree(path, value, own):
            return f"the function and its expression differ at {_shown(point)}", called
    return "", called


def _path_at(one: Traced, point: Mapping[str, Any]) -> tuple[Path | None, Mapping[int, Interval]]:
    """Return the path that is certainly taken at a point, and the enclosures of all nodes there."""
    table = one.table
    box = [(Fraction(point[name]), Fraction(point[name])) for name in one.real]
    with precision(BITS):
        value = values(table, box, nonnegative_nodes(table, box), range(len(table.nodes)))
        if not all(_certain(each, value) for each in one.given):
            return None, value
        for path in one.paths:
            if all(_certain(each, value) for each in path.conditions):
                return path, value
    return None, value


def _certain(condition: Decision, value: Mapping[int, Interval]) -> bool:
    smaller, larger, strict, wanted = condition
    x, y = value[smaller], value[larger]
    if wanted:
        return x < y if strict else x <= y
    return y <= x if strict else y < x


def called_sides(function: Callable[..., Any], point: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the sides of a function at exact numbers, by name.

    Fractions that are whole are tried as integers if the function raises ``TypeError``, because balls cannot
    be combined with a ``Fraction``.
    """
    with precision(BITS):
        try:
            found = function(**point)
        except TypeError:
            found = function(**{name: _whole(value) for name, value in point.items()})
    named = found if isinstance(found, Mapping) else {"": found}
    return {str(name): pair for name, pair in named.items() if isinstance(pair, tuple)}


def _whole(value: Any) -> Any:
    return int(value) if type(value) is Fraction and value.denominator == 1 else value


def _agree(path: Path, value: Mapping[int, Interval], own: Mapping[str, tuple[Any, Any]]) -> bool:
    """Return whether each side of the function meets the enclosure of its expression.

    A chain of terms is traced as links, of which only the first left and the last right side are returned.
    """
    if list(own) == list(path.sides):
        pairs = list(zip(path.sides.values(), own.values(), strict=True))
    else:
        links = list(path.sides.values())
        length = len(links) // len(own) if own else 0
        if not length or len(links) % len(own):
            return False
        ends = [(links[k][0], links[k + length - 1][1]) for k in range(0, len(links), length)]
        pairs = list(zip(ends, own.values(), strict=True))
    return all(
        _meet(value[node], side) for both in pairs for node, side in zip(both[0], both[1], strict=True)
    )


def _meet(enclosure: Interval, side: Any) -> bool:
    """Return whether an enclosure and a side of the function have a number in common.

    If one of them has no finite value, nothing can be compared: the kernel proves nothing there.
    """
    if not isinstance(side, arb | int | Fraction):
        return False
    with precision(BITS):
        own = Interval.around(side if isinstance(side, arb) else ball(Fraction(side)))
    if not enclosure.finite:
        return True
    return own.finite and not own < enclosure and not enclosure < own


def _of_grid(one: Traced, grid: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the points of a grid that belong to a combination of single values."""
    for point in grid:
        if all(
            type(point[name]) is type(value) and point[name] == value for name, value in one.single.items()
        ):
            yield dict(point)


def _random_points(over: Range, one: Traced, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield random points. Every second one has whole numbers where the range has some."""
    for number in range(POINTS if one.real else 1):
        point = dict(one.single)
        for name in one.real:
            axis = over.axes[name]
            span = real_range(axis)
            value = _random(span, rng)
            whole = Fraction(math.ceil(value))
            if isinstance(axis, Integers):
                point[name] = int(whole)
            else:
                point[name] = whole if number % 2 and over._holds(name, whole) else value
        yield point


def _random(span: Reals, rng: random.Random) -> Fraction:
    """Return an exact number inside, of any order of magnitude if the range has no end."""
    share = Fraction(rng.randrange(1, 1000), 1000)
    far = Fraction(2) ** rng.randrange(-6, 12) * share
    if span.lo is not None and span.hi is not None:
        return span.lo + (span.hi - span.lo) * share
    if span.lo is not None:
        return span.lo + far
    if span.hi is not None:
        return span.hi - far
    return far if rng.random() < 0.5 else -far


def _shown(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in point.items()) or "no parameters"


def is_false(function: Callable[..., Any], point: Mapping[str, Any]) -> bool:
    """Return whether an inequality of the function is certainly false at a point, by its own code."""
    try:
        own = called_sides(function, point)
    except Exception:
        return False
    with precision(BITS):
        return any(bool(_ball(left) > _ball(right)) for left, right in own.values())


def _ball(side: Any) -> arb:
    return side if isinstance(side, arb) else ball(Fraction(side))
