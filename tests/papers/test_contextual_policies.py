"""Linear contextual policies against a plain loop of one replicate, and exact distributions of their
noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchmarks.plain_contextual import PlainNoise, plain_linucb
from dpaudit.coins import record
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual import linear_policy, rank_one
from dpaudit.reference.algorithms.contextual.aggregate_noise import (
    AggregateNoise,
    BinomialNoise,
    GaussianNoise,
    NoNoise,
    TreeNoise,
    WishartTreeNoise,
    symmetric_gaussians,
)
from dpaudit.reference.algorithms.contextual.batch_counters import by_batches
from dpaudit.reference.algorithms.contextual.environments import (
    Batch,
    FixedArms,
    FreshContexts,
    coded_arms,
    sphere_arms,
)
from dpaudit.reference.algorithms.contextual.linear_policy import BatchedPolicy, PolicyState, choose, init
from dpaudit.reference.algorithms.contextual.optimism import clipped_lengths
from dpaudit.reference.algorithms.contextual.shuffle_linucb_protocol import BatchedLinUCB, optimistic_action
from dpaudit.reference.algorithms.contextual.simulated_regret import simulate_batched, simulate_linucb
from dpaudit.suite.regret import RegretRuns
from tests.rates import FALSE_FAILURE_RATE

Floats = NDArray[np.float64]
SIGMAS = float(stats.norm.isf(FALSE_FAILURE_RATE / 2))


def _arms(replicates: int = 3, n_arms: int = 7, dim: int = 3, seed: int = 1) -> FixedArms:
    """Arms of different lengths: no ties, which rounding would break."""
    arms = sphere_arms(replicates=replicates, n_arms=n_arms, dim=dim, rng=np.random.default_rng(seed))
    return FixedArms(arms.features * np.linspace(0.7, 1.0, n_arms)[:, None], arms.theta)


def _radius(t: float) -> float:
    return 1.3 + math.log1p(t) / 7


def _always(value: float, time: int) -> float:
    return value


class _Recorded:
    """Noise of known values, and what a policy did with them."""

    def __init__(self, noise: AggregateNoise) -> None:
        self.noise, self.vecs, self.mats, self.batches = noise, [], [], []  # type: ignore[var-annotated]

    def init(self, replicates: int, dim: int):  # type: ignore[no-untyped-def]
        return self.noise.init(replicates, dim)

    def step(self, state, batch, rng):  # type: ignore[no-untyped-def]
        found = self.noise.step(state, batch, rng)
        self.vecs.append(found.vec)
        self.mats.append(found.mat)
        self.batches.append(batch)
        return found


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("std", [0.0, 0.2])
def test_batches_decide_like_a_plain_loop_of_one_replicate(size: int, std: float) -> None:
    """Same arms, same rewards, same noise: the same arm in every round, replicate by replicate; and the last
    estimate is one solve of all that was stored."""
    arms, horizon, ridge = _arms(), 80, 4.0
    recorded = _Recorded(GaussianNoise(std_vec=std, std_mat=std))
    policy = BatchedPolicy(batch_size=size, ridge=lambda t: ridge, radius=_radius, noise=recorded)
    runs = simulate_batched(policy, arms, name="batched", horizon=horizon, seed=3)
    assert runs.state is not None
    for r in range(3):
        ones = [int(batch.ones[r, 0]) for batch in recorded.batches]
        noise: PlainNoise = [(vec[r], mat[r]) for vec, mat in zip(recorded.vecs, recorded.mats, strict=True)]
        played = plain_linucb(
            arms.features[r], horizon, ridge=ridge, radius=_radius, batch_size=size, ones=ones, noise=noise
        )
        chosen = [arms.features[r, arm] for arm in played.arms]
        expected = np.repeat([batch.features[r, 0] for batch in recorded.batches], size, axis=0)
        np.testing.assert_array_equal(np.array(chosen), expected)
        gram = sum((np.outer(x, x) for x in chosen), start=ridge * np.eye(3)) + recorded.mats[-1][r]
        vec = sum((x * y for x, y in zip(chosen[::size], ones, strict=True)), start=recorded.vecs[-1][r])
        np.testing.assert_allclose(runs.state.theta_hat[r], np.linalg.solve(gram, vec), atol=1e-10)
        np.testing.assert_allclose(runs.pseudo.final[r], played.regret(arms.means[r]), rtol=1e-12)


def test_updated_scores_are_those_of_fresh_matrices() -> None:
    """After 400 rounds of rank-one updates means and norms are V^-1's, and a wrong update is far away."""
    arms, rng = _arms(n_arms=11, dim=4), np.random.default_rng(2)
    state, rows = rank_one.init_scores(arms.features, ridge=0.5), np.arange(3) * 11
    gram, vec = np.tile(0.5 * np.eye(4), (3, 1, 1)), np.zeros((3, 4))
    for t in range(400):
        cells = rank_one.best_arms(state, _radius(t)) + rows
        rewards = (rng.random(3) < arms.means.ravel()[cells]).astype(float)
        x = arms.features.reshape(-1, 4)[cells]
        gram, vec = gram + x[:, :, None] * x[:, None, :], vec + x * rewards[:, None]
        state = rank_one.step_scores(state, cells, rewards)
    inverse = np.linalg.inv(gram)
    theta = np.einsum("rij,rj->ri", inverse, vec)
    np.testing.assert_allclose(state.means, np.einsum("rkd,rd->rk", arms.features, theta), atol=1e-10)
    squares = np.einsum("rkd,rde,rke->rk", arms.features, inverse, arms.features)
    np.testing.assert_allclose(state.squares, squares, atol=1e-10)
    assert np.abs(state.squares - 2 * squares).max() > 1e-3


