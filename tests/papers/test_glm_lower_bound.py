"""Lemma 7.1's rows: their mathematics by other routes (simulation, dynamic programs, scipy); controls."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

from audits.glm_bandits.information import SignDistribution, divergence, entropy, jensen_shannon, noisy_signs
from audits.glm_bandits.lower_bound_family import History, SignFamily, play
from audits.glm_bandits.ridge_problems import RidgeProblem, drawn_problem, root
from audits.glm_bandits.rows import (
    lower_bound,
    lower_bound_information,
    lower_bound_step_four,
    model_facts,
    self_concordance,
)
from audits.glm_bandits.sign_learners import (
    best_commitment,
    certified_sign,
    committing,
    greedy,
    one_coordinate,
    uniform,
    wrong_sign,
)
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.row_verdicts import judge_row
from dpaudit.core.suite import Run, Suite
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import bernoulli, logistic

SUITE = Suite(paper="test", title="test")
SUITE.include(self_concordance.rows, model_facts.rows, lower_bound.rows)
SUITE.include(lower_bound_step_four.rows, lower_bound_information.rows)
ROWS = {row.id: row for row in SUITE.rows}
CENTRED = SignFamily(logistic(), Fraction(1), (Fraction(0), Fraction(0)), Fraction(1))


def _evaluated(row_id: str) -> Any:
    row = ROWS[row_id]
    run = Run(profile="quick", alpha=1e-3, seed=0, row_id=row_id)
    outcome = row.evaluate(run)
    judged = judge_row(row.claim, outcome.evidence, outcome.cells, unmet=outcome.unmet, alpha=run.alpha)
    for cell, one in zip(outcome.cells, judged.cells, strict=True):
        assert one.judgement.verdict.value == cell.expect, cell.name
    return judged.whole.judgement


@pytest.mark.parametrize("row_id", sorted(ROWS))
def test_every_row_comes_out_as_expected(row_id: str) -> None:
    """Each row and each of its cells has the expected verdict, and the row says in words what it does."""
    assert _evaluated(row_id).verdict.value == ROWS[row_id].expect
    assert ROWS[row_id].evaluate.__doc__


# Information


def test_divergences_are_scipys() -> None:
    """KL, entropy and Jensen-Shannon against scipy, on a distribution with unequal masses."""
    first, second = [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]
    balls = [[ball(Fraction(str(p))) for p in distribution] for distribution in (first, second)]
    middle = [(p + q) / 2 for p, q in zip(first, second, strict=True)]
    js = (stats.entropy(first, middle) + stats.entropy(second, middle)) / 2
    assert float(divergence(*balls).mid()) == pytest.approx(stats.entropy(first, second))
    assert float(entropy(balls[0]).mid()) == pytest.approx(stats.entropy(first))
    assert float(jensen_shannon(*balls).mid()) == pytest.approx(js)


def test_an_infinite_divergence_is_refused() -> None:
    """A mass where the second distribution has none."""
    with pytest.raises(InvalidParameterError, match="infinite"):
        divergence([arb(1) / 2, arb(1) / 2], [arb(1), arb(0)])


def test_information_of_noisy_signs_in_closed_form() -> None:
    """d independent signs kept with probability p: I = d (log 2 - h(p)), each sign wrong with 1 - p."""
    distribution = noisy_signs(3, correct=ball(Fraction(9, 10)))
    one = math.log(2) - stats.entropy([0.9, 0.1])
    assert float(distribution.information().mid()) == pytest.approx(3 * one)
    assert all(float(distribution.information_of_one(j).mid()) == pytest.approx(one) for j in range(3))
    assert all(float(distribution.information_given_others(j).mid()) == pytest.approx(one) for j in range(3))
    assert float(distribution.smallest_errors().mid()) == pytest.approx(0.3)


def test_the_midpoint_line_is_reversed_for_symmetric_pairs() -> None:
    """For (p, 1-p) against (1-p, p) the divergence is above 4 times the information at every p but 1/2, by a
    factor that tends to 1 near 1/2: the print is false even for the weakest private channels."""
    for correct in ("501/1000", "3/5", "9/10"):
        p = ball(Fraction(correct))
        pair = ([p, 1 - p], [1 - p, p])
        assert divergence(*pair) > 4 * jensen_shannon(*pair)


def test_the_private_learners_actions_alone_refute_the_information_part() -> None:
    """No contrived distribution is needed: on the paper's family an ε-DP learner's actions do it, at d = 1
    and 2."""
    for name, distribution in lower_bound_information.DISTRIBUTIONS.items():
        if name.startswith("a private learner"):
            given = distribution()
            total = sum((given.divergence_of_one(j) for j in range(given.dim)), arb(0))
            assert total > 4 * given.information()


# The family and its learners


def test_means_and_regret_of_the_family() -> None:
    """r = τ/(2 (B_0 + a_max)); means and regret of all arms at one V, in floats."""
    family = SignFamily(bernoulli(2), Fraction(1), (Fraction(1, 4), Fraction(-1, 2)), Fraction(1, 3))
    theta = np.array([1 / 4 - 1 / 3, -1 / 2 + 1 / 3])
    assert family.radius == Fraction(1, 3)
    means = {(j, s): 2 * special.expit(2 * s * theta[j] / 3) for j, s in product(range(2), (-1, 1))}
    for arm, mean in means.items():
        assert float(family.mean(arm, (-1, 1)).mid()) == pytest.approx(mean)
        assert float(family.regret(arm, (-1, 1)).mid()) == pytest.approx(max(means.values()) - mean)


def test_a_scale_above_the_largest_one_is_refused() -> None:
    """a ≤ a_max."""
    with pytest.raises(InvalidParameterError):
        SignFamily(logistic(), Fraction(1), (Fraction(0),), Fraction(2))


def test_transcripts_are_a_distribution_under_every_v() -> None:
    """The masses of all transcripts add up to 1 for each V, whatever the learner."""
    for policy in (committing(2, explored=1, epsilon=Fraction(1)), uniform(2), greedy(2)):
        played = play(CENTRED, policy, horizon=3)
        for signs in product((-1, 1), repeat=2):
            total = sum((one.masses[signs] for one in played.transcripts), arb(0))
            assert abs(total - 1) < 1e-12


def test_regret_of_the_uniform_learner_in_closed_form() -> None:
    """Half of its pulls are wrong, each costs the gap: T (2q - 1)/2; all pulls tell one bit alike."""
    played = play(CENTRED, uniform(2), horizon=3)
    assert float(played.regret().mid()) == pytest.approx(1.5 * (2 * special.expit(0.5) - 1))


def _log_ratio(policy: Any, rewards: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The largest log-ratio of an action sequence's probability under two reward sequences."""

    @cache
    def distribution(fixed: tuple[int, ...]) -> dict[tuple[Any, ...], float]:
        alive: dict[History, float] = {(): 1.0}
        for y in fixed:
            alive = {
                (*history, (*arm, y)): mass * float(weight.mid())
                for history, mass in alive.items()
                for arm, weight in policy(history).items()
            }
        found: dict[tuple[Any, ...], float] = {}
        for history, mass in alive.items():
            shown = tuple((j, s) for j, s, _ in history)
            found[shown] = found.get(shown, 0) + mass
        return found

    first, second = distribution(rewards), distribution(other)
    return max(
        math.log(mass / second[shown]) if second.get(shown) else math.inf for shown, mass in first.items()
    )


