"""By how much the noise of a site moved between two inputs: its law, and the change of each entry."""

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
from dpaudit.distributions.base import Law

__all__ = ["base_of", "moved_message", "moves_of", "spread_of"]


def base_of(law: Law) -> Law:
    """The noise without its offset."""
    return law.base if isinstance(law, Shifted | WrappedMod) else law


def moves_of(law: Law, other: Law) -> list[Fraction] | None:
    """By how much each entry of additive noise moved, modulo m the short way round; ``None`` if the two are
    not the same noise of one shape."""
    if type(law) is not type(other) and not {type(law), type(other)} <= {Shifted, type(base_of(law))}:
        return None
    if base_of(law) != base_of(other) or law.batch_shape != other.batch_shape:
        return None
    here, there = _offsets(law), _offsets(other)
    if len(here) != len(there):
        return None
    # Most entries have not moved: fractions are made for the others alone.
    gaps = [Fraction(0) if a == b else abs(dyadic(a) - dyadic(b)) for a, b in zip(here, there, strict=True)]
    if isinstance(law, WrappedMod) and isinstance(other, WrappedMod):
        if law.modulus != other.modulus:
            return None
        gaps = [min(gap, law.modulus - gap) for gap in gaps]
    return gaps


def moved_message(law: Law, other: Law) -> tuple[Law, Law] | None:
    """The laws of the one message that moved, where both laws are of shuffled messages that agree in all
    others; ``None`` otherwise.

    The shuffled messages are a function of all messages in order, of which one moved: whatever bounds the
    loss of that one alone bounds the loss of the shuffled ones.
    """
    if type(law) is not type(other) or not isinstance(law, ShuffledMultiset | CountVector):
        return None
    here, there = (Counter(dict(one.groups)) for one in (law, other))  # type: ignore[attr-defined]
    gone, come = list((here - there).elements()), list((there - here).elements())
    return (gone[0], come[0]) if len(gone) == len(come) == 1 else None


def spread_of(noise: Law) -> Fraction | None:
    """The variance (of a discrete Gaussian its parameter) of noise with Gaussian tails; ``None`` for other
    noise, whose worst loss counts."""
    if isinstance(noise, Gaussian | DiscreteGaussian):
        return noise.sigma2
    if isinstance(noise, Skellam):
        return Fraction(noise.parameters()["variance"])
    if isinstance(noise, Binomial):
        return noise.trials * noise.p * (1 - noise.p)
    return None


def _offsets(law: Law) -> Sequence[Fraction | float]:
    offset = law.offset if isinstance(law, Shifted | WrappedMod) else Fraction(0)
    if isinstance(offset, Fraction):
        return [offset]
    entries: Sequence[float] = offset.ravel().tolist()
    return entries
