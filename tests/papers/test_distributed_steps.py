"""The steps of Lemma 2 against independent routes: exact distributions on residues, simulation, adversaries
on E."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from audits.distributed_mab.rows.elimination_regret import C
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import DiscreteLaplace, PolyaDifference, Skellam, WrappedMod
from dpaudit.reference.algorithms.mab.batched_elimination import Elimination
from dpaudit.reference.algorithms.mab.distributed_elimination import NAMES, variant
from dpaudit.reference.algorithms.mab.distributed_regret import noisy_sums
from dpaudit.reference.algorithms.mab.elimination_bounds import expected_ratio, rate, ratio_on_event
from dpaudit.reference.algorithms.mab.elimination_corners import (
    best_arms_lost,
    corners_of_event,
    pull_ratio,
    surviving_gaps,
)
from dpaudit.reference.algorithms.mab.elimination_event import (
    Race,
    arm_failure,
    assumption_failure,
    corner_failure,
    failure_bound,
    noise_tail,
    tied_failure,
)
from dpaudit.reference.mechanisms.decoding_error import Rewards, error_probability
from dpaudit.reference.mechanisms.modular_sum import decoded_sum
from tests.rates import FALSE_FAILURE_RATE

TENTH = Fraction(1, 10)


def race(name: str = "dist_dp_se", **changes: Any) -> Race:
    """Dist-DP-SE at ε = 5, K = 2, p = 1/10, T = 2^10 unless told otherwise: wraps matter in small batches."""
    start = Race(name=name, epsilon=Fraction(5), n_arms=2, failure_prob=TENTH, horizon=2**10)
    return replace(start, **changes)


def exact(chosen: Race, batch: int, mean: Fraction, rewards: Rewards) -> float:
    """P(|μ̂ - μ| > β(b)) from the distribution on all residues, the route of the rows on Assumption 1."""
    sheet = variant(chosen.name, epsilon=chosen.epsilon, failure_prob=chosen.failure_prob).sheet(2**batch)
    return error_probability(sheet, 2**batch * float(chosen.radius(batch)), mean=mean, rewards=rewards)


# P[E]


@pytest.mark.parametrize("batch", range(1, 8))
@pytest.mark.parametrize("mean", [0, 1])
def test_an_arm_at_an_end_fails_as_often_as_the_distribution_on_residues_says(batch: int, mean: int) -> None:
    """The closed form for Laplace noise equals the sum over all residues that are decoded too far away."""
    found = corner_failure(race(), batch)
    assert found == pytest.approx(exact(race(), batch, Fraction(mean), "constant"), rel=1e-6, abs=1e-12)
    assert batch < 4 or found > 0.02  # about p/4 for every batch with β below 1


@pytest.mark.parametrize("name", ["dist_dp_se", "dist_rdp_se", "dist_cdp_se", "ldp_se"])
@pytest.mark.parametrize("rewards", ["constant", "coins"])
def test_the_bound_for_all_reward_distributions_covers_exact_distributions(
    name: str, rewards: Rewards
) -> None:
    """For means from 0 to 1 the exact failure probability lies below the bound, and at an end near it."""
    chosen = race(name, epsilon=Fraction(99, 100) if name in ("ldp_se", "dist_cdp_se") else Fraction(5))
    for batch in (3, 5, 6):
        bound = float(arm_failure(chosen, batch, np.array([2]))[0])
        inside = float(arm_failure(replace(chosen, away=Fraction(1, 4)), batch, np.array([2]))[0])
        for mean in ("0", "1/100", "1/4", "1/2", "1"):
            truth = exact(chosen, batch, Fraction(mean), rewards)
            assert truth <= bound
            assert mean not in ("1/4", "1/2") or truth <= inside
        assert corner_failure(chosen, batch) <= exact(chosen, batch, Fraction(0), "constant") * (1 + 1e-9)
    if name == "dist_dp_se":
        assert bound <= 1.05 * corner_failure(chosen, 6)


@pytest.mark.parametrize(
    "name", ["dist_rdp_se", "ldp_se", "dist_cdp_se", "dist_dp_se", "shuffle_dp_se/repaired"]
)
def test_noise_tails_enclose_the_summed_distribution(name: str) -> None:
    """Chords and lines of a log-concave distribution, the table and the closed form against plain sums of the
    pmf."""
    chosen = race(name, epsilon=Fraction(1, 2))
    for batch in (2, 6, 10):
        sheet = chosen.variant.sheet(2**batch)
        reach = np.arange(-30 * sheet.noise_margin, 30 * sheet.noise_margin + 1)
        if name == "dist_cdp_se":
            one = np.exp(-(reach**2) / (2 * float(sheet.share.sigma2)))  # type: ignore[attr-defined]
            one /= one.sum()
            spectrum = np.fft.rfft(np.fft.ifftshift(one))
            masses = np.fft.fftshift(np.fft.irfft(spectrum**sheet.users, len(reach)))
        else:
            masses = np.exp(sheet.total_noise().logp(reach))
        for k in (1, sheet.noise_margin // 2, sheet.noise_margin + 1):
            truth = float(masses[reach >= k].sum())
            low, high = noise_tail(chosen, sheet, k)
            assert low - 1e-12 <= truth <= high + 1e-12
        assert low >= 0.8 * truth > 0 or batch == 2  # near, where it is used: just beyond τ


def test_the_distributions_of_the_closed_forms_are_those_of_the_sheets() -> None:
    """Variance and kind of each variant's total noise, which the tails above rest on."""
    for name, kind, variance in (
        ("dist_dp_se", DiscreteLaplace, None),
        ("cdp_se", DiscreteLaplace, None),
        ("dist_rdp_se", Skellam, (16 / 0.5) ** 2),
        ("ldp_se", PolyaDifference, None),
    ):
        sheet = race(name, epsilon=Fraction(1, 2)).variant.sheet(1024)
        distribution = sheet.total_noise()
        assert isinstance(distribution, kind)
        assert variance is None or distribution.variance() == variance


