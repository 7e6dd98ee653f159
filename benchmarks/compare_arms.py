"""Multi-armed bandits and full information for ``benchmarks.compare``.

The protocols are by Hu, Huang and Mehta, and by Chowdhury and Zhou (ICLR 2023). Five Bernoulli arms have
means 3/4, 5/8, ..., 1/4, in a random order in each run, so that no protocol gains by the order. Failure
probabilities are 1/T.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from audits.private_online_learning.experiment_settings import SETTINGS
from audits.private_online_learning.variants import VARIANTS
from benchmarks.compare_protocols import (
    DELTA,
    EPSILON,
    Cost,
    Floats,
    Play,
    Protocol,
    Seeds,
    least_epsilon,
    row_cost,
)
from dpaudit.certify.build import integer_noise
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import ball, upper_short
from dpaudit.kernel.t1.divergence import lattice_delta
from dpaudit.kernel.t2 import special_distributions
from dpaudit.reference.algorithms.mab.batched_elimination import batch_length
from dpaudit.reference.algorithms.mab.competitors import Competitor
from dpaudit.reference.algorithms.mab.competitors import simulated as simulated_elimination
from dpaudit.reference.algorithms.mab.distributed_elimination import DESIGNS
from dpaudit.reference.algorithms.mab.lazy_replicates import lazy_runs_many
from dpaudit.reference.algorithms.mab.reward_models import bernoulli_arms
from dpaudit.reference.algorithms.simulation import simulate_many
from dpaudit.reference.mechanisms.gaussian_sum_divergence import xi
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["MEANS", "arm_protocols", "batch_cost", "equal_parameter", "vector_protocols"]

MEANS = SETTINGS[2]
ARMS, VECTORS = "multi-armed bandits", "full information"
HHM, CZ23 = "Hu, Huang, Mehta", "Chowdhury, Zhou 2023"
CENTRAL, SUMMED = "server", "secure summation"
#: s of the Rényi and concentrated variants, as in the paper's experiments, and the growth of batches.
SCALE, GROWTH = 10, 4


def _instances(runs: int, seeds: Seeds) -> Floats:
    return np.random.default_rng(seeds.instances).permuted(np.tile(MEANS, (runs, 1)), axis=1)


def _played(name: str, horizon: int, epsilon: Fraction, runs: int, seeds: Seeds) -> Floats:
    """Play an algorithm of ``VARIANTS``, one run on each of ``runs`` instances."""
    means = _instances(runs, seeds).tolist()
    epsilons = [epsilon] * runs
    settings = {"epsilons": epsilons, "horizon": horizon, "runs": 1, "seed": seeds.own}
    if name == "lazy_ucb":
        found = lazy_runs_many(means, **settings)  # type: ignore[arg-type]
    else:
        found = simulate_many(VARIANTS[name], means, **settings)  # type: ignore[arg-type]
    return np.concatenate([one.final for one in found])


def _eliminated(name: str, horizon: int, epsilon: Callable[[], Fraction], runs: int, seeds: Seeds) -> Floats:
    """Play a competitor of Chowdhury and Zhou's on the same instances."""
    competitor = Competitor(name, SCALE if "rdp" in name or name == "dist_cdp_se" else 1, GROWTH)
    found = simulated_elimination(
        competitor,
        epsilon(),
        bernoulli_arms(_instances(runs, seeds)),
        horizon=horizon,
        seed=seeds.own,
        failure_prob=Fraction(1, horizon),
    )
    return found.final


def arm_protocols(horizon: int) -> list[Protocol]:
    """Return all protocols for multi-armed bandits, the baseline first."""
    return [
        Protocol(
            family=ARMS,
            name="UCB1",
            paper="baseline",
            trust="server",
            printed=partial(_played, "ucb1", horizon, EPSILON),
            note="not private",
        ),
        *_central_protocols(horizon),
        *_distributed_protocols(horizon),
    ]


def _central_protocols(horizon: int) -> list[Protocol]:
    rows = {
        "dp_se": ("DP-SE", "HHM-DPSE", "dp_se"),
        "lazy_ucb": ("Anytime-Lazy-UCB", "HHM-T2", "lazy_ucb"),
        "hybrid_ucb/printed": ("Hybrid-UCB, Algorithm 4", "HHM-T5P", "hybrid_ucb/repaired"),
        "hybrid_ucb/promoted": ("Hybrid-UCB, section 4.2", "HHM-T5P/promoted", "hybrid_ucb/promoted"),
    }
    return [_pure(ARMS, name, *row, horizon=horizon) for name, row in rows.items()]


def vector_protocols(horizon: int) -> list[Protocol]:
    """Return the protocols for prediction with all rewards seen: the baseline and FTNL."""
    baseline = Protocol(
        family=VECTORS,
        name="Follow-The-Leader",
        paper="baseline",
        trust="server",
        printed=partial(_played, "ftl", horizon, EPSILON),
        note="not private",
    )
    return [baseline, _pure(VECTORS, "ftnl/printed", "FTNL", "HHM-T6", "ftnl/repaired", horizon=horizon)]


