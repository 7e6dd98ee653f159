"""Compute the probabilities of a finite distribution exactly: rationals or sums of exponentials (``ExpSum``).

Balls enclose probabilities but cannot show that two of them are equal. Sums of exponentials with rational
exponents decide equality, if all probabilities of a distribution are in proportion to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from dpaudit.core.exact import dyadic
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.binomial import Bernoulli
from dpaudit.distributions.continuous import Exponential, Gumbel
from dpaudit.distributions.finite import Categorical
from dpaudit.distributions.randomised_response import RandomisedResponse
from dpaudit.distributions.selection import NoisyArgmax
from dpaudit.kernel.t1.exponentials import ExpSum, log_ratio

__all__ = ["exact_loss", "exact_weights", "same_chances"]

#: The largest number of symbols or candidates, and of candidates with exponential noise.
MAX_OUTCOMES = 200
MAX_NOISY = 8


def exact_weights(distribution: Distribution) -> list[ExpSum] | None:
    """Return weights of the outcomes 0, 1, ..., in proportion to their probabilities, or ``None`` if unknown.

    Supported are rational distributions, randomised response, and the argmax of scores with two kinds of
    noise of scale b. With Gumbel noise the weights are e^(q_i / b) (the exponential mechanism). With
    exponential noise they are e^(t_i) times the integral over u >= 0 of e^-u times the product over j != i of
    1 - e^(t_j) e^-u, with t_i = (q_i - max q) / b, because only the winner exceeds the level u above the
    largest score. Expanding the product gives e_k / (k + 1) with alternating signs, where e_k are the
    elementary symmetric sums of the other e^(t_j).
    """
    if isinstance(distribution, Bernoulli):
        return [ExpSum.exp(0, 1 - distribution.p), ExpSum.exp(0, distribution.p)]
    if isinstance(distribution, Categorical) and len(distribution.weights) <= MAX_OUTCOMES:
        return [ExpSum.exp(0, weight) for weight in distribution.weights]
    if isinstance(distribution, RandomisedResponse) and distribution.symbols <= MAX_OUTCOMES:
        return _response(distribution)
    if (
        isinstance(distribution, NoisyArgmax)
        and not distribution.batch_shape
        and distribution.count <= MAX_OUTCOMES
    ):
        return _argmax(distribution)
    return None


def _response(distribution: RandomisedResponse) -> list[ExpSum]:
    if distribution.epsilon is not None:
        keep, lie = ExpSum.exp(distribution.epsilon), ExpSum.exp(0)
    else:
        share = distribution.keep or Fraction(0)
        keep, lie = ExpSum.exp(0, share), ExpSum.exp(0, (1 - share) / (distribution.symbols - 1))
    return [keep if symbol == distribution.truth else lie for symbol in range(distribution.symbols)]


def _argmax(distribution: NoisyArgmax) -> list[ExpSum] | None:
    if not isinstance(distribution.noise, Gumbel | Exponential):
        return None
    scores = [dyadic(q) for q in distribution.scores.tolist()]
    gaps = [(q - max(scores)) / distribution.noise.scale for q in scores]
    if isinstance(distribution.noise, Gumbel):
        return [ExpSum.exp(gap) for gap in gaps]
    return [_flipped(gaps, winner) for winner in range(len(gaps))] if len(gaps) <= MAX_NOISY else None


def _flipped(gaps: Sequence[Fraction], winner: int) -> ExpSum:
    sums = [ExpSum.exp(0)]  # the elementary symmetric sums of the others' e^gap
    for j, gap in enumerate(gaps):
        if j != winner:
            raised = [ExpSum({}), *(part * ExpSum.exp(gap) for part in sums)]
            sums = [a + b for a, b in zip([*sums, ExpSum({})], raised, strict=True)]
    signed = (part * ExpSum.exp(0, Fraction((-1) ** k, k + 1)) for k, part in enumerate(sums))
    return ExpSum.exp(gaps[winner]) * reduce(ExpSum.__add__, signed)


def exact_loss(distribution: Distribution, other: Distribution) -> Fraction | None:
    """Return the largest |log p - log p'| over all outcomes, or ``None`` if a log-ratio is not rational."""
    left, right = exact_weights(distribution), exact_weights(other)
    if left is None or right is None or len(left) != len(right):
        return None
    all_left, all_right = reduce(ExpSum.__add__, left), reduce(ExpSum.__add__, right)
    worst = Fraction(0)
    for p, q in zip(left, right, strict=True):
        if p.is_zero() and q.is_zero():
            continue
        loss = log_ratio(p * all_right, q * all_left)
        if loss is None:
            return None
        worst = max(worst, abs(loss))
    return worst


def same_chances(left: Sequence[ExpSum], right: Sequence[ExpSum]) -> bool:
    """Return whether two lists of weights are in proportion, term by term."""
    if len(left) != len(right):
        return False
    all_left, all_right = reduce(ExpSum.__add__, left), reduce(ExpSum.__add__, right)
    return all(p * all_right == q * all_left for p, q in zip(left, right, strict=True))
