"""Concentration: Lemmas 6 to 9, compared with exact tails of distributions whose parameters are known."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from audits.distributed_mab.rows.tails import LEVELS
from dpaudit.core.exact_functions import larger, log_of_two_over
from dpaudit.core.suite import Group
from dpaudit.distributions import Binomial, DiscreteGaussian, DiscreteLaplace, PolyaDifference, Skellam
from dpaudit.distributions.exact_tails import above, beyond, sum_beyond
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.mechanisms.parameter_sheet import LAPLACE_SUM_CONSTANT as C
from dpaudit.suite import Sides, Step, full, inequality, over, step, steps

__all__ = ["rows"]


rows = Group("Concentration: Lemmas 6 to 9", kind="tail")


# Lemma 6


def _gaussian_radius(p: Fraction) -> Any:
    return (2 * log_of_two_over(p)).sqrt()


@step(over=over(p=LEVELS))
def _normal_distribution(p: Fraction) -> Sides:
    """N(0, 1)"""
    return (_gaussian_radius(p) / arb(2).sqrt()).erfc(), p


@step(over=over(n=(1, 2, 9, 100, 1000), p=LEVELS))
def _signs(n: int, p: Fraction) -> Sides:
    """a sum of n fair signs, 2 Bin(n, 1/2) - n, is n-sub-Gaussian"""
    coins = Binomial(trials=n, p=Fraction(1, 2))
    return 2 * above(coins, (ball(n).sqrt() * _gaussian_radius(p) + n) / 2), p


@step(over=over(variance="1/20 1 100", p=LEVELS))
def _discrete_gaussian(variance: Fraction, p: Fraction) -> Sides:
    """N_Z(0, σ²)"""
    return beyond(DiscreteGaussian(sigma2=variance), ball(variance).sqrt() * _gaussian_radius(p)), p


@steps(rows, "CZ23-L6", "Lemma 6")
def sub_gaussian() -> list[Step]:
    """σ²-sub-Gaussian: |X| <= σ sqrt(2 log(2/p)) with probability 1 - p or more

    Compute exact tails, beyond the printed radius, of three distributions whose variance proxy is known.

    Proof: P(|X| > t) <= 2 e^{-t²/(2σ²)} (Chernoff at λ = t/σ²), which is p at the radius
    """
    return [_normal_distribution, _signs, _discrete_gaussian]


# Lemma 7


@cache
def _known_pairs() -> dict[str, tuple[Callable[[Any], Any], Any, Any]]:
    """Return distributions with a known pair (σ², h): Skellam by Proposition 1's proof, sums of (discrete)
    Laplace by Lemma 5 with c = 8/5."""
    c, root = Fraction(C), 1 / arb(2).sqrt()
    pairs: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {}
    for v in ("1/20", "1", "30"):
        distribution = Skellam(variance=Fraction(v))
        pairs[f"Sk(0, {v})"] = (
            lambda t, distribution=distribution: beyond(distribution, t),
            ball(2 * Fraction(v)),
            root,
        )
    for n in (1, 4, 32):
        parts = PolyaDifference(shape=n, log_ratio=Fraction(1, 2))
        pairs[f"sum of {n} Lap_Z(2)"] = (
            lambda t, distribution=parts: beyond(distribution, t),
            ball(4 * n * c * c),
            ball(2 * c),
        )
    return pairs | {"Laplace(1)": (lambda t: (-t).exp(), ball(c * c), ball(c))}


DISTRIBUTIONS = (
    *(f"Sk(0, {v})" for v in ("1/20", "1", "30")),
    *(f"sum of {n} Lap_Z(2)" for n in (1, 4, 32)),
    "Laplace(1)",
)


@step("tail", over=over(distribution=DISTRIBUTIONS, part="1/1000 1/4 999/1000 1001/1000 2 10"))
def _two_regimes(distribution: str, part: Fraction) -> Sides:
    """P(|X| > t) <= 2e^{-t²/(2σ²)} for t <= σ²/h, 2e^{-t/(2h)} beyond; t = part σ²/h"""
    tail, proxy, h = _known_pairs()[distribution]
    t = ball(part) * proxy / h
    bound = 2 * (-t * t / (2 * proxy)).exp() if t <= proxy / h else 2 * (-t / (2 * h)).exp()
    return tail(t), bound


@step("radius", over=over(distribution=DISTRIBUTIONS, p=LEVELS))
def _radius(distribution: str, p: Fraction) -> Sides:
    """P(|X| > sqrt(2) σ sqrt(log(2/p)) + 2h log(2/p)) <= p"""
    tail, proxy, h = _known_pairs()[distribution]
    level = log_of_two_over(p)
    return tail((2 * proxy * level).sqrt() + 2 * h * level), p


@steps(rows, "CZ23-L7", "Lemma 7")
def sub_exponential() -> list[Step]:
    """(σ², h)-sub-exponential: two-regime tail, and |X| <= sqrt(2) σ sqrt(log(2/p)) + 2h log(2/p)

    Compare exact tails of distributions whose pair (σ², h) is known with both forms of the lemma.

    Proof: Chernoff at λ = t/σ² while that is at most 1/h, at λ = 1/h beyond, where σ²/(2h²) <= t/(2h). The
    radius is at least as large as the t at which either regime gives p
    """
    return [_two_regimes, _radius]


@inequality(
    rows,
    "CZ23-L8",
    "Lemma 8",
    over=over(mean="0 1/1000 1/10 1/2 9/10 1", n=(1, 2, 5, 30, 200, full(2000)), p=LEVELS),
)
def hoeffding(mean: Fraction, n: int, p: Fraction) -> Sides:
    """X_i iid in [0, 1]: |mean - E X| <= sqrt(log(2/p)/(2n)) with probability 1 - p or more

    Compute exact binomial tails beyond the printed radius. Bernoulli variables are the extreme distributions
    of a given mean.

    Proof: Hoeffding 1963, Theorem 2
    """
    radius = (n * log_of_two_over(p) / 2).sqrt()
    tails = (above(Binomial(trials=n, p=m), ball(n * m) + radius) for m in (mean, 1 - mean))
    return sum(tails, arb(0)), p


# Lemma 9


def _smallest(proxies: Any, h: Any, p: Fraction) -> Any:
    level = log_of_two_over(p)
    return larger((2 * proxies * level).sqrt(), 2 * h * level)


@step(
    over=over(first="1/10", second=5, p=LEVELS)
    + over(first=1, second=(1, 5), p=LEVELS)
    + over(first=2, second=3, p=LEVELS)
)
def _two_scales(first: Fraction, second: Fraction, p: Fraction) -> Sides:
    """Lap_Z(s1) + Lap_Z(s2) with Lemma 5's pairs, L = log(2/p)"""
    scales = [Fraction(first), Fraction(second)]
    v = _smallest(ball(C**2 * sum(s**2 for s in scales)), ball(C * max(scales)), p)
    distributions = [DiscreteLaplace(scale=s) for s in scales]
    return sum_beyond(distributions[0], distributions[1], v, reach=int(first * 45) + 20), p


@step(over=over(scale="1/10", variance=5, p=LEVELS) + over(scale=1, variance=(1, 5), p=LEVELS))
def _two_families(scale: Fraction, variance: Fraction, p: Fraction) -> Sides:
    """Lap_Z(s) + Sk(0, σ²)"""
    s = Fraction(scale)
    h = larger(ball(C * s), 1 / arb(2).sqrt())
    v = _smallest(ball(C**2 * s**2 + 2 * variance), h, p)
    distributions = DiscreteLaplace(scale=s), Skellam(variance=Fraction(variance))
    return sum_beyond(*distributions, v, reach=int(s * 45) + 20), p


@steps(rows, "CZ23-L9", "Lemma 9")
def sums() -> list[Step]:
    """Sums of independent (σ_i², h_i)-sub-exponential variables: v >= max{sqrt(2Σσ_i² L), 2h* L}

    Compute exact tails of sums of two different variables at the smallest v that the lemma allows. Sums of
    equal parts are in CZ23-L5.

    Proof: the cumulants add on |λ| <= 1/h*, then Lemma 7, each of whose regimes gives p at v
    """
    return [_two_scales, _two_families]
