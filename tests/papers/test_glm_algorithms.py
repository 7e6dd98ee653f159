"""Generalized linear bandits: algorithms against plain loops, noise against its covariance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpaudit.core.errors import InvalidParameterError, UndecidedError
from dpaudit.reference.algorithms.contextual.glm_baselines import BanditSize, EcoLog, GlmUcb, Gloc, RsGlinUcb
from dpaudit.reference.algorithms.contextual.glm_environments import (
    GlmEnvironment,
    ball_arms,
    published_environment,
)
from dpaudit.reference.algorithms.contextual.glm_fit import ball_loss, minimise
from dpaudit.reference.algorithms.contextual.glm_history import squared_norms
from dpaudit.reference.algorithms.contextual.glm_optimisers import ExactFit
from dpaudit.reference.algorithms.contextual.glm_simulation import simulate_glm
from dpaudit.reference.algorithms.contextual.joint_glm import JointConstants, JointGlm
from dpaudit.reference.algorithms.contextual.joint_glm_constants import (
    GlmBudget,
    practical_constants,
    printed_constants,
)
from dpaudit.reference.algorithms.contextual.links import Probit, logistic
from dpaudit.reference.algorithms.contextual.matrix_prefix_noise import (
    PrefixTree,
    ReleasedTree,
    matrix_prefix_noise,
    symmetric_noise,
)
from dpaudit.reference.algorithms.contextual.shuffle_glm import (
    ShuffleConstants,
    batch_lengths,
    printed_shuffle_constants,
    shuffle_glm,
    shuffled_matrix_noise,
)

SIGMAS = 6.0


def _environment(rounds: int = 60, n_arms: int = 4, dim: int = 1, norm: float = 2.0) -> GlmEnvironment:
    rng = np.random.default_rng(3)
    theta = np.full(dim, norm / math.sqrt(dim))
    return GlmEnvironment(logistic(), ball_arms(rng, rounds=rounds, n_arms=n_arms, dim=dim), theta)


def test_kappas_of_the_published_environment() -> None:
    """18.39, 56.44 and 222.15 at S = 2, 5/2 and 3, as the paper prints, by the closed form of probit as well;
    another seed has another kappa."""
    for norm, printed in ((2.0, 18.39), (2.5, 56.44), (3.0, 222.15)):
        arms = published_environment(Probit(), param_norm=norm, dim=3)
        largest = float(np.abs(arms.arms @ arms.theta).max())
        assert round(arms.kappa, 2) == printed
        assert arms.kappa == pytest.approx(math.sqrt(2 * math.pi) * math.exp(largest**2 / 2))
        assert arms.kappa_star == pytest.approx(math.sqrt(2 * math.pi), abs=1e-6)
    other = published_environment(Probit(), param_norm=2.0, dim=3, rounds=50, seed=1)
    assert round(other.kappa, 2) != 18.39


def test_environments_refuse_long_arms_and_wrong_shapes() -> None:
    """Norm 1 at most; one parameter of the arms' dimension."""
    with pytest.raises(InvalidParameterError, match="norm 1"):
        GlmEnvironment(logistic(), np.full((2, 2, 2), 0.9), np.zeros(2))
    with pytest.raises(InvalidParameterError, match="theta"):
        GlmEnvironment(logistic(), np.zeros((2, 2, 2)), np.zeros(3))


def _constants(**changes: Any) -> JointConstants:
    settled: dict[str, Any] = {
        "horizon": 400,
        "dim": 1,
        "param_norm": 3.0,
        "ridge": 1.5,
        "ridge_upper": 1.5,
        "width": 1.0,
        "beta": 0.4,
        "threshold": 0.12,
        "call_explore": (1.0, 0.1),
        "call_exploit": (1.0, 0.1),
        "std_explore": 0.0,
        "std_exploit": 0.0,
    }
    return JointConstants(**(settled | changes))


