"""A user who takes part in up to B batches: exact losses, and the least noise that each route of appendix I
allows."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpaudit.claims import PureDP
from dpaudit.conversions import gaussian_delta, step_budget
from dpaudit.evidence import Witness
from dpaudit.kernel.ball import arb, ball, lower_short, precision
from dpaudit.laws import DiscreteLaplace
from dpaudit.views import SERVER
from dpaudit.witnesses.transcript import WitnessSite, transcript_body

__all__ = ["approximate_route", "concentrated_route", "exact_route", "returning_witness"]


def returning_witness(claim: PureDP, batches: int, epsilon: Fraction) -> Witness:
    """All aggregates at 0, all rewards 0 or all of one user's rewards 1."""
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


# Noise variance per batch and unit sensitivity, σ² = 1/(2ρ), by each route of appendix I


@lru_cache(maxsize=64)
def approximate_route(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
    """Route of eq. (14): the least variance for (ε_i, δ_i) in each batch, on the exact Gaussian curve."""
    budget = step_budget(epsilon, batches, delta / 2)
    part = Fraction(float(budget.mid()))
    return 1 / (2 * ball(Fraction(_smallest_rho(part, delta / (2 * batches), route="exact"))))


def concentrated_route(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
    """Route of eq. (15): Bρ-CDP, converted by Lemma 10's closed form."""
    return batches / (2 * ball(Fraction(_smallest_rho(epsilon, delta, route="closed"))))


@lru_cache(maxsize=64)
def exact_route(batches: int, epsilon: Fraction, delta: Fraction) -> Any:
    """The least variance of all: B-fold Gaussian noise on its exact curve."""
    return batches / (2 * ball(Fraction(_smallest_rho(epsilon, delta, route="exact"))))
