"""Encode the outcomes of a mechanism as numbers. The adversary sees every output and every exception.

Each run becomes a row of floats, a *symbol* and a *key*. The row holds the numbers in the output, in order.
Labels such as strings have special numbers, far from all others. The symbol is 0 for an output of the usual
shape without NaN. An exception, ``None``, NaN and every other shape has a different symbol. Equal keys mean
that two outputs are equal as a whole, including the messages, attributes, notes, causes and contexts of
exceptions. Text is read as its numbers and a pattern, which is part of the shape. An object is read as its
attributes.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import ItemsView, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.hashes import hash_rows
from dpaudit.blackbox.integers import BEYOND, are_huge, both_numbers, is_huge
from dpaudit.blackbox.objects import are_alike, parts_of_object
from dpaudit.blackbox.rounding import Rounded, differ_by_rounding
from dpaudit.blackbox.statistics.blocks import Failure
from dpaudit.blackbox.text import as_text, column_names, is_whole, numbers_in, plain, value_of_member
from dpaudit.blackbox.times import MAX_FIELDS, seconds_of, time_numbers
from dpaudit.blackbox.words import array_shape, checksum, in_words, kind_in_words, number_range, short
from dpaudit.core.errors import MechanismError
from dpaudit.core.tables import table_parts

__all__ = ["CLOSED", "LABEL_BASE", "OutcomeEncoder", "Outcomes"]

#: Labels become numbers up to this number, so that no ordinary number is taken for a label.
LABEL_BASE = -(2.0**900)
MAX_WIDTH = 4096
#: Largest number of numbers of an output, and of labels, in a description.
SHOWN = 12
SHOWN_LABELS = 5
#: With more texts or shapes than this, and more than this share of the runs, outputs count as unreadable
#: text.
FEW_TEXTS = 64
FEW_SHARE = 0.2
_FLAT = re.compile(r"(list of|tuple of|array of shape) \(?(\d+),?\)?")
_PATTERN = re.compile(r"text like '(.*)'", re.DOTALL)
CLOSED = "object that cannot be read"
_PLAIN = (float, int, bool, np.float64)


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of n runs: ``values`` (n, d) with NaN for no number, ``symbols`` (n,) and ``keys`` (n,)."""

    values: NDArray[np.float64]
    symbols: NDArray[np.int64]
    keys: NDArray[np.uint64]

    def __getitem__(self, part: slice) -> Outcomes:
        """Return some of the runs."""
        return Outcomes(self.values[part], self.symbols[part], self.keys[part])


