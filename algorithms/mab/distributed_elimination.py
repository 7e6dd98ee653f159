"""The variants of Chowdhury and Zhou (ICLR 2023): Algorithm 1 with each theorem's protocol and radius.

``DESIGNS`` is the table. It holds for each variant its theorem, the noise of one batch, the sheet of public
parameters, σ and h of the confidence radius, and the theorem's regret rate.

The radii of Theorems 1 and 2 are the paper's. For a printed O(1/ε) the constants follow from its two error
terms, τ/g and the rounding error. "CDP-SE" is the central pure variant, "Dist-CDP-SE" is about concentrated
privacy.

``failure_prob`` is p: 1/T in the theorems, 0.1 in the experiments. It sets the radius and the margin τ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Program
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, positive, probability
from dpaudit.distributions.chernoff import discrete_laplace_cumulant, gaussian_cumulant, skellam_cumulant
from dpaudit.reference.algorithms.mab import batched_elimination
from dpaudit.reference.algorithms.mab.batched_elimination import NoiseTail
from dpaudit.reference.algorithms.play import Strategy, bandit_program
from dpaudit.reference.mechanisms.batch_protocol import BatchProtocol
from dpaudit.reference.mechanisms.modular_sum import Aggregator, secure_sum
from dpaudit.reference.mechanisms.parameter_sheet import (
    LAPLACE_SUM_CONSTANT,
    Sheet,
    central_laplace_sheet,
    discrete_gaussian_sheet,
    local_laplace_sheet,
    polya_sheet,
    shuffle_sheet,
    skellam_sheet,
)
from dpaudit.reference.mechanisms.relaxed_aggregation import CarrySum

__all__ = ["DESIGNS", "NAMES", "Design", "Noise", "Variant", "program", "strategy", "variant"]

#: The total noise of a batch: discrete Laplace, a sum of one discrete Laplace variable for each user,
#: Skellam, or a sum of discrete Gaussians.
Noise = Literal["laplace", "laplace of each user", "skellam", "gaussian"]

Floats = NDArray[np.float64]
ROOT = math.sqrt(2)


class _MakeSheet(Protocol):
    """Public parameters of a batch; ``scale_factor`` is s, ``constant`` is c of the local variant."""

    def __call__(
        self,
        *,
        users: int,
        epsilon: Fraction,
        tail_prob: Fraction,
        scale_factor: Fraction,
        constant: Fraction,
    ) -> Sheet: ...


@dataclass(frozen=True, kw_only=True)
class Design:
    """One theorem's variant, for any parameters.

    ``tail(ε, s, c, n)`` gives σ and h of the radius in a batch of n users. ``rate(log T, ε, s)`` gives (a, b)
    of the theorem's regret a Σ 1/Δ + K b. The noise is drawn for the share ``budget`` of ε. With ``relaxed``
    the secure function may be (ε̂, q)-relaxed, as in Theorem 3.
    """

    name: str
    title: str
    theorem: str
    noise: Noise
    sheet: _MakeSheet
    tail: Callable[[float, float, float, int], NoiseTail]
    rate: Callable[[float, float, float], tuple[float, float]]
    budget: Fraction = Fraction(1)
    relaxed: bool = False

    def pole(self, sheet: Sheet, epsilon: Fraction) -> float:
        """Return the rate beyond which the noise has no exponential moment; infinite for all but Laplace
        noise.
        """
        if self.noise in ("skellam", "gaussian"):
            return math.inf
        return float(epsilon * self.budget / sheet.precision)

    def cumulant(self, rates: Floats, sheet: Sheet, epsilon: Fraction) -> Floats:
        """Return log E exp(rate Y) of the total noise Y of a batch, or a bound on it, at rates below the
        pole.
        """
        variance = float(sheet.precision / epsilon) ** 2
        if self.noise == "skellam":
            return skellam_cumulant(rates, variance=variance)
        if self.noise == "gaussian":  # each share is sub-Gaussian with its parameter (Fact 2)
            return gaussian_cumulant(rates, variance=variance)
        return discrete_laplace_cumulant(rates, decay=self.pole(sheet, epsilon)) * self.terms(sheet)

    def terms(self, sheet: Sheet) -> int:
        """Return the number of independent Laplace variables in the total noise of a batch."""
        return sheet.users if self.noise == "laplace of each user" else 1


def _pure_rate(log_t: float, epsilon: float, s: float) -> tuple[float, float]:
    return log_t, log_t / epsilon


def _pure_tail(epsilon: float, s: float, c: float, users: int) -> NoiseTail:
    return NoiseTail(ROOT / epsilon, 1 / epsilon)


def _shuffled(variant: Literal["printed", "repaired"], title: str, budget: Fraction) -> Design:
    return Design(
        name=f"shuffle_dp_se/{variant}",
        title=title,
        theorem="Theorem 3",
        noise="laplace",
        sheet=lambda *, users, epsilon, tail_prob, **_: shuffle_sheet(
            users=users, epsilon=epsilon, tail_prob=tail_prob, variant=variant
        ),
        tail=lambda epsilon, s, c, users: NoiseTail(2 * ROOT / epsilon, 2 / epsilon),
        rate=_pure_rate,
        budget=budget,
        relaxed=True,
    )


_DESIGNS = (
    Design(
        name="dist_dp_se",
        title="Dist-DP-SE",
        theorem="Theorem 1",
        noise="laplace",
        sheet=lambda *, users, epsilon, tail_prob, **_: polya_sheet(
            users=users, epsilon=epsilon, tail_prob=tail_prob
        ),
        tail=_pure_tail,
        rate=_pure_rate,
    ),
    Design(
        name="dist_rdp_se",
        title="Dist-RDP-SE",
        theorem="Theorem 2",
        noise="skellam",
        sheet=lambda *, users, epsilon, tail_prob, scale_factor, **_: skellam_sheet(
            users=users, epsilon=epsilon, tail_prob=tail_prob, scale_factor=scale_factor
        ),
        tail=lambda epsilon, s, c, users: NoiseTail(2 / epsilon + ROOT / (s * epsilon), 1 / (s * epsilon)),
        rate=lambda log_t, epsilon, s: (log_t, math.sqrt(log_t) / epsilon + log_t / (s * epsilon)),
    ),
    Design(
        name="dist_cdp_se",
        title="Dist-CDP-SE",
        theorem="Theorem 4",
        noise="gaussian",
        sheet=lambda *, users, epsilon, tail_prob, scale_factor, **_: discrete_gaussian_sheet(
            users=users, epsilon=epsilon, tail_prob=tail_prob, scale_factor=scale_factor
        ),
        tail=lambda epsilon, s, c, users: NoiseTail((ROOT + ROOT / s) / epsilon, 0.0),
        rate=lambda log_t, epsilon, s: (log_t, math.sqrt(log_t) / epsilon),
    ),
    Design(
        name="cdp_se",
        title="CDP-SE",
        theorem="Theorem 5",
        noise="laplace",
        sheet=lambda *, users, epsilon, tail_prob, **_: central_laplace_sheet(
            users=users, epsilon=epsilon, tail_prob=tail_prob
        ),
        tail=_pure_tail,
        rate=_pure_rate,
    ),
    Design(
        name="ldp_se",
        title="LDP-SE",
        theorem="Theorem 6",
        noise="laplace of each user",
        sheet=lambda *, users, epsilon, tail_prob, constant, **_: local_laplace_sheet(
            users=users, epsilon=epsilon, tail_prob=tail_prob, laplace_sum_constant=constant
        ),
        tail=lambda epsilon, s, c, users: NoiseTail((c * ROOT * math.sqrt(users) + ROOT) / epsilon, 0.0),
        rate=lambda log_t, epsilon, s: (log_t / epsilon**2, 0.0),
    ),
    _shuffled("printed", "Shuffle-DP-SE as printed", Fraction(1)),
    _shuffled("repaired", "Shuffle-DP-SE with noise for ε'", Fraction(1, 2)),
)

#: By name.
DESIGNS: Mapping[str, Design] = {design.name: design for design in _DESIGNS}
NAMES: tuple[str, ...] = tuple(DESIGNS)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One instantiation of Algorithm 1: public parameters for every batch size."""

    name: str
    failure_prob: Fraction
    sheet: Callable[[int], Sheet]
    tail: Callable[[int], NoiseTail]
    aggregator: Aggregator = secure_sum

    def prepared(self, lengths: Sequence[int]) -> Variant:
        """Return the same variant with the sheets of these batch sizes, computed once."""
        sheets = {length: self.sheet(length) for length in lengths}
        return replace(self, sheet=lambda length: sheets[length])