def _worst(policy: Any, horizon: int) -> float:
    worst = 0.0
    for rewards in product((0, 1), repeat=horizon):
        for i in range(horizon):
            other = tuple(1 - y if k == i else y for k, y in enumerate(rewards))
            worst = max(worst, _log_ratio(policy, rewards, other))
    return worst


def test_private_learners_are_private_by_enumeration_and_greedy_is_not() -> None:
    """One reward replaced moves the log-probability of no action sequence by more than ε; greedy's does."""
    epsilon = Fraction(3, 4)
    for policy in (
        committing(2, explored=2, epsilon=epsilon),
        one_coordinate(explored=3, epsilon=epsilon),
    ):
        assert 0.2 < _worst(policy, 6) <= 0.75 + 1e-12
    assert _worst(greedy(1), 3) == math.inf


def test_wrong_signs_by_simulation() -> None:
    """The closed form against 200 000 draws of a binomial plus a Laplace, within 5 deviations."""
    rng = np.random.default_rng(3)
    counts = rng.binomial(20, 0.6, size=200_000) + rng.laplace(0, 4, size=200_000)
    exact = float(wrong_sign(pulls=20, correct=ball(Fraction(3, 5)), epsilon=Fraction(1, 4)).mid())
    assert abs((counts < 10).mean() - exact) < 5 * math.sqrt(exact / 200_000)


