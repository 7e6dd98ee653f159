"""Regret rows of the private online learning paper: the bounds they rest on, and that the rows can fail."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from audits.private_online_learning import experiment_runs, ftnl_instances
from audits.private_online_learning.experiment_settings import EPSILONS, SETTINGS
from audits.private_online_learning.rows import (
    experiments,
    regret_bandit,
    regret_full_information,
    space_and_horizon,
)
from audits.private_online_learning.variants import VARIANTS
from benchmarks import figures
from dpaudit.coins import Sampler
from dpaudit.core.claims import Statement
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.plots import read_plot
from dpaudit.core.suite import Row, Run, Suite
from dpaudit.reference.algorithms.environment import BernoulliArms
from dpaudit.reference.algorithms.mab import restarted_elimination
from dpaudit.reference.algorithms.mab.lazy_replicates import lazy_runs, lazy_runs_many
from dpaudit.reference.algorithms.mab.pull_bounds import (
    elimination_cap,
    hybrid_excess,
    hybrid_pull_bound,
    lazy_excess,
    lazy_pull_bound,
    worst_gap_regret,
)
from dpaudit.reference.algorithms.mab.successive_elimination import epoch_length
from dpaudit.reference.algorithms.online.leader_distribution import (
    Actions,
    exact_regret,
    leader_probabilities,
    selection_tail,
)
from dpaudit.reference.algorithms.play import play
from dpaudit.reference.algorithms.simulation import simulate
from dpaudit.run.finding import finding_of
from dpaudit.suite.regret import Cut, difference_interval, mean_interval
from tests.rates import FALSE_FAILURE_RATE

SIGMAS = float(stats.norm.isf(FALSE_FAILURE_RATE / 2))
#: The level of a row among 200: looser ones would decide more easily.
ALPHA = 0.05 / 200

GROUPS = (regret_bandit, regret_full_information, experiments, space_and_horizon)


def _suite() -> Suite:
    suite = Suite(paper="regret", title="regret rows")
    suite.include(*(module.rows for module in GROUPS))
    return suite


SUITE = _suite()
ROWS = {row.id: row for row in SUITE.rows}


def judged(row: Row, *, profile: Any = "quick", claim: Any = None) -> dict[str, Any]:
    """The finding of a row, as the runner makes it."""
    outcome = row.evaluate(Run(profile=profile, alpha=ALPHA, seed=0, row_id=row.id))
    return finding_of(claim or row.claim, outcome, alpha=ALPHA)


@pytest.mark.sample(6)
@pytest.mark.parametrize("row_id", ROWS)
def test_every_row_comes_out_as_expected(row_id: str) -> None:
    """Quick profile: the expected verdict, readable plots, and a docstring for ``dpaudit explain``."""
    row = ROWS[row_id]
    found = judged(row)
    assert found["verdict"] == row.expect, found["reasons"]
    for plot in found["plots"]:
        read_plot(plot)
    assert row.evaluate.__doc__


def test_all_regret_claims_have_a_row_or_a_reason() -> None:
    """Sections 4.2 and 4.3 of the paper's claims, and the experiments; what is unchecked says why."""
    wanted = {
        "T3",
        "T4",
        "OPT/dp-se",
        "OPT/pulls",
        "T5R",
        "SPACE",
        "ANY",
        "MT/tossou",
        "T7",
        "C8i",
        "C8ii",
        "C9",
        "NAIVE-R",
        "OLD",
    }
    wanted |= {"E1", "E2", "E3"}
    assert {f"HHM-{name}" for name in wanted} <= set(ROWS)
    assert all(len(reason) > 60 for _, reason in SUITE.unchecked)
    assert "HHM-LAZY" in dict(SUITE.unchecked)


@pytest.mark.parametrize(
    ("row_id", "claimed"),
    [("HHM-T3", 4), ("HHM-T7", "1/1000"), ("HHM-C8ii", 1), ("HHM-OLD", 1), ("HHM-T5R", 2), ("HHM-C9", "1/2")],
)
def test_the_rows_refute_a_constant_that_is_too_small(row_id: str, claimed: Any) -> None:
    """Negative control: with a smaller hidden constant the same evidence refutes the claim."""
    row = ROWS[row_id]
    assert isinstance(row.claim, Statement)
    assert judged(row, claim=replace(row.claim, claimed=claimed))["verdict"] == "refuted"


