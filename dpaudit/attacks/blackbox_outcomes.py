"""Outcomes of a black box as numbers: whatever a mechanism returns, or does instead of returning, the
adversary sees it.

Each run becomes a row of floats, a *symbol* and a *key*. The row holds the numbers in the output, in order
(labels such as strings have numbers of their own, far from all others). The symbol is 0 for an output of
the usual shape without NaN; an exception, ``None``, NaN or another shape each has its own. The key tells
whether two outputs are equal as a whole.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import MechanismError
from dpaudit.statistics.blocks import Failure

__all__ = ["OutcomeEncoder", "Outcomes"]

#: Labels become numbers below this one, so that no ordinary number is taken for a label.
LABEL_BASE = -(2.0**900)
MAX_WIDTH = 4096
SHOWN = 12
_PLAIN = (float, int, bool, np.float64)


@dataclass(frozen=True)
class Outcomes:
    """n runs: ``values`` (n, d) with NaN where there is no number, ``symbols`` (n,) and ``keys`` (n,)."""

    values: NDArray[np.float64]
    symbols: NDArray[np.int64]
    keys: NDArray[np.uint64]

    def __getitem__(self, part: slice) -> Outcomes:
        """Some of the runs."""
        return Outcomes(self.values[part], self.symbols[part], self.keys[part])


class OutcomeEncoder:
    """Turns outputs into ``Outcomes``; remembers labels, symbols and the usual shape from one block to the
    next.
    """

    def __init__(self) -> None:
        self._labels: dict[object, float] = {}
        self._codes: dict[str, int] = {}
        self._usual: str | None = None
        self._width = 0

    def kinds(self, low: float, high: float) -> list[str]:
        """The symbols from ``low`` on and below ``high``, in words."""
        names = {0: "the usual one"} | {code: name for name, code in self._codes.items()}
        return [name for code, name in sorted(names.items()) if low <= code < high]

    def describe(self, row: NDArray[np.float64], symbol: int) -> str:
        """One output in words: its numbers and labels, or what is odd about it."""
        if symbol and np.isnan(row).all():
            return self.kinds(symbol, symbol + 1)[0]
        labels = {code: str(label) for label, code in self._labels.items()}
        parts = [labels.get(value, f"{value:.6g}") for value in row[:SHOWN]]
        return parts[0] if len(row) == 1 else "[" + ", ".join(parts) + (", ...]" if len(row) > SHOWN else "]")

    @property
    def strange(self) -> float:
        return 0.0

    @property
    def width(self) -> int:
        """Numbers in an output of the usual shape; 0 before the first block."""
        return self._width

    def encode(self, outputs: Sequence[Any] | NDArray[Any]) -> Outcomes:
        """Encode one block of outputs: a list of single outputs, or an array with one output per entry of
        axis 0.

        Raises ``MechanismError`` for an output that is not made of numbers, labels and containers of these.
        """
        rows, shapes = self._flatten_all(outputs)
        if self._usual is None:
            self._usual = _most_usual(shapes)
            self._width = min(MAX_WIDTH, max(1, *(len(row) for row in rows)))
        values = np.full((len(rows), self._width), np.nan)
        tails = np.zeros(len(rows), dtype=np.uint64)
        if isinstance(rows, np.ndarray) and rows.shape[1] == self._width:
            values = np.array(rows, dtype=float)
        else:
            for index, row in enumerate(rows):
                values[index, : len(row)] = row[: self._width]
                if len(row) > self._width:
                    tails[index] = zlib.crc32(np.asarray(row[self._width :], dtype=float).tobytes())
        values += 0.0  # -0.0 and 0.0 are one number
        lengths = None if isinstance(rows, np.ndarray) else [len(row) for row in rows]
        symbols = self._symbols(values, shapes, lengths)
        return Outcomes(values, symbols, _hash_rows(values, symbols.astype(np.uint64) ^ tails))

    def _flatten_all(self, outputs: Sequence[Any] | NDArray[Any]) -> tuple[Any, list[str] | str]:
        """Rows of numbers, and the shape of each output (one for all where they are equal)."""
        if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf":
            return outputs.reshape(len(outputs), -1).astype(float), f"array{outputs.shape[1:]}"
        if not isinstance(outputs, np.ndarray) and all(type(item) in _PLAIN for item in outputs):
            return np.array([_number(item) for item in outputs])[:, None], "number"
        flat = [self._flatten(item) for item in outputs]
        return [row for row, _ in flat], [shape for _, shape in flat]

    def _symbols(
        self, values: NDArray[np.float64], shapes: list[str] | str, lengths: list[int] | None
    ) -> NDArray[np.int64]:
        """Codes of what is odd about each output: NaN where a number should be, or another shape; 0 for
        nothing.
        """
        broken: NDArray[np.bool_] = np.isnan(values)
        if lengths is not None:
            broken &= np.arange(values.shape[1]) < np.asarray(lengths)[:, None]
        has_nan = broken.any(axis=1)
        symbols = np.zeros(len(values), dtype=np.int64)
        if not isinstance(shapes, str):
            for index, shape in enumerate(shapes):
                symbols[index] = self._code("" if shape == self._usual else shape)
        elif shapes != self._usual:
            symbols[:] = self._code(shapes)
        symbols[has_nan] = self._code("NaN") if has_nan.any() else 0
        return symbols

    def _code(self, name: str) -> int:
        return self._codes.setdefault(name, len(self._codes) + 1) if name else 0

    def _flatten(self, output: Any) -> tuple[list[float], str]:
        """The numbers in one output, in order, and its shape in words."""
        if isinstance(output, Failure):
            return [], f"raised {output.symbol}"
        if output is None:
            return [], "None"
        if isinstance(output, np.ndarray):
            if output.dtype.kind in "biuf":
                return output.ravel().astype(float).tolist(), f"array{output.shape}"
            return self._flatten_parts(list(output.ravel()), f"array{output.shape}")
        if isinstance(output, list | tuple):
            return self._flatten_parts(list(output), f"{type(output).__name__} of {len(output)}")
        if isinstance(output, Mapping):
            keys = sorted(output, key=repr)
            return self._flatten_parts([output[key] for key in keys], f"mapping of {keys!r}"[:200])
        if isinstance(output, set | frozenset):
            return self._flatten_parts(sorted(output, key=repr), f"set of {len(output)}")
        if is_dataclass(output) and not isinstance(output, type):
            parts = [getattr(output, item.name) for item in fields(output)]
            return self._flatten_parts(parts, type(output).__name__)
        return [self._atom(output)], "number"

    def _flatten_parts(self, parts: list[Any], shape: str) -> tuple[list[float], str]:
        if all(_is_atom(part) for part in parts):
            return [self._atom(part) for part in parts], shape
        row: list[float] = []
        inner: list[str] = []
        for part in parts:
            numbers, name = ([self._atom(part)], "number") if _is_atom(part) else self._flatten(part)
            row += numbers
            inner.append(name)
        return row, f"{shape} [{', '.join(inner)}]"[:200]

    def _atom(self, part: Any) -> float:
        if isinstance(part, np.generic):
            part = part.item()
        if isinstance(part, Enum) or not isinstance(part, bool | int | float | Fraction | Decimal):
            return self._label(part)
        return _number(part)

    def _label(self, part: Any) -> float:
        if not (part is None or isinstance(part, str | bytes | Enum | complex)):
            raise MechanismError(
                "an output must be made of numbers, strings, None and containers of these, got "
                f"{type(part).__name__}; "
                f"convert it before it is returned."
            )
        return self._labels.setdefault(part, LABEL_BASE * (1.0 + len(self._labels) / 2**20))


def _is_atom(part: Any) -> bool:
    return part is None or isinstance(
        part, bool | int | float | str | bytes | Enum | np.generic | Fraction | Decimal | complex
    )


def _number(part: bool | int | float | Fraction | Decimal) -> float:
    try:
        return float(part)
    except OverflowError:  # a huge integer: beyond all floats is where it belongs
        return np.inf if part > 0 else -np.inf


def _most_usual(shapes: list[str] | str) -> str:
    if isinstance(shapes, str):
        return shapes
    proper = [shape for shape in shapes if shape != "None" and not shape.startswith("raised ")]
    return Counter(proper or shapes).most_common(1)[0][0]


def _hash_rows(values: NDArray[np.float64], salt: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A 64-bit hash of each row: splitmix64, column by column. Two equal rows have equal hashes; a
    collision costs power only.
    """
    bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)
    result = _mix(salt)
    for column in bits.T:
        result = _mix(result ^ column)
    return result


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)  # unsigned arrays wrap around silently
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed
