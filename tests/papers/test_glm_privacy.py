"""Privacy of Sarmasarkar's sums, trees, descent and ledger: every closed form by a second route."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from audits.glm_bandits.poisoned_batch import Instance, no_room, poisoned
from audits.glm_bandits.revealing_action import revealing_action
from audits.glm_bandits.rows.ledger import exploited, explored_steps
from audits.glm_bandits.shuffled_descent import batch_proof, descent
from audits.glm_bandits.shuffled_sums import half_line_delta, sheet_of, stated, sums
from audits.glm_bandits.switching_set import switch_bit
from audits.glm_bandits.tree_privacy import costs, instance
from dpaudit.coins import Sampler
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Certificate
from dpaudit.core.suite import Run
from dpaudit.kernel.ball import arb, precision
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.matrix_tree import (
    levels,
    node_mu_squared,
    noise_units,
    prefixes,
    printed_variance,
)

UPPER = np.triu_indices(3)


def _symmetric(rng: np.random.Generator) -> np.ndarray:
    """A random symmetric matrix of operator norm 1."""
    made = rng.normal(size=(3, 3))
    made = made + made.T
    return made / np.linalg.norm(made, 2)


@pytest.mark.parametrize("kind", ["vector", "rank-one", "symmetric"])
def test_what_a_user_moves(kind: str) -> None:
    """No random pair of inputs moves the labels by more than stated; the worst pair by exactly that."""
    rng, sheet = np.random.default_rng(1), sheet_of(n=10, d=3, epsilon=1, delta="1/10")
    made = sums(sheet, kind)
    squares, largest = float(made.squares) / sheet.precision**2, float(made.largest) / sheet.precision

    def drawn() -> np.ndarray:
        x = rng.normal(size=3)
        x /= np.linalg.norm(x)
        if kind == "vector":
            return x
        return rng.random() * np.outer(x, x)[UPPER] if kind == "rank-one" else _symmetric(rng)[UPPER]

    moves = [drawn() - drawn() for _ in range(500)]
    assert max((move**2).sum() for move in moves) <= squares + 1e-12
    assert max(abs(move).max() for move in moves) <= largest + 1e-12
    e = np.eye(3)
    worst = {
        "vector": 2 * e[0],
        "rank-one": (np.outer(e[0], e[0]) - np.outer(e[1], e[1]))[UPPER],
        "symmetric": 2 * e[UPPER],
    }
    assert (worst[kind] ** 2).sum() == pytest.approx(squares)


def test_parameters_of_127() -> None:
    """g, b of (127) by floats; twice beyond Δ is twice the change."""
    sheet = sheet_of(n=1000, d=5, epsilon=2, delta="1/10")
    g = math.ceil(2 * math.sqrt(1000))
    assert sheet.precision == g
    assert sheet.trials == math.ceil(24e4 * g**2 * math.log(4 * 26 / 0.1) ** 2 / (4 * 1000))
    assert sums(sheet, "rank-one", beyond=2).squares == 4 * sums(sheet, "rank-one").squares
    with pytest.raises(InvalidParameterError):
        sums(sheet, "matrix")  # type: ignore[arg-type]


@pytest.mark.parametrize(("trials", "move"), [(10**5, 200), (10**6, 500), (10**6, 3000)])
def test_half_line_is_below_the_exact_delta(trials: int, move: int) -> None:
    """The bound is below the exact binomial delta, and within the Berry-Esseen error of it."""
    distribution, epsilon = stats.binom(trials, 0.25), 0.5
    points = np.arange(0, trials + 1)
    here, there = distribution.pmf(points - move), distribution.pmf(points)
    exact = np.maximum(here - math.exp(epsilon) * there, 0).sum()
    found = float(half_line_delta(trials=trials, chance=Fraction(1, 4), move=move, epsilon="1/2"))
    assert exact - 0.01 <= found <= exact


def test_printed_steps_of_descent() -> None:
    """T of Algorithm 7 is 91 and 4118 at the paper's sizes; below 1 it is refused; the calls' budgets."""
    assert descent(n=200, d=1, epsilon=1, delta="1/10").steps == 91
    made = descent(n=2000, d=1, epsilon=1, delta="1/10")
    assert made.steps == 4118
    assert float(made.call_epsilon) == pytest.approx(1 / (2 * math.sqrt(2 * 4118 * math.log(10))))
    assert made.call_delta == Fraction(1, 41190)
    with pytest.raises(InvalidParameterError):
        descent(n=9, d=1, epsilon=1, delta="1/10")


def test_explored_calls_have_no_step() -> None:
    """ε_o and the printed T of the last of k calls on k users, in floats: below 1 up to 10⁷, above at 10⁸."""
    for k, enough in ((100, False), (10**7, False), (10**8, True)):
        level = 1 / (6 * math.sqrt(2 * k * math.log(40)))
        steps = level**2 * k**2 / math.log(k * 6 * k / 0.1) ** 3
        assert (steps >= 1) == enough
        found = explored_steps(k, Fraction(1), Fraction(1, 10))[1]
        assert float(found) == pytest.approx(steps, rel=1e-6)


def test_a_batch_costs_more_than_its_parts() -> None:
    """Matrix sum and descent together cost more than either, and less than the stated (ε, δ)."""
    epsilon, delta = Fraction(1), Fraction(1, 10)
    claim = stated(epsilon, delta, domain="")
    whole = batch_proof(n=2000, d=2, epsilon=epsilon, delta=delta).certify(claim).bound
    sheet = sheet_of(n=2000, d=2, epsilon="1/2", delta="1/20")
    part = sums(sheet, "rank-one").proof(epsilon=epsilon, delta=delta).certify(claim).bound
    assert whole is not None
    assert part is not None
    assert part < whole < delta


POISONED = Instance(
    R=3, score=Fraction(14), nearest=Fraction(4, 5), T=10**16, M=5, epsilon=Fraction(1),
    delta=Fraction(1, 10**6),
)  # fmt: skip


def test_poisoned_batch_by_floats() -> None:
    """κ*, the printed lengths, the move and delta in floats; at a smaller κ* less is shown, or nothing."""
    found = poisoned(POISONED)
    R, z, c, T, M, eps, delta = 3, 14.0, 0.8, 1e16, 5, 1.0, 1e-6
    S = z / R
    kappa, star = ((math.exp(x) + 2 + math.exp(-x)) / R**2 for x in (z, c * z))
    nu = R * S**2 / eps * math.log(T / delta) ** 1.5
    sigma = R * math.log(1 / delta) / (star * eps)
    inner = R * math.log(T) + 12 * sigma * math.sqrt(math.log(2 * M * T / delta))
    gamma = 30 * R * S * math.sqrt(inner) + math.sqrt(4 * R * S * nu)
    growth = T ** (1 / (2 * (1 - 2 ** (1 - M))))
    first = (math.sqrt(kappa) * math.exp(3 * S) * gamma**2 / S * growth) ** (2 / 3)
    assert float(found.kappa_star) == pytest.approx(star)
    assert found.first == pytest.approx(first, rel=1e-6)
    assert found.second == pytest.approx(growth, rel=1e-6)
    slope = R**2 / (math.exp(0.05) + math.exp(-0.05)) ** 2
    weight = slope / math.exp(R * gamma * math.sqrt(2 * kappa / first))
    g = math.ceil(2 * math.sqrt(found.second))
    assert found.move == pytest.approx((weight - c**2 * R**2 / 4) * star * g, rel=1e-3)
    assert found.likely > Fraction(99, 100)
    mu = found.move / math.sqrt(3 / 16 * 24e4 * 4 * 4 * found.second) / math.log(8e6 / 0.5)
    shown = stats.norm.cdf(mu / 2 - 1 / mu) - math.e * stats.norm.cdf(-mu / 2 - 1 / mu)
    assert float(found.delta) == pytest.approx(shown * float(found.likely), rel=1e-2)
    less = replace(POISONED, score=Fraction(27, 2))
    assert 0 < poisoned(less).delta < found.delta
    assert poisoned(replace(POISONED, score=Fraction(8))).delta == 0
    with pytest.raises(InvalidParameterError):
        poisoned(replace(POISONED, T=10**12))


def test_poisoned_descent_stays_near_zero() -> None:
    """Simulated descent on rewards of R/2: |R θ_1| beyond 1/10 no more often than bounded, on a batch so
    short that the bound is no certainty."""
    at = Instance(R=1, score=Fraction(1), nearest=Fraction(1), T=10**8, M=4, epsilon=Fraction(4),
                  delta=Fraction(1, 10))  # fmt: skip
    run, rng, n = descent(n=3000, d=1, epsilon=2, delta="1/20"), np.random.default_rng(3), 3000
    steps, L, S = run.steps, 2.0, 1.0
    sd = L * math.sqrt(3 / 16 * run.sheet.trials * n) / run.sheet.precision / n
    theta, mean = np.zeros(400), np.zeros(400)
    rate = 4 * S / (L * math.sqrt(steps))
    for _ in range(steps):
        mean += theta / steps
        gradient = 1 / (1 + np.exp(-theta)) - 0.5 + rng.normal(scale=sd, size=400)
        theta = np.clip(theta - rate * gradient, -S, S)
    gap = np.log(np.cosh(mean / 2)).mean()
    noise = L**2 + sd**2
    bound = 4 * S**2 / (2 * rate * steps) + rate * (L**2 + noise) / 2
    assert gap <= bound
    assert no_room(run.sheet, Fraction(1)) < 1e-6
    assert at.lengths()[0] + at.lengths()[1] < at.T


def test_room_of_messages() -> None:
    """The bound on messages without room is above the exact chance, and 1 where there is none."""
    sheet = VectorSheet(dim=1, batch_size=5, precision=8, trials=60)
    for excess in (1, 2, 3):
        exact = 5 * stats.binom.sf(68 - (1 + excess) * 8 - 1, 60, 0.25)
        assert exact <= float(no_room(sheet, Fraction(excess))) < 10
    assert no_room(sheet, Fraction(6)) == 1


def test_half_line_with_coins() -> None:
    """With coins added on both sides the bound stays below the exact delta of that sum."""
    trials, move, coins = 10**5, 500, 4000
    given = half_line_delta(trials=trials, chance=Fraction(1, 4), move=move, epsilon="1/2", coins=coins)
    width = 40_000
    one = stats.binom.pmf(np.arange(width), trials, 0.25)
    for q in (0.5, 0.1):
        distribution = np.convolve(one, stats.binom.pmf(np.arange(coins + 1), coins, q))[: width + coins]
        moved = np.concatenate([np.zeros(move), distribution])
        exact = np.maximum(moved[: len(distribution)] - math.exp(0.5) * distribution, 0).sum()
        assert 0 < float(given) <= exact + 1e-9


@pytest.mark.parametrize("T", [1, 2, 5, 8, 13])
def test_prefixes_are_sums(T: int) -> None:
    """With next to no noise prefixes are brute-force sums, T a power of 2 or not; n completed nodes."""
    rng = np.random.default_rng(T)
    leaves = [_symmetric(rng) for _ in range(T)]
    shown = prefixes(Sampler(np.random.default_rng(0)), leaves, variance="1/1000000000000")
    for t in range(T):
        assert shown[t] == pytest.approx(noise_units(np.sum(leaves[: t + 1], axis=0)), abs=1e-3)
    assert levels(T) >= max(t.bit_length() for t in range(1, T + 1))


def test_prefix_noise_is_that_of_shared_nodes() -> None:
    """The covariance of two prefixes is the variance times their shared nodes."""
    zeros, coins = [np.zeros((1, 1))] * 7, Sampler(np.random.default_rng(3))
    drawn = np.array([np.ravel(prefixes(coins, zeros, variance=1)) for _ in range(4000)])
    found = np.cov(drawn.T)
    for (s, t), shared in {(6, 7): 2, (3, 4): 0, (4, 5): 1, (7, 7): 3}.items():
        assert found[s - 1, t - 1] == pytest.approx(shared, abs=0.2)


@pytest.mark.parametrize("symmetrise", ["half", "root"])
def test_loss_of_symmetric_noise(symmetrise: str) -> None:
    """μ² of a node by the covariance of (Z' + Z'ᵀ)/2 and /√2, from the map on the entries of Z'."""
    rng, divisor = np.random.default_rng(2), 2 if symmetrise == "half" else math.sqrt(2)
    change = _symmetric(rng)
    basis = [np.outer(a, b) for a in np.eye(3) for b in np.eye(3)]
    made = np.array([((z + z.T) / divisor)[UPPER] for z in basis])
    covariance = 4 * made.T @ made
    moved = change[UPPER]
    expected = moved @ np.linalg.solve(covariance, moved)
    squares = Fraction(float((change**2).sum()))
    found = node_mu_squared(norm_squared=squares, variance=Fraction(4), symmetrise=symmetrise)  # type: ignore[arg-type]
    assert float(found) == pytest.approx(expected)


