"""Measure the shift of a site's noise between two inputs: its distribution, and the change of each entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dpaudit.core.exact import dyadic
from dpaudit.distributions import (
    Binomial,
    CountVector,
    DiscreteGaussian,
    Gaussian,
    Shifted,
    ShuffledMultiset,
    Skellam,
    WrappedMod,
)
from dpaudit.distributions.base import Distribution

__all__ = ["base_of", "moved_message", "moves_of", "spread_of"]


def base_of(distribution: Distribution) -> Distribution:
    """Return the noise without its offset."""
    return distribution.base if isinstance(distribution, Shifted | WrappedMod) else distribution


def moves_of(distribution: Distribution, other: Distribution) -> list[Fraction] | None:
    """Return the change of each entry of additive noise, the short distance modulo m.

    Return ``None`` if the two are not the same noise of one shape.
    """
    if type(distribution) is not type(other) and not {type(distribution), type(other)} <= {
        Shifted,
        type(base_of(distribution)),
    }:
        return None
    if base_of(distribution) != base_of(other) or distribution.batch_shape != other.batch_shape:
        return None
    here, there = _offsets(distribution), _offsets(other)
    if len(here) != len(there):
        return None
    # Most entries are unchanged, so make fractions only for the others.
    gaps = [Fraction(0) if a == b else abs(dyadic(a) - dyadic(b)) for a, b in zip(here, there, strict=True)]
    if isinstance(distribution, WrappedMod) and isinstance(other, WrappedMod):
        if distribution.modulus != other.modulus:
            return None
        gaps = [min(gap, distribution.modulus - gap) for gap in gaps]
    return gaps


def moved_message(
    distribution: Distribution, other: Distribution
) -> tuple[Distribution, Distribution] | None:
    """Return the two distributions of the one changed message, if all other shuffled messages agree.

    Return ``None`` otherwise. The shuffled messages are a function of all messages in order, of which one
    changed. So any bound on the loss of that one alone bounds the loss of the shuffled ones.
    """
    if type(distribution) is not type(other) or not isinstance(distribution, ShuffledMultiset | CountVector):
        return None
    here, there = (Counter(dict(one.groups)) for one in (distribution, other))  # type: ignore[attr-defined]
    gone, come = list((here - there).elements()), list((there - here).elements())
    return (gone[0], come[0]) if len(gone) == len(come) == 1 else None


def spread_of(noise: Distribution) -> Fraction | None:
    """Return the variance (for a discrete Gaussian its parameter) of noise with Gaussian tails.

    Return ``None`` for other noise, whose worst loss counts.
    """
    if isinstance(noise, Gaussian | DiscreteGaussian):
        return noise.sigma2
    if isinstance(noise, Skellam):
        return Fraction(noise.parameters()["variance"])
    if isinstance(noise, Binomial):
        return noise.trials * noise.p * (1 - noise.p)
    return None


def _offsets(distribution: Distribution) -> Sequence[Fraction | float]:
    offset = distribution.offset if isinstance(distribution, Shifted | WrappedMod) else Fraction(0)
    if isinstance(offset, Fraction):
        return [offset]
    entries: Sequence[float] = offset.ravel().tolist()
    return entries
