"""Regret rows of the distributed bandits: their bounds by other routes, and that they can fail."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from audits.distributed_mab.regret_approximate import best_order, renyi_budget
from audits.distributed_mab.renyi_privacy import theorem_2_final
from audits.distributed_mab.rows import lower_bounds, regret_corners, regret_orderings, regret_rates
from dpaudit.blackbox.statistics import mean_bounds
from dpaudit.core.claims import Statement
from dpaudit.core.conversions import converted
from dpaudit.core.evidence import Estimate
from dpaudit.core.suite import Run, Suite
from dpaudit.distributions import DiscreteGaussian
from dpaudit.kernel.ball import ball
from dpaudit.reference.algorithms.mab.batched_elimination import Elimination
from dpaudit.reference.algorithms.mab.batched_regret import (
    Setting,
    cut_of,
    deviation,
    event_probability,
    pull_cap,
    relaxation,
    shape,
    shape_value,
    worst_ratio,
    wrap,
)
from dpaudit.reference.algorithms.mab.decoded_exits import decoded_distribution, exits, regret_between
from dpaudit.reference.algorithms.mab.distributed_elimination import NAMES
from dpaudit.reference.algorithms.mab.distributed_regret import noisy_sums, simulate_baseline
from dpaudit.reference.algorithms.mab.mean_change import cheapest_coupling, dearest_change
from dpaudit.reference.algorithms.mab.reward_models import bernoulli_arms
from dpaudit.reference.algorithms.mab.simulated_regret import final_regrets, in_units_of_noise
from dpaudit.reference.mechanisms.discrete_gaussian_sum import DiscreteGaussianSum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet
from dpaudit.run.finding import finding_of
from dpaudit.suite.expected import evaluated
from dpaudit.suite.regret import octave
from tests.rates import FALSE_FAILURE_RATE

#: The level of a row among 200.
ALPHA = 0.05 / 200
SUITE = Suite(paper="rates", title="regret rows")
SUITE.include(regret_rates.rows, regret_corners.rows, regret_orderings.rows, lower_bounds.rows)
ROWS = {row.id: row for row in SUITE.rows}


def setting_of(name: str, epsilon: str = "1/2", **options: Any) -> Setting:
    """A small setting with defaults."""
    values = {"n_arms": 2, "horizon": 2**12, "scale_factor": 3 if "rdp" in name or "cdp" in name else 1}
    return Setting(name=name, epsilon=Fraction(epsilon), **(values | options))


def noise_masses(sheet: Sheet) -> tuple[np.ndarray, np.ndarray]:
    """The total noise as values and masses, from the distributions themselves."""
    if isinstance(sheet.share, DiscreteGaussian):
        table = DiscreteGaussianSum(sigma2=sheet.share.sigma2, terms=sheet.users)
        return np.arange(-table.reach, table.reach + 1), table.probabilities
    values = np.arange(-6000, 6001)
    return values, np.exp(sheet.total_noise().logp(values))


# The rigorous bounds.


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 1000)])
def test_the_tail_bounds_lie_above_the_exact_tails(name: str, p: Fraction) -> None:
    """P(Y > τ), and P(Σ x̂/g + Y/g > n(μ + β)) for Bernoulli rewards of seven means, by convolution; the
    bounds are not void, and with p = 1/2 in place that on a wrap is at most 50 times the tail."""
    setting = setting_of(name, failure_prob=p)
    for batch in (1, 3, 5):
        n, sheet = 2**batch, setting.sheet(batch)
        values, masses = noise_masses(sheet)
        exact = masses[values > sheet.noise_margin].sum()
        assert exact <= wrap(setting, batch) + 1e-15
        assert p < Fraction(1, 2) or wrap(setting, batch) <= 50 * exact
        if name.startswith(("dist_dp", "cdp")):  # closed form
            assert wrap(setting, batch) == pytest.approx(exact, rel=1e-6)
        sums = np.arange(n + 1) * sheet.precision
        bounds = deviation(setting, batch, np.array([2, 5]))
        for active, bound in zip((2, 5), bounds, strict=True):
            state = Elimination((active,), failure_prob=p, tail=setting.variant.tail)
            state.batch = batch
            radius = radius_of(state, setting, batch)
            for mean in (0.0, 0.01, 0.3, 0.5, 0.7, 0.99, 1.0):
                weights = stats.binom.pmf(np.arange(n + 1), n, mean)
                limit = n * (mean + radius) * sheet.precision
                tail = sum(
                    w * masses[values + total > limit].sum() for w, total in zip(weights, sums, strict=True)
                )
                assert tail <= bound + 1e-15
            assert bound < 1


def radius_of(state: Elimination, setting: Setting, batch: int) -> float:
    """β(b) as the algorithm uses it, found by bisection on which arm it keeps."""
    low, high = 0.0, 1e6
    for _ in range(80):
        middle = (low + high) / 2
        trial = Elimination(state.active.shape, failure_prob=setting.p, tail=setting.variant.tail)
        trial.batch = batch
        means = np.zeros(state.active.shape)
        means[0] = 2 * middle
        trial.update(means)
        low, high = (middle, high) if trial.active[1] else (low, middle)
    return low


@pytest.mark.parametrize(
    ("name", "means", "p"),
    [
        ("dist_dp_se", (1.0, 0.75), "1/10"),
        ("dist_dp_se", (0.3, 0.0, 0.0), "1/2"),
        ("dist_cdp_se", (1.0, 0.9), "1/2"),
        ("ldp_se", (0.9, 0.1), "1/2"),
        ("dist_rdp_se", (0.6, 0.5, 0.5), "1/2"),
    ],
)
def test_the_event_holds_the_runs_that_go_wrong(name: str, means: tuple[float, ...], p: str) -> None:
    """Runs with more regret than the cap are at most as frequent as the bad event's bound, which is not
    met by a twentieth of it where wraps are frequent."""
    setting = setting_of(name, "1", n_arms=len(means), horizon=2**20, failure_prob=Fraction(p))
    gaps = [means[0] - mean for mean in means[1:]]
    cap = sum(gap * pull_cap(setting, gap) for gap in gaps)
    regrets = final_regrets(setting, means, runs=4000, seed=7)
    bound = event_probability(setting, len(gaps))
    low, high = mean_bounds(regrets > cap * (1 + 1e-12), low=0.0, high=1.0, alpha=FALSE_FAILURE_RATE)
    assert low <= bound
    if means == (1.0, 0.75):
        assert high > 0.05
        assert low > bound / 20
    cut = cut_of(setting, means)
    assert cut.cap + cut.excess >= min(regrets.mean(), max(gaps) * setting.horizon)


def test_the_event_allows_for_a_relaxed_secure_function() -> None:
    """Theorem 3's secure function may be wrong with probability q = p/2: with outputs that are then as bad as
    residues can be, the best of two arms goes no more often than the bad event's bound, and more often than
    without this part of it."""
    means, runs, rng = (0.6, 0.4), 4000, np.random.default_rng(2)
    setting = setting_of("shuffle_dp_se/repaired", "1", horizon=2**16, failure_prob=Fraction(1, 100))
    state = Elimination((runs, 2), failure_prob=setting.p, tail=setting.variant.tail)
    for batch in range(1, setting.batches + 1):
        n, sheet = 2**batch, setting.sheet(batch)
        sums = noisy_sums(sheet, rng.binomial(n, means, size=(runs, 2)) * sheet.precision, rng)
        worst = [-sheet.noise_margin / sheet.precision, n + sheet.noise_margin / sheet.precision]
        wrong = rng.random((runs, 2)) < float(setting.p / 2)
        state.update(np.where(wrong, worst, sums) / n)
    gone = ~state.active[:, 0]
    low, _ = mean_bounds(gone, low=0.0, high=1.0, alpha=FALSE_FAILURE_RATE)
    bound = event_probability(setting, 1)
    assert low <= bound < 0.3
    assert relaxation(setting) == 0.005
    perfect = bound - 2 * relaxation(setting) * setting.batches
    assert low > perfect


def test_no_gap_on_a_fine_grid_exceeds_the_supremum() -> None:
    """``worst_ratio`` evaluates few gaps; two thousand others, and mixed instances, stay below it."""
    for setting in (setting_of("dist_dp_se"), setting_of("ldp_se", "1/10", n_arms=4, horizon=2**16)):
        sampling, noise = shape(setting)
        noise *= setting.n_arms

        def per_arm(gap: Any, suboptimal: Any, a: float = sampling, b: float = noise) -> Any:
            return a / gap + b / suboptimal

        worst, where = worst_ratio(setting, per_arm)
        assert 0 < where <= 1
        rng = np.random.default_rng(3)
        for _ in range(1000):
            count = int(rng.integers(1, setting.n_arms))
            gaps = 10.0 ** rng.uniform(-4, 0, size=count)
            regret = sum(gap * pull_cap(setting, gap) for gap in gaps)
            regret += setting.horizon * event_probability(setting, count)
            assert regret / (sampling * (1 / gaps).sum() + noise) <= worst
        fine = max(
            (gap * pull_cap(setting, gap) + setting.horizon * event_probability(setting, 1)) / per_arm(gap, 1)
            for gap in np.geomspace(1e-4, 1, 1000)
        )
        assert fine <= worst
        if setting.n_arms == 2:
            assert fine > 0.9 * worst


def test_the_last_batch_fits_into_the_horizon() -> None:
    """Two arms finish exactly ``batches`` batches."""
    for horizon in (2, 3, 4, 11, 12, 13, 59, 60, 1000, 2**24):
        batches = setting_of("dist_dp_se", horizon=horizon).batches
        assert 2 * (2 ** (batches + 1) - 2) <= horizon < 2 * (2 ** (batches + 2) - 2)


def test_the_shapes_are_the_theorems() -> None:
    """Hand-computed values of the rates at T = 2^10, ε = 1/2, s = 3, means 1, 1, 1/2, 0."""
    log_t, means = 10 * math.log(2), (1.0, 1.0, 0.5, 0.0)
    wanted = {
        "dist_dp_se": 3 * log_t + 8 * log_t,
        "dist_rdp_se": 3 * log_t + 8 * math.sqrt(log_t) + 8 * log_t / 3,
        "dist_cdp_se": 3 * log_t + 8 * math.sqrt(log_t),
        "ldp_se": 12 * log_t,
    }
    for name, value in wanted.items():
        setting = setting_of(name, n_arms=4, horizon=2**10, scale_factor=3)
        assert shape_value(setting, means) == pytest.approx(value, rel=1e-12)


# Corners.


def test_the_decoded_distribution_is_that_of_the_simulator() -> None:
    """Masses on every decoded sum against 40 000 draws of the simulator, at the ends and in the middle."""
    sheet = setting_of("dist_dp_se", "1", failure_prob=Fraction(1, 10)).variant.sheet(8)
    rng = np.random.default_rng(5)
    for mean in (1.0, 0.75, 0.0):
        distribution = decoded_distribution(sheet, mean, rate=float(1 / Fraction(sheet.precision)))
        assert distribution.sum() == pytest.approx(1.0, abs=1e-12)
        encoded = rng.binomial(8, mean, size=40_000) * sheet.precision
        decoded = np.rint(noisy_sums(sheet, encoded, rng) * sheet.precision).astype(int) + sheet.noise_margin
        counts = np.bincount(decoded, minlength=len(distribution))
        keep = distribution > 2e-3
        found = np.append(counts[keep], counts[~keep].sum())
        expected = np.append(distribution[keep], 1 - distribution[keep].sum()) * 40_000
        assert stats.chisquare(found, expected).pvalue > FALSE_FAILURE_RATE
        # A quarter of p sits at the wrong end for a mean of 0 or 1, nothing in the middle.
        wrong = (
            distribution[: len(distribution) // 4].sum()
            if mean == 1.0
            else distribution[-len(distribution) // 4 :].sum()
        )
        if mean in (0.0, 1.0):
            assert 0.01 < wrong < 0.05


def test_the_best_arm_goes_as_often_as_computed() -> None:
    """Exact chance at p = 1/10 against 6000 runs on means (1, 3/4) and (1/4, 0); never on (3/4, 1/2)."""
    for means in ((1.0, 0.75), (0.25, 0.0), (0.75, 0.5)):
        setting = setting_of("dist_dp_se", "1", horizon=2**24, failure_prob=Fraction(1, 10))
        gone = sum(one.reached * one.best for one in exits(setting, means, batches=11))
        wrong = int((final_regrets(setting, means, runs=6000, seed=9) > 0.2 * setting.horizon * 0.25).sum())
        assert stats.binomtest(wrong, 6000, min(max(gone, 0.0), 1.0)).pvalue > FALSE_FAILURE_RATE
        assert (gone > 0.07) == (means != (0.75, 0.5))


def test_the_expected_regret_from_exits_brackets_the_simulated_mean() -> None:
    """The bracket at T = 2^16, p = 1/10 holds the mean of 6000 runs; at half the gap's cost it does not."""
    setting = setting_of("dist_dp_se", "1", horizon=2**16, failure_prob=Fraction(1, 10))
    regrets = final_regrets(setting, (1.0, 0.75), runs=6000, seed=11)
    low, high = mean_bounds(regrets, low=0.0, high=0.25 * 2**16, alpha=FALSE_FAILURE_RATE)
    least, most = regret_between(exits(setting, (1.0, 0.75), batches=11), gap=0.25, horizon=2**16)
    assert low <= most
    assert high >= least
    assert most < 2 * least
    assert 2 * least > high or least / 2 < low


