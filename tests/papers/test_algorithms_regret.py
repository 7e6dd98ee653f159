"""The regret engine: the reference numbers, and every fast simulator equal in distribution to a plain
loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from audits.private_online_learning.experiment_settings import EPSILONS, HORIZON, SETTINGS
from audits.private_online_learning.variants import VARIANTS
from benchmarks import plain_loops
from benchmarks import regret as benchmark
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.simulation import simulate, simulate_many
from dpaudit.suite.regret import checkpoint_grid, regret_curve
from tests.rates import FALSE_FAILURE_RATE

SIGMAS = float(stats.norm.isf(FALSE_FAILURE_RATE / 2))

#: Mean regret of 15 runs at T = 4 194 304 by an independent prototype, per setting and epsilon.
REFERENCE = {
    ("dp_se", 1): (11323, 11224, 11224, 11075, 11224, 11224, 10779),
    ("lazy_ucb", 1): (13127, 13107, 10486, 9503, 7755, 7209, 7209),
    ("dp_se", 2): (5575, 4273, 4273, 4108, 3694, 3611, 3777),
    ("lazy_ucb", 2): (8532, 5494, 3907, 2951, 2141, 2141, 2149),
}


def assert_same_mean(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> None:
    """Two samples' means agree within ``SIGMAS`` standard errors of their difference."""
    error = math.sqrt(left.var(ddof=1) / len(left) + right.var(ddof=1) / len(right))
    assert abs(left.mean() - right.mean()) <= SIGMAS * error + 1e-9


@pytest.mark.parametrize(("algorithm", "setting"), REFERENCE)
def test_the_paper_s_experiments_reproduce_the_reference_numbers(algorithm: str, setting: int) -> None:
    """All seven epsilons at the paper's horizon: 60 runs against the prototype's mean of 15."""
    results = simulate_many(
        VARIANTS[algorithm],
        [SETTINGS[setting]] * len(EPSILONS),
        epsilons=EPSILONS,
        horizon=HORIZON,
        runs=60,
        seed=np.random.SeedSequence(7).spawn(1)[0],
    )
    for result, reference in zip(results, REFERENCE[algorithm, setting], strict=True):
        runs = result.final
        # A prototype's mean of 15 has the standard error that our runs' spread gives it; DP-SE's regret is a
        # sum of whole epochs, so that a cell without spread has one value, printed rounded.
        error = math.sqrt(runs.var(ddof=1) * (1 / 15 + 1 / len(runs)))
        assert abs(runs.mean() - reference) <= SIGMAS * error + 1


def test_the_event_driven_distribution_at_a_short_horizon() -> None:
    """T = 20 000: the prototype's 662.0 ± 4.4 (setting 1, epsilon 8), 1483 ± 12 (setting 2, epsilon 1/2)."""
    for setting, epsilon, mean, error in ((1, "8", 662.0, 4.4), (2, "1/2", 1483.0, 12.0)):
        runs = simulate(
            VARIANTS["lazy_ucb"], SETTINGS[setting], epsilon=epsilon, horizon=20_000, runs=200, seed=8
        )
        assert abs(runs.mean - mean) <= SIGMAS * math.hypot(error, runs.standard_error)


def _plain_regret(name: str, means: tuple[float, ...], epsilon: float, horizon: int, seed: int) -> float:
    rng = np.random.default_rng([seed, 99])
    mean_list = list(means)
    uniforms = iter(rng.random(horizon))

    def pull(arm: int) -> float:
        return float(next(uniforms) < mean_list[arm])

    def noise(site: str, scale: float) -> float:
        return float(rng.laplace(scale=scale))

    def vector() -> list[float]:
        return [float(x) for x in rng.random(len(mean_list)) < means]

    loops: dict[str, Callable[[], list[int]]] = {
        "lazy_ucb": lambda: plain_loops.lazy_ucb(len(means), horizon, epsilon, pull, noise),
        "hybrid_ucb/printed": lambda: plain_loops.hybrid_ucb(len(means), horizon, epsilon, pull, noise),
        "hybrid_ucb/repaired": lambda: plain_loops.hybrid_ucb(
            len(means), horizon, epsilon, pull, noise, extra_level=1
        ),
        "ucb1": lambda: plain_loops.ucb1(len(means), horizon, pull),
        "dp_se": lambda: plain_loops.successive_elimination(
            len(means), horizon, epsilon, 1 / horizon, pull, noise
        ),
        "ftnl/printed": lambda: plain_loops.ftnl(horizon, 1 / epsilon, vector, noise),
        "ftnl/repaired": lambda: plain_loops.ftnl(horizon, 2 / epsilon, vector, noise),
        "naive_ftnl": lambda: plain_loops.ftnl(horizon, len(means) / epsilon, vector, noise),
        "ftl": lambda: plain_loops.ftnl(horizon, 0.0, vector, noise),
    }
    gaps = max(means) - np.array(means)
    return float(gaps[loops[name]()].sum())


