"""Test that a proof is about the given claim: other neighbours, units and kinds of privacy are refused."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.core.claims import Profile, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.errors import DpauditError
from dpaudit.distributions import Gaussian, Laplace
from dpaudit.prover import OneReplaced, Symbols, prove

UNIT = Symbols(3, low=0, high=1)


def shows_the_size(coins: Coins, data: Any) -> None:
    """Show the size, which has cost 0 if a record is replaced and no bound if one is added or removed."""
    coins.reveal(len(data), site="size")


def releases_a_sum(coins: Coins, data: Any) -> None:
    """Release a sum, which costs 1 for one record and 3 for a user with all three records."""
    coins.release(sum(data), Laplace(scale=1), site="sum")


def releases_with_gaussian_noise(coins: Coins, data: Any) -> None:
    coins.release(sum(data), Gaussian(sigma=1), site="sum")


def verdict_of(program: Any, claim: Any) -> str:
    """Return the verdict, or "refused" if ``prove`` raises."""
    try:
        return str(prove(program, claim, data=UNIT, adjacency=OneReplaced()).verdict)
    except DpauditError:
        return "refused"


def test_a_size_is_free_where_a_record_is_replaced() -> None:
    """Showing the size is verified if a record is replaced (the control of the next test)."""
    assert verdict_of(shows_the_size, PureDP(epsilon=1)) == "verified"


def test_a_record_more_is_another_claim() -> None:
    """Showing the size is not verified for added or removed records."""
    assert verdict_of(shows_the_size, PureDP(epsilon=1, adjacency="add-remove")) != "verified"


def test_a_user_with_many_records_is_another_claim() -> None:
    """A sum is verified for one replaced record, and not for a user's three records."""
    assert verdict_of(releases_a_sum, PureDP(epsilon=1)) == "verified"
    assert verdict_of(releases_a_sum, PureDP(epsilon=1, unit="user")) != "verified"


def test_other_kinds_of_privacy_are_refused() -> None:
    """zCDP is proved for Gaussian releases alone, pure DP never for them, and other kinds are refused."""
    claim = ZeroConcentratedDP(rho="1/2")
    assert verdict_of(releases_a_sum, claim) == "inconclusive"
    assert verdict_of(releases_with_gaussian_noise, claim) == "verified"
    assert verdict_of(releases_with_gaussian_noise, PureDP(epsilon=9)) == "inconclusive"
    for other in (RenyiDP(order=2, epsilon=1), Profile(points=[(1, "1/2")])):
        assert verdict_of(releases_with_gaussian_noise, other) == "refused"
