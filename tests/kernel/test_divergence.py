"""Hockey-stick divergences of lattice noise: published digits, brute force over events, and the facts F1,
F6 and F7 by numbers.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.kernel.ball import arb, ball, enclose, lower_exact, upper_exact
from dpaudit.kernel.t1.divergence import hockey_stick, lattice_delta, positive_part, threshold
from dpaudit.kernel.t1.lattice import DiscreteGaussianSum, LogConcave, Reflected, bulk, tail_below
from dpaudit.kernel.t2.special_distributions import Binomial, Skellam

DISTRIBUTIONS: list[LogConcave] = [
    Skellam(Fraction(3)),
    Skellam(Fraction(1, 4)),
    DiscreteGaussianSum(Fraction(2)),
    DiscreteGaussianSum(Fraction(1, 4), 5),
    Binomial(20, Fraction(1, 4)),
    Reflected(Binomial(20, Fraction(1, 4))),
    Binomial(7, Fraction(1, 2)),
]


@cache
def oracle(distribution: LogConcave, k: int) -> mpmath.mpf:
    """The mass at k by another route: mpmath series and products."""
    if isinstance(distribution, Reflected):
        return oracle(distribution.distribution, -k)
    if isinstance(distribution, Skellam):
        v = mpmath.mpf(distribution.variance.numerator) / distribution.variance.denominator
        # difference of two Poisson distributions, summed out
        return mpmath.nsum(
            lambda j: (
                mpmath.exp(-v)
                * (v / 2) ** (2 * j + abs(k))
                / mpmath.factorial(j)
                / mpmath.factorial(j + abs(k))
            ),
            [0, 60],
        )
    if isinstance(distribution, Binomial):
        p = mpmath.mpf(distribution.probability.numerator) / distribution.probability.denominator
        return (
            mpmath.binomial(distribution.trials, k) * p**k * (1 - p) ** (distribution.trials - k)
            if 0 <= k <= distribution.trials
            else mpmath.mpf(0)
        )
    assert isinstance(distribution, DiscreteGaussianSum)
    return (
        _convolved(distribution)[len(_convolved(distribution)) // 2 + k]
        if abs(k) <= 40 * distribution.count
        else mpmath.mpf(0)
    )


@cache
def _convolved(distribution: DiscreteGaussianSum) -> Any:
    with mpmath.workdps(50):
        v = mpmath.mpf(distribution.variance.numerator) / distribution.variance.denominator
        single = np.array([mpmath.exp(-mpmath.mpf(j * j) / (2 * v)) for j in range(-40, 41)], dtype=object)
        single = single / single.sum()
        power = single
        for _ in range(distribution.count - 1):
            power = np.convolve(power, single)
        return power


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
def test_masses_agree_with_mpmath(distribution: LogConcave) -> None:
    """Enclosures of masses contain the values that mpmath computes by another route, and runs agree with
    single masses.
    """
    start = distribution.centre - 6
    run = distribution.masses(start, start + 12)
    with mpmath.workdps(50):
        for k, found in zip(range(start, start + 13), run, strict=True):
            truth = (
                Fraction(mpmath.nstr(oracle(distribution, k), 40)) if oracle(distribution, k) else Fraction(0)
            )
            assert abs(lower_exact(found) - truth) < Fraction(1, 10**13)
            assert found.overlaps(distribution.mass(k))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
def test_distributions_are_log_concave(distribution: LogConcave) -> None:
    """p(k)^2 >= p(k-1) p(k+1) over the bulk: what F1 and F6 rest on."""
    low, high, _, _ = bulk(distribution, 60)
    masses = distribution.masses(low, high)
    for a, b, c in zip(masses, masses[1:], masses[2:], strict=False):
        assert not b * b < a * c


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
def test_tail_bound_f6(distribution: LogConcave) -> None:
    """F6 bounds the true tail, and the bulk with both tails has mass one."""
    low, high, below, above = bulk(distribution, 100)
    total = sum(distribution.masses(low, high), arb(0)) + below + above
    assert total.contains(1)
    assert upper_exact(total) - lower_exact(total) < Fraction(1, 2**30)
    near = tail_below(distribution, distribution.centre - 5)
    if near is not None and distribution.centre - 5 > low:
        assert sum(distribution.masses(low, distribution.centre - 6), arb(0)) <= near.upper()


def brute_force(distribution: LogConcave, shift: int, epsilon: Fraction) -> mpmath.mpf:
    """Sum of positive parts over a wide range, in mpmath: no threshold, no monotonicity."""
    e = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    xs = range(distribution.centre - 70, distribution.centre + 71)
    return mpmath.fsum(
        max(mpmath.mpf(0), oracle(distribution, x) - e * oracle(distribution, x - shift)) for x in xs
    )


@pytest.mark.parametrize("distribution", [*DISTRIBUTIONS[:3], DISTRIBUTIONS[4], DISTRIBUTIONS[5]], ids=str)
@pytest.mark.parametrize(("shift", "epsilon"), [(1, Fraction(0)), (1, Fraction(1)), (4, Fraction(1, 2))])
def test_hockey_stick_agrees_with_brute_force(
    distribution: LogConcave, shift: int, epsilon: Fraction
) -> None:
    """The threshold form (F1 ii) equals the sum of positive parts."""
    found = enclose(lambda: hockey_stick(distribution, shift=shift, epsilon=epsilon))
    with mpmath.workdps(30):
        assert float(found) == pytest.approx(
            float(brute_force(distribution, shift, epsilon)), rel=1e-11, abs=1e-14
        )


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
def test_divergence_grows_with_the_shift(distribution: LogConcave) -> None:
    """F1 (iii): in both directions the divergence does not decrease in the shift."""
    for one in (distribution, Reflected(distribution)):
        values = [
            enclose(lambda d=d, one=one: hockey_stick(one, shift=d, epsilon=Fraction(1, 3)))
            for d in range(1, 7)
        ]
        assert all(not b < a for a, b in itertools.pairwise(values))


@pytest.mark.parametrize(
    ("shift", "epsilon", "digits"),
    [
        (1, "1/10", "6.914974144641e-27"),
        (10, "1/2", "6.79943601905381e-9"),
        (100, "1", "0.126933488120133"),
        (1000, "3", "0.9999975298"),
    ],
)
def test_skellam_reference_values(shift: int, epsilon: str, digits: str) -> None:
    """Skellam of variance 10^4: the reference digits, and an enclosure of more than 20 of them."""
    found = lattice_delta(Skellam(Fraction(10**4)), shift=shift, epsilon=Fraction(epsilon))
    assert abs(lower_exact(found) / Fraction(digits) - 1) < Fraction(1, 10 ** (len(digits.split("e")[0]) - 3))
    assert (upper_exact(found) - lower_exact(found)) / lower_exact(found) < Fraction(1, 10**20)


def test_skellam_agrees_with_mpmath_to_20_digits() -> None:
    """Positive parts summed over everything that matters, with mpmath's Bessel functions: 20 digits agree
    (variance 100, shift 3, epsilon 1/2).
    """
    with mpmath.workdps(40):
        e = mpmath.exp(mpmath.mpf(1) / 2)
        scaled = [mpmath.besseli(k, 100) * mpmath.exp(-100) for k in range(240)]
        gaps = [scaled[abs(x)] - e * scaled[abs(x - 3)] for x in range(-230, 60)]
        truth = mpmath.fsum(g for g in gaps if g > 0)
        found = lattice_delta(Skellam(Fraction(100)), shift=3, epsilon=Fraction(1, 2))
        middle = (lower_exact(found) + upper_exact(found)) / 2
        assert abs(mpmath.mpf(middle.numerator) / middle.denominator / truth - 1) < mpmath.mpf(10) ** -20


@pytest.mark.parametrize(
    ("shift", "epsilon", "forth", "back"),
    [
        (10, "1/10", "3.9584e-8", "3.6846e-8"),
        (433, "1", "0.127062063279595", "0.126791046882079"),
        (1, "3", "1.08e-96529", "2.64e-372301"),
    ],
)
def test_binomial_reference_values(shift: int, epsilon: str, forth: str, back: str) -> None:
    """Bin(10^6, 1/4): both directions, from the bulk to far below the smallest float."""
    distribution = Binomial(10**6, Fraction(1, 4))
    for one, digits in ((distribution, forth), (Reflected(distribution), back)):
        found = enclose(lambda one=one: hockey_stick(one, shift=shift, epsilon=Fraction(epsilon)))
        mantissa, _, exponent = digits.partition("e")
        scale = ball(10) ** int(exponent or 0)
        places = len(mantissa.split(".")[1])
        assert abs(upper_exact(found / scale) - Fraction(mantissa)) <= Fraction(6, 10 ** (places + 1))


def test_sum_of_discrete_gaussians_is_not_one() -> None:
    """Sixteen discrete Gaussians of variance 1/4 sum to a distribution with delta(1/2) = 0.0631; a single one
    of variance 4 would promise 0.0540.
    """
    claim = ApproxDP(epsilon="1/2", delta="1/2")
    sums = (
        build.integer_noise("discrete-gaussian-sum", sensitivity=1, variance="1/4", count=16)
        .certify(claim)
        .bound
    )
    single = build.integer_noise("discrete-gaussian-sum", sensitivity=1, variance=4).certify(claim).bound
    assert float(sums) == pytest.approx(0.0631, abs=5e-5)
    assert float(single) == pytest.approx(0.0540, abs=5e-5)


@pytest.mark.parametrize("last", [0, 1, 4_000, 48_750, 50_000, 50_001, 99_999])
def test_the_threshold_is_found_near_the_centre(last: int) -> None:
    """Wherever the sign of the gap changes it is found, and nothing farther from the centre than four times
    that, or the support's end, is looked at: masses far out are the slow ones."""
    distribution, asked = Binomial(100_000, Fraction(1, 2)), []

    def gap(x: int) -> arb:
        asked.append(abs(x - distribution.centre))
        return arb(last - x) + arb(1) / 2

    assert threshold(gap, distribution) == (last, [])
    assert max(asked) <= min(4 * abs(last - distribution.centre) + 4, 50_001)


