"""Theorem 4.1: scales against golden values, hard inputs parsed back, lemmas against other computations."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from audits.concurrent_shuffle.error_floor import Floor, chance_above, in_units, median_above, median_floor
from audits.concurrent_shuffle.exact_tables import (
    Batch,
    bit_table,
    dependence,
    divergence,
    mixed,
    outside,
    public_protocol,
    released_with,
    small_transcripts,
    sum_table,
)
from audits.concurrent_shuffle.hard_inputs import (
    HardInputs,
    bernoulli_std,
    big_batch,
    family,
    hard_inputs,
    largest_delta,
    marked_bits,
    repeat_len,
    smallest_horizon,
    variance_ratio,
)
from audits.concurrent_shuffle.interval_escape import Sum, escape, holds_on
from audits.concurrent_shuffle.rows import (
    lower_bound,
    lower_bound_induction,
    lower_bound_lemmas,
    lower_bound_prefixes,
)
from audits.concurrent_shuffle.rows.lower_bound_induction import same_blocks, smallest_chance
from audits.concurrent_shuffle.rows.lower_bound_lemmas import _marks
from audits.concurrent_shuffle.rows.lower_bound_prefixes import alarm
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.row_verdicts import judge_row
from dpaudit.core.suite import Run
from dpaudit.distributions import Binomial
from dpaudit.kernel.ball import ball, lower, upper
from dpaudit.kernel.t1.divergence import lattice_delta
from dpaudit.kernel.t2 import special_distributions

ONE = Fraction(1)
GROUPS = (lower_bound.rows, lower_bound_induction.rows, lower_bound_lemmas.rows, lower_bound_prefixes.rows)
ROWS = {row.id: row for group in GROUPS for row in group.rows}


@pytest.mark.parametrize("row_id", sorted(ROWS))
def test_every_row_comes_out_as_expected(row_id):
    """Verdicts of rows and of their cells are the expected ones."""
    row = ROWS[row_id]
    run = Run(profile="quick", alpha=1e-3, seed=1, row_id=row_id)
    outcome = row.evaluate(run)
    judged = judge_row(row.claim, outcome.evidence, outcome.cells, unmet=outcome.unmet, alpha=run.alpha)
    assert judged.whole.judgement.verdict.value == row.expect
    for cell, one in zip(outcome.cells, judged.cells, strict=True):
        assert one.judgement.verdict.value == cell.expect, cell.name


# Scales


@pytest.mark.parametrize(
    ("epsilon", "value"), [("1", 0.324027), ("1/2", 0.443409), ("1/10", 0.497510), ("2", 0.132901)]
)
def test_bernoulli_std_is_that_of_the_bit(epsilon, value):
    """c_ε: golden values, and sqrt(q (1 - q)) with q = 1/(e^{2ε} + 1)."""
    found = lower(bernoulli_std(Fraction(epsilon)))
    q = 1 / (math.exp(2 * float(Fraction(epsilon))) + 1)
    assert found == pytest.approx(value, abs=5e-7)
    assert found == pytest.approx(math.sqrt(q * (1 - q)), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "reps", "bigs"),
    [
        (4096, (3.7741, 1.0713, 0.6245), (7.5482, 93.6804, 275.6914)),
        (10**6, (23.5880, 3.2169, 1.3697), (47.1760, 2536.4865, 13992.0193)),
    ],
)
def test_scales_are_the_golden_values(n, reps, bigs):
    """rep and Big at ε = 1, and both identities in floats."""
    for k, rep, big in zip((1, 2, 3), reps, bigs, strict=True):
        assert lower(repeat_len(n, k, ONE)) == pytest.approx(rep, abs=6e-5)
        assert lower(big_batch(n, k, ONE)) == pytest.approx(big, abs=6e-5)
        assert lower(repeat_len(big_batch(n, k, ONE), k - 1, ONE)) == pytest.approx(rep, abs=6e-5)
        spread = 0.3240271368319427 * math.sqrt(n / big) / 2
        assert spread == pytest.approx(rep, rel=1e-4)
    assert lower(repeat_len(n, 0, ONE)) == pytest.approx(n / 2)


def test_the_smallest_horizon_is_found_by_search_as_well():
    """k = 1: bisection over the printed inequality in floats."""
    low, high = 1, 10**12
    c = 0.3240271368319427
    while high - low > 1:
        n = (low + high) // 2
        good = n * c**2 / (n ** (1 / 3) * c ** (2 / 3)) > 200**2
        low, high = (low, n) if good else (n, high)
    assert smallest_horizon(1, ONE) == pytest.approx(high, rel=1e-9)
    assert variance_ratio(2**30, 1, ONE) > 200**2
    assert largest_delta(100, 3, Fraction(1, 2)) == Fraction(1, 2) / 16000


@pytest.mark.parametrize(("k", "epsilon"), [(2, Fraction(1, 2)), (13, ONE), (14, Fraction(1, 2)), (40, ONE)])
def test_the_smallest_horizon_is_exact_however_large(k: int, epsilon: Fraction):
    """Against mpmath with 400 digits: 10^76 and more at the 13 and 14 shufflers of Algorithm 2."""
    with mpmath.workdps(400):
        growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        exact = mpmath.mpf(200) ** (2 * k + 1) * (growth + 1 / growth) ** (2 * k)
        assert smallest_horizon(k, epsilon) == int(mpmath.floor(exact)) + 1


# Hard inputs


def test_inputs_parse_back_into_prefix_singles_and_runs():
    """A drawn input is its prefix, then blocks of one and of R equal bits; all fair bits differ somewhere."""
    rng = np.random.default_rng(3)
    member = HardInputs(horizon=50, copies=4, prefix_len=3, prefix_bit=1)
    drawn = member.draw(rng, runs=400)
    assert (drawn[:, :3] == 1).all()
    position, size = 3, 1
    while position < 50:
        block = drawn[:, position : position + size]
        assert (block == block[:, :1]).all()
        assert 120 < block[:, 0].sum() < 280
        position, size = position + size, 5 - size
    assert member.singles[:3] == (4, 9, 14)
    assert hard_inputs(100, 1, ONE, rng=rng, runs=7).shape == (7, 100)
    with pytest.raises(InvalidParameterError, match="at most as long"):
        HardInputs(horizon=5, copies=2, prefix_len=3)


def test_family_has_every_prefix():
    """None, half and all of rep, of either bit."""
    members = list(family(10**6, 1, ONE))
    assert {(m.prefix_len, m.prefix_bit) for m in members} == {(0, 0), (12, 0), (12, 1), (24, 0), (24, 1)}
    assert {m.copies for m in members} == {24}


@pytest.mark.parametrize("distance", [2, 7, 12.5])
def test_no_batch_holds_two_marked_bits(distance):
    """Windows of Big users hold one at most, and the bits are single ones."""
    member = HardInputs(horizon=200, copies=3, prefix_len=2)
    marked = marked_bits(member, distance=distance)
    assert set(marked) <= set(member.singles)
    size = math.floor(distance)
    for start in range(1, 200 - size + 2):
        assert sum(start <= user < start + size for user in marked) <= 1
    assert len(marked) >= 200 / (distance + 4) - 1


def test_a_wrong_cut_is_caught():
    """Cuts whose prefix is one bit too long have other blocks."""
    member = HardInputs(horizon=40, copies=3)
    right = [same_blocks(member, start, 20) for start in range(1, 20)]

    class Off(HardInputs):
        def cut(self, start, size):
            named = super().cut(start, size)
            return HardInputs(horizon=size, copies=3, prefix_len=(named.prefix_len + 1) % 4)

    wrong = [same_blocks(Off(horizon=40, copies=3), start, 20) for start in range(1, 20)]
    assert all(right)
    assert not any(wrong)


def test_base_case_by_brute_force():
    """The best of all answers on a fine grid errs by n/4 - 1 no less often than the enumeration says."""
    member = HardInputs(horizon=12, copies=6, prefix_len=2)
    sums = [
        int(member.values(np.array(fair)).sum()) for fair in itertools.product((0, 1), repeat=member.bits)
    ]
    chances = [np.mean([abs(y / 8 - s) >= 2 for s in sums]) for y in range(8 * 13)]
    assert min(chances) == float(smallest_chance(member))
    assert smallest_chance(HardInputs(horizon=12, copies=2)) < Fraction(1)


# Errors in units of rep


@pytest.mark.parametrize(("k", "epsilon"), [(1, "1"), (2, "1/2"), (3, "1")])
def test_the_median_floor_is_below_the_exact_median(k, epsilon):
    """Berry and Esseen's level against the binomial distribution's own quantiles."""
    floor = Floor(m=2**10, k=k, epsilon=Fraction(epsilon))
    noise, level = floor.noise, lower(median_above(floor) * floor.rep)
    n, p = noise.trials, float(noise.p)
    exact = stats.binom.cdf(n * p - level, n, p) + stats.binom.sf(n * p + level - 1, n, p)
    assert 0.5 <= exact < 0.51
    assert lower(floor.rep) > 100


def test_chance_above_is_a_lower_bound():
    """Against exact tails of small and lopsided binomials."""
    for n, p in ((10**4, "1/2"), (10**5, "1/20")):
        distribution = Binomial(trials=n, p=p)
        for level in (10, 40, 90):
            mean = n * float(distribution.p)
            exact = stats.binom.cdf(mean - level, n, float(distribution.p)) + stats.binom.sf(
                mean + level - 1, n, float(distribution.p)
            )
            found = upper(chance_above(distribution, ball(level)))
            assert exact - 0.08 < found < exact


def test_simulated_units_are_errors_over_rep():
    """Errors are sorted and above rep; the confidence floor is below the medians, 0 for too few runs."""
    rng = np.random.default_rng(2)
    found = in_units("Algorithm 3, calibrated bits", n=512, k=1, epsilon=ONE, runs=60, rng=rng)
    assert found.shape[1] == 60
    assert (np.diff(found, axis=1) >= 0).all()
    assert 3 < median_floor(found, alpha=0.01) <= np.median(found, axis=1).min()
    assert median_floor(found[:, :3], alpha=0.01) == 0.0


# Lemmas


def test_divergence_is_the_kernels():
    """Shifted binomials: the table's δ against ball arithmetic at ε = log 2."""
    table = sum_table(1, trials=20)
    found = divergence(table[0,], table[1,], Fraction(2))
    exact = lattice_delta(
        special_distributions.Binomial(20, Fraction(1, 2)), shift=1, epsilon=Fraction(math.log(2))
    )
    assert float(found) == pytest.approx(lower(exact), rel=1e-9)