def test_linucb_is_the_batched_policy_without_noise_at_one_user_a_batch() -> None:
    """Two engines, one distribution: equal mean regret within the error of 300 runs; another radius has
    another."""
    arms, horizon = _arms(replicates=300), 200
    one = simulate_linucb(arms, radius=lambda t: 0.5, ridge=1.0, horizon=horizon, seed=5).pseudo
    policy = BatchedPolicy(batch_size=1, ridge=lambda t: 1.0, radius=lambda t: 0.5)
    two = simulate_batched(policy, arms, name="batched", horizon=horizon, seed=6).pseudo
    other = simulate_linucb(arms, radius=lambda t: 50.0, ridge=1.0, horizon=horizon, seed=5).pseudo

    def apart(left: RegretRuns, right: RegretRuns) -> float:
        paired = left.final - right.final
        return float(abs(paired.mean()) / (paired.std(ddof=1) / math.sqrt(len(paired))))

    assert apart(one, two) < SIGMAS < apart(one, other)


def test_contexts_that_change_are_played_one_by_one() -> None:
    """Each round of a batch has arms of its own; gram and rewards are the sums over its users, and the whole
    batch is played with one estimate."""
    theta = sphere_arms(replicates=4, n_arms=2, dim=3, rng=np.random.default_rng(3)).theta
    seen: list[Floats] = []

    def choose(features: Floats) -> NDArray[np.int64]:
        seen.append(features)
        return np.zeros(len(features), dtype=np.int64)

    batch = FreshContexts(theta, n_arms=5).play(choose, 6, np.random.default_rng(4))
    assert len(seen) == 6
    assert not np.array_equal(seen[0], seen[1])
    chosen = np.stack([features[:, 0] for features in seen], axis=1)
    np.testing.assert_allclose(batch.gram(), np.einsum("rni,rnj->rij", chosen, chosen))
    np.testing.assert_allclose(batch.reward_vec(), np.einsum("rni,rn->ri", chosen, batch.ones))
    means = [np.einsum("rkd,rd->rk", features, theta) for features in seen]
    np.testing.assert_allclose(batch.regret, sum(mean.max(axis=1) - mean[:, 0] for mean in means))


def _batch(x: Floats, users: int, ones: int) -> Batch:
    shape = (len(x), 1)
    return Batch(x[:, None], np.full(shape, users), np.full(shape, ones), np.zeros(len(x)), np.zeros(len(x)))