def test_undecided_sign_is_enclosed() -> None:
    """F7: the positive part of a ball around 0 reaches from 0 to its upper end; decided ones stay as they
    are.
    """
    undecided = positive_part(arb(0, 1))
    assert undecided.contains(0)
    assert undecided.contains(1)
    assert positive_part(arb(-2)).is_zero()
    assert positive_part(arb(2)) == 2


def test_tie_at_the_threshold_is_enclosed() -> None:
    """epsilon = log-ratio at a lattice point exactly (discrete Gaussian, shift 2, x = 0: ratio e): the tie
    is decided by neither guess.
    """
    distribution = DiscreteGaussianSum(Fraction(2))
    found = lattice_delta(distribution, shift=2, epsilon=Fraction(1))
    with mpmath.workdps(30):
        assert float(found) == pytest.approx(float(brute_force(distribution, 2, Fraction(1))), rel=1e-11)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"family": "skellam", "sensitivity": "1/2", "variance": 4}, "integer sensitivity"),
    ({"family": "skellam", "sensitivity": 1, "variance": 0}, "greater than 0"),
    ({"family": "binomial", "sensitivity": 1, "trials": 10, "probability": 1}, "probability must be in"),
    ({"family": "binomial", "sensitivity": 1, "trials": 10**16, "probability": "1/2"}, "integer from"),
    ({"family": "discrete-gaussian-sum", "sensitivity": 1, "variance": 1, "count": 0}, "integer from"),
    ({"family": "poisson", "sensitivity": 1, "variance": 1}, "one of"),
]


@pytest.mark.parametrize(("arguments", "reason"), BAD)
def test_bad_noise_is_refused(arguments: dict[str, Any], reason: str) -> None:
    """Parameters outside a family's domain are refused with the reason."""
    arguments = dict(arguments)
    family = arguments.pop("family")
    with pytest.raises(CertificateError, match=reason):
        build.integer_noise(family, **arguments)


def test_no_pure_bound_for_skellam() -> None:
    """Skellam noise has no pure bound, and the kernel does not invent one."""
    with pytest.raises(CertificateError, match="must bound epsilon"):
        build.integer_noise("skellam", sensitivity=1, variance=4).certify(PureDP(epsilon=1))