def test_outside_by_hand():
    """Two outcomes with a likelihood ratio of 9: outside [1/4, 4], inside [1/9, 9]."""
    p, q = {0: Fraction(9, 10), 1: Fraction(1, 10)}, {0: Fraction(1, 10), 1: Fraction(9, 10)}
    assert outside(p, q, Fraction(2)) == 1
    assert outside(p, q, Fraction(3)) == 0
    assert outside({0: ONE}, {1: ONE}, Fraction(100)) == 1


def test_mixtures_overwrite_one_entry():
    """A point mass gives the mechanism's own distribution at the overwritten data."""
    table = bit_table(2, outcomes=3, seed=1)
    assert mixed(table, {(0, 1): ONE}, index=0, value=1) == table[1, 1]
    assert all(sum(distribution.values()) == 1 for distribution in table.values())


def test_a_smaller_constant_in_lemma_b3_fails():
    """A mechanism that tells its input with probability 1/2: within 2δ/min(ε, 1), above δ/(2 min(ε, 1))."""
    tells, half = {0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1, 2), 2: Fraction(1, 2)}
    delta, worst = divergence(tells, half, Fraction(2)), outside(tells, half, Fraction(2))
    assert (delta, worst) == (Fraction(1, 2), Fraction(1, 2))
    assert float(delta) / 2 < float(worst) * math.log(2) <= 2 * float(delta)