def test_small_local_batches_cannot_eliminate() -> None:
    """Whatever the messages: at the two ends of the decoded range nobody goes while l(b) <= 2 log(2T); the
    same ends eliminate in a later batch, so that the check can fail."""
    setting = setting_of("ldp_se", "9/10", horizon=2**40)
    last = int(math.log2(2 * math.log(2 * setting.horizon)))
    gone = []
    for batch in range(1, 14):
        sheet = setting.variant.sheet(2**batch)
        ends = np.array([-sheet.noise_margin, 2**batch * sheet.precision + sheet.noise_margin])
        state = Elimination((2,), failure_prob=setting.p, tail=setting.variant.tail)
        state.batch = batch
        state.update(ends / (sheet.precision * 2**batch))
        gone.append(not state.active.all())
    assert not any(gone[:last])
    assert gone[-1]


# Orderings.


def test_budgets_convert_as_promised() -> None:
    """At the budget Lemma 10 over ALL integer orders stays at ε, one per cent above it does not, and the
    order tried is the best one's neighbour."""
    for epsilon, delta in ((Fraction(1, 2), Fraction(1, 10**6)), (Fraction(1, 20), Fraction(1, 4096))):
        budget = renyi_budget(epsilon, delta, scale=100)

        def best(value: Fraction, delta: Fraction = delta) -> tuple[float, int]:
            return min(
                (
                    float(converted(ball(theorem_2_final(a, value, Fraction(100))), Fraction(a), delta)),
                    a,
                )
                for a in range(2, 600)
            )

        found, order = best(budget)
        assert found <= float(epsilon) * (1 + 1e-3)
        assert best(budget * Fraction(101, 100))[0] > float(epsilon)
        assert best_order(float(budget), float(delta)) == pytest.approx(order, abs=2)


