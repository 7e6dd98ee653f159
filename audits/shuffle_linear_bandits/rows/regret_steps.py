"""Check the steps of the regret theorems: stale rounds, norms of noise, coverage of the confidence sets,
and determinants."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from audits.shuffle_linear_bandits.stale_rounds import adversarial, exact_stale, stale_at_most
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.aggregate_noise import GaussianNoise
from dpaudit.reference.algorithms.contextual.environments import sphere_arms
from dpaudit.reference.algorithms.contextual.linear_policy import BatchedPolicy, PolicyState
from dpaudit.reference.algorithms.contextual.proved_regret import norm_exceeded
from dpaudit.reference.algorithms.contextual.radius import exact_radius, noise_bound, regularity
from dpaudit.reference.algorithms.contextual.simulated_regret import simulate_batched
from dpaudit.suite import (
    Measured,
    Sides,
    Step,
    evidence,
    full,
    inequality,
    integers,
    on,
    over,
    reals,
    step,
    steps,
)
from dpaudit.suite.regret import proportion_interval

__all__ = ["rows"]

rows = Group("Regret: the steps of the proof", kind="regret")

# Claim A.6


def _stale_bound(horizon: int, batch_size: int, dim: int, min_eig: Fraction) -> arb:
    return dim * batch_size * (1 + horizon / (dim * ball(min_eig))).log() / (2 * arb(2).log())


@step(
    over=over(
        kind=("cycling", "repeats", "growing", "turning"),
        batch_size=(20, full(5, 40)),
        dim=(2, 3),
        min_eig="1/100 1 7",
    )
)
def _rational(kind: str, batch_size: int, dim: int, min_eig: Fraction) -> Sides:
    """rational sequences of 120 rounds, |Ψ| counted in exact arithmetic"""
    features = adversarial(kind, horizon=120, batch_size=batch_size, dim=dim)
    found = exact_stale(features, batch_size=batch_size, min_eig=min_eig)
    return found, _stale_bound(120, batch_size, dim, min_eig)


@step(
    over=over(
        seed=(0, 1, 2, 3, full(4, 5, 6, 7, 8, 9)), log_min_eig=(-6, 0, 3), dim=(2, 5), batch_size=(10, 100)
    )
)
def _drawn(seed: int, log_min_eig: int, dim: int, batch_size: int) -> Sides:
    """drawn sequences of 400 rounds, lengths from 1/1000 to 1, each batch in few directions"""
    rng = np.random.default_rng([seed, dim, batch_size])
    batches = 400 // batch_size
    directions = rng.normal(size=(batches, 1, dim)) + 0.01 * rng.normal(size=(batches, batch_size, dim))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    lengths = np.sort(10.0 ** rng.uniform(-3, 0, size=(batches, 1, 1)), axis=0)
    features = (directions * lengths).reshape(400, dim)
    found = stale_at_most(features, batch_size=batch_size, min_eig=2.0**log_min_eig)
    return found, _stale_bound(400, batch_size, dim, Fraction(2) ** log_min_eig)


@steps(rows, "CZ22-A.6", "Claim A.6", role="step", kind="structure")
def stale() -> list[Step]:
    """At most dB/(2 log 2) log(1 + T/(d λ_min)) rounds have a norm that doubled since the last update

    Count Ψ on adversarial sequences and on drawn ones, and compare with the printed bound, which has no
    free constant.

    Proof: a batch with a stale round multiplies the determinant by 4 or more, which happens at most (d/2)
    log2(1 + T/(dλ_min)) times, and such a batch has at most B of them
    """
    return [_rational, _drawn]


# Lemma A.4: norms


@inequality(
    rows,
    "CZ22-A.4c",
    "proof of Lemma A.4",
    kind="tail",
    role="step",
    over=over(dim=(1, 2, 5, 15, 100), batches=(1, 4, 50, 400, full(10**6)), alpha="1 1/2 1/20 1/1000000"),
)
def norms(dim: int, batches: int, alpha: Fraction) -> Sides:
    """c = 6 is enough: the accumulated noise matrix stays below 6 σ (√d + √log(2M/α)) at all M batches with
    probability 1 - α/2

    The bound holds for every symmetric noise with independent sub-Gaussian entries of proxy σ². It uses a
    net of 9^d points and a union over net, signs and batches. The vector's norm needs less.

    Note: the paper says "absolute constants" and names none; 6 is ours
    """
    return norm_exceeded(dim=dim, n_batches=batches, failure_prob=alpha, constant=6), ball(alpha / 2)


@inequality(
    rows,
    "CZ22-A.4c/gaussian",
    "proof of Lemma A.4, Gaussian entries",
    kind="tail",
    role="sharper",
    over=over(batches=(5, 50, 400, 10**6), alpha="1 1/2 1/20 1/1000000"),
    prove=on(batches=integers(5, None), alpha=reals(0, 1, "(]")),
)
def gaussian_norms(batches: int, alpha: Fraction) -> Sides:
    """For Gaussian entries c = 2 is enough from M = 5 batches on

    P(max ‖S_m‖ > t) <= 2 P(‖S_M‖ > t) (Lévy). The largest eigenvalue of a symmetric matrix of N(0, 1)
    entries is above 2 √d + s with probability e^(-s²/4) at most (Slepian; concentration, Lipschitz constant
    √2), for both signs. At t = 2 (√d + √log(2M/α)) the dimension cancels.
    """
    radius = 2 * ln(2 * batches / alpha).sqrt()
    return 4 * (-(radius**2) / 4).exp(), ball(alpha / 2)


# Lemma A.2: coverage

ALPHA = Fraction(1, 4)


def _misses(
    run: Run, std: float, *, shrink: float = 1.0, runs: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return whether the confidence set of any batch missed theta. ``shrink`` multiplies the radius."""
    horizon, size, dim = 320, 8, 3
    seeds = run.seed_sequence(f"coverage {std}").spawn(2)
    arms = sphere_arms(replicates=runs, n_arms=10, dim=dim, rng=np.random.default_rng(seeds[0]))
    bound = noise_bound(
        total_std=std * horizon**0.5, dim=dim, n_batches=horizon // size, failure_prob=float(ALPHA)
    )
    regular = regularity(vec_bound=bound, mat_bound=bound)

    def radius(time: int) -> float:
        return shrink * float(exact_radius(time, dim=dim, regular=regular, failure_prob=float(ALPHA)))

    missed = np.zeros(runs, dtype=bool)

    def watch(state: PolicyState) -> None:
        apart = arms.theta - state.theta_hat
        squares = np.einsum("ri,rij,rj->r", apart, np.linalg.inv(state.inverse), apart)
        missed[:] |= squares > state.radius**2

    policy = BatchedPolicy(
        batch_size=size,
        ridge=lambda time: regular.ridge,
        radius=radius,
        noise=GaussianNoise(std_vec=std, std_mat=std),
    )
    simulate_batched(policy, arms, name="coverage", horizon=horizon, seed=seeds[1], watch=watch)
    return missed


