"""Linear contextual bandits for ``benchmarks.compare``.

Chowdhury and Zhou (ICML 2022) and Tenenbaum et al. (ICML 2023) on the same arms. Arms and theta are on the
sphere (``sphere_arms``), fixed over time. Ridge and radius are those of each paper's theorem for the noise
that is drawn (Lemma A.4 with its constant 2, Theorem C.3), so less noise also explores less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial

import numpy as np

from audits.shuffle_linear_bandits.amplified_privacy import (
    BATCH_VIEW,
    SQUARED,
    epsilon_needed,
    returning_proof,
)
from audits.shuffle_linear_bandits.binomial_privacy import cost, stated
from benchmarks.compare_protocols import (
    DELTA,
    EPSILON,
    Cost,
    Floats,
    Play,
    Protocol,
    Seeds,
    gaussian_cost,
    gaussian_std,
)
from dpaudit.certify.build import shuffled_gaussian
from dpaudit.certify.calibrate import calibrate
from dpaudit.core.claims import ApproxDP
from dpaudit.reference.algorithms.contextual import noise_levels
from dpaudit.reference.algorithms.contextual.aggregate_noise import (
    AggregateNoise,
    BinomialNoise,
    GaussianNoise,
    TreeNoise,
)
from dpaudit.reference.algorithms.contextual.environments import FixedArms, sphere_arms
from dpaudit.reference.algorithms.contextual.linear_policy import BatchedPolicy
from dpaudit.reference.algorithms.contextual.radius import (
    Regularity,
    exact_radius,
    noise_bound,
    printed_radius,
    private_tree_regularity,
    regularity,
)
from dpaudit.reference.algorithms.contextual.simulated_regret import simulate_batched, simulate_linucb
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet, printed_sheet, returning_sheet
from dpaudit.reference.mechanisms.linear_bandit_noise import tree_levels

__all__ = ["CZ22", "LINEAR", "Instance", "linear_protocols"]

LINEAR, CZ22 = "linear contextual bandits", "Chowdhury, Zhou 2022"
CLAIM = "(1, 1e-6)"


@dataclass(frozen=True, kw_only=True)
class Instance:
    """The size of the family: rounds, arms, dimension, and the two batch sizes that divide the horizon."""

    horizon: int
    n_arms: int = 20
    dim: int = 3
    small: int = 8
    large: int = 1024

    def arms(self, runs: int, seed: np.random.SeedSequence) -> FixedArms:
        """Return one instance per run."""
        rng = np.random.default_rng(seed)
        return sphere_arms(replicates=runs, n_arms=self.n_arms, dim=self.dim, rng=rng)


@dataclass(frozen=True)
class Drawn:
    """A protocol's noise in batches of ``size``, with the ridge and radius of its theorem."""

    size: int
    noise: AggregateNoise
    regular: Regularity