def _one_by_one(
    rng: np.random.Generator, value: float, users: int, noise: BinomialNoise, size: int
) -> Floats:
    """P_Vec's analyzer on ``users`` equal values, bit by bit as printed."""
    shifted = (value + noise.scale) * noise.precision / noise.scale
    low = math.floor(shifted)
    rounded = low + (rng.random((size, users)) < shifted - low)
    bits = (rng.random((size, users, noise.trials)) < noise.prob).sum(axis=2)
    total = (rounded + bits).sum(axis=1) - noise.prob * noise.trials * users
    return np.asarray(total * noise.scale / noise.precision - users * noise.scale - users * value)


def _same(left: Floats, right: Floats) -> float:
    """The p-value that both have one distribution; lattice points that differ by rounding are one."""
    return float(stats.ks_2samp(left.round(9), right.round(9)).pvalue)


def test_noise_of_binomial_sums_has_the_distribution_of_single_bits() -> None:
    """Entries of the drawn noise and of bits user by user have one distribution (of two samples);
    a noise that forgets to round has another."""
    noise = BinomialNoise(precision=5, trials=6)
    x = np.full((6000, 1), 0.73)
    rng = np.random.default_rng(7)
    state = noise.step(noise.init(6000, 1), _batch(x, 3, 3), rng)
    vec = _one_by_one(rng, 0.73, 3, noise, 6000)
    mat = _one_by_one(rng, 0.73**2, 3, noise, 6000)
    bits = np.asarray(rng.binomial(18, 0.25, size=6000) - 4.5, dtype=np.float64) * noise.scale
    bits /= noise.precision
    assert _same(state.vec[:, 0], vec) > FALSE_FAILURE_RATE
    assert _same(state.mat[:, 0, 0], mat) > FALSE_FAILURE_RATE
    assert _same(bits, vec) < FALSE_FAILURE_RATE


@pytest.mark.parametrize(
    ("symmetry", "diagonal", "beside"), [("copy", 1, 1), ("average", 1, 0.5), ("scaled", 2, 1)]
)
def test_symmetric_matrices_have_the_variances_of_their_names(
    symmetry: str, diagonal: float, beside: float
) -> None:
    """Every entry's distribution is the normal one of its variance, by bets, and the matrix is symmetric."""
    drawn = symmetric_gaussians(np.random.default_rng(8), (4000, 2, 2), symmetry)  # type: ignore[arg-type]
    np.testing.assert_array_equal(drawn, drawn.transpose(0, 2, 1))
    for values, variance in ((drawn[:, 0, 0], diagonal), (drawn[:, 0, 1], beside)):
        assert stats.kstest(values / math.sqrt(variance), "norm").pvalue > FALSE_FAILURE_RATE
        assert stats.kstest(values / math.sqrt(2 * variance), "norm").pvalue < FALSE_FAILURE_RATE


def test_a_tree_adds_as_many_nodes_as_binary_digits() -> None:
    """The variance of the prefix m is the number of ones of m; nodes shared by two prefixes are shared."""
    noise, rng = TreeNoise(std_vec=1.0, std_mat=1.0, n_batches=13), np.random.default_rng(9)
    state, batch = noise.init(20000, 1), _batch(np.zeros((20000, 1)), 1, 0)
    found = []
    for _ in range(13):
        state = noise.step(state, batch, rng)
        found.append(state.vec[:, 0])
    for m, values in enumerate(found, start=1):
        spread = values.var() / m.bit_count()
        assert abs(spread - 1) < SIGMAS * math.sqrt(2 / len(values))
    shared = np.cov(found[11], found[12])[0, 1]  # 12 = 8 + 4, 13 = 8 + 4 + 1
    assert abs(shared - 2) < SIGMAS * math.sqrt(10 / 20000)
    with pytest.raises(InvalidParameterError, match="must not see batch 14"):
        noise.step(state, batch, rng)


