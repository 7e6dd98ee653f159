"""Privacy of the whole distributed protocols: the functions behind the rows, against independent routes, and
controls that must be caught."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from audits.distributed_mab import (
    central_decisions,
    enumerated_protocols,
    lost_messages,
    returning_programs,
)
from audits.distributed_mab.protocol_runs import protocol_audit
from audits.distributed_mab.rows import divergence_protocols
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import force, record, replay
from dpaudit.coins.base import Coins
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import CertificateError, NotTractableError
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.core.views import PUBLIC, SERVER, View
from dpaudit.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    Distribution,
    Polya,
    PolyaDifference,
    Skellam,
    SumMod,
    WrappedMod,
)
from dpaudit.kernel.ball import arb
from dpaudit.reference.algorithms.mab.batched_elimination import batch_lengths, confidence_radius
from dpaudit.reference.algorithms.mab.distributed_elimination import program, strategy, variant
from dpaudit.reference.algorithms.mab.steered_histories import HISTORIES, certain_lengths, steered
from dpaudit.reference.algorithms.neighbours import reward_pairs
from dpaudit.reference.mechanisms.modular_sum import clipped, decoded_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet
from dpaudit.reference.mechanisms.secure_aggregation import masked_sum
from dpaudit.replay.accounting import worst_loss
from dpaudit.replay.aggregate_histories import Followed, survey
from dpaudit.replay.privacy import privacy_outcome

RUN = Run(profile="quick", alpha=0.05, seed=3, row_id="test")


# The worst residue


@pytest.mark.parametrize(
    "base",
    [
        DiscreteLaplace(scale=3),
        Skellam(variance=4),
        PolyaDifference(shape=Fraction(1, 2), log_ratio=Fraction(1, 2)),
        Polya(shape=2, log_ratio=Fraction(1, 3)),
    ],
    ids=["discrete Laplace", "Skellam", "Pólya difference", "Pólya, not symmetric"],
)
def test_the_worst_residue_is_the_largest_log_ratio_of_all(base: Distribution) -> None:
    """Against both distributions' atoms, one by one, in balls."""
    distribution, other = (WrappedMod(base, modulus=23, offset=offset) for offset in (20, 2))
    ratios = [(p / q).log() for (_, p), (_, q) in zip(distribution.atoms(), other.atoms(), strict=True)]
    found = distribution.largest_loss(other)
    assert found is not None
    assert float(found) == pytest.approx(max(abs(float(ratio.mid())) for ratio in ratios), rel=1e-9)
    assert worst_loss(distribution, other) == found
    place = distribution.outcome_against(other, 0.0)
    assert place is not None
    assert float(ratios[int(place)].mid()) == pytest.approx(max(float(r.mid()) for r in ratios), rel=1e-9)


def test_entries_of_a_vector_add_up_and_unmoved_ones_cost_nothing() -> None:
    """Three messages of which one moved cost what that one costs; what cannot be compared has no cost."""
    base = DiscreteLaplace(scale=2)
    distribution = WrappedMod(base, modulus=19, offset=np.array([0, 3, 0]))
    other = WrappedMod(base, modulus=19, offset=np.array([0, 7, 0]))
    single = WrappedMod(base, modulus=19).largest_loss(WrappedMod(base, modulus=19, offset=4))
    assert distribution.largest_loss(other) == single
    assert distribution.largest_loss(distribution) == 0
    assert distribution.largest_loss(WrappedMod(base, modulus=17, offset=np.array([0, 7, 0]))) is None
    assert (
        distribution.outcome_against(
            WrappedMod(Skellam(variance=4), modulus=19, offset=distribution.offset), 0.0
        )
        is None
    )


def test_rounding_never_lifts_discrete_laplace_noise_above_its_cost() -> None:
    """With a modulus so large that wrapping is lost in rounding the loss is at most the shift over the
    scale."""
    base = DiscreteLaplace(scale=Fraction(1, 2))
    distribution, other = (WrappedMod(base, modulus=3001, offset=offset) for offset in (0, 4))
    found = distribution.largest_loss(other)
    assert found is not None
    assert Fraction(8) - Fraction(1, 10**9) < found <= 8


# Steered histories