def variant(
    name: str,
    *,
    epsilon: ExactLike,
    failure_prob: ExactLike,
    scale_factor: ExactLike = 1,
    laplace_sum_constant: ExactLike = LAPLACE_SUM_CONSTANT,
    margin_prob: Callable[[int], ExactLike] | None = None,
) -> Variant:
    """Return the variant ``name`` (one of ``NAMES``).

    ``scale_factor`` is s >= 1 of the Rényi and concentrated variants, ``laplace_sum_constant`` is c of the
    local variant; all numbers are exact. ``margin_prob`` gives the failure probability of τ by the batch
    size, instead of the paper's ``failure_prob`` for every batch. A smaller probability widens τ and the
    modulus, but not noise or radius.
    """
    budget, p = positive(epsilon, name="epsilon"), probability(failure_prob, name="failure_prob")
    s, c = exact(scale_factor, name="scale_factor"), exact(laplace_sum_constant, name="laplace_sum_constant")
    if name not in DESIGNS:
        raise InvalidParameterError(f"name must be one of {NAMES}, got {name!r}.")
    design = DESIGNS[name]

    def sheet(users: int) -> Sheet:
        level = p if margin_prob is None else probability(margin_prob(users), name="margin_prob")
        return _sheet(name, users, budget, level, s, c)

    return Variant(
        name=name,
        failure_prob=p,
        sheet=sheet,
        tail=lambda length: design.tail(float(budget), float(s), float(c), length),
        aggregator=CarrySum(secagg_epsilon=budget / 4) if design.relaxed else secure_sum,
    )


