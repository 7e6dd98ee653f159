"""Ties: where a bound is a rational number, the kernel finds this number, and no ball around it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.proof import Proof
from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.distributions import (
    Bernoulli,
    Categorical,
    Exponential,
    Gumbel,
    Laplace,
    NoisyArgmax,
    RandomisedResponse,
)
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.exact_weights import exact_loss, exact_weights, same_chances
from dpaudit.kernel.check import check
from dpaudit.kernel.t1.exponentials import ExpSum, log_ratio
from tests.errors import raises

E = ExpSum.exp


def flips(scores: tuple[int, ...], scale: float) -> list[float]:
    """Permute-and-flip as it is stated: every order of the candidates, every coin."""
    distribution = [0.0] * len(scores)
    orders = [*permutations(range(len(scores)))]
    for order in orders:
        left = 1.0
        for i in order:
            heads = math.exp((scores[i] - max(scores)) / scale)
            distribution[i] += left * heads / len(orders)
            left *= 1 - heads
    return distribution


def test_signs_and_ratios_are_exact() -> None:
    """(e - 1)^2 = e^2 - 2e + 1 cancels to 0; e^(1/2) (1 + e) over 1 + e is e^(1/2), and e + 2 over e + 1 no
    rational power of e."""
    less = E(1) + E(0, -1)
    assert (less * less + E(2, -1) + E(1, 2) + E(0, -1)).sign() == 0
    assert (E(Fraction(1, 10**30)) + E(0, -1)).sign() == 1
    assert log_ratio(E(Fraction(1, 2)) + E(Fraction(3, 2)), E(0) + E(1)) == Fraction(1, 2)
    assert log_ratio(E(1) + E(0, 2), E(1) + E(0)) is None
    assert log_ratio(E(0, 3), E(0)) is None
    assert log_ratio(E(0), ExpSum({})) is None


@pytest.mark.parametrize("scores", [(0, 0), (3, 1), (0, 1, 2), (2, 2, 0, 1), (5, 0, 0, 1, 3)])
def test_permute_and_flip_is_the_noisy_maximum(scores: tuple[int, ...]) -> None:
    """The distribution in exponentials, the integral of the noisy maximum and every order of flips agree."""
    distribution = NoisyArgmax(scores=scores, noise=Exponential(scale="3/2"))
    weights = exact_weights(distribution)
    assert weights is not None
    written = np.array([float(weight.ball()) for weight in weights])
    assert written == pytest.approx(flips(scores, 1.5), rel=1e-12)
    assert written == pytest.approx(np.exp(distribution.logp(np.arange(len(scores)))), rel=1e-9)


@pytest.mark.parametrize(
    "distributions",
    [
        [RandomisedResponse(symbols=3, truth=j, epsilon="7/10") for j in range(3)],
        [Bernoulli(p="1/3"), Bernoulli(p="2/5")],
        [Categorical(weights=[1, 2]), Categorical(weights=[3, 2])],
        [NoisyArgmax(scores=s, noise=Gumbel(scale=2)) for s in product((0, 1), repeat=3)],
        [NoisyArgmax(scores=s, noise=Exponential(scale=2)) for s in product((0, 1), repeat=3)],
    ],
)
def test_tables_of_distributions_agree_with_their_balls(distributions: list[Distribution]) -> None:
    """epsilon and delta of the exact table are those of the distributions' own atoms."""
    proof = build.finite_mechanism(distributions=distributions)
    tables = [[float(p) for _, p in distribution.atoms()] for distribution in distributions]
    pairs = [*permutations(tables, 2)]
    worst = max(math.log(p / q) for left, right in pairs for p, q in zip(left, right, strict=True))
    assert float(proof.certify(PureDP(epsilon=1)).bound) == pytest.approx(worst, rel=1e-12)
    claim = ApproxDP(epsilon="1/4", delta=1)
    delta = max(
        sum(max(0.0, p - math.exp(0.25) * q) for p, q in zip(left, right, strict=True))
        for left, right in pairs
    )
    assert float(proof.certify(claim).bound) == pytest.approx(delta, rel=1e-12)


