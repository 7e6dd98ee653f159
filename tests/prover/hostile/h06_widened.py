"""H 6 to H 8, every N: widened lists are opaque, states merge by exact type, atoms are not pruned."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import ANY, Within

LOW = Within(high=0)


@hostile("H6", [0] * 20, [1] * 20, [*[ANY] * 20, Within(0, 0)], every=True)
def length_of_a_list(coins: Coins, data: Any) -> None:
    """Beyond 18 outcomes the raw record is shown, which a forgotten list length would hide."""
    seen: list[Any] = []
    for record in data:
        seen.append(coins.release(0 * record, Laplace(scale=1), site="shown"))
        if len(seen) == 20:
            coins.reveal(record + 0, site="raw")


@hostile("H6", [0] * 20, [1] * 20, [*[LOW] * 20], 19.9, every=True)
def list_as_a_condition(coins: Coins, data: Any) -> None:
    """An empty list is false, but a widened list has no truth value."""
    seen: list[Any] = []
    for record in data:
        if seen or not seen:  # noqa: SIM221
            seen.append(coins.release(record, Laplace(scale=1), site="shown"))


@hostile("H6", [0] * 20, [1] * 20, ["list of 20", *[Within(0, 0)] * 20], every=True)
def list_of_records(coins: Coins, data: Any) -> Any:
    """A list of private entries, returned."""
    seen: list[Any] = []
    for record in data:
        seen.append(record)
    return seen


@hostile("H6", [0] * 20, [1] + [0] * 19, [*[Within(0, 1)] * 20, Within(0, 0)], every=True)
def slice_of_a_list(coins: Coins, data: Any) -> None:
    """A slice of a mixed list is shown."""
    seen: list[Any] = []
    for record in data:
        coins.release(0, Laplace(scale=1), site="shown")
        seen = [*seen, record]
    coins.reveal(seen[0], site="first")


@hostile("H6", [0] * 20, [1] * 20, [*[ANY] * 19, "late", Within(0, 0)], every=True)
def counter_becomes_text(coins: Coins, data: Any) -> None:
    """A counter that turns into text after 19 records."""
    count: Any = 0
    for record in data:
        if count == "over":
            coins.reveal(record + 0, site="raw")
            return
        if count == 19:
            coins.reveal("late", site="late")
            coins.reveal(record + 0, site="raw")
            return
        coins.release(0, Laplace(scale=1), site="shown")
        count = count + 1 if count < 19 else "over"


@hostile("H6", [0] * 51, [1] * 51, [Within(0, 0)], every=True)
def raw_from_the_fiftieth_record(coins: Coins, data: Any) -> None:
    """Runs at N = 3, 4, 5 prove 0, but from the 50th record on the raw value is shown."""
    count = 0
    for record in data:
        count += 1  # noqa: SIM113
        if count > 50:
            coins.reveal(record + 0, site="raw")
            return


@hostile("H7", [0, 0, 0], [1, 1, 1], [1, 1.0, True], every=True)
def state_by_type(coins: Coins, data: Any) -> None:
    """1, 1.0 and True are equal but different states, and the third shows the record's sign."""
    state: Any = 1
    for record in data:
        if type(state) is bool:
            coins.reveal(bool(record <= 0), site="shown")
        else:
            coins.reveal(state, site="shown")
        state = 1.0 if type(state) is int else True


@hostile("H7", [0, 0], [1, 1], ["plus", Within(0, 0)], every=True)
def state_by_sign_of_zero(coins: Coins, data: Any) -> None:
    """0.0 and -0.0 are equal but different states."""
    state = 0.0
    for record in data:
        if str(state) == "-0.0":
            coins.reveal(record + 0, site="shown")
            return
        coins.reveal("plus", site="shown")
        state = -state


@hostile("H7", [0, 0], [1, 1], ["first", Within(0, 0)], every=True)
def state_none_or_zero(coins: Coins, data: Any) -> None:
    """None and 0 are both false."""
    state: Any = 0
    for record in data:
        if state is None:
            coins.reveal(record + 0, site="shown")
            return
        coins.reveal("first", site="shown")
        state = None


@hostile("H8", [0, 0], [1, 1], [Within(0, 0)], every=True)
def constant_zero_widened(coins: Coins, data: Any) -> None:
    """A constant 0 widened to a symbol makes "s <= 0 and s >= 0" true, not null."""
    total: Any = 0
    for record in data:
        if total <= 0 and total >= 0:
            coins.reveal(record + 0, site="shown")
            return
        total = total + coins.draw(Laplace(scale=1), site="noise")


@hostile("H8", [0, 0], [1, 1], ["zero"], every=True)
def sum_that_is_an_atom(coins: Coins, data: Any) -> None:
    """A sum of records is 0 for some data."""
    total: Any = 0
    for record in data:
        total = total + record
    coins.reveal("zero" if total <= 0 and total >= 0 else "other", site="shown")


@hostile("H8", [0, 0], [1, 1], ["in", "in"], every=True)
def sliver_in_the_loop(coins: Coins, data: Any) -> None:
    """A sliver of width 1e-10 around each record."""
    for record in data:
        inside = record >= Fraction(-1, 10**10) and record <= Fraction(1, 10**10)
        coins.reveal("in" if inside else "out", site="shown")


@hostile("H8", [0, 0], [1, 1], ["no", Within(0, 0)], every=True)
def old_draw_meets_itself(coins: Coins, data: Any) -> None:
    """A draw of an earlier step is not fresh: T <= T has probability 1."""
    threshold = coins.draw(Laplace(scale=1), site="t")
    copy = threshold + 0
    first = True
    for record in data:
        if first:
            coins.reveal("no", site="first")
            first = False
        elif threshold - copy <= 0 and copy - threshold <= 0:
            coins.reveal(record + 0, site="raw")
            return


@hostile("H8", [0, 0], [1, 1], ["same", "same"], every=True)
def record_below_itself(coins: Coins, data: Any) -> None:
    """x < x + y is y > 0."""
    for record in data:
        coins.reveal("more" if record < record + record else "same", site="shown")