@pytest.mark.parametrize("name", ["dist_dp_se", "dist_rdp_se", "cdp_se", "ldp_se"])
def test_steered_aggregates_decode_to_the_ends_of_the_range(name: str) -> None:
    """The two residues are the largest and the smallest of all that the analyzer can return."""
    chosen, lengths = variant(name, epsilon=1, failure_prob="1/50"), (2, 8)
    for users in lengths:
        sheet = chosen.sheet(users)
        decoded = decoded_sum(np.arange(sheet.modulus), sheet)
        choose = steered(chosen, lengths, lambda k: k == 0)
        distribution = WrappedMod(sheet.share, modulus=sheet.modulus)
        assert decoded[choose("aggregate", 0, distribution)] == decoded.max()
        assert decoded[choose("aggregate", 1, distribution)] == decoded.min()
        messages = WrappedMod(sheet.share, modulus=sheet.modulus, offset=np.zeros(users, dtype=np.int64))
        assert decoded[choose("message", 0, messages).sum() % sheet.modulus] == decoded.max()
    assert steered(chosen, lengths, lambda k: None)("aggregate", 0, distribution) is None


def test_a_program_with_half_the_noise_is_refuted() -> None:
    """The same audit, with the noise of ε = 2 under the claim of ε = 1: a witness near 2."""
    audit = protocol_audit(
        "dist_dp_se", epsilon=2, horizon=14, rounds=(0, 5), ways={}, backgrounds={"zeros": (0.0, 0.0)}
    )
    wrong = replace(audit, claim=PureDP(epsilon=1, view=audit.claim.view, domain=audit.claim.domain))
    outcome = privacy_outcome(wrong, RUN)
    judgement = judge(wrong.claim, outcome.evidence, unmet=outcome.unmet)
    assert judgement.verdict is VerdictKind.REFUTED
    assert judgement.lower is not None
    assert 1.9 < float(judgement.lower) <= 2


# The central model


def test_the_decision_event_by_an_outer_product_of_float_masses() -> None:
    """Arm 2 goes out if the means are more than 2β apart, with a margin far above rounding; the witness's
    loss is that of the two probabilities, nearly ε and never more; one that claims more is refused."""
    users, horizon = central_decisions.LENGTH, central_decisions.HORIZON
    chosen = variant("cdp_se", epsilon=central_decisions.EPSILON, failure_prob=Fraction(1, horizon))
    sheet = chosen.sheet(users)
    beta = float(confidence_radius(1, 2, users, failure_prob=1 / horizon, tail=chosen.tail(users)))
    means = decoded_sum(np.arange(sheet.modulus), sheet) / users
    gaps = means[:, None] - means[None, :]
    assert np.abs(gaps - 2 * beta).min() > 1e-6
    event = gaps > 2 * beta
    assert np.array_equal(event, central_decisions.arm_goes_out(chosen))
    masses = {
        total: np.exp(sheet.aggregate_distribution(total).logp(np.arange(sheet.modulus)))
        for total in (0, (users - 1) * sheet.precision, users * sheet.precision)
    }
    here, there = (
        float((np.outer(masses[total], masses[0]) * event).sum()) for total in sorted(masses)[:0:-1]
    )
    claim = PureDP(epsilon=central_decisions.EPSILON, view=View.of(PUBLIC))
    witness = central_decisions.decision_witness(claim)
    assert witness.bound is not None
    assert float(witness.bound) == pytest.approx(math.log(here / there), rel=1e-9)
    assert 0.499 < witness.bound <= central_decisions.EPSILON
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(replace(witness, bound=witness.bound + Fraction(1, 10**9)), claim)


def test_the_literal_server_plays_as_the_model_does() -> None:
    """Algorithm 3 word for word differs from the central model in what it shows, not in what it plays."""
    chosen = variant(
        "cdp_se", epsilon=central_decisions.EPSILON, failure_prob=Fraction(1, central_decisions.HORIZON)
    )
    data = np.tile([1.0, 0.0], (central_decisions.HORIZON, 1))
    plain = record(
        program(chosen, growth=central_decisions.LENGTH, grid=1), data, rng=np.random.default_rng(5)
    )
    literal = record(central_decisions.literal_program(), data, rng=np.random.default_rng(5))
    exact = [site for site in literal.sites if site.site == "exact sum"]
    assert [site.value for site in plain.sites] == [s.value for s in literal.sites if s.site != "exact sum"]
    assert [site.value for site in exact] == [
        central_decisions.LENGTH * chosen.sheet(central_decisions.LENGTH).precision,
        0,
    ]


# Cut batches and lost messages


def test_completed_batches_by_a_plain_loop() -> None:
    """Round by round: a batch of an arm is complete when its last user has played and a round is left."""
    for horizon in range(1, 80):
        complete, played, length = 0, 0, 2
        while True:
            for _ in range(2):
                played += length
                complete += played < horizon
            if played >= horizon:
                break
            length *= 2
        assert lost_messages.completed_batches(horizon) == complete


