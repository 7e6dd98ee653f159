"""Fixed-point encoding (CZ23-ENC), and the analyzer's two cases (CZ23-CASE) with its errors outside them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.certify.decide import bounded_noise, decide_proxy
from dpaudit.core.claims import SubGaussian
from dpaudit.core.evidence import Evidence
from dpaudit.core.suite import Group, Run
from dpaudit.reference.mechanisms.decoding_window import Circle
from dpaudit.reference.mechanisms.rounding_error import (
    mean_error,
    rounding_distance,
    rounding_ends,
    sum_movement,
)
from dpaudit.suite import Chain, Sides, Step, evidence, full, inequality, over, step, steps

__all__ = ["rows"]

rows = Group("Encoding and analyzer: line 20, lines 26 to 30 of Algorithm 1")

#: Dyadic rewards: multiples of 1/32, and points adjacent to 0, 1/2 and 1.
NEAR, HALF = Fraction(1, 2**40), Fraction(1, 2)
REWARDS = (*(Fraction(k, 32) for k in range(33)), NEAR, HALF - NEAR, HALF + NEAR, 1 - NEAR)


@step(over=over(g=(1, 2, 7, full(64, 1000)), x=REWARDS))
def _rounding(g: int, x: Fraction) -> Chain:
    """ι = x̂ - x g has mean 0 and lies in an interval of length 1 within [-1, 1]"""
    least, most = rounding_ends(x, g)
    return {
        "|E[x̂] - x g| <= 0": (abs(mean_error(x, g)), 0),
        "|ι| <= 1": (max(-least, most), 1),
        "max ι - min ι <= 1: ι is in [-f, 1 - f] with f = x g - ⌊x g⌋": (most - least, 1),
    }


@step(over=over(g=(1, 2, 7), x=REWARDS[::4], y=REWARDS))
def _sensitivity(g: int, x: Fraction, y: Fraction) -> Sides:
    """|Σ x̂ - Σ x̂'| <= g when one reward is replaced, roundings free"""
    return sum_movement(x, y, g), g


@step(
    "rounding user by user and the batch in one draw",
    over=over(n=(1, 2, 5, full(10)), g=(1, 2, 7), x="0 3/16 6/16 9/16 12/16 15/16 1"),
)
def _one_distribution(n: int, g: int, x: Fraction) -> Sides:
    """Σ x̂_i of n users with reward x is within 10^-30 of n ⌊x g⌋ + Bin(n, x g - ⌊x g⌋) in total variation"""
    return rounding_distance(x, users=n, precision=g), Fraction(1, 10**30)


@steps(rows, "CZ23-ENC", "Algorithm 1, line 20", role="step", measure="left - right")
def encoding() -> list[Step]:
    """Fixed-point encoding: E[x̂] = x g, ι = x̂ - x g in [-1, 1], one reward changes Σ x̂ by at most g

    Compute the exact distribution of one user's encoding from the mechanism: its mean, its extreme values,
    and the largest distance between the encodings of any two rewards. Enumerate the distribution of the sum
    over all rounding bits of the program and compare it with one binomial draw.

    Note: rewards 0 and 1 attain the sensitivity g. |ι| < 1, as -f and 1 - f are never -1 or 1
    """
    return [_rounding, _sensitivity, _one_distribution]


TERM_II = "Term (ii) in the proof of Theorem 1"
ROUNDING_ERROR = bounded_noise(0, 1)


def _proxy(proxy: Fraction) -> SubGaussian:
    return SubGaussian(variance_proxy=proxy, of=ROUNDING_ERROR.name)


@evidence(
    rows,
    "CZ23-ENC/proxy/sharper",
    TERM_II,
    claim=_proxy(Fraction(1, 4)),
    role="sharper",
    proxy=Fraction(1, 4),
)
@evidence(rows, "CZ23-ENC/proxy", TERM_II, claim=_proxy(Fraction(1)), role="step", proxy=Fraction(1))
def rounding_error(run: Run, proxy: Fraction) -> list[Evidence]:
    """The rounding error ι of one reward is {proxy}-sub-Gaussian

    Check every distribution on an interval of length 1, minus its mean. The rounding error is such a variable
    (CZ23-ENC).

    Note: the printed 1 is for an interval of length 2. 1/4 is attained at f = 1/2, a fair coin of ±1/2
    """
    return [decide_proxy(_proxy(proxy), ROUNDING_ERROR)]


# The analyzer

LINES = "Algorithm 1, lines 26 to 30"
CASES = f"{LINES}; Cases 1 and 2 in the proof of Theorem 1"
SMALL = (1, 2, 3, full(*range(4, 9)))
CIRCLES = over(n=SMALL, g=SMALL, tau=(*range(8), full(*range(8, 18))))


def _wrong(circle: Circle) -> int:
    return int(np.count_nonzero(circle.errors(circle.inside()))) + circle.cases()


@inequality(rows, "CZ23-CASE", CASES, over=CIRCLES, role="step", measure="left - right")
def cases(n: int, g: int, tau: int) -> Sides:
    """With m = n g + 2τ + 1 no noisy sum in [-τ, n g + τ] is decoded wrongly, and Cases 1 and 2 hold

    Enumerate every noisy sum v in [-τ, n g + τ], reduce it modulo m, decode it, and count the wrong results.
    """
    return _wrong(Circle(n=n, g=g, tau=tau)), 0


@inequality(
    rows,
    "CZ23-CASE/smaller",
    CASES,
    over=CIRCLES,
    role="sharper",
    expect="refuted",
    measure="left - right",
)
def one_less(n: int, g: int, tau: int) -> Sides:
    """The modulus n g + 2τ would suffice

    Count, as above, the noisy sums in [-τ, n g + τ] that are decoded wrongly or break a case.

    Refuted: -τ and n g + τ then have the same residue. The modulus has no slack
    """
    return _wrong(Circle(n=n, g=g, tau=tau, short=1)), 0


@inequality(rows, "CZ23-CASE/outside", LINES, over=CIRCLES, role="what-if", measure="left - right")
def outside(n: int, g: int, tau: int) -> Sides:
    """Outside [-τ, n g + τ] the analyzer's error is m/g for each wrap: (m/g) |⌊(v + τ)/m⌋|

    Decode the noisy sums v up to two moduli outside the window, and return the largest difference between g
    times the error and m times the number of wraps.

    Note: one wrap costs m/g = n + (2τ + 1)/g, more than the largest sum: with n = 2, g = 2, τ = 3 and m = 11
    the noisy sum -4 (-2 in rewards) is decoded to 7/2, and 8 (4 in rewards) to -3/2
    """
    circle = Circle(n=n, g=g, tau=tau)
    v, m = circle.outside(), circle.sheet.modulus
    distances: Any = np.abs(circle.errors(v) + m * ((v + tau) // m))
    return int(distances.max()), 0