def test_wishart_nodes_have_mean_and_trace_of_their_distribution() -> None:
    """Mean k L² on the diagonal and 0 beside it; the trace of the 3 x 3 matrix is L² chi-square with 3k."""
    noise = WishartTreeNoise(scale=2.0, freedom=7, n_batches=1)
    state = noise.step(noise.init(5000, 2), _batch(np.zeros((5000, 2)), 1, 0), np.random.default_rng(10))
    trace = np.einsum("rii->r", state.mat) / 2.0
    assert stats.kstest(trace, stats.chi2(14).cdf).pvalue > FALSE_FAILURE_RATE
    assert abs(state.vec.mean()) < SIGMAS * 2 * math.sqrt(7 / state.vec.size)
    assert np.linalg.eigvalsh(state.mat).min() > 0


def test_indefinite_matrices_are_counted_by_their_eigenvalues() -> None:
    """Much noise and a small ridge: the count is that of a direct look at every batch; a large ridge has
    none."""
    arms = _arms(replicates=6)
    found = np.zeros(6, dtype=np.int64)
    for ridge, some in ((0.5, True), (1e6, False)):
        recorded = _Recorded(GaussianNoise(std_vec=3.0, std_mat=3.0))
        policy = BatchedPolicy(batch_size=5, ridge=partial(_always, ridge), radius=_radius, noise=recorded)
        runs = simulate_batched(policy, arms, name="noisy", horizon=50, seed=11)
        grams = np.cumsum([batch.gram() for batch in recorded.batches], axis=0)
        total = grams + np.array(recorded.mats) + ridge * np.eye(3)
        found = (np.linalg.eigvalsh(total).min(axis=2) <= 0).sum(axis=0)
        np.testing.assert_array_equal(runs.indefinite_batches, found)
        assert bool(found.any()) is some


def test_realised_regret_has_the_mean_of_pseudo_regret() -> None:
    """The best arm's rewards minus the played ones' have the gaps as their mean, in both engines."""
    arms = _arms(replicates=800)
    policy = BatchedPolicy(batch_size=4, ridge=lambda t: 1.0, radius=lambda t: 2.0)
    both = [
        simulate_batched(policy, arms, name="batched", horizon=40, seed=12),
        simulate_linucb(arms, radius=lambda t: 2.0, ridge=1.0, horizon=40, seed=13),
    ]
    for runs in both:
        apart = runs.realised.final - runs.pseudo.final
        assert abs(apart.mean()) < SIGMAS * apart.std(ddof=1) / math.sqrt(len(apart))


def test_instances_are_as_printed_and_as_coded() -> None:
    """Norms 1 (printed); sqrt(2) with d basis arms first (code); means in [0, 1] with the printed
    distribution."""
    printed = sphere_arms(replicates=20, n_arms=50, dim=4, rng=np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(printed.features, axis=2), 1)
    np.testing.assert_allclose(np.linalg.norm(printed.theta, axis=1), 1)
    coded = coded_arms(replicates=20, n_arms=50, dim=4, rng=np.random.default_rng(1))
    np.testing.assert_allclose(coded.features[:, 4:, -1], 1)
    np.testing.assert_allclose(np.linalg.norm(coded.features[:, 4:], axis=2), math.sqrt(2))
    np.testing.assert_allclose(coded.features[0, :3, :3], np.eye(3))
    np.testing.assert_allclose(coded.means[:, 3], 0.5)
    same = stats.ks_2samp(printed.means.ravel(), coded.means[:, 4:].ravel())
    assert same.pvalue > FALSE_FAILURE_RATE


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: FixedArms(np.ones((1, 2, 2)), np.ones((1, 2))), "mean rewards must be in"),
        (lambda: FixedArms(np.ones((1, 2, 2)), np.ones((2, 2))), "theta \\(R, d\\), got"),
        (lambda: BatchedPolicy(batch_size=0, ridge=lambda t: 1, radius=lambda t: 1), "batch_size"),
        (lambda: rank_one.init_scores(np.ones((1, 2, 2)), ridge=0.0), "ridge must be positive"),
        (lambda: WishartTreeNoise(scale=1, freedom=2, n_batches=1).init(1, 2), "degrees of freedom"),
        (lambda: _simulated(7), "multiple of the batch size 2, got 7"),
    ],
)
def test_what_cannot_be_is_refused(action: Callable[[], object], words: str) -> None:
    """Each constraint names the value received."""
    with pytest.raises(InvalidParameterError, match=words):
        action()


