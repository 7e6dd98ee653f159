"""Theorem 10's rows: the exact distributions and linear programs behind them by independent routes, and
controls."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from audits.private_online_learning import hard_family
from audits.private_online_learning.rows import lower_bound, lower_bound_learners
from audits.private_online_learning.suite import suite as paper_suite
from audits.private_online_learning.variants import VARIANTS
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.row_verdicts import judge_row
from dpaudit.core.suite import Run, Suite
from dpaudit.distributions import Laplace, NoisyArgmax
from dpaudit.kernel.ball import lower, precision, upper
from dpaudit.reference.algorithms.online import one_best
from dpaudit.reference.algorithms.simulation import simulate
from tests.rates import FALSE_FAILURE_RATE


def _suite() -> Suite:
    suite = Suite(paper="test", title="test")
    suite.include(lower_bound.rows, lower_bound_learners.rows)
    return suite


SUITE = _suite()
ROWS = {row.id: row for row in SUITE.rows}


def _evaluated(row_id: str) -> tuple[Any, Any]:
    row = ROWS[row_id]
    run = Run(profile="quick", alpha=1e-3, seed=0, row_id=row_id)
    outcome = row.evaluate(run)
    judged = judge_row(row.claim, outcome.evidence, outcome.cells, unmet=outcome.unmet, alpha=run.alpha)
    for cell, one in zip(outcome.cells, judged.cells, strict=True):
        assert one.judgement.verdict.value == cell.expect
    return judged.whole.judgement, outcome


@pytest.mark.parametrize("row_id", sorted(ROWS))
def test_every_row_comes_out_as_expected_and_explains_itself(row_id: str) -> None:
    """Each row's verdict is the expected one, and it says in plain words what it does."""
    judgement, outcome = _evaluated(row_id)
    assert judgement.verdict.value == ROWS[row_id].expect, judgement
    assert outcome.evidence or outcome.cells
    assert ROWS[row_id].evaluate.__doc__


def test_no_lower_bound_is_verified_by_running_learners() -> None:
    """Private learners above the bound leave it open; only the linear programs and exact steps verify."""
    for row_id in ("HHM-T10/private-term", "HHM-T10/non-private-term"):
        judgement, _ = _evaluated(row_id)
        assert judgement.reasons == ("a lower bound is never verified by simulation",)
        assert float(judgement.lower) > 1


def test_the_conjecture_is_listed_with_a_reason() -> None:
    """HHM-CONJ has no row, and the suite says why; so does the suite of the whole paper."""
    for suite in (SUITE, paper_suite):
        reasons = dict(suite.unchecked)
        assert "conjecture" in reasons["HHM-CONJ"]
        assert not any(row.id.startswith("HHM-CONJ") for row in suite.rows)


# The end of the range --------------------------------------------------------------------------------------


def test_the_learner_at_the_end_of_the_range_is_as_good_as_its_bound() -> None:
    """Simulated regret of repaired FTNL on point masses stays below the closed form."""
    log_actions, epsilon = 4, Fraction(8)
    with precision(128):
        bound = upper(hard_family.point_mass_bound(log_actions=log_actions, epsilon=epsilon))
    means = [0.0] * (2**log_actions - 1) + [1.0]
    runs = simulate(VARIANTS["ftnl/repaired"], means, epsilon=epsilon, horizon=2**7 - 1, runs=4000, seed=1)
    assert runs.mean <= bound
    assert runs.mean > 1  # the first epoch is lost on this instance
    assert bound < 2


def test_the_closed_form_dominates_a_plain_sum() -> None:
    """The bound lies above the float sum of its terms and within a millionth of it."""
    for log_actions, epsilon in ((3, 4), (8, 30)):
        plain = 1.0
        for s in range(40):
            x = 2**s * epsilon / 2
            plain += 2 ** (s + 1) * (2**log_actions - 1) * (2 + x) * math.exp(-x) / 4
        with precision(128):
            found = hard_family.point_mass_bound(log_actions=log_actions, epsilon=Fraction(epsilon))
            assert lower(found) <= plain * (1 + 1e-12)
            assert plain * (1 - 1e-12) <= upper(found) <= plain * (1 + 1e-6)


