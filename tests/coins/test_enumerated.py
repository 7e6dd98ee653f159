"""Check enumerated transcripts: answers of channels, aggregates, mass left out, and hockey sticks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpaudit.coins import Coins, ViewDistribution, enumerate_view, hockey_stick, max_log_ratio, sum_out
from dpaudit.core.errors import NotTractableError
from dpaudit.core.views import EVERYTHING, PUBLIC, SERVER, View
from dpaudit.distributions import (
    AboveThreshold,
    Bernoulli,
    CountVector,
    DiscreteGaussian,
    DiscreteLaplace,
    Laplace,
    Sum,
)
from dpaudit.kernel.ball import arb, ball, upper
from tests.errors import raises

SVT = AboveThreshold(
    threshold=1, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=4), max_positives=1
)


def answers(coins: Coins, data: float) -> None:
    session = coins.channel(SVT, site="svt")
    for _ in range(2):
        if session.ask(data):
            break


def test_the_answers_of_a_channel_are_seen_in_order() -> None:
    """Each transcript holds its answers before the return value, and the probabilities add up to 1."""
    distribution = enumerate_view(answers, 0.0)
    seen = {tuple(map(bool, shown[:-1])): shown[-1] for shown in distribution.transcripts.values()}
    assert seen == {(True,): None, (False, True): None, (False, False): None}
    total = sum(float(p.mid()) for p in distribution.probabilities.values())
    assert total == pytest.approx(1.0, abs=1e-9)


def test_a_transcript_that_ends_before_the_program_is_impossible() -> None:
    """A transcript that is too short has density 0, and a complete one has its enumerated probability."""
    short, paths = sum_out(answers, 0.0, [False], view=EVERYTHING)
    assert (float(short.mid()), paths) == (0.0, [])
    whole, _ = sum_out(answers, 0.0, [False, False, None], view=EVERYTHING)
    distribution = enumerate_view(answers, 0.0)
    (key,) = [name for name, shown in distribution.transcripts.items() if shown[:-1] == (False, False)]
    assert float(whole.mid()) == pytest.approx(float(distribution.probabilities[key].mid()), rel=1e-12)


def pair_of_counts(coins: Coins, data: int) -> tuple[int, ...]:
    """Sum the count vectors of two users. The sum has no distribution here, so users are enumerated."""
    distributions = [
        CountVector([Bernoulli(p="1/4")], outcomes=2),
        CountVector([Bernoulli(p="1/3")], outcomes=2),
    ]
    total = coins.aggregate(distributions, Sum(), site="total", to=PUBLIC if data else SERVER)
    shown = tuple(map(int, total))
    total[:] = 0  # what was seen before stays as it was
    return shown if data < 2 else ()


def test_an_aggregate_without_a_distribution_of_its_own_is_seen_where_it_is_public() -> None:
    """A public aggregate comes before the return value in the transcript, and the server's is not seen."""
    chances = {(0, 2): Fraction(1, 12), (1, 1): Fraction(5, 12), (2, 0): Fraction(1, 2)}
    for data, returns in ((1, True), (2, False)):
        distribution = enumerate_view(pair_of_counts, data, view=View.of(PUBLIC))
        seen = {tuple(shown[0].tolist()): shown[1] for shown in distribution.transcripts.values()}
        assert seen == {counts: counts if returns else () for counts in chances}
        for key, shown in distribution.transcripts.items():
            assert (distribution.probabilities[key] - ball(chances[tuple(shown[0].tolist())])).contains(0)
            assert distribution.probabilities[key].rad() < 1e-12
    hidden = enumerate_view(pair_of_counts, 0, view=View.of(PUBLIC))
    assert set(hidden.transcripts.values()) == {((0, 2),), ((1, 1),), ((2, 0),)}


