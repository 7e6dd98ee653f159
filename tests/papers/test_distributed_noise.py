"""The distributed bandits paper, noise and accounting: each row's verdict, and the rows' own mathematics
against independent routes (direct convolution, enumeration, simulation, another library)."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from audits.distributed_mab import (
    noise_privacy,
    renyi_privacy,
)
from audits.distributed_mab.concentrated_privacy import NEAR_ONE
from audits.distributed_mab.noise_privacy import worst_shift
from audits.distributed_mab.rows import accounting as accounting_rows
from audits.distributed_mab.rows import (
    aggregate_divergences,
    aggregate_privacy,
    concentration,
    errors,
    noise,
    returning_users,
    tails,
)
from dpaudit.certify.witnesses.divergence import divergence_witness
from dpaudit.core import conversions
from dpaudit.core.claims import PureDP, ZeroConcentratedDP
from dpaudit.core.suite import Row, Run, Suite
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import DiscreteLaplace, Skellam, WrappedMod
from dpaudit.distributions.exact_tails import beyond
from dpaudit.kernel.ball import arb, ball, precision
from dpaudit.reference.mechanisms.decoding_error import Rewards, error_probability
from dpaudit.reference.mechanisms.gaussian_sum_divergence import (
    divergence_excess,
    largest_log_ratio,
    one_gaussian,
    xi,
)
from dpaudit.reference.mechanisms.modular_sum import decoded_sum
from dpaudit.reference.mechanisms.parameter_sheet import polya_sheet
from dpaudit.run.finding import finding_of
from dpaudit.suite import Sides, over, step, worst_of
from tests.rates import FALSE_FAILURE_RATE

GROUPS = (
    noise,
    tails,
    concentration,
    errors,
    aggregate_privacy,
    aggregate_divergences,
    accounting_rows,
    returning_users,
)


def rows() -> list[Row]:
    """The rows of these modules alone."""
    suite = Suite(paper="distributed_mab", title="noise")
    suite.include(*(module.rows for module in GROUPS))
    return suite.rows


@pytest.mark.sample(12)
@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_every_row_has_the_expected_verdict(row: Row) -> None:
    """Each row, and each of its cells, decides as its author expects, in the quick profile, and says what it
    does."""
    outcome = row.evaluate(Run(profile="quick", alpha=1e-3, seed=7, row_id=row.id))
    finding = finding_of(row.claim, outcome, alpha=1e-3)
    assert finding["verdict"] == row.expect
    assert [cell["verdict"] for cell in finding["cells"]] == [cell.expect for cell in outcome.cells]
    assert row.evaluate.__doc__


def test_refuted_rows_have_a_true_variant_beside_them() -> None:
    """Whatever is refuted shares its id's stem with a verified row: a range, a repair, or the statement."""
    verified = {row.id for row in rows() if row.expect == "verified"}
    for row in rows():
        if row.expect == "refuted":
            stem = "/".join(row.id.split("/")[:1])
            assert any(other == stem or other.startswith(stem + "/") for other in verified), row.id


def test_a_third_of_the_radius_fails() -> None:
    """Negative control: Proposition 1 with its radius divided by 3 is refuted by the same computation."""

    @step(over=over(variance=100, p="1/1000"))
    def third(variance: Fraction, p: Fraction) -> Sides:
        """a third of the radius"""
        return beyond(Skellam(variance=variance), tails.skellam_radius(variance, p) / 3), p

    assert worst_of(third, Run(profile="quick", alpha=0.01, seed=0, row_id="control")).low > 1


