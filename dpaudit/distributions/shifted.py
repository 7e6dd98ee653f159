"""Define shifted distributions X + offset. An array of offsets gives independent copies.

Offsets are data, so floats are allowed and count as their exact values. For a distribution on a lattice,
differences ``x - offset`` have no rounding error (Knuth's two-sum), so that an outcome counts as on the
lattice only if it is. In ``sample``, a sum on a lattice that floats cannot represent is an error, so that no
outcome is changed silently. For a distribution with a density, sums round as floats do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import ExactLike, decode_value, dyadic, encode_value, exact, exact_str
from dpaudit.distributions.base import (
    Argument,
    BaseMeasure,
    Distribution,
    LogConcavity,
    Support,
    distribution_from_json,
    register,
    shift_by,
)
from dpaudit.distributions.copies import joint_atoms, one_whole, trailing
from dpaudit.distributions.scalar import Floats, outcomes, tilt
from dpaudit.kernel.ball import ball

__all__ = ["Shifted"]

Offset = Fraction | NDArray[Any]

#: Integer offsets and outcomes stay below this, so that sums of two fit into int64.
_LARGEST_INTEGER = 2**62

_LARGEST_NUMBER = 2**1000

#: From here on, every float is an integer, and so are its neighbours.
_ALL_INTEGERS = 2.0**52


def _read_offset(offset: Any) -> Offset:
    """Return a number as a ``Fraction``, or an array as a read-only copy of dtype int64 or float64."""
    if type(offset) is int and abs(offset) < _LARGEST_INTEGER:  # the most frequent kind
        return Fraction(offset)
    is_array = isinstance(offset, np.ndarray)  # checked by itself, because a union of types is slow
    if offset.ndim == 0 if is_array else isinstance(offset, Fraction | int | float | np.generic):
        number = offset.item() if isinstance(offset, np.ndarray | np.generic) else offset
        if not isinstance(number, Fraction | int | float):
            raise InvalidParameterError(
                f"an offset must be a real number, got {number!r}.", code="E-OFFSET-TYPE"
            )
        exactly = dyadic(number)
        if not abs(exactly.numerator) < _LARGEST_NUMBER * exactly.denominator:
            raise InvalidParameterError(
                "an offset must be below 2^1000, got a larger one.", code="E-OFFSET-RANGE"
            )
        return exactly
    if not isinstance(offset, np.ndarray) or offset.dtype.kind not in "biuf":
        received = f"an array of {offset.dtype}" if isinstance(offset, np.ndarray) else type(offset).__name__
        raise InvalidParameterError(
            f"an offset must be an int, Fraction, float, or array of integers or floats, got {received}. "
            "Convert a list by np.array.",
            code="E-OFFSET-TYPE",
        )
    if offset.dtype.kind == "f":
        kept = offset.astype(np.float64) + 0.0  # -0.0 becomes 0.0, so that equal offsets have equal bytes
        if not np.isfinite(kept).all():
            raise InvalidParameterError(
                "an offset must be finite, got NaN or an infinity.", code="E-OFFSET-NOT-FINITE"
            )
    else:
        if offset.size and not -_LARGEST_INTEGER < int(offset.min()) <= int(offset.max()) < _LARGEST_INTEGER:
            raise InvalidParameterError(
                "an integer offset must be below 2^62, got a larger one.", code="E-OFFSET-RANGE"
            )
        kept = offset.astype(np.int64)
    kept.flags.writeable = False
    return kept


@register("shifted")
@dataclass(frozen=True, repr=False, init=False, eq=False)
class Shifted(Distribution):
    """The distribution of ``base`` + ``offset``. Use ``Shifted.of``, which combines shifts of shifts.

    Two shifted distributions are equal if their bases are equal, and their offsets are equal as exact numbers
    or as arrays of the same dtype, shape and values.

    Parameters
    ----------
    base : Distribution
        A distribution of scalars.
    offset : number or array
        The shift. An array gives independent copies of ``base``, one for each entry. If ``base`` has a batch
        shape (a ``Product``), this must be the shape of the last axes of the array.

    Raises
    ------
    InvalidParameterError
        The offset is not finite, too large or of another type, or ``base`` has structured outcomes.
    """

    base: Distribution
    offset: Offset
    forms: ClassVar[tuple[str, str]] = ("base", "offset")

    def __init__(self, base: Distribution, offset: Any) -> None:
        if base.event_ndim:
            raise InvalidParameterError(
                f"only distributions with scalar outcomes can be shifted, got {base!r}. Shift its parts "
                "instead.",
                code="E-DISTRIBUTION-NOT-SCALAR",
            )
        kept = _read_offset(offset)
        if isinstance(kept, np.ndarray):
            trailing(kept, base.batch_shape)
        elif (
            base.base_measure is BaseMeasure.COUNTING
            and abs(kept.numerator) >= _LARGEST_INTEGER * kept.denominator
        ):
            raise InvalidParameterError(
                f"an offset on a lattice must be below 2^62, got {kept}.", code="E-OFFSET-RANGE"
            )
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "offset", kept)
        object.__setattr__(self, "base_measure", base.base_measure)

    @classmethod
    def of(cls, base: Distribution, offset: Any) -> Self:
        """Return ``base`` + ``offset``, as one shift if the offsets can be added exactly."""
        if isinstance(base, Shifted):
            total = _exact_sum(base.offset, _read_offset(offset))
            if total is not None:
                return cls(base.base, total)
        return cls(base, offset)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.offset.shape if isinstance(self.offset, np.ndarray) else self.base.batch_shape

    @property
    def _counting(self) -> bool:
        return self.base_measure is BaseMeasure.COUNTING

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shifted):
            return NotImplemented
        same = self.base is other.base or self.base == other.base  # releases usually share one base object
        return same and self._same_offset(other.offset)

    def _same_offset(self, offset: Offset) -> bool:
        if isinstance(self.offset, np.ndarray) and isinstance(offset, np.ndarray):
            return self.offset.dtype == offset.dtype and np.array_equal(self.offset, offset)
        return type(self.offset) is type(offset) and bool(self.offset == offset)

    def __hash__(self) -> int:
        offset = self.offset
        key = (offset.dtype.str, offset.shape, offset.tobytes()) if isinstance(offset, np.ndarray) else offset
        return hash((self.base, key))

    def __repr__(self) -> str:
        return f"Shifted({self.base!r}, {self.offset!r})"

    def to_json(self) -> dict[str, Any]:
        offset = encode_value(self.offset) if isinstance(self.offset, np.ndarray) else exact_str(self.offset)
        return {"law": self.name, "base": self.base.to_json(), "offset": offset}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.keys() != {"law", "base", "offset"}:
            raise InvalidParameterError(
                f"a shifted distribution must have base and offset, got {sorted(data)}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        offset = data["offset"]
        return cls(
            distribution_from_json(data["base"]),
            exact(offset, name="offset") if isinstance(offset, str) else decode_value(offset),
        )

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[Any]:
        copies = self.batch_shape[: len(self.batch_shape) - len(self.base.batch_shape)]
        return self._add(self.base.sample(rng, size + copies))

    def _add(self, draws: NDArray[Any]) -> NDArray[Any]:
        """Return draws + offset.

        For a counting distribution the sum is exact, or an error is raised. With a density it is rounded to
        the nearest float.
        """
        offset = self.offset
        if not self._counting:
            return np.asarray(draws + (offset if isinstance(offset, np.ndarray) else float(offset)))
        if isinstance(offset, Fraction) and offset.denominator == 1:
            return np.asarray(draws + int(offset))
        if isinstance(offset, np.ndarray) and offset.dtype.kind == "i":
            return np.asarray(draws + offset)
        moved = np.asarray(offset if isinstance(offset, np.ndarray) else float(offset))
        total = draws + moved
        if (isinstance(offset, Fraction) and dyadic(float(offset)) != offset) or np.any(
            _sum_error(draws, moved, total)
        ):
            raise InvalidParameterError(
                f"the sum of an outcome of {self.base!r} and its offset must be a float exactly, got a sum "
                "that rounds. Before adding noise on a lattice, scale the data to integers, or round to a "
                "multiple of a power of 1/2.",
                code="E-SUM-ROUNDS",
            )
        return np.asarray(total)

    def _difference(self, x: Any) -> NDArray[Any]:
        """Return x - offset, one entry for each copy.

        For a counting distribution it is never rounded onto the lattice or off it.
        """
        array = trailing(x, self.batch_shape)
        offset = self.offset
        if array.dtype.kind == "O" or (
            self._counting and isinstance(offset, Fraction) and not _is_float(offset)
        ):
            offsets = np.broadcast_to(np.asarray(offset, dtype=object), array.shape).ravel()
            exact_ones = [_minus(v, o) for v, o in zip(array.ravel().tolist(), offsets.tolist(), strict=True)]
            found = np.empty(len(exact_ones), dtype=object)
            found[:] = exact_ones
            return found.reshape(array.shape)
        if array.dtype.kind in "biu" and isinstance(offset, np.ndarray) and offset.dtype.kind == "i":
            return np.asarray(array.astype(np.int64) - offset)
        floats = outcomes(array)
        moved = np.asarray(offset if isinstance(offset, np.ndarray) else float(offset), dtype=np.float64)
        difference = floats - moved
        return _nudge(floats, moved, difference) if self._counting else difference

    def logp(self, x: Any) -> Floats:
        return np.asarray(self.base.logp(self._difference(x)))

    def cdf(self, x: Any) -> Floats:
        return np.asarray(self.base.cdf(self._difference(x)))

    def sf(self, x: Any) -> Floats:
        return np.asarray(self.base.sf(self._difference(x)))

    def ppf(self, q: Any) -> NDArray[Any]:
        return self._add(self.base.ppf(trailing(q, self.batch_shape)))

    def logp_ball(self, x: Any) -> arb:
        if isinstance(self.offset, Fraction) and not self.base.batch_shape and np.ndim(x) == 0:
            return self.base.logp_ball(_minus(_plain(x), self.offset))
        entries = one_whole(x, self.batch_shape)
        offsets = np.broadcast_to(np.asarray(self.offset, dtype=object), self.batch_shape).ravel().tolist()
        differences = [_minus(v, o) for v, o in zip(entries, offsets, strict=True)]
        inner = self.base.batch_shape
        if not inner:
            return sum((self.base.logp_ball(d) for d in differences), arb(0))
        rows = np.array([*differences, None], dtype=object)[:-1].reshape((-1, *inner))
        return sum((self.base.logp_ball(row) for row in rows), arb(0))

    def _scalar(self) -> Fraction:
        if isinstance(self.offset, np.ndarray) or self.base.batch_shape:
            raise NotTractableError(
                f"this is defined only for a scalar distribution, got copies of shape {self.batch_shape}. "
                "Evaluate each entry by itself.",
                code="E-DISTRIBUTION-NOT-SCALAR",
            )
        return self.offset

    def cdf_ball(self, x: Any) -> arb:
        return self.base.cdf_ball(_minus(_plain(x), self._scalar()))

    def sf_ball(self, x: Any) -> arb:
        return self.base.sf_ball(_minus(_plain(x), self._scalar()))

    def log_mgf_ball(self, t: Argument) -> arb:
        return self.base.log_mgf_ball(t) + tilt(t) * ball(self._scalar())

    @property
    def noise_and_offset(self) -> tuple[Distribution, Offset]:
        return self.base, self.offset

    def outcome_against(self, other: Distribution, distance: float) -> Any:
        """Return an outcome beyond both centres, on the side of this one.

        For log-concave noise log p - log p' is largest there.
        """
        if not isinstance(other, Shifted) or self.base != other.base:
            return super().outcome_against(other, distance)
        here, there = np.asarray(self.offset, dtype=float), np.asarray(other.offset, dtype=float)
        away = distance * np.sqrt(self.base.variance())
        value = np.where(here >= there, np.maximum(here, there) + away, np.minimum(here, there) - away)
        if self._counting:
            value = np.rint(value).astype(np.int64)
        return value.item() if value.ndim == 0 else value

    def noise_parts(self, count: int = 1) -> Iterator[tuple[dict[str, Any] | None, int, Fraction]]:
        if isinstance(self.offset, np.ndarray) or self.batch_shape:
            raise InvalidParameterError(
                "noise must be a scalar distribution, got a batch. Pass a count instead.",
                code="E-NOISE-NOT-SCALAR",
            )
        yield from self.base.noise_parts(count)
        yield None, 0, count * self.offset

    def entry(self, place: int) -> Distribution:
        if self.base.batch_shape:
            return super().entry(place)
        return self.base.shift(dyadic(np.asarray(self.offset).ravel()[place]))

    def scaled(self, factor: ExactLike) -> Self:
        return type(self)(self.base.scaled(factor), self.offset)

    def largest_loss(self, other: Distribution) -> Fraction | arb | None:
        """Return the sum of the losses of the entries' shifts, against another shift of the same noise."""
        if not isinstance(other, Shifted) or self.base != other.base or self.base.batch_shape:
            return None
        if self.batch_shape != other.batch_shape:
            return None
        offsets = (np.asarray(one.offset, dtype=object).ravel().tolist() for one in (self, other))
        total: Fraction | arb = Fraction(0)
        for here, there in zip(*offsets, strict=True):
            loss = self.base.shift_loss(dyadic(here) - dyadic(there))
            if loss is None:
                return None
            total = _sum_of(total, loss)
        return total

    def mean(self) -> float:
        return self.base.mean() + float(self._scalar())

    def variance(self) -> float:
        """Return the variance of each copy, which does not depend on the shift."""
        return self.base.variance()

    @property
    def support(self) -> Support:
        offset, ends = self._scalar(), self.base.support
        lower = None if ends.lower is None else ends.lower + offset
        upper = None if ends.upper is None else ends.upper + offset
        return Support(lower=lower, upper=upper, integer=ends.integer and offset.denominator == 1)

    @property
    def log_concave(self) -> LogConcavity:
        return self.base.log_concave

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        if isinstance(self.offset, np.ndarray) and not self.base.batch_shape:
            parts = [Shifted(self.base, o) for o in self.offset.ravel()]
            return joint_atoms(parts, self.batch_shape, tail)
        if isinstance(self.offset, np.ndarray) or self.base.batch_shape:
            raise NotTractableError(
                f"a shift of coordinates cannot be enumerated, got {self!r}. Shift each coordinate by "
                "itself.",
                code="E-ATOMS-MISSING",
            )
        offset = self.offset
        return ((_outcome(dyadic(value) + offset), p) for value, p in self.base.atoms(tail=tail))


