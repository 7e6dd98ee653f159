"""Compute every step with numpy on real neighbouring data, and compare the values with the step's rule.

A difference between numpy's values and the derived shape, type, range or change ends the proof. It is a bug
of dpaudit, not of the program.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.core.errors import BrokenHarnessError
from dpaudit.kernel.values.info import Info, Setting
from dpaudit.kernel.values.polynomials import Bound, Poly
from dpaudit.prover.values.values import MISSING

__all__ = ["Worlds", "apply", "quiet", "same"]

TOLERANCE = 1e-6
#: Scalar types, which are compared without building an array.
NUMBERS = {float: "f", np.float64: "f", np.int64: "i", bool: "b", np.bool_: "b"}
KINDS = {"b": np.bool_, "i": np.int64, "f": np.float64}


def apply(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the function's value, or MISSING if an argument is missing or the call raises.

    The forced outcomes of a path need not be possible on the sample data.
    """
    if any(argument is MISSING for argument in arguments):
        return MISSING
    try:
        return function(*arguments)
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return MISSING


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence numpy warnings, because impossible paths may divide by 0 on the sample data."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def same(left: Any, right: Any) -> bool:
    """Return whether two values agree in shape and type, and in numbers up to rounding."""
    if left is MISSING or right is MISSING:
        return True
    left, right = (float(one) if type(one) is Fraction else one for one in (left, right))  # ``dyadic_rule``
    kinds = NUMBERS.get(type(left)), NUMBERS.get(type(right))
    if None not in kinds:
        x, y = float(left), float(right)
        return kinds[0] == kinds[1] and (
            x == y
            or (math.isfinite(y) and abs(x - y) <= 1e-9 + 1e-7 * abs(y))
            or (math.isnan(x) and math.isnan(y))
        )
    a, b = np.asarray(left), np.asarray(right)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.allclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True))