def test_the_error_distribution_of_a_batch_matches_the_protocol() -> None:
    """Simulated batches (rounding, shares, modulus, analyzer) exceed thresholds as often as the exact
    distribution says."""
    rng = np.random.default_rng(11)
    n, runs = 8, 20_000
    cases: tuple[tuple[Rewards, Fraction], ...] = (("constant", Fraction(2, 5)), ("coins", Fraction(1, 10)))
    for rewards, mean in cases:
        sheet = polya_sheet(users=n, epsilon=1, tail_prob="1/2")
        x = np.full((runs, n), float(mean)) if rewards == "constant" else rng.random((runs, n)) < float(mean)
        encoded = np.floor(x * sheet.precision + rng.random((runs, n))).astype(np.int64)
        noise = sheet.share.sample(rng, (runs, n))
        seen = (encoded + noise).sum(axis=1) % sheet.modulus
        error = np.abs(np.asarray(decoded_sum(seen, sheet)) - x.sum(axis=1))
        for threshold in (0.9, 2.1, 5.2):
            exact = error_probability(sheet, threshold, mean=mean, rewards=rewards)
            count = int(np.sum(error > threshold))
            assert stats.binomtest(count, runs, exact).pvalue > FALSE_FAILURE_RATE


def test_the_dropout_witness_is_the_hypergeometric_ratio() -> None:
    """The witness's loss is log f(0)/f(g) of the Pólya difference, up to what the modulus adds."""
    claim = PureDP(epsilon=1, view=View.of(SERVER), domain=noise_privacy.DOMAIN)
    witness = noise_privacy.dropout_witness(claim, users=10, present=9)
    g = polya_sheet(users=10, epsilon=1, tail_prob=Fraction(1, 2**20)).precision
    r, x = 0.9, math.exp(-1 / g)
    falling = math.exp(special.gammaln(r + g) - special.gammaln(r) - special.gammaln(g + 1))
    ratio = special.hyp2f1(r, r, 1, x * x) / (x**g * falling * special.hyp2f1(r, r + g, g + 1, x * x))
    assert witness.bound is not None
    assert float(witness.bound) == pytest.approx(math.log(ratio), rel=1e-9)


def test_lemma_3_and_theorem_2_by_hand() -> None:
    """The printed formulas at round numbers."""
    assert renyi_privacy.lemma_3(2, 1, Fraction(1)) == 1 + min(Fraction(9, 4), Fraction(3, 2))
    assert renyi_privacy.theorem_2_final(2, Fraction(1), Fraction(1)) == 1 + Fraction(3, 2)
    with precision(128):
        found = renyi_privacy.theorem_2_batch(2, Fraction(1), Fraction(1), 4)
    assert float(found) == pytest.approx(1 + min(3 / 16 + 3 / 16, 3 / 4))


def convolved(variance: float, count: int) -> Any:
    """Masses of the sum of ``count`` discrete Gaussians, by direct convolution."""
    reach = math.ceil(24 * math.sqrt(variance)) + 8
    single = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * variance))
    total = np.array([1.0])
    for _ in range(count):
        total = np.convolve(total, single / single.sum())
    return total


@pytest.mark.parametrize(("variance", "count", "shift"), [("1/4", 8, 3), ("1/2", 5, 2), ("1/4", 6, 3)])
def test_excess_divergences_match_convolution(variance: str, count: int, shift: int) -> None:
    """The excess by the periodic factor equals a directly convolved divergence minus αD²/(2nv)."""
    masses = convolved(float(Fraction(variance)), count)
    with np.errstate(divide="ignore"):
        here, there = np.log(masses[shift:]), np.log(masses[:-shift])
    usable = np.isfinite(here) & np.isfinite(there) & (there > -300)
    plain = one_gaussian(Fraction(variance), count=count, shift=shift)
    for order in (Fraction(11, 10), Fraction(3), Fraction(15, 2)):
        a = float(order)
        direct = special.logsumexp(a * here[usable] + (1 - a) * there[usable]) / (a - 1)
        found = divergence_excess(Fraction(variance), count=count, shift=shift, order=order)
        assert float(found) == pytest.approx(direct - a * float(plain), abs=1e-9)
    near_one = divergence_excess(Fraction(variance), count=count, shift=shift, order=NEAR_ONE)
    claim = ZeroConcentratedDP(rho=1, view=View.of(SERVER))
    witness = divergence_witness(
        claim,
        "discrete-gaussian-sum",
        shift=shift,
        order=NEAR_ONE,
        description="test",
        variance=variance,
        count=count,
    )
    rho = float(plain) + float(near_one) / float(NEAR_ONE)
    assert float(witness.bound or 0) == pytest.approx(rho, rel=1e-12)
    assert float(near_one) <= float(largest_log_ratio(Fraction(variance), count=count, shift=shift))


