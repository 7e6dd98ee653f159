"""Sections 1 to 8: forbidden operations on private values, and known wrong mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import ANY, Within


@hostile("1", [0], [1], ["0"])
def shows_text(coins: Coins, data: Any) -> None:
    """The default text of a symbol is equal on both inputs, but the record's text is not."""
    coins.reveal(str(data[0]), site="shown")


@hostile("1", [0], [1], ["0"])
def shows_representation(coins: Coins, data: Any) -> None:
    """repr instead of str."""
    coins.reveal(repr(data[0]), site="shown")


@hostile("1", [0], [1], ["0"])
def shows_formatted(coins: Coins, data: Any) -> None:
    """An f-string calls format, not str."""
    coins.reveal(f"{data[0]}", site="shown")


@hostile("1", [0], [1], ["0"])
def shows_percent_text(coins: Coins, data: Any) -> None:
    """Text by the percent operator."""
    coins.reveal("%s" % data[0], site="shown")  # noqa: UP031


@hostile("1", [0], [1], ["0,"])
def shows_joined_text(coins: Coins, data: Any) -> None:
    """The text of a container calls repr of its entries."""
    coins.reveal(str([data[0]])[1:-1] + ",", site="shown")


@hostile("1", [0], [1], [True])
def shows_hash(coins: Coins, data: Any) -> None:
    """A hash by identity is a plain number."""
    coins.reveal(hash(data[0]) % 2 == 0, site="shown")


@hostile("1", [0], [1], ["zero"])
def looks_up(coins: Coins, data: Any) -> None:
    """A dictionary compares hashes first, so that a symbol is never found."""
    coins.reveal({0: "zero"}.get(data[0], "other"), site="shown")


@hostile("1", [0], [1], [True])
def in_a_set(coins: Coins, data: Any) -> None:
    """Membership in a set, by hash."""
    coins.reveal(data[0] in {0, 7}, site="shown")


@hostile("1", [0], [1], [True])
def in_a_list(coins: Coins, data: Any) -> None:
    """Membership in a list, by equality."""
    coins.reveal(data[0] in [0, 7], site="shown")


@hostile("1", [0], [1], [True])
def equal(coins: Coins, data: Any) -> None:
    """Equality by identity is False for all symbols."""
    coins.reveal(data[0] == 0, site="shown")


@hostile("1", [0], [1], [False])
def unequal(coins: Coins, data: Any) -> None:
    """Inequality by identity is True for all symbols."""
    coins.reveal(data[0] != 0, site="shown")


@hostile("1", [0, 0], [0, 1], ["same"])
def equal_records(coins: Coins, data: Any) -> None:
    """Two records compared with each other."""
    coins.reveal("same" if data[0] == data[1] else "different", site="shown")


@hostile("1", [0, 0], [0, 1], [2])
def counted(coins: Coins, data: Any) -> None:
    """list.count compares by identity, then by equality."""
    coins.reveal(list(data).count(data[0]), site="shown")


@hostile("1", [0], [1], [0])
def truncated(coins: Coins, data: Any) -> None:
    """int of a record."""
    coins.reveal(int(data[0]), site="shown")


@hostile("1", [0], [1], [0])
def rounded(coins: Coins, data: Any) -> None:
    """round of a record."""
    coins.reveal(round(data[0]), site="shown")


@hostile("1", [0], [1], [0])
def floored(coins: Coins, data: Any) -> None:
    """math.floor tries __floor__, then a float."""
    coins.reveal(math.floor(data[0]), site="shown")


@hostile("1", [0], [1], [0.0])
def made_a_float(coins: Coins, data: Any) -> None:
    """float of a record."""
    coins.reveal(float(data[0]), site="shown")