def test_regret_of_one_coordinate_by_simulation() -> None:
    """Exploration, commitment and regret played 40 000 times against the closed form."""
    found = best_commitment(horizon=256, scale=Fraction(1), epsilon=Fraction(1), radius=Fraction(1, 2))
    rng, better = np.random.default_rng(5), special.expit(0.5)
    signs = rng.choice((-1, 1), size=40_000)
    ones = rng.binomial(found.explored, np.where(signs > 0, better, 1 - better))
    kept = np.where(ones + rng.laplace(size=40_000) >= found.explored / 2, 1, -1)
    wrong = found.explored * (signs < 0) + (256 - found.explored) * (kept != signs)
    regret = wrong * (2 * better - 1)
    assert abs(regret.mean() - float(found.regret.mid())) < 5 * regret.std() / 200
    assert "certified 1/4-DP" in certified_sign(Fraction(1, 4))


# What replaces the theorem


def _best_bayes_regret(dim: int, horizon: int) -> float:
    """The smallest Bayes regret of any learner on {-1, 1}^d/√d, by a dynamic program over histories."""
    size = min(1 / math.sqrt(dim), math.sqrt(dim / horizon))
    every = list(product((-1, 1), repeat=dim))
    means = np.array([[special.expit(size / math.sqrt(dim) * np.dot(x, v)) for v in every] for x in every])
    lost = means.max() - means

    @cache
    def value(counts: tuple[tuple[int, int], ...], left: int) -> float:
        if not left:
            return 0.0
        weights = np.ones(len(every)) / len(every)
        for (ones, zeros), mean in zip(counts, means, strict=True):
            weights = weights * mean**ones * (1 - mean) ** zeros
        best = math.inf
        for i, (ones, zeros) in enumerate(counts):
            after = [(*counts[:i], one, *counts[i + 1 :]) for one in ((ones + 1, zeros), (ones, zeros + 1))]
            best = min(best, float(weights @ lost[i]) + sum(value(one, left - 1) for one in after))
        return best

    return value(((0, 0),) * len(every), horizon)


def test_no_learner_beats_the_repaired_bound_at_d_2() -> None:
    """(m/2) min(T, d√T) against the best learner of all, by a dynamic program; and it is no empty bound."""
    for horizon in (1, 2, 4, 5):
        least = float(lower_bound.STEEP / 2) * min(horizon, 2 * math.sqrt(horizon))
        assert least <= _best_bayes_regret(2, horizon) <= 8 * least


def test_the_best_learner_at_d_1_by_the_dynamic_program() -> None:
    """The row's sum over binomials is the dynamic program's value."""
    for horizon in (1, 4, 6):
        score = arb(1) / arb(horizon).sqrt()
        exact = float(lower_bound._best_regret_of_one_sign(horizon, score).mid())
        assert exact == pytest.approx(_best_bayes_regret(1, horizon))


def test_the_horizon_bound_has_its_limit_where_delta_is_small() -> None:
    """The refutation of Lemma 7.1 needs δ log(1/δ) > ε: at δ = ε² the horizon costs more than c d/ε."""
    epsilon = Fraction(1, 100)
    rounds = lower_bound._horizon(dim=4, factor=Fraction(1), epsilon=epsilon, delta=epsilon**2)
    assert rounds == math.ceil(4 / (1e-4 + 1e-4 * math.log(1e4)))
    assert rounds * epsilon / 4 > 1


