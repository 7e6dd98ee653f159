"""The rules about noise alone: random small noise, its tail and its moment generating function summed outcome
by outcome.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.decide import NoiseSum, TailEvent, decide_tail, proxy_proof
from dpaudit.core.claims import SubExponential, SubGaussian, TailBound
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Certificate
from tests.kernel.enumeration.cases import stream
from tests.kernel.enumeration.queries import choose

__all__ = ["DISTRIBUTION_RULES"]

#: The rules that this file is about; the test of completeness reads it.
DISTRIBUTION_RULES = ("tail", "cumulant")

Masses = dict[Fraction, float]

#: Outcomes of lattice distributions are listed up to here.
REACH = 150


def halves(rng: np.random.Generator) -> tuple[dict[str, Any], Masses]:
    """Two to four outcomes, multiples of 1/2, with small weights."""
    return finite(rng, 2)


def finite(rng: np.random.Generator, denominator: int = 1) -> tuple[dict[str, Any], Masses]:
    """Two to four outcomes with small weights."""
    size = int(rng.integers(2, 5))
    values = [Fraction(int(v), denominator) for v in rng.choice(np.arange(-6, 7), size=size, replace=False)]
    weights = [int(w) for w in rng.integers(1, 6, size=size)]
    distribution = {"law": "finite", "values": [str(v) for v in values], "weights": [str(w) for w in weights]}
    return distribution, {v: w / sum(weights) for v, w in zip(values, weights, strict=True)}


def binomial(rng: np.random.Generator) -> tuple[dict[str, Any], Masses]:
    """A few trials."""
    trials, p = int(rng.integers(1, 5)), choose(rng, [Fraction(1, 2), Fraction(1, 5), Fraction(7, 10)])
    masses = {
        Fraction(k): math.comb(trials, k) * float(p**k * (1 - p) ** (trials - k)) for k in range(trials + 1)
    }
    return {"law": "binomial", "trials": str(trials), "p": str(p)}, masses


def discrete_laplace(rng: np.random.Generator) -> tuple[dict[str, Any], Masses]:
    """Two-sided geometric noise."""
    scale = choose(rng, [Fraction(1, 2), Fraction(1), Fraction(2)])
    return {"law": "discrete-laplace", "scale": str(scale)}, _lattice(lambda k: -abs(k) / float(scale))


def discrete_gaussian(rng: np.random.Generator) -> tuple[dict[str, Any], Masses]:
    """Gaussian masses at the integers."""
    spread = choose(rng, [Fraction(1, 3), Fraction(1), Fraction(4)])
    return {"law": "discrete-gaussian", "sigma2": str(spread)}, _lattice(
        lambda k: -k * k / (2 * float(spread))
    )


def _lattice(exponent: Any) -> Masses:
    raw = {Fraction(k): math.exp(exponent(k)) for k in range(-REACH, REACH + 1)}
    total = math.fsum(raw.values())
    return {k: mass / total for k, mass in raw.items() if mass > 0}


DISTRIBUTIONS = (finite, binomial, discrete_laplace, discrete_gaussian)


def random_noise(rng: np.random.Generator, second: Any) -> tuple[NoiseSum, Masses]:
    """One or two kinds of noise, the other being ``second``, each once or twice, shifted; and the masses of
    the sum.
    """
    makers = [choose(rng, DISTRIBUTIONS)] + ([second] if rng.integers(2) else [])
    masses: Masses = {Fraction(0): 1.0}
    parts = []
    for maker in makers:
        distribution, one = maker(rng)
        count = int(rng.integers(1, 3))
        parts.append({"law": distribution, "count": str(count)})
        for _ in range(count):
            masses = _added(masses, one)
    shift = Fraction(int(rng.integers(-2, 3)), 2)
    return NoiseSum(tuple(parts), shift), {value + shift: mass for value, mass in masses.items()}


def _added(one: Masses, other: Masses) -> Masses:
    """The distribution of a sum; products below 1e-40 are left out."""
    result: dict[Fraction, float] = {}
    for a, p in one.items():
        for b, q in other.items():
            if p * q > 1e-40:
                result[a + b] = result.get(a + b, 0.0) + p * q
    return result


@pytest.mark.parametrize("index", range(24))
def test_tail_is_at_least_the_sum_of_outcomes(index: int) -> None:
    """The certified probability of an event is the sum of the masses in it: neither below nor above."""
    rng = stream("tail", index)
    noise, masses = random_noise(rng, finite)
    for side in ("above", "below", "both"):
        level, strict = Fraction(int(rng.integers(0, 10)), 2), bool(rng.integers(2))
        sign = {"above": 1, "below": -1, "both": 0}[side]
        event = TailEvent(noise=noise, factor=level, side=side, strict=strict)  # type: ignore[arg-type]
        inside = [
            mass
            for value, mass in masses.items()
            if (size := value * sign if sign else abs(value)) > level or (size == level and not strict)
        ]
        certificate = decide_tail(TailBound(probability=1, event=event.name), event)
        assert isinstance(certificate, Certificate)
        exact, bound = math.fsum(inside), float(certificate.bound)
        assert exact <= bound * (1 + 1e-9) + 1e-15
        assert bound == pytest.approx(exact, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("index", range(6))
def test_tail_of_one_density_is_its_integral(index: int) -> None:
    """Laplace, Gaussian and exponential noise: the certified tail is that of the distribution function."""
    rng = stream("density", index)
    size = choose(rng, [Fraction(1, 2), Fraction(1), Fraction(3)])
    distributions = {
        "laplace": ("scale", lambda x: math.exp(-x / float(size)) / 2),
        "gaussian": ("variance", lambda x: math.erfc(x / math.sqrt(2 * float(size))) / 2),
        "exponential": ("scale", lambda x: math.exp(-x / float(size))),
    }
    for distribution, (name, above) in distributions.items():
        noise = NoiseSum(({"law": {"law": distribution, name: str(size)}, "count": "1"},), Fraction(0))
        for level in (Fraction(int(rng.integers(1, 12)), 2), Fraction(1, 3)):
            event = TailEvent(noise=noise, factor=level, side="above")
            certificate = decide_tail(TailBound(probability=1, event=event.name), event)
            assert isinstance(certificate, Certificate)
            assert float(certificate.bound) == pytest.approx(above(float(level)), rel=1e-12)


@pytest.mark.parametrize("index", range(24))
def test_no_proxy_below_the_moments_is_proved(index: int) -> None:
    """Whatever variance proxy is accepted, log E exp(tX) <= proxy t^2 / 2 at a grid of t by summing outcomes;
    one a twentieth below the largest value found is refused, one of half as much again is proved.
    """
    rng = stream("cumulant", index)
    noise, masses = random_noise(rng, halves)
    centred = noise.centred()
    values = np.array([float(value + centred.shift - noise.shift) for value in masses])
    weights = np.array(list(masses.values()))
    reach = choose(rng, [Fraction(1, 4), Fraction(2, 5)])
    grid = [float(reach) * k / 40 * sign for k in range(1, 41) for sign in (1, -1)]
    needed = max(2 * math.log(float(weights @ np.exp(t * values))) / t**2 for t in grid)
    accepted = []
    for factor in (Fraction(19, 20), Fraction(999, 1000), Fraction(1001, 1000), Fraction(3, 2)):
        proxy = Fraction(needed).limit_denominator(10**9) * factor
        claim = SubExponential(variance_proxy=proxy, scale=1 / reach, of=centred.name)
        try:
            bound = proxy_proof(centred, proxy, reach=reach).certify(claim).bound
        except CertificateError:
            continue
        accepted.append(factor)
        assert needed <= float(bound) * (1 + 1e-9)
    assert Fraction(3, 2) in accepted
    assert Fraction(19, 20) not in accepted
    # A range says nothing about all t.
    everywhere = SubGaussian(variance_proxy=2 * proxy, of=centred.name)
    with pytest.raises(CertificateError):
        proxy_proof(centred, 2 * proxy, reach=reach).certify(everywhere)
