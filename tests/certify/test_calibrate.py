"""Calibration: the parameter found is certified, and a little less noise is not enough."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from dpaudit.certify import build
from dpaudit.certify.calibrate import answer, calibrate
from dpaudit.certify.families import MECHANISMS, Shape
from dpaudit.certify.proof import Proof
from dpaudit.core.claims import ApproxDP, Claim, PureDP, RegretBound
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.question import Question
from dpaudit.core.suite import Suite
from dpaudit.kernel import check as kernel
from dpaudit.kernel.t2.gaussian import gaussian_delta
from tests.errors import raises


def test_laplace_scale_is_found() -> None:
    """epsilon = 1/3 at sensitivity 2 needs scale 6: found from above, with a certificate that the kernel
    accepts.
    """
    claim = PureDP(epsilon="1/3")
    found = calibrate(claim, lambda b: build.laplace_mechanism(sensitivity=2, scale=b))
    assert 6 <= found.parameter <= Fraction(6007, 1000)
    assert found.refused < 6
    assert kernel.check(found.certificate, claim) <= Fraction(1, 3)


@pytest.mark.parametrize("start", ["1/100", "1", "1000"])
def test_gaussian_variance_is_found_from_any_start(start: str) -> None:
    """(1, 1e-6)-DP: the variance found is valid by the closed form, and the refused one is not."""
    claim = ApproxDP(epsilon=1, delta="1e-6")
    found = calibrate(claim, lambda v: build.gaussian_mechanism(sensitivity=1, variance=v), start=start)
    assert (
        gaussian_delta(1 / found.parameter, Fraction(1))
        <= Fraction(1, 10**6)
        < gaussian_delta(1 / found.refused, Fraction(1))
    )
    assert found.parameter / found.refused < Fraction(1002, 1000)


def test_parameters_are_readable() -> None:
    """Parameters found have few digits."""
    found = calibrate(
        PureDP(epsilon=1), lambda b: build.laplace_mechanism(sensitivity=Fraction(22, 7), scale=b)
    )
    assert found.parameter.denominator <= 1000


def test_impossible_and_trivial_claims() -> None:
    """A claim that no parameter satisfies, one that all do, and one without a number are refused with the
    reason.
    """
    with pytest.raises(CertificateError, match="no parameter up to"):
        calibrate(PureDP(epsilon=1), lambda v: build.gaussian_mechanism(sensitivity=1, variance=v))
    with raises(InvalidParameterError, code="E-CALIBRATE-NO-BRACKET"):
        calibrate(PureDP(epsilon=1), lambda b: build.laplace_mechanism(sensitivity=0, scale=b))
    with raises(InvalidParameterError, code="E-CLAIM-NO-BOUND"):
        calibrate(RegretBound(text="regret"), lambda b: build.laplace_mechanism(sensitivity=1, scale=b))


PURE_NEEDS = {
    "laplace": 2,
    "discrete-laplace": 2,
    "polya": 2,
    "noisy-max": 4,
    "noisy-max-monotone": 2,
    "noisy-max-one": 2,
    "noisy-max-exponential": 4,
    "noisy-max-gumbel": 4,
    "above-threshold": 4,
    "tree": 8,
}


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_the_parameter_found_is_enough_and_the_refused_one_is_not(name: str) -> None:
    """Inverse pair: certified at the parameter found, above the claim just below it, for a pure claim where
    there is one and for (1/2, 1e-5).
    """
    mechanism, shape = MECHANISMS[name], Shape(candidates=3, leaves=8)
    one = mechanism.adjacency
    claims: list[Claim] = [] if mechanism.needs_delta else [PureDP(epsilon="1/2", adjacency=one)]
    claims.append(ApproxDP(epsilon="1/2", delta="1e-5", adjacency=one))
    for claim in claims:

        def proof(parameter: Fraction) -> Proof:
            return mechanism.proof(Fraction(1), parameter, shape)

        found = calibrate(claim, proof)
        bound = claim.bound
        assert bound is not None
        assert kernel.check(proof(found.parameter).certify(claim), claim) <= bound
        assert proof(found.refused).certify(claim).bound > bound
        assert found.refused < found.parameter <= found.refused * Fraction(1002, 1000)
        if isinstance(claim, PureDP):
            assert float(found.parameter) == pytest.approx(PURE_NEEDS[name], rel=1e-3)


def curve(name: str, parameter: float, epsilon: float) -> float:
    """delta of integer or logistic noise in floats, from scipy's probabilities, sensitivity 1."""
    x = np.arange(-4000, 4001)
    if (
        name == "noisy-max-gumbel"
    ):  # two candidates whose gap moves by 2: a threshold test on a logistic variable
        t = np.linspace(-60, 60, 2_000_001)
        odds = 2 / parameter
        return float(
            np.max(scipy.stats.logistic.sf(t - odds) - math.exp(epsilon) * scipy.stats.logistic.sf(t))
        )
    if name == "skellam":
        p = scipy.stats.skellam.pmf(x, parameter / 2, parameter / 2)
    elif name == "discrete-gaussian":
        p = np.exp(-(x**2) / (2 * parameter))
        p = p / p.sum()
    else:
        p = scipy.stats.binom.pmf(x, math.ceil(parameter), 0.5)
    forth = np.maximum(p[1:] - math.exp(epsilon) * p[:-1], 0).sum() + p[0]
    back = np.maximum(p[:-1] - math.exp(epsilon) * p[1:], 0).sum() + p[-1]
    return float(max(forth, back))


