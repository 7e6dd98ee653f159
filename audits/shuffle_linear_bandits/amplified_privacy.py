"""Bound P_Amp's privacy from both sides: certificates for a shuffled list of noisy statistics, and
witnesses from its sum.

Upper bound: the almost covering blanket of the kernel, for every pair of users with |φ|, |y| <= 1, at
squared distance 4.5 at most (``gaussian_randomiser``). It covers the list in which vectors and matrices are
shuffled in pairs. Two independent permutations are post-processing of that list. Lower bound: the sum of a
batch is a function of the list, and it is N(., Bσ²) in every entry, so its exact delta is a lower bound.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dpaudit.certify.build import (
    LossGrid,
    Proof,
    compose_sequential,
    gaussian_mechanism,
    post_processing,
    shuffled_gaussian,
)
from dpaudit.certify.shuffled_noise import good_split
from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.whole_release import whole_release_witness
from dpaudit.core.claims import ApproxDP, PrivacyClaim
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import exact_str
from dpaudit.core.exact_functions import ln
from dpaudit.core.views import SERVER, SHUFFLER_OUTPUT, View
from dpaudit.distributions import Gaussian, NoisyMaximum
from dpaudit.kernel.ball import arb, ball, lower_exact
from dpaudit.kernel.t2.gaussian import gaussian_delta
from dpaudit.reference.mechanisms.gaussian_randomiser import (
    Symmetrize,
    encode,
    in_noise_units,
    squared_sensitivity,
    worst_pair,
)

__all__ = [
    "BATCH_VIEW",
    "DOMAIN",
    "SQUARED",
    "batch_proof",
    "closed_form",
    "condition_bound",
    "epsilon_needed",
    "gaussian_witness",
    "largest_message_witness",
    "message_witness",
    "returning_proof",
    "rounded_down",
    "sum_witness",
]

#: The largest |φy - φ'y'|² + |φφᵀ - φ'φ'ᵀ|², with entries weighted as by the noise.
SQUARED = squared_sensitivity()
DOMAIN = "a user's context and rewards, |φ| <= 1 and |y| <= 1, used once"
BATCH_VIEW = View.of(SHUFFLER_OUTPUT)


def rounded_down(value: arb) -> Fraction:
    """Return six digits of a positive ball, rounded down. The parameters of claims are exact and short."""
    number = float(lower_exact(value))
    digits = 6 - math.ceil(math.log10(number))
    return Fraction(math.floor(number * 10**digits), 10**digits)


#: One user: features and reward.
Person = tuple[Any, float]
Pair = tuple[Person, Person]


# Upper bounds


def batch_proof(*, variance: Fraction, users: int, spare: float, epsilon: Fraction) -> Proof:
    """Certify one batch's shuffled list. About ``spare`` of delta covers messages that no blanket covers."""
    split = good_split(users=users, mu_squared=SQUARED / variance, spare=spare, epsilon=float(epsilon))
    return shuffled_gaussian(users=users, sensitivity_squared=SQUARED, variance=variance, splits=[split])


def returning_proof(
    *, variance: Fraction, users: int, batches: int, spare: float, epsilon: Fraction
) -> Proof:
    """Certify the composed batches of a user who is in every batch.

    The proof uses the shuffled lists or, if this is enough, the user's own messages alone.
    """
    message = gaussian_mechanism(sensitivity_squared=SQUARED, variance=variance)
    own = post_processing(
        compose_sequential([message], times=[batches]), function="shuffling with the others' messages"
    )
    if float(gaussian_delta(batches * SQUARED / variance, epsilon)) <= spare:
        return own
    one = batch_proof(variance=variance, users=users, spare=spare / batches / 10, epsilon=Fraction(0))
    width = float(epsilon) / 400
    digits = 2 - math.floor(math.log10(width))
    grid = LossGrid(step=Fraction(round(width * 10**digits), 10**digits))
    return compose_sequential([one], times=[batches], grid=grid)


# Lower bounds


def sum_witness(claim: PrivacyClaim, *, variance: Fraction, users: int, batches: int = 1) -> Witness:
    """Return a witness from the sums of ``batches`` lists of ``users`` messages at the worst pair of users,
    d = 2, rewards 1.

    Any analyzer can compute the sums from the lists, so the bound holds for the lists. The other users hold
    φ = 0. ``variance`` is the variance of one entry of one message. With several batches the user is in
    each of them.
    """
    words = f"{batches} batches of {users} users, one user in all of them, all others φ = 0; the lists' sums"
    return gaussian_witness(claim, variance=variance, users=users, batches=batches, words=words)