def test_cost_of_a_tree_solves_its_curve() -> None:
    """The stated cost is where the Gaussian curve, in floats, crosses δ; σ² and κ* in floats."""
    star = float(instance(1, 4).kappa_star)
    assert star == pytest.approx(math.exp(4) + 2 + math.exp(-4))
    assert float(instance(4, 0).kappa_star) == pytest.approx(1 / 4)
    variance = printed_variance(epsilon=1, delta="1/10", depth=4, sensitivity=1 / instance(1, 4).kappa_star)
    assert float(variance) == pytest.approx(36 * 4 * math.log(320) ** 2 / star**2)
    cost = float(
        costs(norm_squared=Fraction(2), variance=variance, nodes=4, symmetrise="half", delta=Fraction(1, 40))
    )
    mu = math.sqrt(4 * 2 / float(variance))
    curve = [
        stats.norm.cdf(mu / 2 - e / mu) - math.exp(e) * stats.norm.cdf(-mu / 2 - e / mu)
        for e in (0.98 * cost, cost)
    ]
    assert curve[1] <= 1 / 40 < curve[0]


def test_switch_bit_by_simulation() -> None:
    """The bit's chances by a normal distribution in floats; less at a smaller κ*; a short T is refused."""
    found = switch_bit(S=12, horizon=2**44, epsilon=Fraction(1), delta=Fraction(1, 10), at=Fraction(1, 3))
    sigma = 6 * math.sqrt(levels(2**44)) * math.log(320) / float(found.kappa_star)
    near, far = stats.norm.cdf(0.5 / sigma), stats.norm.cdf(-0.5 / sigma)
    assert float(found.delta) == pytest.approx(near - math.exp(1 / 3) * far, rel=1e-9)
    assert float(found.reach) / 4 < 2**found.power <= float(found.reach) / 2
    less = switch_bit(S=10, horizon=2**44, epsilon=Fraction(1), delta=Fraction(1, 10), at=Fraction(1, 3))
    assert less.delta < found.delta
    with pytest.raises(InvalidParameterError):
        switch_bit(S=12, horizon=2**20, epsilon=Fraction(1), delta=Fraction(1, 10), at=Fraction(1, 3))


