"""Facts on the noise laws: discrete Laplace, Pólya, Skellam (definitions 4 and 5, fact 1, footnote 3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb_poly, ctx

from audits.inequalities import Inequality, Number, add_steps
from dpaudit.claims import SameDistribution
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import arb, ball
from dpaudit.laws import DiscreteLaplace, Law, Polya, PolyaDifference, Skellam
from dpaudit.statistics import fit_log_wealth
from dpaudit.suite import Outcome, Row, Run, Suite

__all__ = ["add_rows", "convolved_polya", "gamma_poisson", "printed_laplace_mass"]

#: Sums that agree to this are equal: the balls of these rows are far narrower.
AGREEMENT = Fraction(1, 10**30)


def add_rows(suite: Suite) -> None:
    """The rows on noise laws."""
    _discrete_laplace(suite)
    _polya_sum(suite)
    _polya_sampler(suite)
    _skellam(suite)


# Definition 4


def printed_laplace_mass(b: Number, k: int) -> Any:
    """Definition 4 as printed: (e^{1/b} - 1)/(e^{1/b} + 1) e^{-|k|/b}, as a ball."""
    power = ball(1 / Fraction(b)).exp()
    return (power - 1) / (power + 1) * ball(-abs(k) / Fraction(b)).exp()


def _moment(b: Number, degree: int) -> Any:
    """Sum over all integers k of k^degree times the printed mass, added up term by term; ``degree`` even.

    Terms t(k) = k^d a^k satisfy t(k+1) <= r t(k) with r = a ((N+1)/N)^d for k >= N, so that the rest after N
    terms is between 0 and t(N+1)/(1 - r).
    """
    ratio = ball(-1 / Fraction(b)).exp()
    last = math.ceil(Fraction(b) * ctx.prec * Fraction(7, 10)) + 4 * degree + 4
    mass = printed_laplace_mass(b, 0)
    total = mass if degree == 0 else arb(0)
    for k in range(1, last + 1):
        mass = mass * ratio
        total += 2 * k**degree * mass
    growth = ratio * ball(Fraction(last + 1, last) ** degree)
    return total + arb(0).union(2 * (last + 1) ** degree * mass * ratio / (1 - growth))


def _printed_variance(b: Number) -> Any:
    power = ball(1 / Fraction(b)).exp()
    return 2 * power / (power - 1) ** 2


def _discrete_laplace(suite: Suite) -> None:
    def scales(run: Run) -> list[dict[str, Number]]:
        all_scales = ["1/10", "1/2", "1", "7", "100", *run.choose(quick=[], full=["1000"])]
        return [{"b": Fraction(b)} for b in all_scales]

    def points(run: Run) -> list[dict[str, Number]]:
        return [point | {"k": k} for point in scales(run) for k in (-5, 0, 1, 40)]

    def law_error(b: Number, k: int) -> Any:
        return abs(DiscreteLaplace(scale=b).logp_ball(k).exp() / printed_laplace_mass(b, k) - 1)

    add_steps(
        suite,
        "CZ23-D4",
        title="Lap_Z(b) sums to 1 and has variance 2e^{1/b}/(e^{1/b} - 1)²",
        steps=[
            Inequality(
                name="mass",
                text="|Σ_k P(k) - 1| <= 1e-30",
                left=lambda b: abs(_moment(b, 0) - 1),
                right=lambda b: ball(AGREEMENT),
                points=scales,
            ),
            Inequality(
                name="variance",
                text="|Σ_k k² P(k) / (2e^{1/b}/(e^{1/b} - 1)²) - 1| <= 1e-30",
                left=lambda b: abs(_moment(b, 2) / _printed_variance(b) - 1),
                right=lambda b: ball(AGREEMENT),
                points=scales,
            ),
            Inequality(
                name="law",
                text="the law that the mechanisms draw from has the printed mass, to 1e-30",
                left=law_error,
                right=lambda b, k: ball(AGREEMENT),
                points=points,
            ),
        ],
        about=(
            "Add up the printed masses, and their second moments, term by term with a bounded rest, and "
            "compare with 1 and with the printed variance; compare the law that the mechanisms use with the "
            "printed masses."
        ),
        source="Definition 4; variance in Fact 3",
        scope="b = 1/10, 1/2, 1, 7, 100 (full profile: 1000 too)",
    )


# Fact 1 and footnote 3


@lru_cache(maxsize=8)
def _one_sided_sum(n: int, b: Fraction, length: int, bits: int) -> tuple[Any, ...]:
    """Masses 0..length-1 of the sum of ``n`` Pólya(1/n, e^{-1/b}) variables, by truncated convolution.

    The low masses of a sum of non-negative integers need only the low masses of its parts, so cutting loses
    nothing. ``bits`` is the working precision, named for the cache.
    """
    ratio, mass = ball(-1 / b).exp(), (1 - ball(-1 / b).exp()) ** ball(Fraction(1, n))
    single = [mass]
    for x in range(1, length):
        mass = mass * ratio * ball((x - 1 + Fraction(1, n)) / x)
        single.append(mass)
    power, base, left = arb_poly([1]), arb_poly(single), n
    while left:
        if left & 1:
            power = _cut(power * base, length)
        base, left = (_cut(base * base, length) if left > 1 else base), left >> 1
    return tuple(power[i] for i in range(length))


def _cut(polynomial: Any, length: int) -> Any:
    return arb_poly([polynomial[i] for i in range(length)])


def convolved_polya(n: int, b: Fraction, k: int, *, length: int) -> Any:
    """P(Σ (γ⁺ - γ⁻) = k), k >= 0, for ``n`` pairs of Pólya(1/n, e^{-1/b}), from nothing but the printed Pólya
    masses: sums up to ``length`` by convolution, the rest as a ball.
    """
    masses = _one_sided_sum(n, Fraction(b), length, int(ctx.prec))
    inside = length - k
    total = sum((masses[j] * masses[j + k] for j in range(inside)), arb(0))
    left_out = (1 - sum(masses[:inside], arb(0))) * (1 - sum(masses, arb(0)))  # P(Y >= inside) sup P(X = ..)
    return total + arb(0).union(left_out.abs_upper())


def _polya_sum(suite: Suite) -> None:
    def points(run: Run) -> list[dict[str, Number]]:
        scales = [Fraction(1, 10), Fraction(1), Fraction(10), *run.choose(quick=[], full=[Fraction(50)])]
        return [
            {"n": n, "b": b, "k": k}
            for n, b in itertools.product((1, 2, 7, 64), scales)
            for k in (0, 1, 3, int(4 * b) + 4)
        ]

    def error(n: int, b: Fraction, k: int) -> Any:
        found = convolved_polya(n, b, k, length=int(60 * b) + 40 + k)
        return abs(found / printed_laplace_mass(b, k) - 1)

    add_steps(
        suite,
        "CZ23-F1",
        title="n differences of Pólya(1/n, e^{-1/b}) variables add up to Lap_Z(b)",
        steps=[
            Inequality(
                name="sum",
                text="|P(Σ_i (γ⁺_i - γ⁻_i) = k) / Lap_Z(b)(k) - 1| <= 1e-10",
                left=error,
                right=lambda n, b, k: ball(Fraction(1, 10**10)),
                points=points,
            )
        ],
        about=(
            "Convolve the printed Pólya masses n times, subtract the two sums by another convolution, and "
            "compare with the printed discrete Laplace mass."
        ),
        source="Fact 1",
        scope="n = 1, 2, 7, 64; b = 1/10, 1, 10 (full profile: 50 too); four k each",
    )
    _fit_row(
        suite,
        "CZ23-F1/sampler",
        title="Sums of n sampled Pólya shares are drawn from Lap_Z(g/ε)",
        text="drawn sums of n shares do not reject Lap_Z(b)",
        cases=[
            (f"n = {n}, b = {b}", DiscreteLaplace(scale=b), _share_sums(n, b))
            for n in (1, 7, 64)
            for b in (1, 8)
        ],
        about=(
            "Draw n Pólya differences for each of many users' sums and bet against the discrete Laplace law "
            "(goodness of fit, valid at any time)."
        ),
        source="Fact 1",
    )


def _share_sums(n: int, b: int) -> Any:
    share = PolyaDifference(shape=Fraction(1, n), log_ratio=Fraction(1, b))
    return lambda rng, size: share.sample(rng, (size, n)).sum(axis=1)


def gamma_poisson(rng: np.random.Generator, *, shape: float, second: float, size: int, reading: str) -> Any:
    """Footnote 3: λ ~ Gamma(shape, second), X ~ Poisson(λ). ``reading`` says whether the second parameter is
    the gamma law's "scale" or its "rate"."""
    scale = second if reading == "scale" else 1 / second
    return rng.poisson(rng.gamma(shape, scale, size=size))


