"""The simulator of many runs in step against the per-user program, exact distributions, and the reference
numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from audits.distributed_mab.experiment_settings import (
    COMPETITORS,
    FIGURES,
    diamond_arms,
    figure_table,
    instances,
)
from benchmarks import distributed
from benchmarks.rebuild_diamonds import merged_labels, reward_counts
from dpaudit.blackbox.statistics import fit_log_wealth
from dpaudit.coins import Sampler
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import Categorical
from dpaudit.reference.algorithms.mab.batched_elimination import NoiseTail
from dpaudit.reference.algorithms.mab.distributed_elimination import NAMES, Variant, strategy, variant
from dpaudit.reference.algorithms.mab.distributed_regret import (
    noisy_sums,
    simulate_baseline,
    simulate_variant,
)
from dpaudit.reference.algorithms.mab.reward_models import (
    ClippedGaussians,
    RewardLevels,
    RewardModel,
    SimulatedArms,
    bernoulli_arms,
)
from dpaudit.reference.algorithms.play import play
from tests.rates import FALSE_FAILURE_RATE

THRESHOLD = -math.log(FALSE_FAILURE_RATE)


def sums_distribution(chances: Any, users: int) -> Categorical:
    """The exact distribution (in floats) of the sum of ``users`` independent integers 0..g with these
    chances."""
    total = np.ones(1)
    for _ in range(users):
        total = np.convolve(total, chances)
    return Categorical.of_floats(np.maximum(total, 0))


# Reward models.


@pytest.mark.parametrize("location", [-0.1, 0.0, 0.25, 0.5, 0.98, 1.2])
@pytest.mark.parametrize("precision", [1, 3, 40, 79, 81, 500])
def test_encoding_probabilities_are_the_hat_integrals(location: float, precision: int) -> None:
    """P(x̂ = k) against adaptive quadrature of density times hat; their mean is g times the exact mean."""
    model = ClippedGaussians([[location]], deviation=0.1)
    chances = model.encoding_probabilities(np.array([location]), precision)[0]
    distribution = stats.norm(location, 0.1)
    for k in {0, 1, precision // 4, precision // 2, precision - 1, precision}:
        low, high = max(0.0, (k - 1) / precision), min(1.0, (k + 1) / precision)
        value = integrate.quad(
            lambda x, k=k: distribution.pdf(x) * (1 - abs(x * precision - k)),
            low,
            high,
            points=[k / precision, min(max(location, low), high)],
            limit=200,
        )[0]
        value += distribution.cdf(0) * (k == 0) + distribution.sf(1) * (k == precision)
        assert chances[k] == pytest.approx(value, rel=1e-7, abs=1e-13)
    assert chances @ np.arange(precision + 1) == pytest.approx(precision * model.means[0, 0], rel=1e-9)


MODELS: dict[str, RewardModel] = {
    "clipped, middle": ClippedGaussians([[0.5, 0.3]], deviation=0.2),
    "clipped, edge": ClippedGaussians([[0.05, 1.1]], deviation=0.1),
    "levels": RewardLevels([0, "1/4", "1/2", 1], [[[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]]]),
    "bernoulli": bernoulli_arms([[0.2, 1.0]]),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_short_cut_and_the_users_draw_the_same_sums(name: str) -> None:
    """Σ x̂ of 12 users at g = 3, by multinomial counts and user by user, fit the exact convolution; the
    distribution of 16 users does not."""
    model, precision, users, size = MODELS[name], 3, 12, 3000
    rng = np.random.default_rng(8)
    for arm in range(2):
        cells = np.array([[arm == 0, arm == 1]])
        rounded = [_encodings(model, rng, (0, arm), users, precision).sum() for _ in range(size)]
        short = np.concatenate(
            [model.encoded_sums(rng, cells, users=users, precision=precision) for _ in range(size)]
        )
        chances = _chances(model, arm, precision)
        for draws in (np.array(rounded), short):
            distribution, wrong = sums_distribution(chances, users), sums_distribution(chances, users + 4)
            assert fit_log_wealth(draws, distribution, rng=rng).total.max() < THRESHOLD
            assert fit_log_wealth(draws, wrong, rng=rng).total.max() > THRESHOLD


def _encodings(
    model: RewardModel, rng: np.random.Generator, cell: tuple[int, int], users: int, precision: int
) -> Any:
    scaled = model.draw(rng, cell, users) * precision
    return np.floor(scaled) + (rng.random(users) < scaled - np.floor(scaled))


def _chances(model: RewardModel, arm: int, precision: int) -> Any:
    if isinstance(model, ClippedGaussians):
        return model.encoding_probabilities(model.locations[0, arm : arm + 1], precision)[0]
    assert isinstance(model, RewardLevels)
    chances = np.zeros(precision + 2)
    for level, p in zip(model.levels, model.chances[0, arm], strict=True):
        whole = int(level * precision)
        rest = float(level * precision - whole)
        chances[whole] += p * (1 - rest)
        chances[whole + 1] += p * rest
    return chances[: precision + 1]


@pytest.mark.parametrize("name", MODELS)
def test_a_simulated_batch_agrees_with_itself(name: str) -> None:
    """The sum that is read is the sum of the values that are read, in either order, and rewards are in
    [0, 1] with the model's mean."""
    model = MODELS[name]
    arms = SimulatedArms(model, run=0, seed=np.random.SeedSequence(3), horizon=60_000)
    for arm in (0, 1):
        first, second = arms.pull(arm, 10_000), arms.pull(arm, 5)
        total, values = first.sum(), first.values()
        assert total == pytest.approx(values.sum(), rel=1e-12)
        assert second.values().sum() == pytest.approx(second.sum(), rel=1e-12)
        assert values.min() >= 0
        assert values.max() <= 1
        assert abs(values.mean() - model.means[0, arm]) < 6 * (values.std() + 1e-3) / math.sqrt(10_000)
        assert first.rounds.stop == second.rounds.start