def test_lemma_4_fails_by_more_as_the_sum_grows() -> None:
    """With Δ = n/2 at σ = 1/2 the exact excess over ξ/4 grows with n, and passes 1 between 16 and 64."""
    ratios = []
    for count in (16, 32, 64):
        excess = divergence_excess(Fraction(1, 4), count=count, shift=count // 2, order=NEAR_ONE)
        with precision(128):
            ratios.append(float(4 * excess / xi(Fraction(1, 4), count - 1)))
    assert ratios == sorted(ratios)
    assert ratios[0] < 1 < ratios[-1]


def test_long_xi_sums_are_enclosed() -> None:
    """The shortened ξ holds the sum of all its terms."""
    with precision(128):
        short = xi(Fraction(1), 10_000)
        rate = -2 * arb.pi() ** 2
        terms = (10 * (rate * ball(Fraction(k, k + 1))).exp() for k in range(1, 10_001))
        assert short.overlaps(sum(terms, arb(0)))


def test_composed_responses_match_enumeration() -> None:
    """The complement of delta of k-fold randomised response with a leak equals a sum over all transcripts."""
    epsilon, at, times, leak = 0.7, 0.9, 3, Fraction(1, 20)
    stay = math.exp(epsilon) / (1 + math.exp(epsilon))
    shown = 0.05
    # outcomes of one mechanism: true bit, false bit (each kept with 1 - leak), or everything shown
    here, there = (
        ((1 - shown) * stay, (1 - shown) * (1 - stay), shown, 0.0),
        (
            (1 - shown) * (1 - stay),
            (1 - shown) * stay,
            0.0,
            shown,
        ),
    )
    delta = sum(
        max(math.prod(here[i] for i in path) - math.exp(at) * math.prod(there[i] for i in path), 0.0)
        for path in itertools.product(range(4), repeat=times)
    )
    with precision(128):
        found = conversions.response_delta(
            ball(Fraction(7, 10)), times=times, at=ball(Fraction(9, 10)), leak=leak
        )
    assert float(found) == pytest.approx(1 - delta, rel=1e-12)


def test_gaussian_delta_matches_the_normal_distribution() -> None:
    """The exact Gaussian curve agrees with scipy's, at negative epsilon too."""
    for rho, epsilon in ((Fraction(1, 2), 1.0), (Fraction(1, 100), -0.3)):
        mu = math.sqrt(2 * float(rho))
        expected = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
            -mu / 2 - epsilon / mu
        )
        with precision(128):
            found = conversions.gaussian_delta(rho, ball(Fraction(epsilon)))
        assert float(found) == pytest.approx(float(expected), rel=1e-9)


def test_the_conversion_is_best_where_it_is_evaluated() -> None:
    """Orders a little to either side of the best one give no smaller ε: the infimum is not missed."""
    for rho, delta in ((Fraction(1, 2), Fraction(1, 10**6)), (Fraction(1, 10**4), Fraction(9, 10))):
        best = conversions.best_order(rho, delta)
        with precision(128):
            values = [
                float(conversions.converted(ball(rho * order), order, delta))
                for order in (1 + (best - 1) * Fraction(99, 100), best, 1 + (best - 1) * Fraction(101, 100))
            ]
        assert values[1] == min(values)


def test_every_shift_up_to_g_is_compared() -> None:
    """Modulo 6 and up to g = 4 the worst shift of Lap_Z is 3, half the circle: neither an end nor g/2."""
    noise = DiscreteLaplace(scale=2)
    sheet = replace(polya_sheet(users=2, epsilon=1, tail_prob="1/2"), precision=4, modulus=6)
    distribution = np.exp(WrappedMod(noise, modulus=6).logp(np.arange(6)))
    by_shift = [np.abs(np.log(distribution / np.roll(distribution, shift))).max() for shift in range(1, 5)]
    assert int(np.argmax(by_shift)) == 2
    assert float(worst_shift(sheet, noise, Fraction(1)).mid()) == pytest.approx(max(by_shift), rel=1e-12)