def test_wrong_orderings_are_refuted() -> None:
    """Negative control: the experiments' bets refute orderings that are the wrong way round."""
    run = Run(profile="quick", alpha=ALPHA, seed=0, row_id="x")
    cell = (3, "1")
    lazy = experiment_runs.experiment(run, "lazy_ucb", [cell], horizon=2**22, runs=200)[cell]
    elimination = experiment_runs.experiment(run, "dp_se", [cell], horizon=2**22, runs=200)[cell]
    cuts = [VARIANTS[name].cut(SETTINGS[3], epsilon=1.0, horizon=2**22) for name in ("dp_se", "lazy_ucb")]
    low, high = difference_interval(elimination.final, cuts[0], lazy.final, cuts[1], factor=2.0, alpha=ALPHA)
    assert 0 < low < elimination.mean - 2 * lazy.mean < high


@pytest.mark.parametrize(
    ("means", "epsilon", "horizon"),
    [
        ((0.5, 0.5, 0.2), "8", 3000),
        ((0.3, 0.9), "1/2", 2000),
        ((0.6, 0.5, 0.55, 0.1), "3", 50),
        ((0.75, 0.7), "1/10", 200_000),
        ((1.0, 0.0), "1000000", 10_000),
    ],
)
def test_runs_as_one_array_have_the_reference_s_distribution(
    means: tuple[float, ...], epsilon: str, horizon: int
) -> None:
    """Two-sample Kolmogorov-Smirnov at eight checkpoints against the event-driven reference."""
    slow = simulate(VARIANTS["lazy_ucb"], means, epsilon=epsilon, horizon=horizon, runs=250, seed=2)
    fast = lazy_runs(means, epsilon=epsilon, horizon=horizon, runs=3000, seed=1)
    for i in np.linspace(0, slow.curves.shape[1] - 1, 8).astype(int):
        left, right = slow.curves[:, i].round(6), fast.curves[:, i].round(6)
        assert stats.ks_2samp(left, right).pvalue > FALSE_FAILURE_RATE
    if horizon > 50:  # in 50 rounds nobody can tell
        wrong = lazy_runs(means, epsilon="1/3", horizon=horizon, runs=3000, seed=1)
        assert stats.ks_2samp(wrong.final.round(6), slow.final.round(6)).pvalue < FALSE_FAILURE_RATE


