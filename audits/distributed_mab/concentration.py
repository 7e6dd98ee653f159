"""Concentration: Lemmas 6 to 9, against exact tails of laws whose parameters are known."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from audits.distributed_mab.tails import ENOUGH, LEVELS
from audits.inequalities import Inequality, Number, Point, add_steps
from dpaudit.exact_functions import larger, log_of_two_over
from dpaudit.kernel.ball import arb, ball
from dpaudit.laws import (
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    PolyaDifference,
    Skellam,
)
from dpaudit.laws.exact_tails import above, beyond, sum_beyond
from dpaudit.suite import Run, Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The rows on Lemmas 6 to 9."""
    _sub_gaussian(suite)
    _sub_exponential(suite)
    _hoeffding(suite)
    _sums(suite)


def _gaussian_beyond(variance: Number, radius: Any) -> Any:
    return (radius / (2 * ball(variance)).sqrt()).erfc()


def _sub_gaussian(suite: Suite) -> None:
    levels = [{"p": p} for p in LEVELS]

    def radius(p: Number) -> Any:
        return (2 * log_of_two_over(p)).sqrt()

    def coins(n: int, p: Fraction) -> Any:
        # sum of n fair signs is n-sub-Gaussian: 2 Bin(n, 1/2) - n
        return 2 * above(Binomial(trials=n, p=Fraction(1, 2)), (ball(n).sqrt() * radius(p) + n) / 2)

    add_steps(
        suite,
        "CZ23-L6",
        title="σ²-sub-Gaussian: |X| <= σ sqrt(2 log(2/p)) with probability 1 - p or more",
        steps=[
            Inequality(
                name="normal law",
                text="N(0, 1)",
                left=lambda p: _gaussian_beyond(1, radius(p)),
                right=lambda p: ball(p),
                points=lambda run: levels,
            ),
            Inequality(
                name="signs",
                text="a sum of n fair signs, σ² = n",
                left=coins,
                right=lambda n, p: ball(p),
                points=lambda run: [{"n": n, "p": p} for n in (1, 2, 9, 100, 1000) for p in LEVELS],
            ),
            Inequality(
                name="discrete Gaussian",
                text="N_Z(0, σ²)",
                left=lambda variance, p: beyond(
                    DiscreteGaussian(sigma2=variance), ball(variance).sqrt() * radius(p)
                ),
                right=lambda variance, p: ball(p),
                points=lambda run: [
                    {"variance": Fraction(v), "p": p} for v in ("1/20", "1", "100") for p in LEVELS
                ],
            ),
        ],
        about="Exact tails of three laws whose variance proxy is known, beyond the printed radius.",
        source="Lemma 6",
        scope="p from 1 to 1e-12",
        kind="tail",
        notes=["proof: P(|X| > t) <= 2 e^{-t²/(2σ²)} (Chernoff at λ = t/σ²), which is p at the radius"],
    )


def _exponential_radius(proxy: Any, h: Any, p: Number) -> Any:
    """Lemma 7's sqrt(2) σ sqrt(log(2/p)) + 2h log(2/p)."""
    level = log_of_two_over(p)
    return (2 * proxy * level).sqrt() + 2 * h * level


def _two_regimes(proxy: Any, h: Any, t: Any) -> Any:
    """Lemma 7's tail: 2 exp(-t²/(2σ²)) up to σ²/h, 2 exp(-t/(2h)) beyond."""
    return 2 * (-t * t / (2 * proxy)).exp() if t <= proxy / h else 2 * (-t / (2 * h)).exp()


#: Laws with a pair (σ², h): Skellam by Proposition 1's proof, sums of (discrete) Laplace by Lemma 5 with c
#: = 8/5.
def _known_pairs() -> dict[str, tuple[Callable[[Any], Any], Any, Any]]:
    c = ball(ENOUGH)
    skellam = {v: Skellam(variance=Fraction(v)) for v in ("1/20", "1", "30")}
    sums = {n: PolyaDifference(shape=n, log_ratio=Fraction(1, 2)) for n in (1, 4, 32)}
    found: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
        f"Sk(0, {v})": (lambda t, law=law: beyond(law, t), 2 * ball(Fraction(v)), 1 / arb(2).sqrt())
        for v, law in skellam.items()
    }
    found |= {
        f"sum of {n} Lap_Z(2)": (lambda t, law=law: beyond(law, t), 4 * n * c * c, 2 * c)
        for n, law in sums.items()
    }
    return found | {"Laplace(1)": (lambda t: (-t).exp(), c * c, c)}