def test_an_octave_has_few_teeth() -> None:
    """Means over octaves that start at ε and at ε/√2 agree better than single points do."""
    run = Run(profile="quick", alpha=ALPHA, seed=0, row_id="x")

    def mean(start: Fraction, points: int) -> float:
        settings = [
            setting_of("dist_dp_se", horizon=2**40, epsilon=e) for e in map(str, octave(start, points=points))
        ]
        expression = in_units_of_noise([(setting, (1.0, 0.0)) for setting in settings])
        (interval,), _ = evaluated(run, [expression], alpha=ALPHA)
        return interval.mean

    starts = [Fraction(1, 100), Fraction(1, 112), Fraction(1, 125), Fraction(1, 141), Fraction(1, 168)]
    single = [mean(s, 1) for s in starts]
    averaged = [mean(s, 4) for s in starts]
    assert max(averaged) / min(averaged) < 1.2 < max(single) / min(single)


def test_labels_decide_nothing() -> None:
    """With the best arm first DP-SE may spend a short horizon on it alone; shuffled arms do not show that."""
    setting = setting_of("dist_dp_se", "1/1000", horizon=2**16)
    first = simulate_baseline(
        bernoulli_arms([[1.0, 0.0]] * 5), epsilon="1/1000", failure_prob="1/65536", horizon=2**16, seed=1
    )
    assert first.final.max() == 0
    one, two = (final_regrets(setting, means, runs=2000, seed=4).mean() for means in ((1.0, 0.0), (0.0, 1.0)))
    assert one == pytest.approx(two, rel=0.1)