class Worlds:
    """Pairs of neighbouring sample data. Side 2 w is x of world w, side 2 w + 1 is x'."""

    def __init__(self, s: Setting, sizes: Sequence[int]) -> None:
        self.s = s
        self.sizes = list(sizes)  # the number of records on each side
        self._floats: dict[tuple[Poly, int], float | None] = {}

    @property
    def sides(self) -> range:
        """Return the numbers of all sides."""
        return range(len(self.sizes))

    def constant(self, value: Any) -> list[Any]:
        """Return a value that is equal on all sides."""
        return [value] * len(self.sizes)

    def at(self, bound: Bound, side: int) -> float | None:
        """Return a bound as a float, or None if it has a symbol other than N."""
        if bound is None:
            return None
        if bound.number is not None:
            return float(bound.number)
        key = (bound, self.sizes[side])
        if key not in self._floats:
            known = all(name == "N" for name in bound.symbols)
            self._floats[key] = float(bound.at({"N": Fraction(self.sizes[side])})) if known else None
        return self._floats[key]

    def shape(self, shape: Sequence[Any], side: int) -> tuple[int, ...]:
        """Return a shape with the number of records on one side."""
        return tuple(n if isinstance(n, int) else int(n.at({"N": Fraction(self.sizes[side])})) for n in shape)

    def end(self, end: Sequence[int] | None, side: int) -> int | None:
        """Return the end (a, b, c) of a slice, the largest integer at most (a N + b) / c, on one side."""
        return None if end is None else (end[0] * self.sizes[side] + end[1]) // end[2]

    def check(self, op: str, info: Info, samples: Sequence[Any]) -> None:
        """Compare the sample values of one step with its derived info.

        Raises
        ------
        BrokenHarnessError
            A shape, type, range, norm or change contradicts the rule of the step.
        """
        if info.kind == "t":
            self._check_texts(op, info, samples)
            return
        if info.shape == () and not info.records and all(type(one) in NUMBERS for one in samples):
            self._check_numbers(op, info, samples)
            return
        for side in self.sides[:1] if op == "const" else self.sides:  # a constant is equal on all sides
            self._check_side(op, info, samples[side], side)
        for side in range(0, len(self.sizes), 2):
            self._check_pair(op, info, samples[side], samples[side + 1], side)

    def _check_texts(self, op: str, info: Info, samples: Sequence[Any]) -> None:
        """Check the number, type and length of texts, and the number of different texts."""
        longest = info.facts["longest"]
        for side in self.sides:
            texts = samples[side]
            if texts.shape != self.shape(info.shape, side) or any(type(text) is not str for text in texts):
                _broken(op, "a shape or type of texts", texts)
            if longest is not None and any(len(text) > longest for text in texts):
                _broken(op, f"a text longer than {longest}", texts)
        if not self.s.length_is_private:
            for side in range(0, len(self.sizes), 2):
                if sum(a != b for a, b in zip(*samples[side : side + 2], strict=True)) > self.s.group:
                    _broken(op, "more changed texts than changed records", samples[side : side + 2])

    def _check_side(self, op: str, info: Info, value: Any, side: int) -> None:
        if value is MISSING:
            return
        array = np.asarray(value)
        if op == "public" and not np.all(np.isfinite(array)):
            return
        if not np.all(np.isfinite(array)):
            _broken(op, "a number that is not finite", value)
        python = isinstance(value, bool | int | float) and not isinstance(value, np.generic)
        if array.dtype != KINDS[info.kind] and not (python and info.kind == "i"):
            _broken(op, f"type {array.dtype} for {info.kind!r}", value)
        scalar = (
            info.shape == () and not info.records and op != "public"
        )  # max(o, 1) returns either type of number
        if scalar and python != info.python:
            _broken(op, "a Python number instead of a numpy number, or the reverse", value)
        if array.shape != self.shape(info.shape, side):
            _broken(op, f"shape {array.shape} for {info.shape}", value)
        low, high = self.at(info.low, side), self.at(info.high, side)
        if array.size and (
            (low is not None and array.min() < low - _slack(low))
            or (high is not None and array.max() > high + _slack(high))
        ):
            _broken(op, f"a number outside [{low}, {high}]", value)
        rows = array.reshape(-1, *array.shape[info.records :]) if info.records else array[None]
        norm1, norm2 = self.at(info.norm1, side), self.at(info.norm2, side)
        axes = tuple(range(1, rows.ndim))
        if (
            rows.size
            and norm1 is not None
            and np.abs(rows.astype(float)).sum(axis=axes).max() > norm1 + _slack(norm1)
        ):
            _broken(op, f"an L1 norm above {norm1}", value)
        if (
            rows.size
            and norm2 is not None
            and (rows.astype(float) ** 2).sum(axis=axes).max() > norm2 + _slack(norm2)
        ):
            _broken(op, f"a squared L2 norm above {norm2}", value)

    def _check_numbers(self, op: str, info: Info, samples: Sequence[Any]) -> None:
        """Check scalars without arrays, for speed: most steps of a loop are scalar."""
        numbers = [float(one) for one in samples]
        least = [-limit for limit in self._limits(None if info.low is None else -info.low)]
        most, norm1, norm2 = map(self._limits, (info.high, info.norm1, info.norm2))
        for side, (value, number) in enumerate(zip(samples, numbers, strict=True)):
            if not math.isfinite(number):
                if op == "public":
                    continue
                _broken(op, "a number that is not finite", value)
            if NUMBERS[type(value)] != info.kind:
                _broken(op, f"type {type(value).__name__} for {info.kind!r}", value)
            if op != "public" and info.python == isinstance(value, np.generic):
                _broken(op, "a Python number instead of a numpy number, or the reverse", value)
            if not least[side] <= number <= most[side]:
                _broken(op, f"a number outside [{info.low}, {info.high}]", value)
            if abs(number) > norm1[side] or number * number > norm2[side]:
                _broken(op, f"a norm above {info.norm1} (L1) or {info.norm2} (squared L2)", value)
        changes = [self._limits(bound) for bound in (info.change, info.change1, info.change2)]
        for side in range(0, len(numbers), 2):
            change = numbers[side + 1] - numbers[side]
            for limits, found in zip(changes, (abs(change), abs(change), change * change), strict=True):
                if found > limits[side]:
                    _broken(op, f"a change of {found}, above {limits[side]}", samples[side : side + 2])
            if info.rises and self.s.length_is_private and change < -TOLERANCE:
                _broken(op, "a decrease when a record was added", samples[side : side + 2])

    def _limits(self, bound: Bound) -> list[float]:
        """Return the largest allowed value on each side, including slack for rounding."""
        if bound is not None and bound.number is not None:
            limit = float(bound.number)
            return [limit + _slack(limit)] * len(self.sizes)
        ends = [self.at(bound, side) for side in self.sides]
        return [math.inf if end is None else end + _slack(end) for end in ends]

    def _check_pair(self, op: str, info: Info, left: Any, right: Any, side: int) -> None:
        if (
            left is MISSING
            or right is MISSING
            or left is right
            or (info.records and self.s.length_is_private)
        ):
            return
        change = np.asarray(right).astype(float) - np.asarray(left).astype(float)
        rows = change.reshape(-1, *change.shape[info.records :]) if info.records else change[None]
        if not rows.size:
            return
        axes = tuple(range(1, rows.ndim))
        size = np.abs(rows)
        if info.records and np.count_nonzero(size.sum(axis=axes) if axes else size) > self.s.group:
            _broken(op, "more changed rows than changed records", rows)
        for bound, found in (
            (info.change, size.max()),
            (info.change1, size.sum(axis=axes).max()),
            (info.change2, (size**2).sum(axis=axes).max()),
        ):
            limit = self.at(bound, side)
            if limit is not None and found > limit + _slack(limit):
                _broken(op, f"a change of {found}, above {limit}", (left, right))
        if info.rises and self.s.length_is_private and change.size and change.min() < -TOLERANCE:
            _broken(op, "a decrease when a record was added", (left, right))


def _slack(bound: float) -> float:
    return TOLERANCE * max(1.0, abs(bound)) if math.isfinite(bound) else 0.0


def _broken(op: str, what: str, value: Any) -> None:
    raise BrokenHarnessError(
        f"the rule of the step {op!r} does not hold on sample data: {what} in {str(value)[:200]}. Please"
        " report this as a bug of dpaudit.",
        code="E-STEP-RULE-BROKEN",
    )
