"""Secure aggregation: masking shows what the ideal function shows, and relaxed ones keep their premise."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.coins import Coins, Sampler, ViewDistribution, enumerate_view, record, replay, sum_out
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import PointMass, PolyaDifference
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.mechanisms.batch_protocol import BatchProtocol
from dpaudit.reference.mechanisms.local_noise import polya_share
from dpaudit.reference.mechanisms.modular_sum import Aggregator, decoded_sum, secure_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet, polya_sheet, shuffle_sheet
from dpaudit.reference.mechanisms.relaxed_aggregation import CarrySum, LeakyCoin, LeakySum, nearer_to_full
from dpaudit.reference.mechanisms.secure_aggregation import masked_sum, zero_sum_masks

HALF = Fraction(1, 2)


def sheet_of(*, users: int, precision: int = 1, margin: int = 0) -> Sheet:
    """A sheet with a modulus small enough to enumerate, n g + 2τ + 1."""
    return Sheet(
        trust="distributed",
        users=users,
        precision=precision,
        noise_margin=margin,
        modulus=users * precision + 2 * margin + 1,
        tail_prob=HALF,
        share=polya_share(users=users, epsilon=1, precision=precision),
    )


def server_distribution(
    aggregator: Aggregator, distributions: Any, sheet: Sheet, *, tail: float = 0.0
) -> dict[Any, Any]:
    """The exact distribution of all that the server sees while ``aggregator`` runs (its public result left
    out)."""

    def program(coins: Coins, data: Any) -> None:
        aggregator(coins, data, sheet)

    found: ViewDistribution = enumerate_view(program, distributions, view=View.of(SERVER), tail=tail)
    distribution: dict[Any, Any] = defaultdict(lambda: arb(0))
    for key, seen in found.transcripts.items():
        distribution[tuple(int(x) for x in seen[:-1])] += found.probabilities[key]
    return dict(distribution)


# Additive masking.


@pytest.mark.parametrize(("users", "margin"), [(1, 2), (2, 2), (3, 0)])
def test_masked_messages_are_uniform_given_their_sum(users: int, margin: int) -> None:
    """P(v) = P(ŷ = Σ v mod m) / m^(n-1) for every vector v that the server can see, by enumeration."""
    sheet = sheet_of(users=users, margin=margin)
    distributions = [sheet.share.shift(k % 2) for k in range(users)]
    masked = server_distribution(masked_sum, distributions, sheet)
    plain = server_distribution(secure_sum, distributions, sheet)
    m = sheet.modulus
    assert len(masked) == m**users
    for seen, chance in masked.items():
        assert chance.overlaps(plain[(sum(seen) % m,)] / m ** (users - 1))
        assert chance.rel_accuracy_bits() > 30  # the enclosure says something


def test_masks_add_up_to_zero_and_are_uniform() -> None:
    """All m^(n-1) vectors of masks are equally likely, and none other occurs."""
    found = enumerate_view(
        lambda coins, m: coins.reveal(tuple(zero_sum_masks(coins, users=3, modulus=m)), site="masks"), 4
    )
    vectors = [seen[0] for seen in found.transcripts.values()]
    assert sorted(vectors) == sorted((a, b, -(a + b) % 4) for a, b in itertools.product(range(4), repeat=2))
    assert all(p.overlaps(ball(Fraction(1, 16))) for p in found.probabilities.values())


def test_masks_that_miss_a_user_show_its_message() -> None:
    """Negative control: if the last user sends without a mask, the server's view is not uniform."""

    def careless(coins: Coins, distributions: Any, sheet: Sheet) -> Any:
        messages = [coins.draw(distribution, site="message") for distribution in distributions]
        mask = zero_sum_masks(coins, users=len(distributions), modulus=sheet.modulus)[0]
        coins.reveal((messages[0] + mask) % sheet.modulus, site="masked", to=SERVER)
        coins.reveal(messages[1], site="masked", to=SERVER)
        return 0

    sheet = sheet_of(users=2, margin=1)
    distributions = [PointMass(1), PointMass(0)]
    found = server_distribution(careless, distributions, sheet)
    assert {seen[1] for seen in found} == {0}
    assert {seen[1] for seen in server_distribution(masked_sum, distributions, sheet)} == set(
        range(sheet.modulus)
    )


@pytest.mark.parametrize("replicates", [None, 500])
def test_the_masked_run_returns_the_modular_sum(replicates: int | None) -> None:
    """What the server adds up is the sum of the messages: with constant messages it is known."""
    sheet = sheet_of(users=5, precision=3, margin=4)
    distributions = [PointMass(k) for k in range(5)]
    coins = Sampler(np.random.default_rng(1), replicates=replicates)
    assert np.all(masked_sum(coins, distributions, sheet) == 10 % sheet.modulus)


# The benign relaxation.