@hostile("1", [0], [1], [0])
def divided_down(coins: Coins, data: Any) -> None:
    """Floor division."""
    coins.reveal(data[0] // 1, site="shown")


@hostile("1", [0], [1], [0])
def remainder(coins: Coins, data: Any) -> None:
    """Remainder."""
    coins.reveal(data[0] % 2, site="shown")


@hostile("1", [0], [1], ["a"])
def indexes(coins: Coins, data: Any) -> None:
    """A record as an index."""
    coins.reveal(["a", "b"][data[0]], site="shown")


@hostile("1", [0], [1], [""])
def repeats_text(coins: Coins, data: Any) -> None:
    """A record as the number of copies of a text."""
    coins.reveal("a" * data[0], site="shown")


@hostile("1", [0], [1], [])
def loops_that_often(coins: Coins, data: Any) -> None:
    """A record as the length of a loop."""
    for _ in range(data[0]):
        coins.reveal("round", site="shown")


@hostile("1", [0], [1], ["no"])
def truth_of_a_record(coins: Coins, data: Any) -> None:
    """An object without __bool__ is true."""
    coins.reveal("yes" if data[0] else "no", site="shown")


@hostile("1", [10], [11], [Within(-math.inf, 100)], 20.9)
def releases_a_square(coins: Coins, data: Any) -> None:
    """A product of a record with itself is not a linear form."""
    coins.release(data[0] * data[0], Laplace(scale=1), site="shown")


@hostile("1", [10], [11], [Within(-math.inf, 100)], 20.9)
def releases_a_power(coins: Coins, data: Any) -> None:
    """A power of a record."""
    coins.release(data[0] ** 2, Laplace(scale=1), site="shown")


@hostile("1", [10, 10], [11, 11], [Within(-math.inf, 100)], 20.9)
def releases_a_product(coins: Coins, data: Any) -> None:
    """A product of two records."""
    coins.release(data[0] * data[1], Laplace(scale=1), site="shown")


@hostile("1", [Fraction(1, 10)], [Fraction(11, 10)], [Within(10)], 9)
def releases_an_inverse(coins: Coins, data: Any) -> None:
    """One over a record."""
    coins.release(1 / data[0], Laplace(scale=1), site="shown")


@hostile("1", [1], [0], [Within(50)], 24)
def scale_from_data(coins: Coins, data: Any) -> None:
    """A record is the scale, so that the ratio of tails is unbounded."""
    coins.release(0, Laplace(scale=1 + abs(data[0])), site="shown")


@hostile("2", [0], [1], [False])
def shows_a_comparison(coins: Coins, data: Any) -> None:
    """A comparison is shown without being used as a truth value."""
    coins.reveal(data[0] > 0, site="shown")


@hostile("2", [0], [1], ["list of 1", False])
def shows_a_comparison_in_a_list(coins: Coins, data: Any) -> None:
    """The same comparison inside a container."""
    coins.reveal([data[0] > 0], site="shown")


@hostile("2", [0], [1], ["False"])
def shows_the_text_of_a_comparison(coins: Coins, data: Any) -> None:
    """The text of an undecided comparison is shown."""
    coins.reveal(str(data[0] > 0), site="shown")


@hostile("2", [0, 0], [1, 1], [0])
def adds_comparisons(coins: Coins, data: Any) -> None:
    """Comparisons as numbers."""
    coins.reveal((data[0] > 0) + (data[1] > 0), site="shown")


@hostile("2", [0], [1], ["no"])
def indexes_by_a_comparison(coins: Coins, data: Any) -> None:
    """A comparison as an index."""
    coins.reveal(["no", "yes"][data[0] > 0], site="shown")


@hostile("2", [0], [1], ["no"])
def identity_of_a_comparison(coins: Coins, data: Any) -> None:
    """A comparison object is not identical to True, whatever its value."""
    coins.reveal("yes" if (data[0] > 0) is True else "no", site="shown")


@hostile("2", [0], [1], [Within(-math.inf, 0)], 3.9)
def releases_a_comparison(coins: Coins, data: Any) -> None:
    """A released comparison changes by 1."""
    coins.release((data[0] > 0) + 0, Laplace(scale="1/4"), site="shown")


@hostile("2", [0], [1], ["in"])
def chained_comparison(coins: Coins, data: Any) -> None:
    """0 <= x < 1 decides twice."""
    coins.reveal("in" if 0 <= data[0] < 1 else "out", site="shown")


@hostile("2", [0, 1], [1, 1], [Within(0, 0), Within(1, 1)])
def sorts(coins: Coins, data: Any) -> None:
    """Sorted records are private."""
    for value in sorted([data[0], data[1] + 0]):
        coins.reveal(value, site="shown")


@hostile("2", [0], [1], [])
def shows_more_on_one_side(coins: Coins, data: Any) -> None:
    """The number of shown values is an output, even if it is 0."""
    if data[0] > 0:
        coins.reveal("positive", site="shown")


@hostile("2", [0], [1], ["end"])
def returns_early(coins: Coins, data: Any) -> None:
    """An early return shows fewer values."""
    if data[0] > 0:
        return
    coins.reveal("end", site="shown")


@hostile("2", [0], [1], [False])
def returns_a_comparison(coins: Coins, data: Any) -> Any:
    """A returned comparison is part of the output."""
    return data[0] > 0


@hostile("2", [0], [1], [Within(0, 0)])
def returns_a_record(coins: Coins, data: Any) -> Any:
    """A returned record is part of the output."""
    return data[0] + 0


@hostile("3", [-40, 40], [-41, 41], [0], 1.95)
def noisy_max_any_direction(coins: Coins, data: Any) -> None:
    """Noise of scale 1 suffices only for queries that change one way."""
    best, winner = None, 0
    for i in range(len(data)):
        value = data[i] + coins.draw(Laplace(scale=1), site="noise")
        if best is None or value > best:
            best, winner = value, i
    coins.reveal(winner, site="winner")


@hostile("3", [-20] + [20] * 3, [-21] + [21] * 3, [0, ANY], 1.99)
def noisy_max_with_its_value(coins: Coins, data: Any) -> None:
    """The index costs 2/b; its noisy value costs more."""
    best, winner = None, 0
    for i in range(len(data)):
        value = data[i] + coins.draw(Laplace(scale=1), site="noise")
        if best is None or value > best:
            best, winner = value, i
    coins.reveal(winner, site="winner")
    coins.reveal(best, site="value")


@hostile("3", [0, 1], [1, 0], [False, True])
def sparse_vector_without_query_noise(coins: Coins, data: Any) -> None:
    """Two queries that swap their order around one noisy threshold."""
    threshold = coins.draw(Laplace(scale=2), site="threshold")
    for query in data:
        above = query > threshold
        coins.reveal(bool(above), site="above")


@hostile("3", [20] * 3 + [-20], [21] * 3 + [-21], [False, False, False, True], 1.7499)
def sparse_vector_scales_swapped(coins: Coins, data: Any) -> None:
    """Scales 4 and 4/3: (1 + 6c)/4."""
    threshold = coins.draw(Laplace(scale=4), site="threshold")
    for query in data:
        if query + coins.draw(Laplace(scale="4/3"), site="noise") >= threshold:
            coins.reveal(True, site="above")
            return
        coins.reveal(False, site="above")


@hostile("3", [20, 20, -20, -20], [21, 21, -21, -21], [False, False, True, True], 1.99)
def sparse_vector_without_cut_off(coins: Coins, data: Any) -> None:
    """Every answer above has a cost."""
    threshold = coins.draw(Laplace(scale=2), site="threshold")
    for query in data:
        above = query + coins.draw(Laplace(scale=2), site="noise") >= threshold
        coins.reveal(bool(above), site="above")


@hostile("3", [0, 0, 0], [1, 1, 1], [Within(-math.inf, 0), Within(-math.inf, 0), Within(-math.inf, 0)], 2.9)
def releases_every_query(coins: Coins, data: Any) -> None:
    """There are three releases of one change each."""
    for query in data:
        coins.release(query, Laplace(scale=1), site="query")


@hostile("7", [0], [1], [Within(-math.inf, -7)], 99)
def releases_a_multiple(coins: Coins, data: Any) -> None:
    """100 x changes by 100."""
    coins.release(100 * data[0] - 7, Laplace(scale=1), site="shown")


@hostile("7", [0, 0], [1, 1], [Within(-math.inf, 0)], 1.99)
def releases_a_maximum_of_sums(coins: Coins, data: Any) -> None:
    """The maximum of x + y and x changes by 2 if both change."""
    total = data[0] + data[1]
    coins.release(total if total > data[0] - 1 else data[0] - 1, Laplace(scale=1), site="shown")
