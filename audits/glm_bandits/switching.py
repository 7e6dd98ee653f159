"""Check determinant switching with noise, in exact numbers.

The module computes doublings that happen for all noise, and the worst noise of Lemma O.4. Sequences are
diagonal. So is the noise, with entries of at most ``bound``, which is its operator norm. Determinants are
products of fractions, and ratios of norms are quotients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb

__all__ = ["Noisy", "doublings", "hidden_growth", "sure_switches"]


def sure_switches(*, d: int, grown: arb, share: arb, step: arb) -> int:
    """Count the doublings of the largest determinant that happen for every noise of norm ``share`` lambda.

    T_s grows from lambda I to (1 + ``grown``) lambda I in equal directions. After a switch at a lambda I
    the largest determinant is at most (a + share)^d. It has certainly doubled at b with (b - share)^d > 2
    (a + share)^d, and before all directions have grown by one ``step`` more. A tie counts as no switch.
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
    """Diagonals of That_s per round, and the rounds at which the largest determinant so far has doubled.

    A diagonal is (entry along e_1, each of the d - 1 others). The rounds are 0 = tau_1 < tau_2 < ...
    """

    d: int
    released: Sequence[tuple[Fraction, Fraction]]
    switches: Sequence[int]

    def largest_ratio(self, first: int, later: int) -> Fraction:
        """Return the largest squared ratio of norms, y in That_first^-1 against That_later^-1."""
        pairs = list(zip(self.released[later], self.released[first], strict=True))
        return max(b / a for b, a in pairs[: min(self.d, 2)])


def doublings(determinants: Sequence[Fraction]) -> list[int]:
    """Return the rounds, from 0, at which the largest determinant so far has doubled since the previous
    such round.

    The first is round 0.
    """
    found, reference = [0], determinants[0]
    for s, value in enumerate(determinants):
        if value >= 2 * reference:
            found.append(s)
            reference = value
    return found


def hidden_growth(*, d: int, bound: Fraction, ridge: Fraction) -> Noisy:
    """Return the worst-case sequence in which noise hides the growth of one direction.

    All arms are e_1. The noise is -bound until the determinant, with +bound in all directions but e_1,
    would be twice the first one. At that round the noise is this value, and the determinant is remembered.
    Afterwards the noise is -bound in all directions but e_1, which hides the growth, until the determinant
    has doubled once more.

    Raise ``InvalidParameterError`` unless 0 <= bound < ridge.
    """
    if not 0 <= bound < ridge or d < 1:
        raise InvalidParameterError(
            f"the noise must stay below the ridge, got {bound}, ridge {ridge}, d {d}."
        )
    low, high = ridge - bound, ridge + bound
    released = [(low, low)]
    determinants = [low**d]
    while len(found := doublings(determinants)) < 2:
        along = ridge + len(released) - bound
        pair = along, high
        if along * high ** (d - 1) < 2 * determinants[0]:
            pair = along, low
        released.append(pair)
        determinants.append(pair[0] * pair[1] ** (d - 1))
    reference = determinants[found[-1]]
    while determinants[-1] < 2 * reference or len(determinants) == found[-1] + 1:
        released.append((ridge + len(released) + bound, low))
        determinants.append(released[-1][0] * low ** (d - 1))
    return Noisy(d, released, doublings(determinants))


def rising(*, d: int, bound: Fraction, ridge: Fraction, rounds: int) -> list[Fraction]:
    """Return det That_s, s = 1, ..., ``rounds``, for the arms e_1, ..., e_d in turn.

    The noise is -bound at the first round and +bound at all others, which gives the most doublings.
    """
    found = [(ridge - bound) ** d]
    for s in range(1, rounds):
        whole, rest = divmod(s, d)
        level = ridge + whole + bound
        found.append((level + 1) ** rest * level ** (d - rest))
    return found
