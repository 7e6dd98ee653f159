"""H 12: a running maximum may show exactly one position and nothing else."""

# ruff: noqa: SIM113  (the programs count by hand: enumerate is another rule)

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import ONE_WAY, hostile
from tests.prover.oracle import ANY, Within


@hostile("H12", [40] * 4, [41] * 4, ["low"], 1.9, every=True)
def shows_low_for_a_negative_maximum(coins: Coins, data: Any) -> None:
    """The word "low" for a negative maximum was once accepted with shift 0, and its cost grows with N."""
    best: Any = None
    winner = i = 0
    for record in data:
        value = record + coins.draw(Laplace(scale=2), site="n")
        if best is None or value > best:
            best, winner = value, i
        i += 1
    if best is not None and best < 0:
        coins.reveal("low", site="shown")
    else:
        coins.reveal(winner, site="shown")


@hostile("H12", [-20, 20, 20, 20], [-21, 21, 21, 21], [0], 1.98, every=True)
def running_maximum_at_scale_one(coins: Coins, data: Any) -> None:
    """Laplace(1), any direction: 2/b."""
    best: Any = None
    winner = i = 0
    for record in data:
        value = record + coins.draw(Laplace(scale=1), site="n")
        if best is None or value > best:
            best, winner = value, i
        i += 1
    coins.reveal(winner, site="shown")


@hostile("H12", [-20, 20, 20], [-21, 21, 21], [0, Within(low=0)], 1.9, every=True)
def shows_position_and_gap(coins: Coins, data: Any) -> None:
    """The position and its lead are shown, at scale 1."""
    best: Any = None
    second: Any = None
    winner = i = 0
    for record in data:
        value = record + coins.draw(Laplace(scale=1), site="n")
        if best is None or value > best:
            best, second, winner = value, best, i
        elif second is None or value > second:
            second = value
        i += 1
    coins.reveal(winner, site="shown")
    coins.reveal(best - second, site="gap")


@hostile("H12", [-20, 20, 0], [-21, 21, 1], [1, 0], 0.99, every=True)
def shows_two_positions(coins: Coins, data: Any) -> None:
    """The largest and the smallest position are shown, and all other positions look equal."""
    best: Any = None
    least: Any = None
    high = low = i = 0
    for record in data:
        value = record + coins.draw(Laplace(scale=2), site="n")
        if best is None or value > best:
            best, high = value, i
        if least is None or value < least:
            least, low = value, i
        i += 1
    coins.reveal(low, site="low")
    coins.reveal("no" if high == low else high, site="high")


@hostile("H12", [-20, 20, 20], [-21, 21, 21], [0, Within(low=0)], 0.99, every=True)
def shows_whether_it_won_by_much(coins: Coins, data: Any) -> None:
    """The position is shown, and the maximum so far is released."""
    best: Any = None
    winner = i = 0
    for record in data:
        value = record + coins.draw(Laplace(scale=2), site="n")
        if best is None or value > best:
            best, winner = value, i
        i += 1
    coins.reveal(winner, site="shown")
    coins.release(best, Laplace(scale=1), site="maximum")


@hostile("H12", [-20, 20, 20], [-20, 21, 21], [0], 0.95, every=True, adjacency=ONE_WAY, claim="1/2")
def one_way_running_maximum(coins: Coins, data: Any) -> None:
    """One way costs 1/b, not 1/(2b), so that both signs are to be tried."""
    best: Any = None
    winner = i = 0
    for record in data:
        value = record + coins.draw(Laplace(scale=1), site="n")
        if best is None or value > best:
            best, winner = value, i
        i += 1
    coins.reveal(winner, site="shown")


@hostile("H12", [-20, 20, 20], [-21, 21, 21], [0, ANY], 1.98, every=True)
def shows_position_and_later_records(coins: Coins, data: Any) -> None:
    """The maximum is shown at scale 1, and later records are released."""
    best: Any = None
    winner = i = 0
    for record in data:
        value = record + coins.draw(Laplace(scale=1), site="n")
        if best is None or value > best:
            best, winner = value, i
        i += 1
    coins.reveal(winner, site="shown")
    coins.release(0, Laplace(scale=1), site="beside")
