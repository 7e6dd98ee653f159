"""Programs of Gaussian releases that would be falsely proved, under zCDP, without one of the rules.

Each has data, a neighbour and outcomes at which its loss exceeds ``rho``, or a reason why the prover must not
follow it at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpaudit.coins import Coins
from dpaudit.core.views import SERVER
from dpaudit.distributions import Bernoulli, Gaussian, Laplace
from dpaudit.prover import post

__all__ = ["REFUSED"]

#: By name: the program, and words of the one sentence that refuses it.
REFUSED: dict[str, tuple[Callable[..., Any], str]] = {}


def refused(words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(program: Callable[..., Any]) -> Callable[..., Any]:
        REFUSED[program.__name__] = program, words
        return program

    return register


@refused("different things")
def data_choose_the_noise(coins: Coins, data: Any) -> None:
    """Two variances on two sides of 1/2 have no bound, since the outcome distinguishes them."""
    if data[0] > 0.5:
        coins.release(data[0], Gaussian(sigma=1), site="a")
    else:
        coins.release(data[0], Gaussian(sigma=100), site="a")


@refused("different things")
def data_choose_to_release_again(coins: Coins, data: Any) -> None:
    coins.release(data[0], Gaussian(sigma=1), site="a")
    if data[0] > 0.5:
        coins.release(0, Gaussian(sigma=1), site="b")


@refused("different things")
def data_choose_a_word(coins: Coins, data: Any) -> None:
    coins.release(data[0], Gaussian(sigma=1), site="a")
    coins.reveal("high" if data[1] > 0.5 else "low", site="word")


@refused("different things")
def data_choose_the_question(coins: Coins, data: Any) -> None:
    """The answers to two questions may differ for every outcome, and the noise with them."""
    seen = coins.release(data[0], Gaussian(sigma=1), site="a")
    if (seen > 0) if data[1] > 0.5 else (seen > 1):
        coins.release(data[0], Gaussian(sigma=9), site="b")
    else:
        coins.release(data[0], Gaussian(sigma=8), site="b")


@refused("different things")
def data_choose_the_declared_function(coins: Coins, data: Any) -> None:
    """Two functions of one name answer differently, and their answers choose the noise."""
    seen = coins.release(data[0], Gaussian(sigma=1), site="a")
    if data[1] > 0.5:
        which = post(lambda value: 8, seen, choices=[8, 9])
    else:
        which = post(lambda value: 9, seen, choices=[8, 9])
    coins.release(data[0], Gaussian(sigma=which), site="b")


@refused("compared with an outcome")
def an_outcome_against_a_record(coins: Coins, data: Any) -> None:
    """The record is compared with a public number, so that the answer is private."""
    seen = coins.release(data[0], Gaussian(sigma=1), site="a")
    if data[1] > seen:
        coins.release(data[0], Gaussian(sigma=9), site="b")


@refused("outcomes in released values")
def data_decide_and_an_outcome_stands_in_a_value(coins: Coins, data: Any) -> None:
    """Pairs of paths do not support outcomes inside values."""
    seen = coins.release(min(data[0], 1), Gaussian(sigma=1), site="a")
    coins.release(data[0] - seen, Gaussian(sigma=9), site="b")


@refused("multiplied by a public value")
def a_record_times_an_outcome(coins: Coins, data: Any) -> None:
    """The change is proportional to the outcome, which is unbounded."""
    seen = coins.release(data[0], Gaussian(sigma=1), site="a")
    coins.release(data[0] * seen, Gaussian(sigma=1), site="b")


@refused("a divisor")
def a_record_over_an_outcome(coins: Coins, data: Any) -> None:
    seen = coins.release(data[0], Gaussian(sigma=1), site="a")
    coins.release(data[0] * (1 / seen), Gaussian(sigma=1), site="b")


@refused("multiplied by a private value")
def a_record_times_a_record(coins: Coins, data: Any) -> None:
    coins.release(data[0] * data[1], Gaussian(sigma=1), site="a")


@refused("shown without noise")
def shows_a_record(coins: Coins, data: Any) -> None:
    coins.release(data[0], Gaussian(sigma=1), site="a")
    coins.reveal([1, data[1]], site="bare")


@refused("shown without noise")
def returns_a_record(coins: Coins, data: Any) -> Any:
    return data[0] - coins.release(data[0], Gaussian(sigma=1), site="a")


@refused("'hidden'")
def a_hidden_gaussian(coins: Coins, data: Any) -> None:
    """The second release repeats the noise of the first, and sums of noise are another distribution."""
    noise = coins.draw(Gaussian(sigma=1), site="hidden")
    coins.reveal(data[0] + noise, site="a")


@refused("'coin'")
def a_hidden_coin(coins: Coins, data: Any) -> None:
    """A mixture of Gaussians is not Gaussian."""
    if coins.draw(Bernoulli(p="1/2"), site="coin") == 1:
        coins.release(data[0], Gaussian(sigma=1), site="a")
    else:
        coins.release(-data[0], Gaussian(sigma=1), site="a")


@refused("'laplace'")
def one_laplace_release(coins: Coins, data: Any) -> None:
    coins.release(data[0], Gaussian(sigma=1), site="a")
    coins.release(data[0], Laplace(scale=1), site="laplace")


@refused("'seen'")
def one_laplace_observation(coins: Coins, data: Any) -> None:
    coins.observe(Laplace(scale=1), site="seen")


@refused("which may change")
def shown_to_the_server(coins: Coins, data: Any) -> None:
    coins.release(data[0], Gaussian(sigma=1), site="a", to=SERVER)


@refused("sigma")
def no_noise(coins: Coins, data: Any) -> None:
    coins.release(data[0], Gaussian(sigma=0), site="a")


@refused("raises")
def noise_of_a_private_size(coins: Coins, data: Any) -> None:
    coins.release(data[0], Gaussian(variance=1 + data[0]), site="a")


@refused("raises")
def noise_of_a_public_size(coins: Coins, data: Any) -> None:
    """The variance may become arbitrarily small."""
    seen = coins.release(data[0], Gaussian(sigma=1), site="a")
    coins.release(data[0], Gaussian(variance=seen), site="b")


@refused("decisions")
def until_an_outcome_is_small(coins: Coins, data: Any) -> None:
    """Each round has a cost, and the number of rounds is unbounded."""
    while coins.release(data[0], Gaussian(sigma=9), site="a") > 0:
        pass


@refused("generator")
def a_generator_that_releases(coins: Coins, data: Any) -> Any:
    yield 1
    coins.release(data[0], Gaussian(sigma=1), site="a")