def _plain_joint(environment: GlmEnvironment, rewards: list[float]) -> tuple[list[int], int, int]:
    """Algorithm 2 without noise in one dimension, by scalars: the arms, explorations and switches."""
    c, link = _constants(), logistic()
    v = h = c.ridge
    theta_o = theta_tau = 0.0
    last = h_switch = h
    chosen, seen, explored, switches = [], [], [], 0

    def fit(rows: list[int], centre: float, radius: float) -> float:
        if not rows:
            return min(max(0.0, centre - radius), centre + radius)
        x = np.array([seen[i][0] for i in rows])
        r = np.array([seen[i][1] for i in rows])
        low, high = -50.0, 50.0
        for _ in range(200):
            mid = (low + high) / 2
            slope = float((link.mean(x * mid) - r) @ x) + c.ridge_upper * mid
            low, high = (low, mid) if slope > 0 else (mid, high)
        return min(max(low, centre - radius), centre + radius)

    for t, arms in enumerate(environment.arms[:, :, 0]):
        if (arms**2 / v).max() >= c.threshold:
            k = int((arms**2 / v).argmax())
            explored.append(t)
        else:
            if h > 2 * last:
                last = h_switch = h
                switches += 1
                rest = [i for i in range(t) if i not in explored]
                theta_tau = fit(rest, theta_o, c.width / math.sqrt(v))
            widths = c.width * np.abs(arms) / math.sqrt(v)
            left = theta_o * arms + widths >= (theta_o * arms - widths).max()
            scores = theta_tau * arms + c.beta * np.abs(arms) / math.sqrt(h_switch)
            k = int(np.where(left, scores, -np.inf).argmax())
        chosen.append(k)
        seen.append((arms[k], rewards[t]))
        if t in explored:
            v += arms[k] ** 2
            theta_o = fit(explored, 0.0, c.param_norm)
        else:
            h += float(link.slope(np.array(theta_o * arms[k]))) / math.e * arms[k] ** 2
    return chosen, len(explored), switches


class _Recorded(JointGlm):
    """Remembers what was played and paid."""

    def choose(self, t: int, arms: np.ndarray) -> np.ndarray:
        found = super().choose(t, arms)
        self.__dict__.setdefault("played", []).append(int(found[0]))
        return found

    def learn(self, t: int, x: np.ndarray, rewards: np.ndarray) -> None:
        self.__dict__.setdefault("paid", []).append(float(rewards[0]))
        super().learn(t, x, rewards)


def test_the_joint_algorithm_without_noise_is_a_plain_loop_of_scalars() -> None:
    """The same arms in all rounds, the same numbers of explorations and switches, both above 1."""
    environment = _environment(rounds=400)
    made: list[_Recorded] = []

    def make(replicates: int, rng: np.random.Generator) -> JointGlm:
        made.append(_Recorded(_constants(), logistic(), ExactFit(), replicates=replicates, rng=rng))
        return made[0]

    runs = simulate_glm(make, environment, name="joint", replicates=1, seed=4)
    policy = made[0]
    chosen, explored, switches = _plain_joint(environment, policy.__dict__["paid"])
    assert policy.__dict__["played"] == chosen
    assert runs.counts["criterion I"][0] == explored > 1
    assert runs.counts["criterion II"][0] == switches > 1
    assert runs.counts["calls theta_o"][0] == explored


def test_caps_stop_updates_and_noise_can_make_matrices_indefinite() -> None:
    """Two calls of each optimiser and no more; a noise far above the ridge raises, or is clipped and
    counted."""
    environment = _environment(rounds=60)

    def counts(**changes: Any) -> Any:
        constants = _constants(**changes)
        return simulate_glm(
            lambda n, rng: JointGlm(constants, logistic(), ExactFit(), replicates=n, rng=rng),
            environment,
            name="joint",
            replicates=2,
            seed=4,
        ).counts

    capped = counts(cap_explore=2, cap_exploit=1)
    assert set(capped["calls theta_o"]) == {2}
    assert set(capped["calls theta_tau"]) == {1}
    assert capped["criterion I"].min() > 2
    with pytest.raises(UndecidedError, match="positive definite"):
        counts(std_explore=50.0)
    assert counts(std_explore=50.0, psd_mode="clip")["not definite"].min() > 0


def test_prefix_noise_is_the_sum_of_its_nodes() -> None:
    """The covariance of two prefixes is that of the nodes they share, for every pair t, s <= 6; entry
    variances are 4 factor^2 std^2 on the diagonal and 2 factor^2 std^2 off it."""
    runs, horizon = 40000, 6
    for factor in (0.5, 1 / math.sqrt(2)):
        noise = matrix_prefix_noise(
            np.random.default_rng(5), runs=runs, horizon=horizon, dim=2, node_std=1.0, factor=factor
        )
        np.testing.assert_array_equal(noise[:, :, 0, 1], noise[:, :, 1, 0])

        def nodes(t: int) -> set[tuple[int, int]]:
            """Blocks of the dyadic cover of 1..t, the longest first."""
            cover, start = set(), 0
            for level in reversed(range(4)):
                if t >> level & 1:
                    cover.add((start, start + (1 << level)))
                    start += 1 << level
            return cover

        for entry, variance in (((0, 0), 4 * factor**2), ((0, 1), 2 * factor**2)):
            for t in range(horizon + 1):
                for s in range(horizon + 1):
                    products = noise[:, t, *entry] * noise[:, s, *entry]
                    shared = variance * len(nodes(t) & nodes(s))
                    error = products.std() / math.sqrt(runs)
                    assert abs(products.mean() - shared) <= SIGMAS * error + 1e-12
    assert symmetric_noise(np.random.default_rng(1), shape=(3,), dim=2, std=0.0).max() == 0
    with pytest.raises(InvalidParameterError, match="horizon"):
        matrix_prefix_noise(np.random.default_rng(1), runs=1, horizon=0, dim=2, node_std=1.0)


