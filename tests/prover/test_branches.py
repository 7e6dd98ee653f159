"""Test bounds of programs that branch on their data by pairs of paths against runs on numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.distributions import Gaussian, Laplace
from dpaudit.prover import EachMoves, OneReplaced, Symbols, prove
from dpaudit.prover.branches import by_branches
from dpaudit.prover.certificate import written_tree
from dpaudit.prover.gaussian import explore_releases
from dpaudit.prover.whole_program import explore_program
from tests.prover.test_gaussian import Runs

EACH = EachMoves()


def clamped(coins: Any, data: Any) -> None:
    coins.release(min(max(data[0], 0), 1), Laplace(scale=1), site="clamped")


def clamped_sum(coins: Any, data: Any) -> None:
    coins.release(sum([min(max(x, -1), 2) for x in data]), Laplace(scale=3), site="sum")


def counts(coins: Any, data: Any) -> None:
    """Release a histogram, in which one record moves from one count to another."""
    found = [0, 0, 0]
    for x in data:
        if x < 1:
            found[0] += 1
        elif x < 2:
            found[1] += 1
        else:
            found[2] += 1
    for count in found:
        coins.release(count, Laplace(scale=2), site="count")


def distance_of_two(coins: Any, data: Any) -> None:
    coins.release(abs(data[0] - data[1]), Laplace(scale=1), site="distance")


def a_step(coins: Any, data: Any) -> None:
    coins.release(5 if data[0] > 0 else 0, Laplace(scale=10), site="step")


def asks_after_a_branch(coins: Any, data: Any) -> None:
    """Branch on an outcome after a branch on data, and release the clipped value again."""
    clipped = data[0] if data[0] < 1 else 1
    if coins.release(clipped, Laplace(scale=2), site="first") > 0:
        coins.release(clipped, Laplace(scale=2), site="second")
    else:
        coins.release(clipped, Laplace(scale=2), site="second")


def question_before_a_branch(coins: Any, data: Any) -> None:
    """Branch on an outcome before a branch on data, so that the two scales are not compared."""
    if coins.release(data[0], Laplace(scale=2), site="first") > 0:
        coins.release(max(data[1], 0), Laplace(scale=1), site="second")
    else:
        coins.release(max(data[1], 0), Laplace(scale=4), site="second")


KNOWN: dict[str, tuple[Callable[..., Any], Symbols, Any, str]] = {
    "clamped": (clamped, Symbols(1), OneReplaced(by=50), "1"),
    "clamped, each moves a little": (clamped, Symbols(1), EachMoves("1/4"), "1/4"),
    "a clamped sum": (clamped_sum, Symbols(2), OneReplaced(by=50), "1"),
    "a clamped sum, each moves": (clamped_sum, Symbols(2), EACH, "2/3"),
    "counts": (counts, Symbols(1, low=0, high=9), OneReplaced(), "1"),
    "counts of whole numbers": (counts, Symbols(1, low=0, high=3, integers=True), OneReplaced(), "1"),
    "a distance": (distance_of_two, Symbols(2), EACH, "2"),
    "a step": (a_step, Symbols(1), EACH, "1/2"),
    "a step that no record reaches": (a_step, Symbols(1, low=-3, high=0), EACH, "0"),
    "a question after a branch": (asks_after_a_branch, Symbols(1), EACH, "1"),
    "a question before a branch": (question_before_a_branch, Symbols(2), OneReplaced(by=1), "1"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_figures(name: str) -> None:
    """Each program is verified at its exact epsilon and not just below it."""
    program, data, adjacency, known = KNOWN[name]
    exact = Fraction(known)
    found = prove(program, PureDP(epsilon=exact or 1), data=data, adjacency=adjacency)
    assert (found.verdict, found.bound) == ("verified", exact)
    if exact:
        below = PureDP(epsilon=exact * Fraction(999, 1000))
        assert prove(program, below, data=data, adjacency=adjacency).verdict != "verified"


def test_gaussian_noise_on_branches_has_a_rho_and_a_delta() -> None:
    """Gaussian noise gives rho, delta and mu (mu^2 is 2 rho) by the same pairs of paths."""

    def clipped(coins: Any, data: Any) -> None:
        coins.release(max(data[0], 0), Gaussian(sigma=2), site="a")

    data = Symbols(1, low=-1, high=1)
    found = prove(clipped, ZeroConcentratedDP(rho="1/8"), data=data, adjacency=OneReplaced())
    assert (found.verdict, found.bound) == ("verified", Fraction(1, 8))
    delta = prove(clipped, ApproxDP(epsilon=1, delta="1/10"), data=data, adjacency=OneReplaced())
    assert delta.verdict == "verified"
    for mu, verdict in ((Fraction(1, 2), "verified"), (Fraction(49, 100), "inconclusive")):
        other = prove(clipped, GaussianDP(mu=mu), data=data, adjacency=OneReplaced())
        assert (other.verdict, float(other.bound or 0)) == (verdict, pytest.approx(1 / 2))


def test_pairs_without_a_bound_are_inconclusive() -> None:
    """Too many paths and different releases are inconclusive with a reason."""

    def scale(coins: Any, data: Any) -> None:
        coins.release(0, Laplace(scale=2 if data[0] > 0 else 1), site="a")

    many = prove(clamped_sum, PureDP(epsilon=1), data=Symbols(5), adjacency=OneReplaced(by=9))
    assert (many.verdict, "too many" in many.reason) == ("inconclusive", True)
    other = prove(scale, PureDP(epsilon=1), data=Symbols(1), adjacency=EACH)
    assert (other.verdict, "different" in other.reason) == ("inconclusive", True)


# Random programs.


def made(tree: Any, distribution: Any) -> Callable[..., Any]:
    """Return the program of a nested tuple: it branches on data and on outcomes, and releases."""

    def program(coins: Any, data: Any) -> None:
        node, seen, kept = tree, [], 0
        while len(node) > 0:
            kind, factors, constant, one, two = node
            value = constant
            if kind != "ask":
                for i in range(len(factors)):
                    value = value + factors[i] * data[i]
            if kind == "if":
                node = one if value < 0 else two
            elif kind == "keep":
                kept, node = value, one
            elif kind == "release":
                seen.append(coins.release(value + kept, distribution(two), site="r"))
                node = one
            else:
                node = one if len(seen) > 0 and seen[len(seen) - 1] < constant else two

    return program


def laplace(scale: Any) -> Any:
    return Laplace(scale=scale)


def gaussian(variance: Any) -> Any:
    return Gaussian(variance=variance)


def random_tree(rng: random.Random, size: int, left: int, ifs: int) -> Any:
    """Return a random tree with at most ``ifs`` branches per path.

    Most branches have the same releases on both sides.
    """
    kind = rng.choices(("if", "keep", "release", "ask"), (4 if ifs else 0, 2, 3, 1))[0]
    if left == 0 or (kind == "release" and rng.random() < 0.1):
        return ()
    factors = tuple(rng.choice((0, 1, 1, -1, 2)) for _ in range(size))
    constant = Fraction(rng.randint(-3, 3), 2)
    if kind == "if":
        after = random_tree(rng, size, left - 1, ifs - 1)
        other = after if rng.random() < 0.4 else random_tree(rng, size, left - 1, ifs - 1)
        kept = tuple(("keep", factors, constant + i, part, ()) for i, part in enumerate((after, other)))
        return ("if", tuple(rng.choice((0, 1, -1)) for _ in range(size)), constant, *kept)
    if kind == "ask":
        return ("ask", (), 0, *(random_tree(rng, size, left - 1, ifs) for _ in range(2)))
    spread = rng.choice((1, 2)) if kind == "release" else ()
    return (kind, factors, constant, random_tree(rng, size, left - 1, ifs), spread)


class LaplaceRuns(Runs):
    def release(self, value: Any, noise: Any, *, site: str, to: Any = None) -> Any:
        self.released.append((Fraction(value), noise.scale))
        return next(self.outcomes)


def lost(program: Any, pure: bool, left: Any, right: Any, outcomes: Any) -> Fraction | None:
    """Return the loss of one list of outcomes, or None if the two inputs have different releases."""
    one, two = ((LaplaceRuns if pure else Runs)(outcomes) for _ in range(2))
    program(one, left)
    program(two, right)
    if [spread for _, spread in one.released] != [spread for _, spread in two.released]:
        return None
    pairs = zip(one.released, two.released, strict=True)
    gaps = ((abs(a - b), spread) for (a, spread), (b, _) in pairs)
    return sum((g / s if pure else g**2 / (2 * s) for g, s in gaps), Fraction(0))


@pytest.mark.parametrize("block", range(5))
def test_random_programs_lose_no_more_than_is_derived(block: int) -> None:
    """No loss exceeds the bound, and some losses attain it.

    Data are at and around the ends of the branches, changes at and inside the box, and outcomes give both
    answers of each question.
    """
    attained = [is_attained(random.Random(seed)) for seed in range(12 * block, 12 * block + 12)]
    assert sum(attained) >= 2


def is_attained(rng: random.Random) -> bool:
    """Return whether the largest loss found of a random program equals its bound. Fail if it is larger."""
    size, pure = rng.randint(1, 2), rng.random() < 0.5
    program = made(random_tree(rng, size, 5, 2), laplace if pure else gaussian)
    data = Symbols(size, low=-2, high=2)
    adjacency = rng.choice((OneReplaced(), OneReplaced(by=1), EACH, EachMoves("1/2", one_way=True)))
    quantity = "epsilon" if pure else "rho"
    stated = {"data": data.to_json(), "adjacency": adjacency.to_json(data)}
    fields = {"claim": {quantity: "1"}, **stated, "tree": tree_of(program, data, pure)}
    found = by_branches(fields)
    if isinstance(found, str):
        return False
    worst = Fraction(0)
    for _ in range(150):
        left, right = neighbours(rng, data, adjacency)
        loss = lost(program, pure, left, right, [rng.choice((-9, 9)) for _ in range(9)])
        assert loss is not None, (left, right)
        assert loss <= found[0].cost, (left, right)
        worst = max(worst, loss)
    return worst == found[0].cost > 0


def neighbours(rng: random.Random, data: Symbols, adjacency: Any) -> tuple[list[Fraction], list[Fraction]]:
    """Return multiples of 1/4 in [-2, 2], and a change to a corner, the middle or elsewhere."""
    box = rng.choice(adjacency.pieces(data))
    left = [Fraction(rng.randint(-8, 8), 4) for _ in data.names]
    right = []
    for x, name in zip(left, data.names, strict=True):
        low, high = box.get(name, (Fraction(0), Fraction(0)))
        step = rng.choice((low, high, (low + high) / 2, low + (high - low) * Fraction(rng.randint(0, 8), 8)))
        right.append(min(max(x + step, Fraction(-2)), Fraction(2)))
    return left, right


def tree_of(program: Any, data: Symbols, pure: bool) -> Any:
    return written_tree((explore_program if pure else explore_releases)(program, data))