def largest_message_witness(claim: ApproxDP, *, variance: Fraction, users: int, steps: int = 400) -> Witness:
    """Return a witness from the event that the first entry of some vector of a shuffled list is above t.

    One user has φ = (1, 0) or (-1, 0) and reward 1, and the others have φ = (-1, 0) and reward 1. The list's
    largest first entry is post-processing of the list of vectors, with ``variance`` in each entry, and its
    distribution function is a product. t is the best of ``steps`` thresholds.
    """
    noise = Gaussian(variance=variance)
    lists = [NoisyMaximum([own, *[-1] * (users - 1)], noise) for own in (1, -1)]
    thresholds = np.linspace(-1, 1 + 4 * math.sqrt(variance), steps)
    gains = lists[0].sf(thresholds) - math.exp(float(claim.epsilon)) * lists[1].sf(thresholds)
    cut = Fraction(float(thresholds[gains.argmax()])).limit_denominator(10**6)
    return whole_release_witness(
        claim,
        distributions=lists,
        site="largest first entry",
        to=SHUFFLER_OUTPUT.name,
        inputs=written_inputs(*({"features": [own, 0.0], "reward": 1.0} for own in (1.0, -1.0))),
        parts=[{"coordinate": None, "points": None, "cuts": [exact_str(cut)]}],
        words=f"some of {users} shuffled vectors has its first entry above {float(cut):.3g}; one user "
        "has φ = (1, 0) or (-1, 0), the others (-1, 0), rewards 1",
    )


def message_witness(claim: PrivacyClaim, *, variance: Fraction) -> Witness:
    """Return a witness from one user's message at the worst pair, by its exact Gaussian profile."""
    return gaussian_witness(claim, variance=variance, words="one user's message, vector and matrix")


def gaussian_witness(
    claim: PrivacyClaim,
    *,
    variance: Fraction,
    users: int = 1,
    batches: int = 1,
    pair: Pair | None = None,
    symmetrize: Symmetrize = "copy",
    words: str,
) -> Witness:
    """Return a witness from sums of ``users`` messages in each of ``batches``, at a ``pair`` of (features,
    reward).

    The default is the worst pair. The sums are released to the server or, in a view without the server, to
    the shuffler's audience.
    """
    here, there = pair or worst_pair()
    audience = SERVER if claim.view.sees(frozenset([SERVER])) else SHUFFLER_OUTPUT
    noise = Gaussian(variance=users * variance)
    free = {"feature_norm": math.inf, "reward_bound": math.inf}  # the claim's domain states the allowed data
    sums = [
        np.tile(in_noise_units(*encode(*user, **free), symmetrize), (batches, 1)) for user in (here, there)
    ]
    people = [{"features": [float(x) for x in user[0]], "reward": user[1]} for user in (here, there)]
    return whole_release_witness(
        claim,
        distributions=[noise.shift(values) for values in sums],
        site="sums",
        to=audience.name,
        inputs=written_inputs(*people),
        words=f"{words}; φ, y are {_as_text(here)} or {_as_text(there)}",
    )


def _as_text(person: Person) -> str:
    return f"({', '.join(f'{x:.4g}' for x in person[0])}), {person[1]:g}"


@lru_cache(maxsize=256)
def epsilon_needed(variance: Fraction, users: int, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on the least epsilon for which a batch's list is (epsilon, delta)-DP.

    Below the first the sum refutes the claim. The second is certified. Each is accurate to half a percent.
    """
    mu_squared = SQUARED / variance
    low = _least(lambda e: gaussian_delta(mu_squared / users, e) <= delta, _start(mu_squared / users))
    claim = {"delta": delta, "view": BATCH_VIEW}

    def certified(epsilon: Fraction) -> bool:
        proof = batch_proof(variance=variance, users=users, spare=float(delta) / 30, epsilon=epsilon)
        return proof.certify(ApproxDP(epsilon=epsilon, **claim)).bound <= delta

    high = _least(certified, float(low[1]) or _start(mu_squared / users))
    return low[0], high[1]


def _start(mu_squared: Fraction) -> float:
    return math.sqrt(float(mu_squared))


def _least(holds: Any, start: float) -> tuple[Fraction, Fraction]:
    """Return an epsilon that fails (0 if none does) and an epsilon that holds, within half a percent."""
    if holds(Fraction(0)):
        return Fraction(0), Fraction(0)
    high = Fraction(start).limit_denominator(10**9)
    while not holds(high):
        high *= 2
    low = Fraction(0)
    while high - low > high / 200:
        middle = ((low + high) / 2).limit_denominator(10**9)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


# Lemma B.4 as printed


def condition_bound(users: int, slack: Fraction) -> arb:
    """Return log(n / (16 log(2/δ'))), the largest ε₀ that Lemma B.4 covers."""
    return (users / (16 * ln(2 / slack))).log()


def closed_form(users: int, local: Fraction | arb, slack: Fraction, local_delta: Fraction) -> tuple[arb, arb]:
    """Return (ε̃, δ̃) of Lemma B.4. The caller must check the lemma's condition."""
    e = (ball(local) if isinstance(local, Fraction) else local).exp()
    spread = 8 * (e * ln(4 / slack) / users).sqrt() + 8 * e / users
    epsilon = (1 + (e - 1) / (e + 1) * spread).log()
    return epsilon, ball(slack) + (epsilon.exp() + 1) * (1 + 1 / (2 * e)) * users * ball(local_delta)
