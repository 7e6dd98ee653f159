"""Shuffled Gaussian messages: the blanket bound against quadrature of two messages, against the same number
by quadrature, and against what an attacker gets from the sum."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dpaudit.certify import build
from dpaudit.certify.shuffled_noise import good_split
from dpaudit.core.claims import ApproxDP, Unit
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.views import SERVER, SHUFFLER_OUTPUT, View
from dpaudit.kernel.ball import lower_exact, upper_exact
from dpaudit.kernel.t1.certpld import Grid
from dpaudit.kernel.t2.gaussian import gaussian_delta
from dpaudit.kernel.t2.gaussian_blanket import _covered, gaussian_blanket_delta
from tests.errors import raises

VIEW = View.of(SHUFFLER_OUTPUT)
FINE = Grid(step=Fraction(1, 200), bits=128, tail=70)


def two_messages(mu: float, other: float, epsilon: float) -> float:
    """delta of two shuffled messages N(x, 1), x = 0 or ``mu`` against one around ``other``, by quadrature."""
    y = np.linspace(-9, mu + 9, 901)
    cell = (y[1] - y[0]) ** 2
    here, there, rest = norm.pdf(y), norm.pdf(y - mu), norm.pdf(y - other)
    p, q = (np.outer(distribution, rest) + np.outer(rest, distribution) for distribution in (here, there))
    gaps = [np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p))]
    return float(max(gaps)) * cell / 2


@pytest.mark.parametrize(("mu", "epsilon"), [("1/2", "0"), ("1/2", "1/4"), ("1", "1/2"), ("2", "1")])
def test_bound_is_above_two_messages(mu: str, epsilon: str) -> None:
    """For two users the certified delta is at least the true one, wherever the other's value lies."""
    claim = ApproxDP(epsilon=epsilon, delta=1, view=VIEW)
    proof = build.shuffled_gaussian(
        users=2, sensitivity_squared=Fraction(mu) ** 2, variance=1, splits=["0", "1/2", "1", "2", "4"]
    )
    bound = float(proof.certify(claim).bound)
    distance = float(Fraction(mu))
    truths = [
        two_messages(distance, share * distance, float(Fraction(epsilon))) for share in (0, 0.25, 0.5, 1)
    ]
    assert max(truths) <= bound + 1e-9
    assert max(truths) >= 0.4 * bound  # and it is no bound without content


@pytest.mark.parametrize(("users", "split"), [(1, "0"), (2, "1/3"), (3, "1")])
def test_covered_part_agrees_with_quadrature(users: int, split: str) -> None:
    """The convolution gives E[(V_1 + ... + V_n)_+]/(gamma n): from above, to the second order of the grid."""
    mu, epsilon = 0.7, 0.3
    m, gamma, e = mu / 2, math.exp(-float(Fraction(split))), math.exp(epsilon)
    z = np.linspace(-8, 8, {1: 100_001, 2: 1001, 3: 161}[users])
    weight = norm.pdf(z)
    values = np.append(np.exp(m * z - m * m / 2) - e * np.exp(-m * z - m * m / 2), 0.0)
    masses = np.append(gamma * weight / weight.sum(), 1 - gamma)
    total, chance = np.zeros(1), np.ones(1)
    for _ in range(users):
        total, chance = np.add.outer(total, values).ravel(), np.multiply.outer(chance, masses).ravel()
    truth = float(np.sum(chance * np.maximum(total, 0))) / (gamma * users)
    found = float(
        _covered(users, Fraction(mu).limit_denominator(10) ** 2, Fraction(split), Fraction("0.3"), FINE)
    )
    assert found == pytest.approx(truth, rel=2e-3)


def test_one_message_is_the_gaussian_mechanism() -> None:
    """A shuffle of one message hides nothing: exactly the Gaussian delta."""
    claim = ApproxDP(epsilon="1/2", delta=1, view=VIEW)
    proof = build.shuffled_gaussian(users=1, sensitivity_squared=1, variance=1)
    assert float(proof.certify(claim).bound) == pytest.approx(
        float(gaussian_delta(Fraction(1), Fraction(1, 2)))
    )


@pytest.mark.parametrize("users", [10, 1000, 100_000])
def test_bound_is_above_the_sum_and_near_it(users: int) -> None:
    """The sum N(., n v) is computed from the shuffled messages: its delta is below the bound; in large
    batches with little signal they meet up to a factor."""
    mu_squared, epsilon = Fraction(1, 400), Fraction(1, 40) / math.isqrt(users)
    claim = ApproxDP(epsilon=epsilon, delta=1, view=VIEW)
    least = gaussian_delta(mu_squared / users, epsilon)
    split = good_split(users=users, mu_squared=mu_squared, spare=float(least) / 50)
    proof = build.shuffled_gaussian(users=users, sensitivity_squared=mu_squared, variance=1, splits=[split])
    bound = proof.certify(claim).bound
    assert least <= bound <= 2 * least


def test_a_finer_grid_is_no_looser_by_much() -> None:
    """Any grid bounds from above; a finer one comes out lower, up to rounding."""
    settings = {"users": 50, "mu_squared": Fraction(1, 4), "split": Fraction(1), "epsilon": Fraction(1, 10)}
    coarse, fine = (
        gaussian_blanket_delta(grid=Grid(step=Fraction(1, n), bits=128, tail=70), **settings)
        for n in (4, 100)
    )
    assert upper_exact(fine) < lower_exact(coarse) < 2 * upper_exact(fine)


def test_what_is_not_covered_has_to_be_paid() -> None:
    """A false certificate: others as if they were all at the middle (no split) without the cost of it. The
    truth for another user at one of the two ends is above that number; the rule charges the difference."""
    mu, epsilon = Fraction(3, 2), Fraction(1, 4)
    coarse = Grid(step=Fraction(1, 20), bits=128, tail=40)
    free = float(_covered(2, mu**2, Fraction(0), epsilon, coarse))
    truth = two_messages(float(mu), 0.0, float(epsilon))
    paid = gaussian_blanket_delta(users=2, mu_squared=mu**2, split=Fraction(0), epsilon=epsilon, grid=coarse)
    assert free < truth - 0.01 < float(paid)


def test_no_noise_and_other_settings_are_refused() -> None:
    """No noise has no bound; users' events, single messages and a missing split are refused."""
    with raises(InvalidParameterError, code="E-VARIANCE-RANGE"):
        build.shuffled_gaussian(users=10, sensitivity_squared=1, variance=0)
    with pytest.raises(CertificateError, match="split"):
        build.shuffled_gaussian(users=10, sensitivity_squared=1, variance=1, splits=[])
    proof = build.shuffled_gaussian(users=10, sensitivity_squared=1, variance=1)
    with pytest.raises(CertificateError, match="single messages"):
        proof.certify(ApproxDP(epsilon=1, delta=1, view=View.of(SERVER)))
    with pytest.raises(CertificateError):
        proof.certify(ApproxDP(epsilon=1, delta=1, view=VIEW, unit=Unit.USER))
    same = build.shuffled_gaussian(users=10, sensitivity_squared=0, variance=1)
    assert same.certify(ApproxDP(epsilon=0, delta=1, view=VIEW)).bound == 0
