"""G 13 and 14, section F: programs that keep their claim although an optimum exceeds it.

They are never refuted.
"""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Bernoulli, Categorical, Laplace
from tests.prover.hostile.row import ONE_REPLACED, ONE_WAY, hostile
from tests.prover.oracle import Within


@hostile("G14", [0], [1], [False], 0.68, claim="1", at_most=1.0)
def scale_by_a_hidden_coin(coins: Coins, data: Any) -> None:
    """Scale 2 or 2/3 by a hidden coin: smallest cell 0.5, largest 1.5, true about 0.892."""
    if coins.draw(Laplace(scale=1), site="coin") >= 0:
        noisy = data[0] + coins.draw(Laplace(scale=2), site="n")
    else:
        noisy = data[0] + coins.draw(Laplace(scale="2/3"), site="n")
    coins.reveal(bool(noisy >= 0), site="shown")


@hostile("G14", [0], [1], ["zero"], 1.098, claim="11/10", at_most=1.0987)
def randomised_response_by_laplace_coins(coins: Coins, data: Any) -> None:
    """P(flip) = 1/4 from two hidden Laplace coins: cells 0 and infinite, true ln 3."""
    one, two = coins.draw(Laplace(scale=1), site="one"), coins.draw(Laplace(scale=1), site="two")
    flip = one >= 0 and two >= 0
    positive = data[0] > 0
    coins.reveal("one" if positive != flip else "zero", site="shown")


@hostile("G14", [0], [1], [Within(high=0)], 0.99, claim="1", at_most=1.0)
def clamped(coins: Coins, data: Any) -> None:
    """clamp(x, 0, 1) + Laplace(1): cells infinite, true 1."""
    value = 0 if data[0] < 0 else 1 if data[0] > 1 else data[0]
    coins.release(value, Laplace(scale=1), site="shown")


@hostile("G14", [1], [0], [True], 1.4898, claim="3/2", at_most=1.49, adjacency=ONE_REPLACED, low=0, high=1)
def threshold_in_the_unit_interval(coins: Coins, data: Any) -> None:
    """x + Laplace(1/2) >= 1/2 on [0, 1]: optimum 2, true 1.4899; there is no ray."""
    coins.reveal(bool(2 * (data[0] + coins.draw(Laplace(scale="1/2"), site="n")) >= 1), site="shown")


@hostile("G14", [1], [0], [True], 0.31, claim="1", at_most=1.0, low=0)
def counts_have_no_ray_downwards(coins: Coins, data: Any) -> None:
    """Counts >= 0 have one step downwards in x + Laplace(1) >= 1/100, and upwards "no" has loss 1."""
    coins.reveal(bool(100 * (data[0] + coins.draw(Laplace(scale=1), site="n")) >= 1), site="shown")


@hostile("G14", [0], [1], [Within(low=0), "never"], -float("inf"), claim="1", at_most=1.0)
def public_forks_that_contradict(coins: Coins, data: Any) -> None:
    """o > 1 and o < 0 never hold together, so that the branch behind them leaks nothing."""
    outcome = coins.release(data[0], Laplace(scale=1), site="outcome")
    if outcome > 1 and outcome < 0:
        coins.reveal(data[0] + 0, site="shown")
    else:
        coins.reveal("never", site="shown")


@hostile("G14", [0], [1], ["a"], 0.0, claim="1/2", at_most=0.5)
def record_that_is_not_used(coins: Coins, data: Any) -> None:
    """Both branches show the same value."""
    coins.reveal("a" if data[0] > 0 else "a" + "", site="shown")


@hostile(
    "G14",
    [0, 0],
    [1, 0],
    [Within(high=0)],
    0.49,
    claim="1/2",
    at_most=0.5,
    adjacency=ONE_REPLACED,
    low=0,
    high=1,
)
def claim_just_met(coins: Coins, data: Any) -> None:
    """A claim that is attained exactly is not exceeded."""
    coins.release(sum(data), Laplace(scale=2), site="shown")


@hostile("G14", [0], [1], ["always"], 0.0, claim="1/2", at_most=0.5)
def flip_that_never_falls(coins: Coins, data: Any) -> None:
    """An output that requires a flip of probability 0 is not a witness."""
    if coins.draw(Bernoulli(p=0), site="flip") == 1:
        coins.reveal(bool(data[0] >= 0), site="shown")
    else:
        coins.reveal("always", site="shown")