def test_models_refuse_what_is_no_distribution() -> None:
    """Shapes, negative chances and deviations are refused with what was received."""
    with pytest.raises(InvalidParameterError, match="locations must have shape"):
        ClippedGaussians([0.5], deviation=0.1)
    with pytest.raises(InvalidParameterError, match="deviation"):
        ClippedGaussians([[0.5]], deviation=0.0)
    with pytest.raises(InvalidParameterError, match="rows that sum to 1"):
        RewardLevels([0, 1], [[[0.5, 0.6]]])
    with pytest.raises(InvalidParameterError, match="environment must be one of"):
        instances("medium")
    with pytest.raises(InvalidParameterError, match="figure must be one of"):
        figure_table(1, seed=1)


# Simulator against program.


@pytest.mark.parametrize("name", NAMES)
def test_decoded_sums_of_the_simulator_fit_the_protocols_distribution(name: str) -> None:
    """4000 batches of constant encodings: residues fit the distribution of the per-user aggregate (wrapped),
    both for a margin that is never left and for one that often is."""
    rng = np.random.default_rng(6)
    for p in ("1", "1/1000"):
        chosen = variant(name, epsilon=1, failure_prob=p)
        sheet = chosen.sheet(4)
        sums = noisy_sums(sheet, np.full(4000, 3), rng)
        residues = np.round(sums * sheet.precision).astype(np.int64) % sheet.modulus
        if name == "dist_cdp_se":
            window = np.exp(sheet.share.logp(np.arange(-40, 41)))
            total = window
            for _ in range(3):
                total = np.convolve(total, window)
            folded = np.zeros(sheet.modulus)
            np.add.at(folded, (np.arange(len(total)) - 160 + 3) % sheet.modulus, total)
            distribution: Any = Categorical.of_floats(folded)
        else:
            distribution = sheet.aggregate_distribution(3)
        assert fit_log_wealth(residues, distribution, rng=rng).total.max() < THRESHOLD


def per_user_regret(chosen: Variant, model: RewardModel, horizon: int, runs: int, seed: int) -> Any:
    """Final pseudo-regret of ``runs`` runs of the program, user by user."""
    gaps = model.means[0].max() - model.means[0]
    regret = []
    for own in np.random.SeedSequence(seed).spawn(runs):
        rewards, noise = own.spawn(2)
        arms = SimulatedArms(model, run=0, seed=rewards, horizon=horizon)
        coins = Sampler(np.random.default_rng(noise), per_user=True)
        regret.append(sum(gaps[arm] * n for arm, n in play(strategy(chosen), coins, arms)))
    return np.array(regret)