def _sum_of(one: Fraction | arb, two: Fraction | arb) -> Fraction | arb:
    if isinstance(one, Fraction) and isinstance(two, Fraction):
        return one + two
    return sum((ball(part) if isinstance(part, Fraction) else part for part in (one, two)), arb(0))


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x


def _minus(value: Any, offset: Any) -> Any:
    """Return value - offset as an exact rational, or an infinite value unchanged."""
    if isinstance(value, float | np.floating) and np.isinf(value):
        return float(value)
    if not isinstance(value, int | float | Fraction | np.number | np.bool_):
        raise InvalidParameterError(
            f"an outcome must be a real number, got {type(value).__name__}.", code="E-OUTCOME-NOT-NUMBER"
        )
    return dyadic(value) - dyadic(offset)


def _is_float(number: Fraction) -> bool:
    try:
        return Fraction(float(number)) == number
    except OverflowError:
        return False


def _outcome(number: Fraction) -> int | float | Fraction:
    """Return an outcome as ``sample`` would: an integer, or a float if a float can represent it."""
    if number.denominator == 1:
        return int(number)
    return float(number) if _is_float(number) else number


def _sum_error(a: Any, b: Any, total: Any) -> Any:
    """Return the exact rounding error of total = a + b (Knuth, TAOCP 2, 4.2.2)."""
    back = total - a
    return (a - (total - back)) + (b - back)


