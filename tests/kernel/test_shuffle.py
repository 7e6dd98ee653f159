"""Shuffling: the clone bound and exact randomised response against the reference table and against
enumeration.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from flint import arb_poly

from dpaudit.certify import build
from dpaudit.core.claims import Adjacency, ApproxDP, PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import SERVER, SHUFFLER_OUTPUT, View
from dpaudit.kernel.ball import ball, lower_exact, upper_exact
from dpaudit.kernel.t2.shuffle import _of_the_others, clones_delta, exact_response_delta

VIEW = View.of(SHUFFLER_OUTPUT)
TARGET = Fraction(1, 10**6)


def enumerated_response(users: int, local: float, epsilon: float) -> float:
    """delta of shuffled randomised response by listing all answers of all users, for every neighbouring
    pair of inputs.
    """
    q = math.exp(local) / (1 + math.exp(local))

    def counts(inputs: tuple[int, ...]) -> list[float]:
        distribution = [0.0] * (users + 1)
        for answers in itertools.product((0, 1), repeat=users):
            distribution[sum(answers)] += math.prod(
                q if a == x else 1 - q for a, x in zip(answers, inputs, strict=True)
            )
        return distribution

    worst = 0.0
    for others in itertools.product((0, 1), repeat=users - 1):
        left, right = counts((0, *others)), counts((1, *others))
        for p, r in ((left, right), (right, left)):
            worst = max(worst, sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, r, strict=True)))
    return worst


@pytest.mark.parametrize("users", [1, 2, 3, 6])
@pytest.mark.parametrize(
    ("local", "epsilon"), [("1", "0"), ("1", "1/2"), ("2", "1"), ("1/2", "1/10"), ("1", "1")]
)
def test_exact_response_agrees_with_enumeration(users: int, local: str, epsilon: str) -> None:
    """The exact value equals the maximum over all inputs and both directions, found by listing every
    answer.
    """
    found = exact_response_delta(users=users, local=Fraction(local), epsilon=Fraction(epsilon))
    truth = enumerated_response(users, float(Fraction(local)), float(Fraction(epsilon)))
    assert float(found) == pytest.approx(truth, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize(("users", "local"), [(2, "1"), (20, "1/2"), (100, "2")])
def test_clone_bound_is_above_exact_response(users: int, local: str) -> None:
    """The clone bound covers randomised response, at several epsilons."""
    for share in (Fraction(0), Fraction(1, 4), Fraction(3, 4)):
        epsilon = Fraction(local) * share
        upper = clones_delta(users=users, local=Fraction(local), epsilon=epsilon)
        assert upper_exact(
            exact_response_delta(users=users, local=Fraction(local), epsilon=epsilon)
        ) <= lower_exact(upper) * (1 + Fraction(1, 10**15))


def clones_by_listing(users: int, local: float, epsilon: float) -> float:
    """The clone pair enumerated over C and A."""
    chance, q = math.exp(-local), math.exp(local) / (1 + math.exp(local))
    total = 0.0
    for c in range(users):
        weight = math.comb(users - 1, c) * chance**c * (1 - chance) ** (users - 1 - c)
        half = [math.comb(c, a) / 2**c for a in range(c + 1)] + [0.0]
        for a in range(c + 2):
            below, here = (half[a - 1] if a else 0.0), half[a]
            total += weight * max(
                0.0, q * below + (1 - q) * here - math.exp(epsilon) * ((1 - q) * below + q * here)
            )
    return total


@pytest.mark.parametrize("users", [1, 2, 5, 40])
@pytest.mark.parametrize(("local", "epsilon"), [("1", "0"), ("1", "1/3"), ("3", "1"), ("1/10", "1/20")])
def test_clone_bound_agrees_with_listing(users: int, local: str, epsilon: str) -> None:
    """The threshold recurrence gives the sum of positive parts over all outcomes of the clone pair (ties
    at epsilon = 0 included).
    """
    found = clones_delta(users=users, local=Fraction(local), epsilon=Fraction(epsilon))
    truth = clones_by_listing(users, float(Fraction(local)), float(Fraction(epsilon)))
    assert float(found) == pytest.approx(truth, rel=1e-11, abs=1e-14)


TABLE = [
    (20, "1/10", "0.0789"),
    (20, "1", "0.9999"),
    (100, "1/2", "0.2409"),
    (100, "1", "0.6437"),
    (1000, "1/10", "0.0102"),
    (1000, "1", "0.1824"),
    (1000, "2", "0.5455"),
    (10**4, "1/2", "0.0204"),
    (10**4, "2", "0.1551"),
]


@pytest.mark.parametrize(("users", "local", "epsilon"), TABLE)
def test_clone_table(users: int, local: str, epsilon: str) -> None:
    """epsilon at delta = 1e-6 of the clone bound, to the four decimals of the reference table."""
    half = Fraction(1, 20000)
    for shift, above in ((-2 * half, True), (2 * half, False)):
        delta = clones_delta(users=users, local=Fraction(local), epsilon=Fraction(epsilon) + shift)
        assert (lower_exact(delta) > TARGET) == above


@pytest.mark.parametrize(
    ("users", "local", "epsilon"),
    [(20, "1/10", "0.0771"), (20, "1/2", "0.4868"), (100, "1", "0.4837"), (100, "2", "1.6064")],
)
def test_exact_response_table(users: int, local: str, epsilon: str) -> None:
    """epsilon at delta = 1e-6 of exact shuffled randomised response, to four decimals."""
    step = Fraction(1, 10000)
    deltas = [
        exact_response_delta(users=users, local=Fraction(local), epsilon=Fraction(epsilon) + s)
        for s in (-step, step)
    ]
    assert lower_exact(deltas[0]) > TARGET > upper_exact(deltas[1])


def test_rules_carry_the_analysis() -> None:
    """Shuffling any local randomiser keeps its pure bound and adds the clone delta; randomised response
    has its exact one, which is smaller.
    """
    local = build.laplace_mechanism(sensitivity=1, scale=1)
    claim = ApproxDP(epsilon="1/2", delta="1/2", view=VIEW)
    clones = build.shuffled(local, users=300).certify(claim).bound
    exact = build.shuffled_response(users=300, local=1).certify(claim).bound
    assert 0 < exact < clones < Fraction(1, 10**6)
    assert build.shuffled(local, users=1000).certify(PureDP(epsilon=1, view=VIEW)).bound == 1
    assert build.shuffled(local, users=3000).certify(claim).bound < clones


def test_stronger_clones_are_refused() -> None:
    """The general stronger clone bound is refused, with the reason."""
    local = build.randomised_response(epsilon=1)
    with pytest.raises(CertificateError, match="erratum"):
        build.shuffled(local, users=1000, analysis="stronger-clones-2023")


def test_other_settings_are_refused() -> None:
    """Whoever sees single messages, or adds and removes users, is not covered; nor is a randomiser without
    a pure bound.
    """
    proof = build.shuffled(build.randomised_response(epsilon=1), users=100)
    with pytest.raises(CertificateError, match="single messages"):
        proof.certify(ApproxDP(epsilon="1/2", delta="1/2", view=View.of(SERVER)))
    with pytest.raises(CertificateError, match="replace-one"):
        proof.certify(ApproxDP(epsilon="1/2", delta="1/2", view=VIEW, adjacency=Adjacency.ADD_REMOVE))
    with pytest.raises(CertificateError, match="pure bound"):
        build.shuffled(build.gaussian_mechanism(sensitivity=1, scale=1), users=100)


@pytest.mark.parametrize("users", [1, 2, 3, 4, 5, 7, 8, 33])
@pytest.mark.parametrize("bit", [Fraction(1, 4), Fraction(0), Fraction(1)], ids=["chance", "never", "always"])
def test_halves_of_products_are_plain_powers(users: int, bit: Fraction) -> None:
    """Whatever the number of users, product k has k factors of one distribution and n - 1 - k of the other:
    exactly the polynomials of repeated multiplication, in order."""
    one, zero = ([1 - bit, bit], [Fraction(2, 3), Fraction(1, 3)])
    polynomials = [arb_poly([ball(chance) for chance in distribution]) for distribution in (one, zero)]
    found = list(_of_the_others(arb_poly([1]), *polynomials, range(users)))
    assert len(found) == users
    for k, product in enumerate(found):
        plain = [Fraction(1)]
        for distribution in [one] * k + [zero] * (users - 1 - k):
            plain = [
                (plain[i] if i < len(plain) else 0) * distribution[0]
                + (plain[i - 1] * distribution[1] if i else 0)
                for i in range(len(plain) + 1)
            ]
        assert len(plain) == users
        for i, exact_value in enumerate(plain):
            assert product[i].overlaps(ball(exact_value))
            assert product[i].rad() < 1e-12


def test_counts_of_the_others_need_not_start_at_nobody() -> None:
    """A middle range has the factors of its own differences: x^(k - 2) y^(4 - k) for k = 2, 3, 4."""
    x, y = arb_poly([0, 1]), arb_poly([3])
    found = list(_of_the_others(arb_poly([1]), x, y, range(2, 5)))
    assert [poly.degree() for poly in found] == [0, 1, 2]
    assert [float(poly[poly.degree()]) for poly in found] == [9.0, 3.0, 1.0]