# Lower bounds.


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_the_dearest_change_is_the_optimum_of_the_linear_program(samples: int) -> None:
    """Largest P'(E) with P(E) = c over all ε-DP chances f on {0, 1}^n, against the closed form."""
    gap, epsilon, c = 0.2, 0.7, 1e-3
    points = list(itertools.product((0, 1), repeat=samples))
    base, other = (
        np.array([math.prod(q if bit else 1 - q for bit in point) for point in points])
        for q in (0.5 - gap, 0.5 + gap)
    )
    rows = []
    for i, j in itertools.permutations(range(len(points)), 2):
        if sum(a != b for a, b in zip(points[i], points[j], strict=True)) == 1:
            row = np.zeros(len(points))
            row[i], row[j] = 1.0, -math.exp(epsilon)
            rows.append(row)
    solved = optimize.linprog(
        -other, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=[base], b_eq=[c], bounds=(0, 1)
    )
    most_expensive = float(dearest_change(samples, Fraction(1, 5), Fraction(7, 10)))
    assert math.log(-solved.fun / c) == pytest.approx(most_expensive, rel=1e-6)
    assert most_expensive < 2 * samples * gap * epsilon < 1.2 * most_expensive


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_the_coupling_is_the_cheapest_transport(samples: int) -> None:
    """The expected Hamming distance of the optimal transport between both product distributions, by linear
    program."""
    gap = 0.15
    points = list(itertools.product((0, 1), repeat=samples))
    base, other = (
        np.array([math.prod(q if bit else 1 - q for bit in point) for point in points])
        for q in (0.5 - gap, 0.5 + gap)
    )
    cost = np.array([[sum(a != b for a, b in zip(x, y, strict=True)) for y in points] for x in points])
    size = len(points)
    sums = [np.kron(np.eye(size)[i], np.ones(size)) for i in range(size)]
    sums += [np.kron(np.ones(size), np.eye(size)[i]) for i in range(size)]
    solved = optimize.linprog(cost.ravel(), A_eq=sums, b_eq=np.append(base, other))
    assert solved.fun == pytest.approx(float(cheapest_coupling(samples, Fraction(3, 20))), rel=1e-9)