def _size(environment: GlmEnvironment) -> BanditSize:
    rounds, _, dim = environment.shape
    return BanditSize(horizon=rounds, dim=dim, param_norm=2.0, kappa=environment.kappa)


def test_newton_steps_stay_with_the_exact_minimiser() -> None:
    """GLM-UCB's estimate after 200 rounds is within 1e-3 of the minimiser of everything it has seen."""
    environment = _environment(rounds=200, dim=2)
    made: list[GlmUcb] = []

    def make(replicates: int, rng: np.random.Generator) -> GlmUcb:
        made.append(GlmUcb(_size(environment), logistic(), replicates))
        return made[0]

    simulate_glm(make, environment, name="glm-ucb", replicates=3, seed=1)
    policy = made[0]
    loss = ball_loss(logistic(), policy.history.points, policy.history.rewards, ridge=2.0)
    np.testing.assert_allclose(policy.theta, minimise(loss), atol=1e-3)
    gram = 2 * np.eye(2) + np.einsum("rtd,rte->rde", policy.history.points, policy.history.points)
    np.testing.assert_allclose(policy.inverse, np.linalg.inv(gram), rtol=1e-8)


def test_every_baseline_learns() -> None:
    """Less regret in the last third of 900 rounds than uniform play would have, for all four."""
    environment = _environment(rounds=900, dim=2, n_arms=6)
    size, link = _size(environment), logistic()
    late = environment.means[600:]
    uniform = float((late.max(axis=1) - late.mean(axis=1)).sum())
    makers = {
        "RS-GLinUCB": lambda n, rng: RsGlinUcb(size, link, n, beta=1.0, fit_ridge=1.0),
        "GLM-UCB": lambda n, rng: GlmUcb(size, link, n),
        "GLOC": lambda n, rng: Gloc(size, link, n),
        "ECOLog": lambda n, rng: EcoLog(size, link, n),
    }
    for name, make in makers.items():
        runs = simulate_glm(make, environment, name=name, replicates=4, seed=2, checkpoints=[600, 900])
        paid = runs.pseudo.curves[:, 1] - runs.pseudo.curves[:, 0]
        assert paid.mean() < uniform, name
        assert all(count.max() > 0 for count in runs.counts.values())


def _budget(**changes: Any) -> GlmBudget:
    settled = {
        "horizon": 5000,
        "dim": 3,
        "param_norm": 2.0,
        "kappa": 18.39366991,
        "kappa_star": math.sqrt(2 * math.pi),
        "epsilon": 4.0,
        "delta": 0.02,
        "failure_prob": 0.02,
    }
    return GlmBudget(**(settled | changes))


def test_practical_constants_are_those_of_the_published_log() -> None:
    """Ridges 232.8, 165.6, 131.9; caps 3 and 2 or 3 on theta_tau, 95 on theta_o at S = 3."""
    ridges = [practical_constants(_budget(epsilon=e)).ridge for e in (4.0, 6.0, 8.0)]
    assert [round(ridge, 1) for ridge in ridges] == [232.8, 165.6, 131.9]
    assert practical_constants(_budget()).cap_explore == 3
    assert practical_constants(_budget()).cap_exploit == 2
    steep = practical_constants(_budget(param_norm=3.0, kappa=222.1475))
    assert steep.cap_explore == 95
    assert steep.std_exploit == pytest.approx(steep.std_explore / math.sqrt(2 * math.pi))