def _simulated(horizon: int) -> object:
    policy = BatchedPolicy(batch_size=2, ridge=lambda t: 1.0, radius=lambda t: 1.0, noise=NoNoise())
    return simulate_batched(policy, _arms(), name="x", horizon=horizon, seed=1)


def test_steps_leave_the_state_as_it_was() -> None:
    """``step`` is a function: called twice on one state with one seed it gives the same, and the state's
    arrays are unchanged."""
    noise = TreeNoise(std_vec=1.0, std_mat=1.0, n_batches=4)
    policy = BatchedPolicy(batch_size=2, ridge=lambda t: 9.0, radius=_radius, noise=noise)
    first = linear_policy.init(policy, 3, 3)
    batch = _batch(_arms().features[:, 0], 2, 1)

    def stepped(state: PolicyState) -> PolicyState:
        return linear_policy.step(policy, state, batch, np.random.default_rng(1))

    one, two = stepped(first), stepped(first)
    np.testing.assert_array_equal(one.theta_hat, two.theta_hat)
    assert not first.noise.vec.any()
    assert first.noise.nodes is not None
    assert not first.noise.nodes[0].any()


def test_an_indefinite_matrix_gives_no_bonus_in_simulations_and_programs_alike() -> None:
    """V = diag(1, -1): the second arm's squared length is -1, which both clip to 0, so the first arm wins."""
    features = np.array([[1.0, 0.0], [0.0, 1.0]])
    inverse = np.diag([1.0, -1.0])
    assert clipped_lengths(np.array([4.0, -4.0])).tolist() == [2.0, 0.0]
    known = np.zeros(5)
    assert optimistic_action(features[::-1], known, inverse=inverse, radius=1.0) == 1
    state = init(BatchedPolicy(batch_size=1, ridge=lambda t: 1.0, radius=lambda t: 1.0), 1, 2)
    assert choose(state._replace(inverse=inverse[None]), features[None, ::-1]).tolist() == [1]


class _Users:
    """The users of a program as an environment of one replicate, and what is played."""

    def __init__(self, features: Floats, ones: NDArray[np.int64]) -> None:
        self.features, self.ones, self.played = features, ones, list[int]()

    @property
    def shape(self) -> tuple[int, int, int]:
        return (1, *self.features.shape[1:])  # type: ignore[return-value]

    def play(
        self, choose: Callable[[Floats], NDArray[np.int64]], size: int, rng: np.random.Generator
    ) -> Batch:
        users = range(len(self.played), len(self.played) + size)
        arms = [int(choose(self.features[None, t])[0]) for t in users]
        self.played += arms
        x, ones = self.features[users, arms][None], self.ones[users, arms][None]
        return Batch(x, np.ones_like(ones), ones, np.zeros(1), np.zeros(1))


@pytest.mark.parametrize("size", [1, 3])
def test_the_program_under_audit_plays_what_the_simulation_plays(size: int) -> None:
    """Exact sums, new contexts in each round: Algorithm 1 under coins and ``simulate_batched`` agree, and
    another radius plays other arms."""
    rng = np.random.default_rng(17)
    features = rng.normal(size=(60, 5, 3))
    features *= rng.random((60, 5, 1)) / np.linalg.norm(features, axis=2, keepdims=True)
    ones = rng.integers(0, 2, size=(60, 5))
    rows = np.concatenate([features, ones[:, :, None]], axis=2)

    def played(radius: Callable[[float], float]) -> list[int]:
        counter = by_batches(lambda coins, batch: batch.sum(axis=0))
        program = BatchedLinUCB(counter=counter, dim=3, batch_size=size, ridge=1.0, radius=radius)
        sites = record(program, rows, rng=rng).sites
        return [site.value for site in sites if site.site == "action"]

    users = _Users(features, ones)
    policy = BatchedPolicy(batch_size=size, ridge=lambda t: 1.0, radius=_radius)
    simulate_batched(policy, users, name="users", horizon=60, seed=1)
    assert played(_radius) == users.played
    assert played(lambda t: 0.0) != users.played
