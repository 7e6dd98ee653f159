"""Define integer distributions modulo m, which a server sees if it sums masked messages in Z_m.

P(Y = y) = Σ_j p(y + j m). Finite supports give a finite sum. For a log-concave distribution, the two
remainders are at most geometric (fact F6, in steps of m, because every m-th term of a log-concave sequence is
a log-concave sequence). For other distributions, the tail of the distribution bounds them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import decode_value, encode_value, exact
from dpaudit.distributions.base import (
    BaseMeasure,
    Distribution,
    Support,
    centre_distances,
    distribution_from_json,
    register,
)
from dpaudit.distributions.copies import joint_atoms, one_whole, trailing
from dpaudit.distributions.lattice import LatticeDistribution
from dpaudit.distributions.polya import Polya
from dpaudit.distributions.polya_difference import PolyaDifference
from dpaudit.distributions.scalar import Floats, levels, outcomes
from dpaudit.kernel.ball import ball, precision, upper_exact

__all__ = ["WrappedMod"]

#: The largest modulus. Sums of two residues, or of a residue and an offset, are exact in int64 and in floats.
_LARGEST = 2**52
#: The largest number of terms of a sum over j, and of residues in a table for cdf and ppf.
_TERMS, _TABLE = 2**16, 2**16
#: Largest modulus whose residues are all searched, and the working precision at the residue found.
_SEARCHED, _BITS = 2**16, 128
#: Numbers in the largest temporary array.
_CHUNK = 2**22


@register("wrapped-mod")
@dataclass(frozen=True, init=False, eq=False, repr=False)
class WrappedMod(Distribution):
    """The distribution of (X + offset) mod m on 0, ..., m - 1, for an integer variable X.

    Parameters
    ----------
    base : Distribution
        The distribution of X, a scalar distribution on the integers.
    modulus : int
        The modulus m, from 1 to 2^52.
    offset : int or array of int
        The shift (0), stored modulo m. An array gives independent copies.

    Raises
    ------
    InvalidParameterError
        The modulus or the offset is out of range.
    NotTractableError
        ``base`` is not a scalar distribution on the integers. Evaluation also raises this if ``base`` is so
        wide that a sum has more than 2^16 terms.
    """

    base: LatticeDistribution
    modulus: int
    offset: NDArray[np.int64]
    base_measure: ClassVar[BaseMeasure] = BaseMeasure.COUNTING

    def __init__(self, base: Distribution, *, modulus: int, offset: Any = 0) -> None:
        if not isinstance(base, LatticeDistribution):
            raise NotTractableError(
                f"only a scalar distribution on the integers can be wrapped, got {base!r}. Pass its shift "
                "as offset.",
                code="E-DISTRIBUTION-NOT-LATTICE",
            )
        if isinstance(modulus, bool) or not isinstance(modulus, int) or not 1 <= modulus <= _LARGEST:
            raise InvalidParameterError(
                f"modulus must be an integer from 1 to 2^52, got {modulus!r}.", code="E-MODULUS-RANGE"
            )
        values = np.asarray(offset)
        numbers = values.ravel().tolist()
        if values.dtype.kind not in "biufO" or not all(v == v // 1 for v in numbers):
            raise InvalidParameterError(
                f"an offset in Z_m must be an integer, got {offset!r}.", code="E-OFFSET-NOT-INTEGER"
            )
        kept = np.array([int(v % modulus) for v in numbers], dtype=np.int64).reshape(values.shape)
        kept.setflags(write=False)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "modulus", modulus)
        object.__setattr__(self, "offset", kept)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return tuple(self.offset.shape)

    def entry(self, place: int) -> WrappedMod:
        return WrappedMod(self.base, modulus=self.modulus, offset=int(self.offset.ravel()[place]))

    @property
    def added_noise(self) -> Distribution:
        return self.base

    def alike(self, other: Distribution) -> TypeGuard[WrappedMod]:
        """Return whether ``other`` is this noise modulo the same m, up to its offsets, in the same shape."""
        return (
            isinstance(other, WrappedMod)
            and self.base == other.base
            and self.modulus == other.modulus
            and self.batch_shape == other.batch_shape
        )

    def distances(self, other: Distribution) -> list[Fraction] | None:
        gaps = centre_distances(self.offset, other.offset) if self.alike(other) else None
        return None if gaps is None else [min(gap, self.modulus - gap) for gap in gaps]

    def largest_loss(self, other: Distribution) -> Fraction | None:
        """Return the sum over entries of the largest |log p - log p'|, or ``None`` if it is not known.

        The loss of the noise itself at the distance modulo m bounds it too, because the reduction is
        post-processing. Rounding upwards stays below that bound.
        """
        if not self.alike(other):
            return None
        start, shifts, total = WrappedMod(self.base, modulus=self.modulus), self._shifts(other), Fraction(0)
        for shift in shifts[shifts != 0].ravel().tolist():
            # both directions: the noise need not be symmetric
            ends = [_worst(start, d) for d in (shift, -shift % self.modulus)]
            if any(end is None for end in ends):
                return None
            unwrapped = self.base.shift_loss(Fraction(min(shift, self.modulus - shift)))
            bounds = [unwrapped] if isinstance(unwrapped, Fraction) else []
            total += min([max(end[1] for end in ends if end is not None), *bounds])
        return total

    def _shifts(self, other: WrappedMod) -> NDArray[np.int64]:
        """Return other.offset - self.offset in 0..m-1. A rotation maps both offsets to 0 and this."""
        return np.asarray((other.offset - self.offset) % self.modulus)

    def outcome_against(self, other: Distribution, distance: float) -> Any:
        """Return for each entry the residue with the largest loss, and the likeliest if it did not change."""
        if not self.alike(other):
            return super().outcome_against(other, distance)
        start, shifts = WrappedMod(self.base, modulus=self.modulus), self._shifts(other)
        found = [_worst(start, shift) for shift in shifts.ravel().tolist()]
        if any(item is None for item in found):
            return super().outcome_against(other, distance)
        relative = np.array([(item or (0,))[0] for item in found], dtype=np.int64).reshape(shifts.shape)
        residues = np.asarray((self.offset + relative) % self.modulus)
        return residues.item() if residues.ndim == 0 else residues

    @property
    def support(self) -> Support:
        return Support(lower=Fraction(0), upper=Fraction(self.modulus - 1), integer=True)

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        draws = self.base.sample(rng, size + self.batch_shape)
        return np.asarray((draws % self.modulus + self.offset) % self.modulus, dtype=np.int64)

    def logp(self, x: Any) -> Floats:
        array = outcomes(trailing(x, self.batch_shape))
        inside = (array >= 0) & (array < self.modulus) & (np.floor(array) == array)
        residue = (np.where(inside, array, 0).astype(np.int64) - self.offset) % self.modulus
        values, back = np.unique(residue, return_inverse=True)
        return np.where(
            inside, self._log_residues(values.astype(np.float64))[back.reshape(array.shape)], -np.inf
        )

    def _log_residues(self, residues: Floats) -> Floats:
        """Return log Σ_j p(residue + j m) for residues in 0..m-1, over the terms that matter in floats."""
        first, last = _reach(self.base, self.modulus)
        total = np.full(residues.shape, -np.inf)
        rows = max(1, _CHUNK // max(residues.size, 1))
        for start in range(first, last + 1, rows):
            steps = np.arange(start, min(start + rows, last + 1), dtype=np.float64) * self.modulus
            terms = self.base.logp(residues + steps.reshape(-1, *(1,) * residues.ndim))
            total = np.logaddexp(total, np.logaddexp.reduce(terms, axis=0))
        return total

    def logp_ball(self, x: Any) -> arb:
        total = arb(0)
        known: dict[int, arb] = {}
        entries = one_whole(x, self.batch_shape)
        for value, offset in zip(entries, self.offset.ravel().tolist(), strict=True):
            if not 0 <= value < self.modulus or value != int(value):
                return arb.neg_inf()
            residue = (int(value) - offset) % self.modulus
            if residue not in known:
                chance = self.residue_ball(residue)
                known[residue] = arb.neg_inf() if chance.is_zero() else chance.log()
            total += known[residue]
        return total

    def residue_ball(self, residue: int) -> arb:
        """Return an ``arb`` that contains Σ_j p(residue + j m)."""
        m, ends = self.modulus, self.base.support
        if ends.lower is not None and ends.upper is not None:
            first, last = math.ceil((ends.lower - residue) / m), math.floor((ends.upper - residue) / m)
            return sum((self._term(residue + j * m) for j in range(first, last + 1)), arb(0))
        middle = (round(self.base.mean()) - residue) // m
        halves = [(middle, -1), (middle + 1, 1)]
        near, far = sorted(halves, key=lambda half: abs(residue + half[0] * m))
        total = self._half(residue, *near)
        unseen = self._unseen(residue + near[0] * m, residue + far[0] * m)
        if unseen is not None and unseen < total * arb(2) ** -int(ctx.prec):
            return total + arb(0).union(unseen)
        return total + self._half(residue, *far)

    def _half(self, residue: int, start: int, step: int) -> arb:
        """Return the sum of the terms j = start, start + step, ..., with a bound on the remainder."""
        total, last = arb(0), self._term(residue + start * self.modulus)
        threshold = arb(2) ** -int(ctx.prec)
        for count in range(1, _TERMS):
            total += last
            k = residue + (start + count * step) * self.modulus
            unseen = self._unseen(k - step * self.modulus, k, last=last)
            if unseen is not None and unseen < total * threshold:
                return total + arb(0).union(unseen)
            following = self._term(k)
            rest = self._rest(last, following, k, step)
            if following.is_zero() or rest < total * threshold:
                return total + arb(0).union(rest)
            last = following
        raise NotTractableError(
            f"a wrapped sum may have at most {_TERMS} terms, got more. Use a larger modulus or less noise.",
            code="E-TERMS-TOO-MANY",
        )

    def _unseen(self, near: int, far: int, *, last: arb | None = None) -> arb | None:
        """Return a bound on the terms from ``far`` outwards by the term at ``near`` (``last``), or ``None``.

        It does not evaluate these terms, because distant terms of a Pólya difference are expensive and often
        negligible.
        """
        if not (isinstance(self.base, PolyaDifference) and self.base.shape <= 1 and abs(near) <= abs(far)):
            return None
        # p(j+1) <= x p(j) for j >= 0 (polya_difference.py), and the difference is symmetric
        ratio = _ratio(self.base)
        first = (self._term(near) if last is None else last) * ratio ** (abs(far) - abs(near))
        return first / (1 - ratio**self.modulus)

    def _rest(self, last: arb, following: arb, k: int, step: int) -> arb:
        """Return a bound on the terms from k outwards.

        ``following`` is the first of them, and ``last`` is the term before it.
        """
        if following.is_zero():  # beyond the support or between atoms, only the tail itself is a valid bound
            return self._tail(k, step)
        ratio = None
        if self.base.log_concave.holds:
            ratio = following / last  # ratios decrease outwards, so Σ <= p(k) (1 + ρ + ρ² + ...)
        elif isinstance(self.base, Polya | PolyaDifference) and self.base.shape <= 1 and step * k >= 0:
            # p(j+1) <= x p(j) for j >= 0 (polya_difference.py), and the difference is symmetric
            ratio = _ratio(self.base) ** self.modulus
        if ratio is None:
            return self._tail(k, step)
        return following / (1 - ratio) if ratio < 1 else arb.pos_inf()

    def _tail(self, k: int, step: int) -> arb:
        """Return P(X >= k) if ``step`` is positive, else P(X <= k)."""
        return self.base.sf_ball(k - 1) if step > 0 else self.base.cdf_ball(k)

    def _term(self, k: int) -> arb:
        ends = self.base.support
        outside = (ends.lower is not None and k < ends.lower) or (ends.upper is not None and k > ends.upper)
        return arb(0) if outside else self.base.logp_ball(k).exp()

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        if self.batch_shape:
            parts = [
                WrappedMod(self.base, modulus=self.modulus, offset=o) for o in self.offset.ravel().tolist()
            ]
            return joint_atoms(parts, self.batch_shape, tail)
        if self.modulus > _TABLE:
            raise NotTractableError(
                f"at most {_TABLE} outcomes can be enumerated, got modulus {self.modulus}. Use replay or "
                "sampling.",
                code="E-OUTCOMES-TOO-MANY",
            )
        shift = int(self.offset)
        pairs = ((y, self.residue_ball((y - shift) % self.modulus)) for y in range(self.modulus))
        return ((y, p) for y, p in pairs if not p.is_zero())

    def cdf(self, x: Any) -> Floats:
        array = outcomes(trailing(x, self.batch_shape))
        position = np.clip(np.floor(array), -1, self.modulus - 1).astype(np.int64) + 1
        table = np.broadcast_to(self._cumulated(), (*array.shape, self.modulus + 1))
        return np.asarray(np.take_along_axis(table, position[..., None], axis=-1)[..., 0])

    def ppf(self, q: Any) -> NDArray[np.int64]:
        level = levels(trailing(q, self.batch_shape))
        return np.asarray((self._cumulated()[..., 1:-1] < level[..., None]).sum(axis=-1), dtype=np.int64)

    def _cumulated(self) -> Floats:
        """Return P(Y < y) for y = 0, ..., m, with shape batch_shape + (m + 1,)."""
        if self.modulus > _TABLE:
            raise NotTractableError(
                f"a cdf in Z_m requires m to be at most {_TABLE}, got {self.modulus}. Draw it visibly.",
                code="E-TERMS-TOO-MANY",
            )
        chances = np.exp(self._log_residues(np.arange(float(self.modulus))))
        mine = chances[(np.arange(self.modulus) - self.offset[..., None]) % self.modulus]
        sums = np.cumsum(mine, axis=-1)
        sums[..., -1] = 1.0
        return np.concatenate([np.zeros((*self.batch_shape, 1)), np.minimum(sums, 1.0)], axis=-1)

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.name,
            "base": self.base.to_json(),
            "modulus": str(self.modulus),
            "offset": encode_value(self.offset),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.keys() != {"law", "base", "modulus", "offset"}:
            raise InvalidParameterError(
                f"a {cls.name} distribution must have base, modulus and offset, got {sorted(data)}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        offset = decode_value(data["offset"])
        if not isinstance(offset, np.ndarray):
            raise InvalidParameterError(
                f"an offset must be an array, got {offset!r}.", code="E-DISTRIBUTION-FIELDS"
            )
        modulus = int(exact(data["modulus"], name="modulus"))
        return cls(distribution_from_json(data["base"]), modulus=modulus, offset=offset)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WrappedMod):
            return NotImplemented
        return (
            self.base == other.base
            and self.modulus == other.modulus
            and np.array_equal(self.offset, other.offset)
        )

    def __hash__(self) -> int:
        return hash((self.base, self.modulus, self.offset.shape, self.offset.tobytes()))

    def __repr__(self) -> str:
        return f"WrappedMod({self.base!r}, modulus={self.modulus}, offset={self.offset.tolist()!r})"


@lru_cache(maxsize=4096)
def _worst(here: WrappedMod, shift: int) -> tuple[int, Fraction] | None:
    """Return the residue with the largest log p(y) - log p(y - shift), and that number, rounded upwards.

    ``here`` is the distribution p, with the offset 0. The search covers all residues, in floats. The
    log-ratio at the residue found is then evaluated in balls, so that it is attained there.
    """
    if here.modulus > _SEARCHED:
        return None
    residues = np.arange(here.modulus)
    try:
        logs = here.logp(residues)
        if shift == 0:
            return int(np.argmax(logs)), Fraction(0)
        if not np.isfinite(logs).all():
            return None  # a residue with probability on one side only: there is no largest ratio
        before = (residues - shift) % here.modulus
        place = int(np.argmax(logs - logs[before]))
        with precision(_BITS):
            return place, upper_exact(here.logp_ball(place) - here.logp_ball(int(before[place])))
    except NotTractableError:
        return None


@lru_cache(maxsize=1024)
def _reach(base: LatticeDistribution, modulus: int) -> tuple[int, int]:
    """Return a range of j that contains every term not negligible relative to the largest of its sum."""
    ends = base.support
    if ends.lower is not None and ends.upper is not None:
        first, last = math.floor(ends.lower / modulus), math.floor(ends.upper / modulus)
    else:
        centre = round(base.mean())
        step = math.ceil(math.sqrt(base.variance())) + 1
        peak = float(base.logp(centre))
        while max(float(base.logp(centre - step)), float(base.logp(centre + step))) > peak - 60:
            step *= 2
        # The tails decrease at least geometrically from the centre, so the nearest term on either side
        # dominates the terms beyond it.
        first, last = (centre - step) // modulus - 1, (centre + step) // modulus + 1
    if last - first > _TERMS:
        raise NotTractableError(
            f"a wrapped sum may have at most {_TERMS} terms, got {last - first}. Use a larger modulus or "
            "less noise.",
            code="E-TERMS-TOO-MANY",
        )
    return first, last


def _ratio(distribution: Polya | PolyaDifference) -> arb:
    """Return a ball for x, the limit of p(k+1)/p(k)."""
    if distribution.log_ratio is not None:
        return ball(-distribution.log_ratio).exp()
    assert isinstance(distribution, Polya)  # only Polya may have a ratio instead
    return ball(distribution.ratio or 0)