def test_revealing_action_in_exact_arithmetic() -> None:
    """Criterion I's choice between the two arms, by a 2 x 2 inverse in fractions, changes where V_22 crosses
    the threshold, whatever V_11 and V_12 within the noise; b is the longer arm in V^-1, a in length."""
    found = revealing_action(S=12, horizon=2**44, epsilon=Fraction(1), delta=Fraction(1, 10))
    ridge = _ridge(S=12, T=2**44)
    reach, sigma = float(found.reach), float(found.deviation)
    b_1, b_2 = Fraction(float(found.b_1)), _fraction(found.b_2)
    with precision(400):
        a = (Fraction(0), _fraction((found.b_2**2 + 2 * found.b_1**2).sqrt()))
    assert a[1] ** 2 > b_1**2 + b_2**2
    middle = Fraction(ridge) + 2**found.power - Fraction(1, 2) - Fraction(sigma) ** 2
    for z11, z12 in itertools.product((-6, 0, 6), repeat=2):
        first, beside = Fraction(ridge + z11 * sigma), Fraction(z12 * sigma)
        for sign in (-1, 1):
            V22 = middle + sign * (Fraction(float(found.slack)) + Fraction(1, 1000))
            V = (first, beside, V22)
            assert _length((b_1, b_2), V) > _length(a, V)
            assert (_length((b_1, b_2), V) >= 1 / Fraction(reach)) == (sign < 0)