@pytest.mark.parametrize("name", ["dist_dp_se", "dist_rdp_se", "dist_cdp_se", "ldp_se"])
def test_simulated_regret_has_the_distribution_of_the_per_user_program(name: str) -> None:
    """The regret of 80 runs of the program fits its distribution over 10 000 simulated runs, and not the
    one at four times the ε. The radius is the sampling part alone, so that noise decides many runs."""
    horizon, locations = 70, [[0.8, 0.2]]
    chosen, other = (
        replace(variant(name, epsilon=epsilon, failure_prob="1/10"), tail=lambda length: NoiseTail(0, 0))
        for epsilon in ("1/4", "1")
    )
    copies = ClippedGaussians(np.repeat(locations, 10_000, axis=0), deviation=0.3)
    right, wrong = (
        np.round(simulate_variant(item, copies, horizon=horizon, seed=2, points=2).final, 6)
        for item in (chosen, other)
    )
    slow = np.round(
        per_user_regret(chosen, ClippedGaussians(locations, deviation=0.3), horizon, 80, seed=1), 6
    )
    values = np.unique(np.concatenate([right, wrong, slow]))
    assert len(np.unique(slow)) > 3
    rng, draws = np.random.default_rng(3), np.searchsorted(values, slow)
    for simulated, fits in ((right, True), (wrong, False)):
        counts = np.bincount(np.searchsorted(values, simulated), minlength=len(values))
        distribution = Categorical.of_floats(counts + 0.5)
        assert bool(fit_log_wealth(draws, distribution, rng=rng).total.max() < THRESHOLD) == fits


def test_every_run_ends_at_the_horizon_and_repeats() -> None:
    """Pulls add up to T whatever T cuts; equal seeds give equal curves; regret never falls."""
    model = bernoulli_arms(np.tile([0.8, 0.5, 0.2], (6, 1)))
    chosen = variant("dist_dp_se", epsilon=4, failure_prob="1/10")
    for horizon in (1, 2, 3, 7, 100, 5000):
        runs = simulate_variant(chosen, model, horizon=horizon, seed=3)
        again = simulate_variant(chosen, model, horizon=horizon, seed=3)
        np.testing.assert_array_equal(runs.curves, again.curves)
        assert np.all(np.diff(runs.curves, axis=1) >= -1e-9)
        assert np.all(runs.final <= 0.6 * horizon + 1e-9)
    equal = simulate_variant(chosen, bernoulli_arms([[0.5, 0.5]]), horizon=10**6, seed=3)
    assert equal.final == pytest.approx([0.0], abs=1e-6)
    with pytest.raises(InvalidParameterError, match="horizon must be at least 1"):
        simulate_variant(chosen, model, horizon=0, seed=1)


def test_a_horizon_of_a_trillion_costs_its_batches() -> None:
    """2^40 rounds with Bernoulli arms: regret per arm of the order of log T / gap, in well under a second."""
    model = bernoulli_arms(np.tile([0.6, 0.5], (10, 1)))
    chosen = variant("dist_dp_se", epsilon=1, failure_prob=Fraction(1, 2**40))
    final = simulate_variant(chosen, model, horizon=2**40, seed=1).final
    shape = math.log(2**40) / 0.1
    assert np.all(final < 72 * shape)
    assert np.all(final > shape)


# The experiments.

#: Reg(T)/T in units of 1e-5 with its standard error, easy instances, by independent prototypes.
REFERENCE = {
    ("dp_se", "0.1"): (684, 34),
    ("dp_se", "0.5"): (388, 34),
    ("dp_se", "1"): (371, 31),
    ("dist_dp_se", "0.1"): (1345, 47),
    ("dist_dp_se", "0.5"): (573, 35),
    ("dist_dp_se", "1"): (434, 33),
    ("dist_rdp_se(s=10)", "0.1"): (917, 45),
    ("dist_rdp_se(s=10)", "0.5"): (472, 33),
    ("dist_rdp_se(s=10)", "1"): (394, 34),
    ("dist_rdp_se(s=100)", "0.1"): (830, 45),
    ("dist_rdp_se(s=100)", "0.5"): (428, 33),
    ("dist_rdp_se(s=100)", "1"): (387, 30),
}