@evidence(
    rows,
    "CZ22-A.2b",
    "proof of Lemma A.2",
    at_most=2 * ALPHA,
    quantity="probability that a batch misses",
    kind="tail",
    role="step",
)
def covered(run: Run) -> Measured:
    """The confidence sets contain theta at all batches with probability 1 - 2α, with the exact radius

    Simulate at α = 1/4, T = 320, B = 8, d = 3, on instances of Section 6 with 10 arms, without noise and
    with Gaussian noise of std 1/2 per user. Count runs in which any batch missed ‖θ* - θ̂_m‖ in V_m <= β_m.

    Note: two events of probability 1 - α each, Assumption A.1 and the self-normalised bound, give 1 - 2α
    """
    runs = run.choose(quick=100, full=2000)
    found = [proportion_interval(_misses(run, std, runs=runs), alpha=run.alpha / 2) for std in (0.0, 0.5)]
    return Measured(
        low=max(one.low for one in found),
        high=max(one.high for one in found),
        exact=False,
        samples=2 * runs,
        method="simulation; Clopper and Pearson",
        scope=f"{runs} runs without noise and {runs} with it",
    )


# Section 6: determinants


@cache
def _smallest_step(seed: np.random.SeedSequence, std: float) -> float:
    """Return the smallest eigenvalue of V_t - V_τ over all pairs of 12 batches of 5 users, d = 2, in 50
    runs."""
    arms = sphere_arms(replicates=50, n_arms=5, dim=2, rng=np.random.default_rng(seed.spawn(1)[0]))
    seen: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []

    def watch(state: PolicyState) -> None:
        seen.append(state.gram + state.noise.mat)

    policy = BatchedPolicy(
        batch_size=5,
        ridge=lambda t: 40.0,
        radius=lambda t: 1.0,
        noise=GaussianNoise(std_vec=std, std_mat=std),
    )
    simulate_batched(policy, arms, name="steps", horizon=60, seed=seed, watch=watch)
    pairs = [seen[t] - seen[s] for t in range(len(seen)) for s in range(t)]
    return float(min(np.linalg.eigvalsh(pair).min() for pair in pairs))


@evidence(
    rows,
    "CZ22-S6det",
    "Section 6, on determinants",
    at_most=0,
    quantity="smallest eigenvalue of V_t - V_τ with noise; minus the same without noise",
    kind="structure",
)
def determinants(run: Run) -> Measured:
    """With noisy matrices V_t >= V_τ "does not necessarily hold" for τ < t; without noise it does

    Find a pair of batches with a negative eigenvalue under Gaussian noise of std 1, and none without noise
    (beyond 1e-9, rounding), in 50 runs of d = 2.

    Note: the statement is about existence; it claims no frequency, and the row does not examine the proofs
    of others
    """
    seed = run.seed_sequence("determinants")
    noisy, plain = (_smallest_step(seed, std) for std in (1.0, 0.0))
    worst = max(noisy, -plain - 1e-9)
    return Measured(
        low=worst,
        high=worst,
        samples=50,
        method="eigenvalues of all differences in one simulation",
        scope="50 runs, 12 batches of 5 users, d = 2, seed of the run",
        notes=[f"smallest eigenvalue {noisy:.3g} with noise, {plain:.3g} without"],
    )