class OutcomeEncoder:
    """Encoder of outputs as ``Outcomes``, with the labels, symbols and usual shape of earlier blocks."""

    def __init__(self) -> None:
        self._labels: dict[object, float] = {}
        self._codes: dict[str, int] = {}
        self._usual: str | None = None
        self._width = 0
        self._runs = 0
        self._names: list[str] = []
        self._with_numbers = np.zeros(0, dtype=bool)
        self._salt = 0
        self._raised: dict[int, str] = {}  # by key
        #: Numbers that differed by rounding only.
        self.rounded: Rounded = {}
        #: Types of objects in outputs that could not be read, in order of appearance.
        self.closed: dict[str, None] = {}

    @property
    def width(self) -> int:
        """Return how many numbers an output of the usual shape has, or 0 before the first block."""
        return self._width

    @property
    def strange(self) -> float:
        """Return the number of texts or shapes per run, at most 1, or 0 if there are few."""
        different = max(len(self._labels), len(self._codes))
        share = min(1.0, different / max(self._runs, 1))
        return share if different > FEW_TEXTS and share > FEW_SHARE else 0.0

    def encode(
        self, outputs: Sequence[Any] | NDArray[Any], *, pairs: int = 0, largest: float = 0.0
    ) -> Outcomes:
        """Encode one block of outputs.

        Parameters
        ----------
        outputs : sequence or array
            Single outputs, or an array with one output per entry of axis 0.
        pairs : int, default 0
            If positive in the first block, the first half of the block is from one input. Numbers that differ
            between the inputs by rounding only are then identified in this and all later blocks.
        largest : float, default 0
            Size of the largest number in the inputs.

        Raises
        ------
        MechanismError
            An output holds itself, or no output of the first block holds anything that can be read.
        """
        rows, shapes, salts = self._flatten_all(outputs)
        if self._usual is None:
            self._refuse_closed(rows, shapes)
            self._usual = _most_usual(shapes)
            self._width = min(MAX_WIDTH, max(1, *(len(row) for row in rows)))
            self._names = self._names_of(outputs, shapes)
            self._with_numbers = np.zeros(self._width, dtype=bool)
        is_first = not self._runs
        values = np.full((len(rows), self._width), np.nan)
        if isinstance(rows, np.ndarray) and rows.shape[1] == self._width:
            values = np.array(rows, dtype=float)
        else:
            for index, row in enumerate(rows):
                values[index, : len(row)] = row[: self._width]
                if len(row) > self._width:
                    beyond = np.asarray(row[self._width :], dtype=float).tobytes()
                    salts[index] = zlib.crc32(beyond, int(salts[index]))
        values += 0.0  # -0.0 and 0.0 are one number
        if is_first and pairs:
            self.rounded = differ_by_rounding(values, pairs, largest=largest)
        for column, (number, width) in self.rounded.items():
            values[np.abs(values[:, column] - number) <= width, column] = number
        self._runs += len(values)
        self._with_numbers |= np.any(values > LABEL_BASE, axis=0)
        symbols = self._symbols(values, shapes, None if isinstance(rows, np.ndarray) else [*map(len, rows)])
        outcomes = Outcomes(values, symbols, hash_rows(values, symbols.astype(np.uint64) ^ salts))
        for index, item in enumerate(outputs if isinstance(outputs, Sequence) else ()):
            if isinstance(item, Failure):
                self._raised.setdefault(int(outcomes.keys[index]), in_words(item))
        return outcomes

    def fingerprint(self, outputs: Sequence[Any] | NDArray[Any]) -> str:
        """Return a text that is equal for equal outputs, even across processes. Requires a new encoder."""
        outcomes = self.encode(outputs)
        labels, shapes = [repr(label) for label in self._labels], [self._usual, *self._codes]
        return repr((outcomes.values.tolist(), outcomes.keys.tolist(), labels, shapes))

    def _refuse_closed(self, rows: Any, shapes: list[str] | str) -> None:
        """Raise ``MechanismError`` if no output can be read."""
        returned = [] if isinstance(shapes, str) else [k for k, shape in enumerate(shapes) if _proper(shape)]
        if self.closed and returned and not any(rows[k] or CLOSED not in shapes[k] for k in returned):
            raise MechanismError(
                "an output must consist of numbers, text, None, and containers or objects of these, got "
                f"{', '.join(self.closed)}.",
                code="E-OUTPUT-UNREADABLE",
            )

    def _names_of(self, outputs: Sequence[Any] | NDArray[Any], shapes: list[str] | str) -> list[str]:
        """Return the expressions that access the numbers in outputs of the usual shape."""
        return column_names(outputs[0 if isinstance(shapes, str) else shapes.index(self._usual or "")])

    def column_name(self, k: int) -> str:
        """Return an expression that accesses number ``k`` of an output, valid for all outputs so far."""
        shapes = [
            name for name in self._codes if name not in ("None", "NaN") and not name.startswith("raised ")
        ]
        if not shapes and k < len(self._names):
            return self._names[k]
        if all(_FLAT.fullmatch(name) for name in [*shapes, self._usual or ""]):
            return f"output[{k}]"
        return f"number {k + 1} of the output"

    def kinds(self, low: float, high: float) -> list[str]:
        """Describe the symbols from ``low`` on and below ``high``."""
        names = {0: self._usual or ""} | {code: name for name, code in self._codes.items()}
        return [kind_in_words(name) for code, name in sorted(names.items()) if low <= code < high]

    def describe(self, row: NDArray[np.float64], symbol: int, key: int | None = None) -> str:
        """Describe one output by its numbers and labels, or by its unusual kind.

        The key identifies the message of an exception.
        """
        if key in self._raised:
            return f"the call raised {self._raised[key]}"
        shape = {code: name for name, code in self._codes.items()}.get(symbol, self._usual or "")
        length = len(row) - int(np.argmax(~np.isnan(row[::-1]))) if not np.isnan(row).all() else 0
        if not length:
            return kind_in_words(shape)
        labels = {code: label for label, code in self._labels.items()}
        shown = [
            repr(labels[value]) if value in labels else f"{value:.10g}" for value in row[: min(length, SHOWN)]
        ]
        pattern = _PATTERN.fullmatch(shape)
        if pattern and pattern[1].count("#") == len(shown):
            pieces = zip(pattern[1].split("#"), [*shown, ""], strict=True)
            return f"the output is {''.join(part for piece in pieces for part in piece)!r}"
        flat = _FLAT.fullmatch(shape)
        # A full row of an unusual shape may be the beginning of a longer output.
        cut = int(flat[2]) > len(shown) if flat else symbol and length == self._width
        if length > SHOWN or cut:
            shown.append("...")
        if shape in ("number", "text"):
            return f"the output is {shown[0]}"
        inside = ", ".join(shown)
        brackets = {"list of": "[]", "tuple of": "()"}.get(flat[1], "") if flat else ""
        if brackets:
            return f"the output is {brackets[0]}{inside}{brackets[1]}"
        if symbol:
            return f"{kind_in_words(shape)} holding {inside}"
        return ", ".join(f"{name} is {value}" for name, value in zip(self._names, shown, strict=False))

    def range_in_words(self, k: int, low: float | None, high: float | None) -> str:
        """Describe the event that number ``k`` of the output is in [low, high), with labels by name."""
        bottom, top = -np.inf if low is None else low, np.inf if high is None else high
        labels = [repr(label) for label, code in self._labels.items() if bottom <= code < top]
        name = self.column_name(k)
        events = []
        if labels:
            rest = f" or one of {len(labels) - SHOWN_LABELS} others" if len(labels) > SHOWN_LABELS else ""
            events.append(f"{name} is " + " or ".join(labels[:SHOWN_LABELS]) + rest)
        if top > LABEL_BASE and self._with_numbers[k]:
            numeric_low = low if bottom > LABEL_BASE else None
            events.append(
                number_range(name, numeric_low, high)
                if high is not None or numeric_low is not None
                else f"{name} is a number"
            )
        return " or ".join(events)

    def _flatten_all(
        self, outputs: Sequence[Any] | NDArray[Any]
    ) -> tuple[Any, list[str] | str, NDArray[np.uint64]]:
        """Return rows of numbers, the shape of each output (or one for all), and a hash of its texts."""
        salts = np.zeros(len(outputs), dtype=np.uint64)
        is_plain = isinstance(outputs, np.ndarray) and not np.ma.isMA(outputs) and not are_huge(outputs)
        if isinstance(outputs, np.ndarray) and is_plain and outputs.dtype.kind in "biuf":
            shape = array_shape(outputs.shape[1:])
            return outputs.reshape(len(outputs), -1).astype(float), shape, salts
        if not isinstance(outputs, np.ndarray) and all(
            type(item) in _PLAIN and not is_huge(item) for item in outputs
        ):
            return np.array([_number(item) for item in outputs])[:, None], "number", salts
        if are_alike(outputs, least=max(1, self._width)):  # shorter rows need the general case below
            return self._flatten_all(np.stack(list(outputs)))
        flat = []
        for index, item in enumerate(outputs):
            self._salt = 0
            try:
                flat.append(self._flatten(item))
            except RecursionError:
                raise MechanismError(
                    "an output must not hold itself or be nested too deeply, got such a "
                    f"{type(item).__name__}.",
                    code="E-OUTPUT-TOO-DEEP",
                ) from None
            except Exception as error:  # reading a foreign object may raise anything
                raise MechanismError(
                    f"an output must be readable, but {type(item).__name__} raised "
                    f"{in_words(Failure.of(error))}.",
                    code="E-OUTPUT-UNREADABLE",
                ) from error
            salts[index] = self._salt
        return [row for row, _ in flat], [shape for _, shape in flat], salts

    def _symbols(
        self, values: NDArray[np.float64], shapes: list[str] | str, lengths: list[int] | None
    ) -> NDArray[np.int64]:
        """Return a code for each output: 0 for the usual shape, others for NaN and unusual shapes."""
        broken = np.isnan(values)
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
        """Return the numbers in one output, in order, and a description of its shape."""
        if isinstance(output, Failure):
            self._salt = checksum(output.held, checksum(output.reason))
            return [], f"raised {output.symbol}"
        if output is None:
            return [], "None"
        return self._flatten_part(output)

    def _flatten_part(self, output: Any) -> tuple[list[float], str]:
        if type(output) in _PLAIN and not is_huge(output):
            return [_number(output)], "number"
        given, output = output, plain(output)
        if is_huge(output):
            return both_numbers([output]), f"number {BEYOND}"
        value = value_of_member(output)
        if value is not None:
            return [_number(value)], f"{type(output).__name__} member"
        if is_whole(output):
            return [self._atom(output)], "number"
        text = as_text(output)
        if text is not None:
            return self._flatten_text(output, text)
        if isinstance(output, bytes | type):
            return [self._label(output)], "text"
        moment = time_numbers(output)
        if moment is not None:
            self._salt = checksum(str(given), self._salt)  # the text is finer than microseconds
            return [float(number) for number in moment[1].values()], moment[0]
        if isinstance(output, np.ma.MaskedArray):
            inside = [np.ma.getdata(output), np.ma.getmaskarray(output)]
            return self._flatten_parts(inside, "masked array")
        if isinstance(output, np.ndarray):
            if are_huge(output):
                return both_numbers(output.ravel().tolist()), f"{array_shape(output.shape)} {BEYOND}"
            if output.dtype.kind in "biuf":
                return output.ravel().astype(float).tolist(), array_shape(output.shape)
            if output.dtype.kind in "mM" and output.size > MAX_FIELDS:
                self._salt = zlib.crc32(output.tobytes(), self._salt)
                return seconds_of(output).ravel().tolist(), f"{array_shape(output.shape)} of times"
            return self._flatten_parts(list(output.ravel()), array_shape(output.shape))
        if isinstance(output, Sequence):
            kind = "tuple" if isinstance(output, tuple) else type(output).__name__
            if are_huge(output):
                return both_numbers(output), f"{kind} of {len(output)} {BEYOND}"
            return self._flatten_parts(list(output), f"{kind} of {len(output)}")
        if isinstance(output, Mapping):
            keys = sorted(output, key=repr)
            return self._flatten_parts([output[key] for key in keys], f"mapping of {keys!r}")
        if isinstance(output, set | frozenset):
            return self._flatten_parts(sorted(output, key=repr), f"set of {len(output)}")
        if isinstance(output, complex):
            return [output.real, output.imag], "complex number"
        return self._flatten_object(output)

    def _flatten_object(self, output: Any) -> tuple[list[float], str]:
        if isinstance(output, ValuesView | KeysView | ItemsView):
            return self._flatten_part(list(output))
        table = table_parts(output)
        if table is not None:
            return self._flatten_parts([part for _, part in table[1]], table[0])
        if hasattr(output, "__array__"):
            return self._flatten_part(np.asarray(output))
        name, parts = type(output).__name__, parts_of_object(output)
        if parts is None:
            self.closed[name] = None
            return [], f"{CLOSED} ({name})"
        names = [place.removeprefix(".") for place, _ in parts]
        return self._flatten_parts([part for _, part in parts], f"{name} of {names!r}")

    def _flatten_text(self, output: Any, text: str) -> tuple[list[float], str]:
        numbers, pattern = numbers_in(text)
        if not numbers:
            return [self._label(output)], "text"
        self._salt = checksum(text, self._salt)  # the pattern does not hold how a number is written
        return numbers, f"text like {pattern!r}"

    def _flatten_parts(self, parts: list[Any], shape: str) -> tuple[list[float], str]:
        row: list[float] = []
        inner: list[str] = []
        for part in parts:
            numbers, name = self._flatten_part(part)
            row += numbers
            inner.append(name)
        if all(name in ("number", "text") for name in inner):
            return row, short(shape)
        return row, short(f"{shape} [{', '.join(inner)}]")

    def _atom(self, part: Any) -> float:
        numeric = isinstance(part, bool | int | float | Fraction | Decimal) and not isinstance(part, Enum)
        return _number(part) if numeric else self._label(part)

    def _label(self, part: Any) -> float:
        return self._labels.setdefault(part, LABEL_BASE * (1.0 + len(self._labels) / 2**20))


def _number(part: bool | int | float | Fraction | Decimal) -> float:
    try:
        return float(part)
    except OverflowError:  # an integer beyond the largest float
        return np.inf if part > 0 else -np.inf
    except ValueError:  # a signalling NaN
        return np.nan


def _most_usual(shapes: list[str] | str) -> str:
    if isinstance(shapes, str):
        return shapes
    proper = [shape for shape in shapes if _proper(shape)]
    return Counter(proper or shapes).most_common(1)[0][0]


def _proper(shape: str) -> bool:
    return shape != "None" and not shape.startswith("raised ")
