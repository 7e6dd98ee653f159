"""Calibration: the parameter found is certified, and a little less noise is not enough."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpaudit.certificates import build, kernel
from dpaudit.certificates.calibrate import smallest_parameter
from dpaudit.certificates.rules.readout import gaussian_delta
from dpaudit.claims import ApproxDP, PureDP, RegretBound
from dpaudit.errors import CertificateError, InvalidParameterError


def test_laplace_scale_is_found() -> None:
    """epsilon = 1/3 at sensitivity 2 needs scale 6: found from above, with a certificate that the kernel
    accepts.
    """
    claim = PureDP(epsilon="1/3")
    found = smallest_parameter(claim, lambda b: build.laplace_mechanism(sensitivity=2, scale=b))
    assert 6 <= found.parameter <= Fraction(6007, 1000)
    assert found.refused < 6
    assert kernel.check(found.certificate, claim) <= Fraction(1, 3)


@pytest.mark.parametrize("start", ["1/100", "1", "1000"])
def test_gaussian_variance_is_found_from_any_start(start: str) -> None:
    """(1, 1e-6)-DP: the variance found is valid by the closed form, and the refused one is not."""
    claim = ApproxDP(epsilon=1, delta="1e-6")
    found = smallest_parameter(
        claim, lambda v: build.gaussian_mechanism(sensitivity=1, variance=v), start=start
    )
    assert (
        gaussian_delta(1 / found.parameter, Fraction(1))
        <= Fraction(1, 10**6)
        < gaussian_delta(1 / found.refused, Fraction(1))
    )
    assert found.parameter / found.refused < Fraction(1002, 1000)


def test_parameters_are_readable() -> None:
    """Parameters found have few digits."""
    found = smallest_parameter(
        PureDP(epsilon=1), lambda b: build.laplace_mechanism(sensitivity=Fraction(22, 7), scale=b)
    )
    assert found.parameter.denominator <= 1000


def test_impossible_and_trivial_claims() -> None:
    """A claim that no parameter satisfies, one that all do, and one without a number are refused with the
    reason.
    """
    with pytest.raises(CertificateError, match="none does"):
        smallest_parameter(PureDP(epsilon=1), lambda v: build.gaussian_mechanism(sensitivity=1, variance=v))
    with pytest.raises(InvalidParameterError, match="all satisfy"):
        smallest_parameter(PureDP(epsilon=1), lambda b: build.laplace_mechanism(sensitivity=0, scale=b))
    with pytest.raises(InvalidParameterError, match="number"):
        smallest_parameter(
            RegretBound(text="regret"), lambda b: build.laplace_mechanism(sensitivity=1, scale=b)
        )
