"""Check the regret of Algorithm 4: Theorem 5.1 = C.3, the quoted Theorem C.2, the norms of the noise.

An Õ(.) has no explicit constant and no explicit power of logarithms. The finite restatement is: the regret
is at most C (rate) L^{5/4} with L = log(n d k/δ) and one C, which is ours. The upper bound holds for ALL
instances (``regret_bounds``). The lower bound is simulated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from audits.concurrent_shuffle.regret_bounds import REWARD_NOISE, Setting
from audits.concurrent_shuffle.regret_runs import simulated
from dpaudit.blackbox.statistics import mean_bounds
from dpaudit.core.claims import RegretRate
from dpaudit.core.exact_functions import ln
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball, lower, upper
from dpaudit.reference.algorithms.contextual.concurrent_linucb import ConcurrentPolicy, simulate
from dpaudit.reference.algorithms.contextual.concurrent_radius import (
    concurrent_radius,
    quoted_radius,
    quoted_regret,
    regular_by_ridge,
)
from dpaudit.reference.algorithms.contextual.environments import sphere_arms
from dpaudit.reference.mechanisms.concurrent_tree import build_tree
from dpaudit.suite import (
    Chain,
    Measured,
    Sides,
    Step,
    evidence,
    full,
    inequality,
    integers,
    on,
    over,
    step,
    steps,
)

__all__ = ["rows"]

rows = Group("Regret: Algorithm 4", kind="regret")

#: Our constants for the rate and for the norms, as round numbers.
RATE_CONSTANT, NORM_CONSTANT = 1000, 2
N_ARMS = 10


# Theorem 5.1


def _points(*, quick: bool) -> Iterator[Setting]:
    exponents = (3, 6, 10, 20) if quick else (1, 2, 3, 4, 6, 8, 10, 15, 20, 30)
    budgets = itertools.product(("1/100", "1/2", "99/100"), ("1/1000", "1/1000000000000"))
    for (e, d), k, j in itertools.product(budgets, (1, 2, 3, 5), exponents):
        for dim in (2, 20) if quick else (2, 3, 5, 20, 100):
            yield Setting(m=2**j, shufflers=k, dim=dim, epsilon=Fraction(e), delta=Fraction(d))


def _first_useful(k: int, dim: int) -> int:
    """Return the smallest j with the bound of Theorem C.3 below n/10 at n = 2^{j (2k + 1)}, ε = 99/100, δ =
    1e-12."""
    for j in range(1, 80):
        at = Setting(m=2**j, shufflers=k, dim=dim, epsilon=Fraction(99, 100), delta=Fraction(1, 10**12))
        if at.regret(NORM_CONSTANT) < ball(Fraction(at.horizon, 10)):
            return j
    return 80


def _simulated(run: Run) -> tuple[float, list[list[Any]], int]:
    """Return a lower bound on mean regret / rate, the table, and the number of batches after which V_t was
    not positive definite.

    The simulation uses the printed λ and β.
    """
    full_shapes = ((16, 1, 3), (5, 2, 3), (3, 3, 3), (3, 3, 10))
    shapes = run.choose(quick=((8, 1, 2), (2, 3, 2)), full=full_shapes)
    replicates = run.choose(quick=40, full=100)
    best, lines, indefinite = 0.0, list[list[Any]](), 0
    for m, k, dim in shapes:
        at = Setting(m=m, shufflers=k, dim=dim, epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
        found = simulated(at, replicates=replicates, n_arms=N_ARMS, seed=run.seed_sequence(str(at)))
        below = mean_bounds(found.regret, low=0, high=at.horizon, alpha=run.alpha / len(shapes))[0]
        best, indefinite = max(best, below / upper(at.rate)), indefinite + found.indefinite
        bound = upper(at.regret(NORM_CONSTANT))
        seen = (found.regret.mean(), found.uniform, bound, found.mat_norm, found.vec_norm)
        lines.append([str(at), *(f"{value:.4g}" for value in seen)])
    return best, lines, indefinite


@evidence(
    rows,
    "TKMS23-T5.1r",
    "Theorem 5.1 = C.3, the regret",
    claim=RegretRate(
        text=f"Reg(n) <= C (k^(3/4) n^((k+1)/(2k+1))/√ε)(σ + d) log(n d k/δ)^(5/4), C = {RATE_CONSTANT} "
        "(ours, and so is the power of the logarithm), for all instances with rewards in [0, 1], at each "
        "point of the grid n = 2^(j(2k+1)), k = 1, 2, 3, 5, d = 2, 3, 5, 20, 100, ε = 1/100, 1/2, 99/100, "
        "δ = 1e-3, 1e-12",
        quantity_name="regret / rate",
        claimed=RATE_CONSTANT,
        constants=(("C", str(RATE_CONSTANT)),),
    ),
)
def rate(run: Run) -> list[Measured]:
    """Algorithm 4 has expected regret at most 1000 (k^(3/4) n^((k+1)/(2k+1))/√ε)(σ + d) log(n d k/δ)^(5/4)
    for all instances, at each point of a grid with k <= 5: Õ(.) with a constant and a power of ours

    The upper bound is Theorem C.2 with its constants, at λ = 2 · 2 σ̃ √d and α = 1/n, for the noise of
    P_Vec as printed in every node. The lower bound is simulated with the printed λ and β_t.

    Note: the budget is halved between vector and matrix, so that the pair is (ε, δ); see TKMS23-T5.1p

    Note: rests on TKMS23-C3n/repaired with its constant 2 in λ, and on TKMS23-C2Q
    """
    points = list(_points(quick=run.profile == "quick"))
    ratios = [(upper(at.regret(NORM_CONSTANT) / at.rate), str(at)) for at in points]
    useful = {(k, dim): _first_useful(k, dim) for k, dim in ((1, 2), (2, 2), (3, 2))}
    low, lines, indefinite = _simulated(run)
    largest = max(ratios)
    picture = table(
        title="Simulated, 10 arms of norm 1; norms at their largest, in units of σ̃ √d",
        columns=["setting", "mean regret", "of uniform play", "worked-out bound", "‖H'‖", "‖h‖"],
        rows=lines,
    )
    horizons = ", ".join(f"2^{j * (2 * k + 1)} for k = {k}" for (k, _), j in useful.items())
    above = Measured(
        high=largest[0],
        samples=len(points),
        method="Theorem C.2 with explicit constants, in balls",
        scope=f"ALL instances at each of {len(points)} points; largest at {largest[1]}",
        notes=[
            f"the proved bound is below n/10 only from n = {horizons} on (d = 2, ε = 0.99, δ = 1e-12, powers "
            "of 2)",
            f"simulated batches after which V_t was not positive definite: {indefinite}",
        ],
        plots=[picture],
    )
    below = Measured(
        low=low,
        exact=False,
        samples=len(lines),
        method="simulation; bets on the mean",
        scope="the table's settings",
    )
    return [above, below]


# The norms


_GRID = {
    "m": (2, 8, 2**6, 2**20),
    "shufflers": (1, 2, 3, 5),
    "dim": (2, 3, 5, 10, full(20, 100)),
    "epsilon": "1/100 99/100",
}


@evidence(
    rows,
    "TKMS23-C3n",
    "proof of Theorem C.3, 'a simple bound on vector and matrix l2 norms'",
    at_most=1,
    quantity="proved bound on the norms / (σ̃ √d)",
    kind="tail",
    role="step",
    expect="inconclusive",
)
def norms_as_printed(run: Run) -> list[Measured]:
    """With probability 1 - α/2, α = 1/n, at all times ‖h_t‖, ‖H′_t‖ <= σ̃ √d = λ/2, for every input

    Upper bound: σ̃ with its constants bounds every entry, vectors use their entries, and matrices use the
    smaller of d σ̃ (entries) and a net for independent entries. Lower bound: none but 0.

    Note: the vectors satisfy the bound. For the matrices the proved bound is between σ̃ √d and 2 σ̃ √d, so the
    constant 1 stays open: TKMS23-C3n/repaired has 2. In simulations the largest norms are below σ̃ √d (the
    table of TKMS23-T5.1r)

    Note: entries at most σ̃ alone give d σ̃ only: TKMS23-C3n/arbitrary
    """
    points = list(over(**_GRID).at(run))
    found = [_unit_norm(**point) for point in points]
    largest = max(range(len(points)), key=lambda i: found[i])
    return [
        Measured(
            low=0,
            high=found[largest],
            samples=len(points),
            method="entries or a net, union bound, in balls",
            scope=f"{len(points)} points; largest at {points[largest]}",
        )
    ]


def _at_default_delta(m: int, shufflers: int, dim: int, epsilon: Fraction) -> Setting:
    return Setting(m=m, shufflers=shufflers, dim=dim, epsilon=epsilon, delta=Fraction(1, 10**6))


def _unit_norm(m: int, shufflers: int, dim: int, epsilon: Fraction) -> float:
    at = _at_default_delta(m, shufflers, dim, epsilon)
    return upper(at.norm_bound / (at.error_bound * arb(dim).sqrt()))


def _union(n: int, dim: int) -> arb:
    """Return log(4n³(d² + d)): σ̃ is sqrt(2 v) times its root, plus d_low - 1, for the proxy v of a prefix."""
    return ln(4 * n**3 * (dim**2 + dim))


@step(
    "entries",
    over=over(n=(8, 64, 2**10, 2**220), dim=(1, 2, 5, 20)),
    prove=on(n=integers(2, None), dim=integers(1, None)),
)
def _entries(n: int, dim: int) -> Sides:
    """an entry is above σ̃ at some time with probability 1/(4n) at most, from (d + d(d+1)/2)/(2n²(d² + d))"""
    return 2 * (dim + Fraction(dim * (dim + 1)) / 2), n * (dim**2 + dim)


@step("d <= 4", over=over(dim=(1, 2, 3, 4)), prove=on(dim=integers(1, 4)))
def _small_dimension(dim: int) -> Sides:
    """d σ̃ <= 2 σ̃ √d, squared"""
    return dim**2, NORM_CONSTANT**2 * dim


@step(
    "d >= 4",
    over=over(n=(8, 64, 2**10, 2**220), dim=(4, 5, 10, full(20, 100))),
    prove=on(n=integers(8, None), dim=integers(4, None)),
)
def _net(n: int, dim: int) -> Sides:
    """4 √(v log(8n² 9^d)) <= 2 √d √(2 v log(4n³(d² + d))), squared and without 8 v"""
    return 2 * (ln(8 * n**2) + dim * ln(9)), NORM_CONSTANT**2 * dim * _union(n, dim) / 4


@steps(
    rows,
    "TKMS23-C3n/repaired",
    "proof of Theorem C.3, with λ = 4 σ̃ √d",
    kind="tail",
    role="repaired",
    repairs="TKMS23-C3n",
    constant=NORM_CONSTANT,
)
def norms(constant: int) -> list[Step]:
    """With probability 1 - 1/(2n), at all times, ‖h_t‖ <= σ̃ √d and ‖H′_t‖ <= {constant} σ̃ √d, for every
    input, so that λ = 4 σ̃ √d is enough

    σ̃ with its constants, √(2 v log(4n³(d² + d))) + d_low - 1, bounds the error of an entry at all times,
    except with probability 1/(2n²(d² + d)). v is the proxy of the noise of a prefix, and at most d_low - 1
    users are not reported yet. Vectors use their entries (reading (i)). Matrices use their entries up to d =
    4, and from there on a net for independent entries, 4 √(v log(8n² 9^d)), plus the users who are not
    reported yet (reading (ii)). n >= 8, as for m >= 2 and k >= 1.

    Note: printed is λ = 2 σ̃ √d, that is ‖H′_t‖ <= λ/2 = σ̃ √d: TKMS23-C3n. σ̃ is an Õ(.), so a constant in
    it is free, and the rate of the theorem does not change

    Note: the net uses independent entries of the noise alone, and adds the unreported users
    """
    return [_entries, _small_dimension, _net]


@inequality(
    rows,
    "TKMS23-C3n/independent",
    "proof of Theorem C.3, 'h_t is a random vector whose entries are independent'",
    kind="structure",
    role="step",
    measure="left - right",
    expect="refuted",
    over=over(mean="1/2 1/10"),
)
def independent_entries(mean: Fraction) -> Sides:
    """The entries of h_t = u_t - Σ φ y, and those of H_t on and above the diagonal, are independent: their
    covariance is 0

    One user with φ = (1, 1)/√2 has been played and not been reported. The reward is 1 with probability mean,
    else 0, independent of the noise of the shuffled messages. h_t is the noise, whose entries are
    independent, minus φ y. The covariance of its two entries is Var(y)/2.

    Note: independent is only the noise of the reported batches. The proof uses no more than that if it bounds
    the unreported users apart, as TKMS23-C3n/repaired does
    """
    return mean * (1 - mean) / 2, Fraction(0)


@inequality(
    rows,
    "TKMS23-C3n/arbitrary",
    "proof of Theorem C.3, 'simple bound on matrix norms'",
    kind="tail",
    role="what-if",
    over=over(dim=(2, 5, 10)),
    expect="refuted",
)
def by_entries_alone(dim: int) -> Sides:
    """A symmetric matrix whose entries are at most σ̃ has norm at most σ̃ √d

    Compute the norm of the matrix with all entries σ̃ = 1, which has the vector of ones as an eigenvector.

    Refuted: its norm is d σ̃

    Note: this algorithm does not produce arbitrary matrices; see TKMS23-C3n
    """
    ones = [[1] * dim for _ in range(dim)]
    image = [sum(row) for row in ones]
    assert len(set(image)) == 1  # the ones are an eigenvector
    return ball(image[0]), arb(dim).sqrt()


# Theorem C.2


@inequality(
    rows,
    "TKMS23-C2Q",
    "Theorem C.2 (Shariff and Sheffet 2018) and Theorem C.3",
    kind="structure",
    over=over(
        time=(0, 1, 1000, 2**40),
        dim=(1, 2, 20),
        ridge="1/10 1 1000 1000000",
        sigma="1/2 1",
        alpha="1 1/20 1/1000000",
    ),
    measure="left - right",
)
def one_radius(time: int, dim: int, ridge: Fraction, sigma: Fraction, alpha: Fraction) -> Chain:
    """ρ_max = 3λ/2, ρ_min = λ/2, γ = √(λ/2), S = L = 1 turn the quoted β_t into Theorem C.3's

    Compare both as printed at every point, with a tolerance of 1e-30 for the radius of balls. γ follows
    from ‖h‖ <= λ/2 and H >= λ/2.
    """
    lam = ball(ridge)
    quoted = quoted_radius(
        time, dim=dim, regular=regular_by_ridge(lam), reward_noise_std=sigma, confidence_alpha=alpha
    )
    printed = concurrent_radius(time, dim=dim, ridge=lam, reward_noise_std=sigma, confidence_alpha=alpha)
    gamma = regular_by_ridge(lam).vec_noise_bound
    tiny = ball(Fraction(1, 10**30))
    return {
        "distance of both β_t": (abs(quoted - printed), tiny),
        "distance of γ from √(λ/2)": (abs(gamma - (lam / 2).sqrt()), tiny),
    }


@evidence(
    rows,
    "TKMS23-C2Q/regret",
    "Theorem C.2 (Shariff and Sheffet 2018)",
    at_most=1,
    quantity="regret / bound",
    kind="regret",
)
def quoted(run: Run) -> Measured:
    """The quoted regret bound with the constant √(8n) holds where its regularity does

    The sums of batches are exact, so the unreported users are all of H_t and h_t: ‖H′‖, ‖h‖ <= d_low - 1 =
    λ/2. There are one shuffler, d = 2, 10 arms, α = 1/n. The mean regret is bounded from above.

    Note: the outer constant is our reading, since our text does not contain it; for β_n >= 1 it follows
    from the event that θ is in every set, for all instances (the docstring of ``quoted_regret``)
    """
    m, dim, replicates = run.choose(quick=8, full=25), 2, run.choose(quick=100, full=200)
    horizon, ridge = m**3, 2 * (m - 1)
    ball_ridge, alpha = ball(ridge), Fraction(1, m**3)

    def radius(time: int) -> float:
        found = concurrent_radius(
            time, dim=dim, ridge=ball_ridge, reward_noise_std=REWARD_NOISE, confidence_alpha=alpha
        )
        return lower(found)

    seeds = run.seed_sequence("quoted").spawn(2)
    arms = sphere_arms(replicates=replicates, n_arms=N_ARMS, dim=dim, rng=np.random.default_rng(seeds[0]))
    tree = build_tree(horizon=horizon, n_shufflers=1)
    found = simulate(
        ConcurrentPolicy(tree=tree, ridge=ridge, radius=radius), arms, seed=seeds[1], checkpoints=[horizon]
    )
    bound = quoted_regret(
        horizon,
        dim=dim,
        regular=regular_by_ridge(ball_ridge),
        reward_noise_std=REWARD_NOISE,
        confidence_alpha=alpha,
    )
    low, high = mean_bounds(found.pseudo.final, low=0, high=horizon, alpha=run.alpha)
    return Measured(
        low=low / upper(bound),
        high=high / lower(bound),
        exact=False,
        samples=replicates,
        method="simulation; bets on the mean",
        scope=f"n = {horizon}, {replicates} instances and runs",
        notes=[f"mean regret {found.pseudo.mean:.4g}, bound {upper(bound):.4g}, n = {horizon}"],
    )
