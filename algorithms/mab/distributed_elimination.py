"""The variants of Chowdhury and Zhou (ICLR 2023): Algorithm 1 with each theorem's protocol and radius.

=========================  ==============================  ===================================================
name                       noise (``parameter_sheet``)     σ and h of the confidence radius
=========================  ==============================  ===================================================
``dist_dp_se``             Pólya shares (Theorem 1)        sqrt(2)/ε, 1/ε
``dist_rdp_se``            Skellam shares (Theorem 2)      2/ε + sqrt(2)/(sε), 1/(sε)
``dist_cdp_se``            discrete Gaussian (Theorem 4)   (sqrt(2) + sqrt(2)/s)/ε, 0
``cdp_se``                 trusted server (Theorem 5)      sqrt(2)/ε, 1/ε
``ldp_se``                 every user (Theorem 6)          (c sqrt(2 l(b)) + sqrt(2))/ε, 0
``shuffle_dp_se/printed``  Pólya shares (Theorem 3)        sqrt(2)/ε', 1/ε' with ε' = ε/2
``shuffle_dp_se/repaired`` the same, drawn with ε'         the same
=========================  ==============================  ===================================================

The first two radii are the paper's; where it prints O(1/ε) the constants follow from its two error terms,
τ/g and the rounding error. "CDP-SE" is the central pure variant, "Dist-CDP-SE" is about concentrated privacy.

``failure_prob`` is p: 1/T in the theorems, 0.1 in the experiments. It sets the radius and the margin τ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from algorithms.mab import batched_elimination
from algorithms.mab.batched_elimination import NoiseTail
from algorithms.play import Strategy, bandit_program
from dpaudit.coins.base import Program
from dpaudit.errors import InvalidParameterError
from dpaudit.exact import ExactLike, exact, positive, probability
from mechanisms.batch_protocol import BatchProtocol
from mechanisms.modular_sum import Aggregator, secure_sum
from mechanisms.parameter_sheet import (
    LAPLACE_SUM_CONSTANT,
    Sheet,
    central_laplace_sheet,
    discrete_gaussian_sheet,
    local_laplace_sheet,
    polya_sheet,
    shuffle_sheet,
    skellam_sheet,
)
from mechanisms.relaxed_aggregation import CarrySum

__all__ = ["NAMES", "Variant", "program", "strategy", "variant"]

NAMES: tuple[str, ...] = (
    "dist_dp_se",
    "dist_rdp_se",
    "dist_cdp_se",
    "cdp_se",
    "ldp_se",
    "shuffle_dp_se/printed",
    "shuffle_dp_se/repaired",
)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One instantiation of Algorithm 1: public parameters for every batch size."""

    name: str
    failure_prob: Fraction
    sheet: Callable[[int], Sheet]
    tail: Callable[[int], NoiseTail]
    aggregator: Aggregator = secure_sum


def variant(
    name: str,
    *,
    epsilon: ExactLike,
    failure_prob: ExactLike,
    scale_factor: ExactLike = 1,
    laplace_sum_constant: ExactLike = LAPLACE_SUM_CONSTANT,
    margin_prob: Callable[[int], ExactLike] | None = None,
) -> Variant:
    """The variant ``name`` (one of ``NAMES``). ``scale_factor`` is s >= 1 of the Rényi and concentrated
    variants, ``laplace_sum_constant`` is c of the local one; all numbers are exact.

    ``margin_prob`` gives the level that τ is built for by the batch size, in place of the paper's
    ``failure_prob`` for every batch: a smaller one widens τ and the modulus, and neither noise nor radius.
    """
    budget, p = positive(epsilon, name="epsilon"), probability(failure_prob, name="failure_prob")
    s, c = exact(scale_factor, name="scale_factor"), exact(laplace_sum_constant, name="laplace_sum_constant")
    e, root = float(budget), math.sqrt(2)

    def sheet(users: int) -> Sheet:
        level = p if margin_prob is None else probability(margin_prob(users), name="margin_prob")
        return _sheet(name, users, budget, level, s, c)

    if name not in NAMES:
        raise InvalidParameterError(f"name must be one of {NAMES}, got {name!r}; choose one of them.")
    if name == "ldp_se":
        return Variant(
            name=name,
            failure_prob=p,
            sheet=sheet,
            tail=lambda length: NoiseTail((float(c) * root * math.sqrt(length) + root) / e, 0.0),
        )
    aggregator: Aggregator = secure_sum
    tail = NoiseTail(root / e, 1 / e)
    if name == "dist_rdp_se":
        tail = NoiseTail(2 / e + root / (float(s) * e), 1 / (float(s) * e))
    elif name == "dist_cdp_se":
        tail = NoiseTail((root + root / float(s)) / e, 0.0)
    elif name.startswith("shuffle"):
        tail = NoiseTail(2 * root / e, 2 / e)
        aggregator = CarrySum(secagg_epsilon=budget / 4)
    return Variant(name=name, failure_prob=p, sheet=sheet, tail=lambda length: tail, aggregator=aggregator)


@lru_cache(maxsize=4096)
def _sheet(name: str, users: int, budget: Fraction, p: Fraction, s: Fraction, c: Fraction) -> Sheet:
    if name == "dist_rdp_se":
        return skellam_sheet(users=users, epsilon=budget, tail_prob=p, scale_factor=s)
    if name == "dist_cdp_se":
        return discrete_gaussian_sheet(users=users, epsilon=budget, tail_prob=p, scale_factor=s)
    if name == "cdp_se":
        return central_laplace_sheet(users=users, epsilon=budget, tail_prob=p)
    if name == "ldp_se":
        return local_laplace_sheet(users=users, epsilon=budget, tail_prob=p, laplace_sum_constant=c)
    if name == "shuffle_dp_se/printed":
        return shuffle_sheet(users=users, epsilon=budget, tail_prob=p, variant="printed")
    if name == "shuffle_dp_se/repaired":
        return shuffle_sheet(users=users, epsilon=budget, tail_prob=p, variant="repaired")
    return polya_sheet(users=users, epsilon=budget, tail_prob=p)


def strategy(
    chosen: Variant,
    *,
    growth: ExactLike = 2,
    aggregator: Aggregator | None = None,
    grid: int | None = None,
    turnout: Sequence[bool] | None = None,
) -> Strategy:
    """Algorithm 1 as ``chosen``, user by user. ``aggregator`` replaces the variant's secure function,
    ``grid`` declares the rewards' lattice, ``turnout`` who of the users sends (``batched_elimination``)."""
    secure = chosen.aggregator if aggregator is None else aggregator

    def protocols(length: int) -> BatchProtocol:
        return BatchProtocol(sheet=chosen.sheet(length), aggregator=secure, grid=grid)

    return batched_elimination.strategy(
        protocols, failure_prob=chosen.failure_prob, tail=chosen.tail, growth=growth, turnout=turnout
    )


def program(
    chosen: Variant,
    *,
    growth: ExactLike = 2,
    aggregator: Aggregator | None = None,
    grid: int | None = None,
    turnout: Sequence[bool] | None = None,
) -> Program:
    """``program(coins, data)`` for potential outcomes (T, K) in [0, 1]; returns the decisions."""
    return bandit_program(strategy(chosen, growth=growth, aggregator=aggregator, grid=grid, turnout=turnout))
