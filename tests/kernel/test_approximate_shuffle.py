"""Shuffling a randomiser with a delta: the bound against enumeration of all messages of up to six users."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from dpaudit.certify import build
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.kernel.ball import upper_exact
from dpaudit.kernel.t2.approximate_shuffle import approximate_clones_delta
from dpaudit.kernel.t2.shuffle import clones_delta

VIEW = View.of(SHUFFLER_OUTPUT)
Rows = list[list[float]]


def leaky_response(odds: float, leak: float) -> Rows:
    """Randomised response of one bit with these odds of the truth, but with probability ``leak`` the input
    is shown: symbols 0, 1, and "it is 0", "it is 1"."""
    q = (1 - leak) / (1 + odds)
    return [[odds * q, q, leak, 0.0], [q, odds * q, 0.0, leak]]


def histogram_distribution(rows: Rows, inputs: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """The distribution of the multiset of all messages, by listing them."""
    distribution: Counter[tuple[int, ...]] = Counter()
    for outputs in itertools.product(range(len(rows[0])), repeat=len(inputs)):
        chance = math.prod(rows[x][y] for x, y in zip(inputs, outputs, strict=True))
        if chance:
            distribution[tuple(sorted(outputs))] += chance  # type: ignore[assignment]
    return distribution


def true_delta(rows: Rows, users: int, epsilon: float) -> float:
    """The largest delta over all inputs of the others and both directions."""
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(len(rows)), users - 1):
        distributions = [histogram_distribution(rows, (x, *others)) for x in range(len(rows))]
        for p, q in itertools.permutations(distributions, 2):
            worst = max(worst, sum(max(0.0, p[y] - math.exp(epsilon) * q[y]) for y in p))
    return worst


@pytest.mark.parametrize("users", [1, 2, 4, 6])
@pytest.mark.parametrize(("odds", "leak"), [(2, "1/100"), (3, "1/10"), (2, "1/2")])
def test_bound_is_above_enumeration(users: int, odds: int, leak: str) -> None:
    """Leaky randomised response: the certified delta is at least the enumerated one, and not ten times it at
    0."""
    rows = leaky_response(odds, float(Fraction(leak)))
    q = (1 - Fraction(leak)) / (1 + odds)
    table = [[odds * q, q, Fraction(leak), 0], [q, odds * q, 0, Fraction(leak)]]
    local = Fraction(math.log(odds)).limit_denominator(1000) + Fraction(1, 1000)
    proof = build.shuffled(build.finite_mechanism(table), users=users, local_epsilon=local)
    for epsilon in ("0", "1/10", "1/2", "2"):
        bound = float(proof.certify(ApproxDP(epsilon=epsilon, delta=1, view=VIEW)).bound)
        truth = true_delta(rows, users, float(Fraction(epsilon)))
        assert truth <= bound * (1 + 1e-9)
        if epsilon == "0":
            assert bound <= 10 * truth


def test_a_delta_may_not_be_forgotten() -> None:
    """A false certificate: the clone bound at e0 as if the randomiser were e0-DP. The enumeration is above
    it."""
    local, epsilon = Fraction(7, 10), Fraction(7, 10)
    truth = true_delta(leaky_response(2, 0.05), 5, float(epsilon))
    assert float(clones_delta(users=5, local=local, epsilon=epsilon)) < truth
    kept = approximate_clones_delta(users=5, local=local, spare=Fraction(1, 20), epsilon=epsilon)
    assert truth <= float(upper_exact(kept))


def test_without_a_delta_it_is_the_clone_bound() -> None:
    """With d0 = 0 the bound is that of the clones."""
    settings = {"users": 300, "local": Fraction(1), "epsilon": Fraction(1, 4)}
    exact, same = clones_delta(**settings), approximate_clones_delta(spare=Fraction(0), **settings)
    assert float(same) == pytest.approx(float(exact), rel=1e-20)


def test_fewer_clones_hide_less() -> None:
    """delta falls with the share of clones that is kept; listed over C and A it is the same number."""
    values = [
        float(clones_delta(users=40, local=Fraction(1), epsilon=Fraction(1, 3), kept=kept))
        for kept in (Fraction(1), Fraction(9, 10), Fraction(1, 2))
    ]
    assert values == sorted(values)
    chance, q = 0.5 * math.exp(-1), math.e / (1 + math.e)
    total = 0.0
    for c in range(40):
        weight = math.comb(39, c) * chance**c * (1 - chance) ** (39 - c)
        half = [0.0, *(math.comb(c, a) / 2**c for a in range(c + 1)), 0.0]
        gaps = (
            q * low + (1 - q) * high - math.exp(1 / 3) * ((1 - q) * low + q * high)
            for low, high in itertools.pairwise(half)
        )
        total += weight * sum(max(0.0, gap) for gap in gaps)
    assert values[-1] == pytest.approx(total, rel=1e-11)


def test_a_randomiser_that_tells_all_is_not_amplified() -> None:
    """Where the local delta is 1 the bound is the local one; without a local epsilon it is refused."""
    shown = build.finite_mechanism([[1, 0], [0, 1]])
    proof = build.shuffled(shown, users=100, local_epsilon=1)
    assert proof.certify(ApproxDP(epsilon=1, delta=1, view=VIEW)).bound == 1
    with pytest.raises(CertificateError, match="pure bound"):
        build.shuffled(shown, users=100)
