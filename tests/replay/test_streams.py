"""Streams under (epsilon, delta): a release in each round, costs in epsilon or in rho, events or users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.proof import Proof
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import ApproxDP, Unit
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.verdicts import VerdictKind
from dpaudit.distributions import Gaussian, Laplace
from tests.replay.test_notions import audit_of, judged

ROUNDS = 2
PAIRS = [Neighbours("0 to 1", np.zeros(ROUNDS), np.eye(ROUNDS)[0])]
NOISE: dict[str, tuple[Any, Proof]] = {
    "gaussian": (Gaussian(sigma=2), build.gaussian_mechanism(sensitivity=1, scale=2)),
    "laplace": (Laplace(scale=4), build.laplace_mechanism(sensitivity=1, scale=4)),
}
#: A claim that the noise meets, one that only a delta of its own meets, one with delta 0, and that of users.
CLAIMS = {
    "met": ApproxDP(epsilon=2, delta="1/10"),
    "small epsilon": ApproxDP(epsilon=0, delta="9/10"),
    "no delta": ApproxDP(epsilon=1, delta=0),
    "users": ApproxDP(epsilon=2, delta="1/10", unit=Unit.USER),
}


@pytest.mark.parametrize("leaks", [False, True], ids=["as declared", "leaks"])
@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
@pytest.mark.parametrize("noise", NOISE)
def test_a_stream_has_a_verdict(noise: str, claim: ApproxDP, leaks: bool) -> None:
    """Running sums, with the accounting as a cell: a verdict on both, and never consistent with a leak."""
    distribution, proof = NOISE[noise]

    def program(coins: Coins, data: Any) -> None:
        for t in range(len(data)):
            coins.release(float(sum(data[: t + 1])), distribution, site=f"sum/{t}")
        if leaks:
            coins.reveal(float(data[0]), site="raw")

    site = Site("sum/*", touches=ROUNDS, mechanism=proof)
    row, cell, _ = judged(audit_of(program, claim, site, pairs=PAIRS))
    assert cell is not None
    if leaks:
        assert row.verdict is VerdictKind.REFUTED
        assert cell.verdict is VerdictKind.REFUTED
    else:
        exact = noise == "gaussian" and claim is CLAIMS["no delta"]
        wanted = {VerdictKind.INCONCLUSIVE, VerdictKind.REFUTED} if exact else {VerdictKind.CONSISTENT}
        assert row.verdict in wanted
        assert cell.verdict is VerdictKind.CONSISTENT
