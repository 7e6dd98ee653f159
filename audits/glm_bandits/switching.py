"""Determinant switching with noise: doublings that happen whatever the noise, and the worst noise of Lemma
O.4, in exact numbers.

Sequences are diagonal: ``growth[i]`` is what direction i of T_s has gained, the noise moves every diagonal
entry by at most ``bound``: its operator norm. Determinants are products, norms quotients of fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from dpaudit.errors import InvalidParameterError
from dpaudit.kernel.ball import arb

__all__ = ["Noisy", "doublings", "hidden_growth", "sure_switches"]


def sure_switches(*, d: int, grown: arb, share: arb, step: arb) -> int:
    """Doublings of the largest determinant so far that happen for every noise of norm ``share`` lambda, while
    T_s grows from lambda I to (1 + ``grown``) lambda I in equal directions.

    After a switch at a lambda I the largest determinant is at most (a + share)^d; it has doubled for certain
    at b with (b - share)^d > 2 (a + share)^d, and before all directions have grown by one ``step`` more. A tie
    counts as no switch.
    """
    root = (arb(2).log() / d).exp()
    level, count = arb(1), 0
    while True:
        level = root * (level + share) + share + step
        if not level < 1 + grown:
            return count
        count += 1


@dataclass(frozen=True)
class Noisy:
    """Diagonals of That_s and T_s, one tuple for each round s = 1, ..., t."""

    released: Sequence[tuple[Fraction, ...]]
    true: Sequence[tuple[Fraction, ...]]

    def determinants(self) -> list[Fraction]:
        """det That_s."""
        return [prod(row, start=Fraction(1)) for row in self.released]

    def largest_ratio(self, first: int, later: int) -> Fraction:
        """The largest squared ratio of norms, y in That_first^-1 against That_later^-1."""
        pairs = zip(self.released[later], self.released[first], strict=True)
        return max(b / a for b, a in pairs)


def doublings(determinants: Sequence[Fraction]) -> list[int]:
    """Rounds, from 0, in which the largest determinant so far first is twice what it was at the last one; the
    first of them is round 0."""
    found, largest = [0], determinants[0]
    reference = largest
    for s, value in enumerate(determinants):
        largest = max(largest, value)
        if largest >= 2 * reference:
            found.append(s)
            reference = largest
    return found


def hidden_growth(*, d: int, bound: Fraction, ridge: Fraction, rounds: int) -> Noisy:
    """All arms along e_1, over ``rounds`` rounds; the noise is +bound in every direction but e_1 at round 1,
    where the determinant is remembered, and -bound afterwards, +bound along e_1.

    Raises ``InvalidParameterError`` unless 0 <= bound < ridge and there is a round.
    """
    if not 0 <= bound < ridge or rounds < 1 or d < 1:
        raise InvalidParameterError(
            f"the noise must stay below the ridge, got {bound}, ridge {ridge}, {rounds} rounds; lower it."
        )
    true = [(ridge + s, *[ridge] * (d - 1)) for s in range(rounds)]
    first = (ridge - bound, *[ridge + bound] * (d - 1))
    later = [(row[0] + bound, *[ridge - bound] * (d - 1)) for row in true[1:]]
    return Noisy([first, *later], true)