def _length(x: tuple[Fraction, Fraction], V: tuple[Fraction, Fraction, Fraction]) -> Fraction:
    """Squared, in the inverse of the symmetric V = (V_11, V_12, V_22)."""
    det = V[0] * V[2] - V[1] ** 2
    return (x[0] ** 2 * V[2] - 2 * x[0] * x[1] * V[1] + x[1] ** 2 * V[0]) / det


def test_revealing_action_chances_by_floats() -> None:
    """δ by a normal distribution in floats, with the slack on both sides; more at a larger κ*; a short T
    refused."""
    found = revealing_action(S=12, horizon=2**44, epsilon=Fraction(1), delta=Fraction(1, 10))
    sigma = 6 * math.sqrt(levels(2**44)) * math.log(320) / float(found.kappa_star)
    slack = float(found.slack)
    shown = stats.norm.cdf((0.5 - sigma**2 - slack) / sigma)
    hidden = stats.norm.cdf((-0.5 - sigma**2 + slack) / sigma)
    assert float(found.delta) == pytest.approx(shown - math.e * hidden, rel=1e-9)
    assert (
        revealing_action(S=14, horizon=2**44, epsilon=Fraction(1), delta=Fraction(1, 10)).delta > found.delta
    )
    with pytest.raises(InvalidParameterError):
        revealing_action(S=12, horizon=2**20, epsilon=Fraction(1), delta=Fraction(1, 10))