def _polya_sampler(suite: Suite) -> None:
    cases = [(r, b) for r in (Fraction(1), Fraction(1, 8), Fraction(1, 1024)) for b in (1, 16)]
    for reading, expect in (("scale", "verified"), ("rate", "refuted")):
        _fit_row(
            suite,
            "CZ23-FN3" if reading == "scale" else "CZ23-FN3/rate",
            title=f"Poisson(Gamma(r, β/(1-β))) is Pólya(r, β), the second parameter being a {reading}",
            text=f"drawn Gamma-Poisson mixtures (β/(1-β) as a {reading}) do not reject Pólya(r, β)",
            cases=[
                (
                    f"r = {r}, β = e^(-1/{b})",
                    Polya(shape=r, log_ratio=Fraction(1, b)),
                    _mixture(r, b, reading),
                )
                for r, b in cases
            ],
            about=(
                "Sample as footnote 3 says and bet against the printed Pólya law (goodness of fit, valid at "
                "any time). The footnote does not name its second gamma parameter; this row reads it as a "
                f"{reading}."
            ),
            source="footnote 3",
            expect=expect,
        )


def _mixture(r: Fraction, b: int, reading: str) -> Any:
    odds = 1 / math.expm1(1 / b)  # β/(1-β), β = e^{-1/b}
    return lambda rng, size: gamma_poisson(rng, shape=float(r), second=odds, size=size, reading=reading)