def _play(at: Instance, drawn: Callable[[], Drawn]) -> Play:
    def play(runs: int, seeds: Seeds) -> Floats:
        made = drawn()
        times = np.arange(0, at.horizon + 1, made.size, dtype=np.float64)
        radii = exact_radius(times, dim=at.dim, regular=made.regular, failure_prob=1 / at.horizon)
        policy = BatchedPolicy(
            batch_size=made.size,
            ridge=lambda t: made.regular.ridge,
            radius=lambda t: float(np.asarray(radii)[t // made.size]),
            noise=made.noise,
        )
        arms = at.arms(runs, seeds.instances)
        return simulate_batched(
            policy, arms, name="", horizon=at.horizon, seed=seeds.own, checkpoints=[at.horizon]
        ).pseudo.final

    return play


def _regular(at: Instance, total_std: float, size: int) -> Regularity:
    bound = noise_bound(
        total_std=total_std, dim=at.dim, n_batches=at.horizon // size, failure_prob=1 / at.horizon
    )
    return regularity(vec_bound=bound, mat_bound=bound)


def linear_protocols(at: Instance) -> list[Protocol]:
    """Return the baseline and the protocols of "Shuffle Private Linear Contextual Bandits"."""
    amplified = [_amplified(at, size) for size in (at.small, at.large)]
    binomial = [_binomial(at, size) for size in (at.small, at.large)]
    returning = [_returning_amplified(at), _returning_binomial(at)]
    return [_baseline(at), _uniform(at), _central(at), _local(at), *amplified, *binomial, *returning]


def _baseline(at: Instance) -> Protocol:
    def play(runs: int, seeds: Seeds) -> Floats:
        times = np.arange(at.horizon, dtype=np.float64)
        radii = np.asarray(printed_radius(times, dim=at.dim, ridge=1.0, failure_prob=1 / at.horizon))
        found = simulate_linucb(
            at.arms(runs, seeds.instances),
            radius=lambda t: float(radii[t]),
            ridge=1.0,
            horizon=at.horizon,
            seed=seeds.own,
            checkpoints=[at.horizon],
        )
        return found.pseudo.final

    return Protocol(
        family=LINEAR, name="LinUCB", paper="baseline", trust="server", printed=play, note="not private"
    )


def _uniform(at: Instance) -> Protocol:
    """Play arms at random: its expected regret on each instance, exactly."""

    def play(runs: int, seeds: Seeds) -> Floats:
        means = at.arms(runs, seeds.instances).means
        return np.asarray(at.horizon * (means.max(axis=1) - means.mean(axis=1)))

    return Protocol(
        family=LINEAR,
        name="arms at random",
        paper="baseline",
        trust="nobody",
        printed=play,
        note="learns nothing, tells nothing",
    )


# Gaussian messages


def _messages(at: Instance, size: int, std: Callable[[], float]) -> Play:
    """Add N(0, std²) to every user's entries."""

    def drawn() -> Drawn:
        one = std()
        noise = GaussianNoise(std_vec=one, std_mat=one)
        return Drawn(size, noise, _regular(at, one * math.sqrt(at.horizon), size))

    return _play(at, drawn)


def _squared(std: float) -> Fraction:
    """Return the variance as an exact number, not above the square."""
    return Fraction(math.floor(std**2 * 10**9), 10**9)


def _local(at: Instance) -> Protocol:
    std = noise_levels.local_std(epsilon=1, delta=float(DELTA))
    # The message's privacy profile is exact: both bounds agree.
    own = gaussian_cost(SQUARED / _squared(std))
    return Protocol(
        family=LINEAR,
        name=f"Batched-Local-LinUCB, B = {at.small}",
        paper=CZ22,
        trust="nobody",
        claim=CLAIM,
        cost=lambda: Cost(own, own),
        printed=_messages(at, at.small, lambda: std),
        equal=_messages(at, at.small, lambda: gaussian_std(float(SQUARED))),
    )


def _amplified(at: Instance, size: int) -> Protocol:
    printed = noise_levels.amplified_std(epsilon=1, delta=float(DELTA), batch_size=size)
    cap = noise_levels.epsilon_cap(batch_size=size, delta=float(DELTA))

    def cost_of() -> Cost:
        low, high = epsilon_needed(_squared(printed), size, DELTA)
        return Cost(float(low), float(high))

    inside = cap >= 1
    return Protocol(
        family=LINEAR,
        name=f"LinUCB-SDP, P_Amp, B = {size}",
        paper=CZ22,
        trust="shuffler",
        claim=CLAIM,
        cost=cost_of,
        printed=_messages(at, size, lambda: printed),
        equal=_messages(at, size, lambda: _amplified_std(size)),
        note="" if inside else f"ε = 1 is beyond Theorem 3.2, which ends at {cap:.2g}",
    )


@cache
def _amplified_std(users: int) -> float:
    """Return the least standard deviation, to a hundredth, for which a shuffled batch is certified."""
    claim = ApproxDP(epsilon=EPSILON, delta=DELTA, view=BATCH_VIEW)
    found = calibrate(
        claim,
        lambda std: shuffled_gaussian(users=users, sensitivity_squared=SQUARED, variance=std**2),
        start=4,
        relative="1/100",
    )
    return float(found.parameter)


# Binomial messages


def _bits(at: Instance, sheet: Callable[[], VectorSheet]) -> Play:
    def drawn() -> Drawn:
        made = sheet()
        total = math.sqrt(at.horizon // made.batch_size * float(made.proxy))
        noise = BinomialNoise(precision=made.precision, trials=made.trials)
        return Drawn(made.batch_size, noise, _regular(at, total, made.batch_size))

    return _play(at, drawn)


@cache
def _fewest(sheet: VectorSheet, batches: int) -> VectorSheet:
    """Return the sheet with the fewest trials, to a thousandth, that is certified over ``batches``
    batches.
    """

    def with_trials(trials: Fraction) -> VectorSheet:
        return replace(sheet, trials=math.ceil(trials))

    found = calibrate(
        stated(EPSILON, DELTA),
        lambda trials: with_trials(trials).statistic(batches=batches).proof(epsilon=EPSILON, delta=DELTA),
        start=sheet.trials,
    )
    return with_trials(found.parameter)


def _binomial_line(at: Instance, name: str, sheet: VectorSheet, *, batches: int = 1) -> Protocol:
    def cost_of() -> Cost:
        found = cost(sheet, DELTA, batches=batches)
        return Cost(float(found.low), float(found.high))

    return Protocol(
        family=LINEAR,
        name=name,
        paper=CZ22,
        trust="shuffler",
        claim=CLAIM,
        cost=cost_of,
        printed=_bits(at, lambda: sheet),
        equal=_bits(at, lambda: _fewest(sheet, batches)),
    )


def _binomial(at: Instance, size: int) -> Protocol:
    sheet = printed_sheet(dim=at.dim, batch_size=size, epsilon=EPSILON, delta=DELTA)
    return _binomial_line(at, f"LinUCB-SDP, P_Vec, B = {size}", sheet)


# Users who return


def _returning_amplified(at: Instance) -> Protocol:
    size, batches = at.large, at.horizon // at.large
    std = noise_levels.returning_amplified_std(
        epsilon=1, delta=float(DELTA), horizon=at.horizon, batch_size=size
    )
    summed = batches * SQUARED / (size * _squared(std))

    def cost_of() -> Cost:
        return Cost(gaussian_cost(summed), gaussian_cost(batches * SQUARED / _squared(std)))

    return Protocol(
        family=LINEAR,
        name=f"P_Amp, B = {size}, users in every batch",
        paper=CZ22,
        trust="shuffler",
        claim=CLAIM,
        cost=cost_of,
        printed=_messages(at, size, lambda: std),
        equal=_messages(at, size, lambda: _returning_std(size, batches)),
    )


@cache
def _returning_std(size: int, batches: int) -> float:
    """Return a standard deviation that is certified for a user in all of ``batches`` batches.

    It is the least of those that halve the user's share repeatedly, within a tenth.
    """
    claim = ApproxDP(epsilon=EPSILON, delta=DELTA, view=BATCH_VIEW)

    def proof(std: Fraction) -> object:
        return returning_proof(
            variance=std**2, users=size, batches=batches, spare=float(DELTA) / 30, epsilon=EPSILON
        )

    own = gaussian_std(batches * float(SQUARED))
    start = Fraction(round(own), 8)
    found = calibrate(claim, proof, start=start, relative="1/5")  # type: ignore[arg-type]
    return float(found.parameter)


def _returning_binomial(at: Instance) -> Protocol:
    batches = at.horizon // at.large
    sheet = returning_sheet(dim=at.dim, batch_size=at.large, batches=batches, epsilon=EPSILON, delta=DELTA)
    return _binomial_line(at, f"P_Vec, B = {at.large}, users in every batch", sheet, batches=batches)


# Central


def _central(at: Instance) -> Protocol:
    leaves = at.horizon // at.small
    printed = private_tree_regularity(
        epsilon=1, delta=float(DELTA), horizon=leaves, dim=at.dim, failure_prob=1 / at.horizon
    )[0]
    levels = tree_levels(leaves)
    # A leaf changes by sqrt 8 at most, and noise of variance 2σ² counts half: 4/σ² per level.
    needed = gaussian_std(4.0 * levels)

    def tree(std: float) -> Drawn:
        _, regular = private_tree_regularity(
            epsilon=printed / std, delta=float(DELTA), horizon=leaves, dim=at.dim, failure_prob=1 / at.horizon
        )
        noise = TreeNoise(std_vec=std, std_mat=std, n_batches=leaves, symmetry="scaled")
        return Drawn(at.small, noise, regular)

    return Protocol(
        family=LINEAR,
        name=f"Batched-Central-LinUCB, B = {at.small}",
        paper=CZ22,
        trust="server",
        claim=CLAIM,
        cost=lambda: Cost(0.0, gaussian_cost(4 * levels / _squared(printed))),
        printed=_play(at, partial(tree, printed)),
        equal=_play(at, partial(tree, needed)),
        note="noise of Shariff and Sheffet, no constant is printed",
    )
