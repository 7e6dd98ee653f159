"""Bound a privacy claim from guesses which canaries were in one training run (Steinke et al. 2023).

Each of m canaries is included by its own fair coin, the mechanism runs once, and the auditor guesses for each
canary whether it was included, or abstains. If the mechanism is epsilon-DP, then given everything else, each
coin equals the guess with probability at most q = e^epsilon/(1 + e^epsilon): by Bayes' rule with prior 1/2,
the odds of the two values of one coin change by a factor of at most e^epsilon. Given the guesses, the coins
in order are therefore correct at most as often as r independent coins of bias q, for r guesses. So

    P(at least v of r guesses are correct) <= P(Binomial(r, q) >= v).

For (epsilon, delta)-DP the bound grows by 2 m delta max_i P(v - i <= Binomial(r, q) < v)/i over i = 1..v
(Steinke, Nasr & Jagielski, *Privacy Auditing with One (1) Training Run*, theorem 5.2 and appendix D). All
probabilities are upper ends of balls, so a p-value is never too small.

A claim of another kind implies (epsilon, delta) points, here with small deltas because of the factor m. It is
refuted at alpha if a point is refuted at alpha divided by their number.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.blackbox.check import check_alpha, check_claim
from dpaudit.blackbox.hypotheses import Family, Points, family_of
from dpaudit.blackbox.result import CheckResult
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Estimate
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.kernel.ball import arb, ball, precision, upper

__all__ = ["one_run", "p_value"]

#: Working precision of the balls, in bits.
BITS = 192
FAIR = "that each canary was included by its own fair coin, which the guesses did not see"


def one_run(
    guesses: ArrayLike, claim: PrivacyClaim, *, included: ArrayLike, alpha: float = 0.05
) -> CheckResult:
    """Try to refute a privacy claim from guesses which canaries one run of the mechanism had as records.

    Include each canary by its own fair coin, run the mechanism once, and guess from its output. The guesses
    may depend on each other and on the output in any way, but not on the coins otherwise. The rule that makes
    them must not be chosen by the number of correct guesses. The number of canaries is fixed before.

    The bound is loose. Even with the best guesses it stays below the true epsilon unless the mechanism is
    randomised response. A claim that stands has not been verified.

    Parameters
    ----------
    guesses : array, shape (m,)
        For each canary 1 (included), -1 (not included) or 0 (no guess).
    claim : PrivacyClaim
        PureDP, ApproxDP, GaussianDP, ZeroConcentratedDP, RenyiDP or Profile, in the public view, and the
        inputs with and without a canary must be neighbours by its adjacency.
    included : array of bool, shape (m,)
        The coins: whether each canary was included.
    alpha : float, default 0.05
        Significance level: the largest probability of refuting a true claim, in [1e-12, 1).

    Returns
    -------
    CheckResult
        The verdict and a lower bound. It has no curve.

    Raises
    ------
    InvalidParameterError
        A guess is not -1, 0 or 1, the shapes differ, or the claim or ``alpha`` is not supported.

    Examples
    --------
    >>> from dpaudit import PureDP, one_run
    >>> one_run([1] * 60, PureDP(epsilon=1), included=[True] * 58 + [False] * 2).verdict.value
    'refuted'
    """
    check_alpha(alpha)
    check_claim(claim)
    guessed, coins = _read(guesses, included)
    correct = int(np.count_nonzero(guessed == np.where(coins, 1, -1)))
    made, canaries = int(np.count_nonzero(guessed)), len(guessed)
    family = family_of(claim, small=True)
    estimate = Estimate(
        quantity=claim.quantity,
        lower=_bound(family, canaries=canaries, made=made, correct=correct, alpha=alpha),
        upper=None,
        confidence=1 - alpha,
        samples=canaries,
        method="guesses in one run (Steinke, Nasr & Jagielski 2023, theorem 5.2)",
        scope=f"{correct:,} of {made:,} guesses correct",
        seed=None,
        details={
            "correct": correct,
            "guesses": made,
            "p_value": _rejection(family.tested, canaries=canaries, made=made, correct=correct),
        },
    )
    judgement = judge(claim, [estimate])
    blind = ""
    if _rejection(family.tested, canaries=canaries, made=canaries, correct=canaries) > alpha:
        blind = (
            f"{canaries:,} canaries cannot refute this claim at alpha = {alpha:.2g}, even by correct guesses"
        )
    refuted = judgement.verdict is VerdictKind.REFUTED
    return CheckResult(
        claim,
        estimate,
        judgement,
        "",
        ("one-run bounds are loose: the true loss may be far larger than this bound",),
        not_audited="" if refuted else blind,
        assuming=FAIR,
        unit="canaries",
    )


def p_value(*, canaries: int, made: int, correct: int, epsilon: Fraction, delta: Fraction) -> float:
    """Return an upper bound on the probability of this many correct guesses under (epsilon, delta)-DP.

    Parameters
    ----------
    canaries, made, correct : int
        m >= r >= v >= 0: canaries, guesses, correct guesses.
    epsilon, delta : Fraction
        epsilon >= 0 and delta in [0, 1].

    Raises
    ------
    InvalidParameterError
        The numbers are not in this order.
    """
    if not 0 <= correct <= made <= canaries:
        raise InvalidParameterError(
            f"numbers must be 0 <= correct <= guesses <= canaries, got {correct}, {made}, {canaries}.",
            code="E-GUESSES-ORDER",
        )
    with precision(BITS):
        masses = _binomial(made, 1 / (1 + ball(-epsilon).exp()))
        tail = sum(masses[correct:], arb(0))
        slope, below = 0.0, arb(0)
        if delta:
            for step in range(1, correct + 1):
                below += masses[correct - step]
                slope = max(slope, upper(below / step))
        total = tail + 2 * canaries * ball(delta) * ball(Fraction(slope))
    return min(1.0, upper(total))


def _binomial(trials: int, chance: arb) -> list[arb]:
    """Return balls around the masses of Binomial(trials, chance), for 0 < chance < 1."""
    odds = chance / (1 - chance)
    masses = [(1 - chance) ** trials]
    for k in range(trials):
        masses.append(masses[-1] * odds * (trials - k) / (k + 1))
    return masses


def _rejection(points: Points, *, canaries: int, made: int, correct: int) -> float:
    """Return an upper bound on the p-value of a claim: that of its best point times their number."""
    found = [
        p_value(
            canaries=canaries, made=made, correct=correct, epsilon=Fraction(epsilon), delta=Fraction(delta)
        )
        for epsilon, delta in zip(points.epsilons, points.deltas, strict=True)
    ]
    return min(1.0, len(found) * min(found))


def _bound(family: Family, *, canaries: int, made: int, correct: int, alpha: float) -> float:
    """Return the largest value of the family that is rejected with all smaller values, or 0.

    It exceeds the true value only if the smallest true value of the grid is rejected.
    """
    rejected = 0.0
    for value in family.values:
        claim = family.points_at(float(value))
        if _rejection(claim, canaries=canaries, made=made, correct=correct) > alpha:
            break
        rejected = float(value)
    return rejected


def _read(guesses: ArrayLike, included: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    guessed, coins = _array(guesses), _array(included)
    if guessed.ndim != 1 or not len(guessed) or guessed.dtype.kind not in "iuf" or not _are_guesses(guessed):
        raise InvalidParameterError(
            f"guesses must be a non-empty vector of -1, 0 and 1, got {guesses!r:.100}.",
            code="E-GUESSES-RANGE",
        )
    if coins.shape != guessed.shape or coins.dtype != bool:
        raise InvalidParameterError(
            f"included must hold True or False for each of the {len(guessed)} guesses, "
            f"got {included!r:.100}.",
            code="E-INCLUDED-BOOLEAN",
        )
    return guessed.astype(np.int64), coins


def _array(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array, which is empty if they have no common shape."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.zeros(0)


def _are_guesses(guessed: NDArray[Any]) -> bool:
    return bool(np.all(np.isin(guessed, (-1, 0, 1))))