def test_runs_as_one_array_are_reproducible_and_refuse_nonsense() -> None:
    """Equal seeds give equal curves, which never fall; wrong arguments raise with what to do."""
    first, again = (lazy_runs((0.6, 0.4), epsilon=1, horizon=500, runs=7, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.curves, again.curves)
    assert np.all(np.diff(first.curves, axis=1) >= -1e-9)
    good: dict[str, Any] = {"epsilons": [1], "horizon": 10, "runs": 1, "seed": 1}
    for instances, change in [
        ([(0.5, 0.4), (0.5,)], {"epsilons": [1, 1]}),
        ([(0.5, 1.4)], {}),
        ([(0.5, 0.4)], {"horizon": 10**16}),
        ([(0.5, 0.4)], {"checkpoints": [5]}),
        ([(0.5, 0.4)], {"runs": 0}),
    ]:
        with pytest.raises(InvalidParameterError):
            lazy_runs_many(instances, **{**good, **change})


@pytest.mark.parametrize(
    ("gap", "epsilon", "horizon"),
    [(0.5, "1", 10**6), (0.25, "1/4", 10**5), (1.0, "64", 10**4), (0.125, "8", 10**9), (0.5, "1/10", 10**12)],
)
def test_pulls_beyond_a_cap_stay_below_the_bound(gap: float, epsilon: str, horizon: int) -> None:
    """Anytime-Lazy-UCB: measured E max(0, pulls - cap) at every cap; and the bound of an easier gap fails."""
    means = ((1 + gap) / 2, (1 - gap) / 2)
    pulls = lazy_runs(means, epsilon=epsilon, horizon=horizon, runs=2000, seed=4).final / gap
    value = float(Fraction(epsilon))
    caps, excess = lazy_excess(gap=gap, epsilon=value, horizon=horizon)
    for cap, bound in zip(caps, excess, strict=True):
        beyond = np.maximum(pulls - cap, 0)
        assert beyond.mean() <= bound + SIGMAS * beyond.std() / math.sqrt(len(beyond))
    assert pulls.mean() <= lazy_pull_bound(gap=gap, epsilon=value, horizon=horizon)
    if gap < 1:
        easier = lazy_pull_bound(gap=min(1.0, 4 * gap), epsilon=4 * value, horizon=horizon)
        assert pulls.mean() > easier


@pytest.mark.parametrize("variant", ["printed", "repaired"])
def test_hybrid_pulls_stay_below_the_bound(variant: Any) -> None:
    """Hybrid-UCB round by round at epsilon 64: measured pulls beyond every cap below the bound."""
    means, gap, horizon = (1.0, 0.0), 1.0, 2**12
    result = simulate(VARIANTS[f"hybrid_ucb/{variant}"], means, epsilon=64, horizon=horizon, runs=200, seed=5)
    caps, excess = hybrid_excess(gap=gap, epsilon=64.0, horizon=horizon, variant=variant)
    for cap, bound in zip(caps, excess, strict=True):
        assert np.maximum(result.final - cap, 0).mean() <= bound
    bound = hybrid_pull_bound(gap=gap, epsilon=64.0, horizon=horizon, variant=variant)
    assert result.mean <= bound < horizon / 4


def test_elimination_stays_below_its_cap() -> None:
    """DP-SE: with failure probability 1/T no run of 300 pulls an arm more often than the cap."""
    means, horizon = (0.8, 0.55, 0.3), 10**6
    runs = simulate(VARIANTS["dp_se"], means, epsilon="1/2", horizon=horizon, runs=300, seed=6)
    cut = VARIANTS["dp_se"].cut(means, epsilon=0.5, horizon=horizon)
    assert runs.final.max() <= cut.cap < 0.5 * horizon
    assert elimination_cap(
        0.25, n_arms=3, epsilon=0.5, failure_probability=1e-6, horizon=horizon
    ) > elimination_cap(0.5, n_arms=3, epsilon=0.5, failure_probability=1e-6, horizon=horizon)


def test_bounds_fall_with_the_gap_as_the_supremum_over_gaps_assumes() -> None:
    """``worst_gap_regret`` interpolates by monotonicity: pulls fall with the gap, and no gap beats it."""
    gaps = np.geomspace(1e-4, 1, 60)
    for bound in (lazy_pull_bound, hybrid_pull_bound):
        pulls = [bound(gap=float(g), epsilon=0.5, horizon=10**5) for g in gaps]
        assert np.all(np.diff(pulls) <= 1e-9)
    worst = worst_gap_regret(
        lambda g: lazy_pull_bound(gap=g, epsilon=0.5, horizon=10**5), n_arms=3, horizon=10**5
    )
    for gap in gaps:
        arm = lazy_pull_bound(gap=float(gap), epsilon=0.5, horizon=10**5)
        assert min(2 * gap * arm, gap * 10**5) <= worst


def test_refused_parameters_of_the_bounds() -> None:
    """Gaps outside (0, 1], epsilon 0 and horizons below 2 are refused."""
    for gap, epsilon, horizon in ((0.0, 1.0, 10), (1.5, 1.0, 10), (0.5, 0.0, 10), (0.5, 1.0, 1)):
        with pytest.raises(InvalidParameterError, match="gap must be in"):
            lazy_pull_bound(gap=gap, epsilon=epsilon, horizon=horizon)


def _two_actions(n: int, means: tuple[float, float], scale: float) -> float:
    """P(the second action leads) for two actions, by the closed tail of a difference of two Laplace."""
    total = 0.0
    for a in range(n + 1):
        for b in range(n + 1):
            weight = stats.binom.pmf(a, n, means[0]) * stats.binom.pmf(b, n, means[1])
            x = abs(a - b) / scale
            tail = (2 + x) * math.exp(-x) / 4
            total += weight * (tail if a >= b else 1 - tail)
    return total


@pytest.mark.parametrize("scale", [0.01, 0.5, 3.0, 50.0, 1000.0])
@pytest.mark.parametrize("means", [(0.6, 0.5), (1.0, 0.0), (0.9, 0.9)])
def test_the_leader_s_distribution_of_two_actions_in_closed_form(
    means: tuple[float, float], scale: float
) -> None:
    """Quadrature against summing the closed form over both Binomials, to 1e-8."""
    for n in (1, 2, 16):
        distribution = leader_probabilities(Actions(means, (1, 1)), rounds=n, scale=scale)
        assert distribution[1] == pytest.approx(_two_actions(n, means, scale), abs=1e-8)


def test_the_leader_s_distribution_of_equal_actions_is_uniform() -> None:
    """Ties: 1 + 7 actions of one mean lead with probabilities 1/8 and 7/8, whatever the noise."""
    for scale in (0.05, 1.0, 100.0):
        distribution = leader_probabilities(Actions((0.5, 0.5), (1, 7)), rounds=64, scale=scale)
        np.testing.assert_allclose(distribution, [1 / 8, 7 / 8], atol=1e-8)


@pytest.mark.parametrize(
    ("actions", "epsilon", "name"),
    [
        (Actions.of_gaps([0.125], [15]), "1/8", "ftnl/printed"),
        (Actions.of_gaps([0.125, 0.25, 0.5]), "1/16", "ftnl/repaired"),
        (Actions((1.0, 0.5, 0.0), (1, 3, 2)), "1/2", "naive_ftnl"),
        (Actions.of_gaps([0.25], [100]), "64", "ftnl/printed"),
    ],
)
def test_exact_regret_agrees_with_simulation(actions: Actions, epsilon: str, name: str) -> None:
    """8000 simulated runs, the worst action played first; the exact regret of other noise is rejected."""
    factor = {"ftnl/printed": 1, "ftnl/repaired": 2, "naive_ftnl": actions.n_actions}[name]
    scale = factor / Fraction(epsilon)
    exact = exact_regret(actions, scale=scale)
    means = [m for m, count in zip(actions.means, actions.counts, strict=True) for _ in range(count)]
    epochs = min(len(exact.by_epoch), 20)
    result = simulate(VARIANTS[name], means[::-1], epsilon=epsilon, horizon=2**epochs - 1, runs=8000, seed=7)
    assert abs(result.mean - exact.by_epoch[epochs - 1]) <= SIGMAS * result.standard_error
    if epsilon != "64":  # where noise plays no part
        other = exact_regret(actions, scale=2 * scale).by_epoch
        assert abs(result.mean - other[min(len(other), epochs) - 1]) > SIGMAS * result.standard_error


def test_the_remainder_covers_what_was_left_out() -> None:
    """Stopped after any epoch, lower and upper bound still enclose the regret at all horizons."""
    actions = Actions.of_gaps([0.25, 0.5], [3, 9])
    whole = exact_regret(actions, scale=Fraction(8))
    for last in range(1, len(whole.by_epoch)):
        cut = exact_regret(actions, scale=Fraction(8), last_epoch=last)
        assert cut.lower <= whole.upper
        assert cut.upper >= whole.lower
    assert whole.upper - whole.lower < 1e-5 * whole.upper


def test_the_selection_tail_is_a_bound() -> None:
    """Chernoff for one rival against the exact distribution of two actions."""
    for gap in (0.125, 0.5, 1.0):
        for scale in (0.5, 4.0, 100.0):
            for n in (1, 8, 64):
                exact = leader_probabilities(Actions.of_gaps([gap]), rounds=n, scale=scale)[1]
                assert exact <= selection_tail(gap, rounds=n, scale=scale) + 1e-12


def test_brackets_are_the_paper_s() -> None:
    """J_k by gap: a gap of exactly 2 gap_min starts the second bracket."""
    assert Actions.of_gaps([0.125, 0.25, 0.2499, 1.0], [1, 2, 3, 4]).brackets() == {1: 4, 2: 2, 4: 4}
    assert ftnl_instances.explicit_bound(Actions.of_gaps([0.5], [1]), Fraction(1, 4)) == 256 / 0.25


def test_instances_are_refused_unless_the_best_comes_first() -> None:
    """A group above the first, a mean above 1, an empty group: refused."""
    for means, counts in (((0.5, 0.6), (1, 1)), ((1.5, 0.6), (1, 1)), ((0.5, 0.4), (1, 0)), ((0.5,), (1,))):
        with pytest.raises(InvalidParameterError):
            Actions(means, counts)


def test_intervals_cover_and_shrink() -> None:
    """Known means, 80 repetitions: at level 1/20 the intervals miss rarely enough, and n shrinks them."""
    rng = np.random.default_rng(8)
    cut = Cut(10.0, 0.5, (5.0, 10.0))
    misses = 0
    for _ in range(80):
        left, right = rng.exponential(1.0, 200), rng.exponential(1.5, 200)
        one = mean_interval(left, cut, alpha=0.05)
        below, above = difference_interval(left, cut, right, cut, factor=2.0, alpha=0.05)
        misses += not one.low <= 1.0 <= one.high
        misses += not below <= 1.0 - 2 * 1.5 <= above
    assert misses <= stats.binom.isf(FALSE_FAILURE_RATE, 160, 0.05)
    wide = mean_interval(rng.exponential(1.0, 50), cut, alpha=0.05)
    narrow = mean_interval(rng.exponential(1.0, 5000), cut, alpha=0.05)
    assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)


