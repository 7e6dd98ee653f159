"""Test proofs for data of every size: bounds of one generic step, and refusals."""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.coins import Coins
from dpaudit.core.claims import PureDP
from dpaudit.distributions import Laplace
from dpaudit.prover import EVERY, EachMoves, OneReplaced, Proof, Symbols, prove
from dpaudit.prover.generic_step import Loop
from dpaudit.reference.mechanisms.lazy_bandit_programs import lazy_ucb
from dpaudit.reference.mechanisms.online_learning_programs import follow_noisy_leader
from dpaudit.reference.mechanisms.sparse_vector_programs import sparse_vector
from tests.prover import oracle
from tests.prover.frames import needs_frames
from tests.prover.fuzz import events
from tests.prover.random_loops import loop_program, random_loop

pytestmark = needs_frames

THRESHOLD, QUERY = Laplace(scale=2), Laplace(scale=4)
SLACK = 1e-6


def proved(program: Any, adjacency: Any = None, claim: Any = 1, **data: Any) -> Proof:
    return prove(
        program, PureDP(epsilon=claim), data=Symbols(EVERY, **data), adjacency=adjacency or EachMoves()
    )


def results_in_a_list(coins: Coins, data: Any) -> Any:
    limit = coins.draw(THRESHOLD, site="limit")
    out = []
    for value in data:
        if value + coins.draw(QUERY, site="query") >= limit:
            out.append(True)
            return out
        out.append(False)
    return out


def shows_its_counter(coins: Coins, data: Any) -> None:
    limit = coins.draw(THRESHOLD, site="limit")
    i = 0
    for value in data:
        i += 1  # noqa: SIM113
        if value + coins.draw(QUERY, site="query") >= limit:
            coins.reveal(i, site="place")
            return


def falling_threshold(coins: Coins, data: Any) -> None:
    limit = coins.draw(THRESHOLD, site="limit")
    steps = 0
    for value in data:
        if value + coins.draw(QUERY, site="query") >= limit - Fraction(1, 2) * steps:
            coins.reveal(True, site="above")
            return
        steps += 1  # noqa: SIM113
        coins.reveal(False, site="above")


def lagged_average(coins: Coins, data: Any) -> None:
    limit = coins.draw(THRESHOLD, site="limit")
    last = [0, 0]
    for value in data:
        last = [last[1], value]
        if sum(last) / 2 + coins.draw(QUERY, site="query") >= limit:
            coins.reveal(True, site="above")
            return
        coins.reveal(False, site="above")


def two_draws_in_a_comprehension(coins: Coins, data: Any) -> None:
    limit = coins.draw(THRESHOLD, site="limit")
    for value in data:
        both = [value + coins.draw(Laplace(scale=8), site="query") for _ in range(2)]
        if both[0] >= limit or both[1] >= limit:
            coins.reveal(True, site="above")
            return
        coins.reveal(False, site="above")


def distribution_in_a_local(coins: Coins, data: Any) -> None:
    noise = Laplace(scale=4)
    limit = coins.draw(Laplace(scale=2), site="limit")
    for value in data:
        coins.reveal(value + coins.draw(noise, site="query") >= limit, site="above")
        if value + coins.draw(noise, site="query") >= limit:
            return


def outcome_as_threshold(coins: Coins, data: Any) -> None:
    limit = coins.release(0, Laplace(scale=1), site="limit")
    for value in data:
        if value + coins.draw(Laplace(scale=1), site="query") >= limit:
            coins.reveal(True, site="above")
            return


#: A loop whose body is so long that the instruction at its head has an extended argument.
LONG = (
    "def program(coins, data):\n    limit = coins.draw(Laplace(scale=2), site='limit')\n"
    "    for value in data:\n        x = 0\n"
    + 200
    * "        x = x + 1\n"
    + "        if value + coins.draw(Laplace(scale=4), site='query') >= limit:\n"
    "            coins.reveal(x, site='above')\n            return\n"
)