@hostile("G14", [0], [1], ["always"], 0.0, claim="1/2", at_most=0.5)
def value_that_is_never_drawn(coins: Coins, data: Any) -> None:
    """The same with three values, one of which has weight 0."""
    value = coins.draw(Categorical(weights=[1, 0, 1]), site="value")
    coins.reveal(data[0] + 0 if value == 1 else "always", site="shown")


@hostile("G14", [0], [-1], [Within(0, "1/100")], 1.5, claim="8/5", at_most=1.56)
def two_scales_for_one_shown_number(coins: Coins, data: Any) -> None:
    """x + n at scale 1 or 1/2 by a hidden coin: cells 1 and 2, true ln(3 e^2/(e + 2)) = 1.547."""
    if coins.draw(Bernoulli(p="1/2"), site="coin") == 1:
        coins.reveal(data[0] + coins.draw(Laplace(scale=1), site="n"), site="shown")
    else:
        coins.reveal(data[0] + coins.draw(Laplace(scale="1/2"), site="n"), site="shown")


@hostile("G14", [0], [-1], [Within(0, "1/100")], 1.5, claim="8/5", at_most=1.56)
def two_scales_for_one_release(coins: Coins, data: Any) -> None:
    """The same scales in a release."""
    if coins.draw(Bernoulli(p="1/2"), site="coin") == 1:
        coins.release(data[0], Laplace(scale=1), site="shown")
    else:
        coins.release(data[0], Laplace(scale="1/2"), site="shown")


@hostile("G14", [1], [0], [Within(high=-1)], 0.99, claim="1", at_most=1.0)
def a_path_that_no_data_take(coins: Coins, data: Any) -> None:
    """x < 0 and x > 1 never hold together, so that nothing is shown there."""
    if data[0] < 0 and data[0] > 1:
        coins.reveal("never", site="never")
        coins.release(100 * data[0], Laplace(scale=1), site="shown")
    else:
        coins.release(-data[0], Laplace(scale=1), site="shown")


@hostile("G14", [0, 0], [1, 1], [True], 0.0, claim="1/2", at_most=0.51, adjacency=ONE_WAY)
def moves_that_one_way_excludes(coins: Coins, data: Any) -> None:
    """x - y + n >= 0 at scale 2 costs 1/2 one way (one record may stay), and 1 in any direction."""
    coins.reveal(bool(data[0] - data[1] + coins.draw(Laplace(scale=2), site="n") >= 0), site="shown")


@hostile("G14", [0], [1], ["near"], 0.0, claim="1/2", at_most=0.5, low=0, high=1)
def far_data_that_are_not_there(coins: Coins, data: Any) -> None:
    """The program leaks beyond the domain only."""
    coins.reveal("far" if data[0] > 2 else "near", site="shown")


@hostile("G14", [0], [1], [Within(high=0), "a"], 0.9, claim="1", at_most=1.0)
def one_answer_of_a_public_question(coins: Coins, data: Any) -> None:
    """o - o > 1 is never true, so that the record behind it is never shown."""
    outcome = coins.release(data[0], Laplace(scale=1), site="outcome")
    if outcome - outcome > 1:
        coins.reveal(data[0] + 0, site="shown")
    else:
        coins.reveal("a", site="shown")


@hostile("G14", [0], [1], None, 0.99, at_most=1.0)
def asks_what_cannot_be(coins: Coins, data: Any) -> None:
    """The second release needs answers that no outcome gives jointly, so that the loss is 1, not 2."""
    shown = coins.release(data[0], Laplace(scale=1), site="one")
    if shown > 1 and shown < 0:
        coins.release(data[0], Laplace(scale=1), site="two")


@hostile("G14", [0], [1], None, 0.99, at_most=1.0)
def asks_for_one_outcome(coins: Coins, data: Any) -> None:
    """The second release needs a single outcome, which has probability 0."""
    shown = coins.release(data[0], Laplace(scale=1), site="one")
    if shown >= 0 and shown <= 0:
        coins.release(data[0], Laplace(scale=1), site="two")


@hostile("G14", [0], [1], None, 0.99, at_most=1.0)
def stops_far_out(coins: Coins, data: Any) -> None:
    """The second of two releases at half the cost needs an outcome between the two values, never far out."""
    shown = coins.release(data[0], Laplace(scale=2), site="one")
    if shown > 0 and shown < 1:
        coins.release(data[0], Laplace(scale=2), site="two")