@pytest.mark.parametrize(
    ("name", "epsilon", "horizon", "plain_runs"),
    [
        ("lazy_ucb", "1", 3000, 60),
        ("hybrid_ucb/printed", "64", 150, 150),
        ("hybrid_ucb/repaired", "64", 150, 150),
        ("ucb1", "1", 2000, 60),
        ("dp_se", "8", 30_000, 12),
        ("ftnl/printed", "1/4", 511, 150),
        ("ftnl/repaired", "1/4", 511, 150),
        ("naive_ftnl", "1/4", 511, 150),
        ("ftl", "1", 511, 150),
    ],
)
def test_simulators_agree_in_distribution_with_the_plain_loop(
    name: str, epsilon: str, horizon: int, plain_runs: int
) -> None:
    """Same mean regret as the per-round loop, on three arms with the best one last."""
    means = (0.3, 0.5, 0.8)
    fast = simulate(VARIANTS[name], means, epsilon=epsilon, horizon=horizon, runs=400, seed=9).final
    value = float(Fraction(epsilon))
    plain = np.array([_plain_regret(name, means, value, horizon, seed) for seed in range(plain_runs)])
    assert_same_mean(fast, plain)


@pytest.mark.parametrize("variant", ["printed", "repaired", "promoted"])
def test_the_round_by_round_engine_has_the_reference_s_distribution(variant: str) -> None:
    """Hybrid-UCB in arrays against the reference played run by run, at epsilon 64 where the noise decides."""
    name, means = f"hybrid_ucb/{variant}", (0.7, 0.5)
    fast = simulate(VARIANTS[name], means, epsilon=64, horizon=120, runs=3000, seed=10).final
    reference = replace(VARIANTS[name], engine="runs")
    slow = simulate(reference, means, epsilon=64, horizon=120, runs=80, seed=11).final
    assert_same_mean(fast, slow)


def test_curves_are_sums_of_gaps() -> None:
    """By brute force: the regret at every round, for one run and for replicates."""
    gaps = np.array([0.0, 0.25, 0.5])
    decisions = ((1, 3), (0, 2), (2, 4))
    every = regret_curve(decisions, gaps, np.arange(1, 10))
    np.testing.assert_allclose(every, np.cumsum(gaps[[1, 1, 1, 0, 0, 2, 2, 2, 2]]))
    epochs = ((np.array([0, 2]), 1), (np.array([1, 0]), 2))
    np.testing.assert_allclose(regret_curve(epochs, gaps, np.arange(1, 4)), [[0, 0.25, 0.5], [0.5, 0.5, 0.5]])


def test_a_curve_ends_where_its_pulls_do() -> None:
    """Curves never fall, and a checkpoint's regret is that of a horizon cut there."""
    runs = simulate(VARIANTS["lazy_ucb"], SETTINGS[2], epsilon=1, horizon=10_000, runs=5, seed=12)
    assert np.all(np.diff(runs.curves, axis=1) >= -1e-9)
    assert runs.checkpoints[0] == 1
    assert runs.checkpoints[-1] == 10_000
    shorter = simulate(VARIANTS["lazy_ucb"], SETTINGS[2], epsilon=1, horizon=100, runs=5, seed=12)
    whole = simulate(
        VARIANTS["lazy_ucb"],
        SETTINGS[2],
        epsilon=1,
        horizon=10_000,
        runs=5,
        seed=12,
        checkpoints=[100, 10_000],
    )
    np.testing.assert_allclose(whole.curves[:, 0], shorter.final)


@pytest.mark.parametrize("name", VARIANTS)
def test_equal_seeds_give_equal_results(name: str) -> None:
    """The whole result depends on the seed, and changes with it."""
    args = {"epsilon": 8, "horizon": 300, "runs": 4}
    first, again, other = (simulate(VARIANTS[name], (0.6, 0.4, 0.3), seed=seed, **args) for seed in (1, 1, 2))  # type: ignore[arg-type]
    np.testing.assert_array_equal(first.curves, again.curves)
    if name != "dp_se":  # whose first epoch is longer than this horizon
        assert not np.array_equal(first.curves, other.curves)