@pytest.mark.parametrize(
    ("distributions", "epsilon"),
    [
        ([RandomisedResponse(symbols=2, truth=j, epsilon=1) for j in range(2)], 1),
        ([RandomisedResponse(symbols=5, truth=j, epsilon="1/3") for j in range(5)], Fraction(1, 3)),
        ([NoisyArgmax(scores=s, noise=Exponential(scale=2)) for s in ((0, 3), (1, 2))], 1),
        ([NoisyArgmax(scores=s, noise=Gumbel(scale=2)) for s in ((0, 1), (1, 0))], Fraction(1, 2)),
        ([Categorical(weights=[1, 1]), Categorical(weights=[2, 2])], 0),
    ],
)
def test_a_rational_log_ratio_is_found_exactly(distributions: list[Distribution], epsilon: Fraction) -> None:
    """The bound is epsilon itself where epsilon is attained; what is less is refused."""
    claim = PureDP(epsilon=1)
    certificate = build.finite_mechanism(distributions=distributions).certify(claim)
    assert certificate.bound == epsilon
    assert max(_loss(a, b) for a, b in permutations(distributions, 2)) >= epsilon
    forged = certificate.to_json() | {"bound": str(Fraction(epsilon) - Fraction(1, 10**30))}
    with pytest.raises(CertificateError):
        check(forged, claim)


def _loss(distribution: Distribution, other: Distribution) -> Fraction:
    """The exact loss; where one outcome's is no rational number, the largest of those that are."""
    whole = exact_loss(distribution, other)
    if whole is not None:
        return whole
    left, right = exact_weights(distribution) or [], exact_weights(other) or []
    found = [log_ratio(p, q) for p, q in zip(left, right, strict=True)]
    return max(abs(loss) for loss in found if loss is not None)


def test_selection_by_epsilon_is_exactly_that() -> None:
    """The exponential mechanism and permute-and-flip state their epsilon: 2D/b in general, D/b if monotone;
    the distribution at scores that attain it is at the bound."""
    for make in (build.exponential_mechanism, build.permute_and_flip):
        assert make(sensitivity=3, epsilon="1/7").certify(PureDP(epsilon=1)).bound == Fraction(1, 7)
        assert make(sensitivity=3, epsilon="1/7").parameters["scale"] == "42"
        assert make(sensitivity=3, epsilon="1/7", range="one_coordinate").parameters["scale"] == "21"
    low, high = (NoisyArgmax(scores=s, noise=Exponential(scale=2)) for s in ((0, 3), (1, 2)))
    left, right = exact_weights(low), exact_weights(high)
    assert left is not None
    assert right is not None
    assert log_ratio(right[0], left[0]) == 1
    for bad in (0, -1):
        with raises(InvalidParameterError, code="E-SELECTION-RANGE"):
            build.permute_and_flip(sensitivity=1, epsilon=bad)


def test_the_tables_that_are_refused() -> None:
    """Distributions without exact chances, negative weights, zero rows, odd shapes, huge exponents and long
    rows."""
    with raises(InvalidParameterError, code="E-TABLE-NOT-EXACT"):
        build.finite_mechanism(distributions=[NoisyArgmax(scores=(0, 1), noise=Laplace(scale=1))] * 2)
    with raises(InvalidParameterError, code="E-TABLE-ONE"):
        build.finite_mechanism()
    one, bad = [["1", "0"]], [["1", "0"], ["-1", "1"]]
    for rows in (
        [[one, bad], [one, one]],
        [[[], []], [one, one]],
        [[one], [one, one]],
        [[one, one]],
        [[[["1", "2000"]], one], [one, one]],
        [[[["1", str(k)] for k in range(3000)], one], [one, one]],
        [["1", one], [one, one]],
    ):
        forged = Proof("finite", {"weights": rows})
        with pytest.raises(CertificateError):
            forged.certify(PureDP(epsilon=1))
    missing = Proof("finite", {"weights": [[one, one], [one, []]]})
    with pytest.raises(CertificateError, match="must bound epsilon"):
        missing.certify(PureDP(epsilon=1))
    never = Proof("finite", {"weights": [[one, [], [["2", "0"]]], [one, [], [["2", "0"]]]]})
    assert never.certify(PureDP(epsilon=1)).bound == 0


def test_proportion_is_of_chances() -> None:
    """Weights that differ by a common factor are one distribution."""
    assert same_chances([E(1), E(0)], [E(3, 2), E(2, 2)])
    assert not same_chances([E(1), E(0)], [E(0), E(1)])
    assert not same_chances([E(1)], [E(1), E(0)])
