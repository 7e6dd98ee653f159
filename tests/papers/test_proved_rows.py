"""Rows that are proved in steps: the whole inequality at points, computed from the mechanisms themselves.

The steps prove what is left of an inequality after its common factors and easy terms. These tests compute
both sides as printed.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from audits.concurrent_shuffle.regret_bounds import Setting
from audits.shuffle_linear_bandits.amplified_privacy import closed_form, condition_bound
from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.mechanisms.binomial_vectors import CONSTANT, printed_sheet, returning_sheet
from dpaudit.reference.mechanisms.linear_bandit_noise import local_noise, tree_levels, tree_noise

DELTAS = (Fraction(49, 100), Fraction(1, 10), Fraction(1, 10**6))


@pytest.mark.parametrize("delta", [Fraction(1), *DELTAS])
def test_lemma_b4_inside_theorem_b1(delta: Fraction) -> None:
    """CZ22-B.1s2/repaired: 14 ε and 7 δ."""
    applied = 0
    for users, share in itertools.product((100, 1000, 10**5), map(Fraction, ("1/10", "1/2", "1"))):
        if ball(share) <= condition_bound(users, delta / 2):
            found, loss = closed_form(users, share, delta / 2, delta / users)
            assert found <= 14 * ball(share) * (ln(2 / delta) / users).sqrt()
            assert loss <= 7 * ball(delta)
            applied += 1
    assert applied


@pytest.mark.parametrize("local", ["1/1000", "1", "2", "8"])
def test_simplified_lemma_b4(local: str) -> None:
    """CZ22-B.4s: 16 times the simplified form."""
    for users, slack in itertools.product((10**4, 10**7), map(Fraction, ("1/2", "1/20", "1/1000000"))):
        if ball(Fraction(local)) <= condition_bound(users, slack):
            found, _ = closed_form(users, Fraction(local), slack, Fraction(0))
            level = Fraction(local)
            growth = ball(level) if level <= 1 else ball(level / 2).exp()
            assert found <= 16 * (ln(1 / slack) / users).sqrt() * growth


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(15)])
def test_vector_noise_and_bits(epsilon: Fraction, delta: Fraction) -> None:
    """CZ22-C.3s3, TKMS23-MVEC/variance and CZ22-S6c/repaired."""
    for d, B in itertools.product((1, 2, 15), (1, 20, 10**5)):
        sheet = printed_sheet(dim=d, batch_size=B, epsilon=epsilon, delta=delta)
        for inside in (Fraction(d) / delta, Fraction(d * d) / delta):
            assert ball(sheet.proxy) <= 10**6 * (ln(inside) / ball(epsilon)) ** 2
        if max(d, 4) ** 2 <= 4 * B:
            square = (ln(4 * (d * d + 1) / delta) / ball(epsilon)) ** 2
            assert ball(sheet.bits_per_user) <= 10**7 * d * d * (ball(B).sqrt() + square)


@pytest.mark.parametrize("delta", DELTAS)
def test_returning_bits_are_enough(delta: Fraction) -> None:
    """CZ22-E.5s, in both readings."""
    for M, B, epsilon in itertools.product((1, 1000), (1, 20), (Fraction(1, 10), Fraction(15))):
        for reading in ("substituted", "without B"):
            sheet = returning_sheet(
                dim=2, batch_size=B, batches=M, epsilon=epsilon, delta=delta, reading=reading
            )
            squared = 8 * M * ln(2 / delta) / ball(epsilon) ** 2
            wanted = CONSTANT * sheet.precision**2 * ln(4 * 5 * 2 * M / delta) ** 2 * squared / B
            assert wanted <= ball(sheet.trials)


@pytest.mark.parametrize("dim", [1, 2, 4, 5, 20])
def test_norms_of_algorithm_4(dim: int) -> None:
    """TKMS23-C3n/repaired: twice σ̃ √d."""
    for m, k in itertools.product((2, 64), (1, 3)):
        at = Setting(m=m, shufflers=k, dim=dim, epsilon=Fraction(99, 100), delta=Fraction(1, 10**6))
        assert at.norm_bound <= 2 * at.error_bound * arb(dim).sqrt() * (1 + arb(10) ** -20)


@pytest.mark.parametrize("delta", [Fraction(1), *DELTAS])
def test_quoted_rates(delta: Fraction) -> None:
    """CZ22-QREG, with the noise of the mechanisms."""
    level, epsilon = ln(4 / delta), Fraction(1, 10)
    for time in (1, 1000, 10**9):
        local = ball(time).sqrt() * local_noise(epsilon=epsilon, delta=delta)
        rate = ball(time) * ball(time).sqrt() / ball(epsilon)  # squared
        assert 4 * level.sqrt() * rate <= local * time <= 9 * level.sqrt() * rate
        levels = tree_levels(time)
        central = tree_noise(epsilon=epsilon, delta=delta, leaves=time) * ball(levels).sqrt() * time
        assert ball(time) / ball(epsilon) <= central <= 9 * levels * level * time / ball(epsilon)


@pytest.mark.parametrize("alpha", ["1", "1/20"])
def test_lemma_a2(alpha: str) -> None:
    """CZ22-A.2 with the constant 8."""
    log = ln(1 / Fraction(alpha))
    for horizon, batch, dim, least in itertools.product(
        (2**10, 2**40), (1, 1024), (2, 100), ("1/10", "1000")
    ):
        growth = (1 + horizon / (dim * ball(Fraction(least)))).log()
        width, eig = dim * growth, ball(Fraction(least)).sqrt() + 1
        stale = dim * batch * growth / arb(2).log()
        radius = (2 * log + width).sqrt() + eig
        left = stale / 2 + 4 * radius * (2 * dim * horizon * growth).sqrt()
        right = stale + (dim * horizon * growth).sqrt() * ((log + width).sqrt() + eig)
        assert left <= 8 * right


@pytest.mark.parametrize("epsilon", ["1/1000", "1/2", "1"])
def test_local_error_and_composition(epsilon: str) -> None:
    """TKMS23-INT with C = 2, and TKMS23-FN9 with C = 12."""
    loss = Fraction(epsilon)
    e = ball(loss).exp()
    for levels, beta in itertools.product((2, 30), map(Fraction, ("99/100", "1/1000"))):
        n = 2**levels
        bound = (n * ln(2 * n / beta) / 2).sqrt() * (e + 1) / (e - 1)
        assert bound <= 2 * (n * ln(n / beta)).sqrt() / ball(loss)
    for k, delta in itertools.product((1, 64, 10**6), map(Fraction, ("1/4", "1/1000000"))):
        slack = (k * ln(2 / delta)).sqrt()
        node = ((slack**2 + k * ball(loss)).sqrt() - slack) / k
        simple = ln(k / delta) * k**2 / ball(loss) ** 2
        assert k * ln(2 * k / delta) / node**2 <= 12 * ln(1 / delta) * simple


@pytest.mark.parametrize("share", ["1", "1/1000"])
def test_rates_at_the_end_of_the_range_of_epsilon(share: str) -> None:
    """CZ22-C3.3/range and CZ22-E.4/range, as printed."""
    for horizon, delta in itertools.product((2, 2**80), map(Fraction, ("7/10", "1/1000000"))):
        for batch in (2, horizon):
            epsilon = ball(Fraction(share)) * (ln(2 / delta) / batch).sqrt()
            assert (ln(batch / delta) / (epsilon * arb(batch).sqrt())).sqrt() >= 1
            epsilon = ball(Fraction(share)) * 2 * ln(2 / delta) / batch * arb(2 * horizon).sqrt()
            logs = ln(horizon / delta).sqrt().sqrt() * ln(2 / delta).sqrt()
            assert (arb(horizon) ** 3).sqrt().sqrt() / 2 <= horizon * logs / (epsilon * batch).sqrt()


@pytest.mark.parametrize("levels", [2, 4, 64, 4096])
def test_many_shufflers(levels: int) -> None:
    """TKMS23-C5.2 as powers of n."""
    logs = ball(levels).log() / ln(2)
    cases = [(arb(levels), arb(2) ** (arb(1) / 4)), (arb(levels) / 2, arb(2).sqrt())]
    for k, most in [*cases, (levels / (2 * logs), arb(levels).sqrt())]:
        assert (levels * ln(2) * ((k + 1) / (2 * k + 1) - arb(1) / 2)).exp() <= most
