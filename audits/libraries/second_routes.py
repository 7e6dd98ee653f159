"""The second route to a refutation: the probability of one event on both inputs, by a package's formula.

Probabilities are exact numbers, balls or given enclosures. The witness is a table of two outcomes, the event
and its complement.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb

from dpaudit.certify.witnesses.tables import Interval, Outcome, tables_witness
from dpaudit.core.claims import ApproxDP, PrivacyClaim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import exact
from dpaudit.kernel.ball import ball, lower_exact, precision, upper_exact

__all__ = ["Probability", "classical_gaussian", "event", "laplace_tail", "laplaces_apart"]

#: An exact number, a ball around it, or both ends of an enclosure.
Probability = Fraction | int | arb | Interval

BITS = 192


def event(
    what: str, *, inputs: tuple[Any, Any], p: Callable[[], Probability], q: Callable[[], Probability]
) -> Callable[[PrivacyClaim], Witness]:
    """Return the route by the event ``what``, of probability ``p()`` on the first input and ``q()`` on the
    other.

    Both are computed only when needed, at 192 bits.
    """

    def route(claim: PrivacyClaim) -> Witness:
        with precision(BITS):
            here, there = _ends(p()), _ends(q())
        outcomes = [
            Outcome(values=[True], recorded=here, neighbour=there),
            Outcome(values=[False], recorded=_rest(here), neighbour=_rest(there)),
        ]
        said = f"whether {what}; its probabilities by the package's formula"
        return tables_witness(claim, outcomes, inputs=inputs, description=said)

    return route


def _ends(probability: Probability) -> Interval:
    if isinstance(probability, tuple):
        return probability
    if isinstance(probability, arb):
        low, high = lower_exact(probability), upper_exact(probability)
        return max(low, Fraction(0)), min(high, Fraction(1))
    return Fraction(probability), Fraction(probability)


def _rest(ends: Interval) -> Interval:
    return 1 - ends[1], 1 - ends[0]


def laplace_tail(distance: Fraction | int, scale: Fraction | int = 1) -> arb:
    """Return P(L > distance) for Laplace noise of this scale, distance >= 0."""
    return (-ball(distance) / ball(scale)).exp() / 2


def laplaces_apart(gap: Fraction | int, scale: Fraction | int = 1) -> arb:
    """Return P(L - L' > gap) for two independent Laplace variates of this scale, gap >= 0: e^-g (2 + g) /
    4."""
    g = ball(gap) / ball(scale)
    return (-g).exp() * (2 + g) / 4


def classical_gaussian(inputs: tuple[Any, Any]) -> Callable[[PrivacyClaim], Witness]:
    """Return the route for noise with sigma = sqrt(2 ln(1.25 / delta)) / epsilon at sensitivity 1 (Dwork and
    Roth 2014, Theorem A.1, which requires epsilon < 1). The event with the largest delta is a value above
    epsilon sigma^2 + 1/2.

    The claim must be (epsilon, delta)-DP.
    """

    def route(claim: PrivacyClaim) -> Witness:
        if not isinstance(claim, ApproxDP):
            raise InvalidParameterError(f"this route requires an ApproxDP claim, got {claim.type}.")
        epsilon, delta = exact(claim.epsilon), exact(claim.delta)

        def above(mean: int) -> arb:
            sigma = (2 * (ball(Fraction(5, 4)) / ball(delta)).log()).sqrt() / ball(epsilon)
            cut = ball(epsilon) * sigma**2 + ball(Fraction(1, 2))
            return ((cut - mean) / (sigma * arb(2).sqrt())).erfc() / 2

        said = "the noisy value is above ε σ² + 1/2, for the values 1 and 0"
        return event(said, inputs=inputs, p=lambda: above(1), q=lambda: above(0))(claim)

    return route
