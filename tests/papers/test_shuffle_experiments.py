"""The shuffle paper's experiments: the code's noise, reference regrets, orders, figures."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from audits.shuffle_linear_bandits.coded_policies import CodedTreeNoise, coded_binomial, coded_policy
from audits.shuffle_linear_bandits.experiment_figures import PANELS
from audits.shuffle_linear_bandits.experiment_orders import between, compared, fading, nearer
from audits.shuffle_linear_bandits.experiment_settings import figure_table, instances
from audits.shuffle_linear_bandits.theorem_policies import theorem_policy
from benchmarks import contextual, figures
from benchmarks.shuffle_figures import SHUFFLED_FIGURES, regenerate_shuffled
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual.aggregate_noise import BinomialNoise, GaussianNoise
from dpaudit.reference.algorithms.contextual.environments import Batch
from dpaudit.reference.algorithms.contextual.simulated_regret import LinearRuns
from dpaudit.suite.regret import RegretRuns

KNOWN = {"dim": 5, "horizon": 20_000, "batch_size": 20, "delta": 0.1}


def _batch(runs: int) -> Batch:
    one = np.ones((runs, 1), dtype=np.int64)
    return Batch(np.zeros((runs, 1, 2)), one, one, np.zeros(runs), np.zeros(runs))


def test_the_codes_tree_adds_a_draw_where_the_logarithm_does() -> None:
    """After t rounds floor(log(1 + t)) + 1 draws are in, never more than floor(log T) + 1: counted by
    changes, and by the variance of the last sum."""
    noise = CodedTreeNoise(std=np.full(4000, 2.0), horizon=60)
    state, changes = noise.init(4000, 2), []
    rng = np.random.default_rng(1)
    for t in range(1, 61):
        before = state.vec
        state = noise.step(state, _batch(4000), rng)
        if not np.array_equal(before, state.vec):
            changes.append(t)
    assert changes == [1, *(math.ceil(math.e**k - 1) for k in (1, 2, 3, 4))]
    variance = float(state.vec.var()) / (4 * (math.floor(math.log(60)) + 1))
    assert abs(variance - 1) < 5 * math.sqrt(2 / 8000)
    assert float(state.mat[:, 0, 1].var() / state.mat[:, 0, 0].var()) == pytest.approx(0.5, rel=0.2)


def test_the_codes_binomials_are_truncated_in_the_draw_only() -> None:
    """b at ε = 1, d = 5: 612.2 in the analyzer, 612 in the draw, so that sums are off by p times the rest."""
    noise = coded_binomial(epsilon=1.0, dim=5, batch_size=20, delta=0.1)
    wanted = 10 * 80 * math.log(50) ** 2 / 20
    assert noise.debias_trials == pytest.approx(wanted)
    assert noise.trials == 612
    assert noise.precision == pytest.approx(2 * math.sqrt(20))
    mild = coded_binomial(epsilon=0.2, dim=5, batch_size=20, delta=0.1)
    assert mild.debias_trials == pytest.approx(wanted / 10 / 0.04)
    drawn = noise.step(noise.init(40_000, 2), _batch(40_000), np.random.default_rng(2))
    unit = math.sqrt(2) / noise.precision
    bias, spread = -0.25 * (wanted - 612) * unit, math.sqrt(612 * 3 / 16) * unit
    assert abs(drawn.vec.mean() - bias) < 5 * spread / math.sqrt(drawn.vec.size)


def test_the_codes_ridge_and_radius_are_its_formulas() -> None:
    """P_Amp and LDP at ε = 1, worked out by hand; a wrong name and two ε for P_Vec are refused."""
    policy = coded_policy("sdp_amp", np.array([1.0]), **KNOWN)  # type: ignore[arg-type]
    std = math.sqrt(math.log(500) / 20)
    gamma = std * math.sqrt(100_000)
    inside = (1 + 40_000 / gamma) * 20_000
    assert isinstance(policy.noise, GaussianNoise)
    assert policy.noise.std_vec == pytest.approx(std)
    assert policy.ridge(0) == pytest.approx(2 * gamma)
    assert policy.radius(0) == pytest.approx(math.sqrt(5 * gamma) + 0.5 * math.sqrt(5 * math.log(inside)))
    local = coded_policy("ldp", np.array([1.0, 0.5]), **KNOWN)  # type: ignore[arg-type]
    assert isinstance(local.noise, GaussianNoise)
    np.testing.assert_allclose(local.noise.std_mat, math.sqrt(math.log(25)) * np.array([1, 2]))
    for make in (coded_policy, theorem_policy):
        with pytest.raises(InvalidParameterError, match="algorithm must be"):
            make("sdp_vec", np.array([1.0, 2.0]), **KNOWN)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameterError, match="algorithm must be"):
            make("other", np.array([1.0]), **KNOWN)  # type: ignore[arg-type]


def test_theorem_policies_take_the_theorems_noise() -> None:
    """Known values at B = 20, δ = 0.1, d = 5: σ_1 of Theorem B.1, g and b of C.1; λ = 2 Σ_N."""
    policy = theorem_policy("sdp_amp", np.array([0.2]), **KNOWN)  # type: ignore[arg-type]
    assert isinstance(policy.noise, GaussianNoise)
    assert policy.noise.std_vec == pytest.approx(27.289047)
    norm = 2 * 27.289047 * math.sqrt(20_000) * (math.sqrt(5) + math.sqrt(math.log(2 * 1000 * 20_000)))
    assert policy.ridge(0) == pytest.approx(2 * norm)
    vector = theorem_policy("sdp_vec", np.array([0.2]), **KNOWN)  # type: ignore[arg-type]
    assert isinstance(vector.noise, BinomialNoise)
    assert (vector.noise.precision, vector.noise.trials) == (9, 1172729554)


@pytest.mark.parametrize(
    ("algorithm", "epsilon", "mean", "error"),
    [("sdp_amp", "1", 2816, 46), ("sdp_amp", "10", 1203, 29), ("sdp_vec", "0.2", 4453, 371)],
)
def test_regrets_are_those_of_the_authors_code(
    algorithm: str, epsilon: str, mean: float, error: float
) -> None:
    """Within four standard errors of what runs of the public code gave at T = 20000; half of it is not."""
    found = figure_table("authors_code", dim=5, epsilons=(epsilon,), seed=3, runs=40, algorithms=[algorithm])[
        algorithm, epsilon
    ]
    for runs in (found.pseudo, found.realised):
        assert abs(runs.mean - mean) < 4 * math.hypot(runs.standard_error, error)
        assert abs(runs.mean / 2 - mean) > 4 * math.hypot(runs.standard_error, error)


def test_a_curve_is_the_same_whoever_asks() -> None:
    """Instances and algorithms have seeds of their own; LinUCB stands under each ε; the arms are shared."""
    kept = {"dim": 3, "epsilons": ("0.2", "1"), "seed": 4, "runs": 3, "horizon": 200}
    alone = figure_table("theorem", algorithms=["ldp"], **kept)  # type: ignore[arg-type]
    together = figure_table("theorem", **kept)  # type: ignore[arg-type]
    for epsilon in ("0.2", "1"):
        np.testing.assert_array_equal(
            alone["ldp", epsilon].pseudo.curves, together["ldp", epsilon].pseudo.curves
        )
    assert together["linucb", "0.2"] is together["linucb", "1"]
    assert len(together) == 10
    with pytest.raises(InvalidParameterError, match="profile must be one of"):
        instances("other", runs=1, dim=3, rng=np.random.default_rng(0))


def _runs(mean: float, *, spread: float = 1.0, seed: int = 0) -> LinearRuns:
    drawn = mean + spread * np.random.default_rng(seed).normal(size=(40, 1))
    runs = RegretRuns("x", np.array([100]), drawn)
    return LinearRuns(runs, runs, np.zeros(40, dtype=np.int64))


def test_orders_are_seen_where_they_are_and_refuted_where_not() -> None:
    """A gap of many standard errors decides either way, a small one neither; ties are named."""
    curves = {
        ("jdp", "1"): _runs(50, seed=1),
        ("ldp", "1"): _runs(60, seed=2),
        ("sdp_amp", "1"): _runs(60, seed=3),
    }
    right = compared(curves, between("1", low=["jdp"], middle=["ldp"]), alpha=0.001)
    wrong = compared(curves, between("1", low=["ldp"], middle=["jdp"]), alpha=0.001)
    tie = compared(curves, between("1", low=["ldp"], middle=["sdp_amp"]), alpha=0.001)
    assert right.high is not None
    assert right.high < 0
    assert wrong.low is not None
    assert wrong.low > 0
    assert tie.low is not None
    assert tie.high is not None
    assert tie.low < 0 < tie.high
    assert "a tie" in tie.scope
    assert "a tie" not in right.scope
    both = compared(curves, between("1", low=["jdp"], middle=["ldp"], high=["jdp"]), alpha=0.001)
    assert both.low is not None
    assert both.low > 0


def test_sentences_are_the_pairs_that_they_name() -> None:
    """Two steps of ε in a row, one from end to end."""
    assert nearer(["ldp"]) == [(("ldp", "1"), ("ldp", "0.2")), (("ldp", "10"), ("ldp", "1"))]
    assert fading(["jdp"]) == [(("jdp", "10"), ("jdp", "0.2"))]


def test_figures_are_written(tmp_path: Path) -> None:
    """Both profiles, five panels each at a small size: curves, tables with errors, one line a curve."""
    names = ["1b", "1b-theorem"]
    main = ["--paper", "shuffle_linear_bandits", "--figures", *names, "--horizon", "200", "--runs", "2"]
    figures.main([str(tmp_path), *main])
    data = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert sorted(data) == names
    assert next(line["name"] for line in data["1b"]["series"]) == "LinUCB"
    assert "±" in (tmp_path / "figures.html").read_text(encoding="utf-8")
    assert len((tmp_path / "numbers.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * 5 * 3
    assert len(SHUFFLED_FIGURES) == 2 * len(PANELS)
    with pytest.raises(InvalidParameterError, match="figures must be among"):
        regenerate_shuffled(["3"], horizon=None, runs=None)


def test_the_benchmark_plays_both_sides() -> None:
    """At a small size all four are timed and the pseudo-code's loop is the slowest."""
    found = contextual.measure(horizon=200, runs=10, plain_rounds=40)
    assert found.plain_rounds == 40
    assert found.plain_seconds > found.seconds > 0
    assert found.array_seconds > 0
    assert found.batched_seconds > 0
