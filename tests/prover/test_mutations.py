"""Test certificates with one random change: each is refused, or its bound holds for the program it describes.

A change may leave a valid proof, such as a larger shift or scale. The oracle, which shares no code with the
checker, therefore runs the tree of every accepted certificate as a program. Its loss must not exceed the
derived bound.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.coins import Coins
from dpaudit.core.claims import PureDP
from dpaudit.distributions import Bernoulli, DiscreteLaplace, Exponential, Laplace
from dpaudit.kernel import program_t0
from dpaudit.prover import EachMoves, Symbols, prove
from dpaudit.reference.mechanisms.noisy_max_programs import noisy_max
from dpaudit.reference.mechanisms.sparse_vector_programs import (
    numeric_sparse_vector,
    sparse_vector,
    sparse_vector_showing,
)
from tests.prover import oracle
from tests.prover.fuzz import events
from tests.prover.masses import TooWideError
from tests.prover.mutants import mutated, tree_program

SLACK = 1e-6
EACH = 80


def hidden_coin(coins: Coins, data: Any) -> None:
    """Draw a finite value and Laplace noise."""
    if coins.draw(Bernoulli(p="1/4"), site="coin") == 1:
        coins.reveal(data[0] + coins.draw(Laplace(scale=1), site="n") > 0, site="shown")
    else:
        coins.reveal(data[1] + coins.draw(Laplace(scale=2), site="n") > 1, site="shown")


CASES = {
    "sparse vector": (sparse_vector(threshold=2, query=4), Symbols(2)),
    "sparse vector, second answer": (sparse_vector(threshold=2, query=8, cut_off=2), Symbols(3)),
    "a gap": (sparse_vector_showing("gap", threshold=2, query=4), Symbols(2)),
    "a value": (numeric_sparse_vector(threshold=3, query=6, value=3), Symbols(2)),
    "noisy max": (noisy_max(scale=2), Symbols(3)),
    "one-sided noise": (noisy_max(scale=2, distribution=Exponential), Symbols(2)),
    "discrete noise": (noisy_max(scale=2, distribution=DiscreteLaplace), Symbols(2, integers=True)),
    "a hidden coin": (hidden_coin, Symbols(2)),
}


def certificate(name: str) -> dict[str, Any]:
    program, data = CASES[name]
    proof = prove(program, PureDP(epsilon=1), data=data, adjacency=EachMoves())
    assert proof.verdict == "verified"
    assert proof.certificate is not None
    return proof.certificate


def largest_loss(nodes: list[Any], size: int, *, integers: bool) -> float:
    """Return the largest loss of the tree's program at a few corners, by the oracle."""
    rng, program = random.Random(0), tree_program(nodes)
    worst = -math.inf
    for far, turn in ((0, 1), (6, 1), (6, -1), (3, 1)):
        left: list[Any] = [far * (turn if i % 2 else 1) * (-1 if i == size - 1 else 1) for i in range(size)]
        right = [x + (1 if x > 0 or (x == 0 and i % 2) else -1) for i, x in enumerate(left)]
        try:
            one, two = oracle.paths(program, left), oracle.paths(program, right)
            for event in events([*one, *two], rng):
                p, q = oracle.probability(one, event), oracle.probability(two, event)
                for above, below in ((p, q), (q, p)):
                    if above > (1e-5 if integers else 1e-60):
                        below += 1e-11 if integers else 0
                        worst = max(worst, math.log(above / below) if below else math.inf)
        except (oracle.UnfollowedError, TooWideError):
            return worst
    return worst


@pytest.mark.parametrize("name", CASES)
def test_a_changed_certificate_is_refused_or_true(name: str) -> None:
    """At least a third of the changes is refused, and no accepted bound is below the loss."""
    whole, rng, counts = certificate(name), random.Random(name), Counter[str]()
    size, integers = whole["data"]["size"], whole["data"]["integers"]
    for _ in range(EACH):
        forged, what = mutated(whole, rng)
        try:
            derived = program_t0.check(forged).epsilon
        except program_t0.ProgramProofError:
            counts["refused"] += 1
            continue
        found = largest_loss(forged["tree"], size, integers=integers)
        assert found <= float(derived) * (1 + SLACK) + SLACK, (what, derived, found)
        counts["accepted"] += 1
    assert counts["refused"] >= EACH // 3, counts


@pytest.mark.parametrize("name", CASES)
def test_the_tree_is_the_program(name: str) -> None:
    """The tree's program has the same losses as the original program."""
    program, data = CASES[name]
    nodes, size = certificate(name)["tree"], int(data.size)
    left, right = [2] * size, [3, *[1] * (size - 1)]
    one, two = (oracle.paths(program, side) for side in (left, right))
    walked = [oracle.paths(tree_program(nodes), side) for side in (left, right)]
    texts = {repr([s for s in path.shown if isinstance(s, str | bool | int)]) for path in one}
    assert len(texts) >= 1
    totals = [sum(oracle.probability(paths, event) for event in patterns(paths)) for paths in walked]
    assert totals == pytest.approx([1, 1], rel=1e-6)
    ours = sorted(oracle.probability(one, event) / oracle.probability(two, event) for event in patterns(one))
    theirs = sorted(
        oracle.probability(walked[0], event) / oracle.probability(walked[1], event)
        for event in patterns(walked[0])
    )
    assert theirs == pytest.approx(ours, rel=1e-6)


def patterns(paths: list[oracle.Path]) -> list[Any]:
    """Return the distinct possible outputs of the paths, with numbers left open."""
    found = {repr(event): event for event in (event_of(path) for path in paths)}
    return [event for event in found.values() if oracle.probability(paths, event) > 0]


def event_of(path: oracle.Path) -> tuple[Any, ...]:
    return tuple(oracle.ANY if isinstance(s, oracle.Form | Fraction) else s for s in path.shown)


def test_a_smaller_claim_does_not_hold() -> None:
    """A certificate with a claim below its derived bound does not hold."""
    whole = certificate("sparse vector")
    assert program_t0.check(whole).holds
    whole["claim"]["epsilon"] = "499/1000"
    assert not program_t0.check(whole).holds
