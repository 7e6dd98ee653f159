"""G 12 and section E: integer noise has atoms and integer shifts, and one-sided noise has one direction."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Bernoulli, Categorical, DiscreteLaplace, Exponential
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within


@hostile("G12", [1], [2], ["low"], 0.99, integers=True)
def half_a_step(coins: Coins, data: Any) -> None:
    """n >= -x/2 needs the shift 1, because the shift 1/2 is not an integer."""
    noisy = data[0] / 2 + coins.draw(DiscreteLaplace(scale=1), site="n")
    coins.reveal("high" if noisy >= 0 else "low", site="shown")


@hostile("G12", [0], [1], ["even"], integers=True)
def parity(coins: Coins, data: Any) -> None:
    """2n == x is possible for even x only: at d = 2 a shift of 1, at d = 1 none."""
    noise = coins.draw(DiscreteLaplace(scale=1), site="n")
    coins.reveal("even" if 2 * noise <= data[0] and 2 * noise >= data[0] else "other", site="shown")


@hostile("G12", [0], [1], ["even"], integers=True)
def parity_by_two(coins: Coins, data: Any) -> None:
    """The same parity by equality."""
    noise = coins.draw(DiscreteLaplace(scale=1), site="n")
    coins.reveal("even" if 2 * noise == data[0] else "other", site="shown")


@hostile("G12", [20, -20], [21, -21], ["tie"], 0.9, integers=True)
def shows_ties(coins: Coins, data: Any) -> None:
    """A tie has positive probability on the integers."""
    one = data[0] + coins.draw(DiscreteLaplace(scale=2), site="n")
    two = data[1] + coins.draw(DiscreteLaplace(scale=2), site="m")
    coins.reveal("tie" if one == two else "none", site="shown")


@hostile("G12", [0], [1], ["a", Within(0, 0)], integers=True)
def shows_on_a_tie(coins: Coins, data: Any) -> None:
    """The record is shown on n == 0, which is not a null set."""
    noise = coins.draw(DiscreteLaplace(scale=1), site="n")
    coins.reveal("a", site="text")
    if noise <= 0 and noise >= 0:
        coins.reveal(data[0] + 0, site="shown")


@hostile("G12", [0], [1], ["a"], 1.9)
def strictly_between(coins: Coins, data: Any) -> None:
    """x < n < x + 2 is n = x + 1."""
    noise = coins.draw(DiscreteLaplace(scale="1/2"), site="n")
    coins.reveal("a" if data[0] < noise and noise < data[0] + 2 else "b", site="shown")


@hostile("G12", [0], [1], [Within(0, 0)], 0.99)
def shows_a_noisy_integer(coins: Coins, data: Any) -> None:
    """x + n is shown on integers."""
    coins.reveal(data[0] + coins.draw(DiscreteLaplace(scale=1), site="n"), site="shown")


@hostile("G12", [0], [1], [Within(0, 0)], 9.9, integers=True)
def shows_a_scaled_noisy_integer(coins: Coins, data: Any) -> None:
    """10 x + n changes by 10."""
    coins.reveal(10 * data[0] + coins.draw(DiscreteLaplace(scale=1), site="n"), site="shown")


@hostile("G12", [0], [1], [Within(0, 0)], integers=True)
def shows_a_coarse_noisy_integer(coins: Coins, data: Any) -> None:
    """x + 2n has the parity of x."""
    coins.reveal(data[0] + 2 * coins.draw(DiscreteLaplace(scale=1), site="n"), site="shown")


@hostile("E", [0], [1], [Within(high="1/2")])
def releases_with_one_sided_noise(coins: Coins, data: Any) -> None:
    """The support of x + Exp changes with x."""
    coins.reveal(data[0] + coins.draw(Exponential(scale=1), site="n"), site="shown")


@hostile("E", [Fraction(1, 2)], [Fraction(-1, 2)], [True])
def one_sided_threshold(coins: Coins, data: Any) -> None:
    """x >= T with T >= 0: impossible below 0, the shift of T would be negative."""
    coins.reveal(bool(data[0] >= coins.draw(Exponential(scale=2), site="t")), site="shown")


@hostile("E", [-20, 20], [-21, 21], [0], 1.99)
def one_sided_noisy_max(coins: Coins, data: Any) -> None:
    """Noisy max with Exp(1), any direction: 2."""
    one = data[0] + coins.draw(Exponential(scale=1), site="n")
    two = data[1] + coins.draw(Exponential(scale=1), site="m")
    coins.reveal(0 if one > two else 1, site="shown")


@hostile("E", [2], [1], [True])
def one_sided_noise_is_positive(coins: Coins, data: Any) -> None:
    """n < x - 1 is possible at x = 2, impossible at x = 1."""
    coins.reveal(not bool(coins.draw(Exponential(scale=1), site="n") >= data[0] - 1), site="shown")


@hostile("E", [1], [0], [1], 1.0986)
def randomised_response(coins: Coins, data: Any) -> None:
    """A bit kept at 3/4 has loss ln 3 and no alignment of the flip."""
    bit = 1 if data[0] > 0 else 0
    coins.reveal(bit if coins.draw(Bernoulli(p="3/4"), site="keep") == 1 else 1 - bit, site="shown")


@hostile("E", [1], [0], ["one"], 2.19)
def flips_that_differ(coins: Coins, data: Any) -> None:
    """Two flips at 3/4 that both show the bit: 2 ln 3."""
    first = coins.draw(Bernoulli(p="3/4"), site="one")
    second = coins.draw(Bernoulli(p="3/4"), site="two")
    agrees = first == 1 and second == 1 if data[0] > 0 else first == 0 and second == 0
    coins.reveal("one" if agrees else "other", site="shown")


@hostile("E", [1], [0], [2], 3.6)
def weights_that_differ(coins: Coins, data: Any) -> None:
    """Three values with weights 1, 2, 40: the record exchanges the first and the last."""
    value = coins.draw(Categorical(weights=[1, 2, 40]), site="value")
    coins.reveal(value if data[0] > 0 else 2 - value, site="shown")


@hostile("E", [1], [0], [1], 1.0986)
def probability_of_the_record(coins: Coins, data: Any) -> None:
    """The record is the probability of the flip."""
    coins.observe(Bernoulli(p=(1 + 2 * data[0]) / 4), site="shown")


@hostile("E", [0], [1], ["sure"])
def impossible_flip(coins: Coins, data: Any) -> None:
    """A flip with probability 0 never happens, and the other outcome shows the record."""
    if coins.draw(Bernoulli(p=0), site="flip") == 1 or data[0] > 0:
        coins.reveal("other", site="shown")
    else:
        coins.reveal("sure", site="shown")


@hostile("G12", [0], [Fraction(1, 2)], [Within(0, 0)])
def real_record_with_integer_noise(coins: Coins, data: Any) -> None:
    """x + n shows the fractional part of a record that need not be an integer."""
    coins.reveal(data[0] + coins.draw(DiscreteLaplace(scale=1), site="n"), site="shown")


@hostile("G12", [0], [Fraction(1, 2)], [Within(0, 0)])
def real_record_released_with_integer_noise(coins: Coins, data: Any) -> None:
    """The same fractional part is shown by a release."""
    coins.release(data[0], DiscreteLaplace(scale=1), site="shown")


@hostile("G12", [0], [1], [Within(0, 0)], integers=True)
def halves_released_with_integer_noise(coins: Coins, data: Any) -> None:
    """x/2 of an integer need not be an integer."""
    coins.release(data[0] / 2, DiscreteLaplace(scale=1), site="shown")


@hostile("G12", [-1], [1], ["even"], 0.99, integers=True, by=Fraction(2), claim="1/2")
def moves_by_one_or_two(coins: Coins, data: Any) -> None:
    """n >= x/2 with a change of 2 needs a shift of 1."""
    noisy = data[0] / 2 + coins.draw(DiscreteLaplace(scale=1), site="n")
    coins.reveal("even" if noisy <= -5 else "other", site="shown")


@hostile("G12", [0], [1], ["even"], integers=True, by=Fraction(2))
def parity_among_vertices(coins: Coins, data: Any) -> None:
    """By at most 2: the vertices keep the parity, the step of 1 between them does not."""
    noise = coins.draw(DiscreteLaplace(scale=1), site="n")
    coins.reveal("even" if 2 * noise <= data[0] and 2 * noise >= data[0] else "other", site="shown")


@hostile("G12", [0], [1], ["a"], integers=True)
def weak_and_strict_on_integers(coins: Coins, data: Any) -> None:
    """3n > x - 1 and 3n < x + 1 is 3n = x: rows must be scaled before strict becomes weak."""
    noise = coins.draw(DiscreteLaplace(scale=1), site="n")
    coins.reveal("a" if 3 * noise > data[0] - 1 and 3 * noise < data[0] + 1 else "b", site="shown")