# The rows can fail.


@pytest.mark.parametrize(
    ("row_id", "claimed", "verdict"),
    [
        ("CZ23-T1R", 5, "refuted"),
        ("CZ23-T1R", 50, "inconclusive"),
        ("CZ23-T6R", 50, "refuted"),
        ("CZ23-T1R/experiment-p", 10**15, "verified"),
        ("CZ23-T1R/theorem-p", 5, "refuted"),
        ("CZ23-OPT", 1, "refuted"),
        ("CZ23-S/regret", "1/2", "refuted"),
        ("CZ23-T2R/separation", "1/2", "refuted"),
        ("CZ23-LB", "9999/10000", "inconclusive"),
    ],
)
def test_other_constants_get_other_verdicts(row_id: str, claimed: Any, verdict: str) -> None:
    """Negative control: the same evidence refutes a constant that is too small, and leaves one open that lies
    between both bounds."""
    row = ROWS[row_id]
    assert isinstance(row.claim, Statement)
    outcome = row.evaluate(Run(profile="quick", alpha=ALPHA, seed=0, row_id=row.id))
    claim = replace(row.claim, claimed=Fraction(claimed))
    assert finding_of(claim, outcome, alpha=ALPHA)["verdict"] == verdict
    assert finding_of(row.claim, outcome, alpha=ALPHA)["verdict"] == row.expect