def _ridge(*, S: int, T: int) -> float:
    """(19) at d = 2, ε = 1, δ = 1/10, ζ = 1/20, logistic, 1/κ* = μ'(S/2), in floats."""
    star = math.exp(S / 2) + 2 + math.exp(-S / 2)
    logs = math.log(320) * math.log(T) * (math.log(16 * T / 0.05) + math.sqrt(2))
    return 64 * (4 * math.sqrt(2) + 1) * logs / star


def _fraction(value: arb) -> Fraction:
    """The middle of a ball, exact."""
    mantissa, exponent = value.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.mark.parametrize("score", [0, 4])
def test_the_losses_of_a_user_who_is_exploited_in_both(score: int) -> None:
    """SAR-I.7/exploited in floats: squares of the Gaussian trade-off parameter of the nodes of H, written out
    from I.1, and of all steps of three calls, from (127). The certificate is above the Gaussian delta of
    their sum, and not far above."""
    (found,) = exploited(
        Run(profile="quick", alpha=0.05, seed=0, row_id="x"), score, 3, 5000, Fraction(1), Fraction(1, 10)
    )
    assert isinstance(found, Certificate)
    slope = 1 / (2 + math.exp(score) + math.exp(-score))
    weight = 0.25 / math.e
    # m nodes, each with 2 weight² against 36 m log²(32/δ) slope² / ε²
    tree = 2 * weight**2 / (36 * math.log(320) ** 2 * slope**2)
    call = 1 / (6 * math.sqrt(6 * math.log(40)))
    steps = 0.0
    for n in (5000, 10_000, 20_000):
        rounds = math.floor(call**2 * n**2 / math.log(n * 180) ** 3)
        each = call / (2 * math.sqrt(2 * rounds * math.log(180)))
        logs = math.log(8 * 180 * (rounds + 1))
        # 2 g in one entry, against n b p (1 - p) with b = 24e4 g² log² / (ε² n)
        steps += rounds * 4 * each**2 / (24e4 * logs**2 * 3 / 16)

    def gaussian(mu: float, epsilon: float) -> float:
        down = stats.norm.cdf(-epsilon / mu - mu / 2)
        return float(stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * down)

    mu = math.sqrt(tree + steps)
    assert gaussian(mu, 2 / 3) <= float(found.bound) * 1.01
    assert float(found.bound) <= gaussian(2 * mu, 2 / 3) + 3e-4  # the steps' own tails
    assert float(found.bound) < 0.2 / 3