def _fit_row(
    suite: Suite,
    id_: str,
    *,
    title: str,
    text: str,
    cases: Sequence[tuple[str, Law, Any]],
    about: str,
    source: str,
    expect: str = "verified",
) -> None:
    """A row that bets against the declared law of each sampler; ``cases`` are names, laws and samplers."""

    def evaluate(run: Run) -> Outcome:
        size = run.choose(quick=5_000, full=50_000)
        level = run.alpha / len(cases)
        found = []
        for name, law, draw in cases:
            draws = draw(run.rng(name), size)
            paths = fit_log_wealth(draws, law, rng=run.rng(f"{name}, transform"))
            found.append((float(np.max(paths.total)) / -math.log(level), name))
        worst, where = max(found)
        worst = min(worst, 1e300)
        estimate = Estimate(
            quantity="log-wealth / log(1/level)",
            lower=worst,
            upper=worst,
            confidence=1 - run.alpha,
            samples=size * len(cases),
            method="goodness-of-fit bet (e-process) against the declared law, level split over the cases",
            scope=f"{len(cases)} cases of {size} draws; most against: {where}",
            seed=run.seed,
            covers_claim=True,
        )
        return Outcome([estimate], [f"strongest evidence against the law: {worst:.3g} of 1, at {where}"])

    evaluate.__doc__ = about
    claim = SameDistribution(text=text, quantity_name="log-wealth / log(1/level)", claimed=1)
    suite.add(
        Row(
            id=id_,
            title=title,
            kind="structure",
            claim=claim,
            evaluate=evaluate,
            expect=expect,
            source=source,
        )
    )


# Definition 5


def _poisson_difference(variance: Number, k: int) -> Any:
    """P(N1 - N2 = k), k >= 0, N1 and N2 Poisson(variance / 2): sum of e^{-v} (v/2)^{2j+k} / (j! (j+k)!), from
    ratios of neighbours."""
    half = ball(Fraction(variance) / 2)
    term = (-2 * half).exp() * half**k / arb(k + 1).gamma()
    total, j = term, 0
    while True:
        j += 1
        ratio = half * half / (j * (j + k))
        term = term * ratio
        total += term
        if ratio < arb("0.5") and term < total * arb(2) ** -int(ctx.prec):
            return total + arb(0).union(2 * term * ratio)


