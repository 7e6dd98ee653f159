"""The table of noise families: its cumulants, masses, tails and sums agree with each other."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.errors import NotTractableError
from dpaudit.kernel.t2.noise import (
    Binomial,
    Bounded,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Finite,
    Gaussian,
    Laplace,
    Part,
    Skellam,
)

F = Fraction
PARTS: list[Part] = [
    Laplace(F(3, 2)),
    Gaussian(F(5, 3)),
    Exponential(F(2)),
    DiscreteLaplace(F(2)),
    DiscreteLaplace(F(2), F(1, 3)),
    Skellam(F(7, 2)),
    Binomial(9, F(1, 3)),
    Binomial(8, F(1, 2)),
    Finite((F(-1), F(2), F(5)), (F(1), F(2), F(4))),
    Bounded(F(-1), F(3)),
    DiscreteGaussian(F(3)),
]
POINTS = (F(1, 7), F(1, 3))


def overlaps(one: arb, two: arb) -> bool:
    return bool(one.overlaps(two)) and float(one.rad()) < 1e-12 and float(two.rad()) < 1e-12


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_a_sum_in_the_family_has_the_sum_of_the_cumulants(part: Part) -> None:
    """Three copies as one part, and two parts of one family."""
    three = part.total(3)
    assert (three is None) == (part.plus(part) is None)
    if three is not None:
        both = three.plus(part)
        assert both is not None
        for t in map(ball, POINTS):
            assert overlaps(three.cumulant(t), 3 * part.cumulant(t))
            assert overlaps(both.cumulant(t), 4 * part.cumulant(t))


def test_other_sums_are_in_no_family() -> None:
    """Binomials of two probabilities, and parts of two families, have no common name."""
    assert Binomial(3, F(1, 2)).plus(Binomial(3, F(1, 3))) is None
    assert Skellam(F(1)).plus(Gaussian(F(1))) is None
    assert Gaussian(F(1)).plus(Skellam(F(1))) is None
    assert DiscreteGaussian(F(1)).total(2) is None


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_symmetric_parts_have_even_cumulants(part: Part) -> None:
    """K(t) - mean t is even if and only if the table says so."""
    t, mean = ball(F(1, 3)), ball(part.mean)
    assert part.symmetric == overlaps(part.cumulant(t) - mean * t, part.cumulant(-t) + mean * t)


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_masses_have_the_cumulant(part: Part) -> None:
    """log sum p(k) e^(tk) over the interval is K(t), and the masses add up to 1."""
    with precision(200):
        try:
            low, masses, outside = part.cut()
        except NotTractableError:
            assert part.log_concave is None
            return
        t = ball(F(1, 9))
        assert float(abs(sum(masses, arb(0)) - 1).upper()) <= float(outside.upper()) + 1e-40
        moment = sum((p * (t * (low + k)).exp() for k, p in enumerate(masses)), arb(0))
        assert float(abs(moment.log() - part.cumulant(t)).upper()) < 1e-20


@pytest.mark.parametrize(
    "part", [part for part in PARTS if part.tail(1, F(1), below=False) is not None], ids=str
)
def test_tails_have_the_second_moment(part: Part) -> None:
    """E X^2 is the integral of 2x (P(X > x) + P(X < -x)), here by a sum over a grid."""
    assert part.second_and_third is not None
    step, total = F(1, 64), 0.0
    for k in range(64 * 40):
        x = (k + F(1, 2)) * step
        both = [part.tail(1, x, below=below) for below in (False, True)]
        total += float(2 * x * step) * sum(float(p.mid()) for p in both if p is not None)
    assert total == pytest.approx(float(part.second_and_third[0] + part.mean**2), rel=1e-3)


def test_rational_tails_of_laplace_noise() -> None:
    """P(X > 2b ln 3) = 3^-2 / 2, and other levels and families have no rational tail."""
    assert Laplace(F(3)).tail_at_log(F(6), F(3)) == F(1, 18)
    assert Laplace(F(3)).tail_at_log(F(7), F(3)) is None
    assert Gaussian(F(3)).tail_at_log(F(6), F(3)) is None