def test_restarted_elimination_plays_whole_phases() -> None:
    """Phases of 4, 16, 256, 65536 rounds: the fourth has its own failure probability."""
    environment = BernoulliArms((0.9, 0.1), np.random.default_rng(1), horizon=4 + 16 + 256 + 5000)
    decisions = play(
        restarted_elimination.strategy(epsilon=1), Sampler(np.random.default_rng(2)), environment
    )
    arms = np.repeat([arm for arm, _ in decisions], [count for _, count in decisions])
    length = epoch_length(1, 2, epsilon=1.0, failure_probability=1 / 65536)
    assert np.all(arms[: 4 + 16 + 256 + length] == 0)
    assert arms[276 + length] == 1
    assert np.all(arms[276 + length : 276 + 2 * length] == 1)


def test_figures_are_regenerated_by_one_command(tmp_path: Path) -> None:
    """Tiny settings: data, page and pictures of every figure; the SVG files are well formed."""
    out = tmp_path / "figures"
    figures.main([str(out), "--horizon", "4000", "--rounds", "200", "--runs", "2"])
    data = json.loads((out / "figures.json").read_text(encoding="utf-8"))
    assert list(data) == list(figures.FIGURES)
    assert len(data) == 24
    page = (out / "figures.html").read_text(encoding="utf-8")
    for name, plot in data.items():
        read_plot(plot)
        names = [line["name"].split(",")[0] for line in plot["series"]]
        assert names == [VARIANTS[name].title for name in experiment_runs.COMPARED]
        root = ElementTree.fromstring((out / f"figure-{name}.svg").read_text(encoding="utf-8"))
        assert root.tag.endswith("svg")
        assert f"Figure {name}." in page
    assert "cannot be drawn" not in page
    assert data["5"]["title"] == "Figure 5. Setting 1: final regret at T = 200"
    assert [line["name"] for line in data["1"]["series"]][2:] == [
        "Hybrid-UCB, up to t = 200",
        "UCB1, up to t = 200",
    ]