def test_figure_2_gives_the_reference_numbers() -> None:
    """All twelve curves within three standard errors of both sides, and the paper's order at every ε."""
    found = figure_table(2, seed=1)
    assert found.keys() == REFERENCE.keys()
    for key, (mean, error) in REFERENCE.items():
        ours, own = found[key].mean / 10, found[key].standard_error / 10
        assert abs(ours - mean) < 3 * math.hypot(error, own), key
    for epsilon in ("0.1", "0.5"):
        order = [found[c.label, epsilon].mean for c in (COMPETITORS[0], *reversed(COMPETITORS[1:]))]
        assert order == sorted(order)


def test_figure_3_gives_the_reference_numbers_of_the_distributed_curve() -> None:
    """Hard instances, T = 10^7: 292 ± 18 and 180 ± 16 for Dist-DP-SE at ε = 0.1 and 1."""
    for epsilon, mean, error in (("0.1", 292, 18), ("1", 180, 16)):
        chosen = variant("dist_dp_se", epsilon=epsilon, failure_prob="0.1")
        runs = simulate_variant(chosen, instances("hard"), horizon=10**7, growth=4, seed=1)
        assert abs(runs.mean / 100 - mean) < 3 * math.hypot(error, runs.standard_error / 100)


def test_figure_4_has_the_papers_order() -> None:
    """Local is far worse than all others, central and distributed pure agree, Rényi is better than pure,
    concentrated better than Rényi: one tenth of the horizon, ε = 0.1."""
    found = figure_table(4, seed=1, horizon=10**6)
    mean = {label: runs.mean for (label, epsilon), runs in found.items() if epsilon == "0.1"}
    assert mean["ldp_se"] > 5 * mean["dist_dp_se"]
    assert mean["cdp_se"] == pytest.approx(mean["dist_dp_se"], rel=0.1)
    assert mean["dist_dp_se"] > mean["dist_rdp_se(s=10)"] > mean["dist_cdp_se(s=10)"]
    assert set(FIGURES) == {2, 3, 4, 5}


def test_the_diamond_table_is_the_construction_that_it_says() -> None:
    """All 53 940 rows, no cluster below 100, five grades, clusters by falling mean, a gap of about 0.01."""
    model = diamond_arms(runs=2)
    assert model.means.shape == (2, model.chances.shape[1])
    assert 40 <= model.chances.shape[1] <= 50
    assert np.all(np.diff(model.means[0]) <= 0)
    assert 0.005 < model.means[0, 0] - model.means[0, 1] < 0.02
    assert model.levels == [Fraction(grade, 4) for grade in range(5)]
    assert model.means.min() > 0


def test_small_clusters_join_the_nearest_large_one() -> None:
    """The script's two steps on a table that can be checked by eye."""
    labels = [0, 0, 0, 1, 2, 2, 2, 2]
    joined = merged_labels(labels, [[0.0, 0.0], [0.9, 0.0], [1.0, 0.0]], smallest=2)
    assert joined.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert reward_counts([0, 0, 1], [0, 1, 2], levels=3) == [[0, 0, 1], [1, 1, 0]]


def test_the_baseline_meets_its_reference_on_instances_of_its_own() -> None:
    """Equal seeds repeat; curves end at the horizon's regret."""
    model = instances("easy", runs=3)
    first, second = (
        simulate_baseline(model, epsilon="1", failure_prob="0.1", horizon=10**5, seed=4) for _ in range(2)
    )
    np.testing.assert_array_equal(first.curves, second.curves)
    assert first.curves.shape == (3, len(first.checkpoints))
    assert np.all(first.final > 0)


def test_the_benchmark_measures_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    """A small benchmark prints the figure's table and a ratio far above 1."""
    distributed.main(["--figures", "5", "--runs", "2", "--plain", "3000"])
    out = capsys.readouterr().out
    assert "figure 5 (diamonds" in out
    assert float(out.rsplit("ratio", 1)[1]) > 20