def test_a_learner_that_is_not_certified_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: with Laplace(1/epsilon) the kernel certifies 2 epsilon only, and it is refused."""
    honest = hard_family.report_noisy_max
    assert "certified" in hard_family.certified_leader(Fraction(3))

    def too_little(*, sensitivity: int, scale: Fraction, range: str) -> Any:
        return honest(sensitivity=sensitivity, scale=scale / 2, range=range)

    monkeypatch.setattr(hard_family, "report_noisy_max", too_little)
    with pytest.raises(CertificateError, match="must be certified"):
        hard_family.certified_leader(Fraction(3))


def test_no_constant_saves_the_statement() -> None:
    """For smaller constants the number of actions needed grows as 1/c, and exists each time."""
    found = [hard_family.smallest_log_actions(Fraction(1, c))[0] for c in (1, 10, 100)]
    assert found == sorted(found)
    assert all(c <= q <= 1.2 * c + 2 for c, q in zip((1, 10, 100), found, strict=True))


# The construction ------------------------------------------------------------------------------------------


def test_instances_are_distributions_with_the_printed_gaps() -> None:
    """Masses add up to 1, action j has mean 1/2 + gap and all others 1/2."""
    distribution = hard_family.instance(1, n_actions=3, gap=Fraction(1, 4))
    assert sum(distribution.values()) == 1
    means = [sum(p for x, p in distribution.items() if x[k]) for k in range(3)]
    assert means == [Fraction(1, 2), Fraction(3, 4), Fraction(1, 2)]


def test_a_gap_above_one_half_has_no_such_instance() -> None:
    """The printed construction refuses gaps above 1/2; base mean 0 admits gaps up to 1."""
    with pytest.raises(InvalidParameterError, match="must be in"):
        hard_family.instance(0, n_actions=2, gap=Fraction(3, 5))
    assert hard_family.instance(0, n_actions=2, gap=Fraction(1), base=Fraction(0))[(1, 0)] == 1


def test_the_distance_is_the_best_event() -> None:
    """Total variation equals the maximum over all events, by enumerating them for K = 2."""
    first, second = (hard_family.instance(j, n_actions=2, gap=Fraction(1, 4)) for j in (0, 1))
    outcomes = list(first)
    best = max(
        sum(first[x] - second[x] for i, x in enumerate(outcomes) if event >> i & 1) for event in range(16)
    )
    assert hard_family.total_variation(first, second) == best == Fraction(1, 4)


# Selectors -------------------------------------------------------------------------------------------------


def test_without_privacy_the_program_finds_the_likelihood_test() -> None:
    """For a large epsilon the smallest worst-case error is the best test's, (1 - TV)/2 for two instances."""
    found = hard_family.smallest_private_error(n_actions=2, n=1, gap=Fraction(1, 4), epsilon=16.0)
    assert found == pytest.approx((1 - 0.25) / 2, abs=1e-6)


def test_with_tiny_epsilon_the_program_can_only_guess() -> None:
    """For epsilon near 0 the smallest worst-case error is (K - 1)/K."""
    for k in (2, 3):
        found = hard_family.smallest_private_error(n_actions=k, n=2, gap=Fraction(1, 2), epsilon=1e-9)
        assert found == pytest.approx((k - 1) / k, abs=1e-6)


def test_one_sample_of_two_actions_has_a_closed_form() -> None:
    """K = 2, n = 1: randomised response on the better coordinate, a fair coin on ties, is optimal."""
    gap, epsilon = Fraction(1, 4), 1.0
    # Answers for (1,0), (0,1) and ties: p, 1 - p, 1/2 with p = e^eps/(1 + e^eps), within e^eps of each other.
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    ahead, behind = 0.75 * 0.5, 0.25 * 0.5
    error = 1 - (ahead * p + behind * (1 - p) + (1 - ahead - behind) / 2)
    found = hard_family.smallest_private_error(n_actions=2, n=1, gap=gap, epsilon=epsilon)
    assert found == pytest.approx(error, abs=1e-7)


def test_a_certified_selector_is_no_better_than_the_best_one() -> None:
    """Report Noisy Max with Laplace(2/epsilon) errs at least as often as the program's optimum."""
    for k, n in ((2, 2), (3, 2)):
        for epsilon in (0.1, 1.0, 4.0):
            best = hard_family.smallest_private_error(n_actions=k, n=n, gap=Fraction(1, 4), epsilon=epsilon)
            noisy = one_best.noisy_max_error(n=n, best=0.75, others=0.5, n_actions=k, scale=2 / epsilon)
            assert best <= noisy + 1e-7


def test_a_selector_that_is_not_private_falls_below_the_bound() -> None:
    """Negative control: the noiseless leader of many samples errs less than (58) asks at a small epsilon."""
    n, gap, epsilon = 200, 0.25, 0.001
    error = one_best.follow_the_leader_error(n=n, best=0.75, others=0.5, n_actions=16, best_first=False)
    assert error < hard_family.fano_bound(n_actions=16, n=n, gap=gap, epsilon=epsilon)


