"""Returning users: a user who takes part in up to B batches (appendix I, Remarks 8 and 9)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from audits.distributed_mab.noise_privacy import add_privacy_row
from audits.inequalities import Inequality, Number, Point, add_steps
from dpaudit.claims import PureDP, ZeroConcentratedDP
from dpaudit.conversions import gaussian_delta, step_budget
from dpaudit.evidence import Witness
from dpaudit.exact_functions import ln
from dpaudit.kernel.ball import arb, ball, lower_short, precision, upper_short
from dpaudit.laws import DiscreteLaplace
from dpaudit.proofs.build import (
    compose_sequential,
    discrete_gaussian_sum,
    discrete_laplace_mechanism,
)
from dpaudit.suite import Run, Suite
from dpaudit.views import SERVER, View
from dpaudit.witnesses.transcript import WitnessSite, transcript_body
from mechanisms.gaussian_sum_divergence import xi

__all__ = ["add_rows"]

RETURNING = "a user's rewards in up to B batches, one in each"


def add_rows(suite: Suite) -> None:
    """The rows on returning users."""
    _returning_users(suite)
    _returning_noise(suite)


def _returning_users(suite: Suite) -> None:
    batches, epsilon = 10, Fraction(1, 2)
    total = batches * epsilon
    claim = PureDP(epsilon=total, view=View.of(SERVER), domain=RETURNING)
    one = discrete_laplace_mechanism(sensitivity=4, scale=4 / epsilon)
    add_privacy_row(
        suite,
        "CZ23-I/pure",
        title="A user who joins B = 10 batches: pure DP adds up to Bε",
        claim=claim,
        evidence=lambda run: [compose_sequential([one], times=[batches]).certify(claim)],
        about="Compose ten aggregates of Theorem 1 on the same user's rewards.",
        source="Remark 9",
    )
    less = PureDP(epsilon=total - Fraction(1, 100), view=View.of(SERVER), domain=RETURNING)
    add_privacy_row(
        suite,
        "CZ23-I/pure/tight",
        title="A user who joins B = 10 batches loses less than Bε - 1/100",
        claim=less,
        evidence=lambda run: [_returning_witness(less, batches, epsilon)],
        about=(
            "Linear growth is exact: all ten aggregates at 0, all rewards 0 or all of that user's rewards 1."
        ),
        source="Remark 9, whether it can be improved for pure DP",
        expect="refuted",
    )
    share = Fraction(4)  # Theorem 4's sheet with s = 2, ε = 1/2, n = 16: g = 4, share g²/(nε²)
    with precision(256):
        single = epsilon**2 / 2 + upper_short(xi(Fraction(4), 7) / 4)
    concentrated = ZeroConcentratedDP(rho=batches * single, view=View.of(SERVER), domain=RETURNING)
    part = discrete_gaussian_sum(sensitivity=4, variance=share, count=16)
    add_privacy_row(
        suite,
        "CZ23-I/concentrated",
        title="A user who joins B = 10 batches: B(ε²/2 + ξ/4)-CDP in total",
        claim=concentrated,
        evidence=lambda run: [compose_sequential([part], times=[batches]).certify(concentrated)],
        about="Compose ten aggregates of Theorem 4's sheet (s = 2, n = 16) on the same user's rewards.",
        source="appendix I, RDP/CDP route",
    )


def _returning_witness(claim: PureDP, batches: int, epsilon: Fraction) -> Witness:
    noise = DiscreteLaplace(scale=4 / epsilon)
    sites = [
        WitnessSite(
            site=f"aggregate {b}", to=frozenset([SERVER]), law=noise, law_neighbour=noise.shift(4), value=0
        )
        for b in range(batches)
    ]
    with precision(256):
        bound = lower_short(sum((site.loss_ball() for site in sites), arb(0)))
    return Witness(
        quantity="epsilon",
        bound=bound,
        form="transcript",
        body=transcript_body(sites, view=claim.view, inputs=([0] * batches, [1] * batches)),
        origin="forced",
        description=(
            f"{batches} batches of zeros, or with one user's reward 1 in each; the server sees 0 in all"
        ),
    )


def _smallest_rho(epsilon: Fraction, delta: Fraction, *, route: str) -> float:
    """The zCDP parameter of the least Gaussian noise per batch that a route allows at (ε, δ), by bisection
    in the logarithm; ``route`` is "exact" (the curve itself) or "closed" (ρ + 2 sqrt(ρ log(1/δ)) <= ε)."""
    if route == "closed":
        root = math.sqrt(math.log(1 / delta) + float(epsilon)) - math.sqrt(math.log(1 / delta))
        return root**2
    low, high = -60.0, 10.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        fits = gaussian_delta(Fraction(math.exp(middle)), ball(epsilon)) <= ball(delta)
        low, high = (middle, high) if fits else (low, middle)
    return math.exp(low)


def _returning_noise(suite: Suite) -> None:
    """Noise variance per batch and unit sensitivity, σ² = 1/(2ρ), by each route of appendix I."""

    def points(run: Run) -> list[Point]:
        return [
            {"batches": b, "epsilon": Fraction(e), "delta": Fraction(d)}
            for b in (2, 10, 50)
            for e in ("1/10", "1/2", "99/100")
            for d in ("1/1000", "1/1000000", "1/1000000000")
        ]

    @lru_cache(maxsize=64)
    def approximate(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
        """Route of eq. (14): the least variance for (ε_i, δ_i) in each batch, on the exact Gaussian curve."""
        budget = step_budget(epsilon, batches, delta / 2)
        part = Fraction(float(budget.mid()))
        return 1 / (2 * ball(Fraction(_smallest_rho(part, delta / (2 * batches), route="exact"))))

    def concentrated(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
        """Route of eq. (15): Bρ-CDP, converted by Lemma 10's closed form."""
        return batches / (2 * ball(Fraction(_smallest_rho(epsilon, delta, route="closed"))))

    @lru_cache(maxsize=64)
    def exact_route(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
        """The least variance of all: B-fold Gaussian noise on its exact curve."""
        return batches / (2 * ball(Fraction(_smallest_rho(epsilon, delta, route="exact"))))

    def first_rate(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
        return ball(batches / epsilon**2) * ln(1 / delta) * ln(batches / delta)

    def second_rate(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
        return ball(batches / epsilon**2) * ln(1 / delta)

    def composed(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
        """delta at ε of B batches with the variance of eq. (14): B-fold Gaussian noise."""
        variance = approximate(batches, epsilon, delta)
        return gaussian_delta(Fraction(batches) / (2 * Fraction(float(variance.mid()))), ball(epsilon))

    def row(id_: str, title: str, steps: list[tuple[str, str, Any, Any]], about: str, source: str) -> None:
        add_steps(
            suite,
            id_,
            title=title,
            steps=[
                Inequality(name=name, text=text, left=left, right=right, points=points)
                for name, text, left, right in steps
            ],
            about=about,
            source=source,
            scope="B = 2, 10, 50; ε = 1/10, 1/2, 0.99; δ = 1e-3, 1e-6, 1e-9",
            notes=["the constants are this grid's; the paper gives orders only"],
        )

    row(
        "CZ23-I/14",
        "Returning users, approximate-DP route: σ² = O(B log(1/δ) log(B/δ)/ε²), and (ε, δ) in total",
        [
            ("above", "σ² <= 16 B log(1/δ) log(B/δ)/ε²", approximate, _times(16, first_rate)),
            ("below", "B log(1/δ) log(B/δ)/ε² <= σ²: the order is exact", first_rate, approximate),
            (
                "total",
                "exact delta at ε of B batches <= δ",
                composed,
                lambda batches, epsilon, delta: ball(delta),
            ),
        ],
        "Least Gaussian variance for (ε_i, δ_i) in each batch, ε_i and δ_i as printed, by bisection "
        "on the exact "
        "curve; then the exact total of B batches.",
        "eq. (14)",
    )
    row(
        "CZ23-I/15",
        "Returning users, RDP/CDP route: σ² = O(B log(1/δ)/ε²), never below what is needed",
        [
            ("above", "σ² <= (9/4) B log(1/δ)/ε²", concentrated, _times(Fraction(9, 4), second_rate)),
            ("below", "B log(1/δ)/ε² <= σ²", second_rate, concentrated),
            ("needed", "the exact least variance <= σ²", exact_route, concentrated),
        ],
        "Variance from Bρ-CDP and Lemma 10's closed form, against the rate and against the least "
        "variance that B-fold "
        "Gaussian noise needs on its exact curve.",
        "eq. (15)",
    )

    def gain(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
        return approximate(batches, epsilon, delta) / concentrated(batches, epsilon, delta)

    row(
        "CZ23-I/gain",
        "The RDP/CDP route gains a factor of the order of log(B/δ) in variance",
        [
            ("above", "gain <= 8 log(B/δ)", gain, lambda batches, epsilon, delta: 8 * ln(batches / delta)),
            ("below", "log(B/δ) <= gain", lambda batches, epsilon, delta: ln(batches / delta), gain),
        ],
        "The two variances above, divided, against log(B/δ) from both sides.",
        "appendix I",
    )


def _times(factor: Number, function: Any) -> Any:
    return lambda **point: ball(factor) * function(**point)