def test_released_data_tells_itself():
    """A neighbour inside I is told apart with certainty."""
    released = released_with(sum_table(2, trials=4), lambda y: (0,))
    assert divergence(released[0, 0], released[1, 0], Fraction(5)) == 1
    assert all(sum(distribution.values()) == 1 for distribution in released.values())


def test_dependence_finds_what_is_dependent():
    """Two equal bits are as dependent as can be; independent ones are not."""
    assert dependence({"t": {(0, 0): 1, (1, 1): 1, (0, 1): 0, (1, 0): 0}}) == Fraction(1, 4)
    assert dependence({"t": {(0, 0): 2, (1, 1): 3, (0, 1): 1, (1, 0): 6}}) == 0
    assert dependence(public_protocol(3, rounds=2, seed=9)) == 0


def test_two_marked_bits_in_one_batch_are_dependent():
    """What Lemma B.6 needs the distance for: a batch that holds two marked bits ties them."""
    member = HardInputs(horizon=4, copies=1)
    one_batch = lambda history: None if history else Batch(1, 4, 2)  # noqa: E731
    joint = small_transcripts(member, (1, 3), one_batch)
    assert dependence(joint) == Fraction(1, 12)
    total = sum(sum(weights.values()) for weights in joint.values())
    assert total == 2**4 * 2**8  # all inputs, all weights of one batch


