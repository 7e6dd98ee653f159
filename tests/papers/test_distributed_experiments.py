"""The experiments of the distributed paper: fast sums, charged caps, the reference table, the figures."""

from __future__ import annotations

import csv
import json
import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest
from scipy import integrate, stats

from audits.distributed_mab.experiment_figures import regret_table
from audits.distributed_mab.experiment_runs import Cell, corner_arms, regrets
from audits.distributed_mab.experiment_settings import (
    COMPETITORS,
    FIGURES,
    figure_table,
    instances,
)
from benchmarks import figures
from dpaudit.blackbox.statistics import fit_log_wealth, uniform_log_wealth
from dpaudit.coins import Sampler
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.plots import read_plot
from dpaudit.core.suite import Run
from dpaudit.distributions import Categorical
from dpaudit.reference.algorithms.mab import clipped_sums, successive_elimination
from dpaudit.reference.algorithms.mab.competitors import simulated
from dpaudit.reference.algorithms.mab.distributed_elimination import variant
from dpaudit.reference.algorithms.mab.distributed_regret import simulate_baseline
from dpaudit.reference.algorithms.mab.reward_models import (
    ClippedGaussians,
    SimulatedArms,
    bernoulli_arms,
)
from dpaudit.reference.algorithms.play import play
from dpaudit.suite.regret import Cut, combination_interval, regret_frame, summary
from tests.rates import FALSE_FAILURE_RATE

THRESHOLD = -math.log(FALSE_FAILURE_RATE)
SIGMAS = float(stats.norm.isf(FALSE_FAILURE_RATE / 2))
LOCATIONS = np.array([-0.05, 0.3, 0.5, 0.97])


# Fast sums of clipped Gaussians.


@pytest.mark.parametrize("digits", [0, 1, 2])
def test_block_sums_of_encodings_fit_the_exact_convolution(digits: int) -> None:
    """14 users at g = 13, also where blocks leave a rest of [0, 1]; the distribution of 16 users does not
    fit."""
    deviation, precision, users, size = 0.2, 13, 14, 3000
    rng = np.random.default_rng(5)
    for location in LOCATIONS:
        chances = ClippedGaussians([[0.5]], deviation=deviation).encoding_probabilities(
            np.array([location]), precision
        )[0]
        draws = clipped_sums.encoded_block_sums(
            rng, np.full(size, location), deviation, users=users, precision=precision, digits=digits
        )
        total, wealth = np.ones(1), []
        for count in range(1, users + 3):
            total = np.convolve(total, chances)
            if count in (users, users + 2):
                distribution = Categorical.of_floats(np.maximum(total, 0))
                wealth.append(fit_log_wealth(draws, distribution, rng=rng).total.max())
        assert wealth[0] < THRESHOLD < wealth[1]


@pytest.mark.parametrize("blocks", [1, 3, 20])
def test_block_sums_of_one_user_have_the_clipped_distribution(blocks: int) -> None:
    """The distribution function, randomised on the atoms, is uniform; that of another deviation is not."""
    rng = np.random.default_rng(6)
    size = 4000
    for location in LOCATIONS:
        x = clipped_sums.reward_sums(rng, np.full(size, location), 0.2, users=1, blocks=blocks)
        assert ((x >= 0) & (x <= 1)).all()
        for deviation, fits in ((0.2, True), (0.25, False)):
            distribution = stats.norm(location, deviation)
            below = np.where(x == 0, 0.0, distribution.cdf(x))
            above = np.where(x == 1, 1.0, distribution.cdf(x))
            uniform = below + (above - below) * rng.random(size)
            assert bool(uniform_log_wealth(uniform).max() < THRESHOLD) == fits


def test_block_sums_of_many_users_have_the_right_spread() -> None:
    """Mean and variance of 300 users' sums: users on a constant do not share their digits."""
    size, users = 20_000, 300
    rng = np.random.default_rng(7)
    for location in LOCATIONS:
        distribution = stats.norm(location, 0.1)
        moments = [
            integrate.quad(
                lambda x, k=k, distribution=distribution: x**k * distribution.pdf(x),
                0,
                1,
                points=[min(max(location, 0), 1)],
            )[0]
            + distribution.sf(1)
            for k in (1, 2)
        ]
        variance = users * (moments[1] - moments[0] ** 2)
        sums = clipped_sums.reward_sums(rng, np.full(size, location), 0.1, users=users, blocks=60)
        assert abs(sums.mean() - users * moments[0]) < SIGMAS * math.sqrt(variance / size)
        assert abs(sums.var() / variance - 1) < SIGMAS * math.sqrt(2.5 / size)