def test_a_run_that_aggregates_the_cut_batch_is_noticed() -> None:
    """With T = 14 declared, a run over 21 rounds whose users answer until round 14 sums one batch more."""
    chosen = variant("dist_dp_se", epsilon=1, failure_prob="1/14")
    longer = program(chosen, grid=1, participation=[t < 14 for t in range(21)])

    def padded(coins: Coins, data: Any) -> Any:
        return longer(coins, np.concatenate([data, np.zeros((7, 2))]))

    rng = np.random.default_rng(1)
    extra, moved = lost_messages.unfinished_batches(padded, 14, rng=rng)
    assert extra == 1
    assert moved > 0
    assert lost_messages.unfinished_batches(program(chosen, grid=1), 14, rng=rng) == (0, 0)


def test_shares_for_three_of_four_users_make_laplace_noise_of_three() -> None:
    """Three shares of the repaired sheet are Lap_Z(g/ε) exactly, as four of the printed one are."""
    chosen = variant("dist_dp_se", epsilon=1, failure_prob="1/14")
    mended = lost_messages.oversized(chosen, Fraction(3, 4)).sheet(4)
    assert mended.total_noise(present=3) == chosen.sheet(4).total_noise()
    assert mended.total_noise() != chosen.sheet(4).total_noise()


# Enumerated protocols


def test_rounded_rewards_by_a_sum_over_roundings() -> None:
    """One batch of two users: the distribution of ŷ as a mixture over both rounding bits, in floats."""
    sheet = variant("dist_dp_se", epsilon=Fraction(1, 2), failure_prob=1).sheet(2)
    residues, g = np.arange(sheet.modulus), sheet.precision

    def distribution(rewards: Sequence[float]) -> Any:
        total = np.zeros(sheet.modulus)
        chances = {0: 1.0}
        for reward in rewards:
            whole, rest = math.floor(reward * g), reward * g - math.floor(reward * g)
            steps = ((whole, 1 - rest), (whole + 1, rest))
            found: dict[int, float] = {}
            for value, p in chances.items():
                for step, q in steps:
                    found[value + step] = found.get(value + step, 0.0) + p * q
            chances = found
        for value, p in chances.items():
            total += p * np.exp(sheet.aggregate_distribution(value).logp(residues))
        return total

    before, after = distribution((0.25, 0.375)), distribution((0.625, 0.375))
    expected = float(np.abs(np.log(before / after)).max())
    found = enumerated_protocols.rounding_loss(
        Fraction(1, 2), 3, Fraction(3, 8), Fraction(1, 4), Fraction(5, 8)
    )
    assert float(found.mid()) == pytest.approx(expected, rel=1e-9)


