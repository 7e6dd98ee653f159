"""Find the worst residue: where an integer distribution modulo m differs most from itself shifted.

A server sees (X + offset) mod m of a secure sum. Only the difference d of two offsets matters, because a
rotation maps the pair (offset, offset + d) to (0, d). The search covers all residues, in floats. The
log-ratio at the residue found is then evaluated in balls, so that it is attained there.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import NotTractableError
from dpaudit.core.exact import exact
from dpaudit.distributions import DiscreteLaplace, WrappedMod
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.ball import precision, upper_exact

__all__ = ["extreme_residues", "wrapped_loss"]

#: Largest modulus whose residues are all searched, and the working precision at the residue found.
_LARGEST, _BITS = 2**16, 128


def extreme_residues(distribution: WrappedMod, other: WrappedMod) -> NDArray[np.int64] | None:
    """Return for each entry the residue with the largest log p - log p', in the shape of the offsets.

    For an entry that did not change, return the likeliest residue. Return ``None`` if the two distributions
    cannot be compared this way.
    """
    shifts = _shifts(distribution, other)
    if shifts is None:
        return None
    found = {
        shift: _worst(distribution.base, distribution.modulus, shift)
        for shift in set(shifts.ravel().tolist())
    }
    if any(item is None for item in found.values()):
        return None
    relative = np.array([(found[shift] or (0,))[0] for shift in shifts.ravel().tolist()], dtype=np.int64)
    return np.asarray((distribution.offset + relative.reshape(shifts.shape)) % distribution.modulus)


def wrapped_loss(distribution: WrappedMod, other: WrappedMod) -> Fraction | None:
    """Return the sum over entries of the largest |log p - log p'|, or ``None`` if it cannot be compared here.

    Discrete Laplace noise never costs more than the distance modulo m over its scale, because every term of
    the wrapped sum has a partner within that ratio. Rounding upwards stays below it.
    """
    shifts = _shifts(distribution, other)
    if shifts is None:
        return None
    total = Fraction(0)
    for shift in shifts[shifts != 0].ravel().tolist():
        # both directions: the noise need not be symmetric
        ends = [
            _worst(distribution.base, distribution.modulus, d) for d in (shift, -shift % distribution.modulus)
        ]
        if any(end is None for end in ends):
            return None
        worst = max(end[1] for end in ends if end is not None)
        if isinstance(distribution.base, DiscreteLaplace):
            worst = min(worst, min(shift, distribution.modulus - shift) / exact(distribution.base.scale))
        total += worst
    return total


def _shifts(distribution: WrappedMod, other: WrappedMod) -> NDArray[np.int64] | None:
    """Return other.offset - distribution.offset in 0..m-1 if everything else agrees, or ``None``."""
    alike = (
        distribution.base == other.base
        and distribution.modulus == other.modulus
        and distribution.batch_shape == other.batch_shape
    )
    return np.asarray((other.offset - distribution.offset) % distribution.modulus) if alike else None


@lru_cache(maxsize=4096)
def _worst(base: Distribution, modulus: int, shift: int) -> tuple[int, Fraction] | None:
    """Return the residue with the largest log p(y) - log p(y - shift), and that number, rounded upwards."""
    if modulus > _LARGEST:
        return None
    here, there = WrappedMod(base, modulus=modulus), WrappedMod(base, modulus=modulus, offset=shift)
    residues = np.arange(modulus)
    try:
        logs = here.logp(residues)
        if shift == 0:
            return int(np.argmax(logs)), Fraction(0)
        if not np.isfinite(logs).all():
            return None  # a residue with probability on one side only: there is no largest ratio
        place = int(np.argmax(logs - logs[(residues - shift) % modulus]))
        with precision(_BITS):
            return place, upper_exact(here.logp_ball(place) - there.logp_ball(place))
    except NotTractableError:
        return None