def test_a_figure_over_epsilon_refuses_unequal_horizons() -> None:
    """A longer run's regret beside a shorter one's would rank the horizons, not the algorithms."""
    run = Run(profile="quick", alpha=0.05, seed=0, row_id="figures")
    cells = [cell for cell in experiment_runs.CELLS if cell[0] == 1]
    short, long = (
        experiment_runs.experiment(run, "lazy_ucb", cells, horizon=horizon, runs=2) for horizon in (100, 200)
    )
    with pytest.raises(InvalidParameterError, match=r"one horizon, got \[100, 200\]"):
        experiment_runs.final_figure({"lazy_ucb": short, "dp_se": long}, 1)


def test_every_cell_of_the_paper_has_its_figure() -> None:
    """The 24 figures are the 21 cells and the 3 settings, each once; the numbering is the paper's."""
    cells = [what for what in figures.FIGURES.values() if not isinstance(what, int)]
    assert sorted(cells) == sorted(experiment_runs.CELLS)
    assert [name for name, what in figures.FIGURES.items() if isinstance(what, int)] == ["5", "10", "12a"]
    assert figures.FIGURES["12b"] == (3, EPSILONS[0])


def test_an_unknown_figure_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Exit code 2 with the list of names."""
    with pytest.raises(SystemExit) as stop:
        figures.main([str(tmp_path), "--figures", "13"])
    assert stop.value.code == 2
    assert "figures must be among 1, 2" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.hours
@pytest.mark.timeout(0)
@pytest.mark.parametrize("row_id", [row_id for row_id in ROWS if row_id.startswith("HHM-E")])
def test_the_experiments_at_the_paper_s_horizon(row_id: str, request: pytest.FixtureRequest) -> None:
    """Profile ``paper``: Hybrid-UCB, too, plays 4 194 304 rounds. Hours; only with ``-m slow``."""
    if "slow" not in str(request.config.getoption("markexpr")):
        pytest.skip("takes hours: run with -m slow")
    assert judged(ROWS[row_id], profile="paper")["verdict"] == ROWS[row_id].expect