def _skellam_pair(first: Number, second: Number, k: int) -> Any:
    """P(X + Y = k) for independent Skellam variables of two variances, by summation; the rest as a ball."""
    laws = [Skellam(variance=v) for v in (first, second)]
    reach = int(14 * math.sqrt(first) + 60)
    total = sum(
        (laws[0].logp_ball(j).exp() * laws[1].logp_ball(k - j).exp() for j in range(-reach, reach + 1)),
        arb(0),
    )
    return total + arb(0).union(2 * laws[0].sf_ball(reach))


def _skellam_mgf(variance: Number, t: Number) -> Any:
    """E e^{tX} by summation: the ratios of e^{tk} p(k) fall with k, so the rest is at most geometric."""
    law, point = Skellam(variance=variance), ball(t)
    reach = int((abs(t) + 16) * (math.sqrt(variance) + 1) + float(variance) * math.sinh(abs(t)) + 60)
    terms = [(law.logp_ball(k) + point * k).exp() for k in range(-reach, reach + 1)]
    ends = [terms[i] * (terms[i] / terms[j]) / (1 - terms[i] / terms[j]) for i, j in ((0, 1), (-1, -2))]
    return sum(terms, arb(0)) + arb(0).union(ends[0] + ends[1])


def _skellam(suite: Suite) -> None:
    def masses(run: Run) -> list[dict[str, Number]]:
        variances = [Fraction(1, 20), 1, 30, *run.choose(quick=[], full=[400])]
        return [{"variance": v, "k": k} for v in variances for k in (0, 1, 6, 50)]

    def sums(run: Run) -> list[dict[str, Number]]:
        pairs = [(Fraction(1, 20), 1), (1, 30), *run.choose(quick=[], full=[(30, 100)])]
        return [{"first": a, "second": b, "k": k} for a, b in pairs for k in (0, 3, 20)]

    def tilts(run: Run) -> list[dict[str, Number]]:
        return [
            {"variance": v, "t": Fraction(t)} for v in (Fraction(1, 20), 1, 30) for t in ("-2", "1/3", "3/2")
        ]

    agreement = {"right": lambda **_: ball(AGREEMENT)}
    add_steps(
        suite,
        "CZ23-SK0",
        title=(
            "Sk(0, σ²) is the difference of two Poisson(σ²/2), closed under sums, with MGF "
            "exp(σ²(cosh λ - 1))"
        ),
        steps=[
            Inequality(
                name="mass",
                text="|P(N1 - N2 = k) / (e^{-σ²} I_k(σ²)) - 1| <= 1e-30",
                left=lambda variance, k: abs(
                    _poisson_difference(variance, k) / Skellam(variance=variance).logp_ball(k).exp() - 1
                ),
                points=masses,
                **agreement,
            ),
            Inequality(
                name="sum",
                text="|P(X1 + X2 = k) / Sk(σ1² + σ2²)(k) - 1| <= 1e-30",
                left=lambda first, second, k: abs(
                    _skellam_pair(first, second, k) / Skellam(variance=first + second).logp_ball(k).exp() - 1
                ),
                points=sums,
                **agreement,
            ),
            Inequality(
                name="MGF",
                text="|E e^{λX} / exp(σ²(cosh λ - 1)) - 1| <= 1e-30",
                left=lambda variance, t: abs(
                    _skellam_mgf(variance, t) / (ball(variance) * (ball(t).cosh() - 1)).exp() - 1
                ),
                points=tilts,
                **agreement,
            ),
        ],
        about=(
            "Add up products of Poisson masses, of Skellam masses, and exponential moments, each "
            "with a bounded "
            "rest, and compare with the printed Bessel form and moment generating function."
        ),
        source="Definition 5",
        scope="σ² = 1/20, 1, 30 (full profile: up to 400), several k and λ",
    )
