"""A hidden draw that is added to an output is a release. Any other hidden draw before it gives no verdict."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import discrete_laplace_mechanism, laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Replay, enumerate_view, force, max_log_ratio, record, replay
from dpaudit.core.claims import PureDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Judgement, Strength, VerdictKind, judge
from dpaudit.core.views import EVERYTHING
from dpaudit.distributions import Bernoulli, DiscreteLaplace, Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.hidden_choices import settled
from dpaudit.replay.privacy import privacy_outcome

Program = Callable[[Coins, Any], Any]

LEFT, RIGHT = np.array([0.0, 1.0]), np.array([1.0, 1.0])
LAPLACE = Site("shown", mechanism=laplace_mechanism(sensitivity=1, scale=1))
DISCRETE = Site("shown", mechanism=discrete_laplace_mechanism(sensitivity=1, scale=1))


def decide(program: Program, site: Site = LAPLACE) -> Judgement:
    audit = PrivacyAudit(
        domain=ListedPairs(),
        claim=PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: [Neighbours("the first record", LEFT, RIGHT)],
        sites=[site],
    )
    run = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
    outcome = privacy_outcome(audit, run)
    return judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=run.alpha)


def shown(coins: Coins, value: Any) -> None:
    coins.reveal(value, site="shown")


def added(coins: Coins, data: Any) -> None:
    shown(coins, float(data.sum()) + coins.draw(Laplace(scale=1), site="noise"))


def integers(coins: Coins, data: Any) -> None:
    shown(coins, int(data.sum()) + coins.draw(DiscreteLaplace(scale=1), site="noise"))


def drawn_around_the_sum(coins: Coins, data: Any) -> None:
    shown(coins, coins.draw(Laplace(scale=1).shift(float(data.sum())), site="noisy sum"))


def used_afterwards(coins: Coins, data: Any) -> float:
    noisy = float(data.sum()) + coins.draw(Laplace(scale=1), site="noise")
    return min(float(coins.reveal(noisy, site="shown")), 3.0)


@pytest.mark.parametrize(
    ("program", "site"),
    [(added, LAPLACE), (integers, DISCRETE), (drawn_around_the_sum, LAPLACE), (used_afterwards, LAPLACE)],
)
def test_a_hidden_draw_that_is_added_to_a_value_is_a_release(program: Program, site: Site) -> None:
    """A hidden draw added to a value is verified as a release, at its cost."""
    found = decide(program, site)
    assert (found.verdict, found.strength) == (VerdictKind.CONSISTENT, Strength.ACCOUNTED), found


def too_little(coins: Coins, data: Any) -> None:
    shown(coins, float(data.sum()) + coins.draw(Laplace(scale="1/2"), site="noise"))


def twice_the_draw(coins: Coins, data: Any) -> None:
    shown(coins, float(data.sum()) + 2 * coins.draw(Laplace(scale=1), site="noise"))


def no_draw_in_it(coins: Coins, data: Any) -> None:
    coins.draw(Laplace(scale=1), site="noise")
    shown(coins, float(data.sum()))


def the_draw_as_well(coins: Coins, data: Any) -> float:
    noise = coins.draw(Laplace(scale=1), site="noise")
    shown(coins, float(data.sum()) + noise)
    return float(noise)


def the_draw_before(coins: Coins, data: Any) -> None:
    noise = coins.draw(Laplace(scale=1), site="noise")
    coins.reveal(bool(noise > 0), site="sign")
    shown(coins, float(data.sum()) + noise)


def twice_the_same_draw(coins: Coins, data: Any) -> None:
    noise = coins.draw(Laplace(scale=2), site="noise")
    shown(coins, float(data[0]) + noise)
    shown(coins, 2 * float(data[0]) + noise)


def not_everywhere(coins: Coins, data: Any) -> None:
    noise = coins.draw(Laplace(scale=1), site="noise")
    shown(coins, float(data.sum()) + noise if noise > 3 else noise)


def folded(coins: Coins, data: Any) -> None:
    """Two outcomes of the draw show the same number on one input, and one on the other."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    shown(coins, noise - 1.0 + float(data[0]) if noise > 3 else noise)