def test_simulated_races_fail_as_often_as_the_product_says() -> None:
    """Tied arms at 0, run through the protocol and the decision rule: how often E fails, against the exact
    product; and E as counted here is never lost by the rule's eliminations."""
    chosen, runs = race(horizon=2**12, n_arms=3), 4000
    rng = np.random.default_rng(20230)
    holds, state = np.ones(runs, dtype=bool), None
    state = Elimination((runs, 3), failure_prob=TENTH, tail=chosen.variant.tail)
    for batch in range(1, chosen.batches(3) + 1):
        sheet = chosen.variant.sheet(2**batch)
        means = noisy_sums(sheet, np.zeros((runs, 3), dtype=np.int64), rng) / 2**batch
        assert state.active[holds].all()  # nothing goes out while E holds
        holds &= (np.abs(means) <= float(chosen.radius(batch))).all(axis=1)
        state.update(means)
    expected = tied_failure(chosen)
    assert 0.2 < expected < 0.8
    test = stats.binomtest(int((~holds).sum()), runs, expected)
    assert test.pvalue > FALSE_FAILURE_RATE


def test_the_printed_margin_fails_and_the_one_by_batch_holds() -> None:
    """K = 2, T = 2^20, p = 1/10 and 1/T: above 3p with the printed τ, far below with τ built for p/(K n)."""
    for p in (TENTH, Fraction(1, 2**20)):
        printed = race(epsilon=TENTH, horizon=2**20, failure_prob=p)
        assert tied_failure(printed) > 3 * p > 30 * failure_bound(replace(printed, margin="by batch"))


@pytest.mark.parametrize("name", NAMES)
def test_bounds_from_both_sides_are_in_order(name: str) -> None:
    """The certain failures never exceed the bound for all instances, and more batches only add."""
    for horizon, p in itertools.product((2**8, 2**12), (TENTH, Fraction(1, 2**12))):
        chosen = race(name, epsilon=Fraction(1, 2), horizon=horizon, failure_prob=p)
        longer = replace(chosen, horizon=4 * horizon)
        assert tied_failure(chosen) <= failure_bound(chosen) * (1 + 1e-9)
        assert failure_bound(chosen) <= failure_bound(longer)
        assert failure_bound(replace(chosen, away=Fraction(1, 4))) <= failure_bound(chosen)