@pytest.mark.parametrize("rate", regret_rates.RATES, ids=lambda rate: rate.id)
@pytest.mark.parametrize("quick", [True, False])
def test_what_is_simulated_lies_on_the_grid_of_the_claim(rate: regret_rates.Rate, quick: bool) -> None:
    """A regret simulated elsewhere could not refute a claim about the grid; the claim names its points."""
    grid = regret_rates.grid_of(rate, quick=quick)
    run = Run(profile="quick" if quick else "full", alpha=ALPHA, seed=0, row_id=rate.id)
    for setting, means in regret_rates.simulated_cells(run, rate):
        assert setting.horizon in {2**exponent for exponent in grid.exponents}
        assert setting.n_arms == len(means)
        assert setting.n_arms in grid.arms
        assert setting.epsilon in {Fraction(e) for e in grid.epsilons}
        assert setting.scale_factor in grid.scales
    claim = ROWS[rate.id].claim
    assert isinstance(claim, Statement)
    assert str(regret_rates.grid_of(rate, quick=False)) in claim.text
    assert f"log2 T = {', '.join(map(str, regret_rates.QUICK_EXPONENTS))}" in claim.text
    assert ("q = 1/(2T)" in claim.text) == rate.name.startswith("shuffle")


def test_quick_rows_look_at_all_that_their_claims_name() -> None:
    """Every ε and instance of CZ23-OPT, every n and Δ of the coupling, in the quick profile."""
    run = Run(profile="quick", alpha=ALPHA, seed=0, row_id="x")
    cells = ROWS["CZ23-OPT"].evaluate(run).plots[0]["rows"]
    assert {row[1] for row in cells} == {"1/1000", "1/10", "1", "20"}
    assert len(cells) == 16
    (coupling,) = ROWS["CZ23-LB/coupling"].evaluate(run).evidence
    assert isinstance(coupling, Estimate)
    assert coupling.samples == 40 * 4


def test_equal_seeds_give_equal_runs() -> None:
    """Same seed, same regrets; another seed, others."""
    setting = setting_of("dist_rdp_se")
    one, two, other = (final_regrets(setting, (0.6, 0.4), runs=20, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_every_claim_of_the_section_has_a_row() -> None:
    """Items 33 to 42 of the paper's claims and section 5; refuted rows have a repaired one beside them."""
    wanted = {"T1R", "T2R", "T3R", "T4R", "T5R", "T6R", "OPT", "ADP", "S/regret", "LB"}
    assert {f"CZ23-{name}" for name in wanted} <= set(ROWS)
    assert {row.id for row in SUITE.rows if row.expect == "refuted"} == {
        "CZ23-T1R/experiment-p",
        "CZ23-ADP/constants",
    }
    assert {"CZ23-T1R/theorem-p", "CZ23-ADP/constants-repaired"} <= set(ROWS)
    assert all(row.evaluate.__doc__ for row in SUITE.rows)