def unmasked_sum(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
    """The masked protocol with its masks forgotten."""
    messages = [
        coins.draw(clipped(distribution, modulus=sheet.modulus), site="message")
        for distribution in distributions
    ]
    return sum(coins.reveal(y, site="masked", to=SERVER) for y in messages) % sheet.modulus


def test_masks_that_are_forgotten_are_noticed() -> None:
    """The distribution of bare messages is far from uniform given their sum; that of masked ones is not."""
    budget = Fraction(1, 2)
    bare = enumerated_protocols.masked_deviation(budget, 1, 0, unmasked_sum)
    masked = enumerated_protocols.masked_deviation(budget, 1, 0, masked_sum)
    assert bare > arb("0.5")
    assert masked < arb("1e-12")


# Returning users


def test_the_schedule_is_within_assumption_2() -> None:
    """Every user plays in at most B batches and once in each; the returning ones in all of them."""
    users = set(returning_programs.SCHEDULE)
    batches = {user: returning_programs.batches_of(user) for user in users}
    assert all(len(set(of)) == len(of) <= returning_programs.BATCHES for of in batches.values())
    assert batches[0] == [1, 2]
    assert len(returning_programs.SCHEDULE) == returning_programs.HORIZON
    assert users == set(range(max(users) + 1))


def test_a_returning_user_moves_one_aggregate_in_each_batch() -> None:
    """The program on users is the one on rounds with the players' rewards, and its replay moves two sums."""
    chosen = variant("dist_dp_se", epsilon=1, failure_prob=Fraction(1, returning_programs.HORIZON))
    rounds = program(chosen, growth=returning_programs.GROWTH, grid=1)
    on_users = returning_programs.returning_program(
        strategy(chosen, growth=returning_programs.GROWTH, grid=1)
    )
    users = np.zeros((max(returning_programs.SCHEDULE) + 1, 2))
    changed = users.copy()
    changed[0] = 1.0
    first = record(on_users, users, rng=np.random.default_rng(2))
    plain = record(rounds, users[np.array(returning_programs.SCHEDULE)], rng=np.random.default_rng(2))
    assert [site.value for site in first.sites] == [site.value for site in plain.sites]
    assert sum(item.moved for item in replay(on_users, changed, first).losses) == returning_programs.BATCHES


# Followed runs


def test_followed_runs_agree_with_replays() -> None:
    """Skellam shares, whose sums have a distribution: the replay of a recorded run moves the same aggregate
    by g."""
    found = divergence_protocols.surveyed("dist_rdp_se", Fraction(1), 512, 1)
    assert found.moved == 1
    assert found.faults == ()
    chosen = variant("dist_rdp_se", epsilon=1, failure_prob="1/62")
    rewards = program(chosen, grid=1)
    (pair,) = reward_pairs(horizon=62, rounds=(5,), backgrounds={"zeros": (0.0, 0.0)})
    result = replay(rewards, pair.right, record(rewards, pair.left, rng=np.random.default_rng(0)))
    (moved,) = [item for item in result.losses if item.moved]
    assert isinstance(moved.record.distribution, WrappedMod)
    assert isinstance(moved.distribution_neighbour, WrappedMod)
    assert moved.distribution_neighbour.offset - moved.record.distribution.offset == chosen.sheet(4).precision


@pytest.mark.parametrize("fault", ["too little noise", "two aggregates", "a leak", "nothing"])
def test_faults_of_a_followed_program_are_named(fault: str) -> None:
    """Shares that are too small, a reward that enters twice and a revealed reward are each noticed."""
    chosen = variant("dist_cdp_se", epsilon="1/2", failure_prob="1/30")
    run_with = chosen
    if fault == "too little noise":
        run_with = replace(
            chosen, sheet=lambda n: replace(chosen.sheet(n), share=DiscreteGaussian(sigma2="1/4"))
        )
    rounds = program(run_with, grid=1)

    def faulty(coins: Coins, data: Any) -> Any:
        if fault == "a leak":
            coins.reveal(float(data[0, 0]), site="reward")
        if fault == "two aggregates":
            data[4, 0] = data[0, 0]  # the first user's reward enters batch 2 as well
        return rounds(coins, data)

    found = survey(
        faulty,
        map(chosen.sheet, batch_lengths(30)),
        reward_pairs(horizon=30, rounds=(0,), backgrounds={"zeros": (0.0, 0.0)}),
        HISTORIES,
    )
    noticed = found.unmet()
    assert bool(noticed) == (fault != "nothing")
    assert found.moved == (2 if fault == "two aggregates" else 1)


def test_arrays_are_not_followed() -> None:
    """A user's distribution of several numbers would hide its encodings; it is refused."""
    sheet = variant("dist_rdp_se", epsilon=1, failure_prob="1/30").sheet(2)
    coins = Followed({sheet.modulus: sheet}, lambda k, sheet: 0)
    coins.aggregate([sheet.share.shift(1), sheet.share], SumMod(sheet.modulus), site="aggregate")
    assert coins.aggregates[0].total == 1
    distributions = [sheet.share.shift(np.array([0, 1])), sheet.share]
    with pytest.raises(NotTractableError, match="must be of one number"):
        coins.aggregate(distributions, SumMod(sheet.modulus), site="aggregate")


def test_batches_that_every_history_makes() -> None:
    """Runs along the farthest histories: arm 1's aggregates of the certain batches are there in all of them,
    and some history has no later one."""
    horizon = 512
    chosen = variant("dist_rdp_se", epsilon=1, failure_prob=Fraction(1, horizon))
    certain = certain_lengths(chosen, horizon)
    rewards = program(chosen, grid=1)
    fewest = math.inf
    lengths = batch_lengths(horizon)
    for up in (lambda k: k % 2 == 0, lambda k: k % 2 == 1, lambda k: True):
        run = force(
            rewards, np.zeros((horizon, 2)), steered(chosen, lengths, up), rng=np.random.default_rng(0)
        )
        fewest = min(fewest, sum(site.kind == "aggregate" for site in run.sites))
    assert fewest == 2 * len(certain)
    assert certain == lengths[: len(certain)]