# Distributions of leaders
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k", "gap", "scale"), [(1, 2, 0.25, 2.0), (3, 3, 0.5, 0.5), (4, 4, 0.1, 20.0)])
def test_the_noisy_leaders_error_is_that_of_the_arg_max(n: int, k: int, gap: float, scale: float) -> None:
    """The quadrature equals the sum over all sums of NoisyArgmax's own probability."""
    noise = Laplace(scale=Fraction(scale))
    grids = np.array(np.meshgrid(*[np.arange(n + 1)] * k, indexing="ij")).reshape(k, -1).T.astype(float)
    means = np.array([0.5 + gap] + [0.5] * (k - 1))
    weights = np.prod(stats.binom.pmf(grids, n, means), axis=1)
    winner = np.zeros(len(grids), dtype=np.int64)
    right = np.exp(NoisyArgmax(grids, noise).logp(winner))
    found = one_best.noisy_max_error(n=n, best=0.5 + gap, others=0.5, n_actions=k, scale=scale)
    assert found == pytest.approx(1 - float(weights @ right), abs=1e-9)


def test_the_noisy_leaders_error_agrees_with_simulation() -> None:
    """Long epochs and many actions, against draws."""
    n, k, gap, scale, size = 64, 16, 0.1, 3.0, 20_000
    rng = np.random.default_rng(2)
    sums = rng.binomial(n, [0.5] * (k - 1) + [0.5 + gap], size=(size, k)) + rng.laplace(
        scale=scale, size=(size, k)
    )
    wrong = int(np.sum(sums.argmax(axis=1) != k - 1))
    expected = one_best.noisy_max_error(n=n, best=0.5 + gap, others=0.5, n_actions=k, scale=scale)
    assert stats.binomtest(wrong, size, expected).pvalue > FALSE_FAILURE_RATE


def test_follow_the_leaders_error_enumerates_ties() -> None:
    """Exact enumeration for K = 3, n = 2: ties go to the lowest index."""
    n, best, others = 2, 0.75, 0.5
    for first in (True, False):
        means = [best, others, others] if first else [others, others, best]
        index = 0 if first else 2
        error = 0.0
        for sums in np.ndindex(3, 3, 3):
            weight = math.prod(float(stats.binom.pmf(x, n, m)) for x, m in zip(sums, means, strict=True))
            error += weight * (int(np.argmax(sums)) != index)
        found = one_best.follow_the_leader_error(n=n, best=best, others=others, n_actions=3, best_first=first)
        assert found == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("learner", ["repaired FTNL", "naive FTNL", "Follow the Leader"])
def test_the_regret_on_the_family_agrees_with_the_algorithms_themselves(learner: str) -> None:
    """Exact regret against the regret engine's runs of the reference algorithm, horizon cut in mid-epoch."""
    name = {"repaired FTNL": "ftnl/repaired", "naive FTNL": "naive_ftnl", "Follow the Leader": "ftl"}[learner]
    k, gap, horizon = 4, 0.25, 100
    exact = one_best.worst_regret(
        scale=hard_family.SCALES[learner](k, 0.5), n_actions=k, gap=gap, horizon=horizon
    )
    runs = simulate(
        VARIANTS[name], [0.5] * (k - 1) + [0.5 + gap], epsilon="1/2", horizon=horizon, runs=4000, seed=9
    )
    assert abs(runs.mean - exact) < 6 * runs.standard_error


@pytest.mark.parametrize(
    ("horizon", "lengths"), [(1, [1]), (3, [1, 2]), (4, [1, 2, 1]), (7, [1, 2, 4]), (10, [1, 2, 4, 3])]
)
def test_epochs_fill_the_horizon(horizon: int, lengths: list[int]) -> None:
    """Epochs double, the last one is cut."""
    assert one_best.epoch_lengths(horizon) == lengths


def test_a_scale_that_the_nodes_cannot_resolve_is_refused() -> None:
    """Noise far narrower than the lattice raises instead of giving a wrong integral."""
    with pytest.raises(InvalidParameterError, match="scale must be"):
        one_best.noisy_max_error(n=4, best=0.75, others=0.5, n_actions=2, scale=0.01)


def test_the_smallest_horizon_is_the_theorems() -> None:
    """Both conditions of Theorem 10, rounded up."""
    t = hard_family.smallest_horizon(n_actions=16, gap=0.25, epsilon=0.01)
    assert t >= math.log(16) / (16 * 0.0625)
    assert t - 1 < math.log(16) / (10 * 0.01 * 0.25) <= t
