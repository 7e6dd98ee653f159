"""One array of a declaration: its type, bounds, extreme records, samples and Hypothesis strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpaudit.core.exact import exact, nearest_float

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Column"]

#: The replacement of a missing bound in drawn records.
FAR = 1e6
#: Texts of corners and samples. Some grow or shrink when their case changes. They are cut to their length.
WORDS = ("", "error", "a", "Error: 7 errors", "0", "B", "\u0130\u00df", "\u0390", "x" * 300)
LETTERS = ("a", "b", "e", "r", "x", "A", "E", "0", " ", "\u00df", "\u0130", "\u0390")


@dataclass(frozen=True)
class Column:
    """One array of a declaration.

    It has a type (bool, int or float), the bounds of every entry, the length of a row (``None`` if a record
    is one number), and the norm and radius of the ball that contains every row. The norm ``one-hot`` means
    that exactly one entry of a row is 1 and all others are 0. A text has the type t, and ``high`` is the
    largest length.
    """

    kind: Literal["b", "i", "f", "t"]
    low: Fraction | None
    high: Fraction | None
    width: int | None = None
    ball: tuple[str, Fraction] | None = None

    def to_json(self, name: str) -> dict[str, Any]:
        """Return the column with exact numbers, as a certificate declares it."""
        low, high = (None if end is None else str(end) for end in (self.low, self.high))
        ball = None if self.ball is None else [self.ball[0], str(self.ball[1])]
        return {"name": name, "kind": self.kind, "low": low, "high": high, "width": self.width, "ball": ball}

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Return ``size`` random records, including corners."""
        shape = (size,) if self.width is None else (size, self.width)
        if self.kind == "t":
            words = self.corners()
            drawn = ["".join(rng.choice(LETTERS, size=rng.integers(0, 12))) for _ in range(size)]
            chosen = [
                words[k] if k < len(words) else None for k in rng.integers(0, 2 * len(words), size=size)
            ]
            return self.array([self._cut(b if a is None else a) for a, b in zip(chosen, drawn, strict=True)])
        if self.one_hot:
            return np.eye(self.width or 1, dtype=np.int64)[rng.integers(self.width or 1, size=size)]
        low, high = self._floats(3.0)
        if self.kind != "f":
            found = rng.integers(int(low), int(high) + 1, size=shape)
            corner = rng.choice([int(low), int(high)], size=shape)
            found = np.where(rng.random(shape) < 0.4, corner, found)
            return found.astype(bool if self.kind == "b" else np.int64)
        values = rng.uniform(low, high, size=shape)
        grid = rng.choice(
            [low, high, (low + high) / 2, min(max(0.0, low), high), min(max(1.0, low), high)], size=shape
        )
        values = np.where(rng.random(shape) < 0.5, grid, values)
        if self.low is None or self.high is None:  # sometimes a large number
            values = np.where(rng.random(shape) < 0.1, values * 100, values)
            values = np.clip(
                values, -np.inf if self.low is None else low, np.inf if self.high is None else high
            )
        if self.ball is not None:
            radius = nearest_float(self.ball[1]) * (1 - 1e-12)
            norms = np.linalg.norm(values, ord=int(self.ball[0]), axis=1, keepdims=True)
            values = values * np.minimum(1.0, radius / np.maximum(norms, 1e-9))
        return values

    def null(self) -> Any:
        """Return the null record of zero-out."""
        zero = {"b": False, "i": 0, "f": 0.0, "t": ""}[self.kind]
        return zero if self.width is None else (zero,) * self.width

    def strategy(self) -> SearchStrategy[Any]:
        """Return a Hypothesis strategy for one record, which is a number or a tuple of numbers."""
        from hypothesis import strategies as st  # slow to import, and not needed by proofs

        if self.kind == "t":
            return st.text(max_size=None if self.high is None else int(self.high))
        if self.one_hot:
            return st.sampled_from(self._units())
        low, high = self._floats(FAR)
        number: SearchStrategy[Any] = st.booleans() if self.kind == "b" else st.floats(low, high)
        if self.kind == "i":
            number = st.integers(int(low), int(high))
        if self.width is None:
            return number
        return st.tuples(*[number] * self.width).map(self._inside)

    def corners(self) -> list[Any]:
        """Return the extreme values of one record, the most different ones first."""
        if self.kind == "t":
            return list(dict.fromkeys(map(self._cut, WORDS)))
        if self.one_hot:
            return self._units()
        low, high = self._floats(100.0)
        kind = {"b": bool, "i": int, "f": float}[self.kind]
        numbers = [kind(x) for x in dict.fromkeys([low, high, min(max((low + high) / 2, low), high)])]
        if self.width is None:
            return numbers
        if self.ball is not None:
            share = high / (self.width if self.ball[0] == "1" else self.width**0.5)
            first, even = (high, *[0.0] * (self.width - 1)), (share,) * self.width
            signed = [tuple(sign * x + 0.0 for x in row) for row in (first, even) for sign in (1, -1)]
            return [self._inside(row) for row in dict.fromkeys([*signed, (0.0,) * self.width])]
        a, b = kind(low), kind(high)
        mixed = [tuple((a, b)[k % 2] for k in range(self.width)), (b, *[a] * (self.width - 1))]
        return list(dict.fromkeys([*((x,) * self.width for x in numbers), *mixed]))

    def opposite_rows(self) -> list[Any]:
        """Return two rows of alternating extremes, which differ in opposite directions, or no rows."""
        if self.width is None or self.width < 2 or self.kind not in "if" or self.one_hot:
            return []
        ends = self._floats(100.0) if self.kind == "f" else tuple(map(int, self._floats(100.0)))
        return [self._inside(tuple(ends[(k + s) % 2] for k in range(self.width))) for s in (0, 1)]

    def array(self, records: list[Any]) -> Any:
        """Return an array of records. Records with a null, or numbers beyond int64, make one of objects."""
        shape = (len(records),) if self.width is None else (len(records), self.width)
        entries = records if self.width is None else [entry for row in records for entry in row]
        if None in entries:
            return np.array(entries, dtype=object).reshape(shape)
        dtype: Any = {"b": bool, "i": np.int64, "f": float, "t": object}[self.kind]
        return np.array(records, dtype=dtype).reshape(shape)

    def _cut(self, text: str) -> str:
        """Return the beginning of a text that has at most the largest length."""
        return str(text) if self.high is None else str(text)[: int(self.high)]

    @property
    def one_hot(self) -> bool:
        return self.ball is not None and self.ball[0] == "one-hot"

    def _units(self) -> list[Any]:
        """Return all one-hot rows."""
        width = self.width or 1
        return [tuple(int(j == k) for j in range(width)) for k in range(width)]

    def _floats(self, far: float) -> tuple[float, float]:
        """Return the bounds as floats inside the domain, with ``far`` for a missing bound."""
        low = -far if self.low is None else nearest_float(self.low)
        high = far if self.high is None else nearest_float(self.high)
        if self.low is not None and exact(low) < self.low:
            low = math.nextafter(low, math.inf)
        if self.high is not None and exact(high) > self.high:
            high = math.nextafter(high, -math.inf)
        return (low, high) if low <= high else (low, low)  # a single value that is not a float

    def _inside(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the row, scaled down if it is outside the ball."""
        if self.ball is None:
            return row
        norm, radius = float(np.linalg.norm(row, ord=int(self.ball[0]))), nearest_float(self.ball[1])
        most = radius * (1 - 1e-12)
        # The norm of a row along an axis is exact.
        return row if norm <= most or np.count_nonzero(row) <= 1 else tuple(x * (most / norm) for x in row)