def test_the_model_takes_the_fast_route_for_large_batches() -> None:
    """65536 users at g = 2560 and as plain sums: both have the mean and the spread of their users."""
    model = ClippedGaussians(np.full((400, 1), 0.4), deviation=0.1)
    rng = np.random.default_rng(8)
    cells = np.ones((400, 1), dtype=bool)
    users = 65536
    assert clipped_sums.best_blocks(users, 0.1) > 0
    assert clipped_sums.best_blocks(200, 0.1) == 0
    for sums in (
        model.encoded_sums(rng, cells, users=users, precision=2560) / 2560,
        model.reward_sums(rng, cells, users=users),
    ):
        spread = 0.1 * math.sqrt(users)
        assert abs(sums.mean() - users * model.means[0, 0]) < SIGMAS * spread / math.sqrt(400)
        assert 0.7 < sums.std() / spread < 1.4


def test_the_baseline_in_step_has_the_distribution_of_its_strategy() -> None:
    """Regret of 60 runs through the coins fits that of 4000 runs in step, and not that at another ε. Rewards
    are 0 or 1, so that the noise and the draws decide in which epoch an arm goes."""
    means, horizon = [0.8, 0.6, 0.35], 60_000
    gaps = max(means) - np.array(means)
    slow = []
    for own in np.random.SeedSequence(3).spawn(60):
        rewards, noise = own.spawn(2)
        arms = SimulatedArms(bernoulli_arms([means]), run=0, seed=rewards, horizon=horizon)
        strategy = successive_elimination.strategy(epsilon="1/50", failure_probability="0.1")
        decisions = play(strategy, Sampler(np.random.default_rng(noise)), arms)
        slow.append(sum(gaps[arm] * count for arm, count in decisions))
    copies = bernoulli_arms(np.tile(means, (4000, 1)))
    fast = {
        epsilon: simulate_baseline(copies, epsilon=epsilon, failure_prob="0.1", horizon=horizon, seed=2).final
        for epsilon in ("1/50", "1/40")
    }
    values = np.unique(np.round(np.concatenate([slow, *fast.values()]), 6))
    rng = np.random.default_rng(4)
    draws = np.searchsorted(values, np.round(slow, 6))
    assert len(np.unique(draws)) > 1
    for epsilon, final in fast.items():
        counts = np.bincount(np.searchsorted(values, np.round(final, 6)), minlength=len(values))
        wealth = fit_log_wealth(draws, Categorical.of_floats(counts + 0.5), rng=rng).total.max()
        assert bool(wealth < THRESHOLD) == (epsilon == "1/50")


# The cost of a cap.


def test_combination_bounds_hold_and_add_the_excess() -> None:
    """E A - 2 E B for known means: inside the bounds; a cap that cuts a tenth of A moves only the side that
    its excess pays for."""
    rng = np.random.default_rng(13)
    a, b = rng.random(4000), rng.random(4000) / 2
    whole = [(1.0, a, Cut(1.0, 0.0, ())), (-2.0, b, Cut(0.5, 0.0, ()))]
    low, high = combination_interval(whole, alpha=FALSE_FAILURE_RATE)
    assert low < 0.5 - 2 * 0.25 < high
    assert high - low < 0.2
    cut = [(1.0, a, Cut(0.9, 0.1, ())), (-2.0, b, Cut(0.5, 0.03, ()))]
    lower, upper = combination_interval(cut, alpha=FALSE_FAILURE_RATE)
    bare = combination_interval([(c, v, Cut(k.cap, 0.0, ())) for c, v, k in cut], alpha=FALSE_FAILURE_RATE)
    assert lower == pytest.approx(bare[0] - 2 * 0.03)
    assert upper == pytest.approx(bare[1] + 0.1)