@pytest.mark.parametrize(("n", "p"), [(160000, "1/2"), (444445, "1/10")])
def test_escape_is_a_lower_bound_within_a_factor_of_two(n, p):
    """Against scipy's tails at the interval around the mean, and at some others."""
    distribution, half = Sum(n, Fraction(p)), stats.binom(n, float(Fraction(p)))
    for width in (1, 301, 1201):
        start = round(n * distribution.p) - width // 2
        centred = half.cdf(start - 1) + half.sf(start + width - 1)
        found = upper(escape(distribution, width))
        assert centred / 2.5 < found <= centred
        for other in (start - 200, start + 57):
            assert found <= half.cdf(other - 1) + half.sf(other + width - 1)


def test_too_large_a_constant_fails():
    """c = 4: an interval around the mean that long is missed with less than β."""
    a, beta = Fraction(1, 4), Fraction(1, 2**40)
    high, chance = holds_on(Sum(160000, Fraction(1, 2)), a=a, c=Fraction(4), low=beta, high=beta)
    length = 4 * math.sqrt(40000 * math.log(float(a / beta)))
    exact = 2 * stats.binom(160000, 0.5).sf(80000 + length / 2 - 1)
    assert upper(chance) < float(high)
    assert exact < float(beta)


# Privacy given a prefix


def test_the_alarm_is_private_as_a_whole_and_shows_all_after_its_prefix():
    """δ of the whole is the probability of "!", at any ε; δ of the continuation is 1."""
    whole, given = alarm(Fraction(1, 100))
    for ratio in (Fraction(11, 10), Fraction(50)):
        assert divergence(whole[0, 0], whole[0, 1], ratio) == Fraction(1, 100)
        assert divergence(given["!"][0, 0], given["!"][0, 1], ratio) == 1
        assert divergence(given["."][0, 0], given["."][0, 1], ratio) == 0
    assert sum(whole[1, 0].values()) == 1


def test_marked_bits_are_fewer_than_printed():
    """n = 10⁶: enumerate the member's single bits, and compare with the row's formula."""
    n, k = 10**6, 1
    big = big_batch(n, k, ONE)
    found = max(len(marked_bits(HardInputs(horizon=n, copies=copies), distance=big)) for copies in (23, 24))
    assert found == _marks(k, 6, ONE)[1]
    assert found >= n / (upper(big) + upper(repeat_len(n, k, ONE)) + 2) - 1