@pytest.mark.parametrize("name", ["skellam", "discrete-gaussian", "binomial", "noisy-max-gumbel"])
def test_deltas_change_side_where_an_independent_curve_does(name: str) -> None:
    """In floats, from scipy's own probabilities, delta passes 1e-4 between the two parameters found."""
    claim = ApproxDP(epsilon="1/2", delta="1e-4")
    found = calibrate(claim, lambda v: MECHANISMS[name].proof(Fraction(1), v, Shape()))
    high, low = float(found.parameter), float(found.refused)
    assert curve(name, high, 0.5) <= 1e-4 * (1 + 1e-6)
    assert curve(name, low, 0.5) > 1e-4 * (1 - 1e-6)


def test_shapes_matter_as_they_should() -> None:
    """More leaves, answers and missing parties need more noise; more parties need less from each."""

    def needed(name: str, claim: Claim, shape: Shape) -> Fraction:
        return calibrate(
            claim, lambda v: MECHANISMS[name].proof(Fraction(1), v, shape), relative="1/100"
        ).parameter

    pure, approx = PureDP(epsilon=1), ApproxDP(epsilon=1, delta="1e-5")
    assert needed("tree", pure, Shape(leaves=64)) > needed("tree", pure, Shape(leaves=8))
    assert needed("above-threshold", pure, Shape(answers=1)) == 2
    assert needed("polya", pure, Shape(share=Fraction(1, 2))) > needed("polya", pure, Shape())
    one, many = (needed("discrete-gaussian", approx, Shape(parties=n)) for n in (1, 8))
    assert Fraction(1, 10) < many / one < Fraction(1, 7)


def test_questions_are_answered_and_written_down() -> None:
    """An answer holds claimed, certified, slack and the smallest parameter; one that nothing certifies says
    so.
    """
    claim = PureDP(epsilon=1)
    question = Question(
        id="max",
        title="noisy maximum",
        claim=claim,
        parameter="scale",
        printed=1,
        mechanism=lambda b: build.report_noisy_max(sensitivity=1, scale=b, range="general"),
    )
    found = answer(question)
    assert (found.claimed, found.certified, found.slack) == (1, 2, 0.5)
    assert found.smallest is not None
    assert 2 <= found.smallest <= Fraction(2002, 1000)
    written = found.to_json()
    assert (written["claimed"], written["certified"], written["quantity"]) == ("1", "2", "epsilon")
    hopeless = dataclasses.replace(
        question, mechanism=lambda v: build.gaussian_mechanism(sensitivity=1, variance=v)
    )
    none = answer(hopeless)
    assert (none.certified, none.smallest, none.refused, none.slack) == (None, None, None, None)
    assert none.to_json()["smallest"] is None
    suite = Suite(paper="p", title="t")
    suite.calibrate(question)
    with pytest.raises(InvalidParameterError, match="unique"):
        suite.calibrate(question)
