"""Leaks that need several outcomes at once are found, and correct programs stay verified."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Recording, force, record
from dpaudit.core.claims import PureDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.distributions import Bernoulli, Categorical, Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.combined_histories import combinations_of, patterns_of
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.privacy import privacy_outcome

NOISE = Laplace(scale=1)
LEFT, RIGHT = np.array([0.0, 0.0]), np.array([1.0, 0.0])
COINS = (Bernoulli(p="999/1000"), Bernoulli(p="1/1000"), Bernoulli(p="998/1000"))
SITE = Site("sum", mechanism=laplace_mechanism(sensitivity=1, scale=1))


def verdict_of(program: Any) -> VerdictKind:
    audit = PrivacyAudit(
        domain=ListedPairs(),
        claim=PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: [Neighbours("the first record", LEFT, RIGHT)],
        sites=[SITE],
    )
    run = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
    outcome = privacy_outcome(audit, run)
    return judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=run.alpha).verdict


def in_opposite_tails(turned: bool, leaks: bool) -> Any:
    """A sum and pure noise; the record is shown where they lie far out on different sides: no condition and
    no other kind of value marks that."""

    def program(coins: Coins, data: Any) -> float:
        noisy = coins.release(float(data.sum()), NOISE, site="sum")
        other = coins.observe(NOISE, site="other")
        high, low = (noisy, other)[:: 1 - 2 * turned]
        far = max(high - 4.0, 0.0) * max(-low - 4.0, 0.0)
        return far * (1.0 + leaks * float(data[0]))

    return program


def by_hidden_draws(draws: int, leaks: bool) -> Any:
    """A sum, and several hidden coins; the record is shown where all of them fall on their rare sides, which
    are not the same."""

    def program(coins: Coins, data: Any) -> float:
        coins.release(float(data.sum()), NOISE, site="sum")
        fell = [int(coins.draw(distribution, site="coin")) for distribution in COINS[:draws]]
        return float(fell == [0, 1, 0][:draws]) * (1.0 + leaks * float(data[0]))

    return program


def by_a_dial(leaks: bool) -> Any:
    """Two hidden dials of five outcomes, and one pair of these at which the record is shown."""
    dial = Categorical(weights=[1000, 1, 1, 1, 1000])

    def program(coins: Coins, data: Any) -> float:
        coins.release(float(data.sum()), NOISE, site="sum")
        here, there = (int(coins.draw(dial, site=name)) for name in ("here", "there"))
        return float((here == 3) * (there == 1)) * (1.0 + leaks * float(data[0]))

    return program


@pytest.mark.parametrize("turned", [False, True])
def test_a_record_in_opposite_tails_refutes(turned: bool) -> None:
    """Either way round; the same program without the record is verified."""
    assert verdict_of(in_opposite_tails(turned, leaks=True)) is VerdictKind.REFUTED
    assert verdict_of(in_opposite_tails(turned, leaks=False)) is VerdictKind.CONSISTENT


@pytest.mark.parametrize(
    "make", [lambda leaks: by_hidden_draws(2, leaks), lambda leaks: by_hidden_draws(3, leaks), by_a_dial]
)
def test_a_record_behind_several_hidden_draws_is_not_verified(make: Any) -> None:
    """Without the record the program is verified."""
    assert verdict_of(make(True)) is VerdictKind.INCONCLUSIVE
    assert verdict_of(make(False)) is VerdictKind.CONSISTENT


def many(coins: Coins, distribution: Any, count: int) -> tuple[Any, ...]:
    return tuple(coins.observe(distribution, site=f"site {k % 2}") for k in range(count))


def runs_of(base: Recording, chosen: Any, distribution: Any, count: int) -> set[tuple[Any, ...]]:
    rng = np.random.default_rng(1)
    runs = [
        force(lambda c, d: many(c, distribution, count), 0, choice, rng=rng) for _, choice in chosen(base)
    ]
    return {tuple(run.returned) for run in runs}


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_any_two_sites_come_out_in_opposite_tails(count: int) -> None:
    """Both ways round; with all at one quantile, three of up to four sites in every combination."""
    base = record(lambda c, d: many(c, NOISE, count), 0, rng=np.random.default_rng(0))
    signs = {tuple(value > 0 for value in run) for run in runs_of(base, patterns_of, NOISE, count)}
    for pair in combinations(range(count), 2):
        assert {(False, True), (True, False)} <= {tuple(run[k] for k in pair) for run in signs}
    if count <= 4:
        signs |= {(True,) * count, (False,) * count}
        for three in combinations(range(count), 3):
            assert len({tuple(run[k] for k in three) for run in signs}) == 8


@pytest.mark.parametrize(
    ("outcomes", "count", "at_once"), [(2, 2, 2), (2, 3, 3), (3, 3, 3), (5, 4, 2), (7, 7, 2)]
)
def test_few_outcomes_come_out_in_every_combination(outcomes: int, count: int, at_once: int) -> None:
    """Against all combinations, listed."""
    distribution = Categorical(weights=[1] * outcomes)
    base = record(lambda c, d: many(c, distribution, count), 0, rng=np.random.default_rng(0))
    found = runs_of(base, lambda one: combinations_of(one, most=100), distribution, count)
    for places in combinations(range(count), at_once):
        seen = {tuple(int(run[k]) for k in places) for run in found}
        assert seen == set(product(range(outcomes), repeat=at_once))


def test_runs_are_limited_and_a_single_number_has_no_patterns() -> None:
    """At most as many as allowed, and none where there is nothing to combine."""
    distribution = Categorical(weights=[1] * 7)
    rng = np.random.default_rng(0)
    seven, one = (record(lambda c, d, n=n: many(c, distribution, n), 0, rng=rng) for n in (7, 1))
    assert [len(combinations_of(seven, most=most)) <= most for most in (0, 1, 10, 49)] == [True] * 4
    assert len(combinations_of(seven, most=49)) == 49
    assert (patterns_of(one), combinations_of(one, most=10)) == ([], [])