@pytest.mark.parametrize("users", [2, 3])
def test_the_carry_sum_is_as_secure_as_definition_9_asks(users: int) -> None:
    """For every message vector y: the log-ratio of S(y) against S(s, 0, ..., 0) is at most ε̂ (n - 1)/n,
    which some y attains; and z mod m is Σ(y)."""
    secure, sheet = CarrySum(secagg_epsilon=HALF), sheet_of(users=users)
    m, worst = sheet.modulus, arb(0)
    distributions: dict[tuple[int, ...], dict[Any, Any]] = {}
    for y in itertools.combinations_with_replacement(range(m), users):  # S is symmetric in the users
        distributions[y] = server_distribution(secure, [PointMass(k) for k in reversed(y)], sheet, tail=1e-6)
        assert {residue for residue, _ in distributions[y]} == {sum(y) % m}  # POST is exact: q = 0
    for y, distribution in distributions.items():
        simulated = distributions[(*[0] * (users - 1), sum(y) % m)]
        common = distribution.keys() & simulated.keys()
        assert len(common) > 20
        for seen in common:
            ratio = abs((distribution[seen] / simulated[seen]).log())
            assert not ratio > ball(secure.security(users))
            worst = worst.max(ratio)
    assert worst.overlaps(ball(secure.security(users)))
    assert secure.security(users) == HALF * (users - 1) / users