def _pure(family: str, printed: str, title: str, row: str, equal: str, *, horizon: int) -> Protocol:
    """Build a protocol of Hu, Huang and Mehta whose variant ``equal`` really has the claimed epsilon."""
    return Protocol(
        family=family,
        name=title,
        paper=HHM,
        trust=CENTRAL,
        claim="ε = 1",
        cost=partial(row_cost, "private_online_learning", row),
        printed=partial(_played, printed, horizon, EPSILON),
        equal=partial(_played, equal, horizon, EPSILON),
        note="" if printed == equal else "repaired noise",
    )


# Distributed


def _distributed_protocols(horizon: int) -> list[Protocol]:
    pure = [
        ("cdp_se", "cdp_se", CENTRAL, "CZ23-T5P/protocol"),
        ("ldp_se", "ldp_se", "nobody", "CZ23-T6P/protocol"),
        ("dist_dp_se", "dist_dp_se", SUMMED, "CZ23-T1P"),
        ("shuffle_dp_se/printed", "shuffle_dp_se/repaired", "shuffler", "CZ23-T3P"),
    ]
    made = [
        Protocol(
            family=ARMS,
            name=DESIGNS[name].title.removesuffix(" as printed"),
            paper=CZ23,
            trust=trust,
            claim="ε = 1",
            cost=partial(row_cost, "distributed_mab", row),
            printed=partial(_eliminated, name, horizon, lambda: EPSILON),
            equal=partial(_eliminated, equal, horizon, lambda: EPSILON),
            note="" if name == equal else "repaired noise",
        )
        for name, equal, trust, row in pure
    ]
    return made + [_concentrated(name, horizon) for name in ("dist_rdp_se", "dist_cdp_se")]


def _concentrated(name: str, horizon: int) -> Protocol:
    """Build a variant with a Rényi or concentrated claim, compared at (ε, δ)."""
    words = {"dist_rdp_se": "(α, ε(α))-RDP at ε = 1", "dist_cdp_se": "1/2-zCDP and a little more"}[name]

    def play(at: Callable[[], Fraction]) -> Play:
        return partial(_eliminated, name, horizon, at)

    return Protocol(
        family=ARMS,
        name=f"{DESIGNS[name].title}, s = {SCALE}",
        paper=CZ23,
        trust=SUMMED,
        claim=words,
        cost=lambda: _both_bounds(name, horizon),
        printed=play(lambda: EPSILON),
        equal=play(lambda: equal_parameter(name, horizon)),
        note="the claim names no (ε, δ)",
    )


def _lengths(horizon: int) -> list[int]:
    """Return the lengths of batches up to ``horizon``."""
    lengths, batch = [], 1
    while (length := batch_length(batch, growth=GROWTH)) <= horizon:
        lengths.append(length)
        batch += 1
    return lengths


def _concentrated_cost(epsilon: Fraction, terms: int) -> float:
    """Return ρ + 2 sqrt(ρ log(1/δ)) (Bun and Steinke 2016, Proposition 1.3), ρ = ε²/2 + ξ, rounded up.

    ρ is verified for batches of at most ``terms`` users (CZ23-L4/repaired).
    """
    rho = ball(epsilon**2 / 2) + xi(Fraction(SCALE**2), terms)
    return float(upper_short(rho + 2 * (rho * ln(1 / DELTA)).sqrt()))


@lru_cache(maxsize=64)
def batch_cost(name: str, epsilon: Fraction, horizon: int) -> float:
    """Return the certified cost at delta 1e-6 of the most expensive batch up to ``horizon``.

    Each user is in one batch, so this is the cost of all batches. Skellam noise is composed by its exact
    distribution, sums of discrete Gaussians by their zCDP.
    """
    if name == "dist_cdp_se":
        return _concentrated_cost(epsilon, horizon)
    if name != "dist_rdp_se":
        raise InvalidParameterError(f"name must be dist_rdp_se or dist_cdp_se, got {name!r}.")
    chosen = Competitor(name, SCALE).variant(epsilon=epsilon, failure_prob=Fraction(1, horizon))
    return max(_skellam_cost(chosen.sheet(n)) for n in _lengths(horizon))


def _both_bounds(name: str, horizon: int) -> Cost:
    """Return the certified cost and a lower bound from the exact distribution of the sum of the longest
    batch.

    The lower bound is stated if delta is larger at 99.5 % of the cost, otherwise there is none.
    """
    high = batch_cost(name, EPSILON, horizon)
    if name != "dist_rdp_se":
        return Cost(0.0, high)
    low = Fraction(high) * Fraction(995, 1000)
    chosen = Competitor(name, SCALE).variant(epsilon=EPSILON, failure_prob=Fraction(1, horizon))
    sheet = chosen.sheet(_lengths(horizon)[-1])
    distribution = special_distributions.Skellam(sheet.users * sheet.share.variance())
    shown = bool(lattice_delta(distribution, shift=sheet.precision, epsilon=low) > ball(DELTA))
    return Cost(float(low) if shown else 0.0, high)


def _skellam_cost(sheet: Sheet) -> float:
    noise = integer_noise(
        "skellam", sensitivity=sheet.precision, variance=sheet.users * sheet.share.variance()
    )
    return least_epsilon(noise, DELTA)


@lru_cache(maxsize=8)
def equal_parameter(name: str, horizon: int) -> Fraction:
    """Return the largest printed epsilon, to 1/100, whose noise really is (1, 1e-6)-DP in every batch."""
    low, high = 0, 100
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if batch_cost(name, Fraction(middle, 100), horizon) <= 1 else (low, middle)
    return Fraction(low, 100)
