"""The privacy blanket of a table: above enumeration, near the reference values, never above the clones by
more than it may.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from dpaudit.certify import build
from dpaudit.certify.build import LossGrid
from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import SERVER, SHUFFLER_OUTPUT, View
from dpaudit.kernel.ball import lower_exact, upper_exact
from dpaudit.kernel.t1.certpld import Grid
from dpaudit.kernel.t2.blanket import blanket_delta
from dpaudit.kernel.t2.shuffle import clones_delta, exact_response_delta

VIEW = View.of(SHUFFLER_OUTPUT)
GRID = Grid(step=Fraction(1, 100))
THREE = [
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
    [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)],
    [Fraction(3, 8), Fraction(1, 8), Fraction(1, 2)],
]


def response(local: float) -> list[list[Fraction]]:
    """Randomised response of one bit with a rational probability of the truth near e^local / (1 +
    e^local).
    """
    truth = Fraction(math.exp(local) / (1 + math.exp(local))).limit_denominator(10**9)
    return [[truth, 1 - truth], [1 - truth, truth]]


def enumerated(rows: list[list[Fraction]], users: int, epsilon: float) -> float:
    """delta of the shuffled outputs by listing them all, for every choice of inputs of all users."""

    def distribution(inputs: tuple[int, ...]) -> Counter[tuple[int, ...]]:
        result: Counter[tuple[int, ...]] = Counter()
        for outputs in itertools.product(range(len(rows[0])), repeat=users):
            result[tuple(sorted(outputs))] += math.prod(
                float(rows[x][y]) for x, y in zip(inputs, outputs, strict=True)
            )  # type: ignore[assignment]
        return result

    worst = 0.0
    for others in itertools.combinations_with_replacement(range(len(rows)), users - 1):
        distributions = [distribution((x, *others)) for x in range(len(rows))]
        for p, q in itertools.permutations(distributions, 2):
            worst = max(worst, sum(max(0.0, p[key] - math.exp(epsilon) * q[key]) for key in p))
    return worst


@pytest.mark.parametrize("users", [1, 2, 4])
@pytest.mark.parametrize("epsilon", ["0", "1/4", "1/2"])
def test_blanket_is_above_enumeration(users: int, epsilon: str) -> None:
    """For a table of three inputs and outputs the bound covers the largest delta over all inputs."""
    truth = enumerated(THREE, users, float(Fraction(epsilon)))
    found = upper_exact(blanket_delta(THREE, users=users, epsilon=Fraction(epsilon), grid=GRID))
    assert truth <= float(found) + 1e-12
    if users == 1:
        assert float(found) == pytest.approx(truth, abs=1e-4)


def test_outputs_outside_the_blanket_are_charged() -> None:
    """An output that one input never gives is charged in full: delta stays above its probability for any
    number of users.
    """
    rows = [[Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]]
    for users in (2, 4):
        found = float(upper_exact(blanket_delta(rows, users=users, epsilon=Fraction(1, 2), grid=GRID)))
        assert max(0.25, enumerated(rows, users, 0.5)) <= found + 1e-12
    disjoint = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    assert upper_exact(blanket_delta(disjoint, users=5, epsilon=Fraction(1), grid=GRID)) == 1


@pytest.mark.parametrize(("users", "local", "epsilon"), [(20, 0.5, "0.4868"), (100, 1.0, "0.5161")])
def test_blanket_table(users: int, local: float, epsilon: str) -> None:
    """epsilon at delta = 1e-6 of the blanket of randomised response, to the four decimals of the reference
    table.
    """
    for shift, above in ((Fraction(-1, 5000), True), (Fraction(1, 5000), False)):
        delta = blanket_delta(response(local), users=users, epsilon=Fraction(epsilon) + shift, grid=GRID)
        assert (lower_exact(delta) > Fraction(1, 10**6)) == above


def test_order_of_the_three_analyses() -> None:
    """For randomised response: exact value, then blanket, then clones (100 users, local epsilon 1, epsilon
    0.4).
    """
    epsilon = Fraction(2, 5)
    exact = exact_response_delta(users=100, local=Fraction(1), epsilon=epsilon)
    blanket = blanket_delta(response(1.0), users=100, epsilon=epsilon, grid=GRID)
    clones = clones_delta(users=100, local=Fraction(1), epsilon=epsilon)
    assert upper_exact(exact) < upper_exact(blanket) < upper_exact(clones)


def test_smaller_steps_are_tighter() -> None:
    """The bound falls with the step and keeps above its limit."""
    steps = [Fraction(1, 4), Fraction(1, 16), Fraction(1, 64)]
    found = [
        upper_exact(blanket_delta(THREE, users=30, epsilon=Fraction(1, 4), grid=Grid(step=s))) for s in steps
    ]
    assert found[0] > found[1] > found[2]
    assert found[1] - found[2] < (found[0] - found[1]) / 4


def test_rule_and_its_refusals() -> None:
    """The rule gives the table's pure bound and the blanket's delta; other views, and grids too fine to
    compute, are refused.
    """
    proof = build.shuffled_table(THREE, users=30, grid=LossGrid(step="1/50"))
    claim = ApproxDP(epsilon="1/4", delta="1/2", view=VIEW)
    assert 0 < proof.certify(claim).bound < build.finite_mechanism(THREE).certify(claim).bound
    assert float(proof.certify(PureDP(epsilon=9, view=VIEW)).bound) == pytest.approx(math.log(4), rel=1e-12)
    with pytest.raises(CertificateError, match="single messages"):
        proof.certify(ApproxDP(epsilon="1/4", delta="1/2", view=View.of(SERVER)))
    with pytest.raises(CertificateError, match="grid points"):
        build.shuffled_table(THREE, users=30, grid=LossGrid(step="1/1000000")).certify(claim)
