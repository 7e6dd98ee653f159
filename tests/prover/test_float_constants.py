"""Test that floats are the decimals that they print as, in proofs and witnesses.

A decision that depends only on rounding, on a type or on the sign of a zero is neither proved nor refuted.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpaudit.core.claims import PureDP, ZeroConcentratedDP
from dpaudit.distributions import Bernoulli, DiscreteLaplace, Gaussian, Laplace
from dpaudit.prover import EVERY, EachMoves, OneReplaced, Symbols, prove
from dpaudit.prover.attained import Attained
from dpaudit.prover.finite import exact_distributions

ONE = Symbols(1)
WHOLE = Symbols(1, integers=True)
CLAIM = PureDP(epsilon=1)


def verdict(program: Any, data: Symbols = ONE, claim: Any = CLAIM) -> str:
    return prove(program, claim, data=data, adjacency=EachMoves()).verdict


def noise(coins: Any) -> Any:
    return coins.draw(Laplace(scale=2), site="n")


def whole_noise(coins: Any) -> Any:
    return coins.draw(DiscreteLaplace(scale=2), site="n")


def tenth_of_ten(coins: Any, data: Any) -> Any:
    return data[0] * 0.1 * 10 <= data[0]


def large(coins: Any, data: Any) -> Any:
    return (data[0] + 1e17) - 1e17 <= data[0]


def large_and_released(coins: Any, data: Any) -> None:
    coins.release((data[0] + 1e17) - 1e17, Laplace(scale=1), site="a")


def two_orders(coins: Any, data: Any) -> Any:
    return data[0] + 0.1 + 0.2 <= data[0] + 0.3


def tenth_by_division(coins: Any, data: Any) -> Any:
    return data[0] / 10 >= data[0] * 0.1


def by_noise(coins: Any, data: Any) -> Any:
    kept = noise(coins)
    return (data[0] + kept) - data[0] <= kept


def by_a_made_float(coins: Any, data: Any) -> Any:
    one, other = 0.1, 0.2
    return data[0] * (one + other) <= data[0] * 0.3


def by_a_kept_difference(coins: Any, data: Any) -> Any:
    return data[0] * 0.1 * 10 - data[0] <= 0


def largest(coins: Any, data: Any) -> int:
    values = [data[0] * 0.1 * 10, data[0]]
    return 1 if max(values) <= data[0] else 2


@pytest.mark.parametrize(
    "program",
    [
        *(tenth_of_ten, large, large_and_released, two_orders, tenth_by_division),
        *(by_noise, by_a_made_float, by_a_kept_difference, largest),
    ],
)
def test_what_rounding_decides_is_neither_proved_nor_refuted(program: Any) -> None:
    """Programs that differ over reals, floats and decimals are inconclusive."""
    assert verdict(program) == "inconclusive"


def difference(coins: Any, data: Any) -> Any:
    return data[0] - data[0]


def times_zero(coins: Any, data: Any) -> Any:
    return data[0] * 0


def times_zero_in_a_list(coins: Any, data: Any) -> Any:
    return ["a", (data[0] * 0.0, None)]


def shown_by_coins(coins: Any, data: Any) -> None:
    coins.reveal(5 + data[0] - data[0], site="five")


def sign_of_noise(coins: Any, data: Any) -> Any:
    return (data[0] + noise(coins)) * 0


def whole_noise_beside_data(coins: Any, data: Any) -> Any:
    return whole_noise(coins) + data[0] * 0


@pytest.mark.parametrize(
    "program",
    [
        *(difference, times_zero, times_zero_in_a_list, shown_by_coins, sign_of_noise),
        whole_noise_beside_data,
    ],
)
def test_no_type_and_no_sign_of_zero_of_the_data_is_shown(program: Any) -> None:
    """Programs whose output is 0, 0.0 or -0.0 depending on data are inconclusive."""
    assert verdict(program) == "inconclusive"


def float_by_division(coins: Any, data: Any) -> Any:
    value = data[0] + whole_noise(coins)
    return value / 1 if data[0] > 0 else value


def float_released(coins: Any, data: Any) -> None:
    coins.release(data[0] / 1, DiscreteLaplace(scale=1), site="a")


def zero_as_a_float(coins: Any, data: Any) -> Any:
    return data[0] * 0.0


@pytest.mark.parametrize("program", [float_by_division, float_released, zero_as_a_float])
def test_integers_that_became_floats_are_no_integers(program: Any) -> None:
    """A shown quotient of integers, which is a float with a signed zero, is inconclusive."""
    assert verdict(program, WHOLE) == "inconclusive"


def signed_zero_around_an_outcome(coins: Any, data: Any) -> Any:
    seen = coins.release(data[0], Gaussian(sigma=1), site="a")
    return -(seen - seen) + data[0] * 0


def test_a_zero_around_an_outcome_keeps_its_sign() -> None:
    """A sum with an outcome whose zero keeps its sign (-0.0 + -0.0 is -0.0) is inconclusive."""
    assert verdict(signed_zero_around_an_outcome, claim=ZeroConcentratedDP(rho=1)) == "inconclusive"


def last_difference(coins: Any, data: Any) -> Any:
    last = 0
    for record in data:
        last = record - record
    return last


def copies_are_compared(coins: Any, data: Any) -> Any:
    level = coins.draw(Laplace(scale=2), site="n")
    copy = level
    for record in data:
        if copy < level:
            return True
        copy = (level + record) - record
    return False


def scaled_copies(coins: Any, data: Any) -> Any:
    last, other = 0, 0
    for record in data:
        if last < other:
            return True
        last, other = record * 0.1 * 10, record
    return False


@pytest.mark.parametrize("program", [last_difference, copies_are_compared, scaled_copies])
def test_a_loop_hides_nothing_of_this(program: Any) -> None:
    """A value that the loop keeps is inconclusive if its rounding may decide."""
    assert verdict(program, Symbols(EVERY)) == "inconclusive"


def noise_before_the_loop(coins: Any, data: Any) -> Any:
    kept = coins.draw(Laplace(scale=1), site="n")
    for record in data:
        coins.release(record * 0.1, Laplace(scale="1/10"), site="a")
    return kept + 0.5


def centred(coins: Any, data: Any) -> None:
    coins.release(sum([record * 0.1 - 0.05 for record in data]), Laplace(scale=1), site="a")


def noisy_threshold(coins: Any, data: Any) -> Any:
    return data[0] * 0.5 + coins.draw(Laplace(scale=1), site="n") >= 0.3


def shown_with_noise(coins: Any, data: Any) -> Any:
    return data[0] - 0.5 + coins.draw(Laplace(scale=1), site="n")


def weights(coins: Any, data: Any) -> Any:
    return 0 * data[0] + 0.2 + coins.draw(Laplace(scale=1), site="n") > 0


def the_same(coins: Any, data: Any) -> Any:
    return data[0] - data[0] <= 0


def clipped(coins: Any, data: Any) -> None:
    coins.release(min(max(data[0], 0.1), 0.9) * 0.1, Laplace(scale=1), site="a")


@pytest.mark.parametrize("program", [centred, noisy_threshold, shown_with_noise, weights, the_same, clipped])
def test_honest_programs_with_floats_are_proved(program: Any) -> None:
    """Programs in which noise decides, or nothing does, are verified."""
    assert verdict(program) == "verified"


def whole_difference(coins: Any, data: Any) -> Any:
    return data[0] - data[0] + 1


def whole_sum(coins: Any, data: Any) -> Any:
    return 2 * data[0] - data[0] + coins.draw(DiscreteLaplace(scale=1), site="n")


@pytest.mark.parametrize("program", [whole_difference, whole_sum])
def test_integers_are_exact(program: Any) -> None:
    """Programs on integers, without type changes and rounding, are verified."""
    assert verdict(program, WHOLE) == "verified"


def test_noise_of_before_a_loop_is_shown_after_it() -> None:
    """A draw before the loop is a float other than 0 after it, at every size."""
    found = prove(noise_before_the_loop, CLAIM, data=Symbols(EVERY, low=0, high=1), adjacency=OneReplaced())
    assert (found.verdict, found.bound) == ("verified", 1)


def nothing(coins: Any, data: Any) -> None:
    """Release 0 if computed with decimals, and 5.6 if computed with floats, on the record 1."""
    seen = coins.release((data[0] * 0.1 * 3 - data[0] * 0.3) * 10**17, Laplace(scale=1), site="one")
    if seen > 0:
        coins.release(data[0] * 0.1, Laplace(scale=1), site="two")


def test_a_witness_reads_the_same_decimals() -> None:
    """The loss at actual outcomes uses exact decimals and does not exceed the proved bound."""
    found = prove(nothing, PureDP(epsilon="1/10"), data=ONE, adjacency=OneReplaced(by=1))
    assert (found.verdict, found.bound) == ("verified", Fraction(1, 10))
    loss = Attained((Fraction(0),), (Fraction(1),), (Fraction(50), Fraction(0))).loss(nothing, ONE)
    assert loss == Fraction(1, 10)


BITS = Symbols(1, low=0, high=3, integers=True)


def threefold(coins: Any, data: Any) -> Any:
    return data[0] * 0.1 > 0.3 if data[0] == 3 else False


def threefold_of_a_count(coins: Any, data: Any) -> Any:
    return sum([0.1 for _ in range(data[0])]) > 0.3


def of_a_division(coins: Any, data: Any) -> Any:
    return 49 * (1 / (49 if data[0] > 0 else 1)) < 1 if data[0] == 1 else False


def test_exact_distributions_are_of_decimals() -> None:
    """Comparisons such as 0.1 * 3 > 0.3, which hold for floats only, have no exact distribution."""
    for program in (threefold, threefold_of_a_count, of_a_division):
        assert exact_distributions(program, BITS) is None, program.__name__
        assert verdict(program, BITS) == "inconclusive", program.__name__


def half(coins: Any, data: Any) -> Any:
    """Show floats that do not round, for a noisy bit."""
    keep = coins.draw(Bernoulli(p=0.75), site="keep")
    return (0.5, -0.0) if (data[0] if keep else 1 - data[0]) * 0.5 > 0.25 else (0.1, 0.0)


def test_exact_distributions_of_floats_that_do_not_round() -> None:
    """Exact distributions keep the program's constants, halves and types."""
    distributions = exact_distributions(half, Symbols(1, low=0, high=1, integers=True))
    assert distributions is not None
    assert set(distributions[(1,)].values()) == {Fraction(3, 4), Fraction(1, 4)}
    keys = {key for shown in distributions[(1,)] for key in shown}
    assert {f"float:{(-0.0).hex()}", f"float:{(0.1).hex()}"} <= keys
    found = prove(
        half, PureDP(epsilon=2), data=Symbols(1, low=0, high=1, integers=True), adjacency=OneReplaced()
    )
    assert found.verdict == "verified"