def test_printed_constants_by_a_second_formula() -> None:
    """(19) to (21) written out at one point; the ends of the ridge are one share 1/(4 sqrt d + 1) away; the
    threshold is 1 over the squared width; every round explores."""
    found, budget = printed_constants(_budget()), _budget()
    root = 4 * math.sqrt(3) + 1
    ridge = 64 * root * math.log(1600) * math.log(5000) * (math.log(4e6) + math.sqrt(3)) / (4 * 2.5066282746)
    assert found.ridge == pytest.approx(ridge, rel=1e-9)
    assert found.ridge_upper - found.ridge == pytest.approx(ridge / root, rel=1e-9)
    gamma = 2**4 * 3 * math.log(750000) ** 2 * math.log(1600) / (2 * math.pi)
    assert found.width == pytest.approx(gamma * math.sqrt(18.39366991), rel=1e-8)
    assert found.threshold * found.width**2 == pytest.approx(1)
    assert budget.depth == 14
    assert found.std_explore == pytest.approx(6 * math.sqrt(14) * math.log(1600) / (4 * 2.5066282746))
    environment = _environment(rounds=20, dim=3)
    runs = simulate_glm(
        lambda n, rng: JointGlm(found, logistic(), ExactFit(), replicates=n, rng=rng),
        environment,
        name="printed",
        replicates=1,
        seed=0,
    )
    assert runs.counts["criterion I"][0] == 20


def _uniform(arms: np.ndarray) -> np.ndarray:
    return np.full(len(arms), 1 / len(arms))


def _shuffle(constants: ShuffleConstants, environment: GlmEnvironment, seed: int = 0) -> Any:
    noise = shuffled_matrix_noise(0.5, 0.05, dim=environment.shape[2])
    return shuffle_glm(
        environment,
        constants,
        fit=ExactFit(),
        design=_uniform,
        noise=noise if seed < 0 else lambda users, sensitivity, rng: np.zeros((2, 2)),
        rng=np.random.default_rng(abs(seed)),
    )


def test_the_shuffled_algorithm_eliminates_and_its_matrices_are_sums() -> None:
    """Batches as named; V is ridge plus the batch's Gram matrix; later batches have fewer arms and less
    regret a round; with a huge gamma nothing is eliminated."""
    environment = _environment(rounds=1300, dim=2, n_arms=6)
    budget = _budget(horizon=1300, dim=2, kappa=environment.kappa, kappa_star=environment.kappa_star)
    settled: dict[str, Any] = {
        "lengths": (300, 400, 500),
        "ridge": 1.0,
        "ridge_upper": 1.0,
        "budget": budget,
        "late_scale": 1.0,
    }
    run = _shuffle(ShuffleConstants(gamma=0.5, **settled), environment)
    assert run.lengths == (300, 400, 500)
    assert run.counts == {"batches cut": 0, "rounds left": 100, "not definite": 0}
    trace = np.trace(run.designs[0]) - 2.0
    assert 0 < trace <= 300
    assert run.survivors[0] < 6
    rounds = np.diff(run.regret, prepend=0.0)
    assert rounds[700:1200].mean() < rounds[:300].mean() / 2
    everything = _shuffle(ShuffleConstants(gamma=1e6, **settled), environment)
    assert everything.survivors == (6.0, 6.0)


def _after_one_batch(noise: Any, **options: Any) -> Any:
    """A run of two batches whose matrices get ``noise``; the ridge is 1."""
    environment = _environment(rounds=90, dim=2, n_arms=3)
    budget = _budget(horizon=90, dim=2, kappa=environment.kappa, kappa_star=environment.kappa_star)
    constants = ShuffleConstants(
        lengths=(40, 40), ridge=1.0, ridge_upper=1.0, gamma=0.5, budget=budget, late_scale=1.0
    )
    return shuffle_glm(
        environment,
        constants,
        fit=ExactFit(),
        design=_uniform,
        noise=noise,
        rng=np.random.default_rng(4),
        **options,
    )


@pytest.mark.parametrize("shift", [-1e6, -500.0, math.nan])
def test_the_shuffled_algorithm_refuses_an_indefinite_matrix(shift: float) -> None:
    """V or H_k with an eigenvalue at most 0 (or none at all) raises; the repair counts and goes on."""

    def noise(users: int, sensitivity: float, rng: np.random.Generator) -> Any:
        return np.diag([shift, 0.0])

    with pytest.raises(UndecidedError, match="batch 1 must be positive definite"):
        _after_one_batch(noise)
    if math.isfinite(shift):
        run = _after_one_batch(noise, psd_mode="clip")
        assert run.counts["not definite"] == 2
        assert all(np.linalg.eigvalsh(design)[0] > 0 for design in run.designs)