@lru_cache(maxsize=4096)
def _sheet(name: str, users: int, budget: Fraction, p: Fraction, s: Fraction, c: Fraction) -> Sheet:
    return DESIGNS[name].sheet(users=users, epsilon=budget, tail_prob=p, scale_factor=s, constant=c)


def strategy(
    chosen: Variant,
    *,
    growth: ExactLike = 2,
    aggregator: Aggregator | None = None,
    grid: int | None = None,
    participation: Sequence[bool] | None = None,
) -> Strategy:
    """Build Algorithm 1 as ``chosen``, user by user.

    ``aggregator`` replaces the variant's secure function, ``grid`` declares the rewards' lattice, and
    ``participation`` which users send (``batched_elimination``).
    """
    secure = chosen.aggregator if aggregator is None else aggregator

    def protocols(length: int) -> BatchProtocol:
        return BatchProtocol(sheet=chosen.sheet(length), aggregator=secure, grid=grid)

    return batched_elimination.strategy(
        protocols,
        failure_prob=chosen.failure_prob,
        tail=chosen.tail,
        growth=growth,
        participation=participation,
    )


def program(
    chosen: Variant,
    *,
    growth: ExactLike = 2,
    aggregator: Aggregator | None = None,
    grid: int | None = None,
    participation: Sequence[bool] | None = None,
) -> Program:
    """Run ``program(coins, data)`` for potential outcomes (T, K) in [0, 1]; returns the decisions."""
    return bandit_program(
        strategy(chosen, growth=growth, aggregator=aggregator, grid=grid, participation=participation)
    )
