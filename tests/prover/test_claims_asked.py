"""A proof answers the claim that is asked, or refuses it: other neighbours, units and kinds of privacy."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.core.claims import Profile, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.errors import DpauditError
from dpaudit.distributions import Gaussian, Laplace
from dpaudit.prover import OneReplaced, Symbols, prove

UNIT = Symbols(3, low=0, high=1)


def shows_the_size(coins: Coins, data: Any) -> None:
    """Free where a record is replaced, and without bound where one is added or removed."""
    coins.reveal(len(data), site="size")


def releases_a_sum(coins: Coins, data: Any) -> None:
    """1 for one record, 3 for a user who has them all."""
    coins.release(sum(data), Laplace(scale=1), site="sum")


def releases_with_gaussian_noise(coins: Coins, data: Any) -> None:
    coins.release(sum(data), Gaussian(sigma=1), site="sum")


def said_of(program: Any, claim: Any) -> str:
    """The verdict; a refusal counts as one."""
    try:
        return str(prove(program, claim, data=UNIT, adjacency=OneReplaced()).verdict)
    except DpauditError:
        return "refused"


def test_a_size_is_free_where_a_record_is_replaced() -> None:
    """The control of the next test."""
    assert said_of(shows_the_size, PureDP(epsilon=1)) == "verified"


def test_a_record_more_is_another_claim() -> None:
    """Both sides of a proof have the same number of records, which is assumed, not shown."""
    assert said_of(shows_the_size, PureDP(epsilon=1, adjacency="add-remove")) != "verified"


def test_a_user_with_many_records_is_another_claim() -> None:
    """One record is replaced in the proof; a user's three records cost 3."""
    assert said_of(releases_a_sum, PureDP(epsilon=1)) == "verified"
    assert said_of(releases_a_sum, PureDP(epsilon=1, unit="user")) != "verified"


def test_other_kinds_of_privacy_are_refused() -> None:
    """1/2-zCDP needs another argument than a pure bound: it is there for Gaussian releases alone, and a pure
    bound is none of it."""
    claim = ZeroConcentratedDP(rho="1/2")
    assert said_of(releases_a_sum, claim) == "inconclusive"
    assert said_of(releases_with_gaussian_noise, claim) == "verified"
    assert said_of(releases_with_gaussian_noise, PureDP(epsilon=9)) == "inconclusive"
    for other in (RenyiDP(order=2, epsilon=1), Profile(points=[(1, "1/2")])):
        assert said_of(releases_with_gaussian_noise, other) == "refused"