# Lemma R.1's problems


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_stated_minimiser_is_scipys(dim: int) -> None:
    """theta_min by construction against BFGS on the same rewards, and the derived numbers by floats."""
    problem = _admissible(dim)
    arms = np.array([[float(x) for x in arm] for arm in problem.arms])
    rewards = np.array([float(r.mid()) for r in problem.rewards()])
    ridge, copies = float(problem.ridge), problem.copies

    def loss(theta: Any) -> float:
        z = arms @ theta
        fit = copies * (np.logaddexp(0, z) - rewards * z).sum()
        return float(fit + ridge / 2 * theta @ theta)

    found = optimize.minimize(loss, np.zeros(dim), tol=1e-10).x
    assert np.allclose(found, [float(x) for x in problem.theta_min], atol=1e-4)
    star = np.array([float(x) for x in problem.theta_star])
    assert float(problem.loss(problem.theta_star).mid()) == pytest.approx(loss(star))
    mean = special.expit(arms @ star)
    hessian = copies * (arms.T * (mean * (1 - mean))) @ arms + ridge * np.eye(dim)
    gradient = copies * arms.T @ (mean - rewards) + ridge * star
    gamma = math.sqrt(gradient @ np.linalg.solve(hessian, gradient))
    apart = np.array([float(x) for x in problem.theta_hat]) - star
    assert float(problem.gamma().mid()) == pytest.approx(gamma)
    assert float(problem.distance().mid()) == pytest.approx(math.sqrt(apart @ hessian @ apart))


def _admissible(dim: int) -> RidgeProblem:
    drawn = (drawn_problem(dim=dim, copies=300, ridge=Fraction(16), seed=seed) for seed in range(50))
    return next(problem for problem in drawn if problem.admissible())


def test_problems_with_impossible_rewards_are_left_out() -> None:
    """A ridge that needs rewards beyond 1 is no problem of the lemma."""
    problem = RidgeProblem(1, Fraction(400), (Fraction(1),), (Fraction(0),), (Fraction(0),))
    assert not problem.admissible()


def test_the_other_end_of_45_is_caught() -> None:
    """(45) with mu'(z2) in the place of mu'(z1), which the lemma does not say, fails: from -8 to 0."""
    link = logistic()
    first, second = link.at(ball(Fraction(-8))), link.at(arb(0))
    weighted = (second.log_partition - first.log_partition - 8 * first.mean) / 64
    assert second.slope / (2 + 8) > weighted > first.slope / (2 + 8)


def test_a_norm_that_is_none_is_left_out() -> None:
    """N so negative that H(θ*) is not positive definite."""
    vector = (Fraction(1), Fraction(0))
    assert RidgeProblem(10, Fraction(1), vector, vector, vector).positive()
    assert not RidgeProblem(10, Fraction(1), vector, vector, vector, Fraction(-9)).positive()


def test_a_root_of_a_ball_around_zero_is_finite() -> None:
    """A gap of 0 computed in balls may reach below 0; its root encloses the roots of all of it above 0."""
    around = arb(0, 1e-20)
    assert root(around).is_finite()
    assert root(around).contains(arb(0))
    assert root(around).contains(arb(1e-20).sqrt())
    assert root(arb(4)) == 2


def test_a_sign_distribution_knows_its_marginals() -> None:
    """Averages over the signs that are not fixed, by hand."""
    distribution = SignDistribution(
        {(v, w): [arb(1), arb(0)] if v == w else [arb(0), arb(1)] for v in (-1, 1) for w in (-1, 1)}
    )
    assert [float(p.mid()) for p in distribution.averaged({0: 1})] == [0.5, 0.5]
    assert [float(p.mid()) for p in distribution.averaged({0: 1, 1: 1})] == [1.0, 0.0]