def test_the_carry_sum_adds_up_what_the_users_send() -> None:
    """z = Σ (y_i + m W_i) user by user, with Pólya shares W_i, has the distribution of the two numbers
    shown."""
    users, sheet = 2, sheet_of(users=2)
    secure = CarrySum(secagg_epsilon=HALF)
    share = PolyaDifference(shape=Fraction(1, users), log_ratio=HALF / users)
    m, window = sheet.modulus, 60
    messages = {y: sheet.aggregate_distribution(1, present=1).logp_ball(y).exp() for y in range(m)}
    noise = {w: share.logp_ball(w).exp() for w in range(-window, window + 1)}
    carries: dict[int, Any] = defaultdict(lambda: arb(0))
    for a, b in itertools.product(noise, repeat=2):
        carries[a + b] += noise[a] * noise[b]
    shown: dict[tuple[int, int], Any] = defaultdict(lambda: arb(0))
    for (a, p), (b, q) in itertools.product(messages.items(), repeat=2):
        for w in range(-8, 9):
            z = a + b + m * w
            shown[z % m, z // m] += p * q * carries[w]
    distribution = server_distribution(secure, [sheet.share.shift(1), sheet.share.shift(1)], sheet, tail=1e-9)
    for seen, chance in shown.items():
        if abs(seen[1]) < 7:
            assert float(distribution[seen]) == pytest.approx(float(chance), rel=1e-6)


# The adversarial relaxation.


@pytest.mark.parametrize("epsilon", ["1/100", "1/4", "1", "5"])
def test_the_leaky_coin_keeps_the_premise_and_uses_all_of_it(epsilon: str) -> None:
    """Admissible at ε̂ and not 2^-50 below it; one outcome has log-ratio 2ε̂ between two messages."""
    budget = Fraction(epsilon)
    coin = LeakyCoin.worst(budget)
    assert coin.admissible(budget)
    assert not coin.admissible(budget * (1 - Fraction(1, 2**50)))
    assert 2 * budget - Fraction(1, 2**50) < coin.log_ratio <= 2 * budget


def test_a_coin_that_tells_too_much_is_not_admissible() -> None:
    """Negative control: each of the four ratios can break the premise."""
    fair = HALF
    for high, low in (("9/10", "1/2"), ("1/2", "9/10"), ("1/10", "1/2"), ("1/2", "1/10")):
        coin = LeakyCoin(high=Fraction(high), low=Fraction(low), simulated=fair)
        assert not coin.admissible("1/2")
        assert coin.admissible(2)


def test_the_leaky_sum_keeps_the_premise_of_definition_9() -> None:
    """For every y: S(y) against the simulator (Σ(y), coin of bias c), all log-ratios at most ε̂."""
    secure, sheet = LeakySum(secagg_epsilon="1/4", user=1), sheet_of(users=2, precision=2, margin=1)
    m, coin = sheet.modulus, secure.coin
    simulated = {1: coin.simulated, 0: 1 - coin.simulated}
    seen_biases = set()
    for y in itertools.product(range(m), repeat=2):
        distribution = server_distribution(secure, [PointMass(k) for k in y], sheet)
        assert {residue for residue, _ in distribution} == {sum(y) % m}
        for (_, toss), chance in distribution.items():
            assert not abs((chance / ball(simulated[toss])).log()) > ball(Fraction(1, 4))
        seen_biases.add(float(distribution[sum(y) % m, 1]))
    assert seen_biases == {float(coin.high), float(coin.low)}


def test_the_leaky_sum_looks_at_one_message() -> None:
    """Nearer to g than to 0 on the circle, for every message of Z_m."""
    sheet = sheet_of(users=3, precision=4, margin=3)
    m = sheet.modulus

    def distance(a: int, b: int) -> int:
        return min((a - b) % m, (b - a) % m)

    expected = [distance(y, 4) < distance(y, 0) for y in range(m)]
    assert [nearer_to_full(y, sheet) for y in range(m)] == expected


def worst_ratio(variant: Any, users: int, aggregator: Aggregator) -> Any:
    """The largest exact log-ratio of the server's view for one reward 1 against 0, both directions."""
    sheet = shuffle_sheet(users=users, epsilon=1, tail_prob="1/2", variant=variant)
    distributions = [
        server_distribution(
            aggregator, [sheet.share.shift(x * sheet.precision), *[sheet.share] * (users - 1)], sheet
        )
        for x in (0, 1)
    ]
    return max(abs((distributions[0][seen] / distributions[1][seen]).log()) for seen in distributions[0])


def test_theorem_3_costs_more_than_epsilon_as_printed_and_not_when_repaired() -> None:
    """Complete enumeration with an admissible S (ε̂ = 1/4, ε = 1): 1.33 printed, under 1 repaired; perfect
    aggregation hides it: the printed noise alone is worth exactly what it is drawn for."""
    leaky = LeakySum(secagg_epsilon="1/4")
    assert worst_ratio("printed", 4, leaky) > 1.3
    assert worst_ratio("repaired", 4, leaky) <= 1
    assert worst_ratio("printed", 4, secure_sum) <= 1
    assert worst_ratio("repaired", 4, secure_sum) <= ball(HALF)


def test_the_printed_loss_tends_to_three_halves() -> None:
    """16 users: one transcript of the server, hidden messages summed out, costs more than 1.46 and less
    than the chain's 2ε̂ + ε = 1.5; 4 users cost 1.33."""
    sheet = shuffle_sheet(users=16, epsilon=1, tail_prob="1/8", variant="printed")
    protocol = BatchProtocol(sheet=sheet, aggregator=LeakySum(secagg_epsilon="1/4"), grid=1)
    rewards = np.ones(16)
    neighbour = rewards.copy()
    neighbour[0] = 0.0
    y = sheet.users * sheet.precision
    seen = (y, 1, decoded_sum(y, sheet))
    left, right = (
        sum_out(lambda coins, x: protocol(coins, x), data, seen, view=View.of(SERVER))[0]
        for data in (rewards, neighbour)
    )
    loss = (left / right).log()
    assert loss > 1.46
    assert loss < 1.5


@pytest.mark.parametrize(
    "aggregator", [secure_sum, CarrySum(secagg_epsilon="1/4"), LeakySum(secagg_epsilon=1)]
)
def test_every_aggregator_gives_the_same_sum_in_distribution(aggregator: Aggregator) -> None:
    """Whatever else is shown, the returned ŷ has the perfect function's distribution: exactly, by
    enumeration."""
    sheet = sheet_of(users=2, margin=1)
    distributions = [sheet.share.shift(1), sheet.share]
    found = enumerate_view(
        lambda coins, data: coins.reveal(int(aggregator(coins, data, sheet)), site="sum"),
        distributions,
        view=View(frozenset()),
        tail=1e-7,
    )
    for key, seen in found.transcripts.items():
        exact = sheet.aggregate_distribution(1).logp_ball(seen[0]).exp()
        assert float(found.probabilities[key]) == pytest.approx(float(exact), abs=1e-6)


@pytest.mark.parametrize(
    "aggregator", [secure_sum, masked_sum, CarrySum(secagg_epsilon="1/4"), LeakySum(secagg_epsilon="1/4")]
)
def test_every_aggregator_repeats_itself(aggregator: Aggregator) -> None:
    """Replayed on the same rewards, no site moves and nothing leaks: all randomness is in the coins."""
    protocol = BatchProtocol(
        sheet=polya_sheet(users=4, epsilon=1, tail_prob="1/4"), aggregator=aggregator, grid=1
    )
    data = np.array([1.0, 0.0, 1.0, 1.0])
    recording = record(lambda coins, x: protocol(coins, x), data, rng=np.random.default_rng(1))
    result = replay(lambda coins, x: protocol(coins, x), data, recording)
    assert not result.leaks
    assert not any(item.moved for item in result.losses)


@pytest.mark.parametrize("secure", [CarrySum(secagg_epsilon=1), LeakySum(secagg_epsilon=1)])
def test_relaxed_aggregations_refuse_replicates(secure: Aggregator) -> None:
    """What they show depends on hidden messages one run at a time; more are refused before any draw."""
    sheet = sheet_of(users=2)
    with pytest.raises(InvalidParameterError, match="once at a time"):
        secure(Sampler(np.random.default_rng(1), replicates=3), [sheet.share] * 2, sheet)