def test_a_number_summed_from_enumerated_users_is_a_number() -> None:
    """Sums with and without an image distribution both have the type ``int``."""

    def noisy(coins: Coins, data: list[int]) -> None:
        distributions = [DiscreteGaussian(sigma2=Fraction(1, 50)) for _ in data]
        coins.aggregate(distributions, Sum(), site="sum", to=PUBLIC)

    for data in ([0], [0, 0]):
        distribution = enumerate_view(noisy, data, view=View.of(PUBLIC), tail=1e-6)
        assert {type(shown[0]) for shown in distribution.transcripts.values()} == {int}


def test_what_is_left_out_is_bounded_from_above() -> None:
    """``left_out`` is an upper bound on the mass that two truncated draws leave out."""

    def two(coins: Coins, data: int) -> None:
        for _ in range(2):
            coins.observe(DiscreteLaplace(scale=1), site="noise")

    distribution = enumerate_view(two, 0, tail=1e-6)
    total = sum(distribution.probabilities.values(), arb(0))
    assert 0 < distribution.left_out <= 2e-6
    assert upper(1 - total) <= distribution.left_out


def by_hand(left_out: float = 0.0, **chances: str) -> ViewDistribution:
    """Return a distribution with these probabilities, decimals that binary numbers represent exactly."""
    return ViewDistribution(
        {key: arb(p) for key, p in chances.items()}, {key: (key,) for key in chances}, left_out
    )


def test_the_largest_ratio_is_of_outcomes_that_are_possible() -> None:
    """Outcomes of probability 0 are skipped, and an outcome impossible on the neighbour has ratio inf."""
    left, right = by_hand(a="0.5", b="0.5", c="0"), by_hand(a="0.25", b="0.75")
    ratio, where = max_log_ratio(left, right)
    assert where == "a"
    assert (ratio - arb(2).log()).contains(0)
    for other in (by_hand(b="1"), by_hand(a="0", b="1")):
        assert max_log_ratio(left, other) == (arb("inf"), "a")


@pytest.mark.parametrize("sides", [(0.0, 0.25), (0.25, 0.0), (0.25, 0.25)])
def test_no_largest_ratio_of_distributions_that_are_not_whole(sides: tuple[float, float]) -> None:
    """``max_log_ratio`` refuses distributions if either of them leaves out mass."""
    with raises(NotTractableError, code="E-DISTRIBUTION-INCOMPLETE"):
        max_log_ratio(*(by_hand(mass, a="0.75") for mass in sides))


def test_a_hockey_stick_covers_what_was_left_out() -> None:
    """At e^epsilon = 2, delta is 1/4 + 1/16 by hand, and the mass left out adds 1/16 or subtracts 2/32."""
    left, right = by_hand(a="0.75", b="0.125", c="0.0625"), by_hand(a="0.25", b="0.71875")
    exact = hockey_stick(left, right, arb(2))
    assert (exact.lower(), exact.upper()) == (arb("0.3125"), arb("0.3125"))
    left, right = (
        replace(distribution, left_out=mass) for distribution, mass in ((left, 0.0625), (right, 0.03125))
    )
    wide = hockey_stick(left, right, arb(2))
    for end, wanted in ((wide.lower(), 0.25), (wide.upper(), 0.375)):
        assert float(end) == pytest.approx(wanted, abs=1e-8)


def test_a_gap_of_undecided_sign_counts_from_nothing_to_its_upper_end() -> None:
    """With probability 1/2 ± 1/4 against 1/2, the positive part is between 0 and 1/4."""
    around = ViewDistribution({"a": arb("0.5", "0.25")}, {"a": ("a",)}, 0.0)
    wide = hockey_stick(around, by_hand(a="0.5"), arb(1))
    assert float(wide.lower()) == pytest.approx(0.0, abs=1e-8)
    assert float(wide.upper()) == pytest.approx(0.25, abs=1e-8)
    assert hockey_stick(by_hand(a="0.25"), by_hand(a="0.5"), arb(1)) == 0
    assert hockey_stick(by_hand(a="0.5"), by_hand(a="0.5"), arb(1)) == 0