def test_a_table_of_instances_is_each_of_them() -> None:
    """Round-by-round engines take all instances at once; each keeps its own means and epsilon."""
    instances, epsilons = [(0.9, 0.1), (0.6, 0.5)], ["1000000", "1/10"]
    easy, hard = simulate_many(
        VARIANTS["hybrid_ucb/printed"], instances, epsilons=epsilons, horizon=600, runs=50, seed=3
    )
    for result, means, epsilon in ((easy, instances[0], epsilons[0]), (hard, instances[1], epsilons[1])):
        alone = simulate(
            VARIANTS["hybrid_ucb/printed"], means, epsilon=epsilon, horizon=600, runs=200, seed=4
        )
        assert_same_mean(result.final, alone.final)


def test_lazy_algorithms_reach_a_million_million_rounds() -> None:
    """T = 10^12: the regret grows by the ratio of the logarithms, within a factor of 2."""
    short = simulate(VARIANTS["lazy_ucb"], SETTINGS[2], epsilon=1, horizon=10**6, runs=40, seed=5)
    long = simulate(VARIANTS["lazy_ucb"], SETTINGS[2], epsilon=1, horizon=10**12, runs=40, seed=5)
    assert 1 < long.mean / short.mean < 4
    elimination = simulate(VARIANTS["dp_se"], SETTINGS[2], epsilon=1, horizon=10**12, runs=40, seed=5)
    assert elimination.checkpoints[-1] == 10**12


def test_settings_are_the_paper_s() -> None:
    """K = 5, T = 2 * 2^21, seven epsilons, three settings with the best mean 0.75."""
    assert HORIZON == 4_194_304
    assert len(EPSILONS) == 7
    assert all(len(means) == 5 and max(means) == means[0] == 0.75 for means in SETTINGS.values())


def test_benchmarks_time_every_simulator_beside_its_plain_loop(capsys: pytest.CaptureFixture[str]) -> None:
    """One line per simulator with the measured ratio; events beat rounds by a wide margin at T = 10^6."""
    benchmark.main(["--horizon", "1000000", "--rounds", "100", "--runs", "2", "--plain", "3000"])
    lines = capsys.readouterr().out.splitlines()[1:]
    ratios = {line.split()[0]: float(line.split()[-1]) for line in lines}
    assert set(ratios) == {"lazy_ucb", "dp_se", "ftnl/repaired", "hybrid_ucb/repaired", "ucb1"}
    assert ratios["lazy_ucb"] > 20


def test_the_tight_loop_plays_the_arms_of_the_plain_one() -> None:
    """The same rewards and noises, read in the same order."""

    def played(loop: Callable[..., list[int]]) -> list[int]:
        rewards, noises = np.random.default_rng(3), np.random.default_rng(4)
        means = SETTINGS[2]
        return loop(
            len(means),
            5000,
            1.0,
            lambda arm: float(rewards.random() < means[arm]),
            lambda site, scale: float(noises.laplace(scale=scale)),
        )

    assert played(plain_loops.lazy_ucb_tight) == played(plain_loops.lazy_ucb)


def test_wrong_arguments_are_refused() -> None:
    """Unknown names, NaN for epsilon, and grids that do not end at the horizon raise."""
    base: dict[str, Any] = {"epsilon": 1, "horizon": 100, "runs": 2, "seed": 1}
    for change, match in [
        ({"epsilon": float("nan")}, "finite"),
        ({"epsilon": 0}, "greater than 0"),
        ({"runs": 0}, "runs"),
        ({"checkpoints": [5, 3, 100]}, "checkpoints must increase"),
        ({"checkpoints": [50]}, "end at the horizon"),
        ({"horizon": 0}, "horizon"),
    ]:
        arguments = {"algorithm": VARIANTS["lazy_ucb"], "means": (0.5, 0.4), **base, **change}
        with pytest.raises(InvalidParameterError, match=match):
            simulate(**arguments)
    assert checkpoint_grid(1).tolist() == [1]
    with pytest.raises(InvalidParameterError, match="equally many arms"):
        simulate_many(VARIANTS["ucb1"], [(0.5, 0.4), (0.5,)], epsilons=[1, 1], horizon=10, runs=1, seed=1)