def _nudge(x: Floats, offset: Floats, difference: Floats) -> NDArray[Any]:
    """Return the rounded difference, or the next float towards the true value if it rounded onto an integer.

    Below 2^52 the neighbours of an integer are not integers, so an outcome off the lattice stays off it, on
    the same side. A difference that rounded to a non-integer float already has the floor of the true value,
    because integers are floats.
    """
    with np.errstate(invalid="ignore"):  # the error of an infinite outcome is NaN, and it stays infinite
        error = _sum_error(x, -offset, difference)
        moved = (error != 0) & (np.floor(difference) == difference) & (np.abs(difference) < _ALL_INTEGERS)
    if not moved.any():
        return difference
    return np.where(moved, np.nextafter(difference, np.where(error > 0, np.inf, -np.inf)), difference)


def _exact_sum(first: Offset, second: Offset) -> Offset | None:
    """Return first + second, or None if arrays cannot represent it exactly."""
    if isinstance(first, Fraction) and isinstance(second, Fraction):
        return first + second
    parts: list[NDArray[Any]] = []
    for part in (first, second):
        if isinstance(part, np.ndarray):
            parts.append(part)
        elif part.denominator == 1 and abs(part) < _LARGEST_INTEGER:
            parts.append(np.asarray(int(part)))
        elif _is_float(part):
            parts.append(np.asarray(float(part)))
        else:
            return None
    a, b = parts
    if a.ndim and b.ndim and a.shape != b.shape:
        return None
    if a.dtype.kind == b.dtype.kind == "i":
        total = a + b  # below 2^63: both are below 2^62
        return total if np.all(np.abs(total) < _LARGEST_INTEGER) else None
    if any(np.any(np.abs(p) >= _ALL_INTEGERS) for p in parts if p.dtype.kind == "i"):
        return None
    a, b = a.astype(np.float64), b.astype(np.float64)
    total = a + b
    return total if np.isfinite(total).all() and not np.any(_sum_error(a, b, total)) else None


#: The distribution that was shifted last, and its shifts by plain integers: the users of a batch share both.
_RECENT: list[tuple[Distribution | None, dict[int, Distribution]]] = [(None, {})]
#: The largest number of shifts that are kept.
_KEPT = 4096


def _shift(base: Distribution, offset: Any) -> Distribution:
    """Return ``Shifted.of(base, offset)``, the same object for the same base and integer."""
    if type(offset) is not int:
        return Shifted.of(base, offset)
    recent, known = _RECENT[0]
    if recent is not base:
        known = {}
        _RECENT[0] = (base, known)
    found = known.get(offset)
    if found is None:
        found = Shifted.of(base, offset)
        if len(known) < _KEPT:
            known[offset] = found
    return found


shift_by(_shift)