BOUNDS = {
    "results in a list": (results_in_a_list, 1),
    "a counter is shown": (shows_its_counter, 1),
    "a threshold falls by public steps": (falling_threshold, 1),
    "averages with the record before": (lagged_average, 1),
    "two draws in a comprehension": (two_draws_in_a_comprehension, Fraction(3, 4)),
    "a distribution in a local": (distribution_in_a_local, math.inf),
    "an outcome as threshold, each answer paid": (outcome_as_threshold, math.inf),
    "a long body": (loop_program(LONG), 1),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_the_bound_is_known(name: str) -> None:
    """The bound is the optimum over shifts that are the same for all histories, or infinite."""
    program, bound = BOUNDS[name]
    assert proved(program).bound == bound


def test_bounds_are_not_below_exact_losses() -> None:
    """The exact loss of sparse vector with four queries at far-out data is near 1 and within the bound."""
    program = sparse_vector(threshold=2, query=4)
    event = [False] * 3 + [True]
    lost = oracle.loss(program, [40] * 3 + [-40], [41] * 3 + [-41], event)
    assert 0.97 < lost <= float(str(proved(program).bound)) + SLACK


@pytest.mark.parametrize(("arms", "states"), [(2, 8), (3, 12), (4, 16)])
def test_lazy_ucb_at_every_horizon(arms: int, states: int) -> None:
    """Lazy UCB costs 1 for one replaced round, and 2 at half the noise. Pulls are widened."""
    data: dict[str, Any] = {"low": 0, "high": 1, "width": arms}
    assert proved(lazy_ucb(arms=arms, scale=1), OneReplaced(), **data).bound == 1
    assert proved(lazy_ucb(arms=arms, scale="1/2"), OneReplaced(), 2, **data).bound == 2
    graph = Loop(lazy_ucb(arms=arms, scale=1), Symbols(EVERY, **data)).graph(4)
    assert len(graph.states) == states
    assert {place[0] for place in graph.wide} == {"pulls", "wanted"}


def test_the_printed_noisy_leader_loses_nearly_two() -> None:
    """The noisy leader at scale 1 has a loss above 1.93 and the bound 2.

    A difference of two Laplace draws has P(Z > x) = (2 + x) e^-x / 4 for x >= 0. After an epoch in which one
    action leads by 32 and one round is replaced, the loss is 2 + ln(32/34).
    """

    def beyond(x: float) -> float:
        return (2 + x) * math.exp(-x) / 4

    data: dict[str, Any] = {"low": 0, "high": 1, "width": 2}
    bound = proved(follow_noisy_leader(actions=2, scale=1), OneReplaced(), 2, **data).bound
    assert bound is not None
    assert 1.93 < math.log(beyond(30) / beyond(32)) < bound == 2
    assert proved(follow_noisy_leader(actions=2, scale=2), OneReplaced(), **data).bound == 1


def test_dead_values_have_no_difference() -> None:
    """The only live local of sparse vector is the noisy threshold."""
    certificate = proved(sparse_vector(threshold=2, query=4)).certificate
    assert certificate is not None
    live = [[state["names"][int(name[1:])] for name in state["symbols"]] for state in certificate["states"]]
    assert live == [["limit"], ["limit"]]


def test_refusals_name_the_place() -> None:
    """A refusal states the reason and the line."""

    def hidden_position(coins: Coins, data: Any) -> None:
        for i, value in enumerate(data):
            coins.reveal(value if i > 5 else 0, site="shown")

    refused = proved(hidden_position)
    assert refused.verdict == "inconclusive"
    assert refused.bound is None
    assert "not iterated by a loop" in refused.reason
    assert str(hidden_position.__code__.co_firstlineno + 1) in refused.reason


def test_a_tracer_changes_nothing() -> None:
    """A trace function that reads the locals of frames does not change the bound."""
    lines = []

    def tracer(frame: Any, event: str, argument: Any) -> Any:
        lines.append((frame.f_code.co_name, event, len(frame.f_locals)))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        bound = proved(lagged_average).bound
    finally:
        sys.settrace(before)
    assert bound == 1
    assert any(name == "lagged_average" for name, _, _ in lines)


def test_a_released_threshold() -> None:
    """A released threshold costs 1/4 for the replaced query, and the exact loss is near that."""

    def above(coins: Coins, data: Any) -> None:
        limit = coins.release(0, Laplace(scale=1), site="limit")
        for value in data:
            if value + coins.draw(QUERY, site="query") >= 40 + limit:
                coins.reveal(True, site="above")
                return
            coins.reveal(False, site="above")

    bound = proved(above, OneReplaced(), low=0, high=1).bound
    event = [oracle.Within(high=0), True]
    lost = oracle.loss(above, [1, 0], [0, 0], event)
    assert 0.24 < lost <= float(bound or 0) + SLACK
    assert bound == Fraction(1, 4)


def test_sizes_have_the_same_claims() -> None:
    """Releases of one or all records have the known bounds for each adjacency."""

    def first(coins: Coins, data: Any) -> None:
        for value in data:
            coins.release(value, Laplace(scale=1), site="first")
            return

    def each(coins: Coins, data: Any) -> None:
        for value in data:
            coins.release(value, Laplace(scale=1), site="each")

    assert proved(first).bound == proved(first, EachMoves(one_way=True)).bound == 1
    assert proved(first, EachMoves(by=3), 3).bound == 3
    assert proved(each).bound == math.inf
    assert proved(each, OneReplaced(), low=0, high=2, claim=2).bound == 2
    assert proved(each, OneReplaced(by="1/2")).bound == Fraction(1, 2)


@pytest.mark.timeout(300)
def test_random_loops() -> None:
    """No bound for every size is below the bounded optimum, a refuted bound, or an exact loss at N <= 2."""
    counts: Counter[str] = Counter()
    for seed in range(40):
        rng = random.Random(seed)
        program = loop_program(random_loop(rng))
        way = rng.randrange(3)
        data: dict[str, Any] = {"low": 0, "high": 1} if way == 2 else {}
        adjacency = (EachMoves(), EachMoves(one_way=True), OneReplaced())[way]
        every = proved(program, adjacency, "1/1000", **data)
        counts[every.verdict if every.bound in (None, math.inf) else "bounded"] += 1
        if every.bound is None or every.bound == math.inf:
            continue
        claim = PureDP(epsilon=every.bound or "1/1000")
        for size in (1, 2):
            fixed = prove(program, claim, data=Symbols(size, **data), adjacency=adjacency)
            assert fixed.verdict != "refuted", seed
            assert fixed.bound is None or fixed.bound <= every.bound, seed
        assert exact_loss(program, way, rng) <= float(every.bound) + 1e-5, seed
    assert counts["bounded"] >= 15
    assert counts["inconclusive"] >= 5


def exact_loss(program: Any, way: int, rng: random.Random) -> float:
    """Return the largest loss of a few events on two records, by the oracle."""
    worst = -math.inf
    for far in (0, 4):
        left = [0, 0] if way == 2 else [far, -far]
        right = [1, 0] if way == 2 else [far + 1, -far + (1 if way == 1 else -1)]
        try:
            one, two = oracle.paths(program, left), oracle.paths(program, right)
            for event in events([*one, *two], rng):
                p, q = oracle.probability(one, event), oracle.probability(two, event)
                for above, below in ((p, q), (q, p)):
                    if above > 1e-6:
                        worst = max(worst, math.log(above / below) if below else math.inf)
        except oracle.UnfollowedError:
            break
    return worst