def _sub_exponential(suite: Suite) -> None:
    names = list(_known_pairs())

    def at_radius(law: str, p: Fraction) -> Any:
        tail, proxy, h = _known_pairs()[law]
        return tail(_exponential_radius(proxy, h, p))

    def sizes(law: str, part: Fraction) -> tuple[Any, Any]:
        tail, proxy, h = _known_pairs()[law]
        t = ball(part) * proxy / h
        return tail(t), _two_regimes(proxy, h, t)

    parts = [Fraction(t) for t in ("1/1000", "1/4", "999/1000", "1001/1000", "2", "10")]
    grid: list[Any] = [{"law": name, "part": part} for name in names for part in parts]
    add_steps(
        suite,
        "CZ23-L7",
        title="(σ², h)-sub-exponential: two-regime tail, and |X| <= sqrt(2) σ sqrt(log(2/p)) + 2h log(2/p)",
        steps=[
            Inequality(
                name="tail",
                text="P(|X| > t) <= 2e^{-t²/(2σ²)} for t <= σ²/h, 2e^{-t/(2h)} beyond",
                left=lambda law, part: sizes(law, part)[0],
                right=lambda law, part: sizes(law, part)[1],
                points=lambda run: grid,
            ),
            Inequality(
                name="radius",
                text="P(|X| > sqrt(2) σ sqrt(log(2/p)) + 2h log(2/p)) <= p",
                left=at_radius,
                right=lambda law, p: ball(p),
                points=lambda run: [{"law": name, "p": p} for name in names for p in LEVELS],  # type: ignore[dict-item]
            ),
        ],
        about="Exact tails of laws whose pair (σ², h) is known, against both forms of the lemma.",
        source="Lemma 7",
        scope=f"{', '.join(names)}; t from σ²/(1000h) to 10σ²/h, p from 1 to 1e-12",
        kind="tail",
        notes=[
            "proof: Chernoff at λ = t/σ² while that is at most 1/h, at λ = 1/h beyond, where "
            "σ²/(2h²) <= t/(2h); the "
            "radius is at least as large as the t at which either regime gives p"
        ],
    )


def _hoeffding(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        means = ["0", "1/1000", "1/10", "1/2", "9/10", "1"]
        users = [1, 2, 5, 30, 200, *run.choose(quick=[], full=[2000])]
        return [{"mean": Fraction(m), "n": n, "p": p} for m in means for n in users for p in LEVELS]

    def tail(mean: Fraction, n: int, p: Fraction) -> Any:
        radius = (n * log_of_two_over(p) / 2).sqrt()
        sides = ((mean, Binomial(trials=n, p=mean)), (1 - mean, Binomial(trials=n, p=1 - mean)))
        return sum((above(law, ball(n * centre) + radius) for centre, law in sides), arb(0))

    add_steps(
        suite,
        "CZ23-L8",
        title="X_i iid in [0, 1]: |mean - E X| <= sqrt(log(2/p)/(2n)) with probability 1 - p or more",
        steps=[
            Inequality(
                name="coins",
                text="Bernoulli variables, the extreme laws of a given mean, at every point of the grid",
                left=tail,
                right=lambda mean, n, p: ball(p),
                points=points,
            )
        ],
        about="Exact binomial tails beyond the printed radius, means 0 and 1 and n = 1 first.",
        source="Lemma 8",
        scope="means from 0 to 1, n from 1 to 200 (full profile: 2000), p from 1 to 1e-12",
        kind="tail",
        notes=["proof: Hoeffding 1963, Theorem 2"],
    )


def _sums(suite: Suite) -> None:
    c = ENOUGH

    def radius(proxies: Any, h: Any, p: Number) -> Any:
        level = log_of_two_over(p)
        return larger((2 * proxies * level).sqrt(), 2 * h * level)

    def two_scales(first: Fraction, second: Fraction, p: Fraction) -> Any:
        laws = [DiscreteLaplace(scale=s) for s in (first, second)]
        v = radius(ball(c**2 * (first**2 + second**2)), ball(c * max(first, second)), p)
        return sum_beyond(laws[0], laws[1], v, reach=int(first * 45) + 20)

    def mixed(scale: Fraction, variance: Fraction, p: Fraction) -> Any:
        h = larger(ball(c * scale), 1 / arb(2).sqrt())
        v = radius(ball(c**2 * scale**2 + 2 * variance), h, p)
        return sum_beyond(
            DiscreteLaplace(scale=scale), Skellam(variance=variance), v, reach=int(scale * 45) + 20
        )

    pairs = [(Fraction(a), Fraction(b)) for a, b in (("1/10", "5"), ("1", "1"), ("1", "5"), ("2", "3"))]
    add_steps(
        suite,
        "CZ23-L9",
        title="Sums of independent (σ_i², h_i)-sub-exponential variables: v >= max{sqrt(2Σσ_i² L), 2h* L}",
        steps=[
            Inequality(
                name="two scales",
                text="Lap_Z(s1) + Lap_Z(s2) with Lemma 5's pairs, L = log(2/p)",
                left=two_scales,
                right=lambda first, second, p: ball(p),
                points=lambda run: [{"first": a, "second": b, "p": p} for a, b in pairs for p in LEVELS],
            ),
            Inequality(
                name="two families",
                text="Lap_Z(s) + Sk(0, σ²)",
                left=mixed,
                right=lambda scale, variance, p: ball(p),
                points=lambda run: [
                    {"scale": a, "variance": b, "p": p} for a, b in pairs[:3] for p in LEVELS
                ],
            ),
        ],
        about="Exact tails of sums of two different variables at the smallest v that the lemma allows.",
        source="Lemma 9",
        scope="scales 1/10 to 5, variances 1 and 5, p from 1 to 1e-12; equal parts: CZ23-L5/tail",
        kind="tail",
        notes=["proof: the cumulants add on |λ| <= 1/h*, then Lemma 7, each of whose regimes gives p at v"],
    )
