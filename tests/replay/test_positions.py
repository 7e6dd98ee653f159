"""Every position of the data is changed, so a record in the middle is examined for every row and seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import compose_parallel, laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import Adjacency, PureDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.distributions import Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Interval, ListedPairs
from dpaudit.replay.positions import MOST, everywhere
from dpaudit.replay.privacy import privacy_outcome
from dpaudit.replay.search import corners

CLAIM, ONE = PureDP(epsilon=1), laplace_mechanism(sensitivity=1, scale=1)


def verdict(program: Any, *, seed: int = 0, row: str = "row", **options: Any) -> VerdictKind:
    wanted: dict[str, Any] = {
        "neighbours": lambda run: corners(records=8),
        "sites": [Site("sum", total=1)],
        "proof": ONE,
    }
    audit = PrivacyAudit(claim=CLAIM, program=program, **(wanted | options))
    run = Run(profile="quick", alpha=0.01, seed=seed, row_id=row)
    outcome = privacy_outcome(audit, run)
    return judge(CLAIM, outcome.evidence, unmet=outcome.unmet, alpha=run.alpha).verdict


def noisy(coins: Coins, value: float) -> Any:
    return coins.release(float(value), Laplace(scale=1), site="sum")


def published(coins: Coins, data: Any) -> Any:
    return noisy(coins, np.sum(data)), float(data[3])


def weighted(coins: Coins, data: Any) -> Any:
    return noisy(coins, np.sum(data) + data[5])


def overlapping(coins: Coins, data: Any) -> Any:
    return [noisy(coins, np.sum(data[0:4])), noisy(coins, np.sum(data[3:8]))]


def product(coins: Coins, data: Any) -> Any:
    return noisy(coins, np.dot(data[:-1], data[1:]))


@pytest.mark.sample(1, each=("program",))
@pytest.mark.parametrize("domain", [None, Interval(0, 1)])
@pytest.mark.parametrize(
    ("program", "proof"),
    [(published, ONE), (weighted, ONE), (overlapping, compose_parallel([ONE, ONE])), (product, ONE)],
)
def test_a_record_in_the_middle_is_not_forgotten(program: Any, proof: Any, domain: Any) -> None:
    """Published, counted twice, in two batches, or multiplied with both its neighbours: never verified, and
    the same for other seeds and rows."""
    found = {
        verdict(program, proof=proof, domain=domain, seed=seed, row=row)
        for seed, row in ((0, "row"), (0, "row/accounting"), (1, "row"))
    }
    assert len(found) == 1
    assert found <= {VerdictKind.REFUTED, VerdictKind.INCONCLUSIVE}


def test_a_plain_sum_is_verified_at_every_position() -> None:
    """The same look at a right program."""
    assert verdict(lambda c, d: noisy(c, np.sum(d)), domain=Interval(0, 1)) is VerdictKind.CONSISTENT


def test_a_narrow_window_of_one_site_is_hit() -> None:
    """A raw record is shown where the outcome falls into a window of width 1/20."""

    def window(coins: Coins, data: Any) -> Any:
        y = noisy(coins, np.sum(data))
        return float(np.where((y > 2.00) & (y < 2.05), data[0], y))

    assert verdict(window, domain=Interval(0, 1)) is not VerdictKind.CONSISTENT


def test_positions_are_spread() -> None:
    """All of a short list, 64 of a long one; add-or-remove leaves out each record; texts have none."""
    pair = Neighbours("first", [0.0] * 5, [1.0] + [0.0] * 4)
    found = everywhere([pair], Adjacency.REPLACE_ONE, ListedPairs())
    assert [np.flatnonzero(np.array(p.left) != np.array(p.right)).tolist() for p in found] == [
        [1],
        [2],
        [3],
        [4],
    ]
    long = Neighbours("first", np.zeros(1000), np.eye(1000)[0])
    assert len(everywhere([long], Adjacency.REPLACE_ONE, ListedPairs())) == MOST
    more = Neighbours("one more", [1.0, 2.0], [1.0, 2.0, 3.0])
    lengths = [(len(p.left), len(p.right)) for p in everywhere([more], Adjacency.ADD_REMOVE, ListedPairs())]
    assert lengths == [(2, 3), (2, 3)]
    words = Neighbours("words", ["a"], ["b"])
    assert everywhere([words], Adjacency.REPLACE_ONE, ListedPairs()) == []