def added_in_a_window(coins: Coins, data: Any) -> None:
    noise = coins.draw(Laplace(scale=1), site="noise")
    shown(coins, float(data.sum()) + noise + (float(data[0]) if 0.2 < noise < 0.2001 else 0.0))


BROKEN = [
    too_little,
    twice_the_draw,
    no_draw_in_it,
    the_draw_as_well,
    the_draw_before,
    twice_the_same_draw,
    not_everywhere,
    folded,
    added_in_a_window,
]


@pytest.mark.sample(5)
@pytest.mark.parametrize("program", BROKEN)
def test_a_hidden_draw_is_no_excuse(program: Program) -> None:
    """A program that costs more than declared, or uses the draw otherwise, is not verified or refuted."""
    assert decide(program).verdict is VerdictKind.INCONCLUSIVE


def test_the_reason_says_what_to_do() -> None:
    """The reason asks for coins.release if an output follows a draw in an unknown way."""
    assert any("release it with coins.release" in reason for reason in decide(twice_the_draw).reasons)


def rounded(coins: Coins, data: Any) -> None:
    """Randomised rounding of a multiple of 1/4, plus a public offset."""
    value = Fraction(int(data.sum()) + 1, 4)
    whole = value.numerator // value.denominator
    shown(coins, 5 + whole + int(coins.draw(Bernoulli(p=value - whole), site="rounding")))


def replays_of(program: Program, left: Any, right: Any, uniform: float) -> list[Replay]:
    """Return all replays of one recording whose first hidden draw has ``uniform``."""
    hidden = {("rounding", 0): uniform}
    recording = force(program, left, lambda *_: None, rng=np.random.default_rng(0), hidden=hidden)

    def again(data: Any, hidden: Any, released: Any) -> Replay:
        return replay(program, data, recording, hidden=hidden, released=released)

    return settled(replay(program, right, recording), partial(again, right), partial(again, left))


def test_randomised_rounding_costs_what_enumeration_says() -> None:
    """Each outcome of the recorded draw is paired with that which shows the same: the largest loss is the
    exact log-ratio of the two enumerated distributions, log 3."""
    left, right = np.array([0, 0]), np.array([0, 2])
    found = [item for uniform in (0.1, 0.9) for item in replays_of(rounded, left, right, uniform)]
    assert [(item.leaks, item.open) for item in found] == [((), ())] * 2
    distributions = [enumerate_view(rounded, data, view=EVERYTHING) for data in (left, right)]
    worst = float(max_log_ratio(*distributions)[0].mid())
    assert max(abs(float(item.loss())) for item in found) == pytest.approx(worst, rel=1e-12)
    assert worst == pytest.approx(np.log(3), rel=1e-12)


def test_rounding_to_other_integers_stays_open() -> None:
    """If an outcome is possible on one input only, no pairing exists and no loss is reported."""
    left, right = np.array([0, 0]), np.array([0, 4])
    distributions = [enumerate_view(rounded, data, view=EVERYTHING) for data in (left, right)]
    assert not max_log_ratio(*distributions)[0].is_finite()
    assert any(item.leaks for item in replays_of(rounded, left, right, 0.1))


def test_all_outcomes_of_a_distribution_that_moved_are_replayed() -> None:
    """A hidden bit of another distribution on the neighbour: one replay for each outcome, nothing left
    open."""

    def program(coins: Coins, data: Any) -> None:
        bit = int(coins.draw(Bernoulli(p=Fraction(1 + int(data[0]), 4)), site="bit"))
        coins.release(float(bit), Laplace(scale=1), site="sum")

    recording = record(program, LEFT, rng=np.random.default_rng(1))

    def again(data: Any, hidden: Any, released: Any) -> Any:
        return replay(program, data, recording, hidden=hidden, released=released)

    result = replay(program, RIGHT, recording)
    found = settled(result, partial(again, RIGHT), partial(again, LEFT))
    assert len(result.open) == 1
    assert [item.open for item in found] == [(), ()]
    assert {item.hidden["bit", 0] for item in found} == {0, 1}
    assert not any("hidden draw differs" in text for item in found for text in item.unmet)