def test_the_shuffled_algorithm_refuses_a_later_indefinite_matrix() -> None:
    """H_2 is looked at as V is; noise that leaves both definite changes nothing."""
    calls: list[int] = []

    def second(users: int, sensitivity: float, rng: np.random.Generator) -> Any:
        calls.append(users)
        return np.eye(2) * (-1e6 if len(calls) > 1 else 0.0)

    with pytest.raises(UndecidedError, match="batch 2 must be positive definite"):
        _after_one_batch(second)
    kept = [
        _after_one_batch(lambda users, sensitivity, rng: np.eye(2), psd_mode=mode)
        for mode in ("error", "clip")
    ]
    np.testing.assert_array_equal(kept[0].regret, kept[1].regret)
    assert kept[0].counts["not definite"] == 0


def test_the_printed_noise_makes_the_shuffled_matrices_indefinite() -> None:
    """With the noise of (127) and a ridge of 1 the run stops at the first matrix."""
    with pytest.raises(UndecidedError, match="positive definite"):
        _after_one_batch(shuffled_matrix_noise(0.5, 0.05, dim=2))


def test_printed_batches_are_longer_than_the_horizon() -> None:
    """B_1 by (6) at T = 200 is beyond 10^6, so that one batch is played and cut; B_3 = alpha sqrt(alpha)."""
    assert batch_lengths(10.0, 9.0, 4) == (10, 9, 27, math.ceil(9 * math.sqrt(27)))
    environment = _environment(rounds=200, dim=2)
    budget = _budget(horizon=200, dim=2, kappa=environment.kappa, kappa_star=environment.kappa_star)
    constants = printed_shuffle_constants(budget, n_batches=3)
    assert constants.lengths[0] > 10**6
    run = _shuffle(constants, environment)
    assert run.lengths == (200,)
    assert run.counts["batches cut"] == 1
    assert not run.thetas
    growth = 200 ** (1 / (2 * (1 - 0.25)))
    assert constants.lengths[1] == math.ceil(growth)
    assert printed_shuffle_constants(budget, n_batches=3, shift=0).lengths[1] == math.ceil(200 ** (4 / 7))


def test_shuffled_matrix_noise_is_symmetric_and_scales_with_the_sensitivity() -> None:
    """Entries above the diagonal are mirrored; the same draws times the sensitivity."""
    noise = shuffled_matrix_noise(0.5, 0.05, dim=3)
    one, two = (noise(40, scale, np.random.default_rng(2)) for scale in (1.0, 2.5))
    np.testing.assert_array_equal(one, one.T)
    np.testing.assert_allclose(two, 2.5 * one)
    assert len(set(np.round(one[np.triu_indices(3)], 6))) == 6


def test_squared_norms_against_a_solve() -> None:
    """x^T A^-1 x by a linear solve."""
    rng = np.random.default_rng(8)
    arms, square = rng.normal(size=(5, 3)), rng.normal(size=(2, 3, 3))
    designs = square @ np.swapaxes(square, 1, 2) + np.eye(3)
    found = squared_norms(arms, np.linalg.inv(designs))
    for r in range(2):
        np.testing.assert_allclose(found[r], (arms.T * np.linalg.solve(designs[r], arms.T)).sum(axis=0))


def test_trees_without_noise_by_hand() -> None:
    """One tree releases prefix sums. The released code's query adds the node before each left child."""
    found = {}
    for tree in (PrefixTree, ReleasedTree):
        made = tree(np.random.default_rng(0), runs=1, horizon=4, dim=1, node_std=0.0, factor=0.5)
        found[tree] = [float(made.query()[0, 0, 0])]
        for leaf in (1.0, 10.0, 100.0, 1000.0):
            made.add(np.full((1, 1, 1), leaf))
            found[tree].append(float(made.query()[0, 0, 0]))
    assert found[PrefixTree] == [0, 1, 11, 111, 1111]
    # Nodes 4 to 7 are leaves. Node 4 adds 3, its parent 2 adds the root; node 6 adds 5.
    assert found[ReleasedTree] == [0, 0 + 1 + 1, 11 + 10, 10 + 100, 1000]


def test_the_released_query_reads_one_draw_per_node() -> None:
    """Asked twice, it releases the same; its noise has as many nodes as it adds."""
    made = ReleasedTree(np.random.default_rng(3), runs=4000, horizon=8, dim=1, node_std=1.0, factor=0.5)
    for _ in range(7):
        made.add(np.zeros((4000, 1, 1)))
    last = made.query()  # leaf 14 of nodes 8 to 15: it adds 13, and its parent 7 is odd, and so is 3
    np.testing.assert_array_equal(last, made.query())
    assert abs(last.std() - math.sqrt(2)) < 6 * math.sqrt(2) / math.sqrt(2 * 4000)