def test_runs_of_a_comparison_share_their_instances() -> None:
    """Run r plays the same instance in every cell: regrets of two algorithms correlate over runs, and equal
    seeds repeat."""
    run = Run(profile="quick", alpha=0.01, seed=0, row_id="any")
    one, two = (
        regrets(run, Cell("easy", competitor, "1", 10**5), runs=60) for competitor in COMPETITORS[1:3]
    )
    assert np.corrcoef(one, two)[0, 1] > 0.5
    other = Run(profile="quick", alpha=0.01, seed=0, row_id="another")
    np.testing.assert_array_equal(one, regrets(other, Cell("easy", COMPETITORS[1], "1", 10**5), runs=60))


def test_the_ratio_to_the_baseline_does_not_fall_with_the_horizon() -> None:
    """Easy instances, ε = 0.1: Dist-DP-SE's mean regret is about twice DP-SE's at T = 10^6 as at T/16, while
    the difference of Reg(T)/T falls by more than a half."""
    run, ratios, gaps = Run(profile="quick", alpha=0.01, seed=3, row_id="any"), [], []
    for horizon in (10**6 // 16, 10**6):
        pure, baseline = (
            regrets(run, Cell("easy", competitor, "0.1", horizon), runs=80).mean()
            for competitor in (COMPETITORS[1], COMPETITORS[0])
        )
        ratios.append(pure / baseline)
        gaps.append(pure - baseline)
    assert all(1.6 < ratio < 2.3 for ratio in ratios)
    assert gaps[1] < gaps[0] / 2


def test_the_corner_loses_the_best_arm_as_often_as_the_exact_distribution_says() -> None:
    """Batch of 256: one of nine sums of zeros below -τ is enough. The share of runs with linear regret is
    1 - (1 - w)^9 with w from the noise's distribution; for p = 1/T it is negligible."""
    size, horizon = 3000, 10**7
    model = corner_arms().rows(np.zeros(size, dtype=np.int64))
    for p, largest in ((Fraction(1, 10), 0.03), (Fraction(1, horizon), 1e-6)):
        sheet = variant("dist_dp_se", epsilon=1, failure_prob=p).sheet(256)
        w = float(np.exp(sheet.total_noise().logp(np.arange(-60_000, -sheet.noise_margin))).sum())
        assert w < largest
        chance = 1 - (1 - w) ** 9
        final = simulated(COMPETITORS[1], "1", model, horizon=horizon, seed=1, failure_prob=p).final
        lost = (final > 0.25 * horizon).mean()
        assert abs(lost - chance) <= SIGMAS * math.sqrt(chance * (1 - chance) / size)


# The table and the figures.

#: Reg(T)/T in units of 1e-5 with its standard error, by independent prototypes: figure, curve, ε.
REFERENCE = {
    (2, "dp_se", "0.1"): (684, 34),
    (2, "dp_se", "0.5"): (388, 34),
    (2, "dp_se", "1"): (371, 31),
    (2, "dist_dp_se", "0.1"): (1345, 47),
    (2, "dist_dp_se", "0.5"): (573, 35),
    (2, "dist_dp_se", "1"): (434, 33),
    (2, "dist_rdp_se(s=10)", "0.1"): (917, 45),
    (2, "dist_rdp_se(s=10)", "0.5"): (472, 33),
    (2, "dist_rdp_se(s=10)", "1"): (394, 34),
    (2, "dist_rdp_se(s=100)", "0.1"): (830, 45),
    (2, "dist_rdp_se(s=100)", "0.5"): (428, 33),
    (2, "dist_rdp_se(s=100)", "1"): (387, 30),
    (3, "dp_se", "0.1"): (224, 17),
    (3, "dp_se", "1"): (161, 16),
    (3, "dist_dp_se", "0.1"): (292, 18),
    (3, "dist_dp_se", "1"): (180, 16),
    (3, "dist_rdp_se(s=10)", "0.1"): (244, 16),
    (3, "dist_rdp_se(s=10)", "1"): (173, 15),
    (3, "dist_rdp_se(s=100)", "0.1"): (231, 17),
    (3, "dist_rdp_se(s=100)", "1"): (173, 15),
    (4, "dist_dp_se", "0.1"): (1459, 38),
    (4, "dist_dp_se", "0.5"): (634, 28),
    (4, "dist_dp_se", "1"): (515, 27),
}


def test_every_cell_of_the_reference_table_is_reproduced() -> None:
    """Within four combined standard errors, at the paper's settings; the table of another ε is not."""
    found = {figure: figure_table(figure, seed=1) for figure in (2, 3, 4)}
    misses = 0
    for (figure, key, epsilon), (mean, error) in REFERENCE.items():
        result = found[figure][key, epsilon]
        horizon = int(result.checkpoints[-1])
        ours, own = 1e5 * result.mean / horizon, 1e5 * result.standard_error / horizon
        assert abs(ours - mean) < 4 * math.hypot(error, own), (figure, key, epsilon)
        other = found[figure][key, "0.5"] if epsilon != "0.5" else found[figure][key, "0.1"]
        misses += abs(1e5 * other.mean / horizon - mean) >= 4 * math.hypot(error, own)
    assert misses >= 5


def test_summary_and_table_show_the_same_numbers() -> None:
    """Mean and standard error of figure 5, in the summary of the runs' frame and in the table's cells."""
    found = figure_table(5, seed=2, runs=4, horizon=10**5)
    called = {item.label: item.title for item in FIGURES[5].competitors}
    numbers = summary(
        regret_frame(
            ({"algorithm": called[key], "epsilon": str(epsilon)}, result)
            for (key, epsilon), result in found.items()
        )
    )
    table = regret_table(5, found)
    assert len(numbers) == len(found) == 12
    for record, result in zip(numbers.to_dict("records"), found.values(), strict=True):
        assert record["mean"] == pytest.approx(result.mean)
        assert record["standard_error"] == pytest.approx(result.standard_error)
        row = next(row for row in table["rows"] if row[0] == record["algorithm"])
        cell = row[table["columns"].index(f"ε = {record['epsilon']}")]
        assert cell == f"{record['mean']:.0f} ± {record['standard_error']:.0f}"
    assert {c.title for c in FIGURES[5].competitors} == {row[0] for row in table["rows"]}


def test_the_diamonds_come_in_another_order_in_every_run() -> None:
    """The same means, shuffled: no run begins with the best arm by design."""
    means = instances("diamonds", runs=6).means
    for one, two in pairwise(means):
        assert sorted(one) == sorted(two)
        assert list(one) != list(two)
    assert len({int(row.argmax()) for row in means}) > 1


def test_the_distributed_figures_are_regenerated_by_one_command(tmp_path: Path) -> None:
    """Small settings: all 20 figures, page and pictures well formed, three tables with the same numbers."""
    out = tmp_path / "figures"
    figures.main([str(out), "--paper", "distributed_mab", "--horizon", "4000", "--runs", "2"])
    data = json.loads((out / "figures.json").read_text(encoding="utf-8"))
    assert list(data) == list(figures.DISTRIBUTED_FIGURES)
    page = (out / "figures.html").read_text(encoding="utf-8")
    for name, plot in data.items():
        read_plot(plot)
        figure = figures.DISTRIBUTED_FIGURES[name][0]
        assert [line["name"] for line in plot["series"]] == [c.title for c in FIGURES[figure].competitors]
        assert all(len(line["low"]) == len(line["x"]) for line in plot["series"])
        assert ElementTree.fromstring((out / f"figure-{name}.svg").read_text(encoding="utf-8")).tag.endswith(
            "svg"
        )
        assert f"Figure {name}." in page
    assert "cannot be drawn" not in page
    records = json.loads((out / "numbers.json").read_text(encoding="utf-8"))
    assert len(records) == sum(len(shown.competitors) * len(shown.epsilons) for shown in FIGURES.values())
    with (out / "numbers.csv").open(encoding="utf-8") as file:
        means = [float(row["mean"]) for row in csv.DictReader(file)]
    assert means == pytest.approx([record["mean"] for record in records])
    lines = (out / "numbers.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(records) + 2
    for line, record in zip(lines[2:], records, strict=True):
        assert f"{record['mean']:.4g}" in [cell.strip() for cell in line.split("|")]
    curves = pandas.read_csv(out / "curves.csv")
    horizon = curves[(curves["round"] == 4000) & (curves["figure"] == 2)]
    found = horizon.groupby(["algorithm", "epsilon"])["regret"].mean()
    for record in records:
        if record["figure"] == 2:
            assert found[record["algorithm"], float(record["epsilon"])] == pytest.approx(record["mean"])


def test_an_unknown_distributed_figure_is_refused() -> None:
    """The message has the names."""
    with pytest.raises(InvalidParameterError, match="figures must be among 1a, 1b"):
        figures.regenerate_distributed(["12a"], horizon=None, runs=2)