@pytest.mark.parametrize("name", ["shuffle_dp_se/printed", "shuffle_dp_se/repaired"])
@pytest.mark.parametrize("batch", range(3, 9))
def test_a_garbled_sum_at_an_end_fails_as_the_distribution_on_residues_says(name: str, batch: int) -> None:
    """With q = p' and half a modulus added with probability q: all residues that are decoded too far away,
    or fewer in small batches. The bound for any S lies above, and without q it would not."""
    chosen = race(name, relaxed=True)
    sheet = chosen.variant.sheet(2**batch)
    m, q = sheet.modulus, float(sheet.tail_prob)
    assert q == pytest.approx(0.05)
    chances = np.exp(WrappedMod(sheet.total_noise(), modulus=m).logp(np.arange(m)))
    far = np.abs(decoded_sum(np.arange(m), sheet)) > 2**batch * float(chosen.radius(batch))
    truth = float((1 - q) * chances[far].sum() + q * np.roll(chances, m // 2)[far].sum())
    low = corner_failure(chosen, batch)
    assert low <= truth * (1 + 1e-9)
    assert truth <= float(arm_failure(chosen, batch, np.array([2]))[0])
    if batch >= 5:
        assert low == pytest.approx(truth, rel=1e-5)
        assert truth > 0.9 * q
        assert batch == 5 or truth > float(
            arm_failure(replace(chosen, relaxed=False), batch, np.array([2]))[0]
        )


def test_the_printed_q_breaks_three_p() -> None:
    """Theorem 3's q = 1/(2T) is for one sum: K = 10, T = 2^20. Without it the printed noise keeps 3p."""
    p = Fraction(1, 2**20)
    exact_sum = race("shuffle_dp_se/printed", epsilon=TENTH, n_arms=10, horizon=2**20, failure_prob=p)
    relaxed = replace(exact_sum, relaxed=True)
    assert failure_bound(exact_sum) < 3 * p < tied_failure(relaxed)
    assert failure_bound(replace(relaxed, margin="by batch")) < 3 * p
    sums = 10 * relaxed.batches(10)
    assert tied_failure(relaxed) <= sums * p / 2 + tied_failure(exact_sum)


@pytest.mark.parametrize("name", NAMES)
def test_a_margin_of_its_own_widens_the_modulus_alone(name: str) -> None:
    """``margin_prob`` changes τ and m; encoding, noise and radius are those of the paper's sheet."""
    plain = variant(name, epsilon="1/2", failure_prob="1/10")
    wider = variant(name, epsilon="1/2", failure_prob="1/10", margin_prob=lambda n: Fraction(1, 10 * n))
    for users in (2, 64):
        a, b = plain.sheet(users), wider.sheet(users)
        assert (a.precision, a.share, a.users) == (b.precision, b.share, b.users)
        assert b.noise_margin > a.noise_margin
        assert b.modulus == users * b.precision + 2 * b.noise_margin + 1
        assert plain.tail(users) == wider.tail(users)
    with pytest.raises(InvalidParameterError, match="margin_prob"):
        variant(name, epsilon="1/2", failure_prob="1/10", margin_prob=lambda n: n).sheet(2)


def test_noise_that_uses_assumption_1_up_breaks_three_p() -> None:
    """Simulate that noise: P[not E] as in the balls, above 3p and below (5π²/12)p."""
    p, n_arms, runs, last = Fraction(1, 100), 2, 200_000, 20
    rng = np.random.default_rng(41)
    failed = np.zeros(runs, dtype=bool)
    for batch in range(1, last + 1):
        noise = math.log(4) + rng.standard_exponential((runs, n_arms))  # |n_a|/h
        squares = n_arms * batch**2 / float(p)
        radius = math.sqrt(2 ** (batch - 1) * math.log(4 * squares)) / 1e6 + math.log(2 * squares)
        failed |= (noise > radius).any(axis=1)
    expected = float(assumption_failure(n_arms, p, last=last))
    assert 3 * p < expected < 5 * math.pi**2 / 12 * p
    assert stats.binomtest(int(failed.sum()), runs, expected).pvalue > FALSE_FAILURE_RATE
    assert float(assumption_failure(n_arms, p, last=last, inside=1)) < 2 * p  # with log(1/p) there is room


# What follows from E


def test_best_arms_are_lost_as_soon_as_e_is_left() -> None:
    """On E no best arm goes out; with decoded means 1 % beyond E one does, also among ties."""
    for arms in ((0.5, 0.5), (0.7, 0.7, 0.1), (1.0, 1 - 1e-12)):
        assert best_arms_lost(arms, batch=8, p=TENTH) == 0
        assert best_arms_lost(arms, batch=8, p=TENTH, offsets=(-1.01, 1.01)) > 0


def test_decisions_at_corners_agree_with_exact_arithmetic() -> None:
    """UCB >= max LCB in fractions on the same decoded means, except within 2^-40 of equality."""
    compared = 0
    for arms in ((1.0, 0.25), (0.5, 0.5, 0.125), (0.9, 0.8, 0.1)):
        for batch in (6, 10, 14):
            corner = corners_of_event(arms, batch=batch, p=TENTH)
            beta = Fraction(corner.radius)
            for means, stays in zip(corner.means, corner.stays, strict=True):
                values = [Fraction(mean) for mean in means]
                assert all(abs(v - Fraction(mu)) <= beta for v, mu in zip(values, arms, strict=True))
                margins = [v + beta - (max(values) - beta) for v in values]
                for margin, stay in zip(margins, stays, strict=True):
                    if abs(margin) > Fraction(1, 2**40):
                        assert stay == (margin > 0)
                        compared += 1
    assert compared > 500


def test_four_is_the_constant_of_the_second_step() -> None:
    """A gap just below 4β survives at a corner, one just above never does."""
    for n_arms in (2, 3):
        near = surviving_gaps([3.999, 4.001], n_arms=n_arms, batch=16, p=TENTH)
        assert near == pytest.approx(3.999, rel=1e-9)
    assert surviving_gaps([4.001], n_arms=2, batch=16, p=TENTH) == 0.0


@pytest.mark.parametrize("growth", [Fraction(3, 2), Fraction(2), Fraction(4)])
def test_pulls_of_a_forced_elimination_are_sums_of_batches(growth: Fraction) -> None:
    """The algorithm's own pulls against l(1) + ... + l(b̄ + 1) over l(b̄), at the worst time on the way."""
    for survived in range(4):
        lengths = [1, *(math.ceil(growth**b) for b in range(1, 7))]
        ways = [sum(lengths[1 : b + 2]) / lengths[b] for b in range(survived + 1)]
        found = pull_ratio([survived, 10**6], batches=survived + 2, growth=growth)
        assert found == pytest.approx(max(ways))


# Lemmas 1 and 2


def adversary(chosen: Race, gap: float) -> float:
    """Regret on E of arm 1 when decoded means always favour it: the decision rule itself, batch by batch."""
    arms = np.array([1.0] * (chosen.n_arms - 1) + [1 - gap])
    state = Elimination((chosen.n_arms,), failure_prob=chosen.p, tail=chosen.variant.tail)
    pulls, played = 0, 0
    while played < chosen.horizon and state.active[-1]:
        length = state.length
        here = min(length, chosen.horizon - played)
        pulls, played = pulls + here, played + length * int(state.n_active)
        radius = float(chosen.radius(state.batch, int(state.n_active)))
        sign = np.where(np.arange(chosen.n_arms) == chosen.n_arms - 1, 1.0, -1.0)
        state.update(arms + sign * radius)
    return gap * pulls


@pytest.mark.parametrize("p", [TENTH, Fraction(1, 2**20)])
@pytest.mark.parametrize("epsilon", ["1/10", "5"])
def test_an_adversary_on_e_stays_below_the_bound_and_comes_near(p: Fraction, epsilon: str) -> None:
    """Over a fine grid of gaps the worst regret that E allows lies within the bound, and not far below."""
    chosen = race(epsilon=Fraction(epsilon), horizon=2**20, failure_prob=p)
    tail = chosen.variant.tail(2)
    spread = math.log(2 * 2**20 / float(p))
    noise = tail.sigma * math.sqrt(spread) + tail.h * spread
    gaps = np.geomspace(2e-3, 1.0, 150)
    worst = max(adversary(chosen, float(gap)) / (spread / gap + noise) for gap in gaps)
    assert 0.7 * ratio_on_event(chosen) <= worst <= ratio_on_event(chosen)
    assert rate(chosen, [0.5, 0.0]) == pytest.approx(2 * spread + 2 * noise)


def test_the_ratio_to_the_rate_does_not_grow_with_the_horizon() -> None:
    """Expected regret over the rate, p = 1/T: below C everywhere and not growing from 2^12 to 2^52; held
    against the rate without its logarithm it does grow."""
    found = {}
    for j in (12, 24, 36, 52):
        chosen = race(horizon=2**j, failure_prob=Fraction(1, 2**j))
        found[j] = expected_ratio(chosen)
    assert max(found.values()) < C
    assert found[52] < 1.05 * found[12]
    assert found[52] * 52 > 2 * found[12] * 12
