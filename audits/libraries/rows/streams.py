"""Streams: the sequential tests of dpsprt, the counters of dpcrpy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from audits.libraries.released import released, seeding
from audits.libraries.second_routes import event
from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.suite import Group

__all__ = ["rows"]

rows = Group("Streams")

BIT = PureDP(epsilon=1, domain="one observation, 0 or 1")
STEP = PureDP(epsilon=1, domain="a number that changes by 1")

SPRT = {"package": "dpsprt", "version": "1.2.0"}
COUNTERS = {"package": "dpcrpy", "version": "1.0.0"}

#: Observations of the subsampled test.
LONG = 50
#: Margin of the enclosures, which are computed in floats. Float errors are far smaller.
FLOATS = Fraction(1, 10**9)

Found = tuple[Any, list[tuple[Any, Any]]]


def _decided(name: str, **parameters: float) -> Callable[[Any, np.random.Generator], Any]:
    """Return the decision and stopping time of a sequential test of the package. Each call seeds the test."""
    from dpsprt.core import algorithms

    test = getattr(algorithms, name)

    def mechanism(data: Any, rng: np.random.Generator) -> tuple[int, int]:
        decision, stop, _ = test(np.array(data), random_seed=int(rng.integers(2**32)), **parameters)
        return decision, stop

    return mechanism


@released(rows, "dpsprt/laplace", claim=BIT, **SPRT)
def laplace() -> Found:
    """The DP-SPRT with Laplace noise is ε-DP when an observation is replaced, ε = 1 (ideal)"""
    test = _decided("dp_sprt_laplace", mu0=0.1, mu1=0.9, alpha=0.05, beta=0.05, epsilon=1.0)
    return test, [([1] * 40, [0] + [1] * 39)]


@released(
    rows,
    "dpsprt/gaussian",
    claim=ApproxDP(epsilon=1, delta="1/100", domain="one observation, 0 or 1"),
    **SPRT,
)
def gaussian() -> Found:
    """The DP-SPRT with Gaussian noise is (ε, δ)-DP when an observation is replaced, ε = 1, δ = 1/100
    (ideal)"""
    test = _decided("dp_sprt_gaussian", mu0=0.1, mu1=0.9, alpha=0.05, beta=0.05, epsilon=1.0, delta=0.01)
    return test, [([1] * 40, [0] + [1] * 39)]


@cache
def _open(zero: bool) -> tuple[Fraction, Fraction]:
    # imported here, because it loads scipy's distributions, which only one row needs
    from audits.libraries.subsampled_test import still_open

    low, high = still_open(LONG, zero=zero)
    return Fraction(low) - FLOATS, Fraction(high) + FLOATS


@released(
    rows,
    "dpsprt/subsampled",
    claim=BIT,
    second=event(
        f"the test has not stopped after {LONG} observations",
        inputs=(f"0 and {LONG - 1} ones", f"{LONG} ones"),
        p=lambda: _open(True),
        q=lambda: _open(False),
    ),
    runs=(12_000, 24_000),
    **SPRT,
)
def subsampled() -> Found:
    """The DP-SPRT with subsampling is ε-DP when an observation is replaced, ε = 1 (ideal)

    Each observation enters with probability r = sqrt(ε/10). At step n the mean of the M observations that
    entered gets Laplace noise of scale 4 r / (n ε), and the thresholds share one draw of scale 2 r / (n ε).

    Refuted: An observation that entered changes the mean by 1/M, about 1/(r n), so in units of the sum the
    noise has only scales 4 r²/ε and 2 r²/ε. Without amplification this costs ε / r² = 10 for every ε. Because
    the observation enters with probability r, the cost falls to ln(1 + r (e^10 - 1)) = 8.85 at most, not to
    ε. With 50 observations, all 1 or the first one 0, the test is still open with probability 0.0067 or
    0.087: a loss of 2.5 for a claim of 1, by a recursion over M that shares no code with the package. Noise
    of scale 4 / (M ε₀) and 2 / (M ε₀), where r (e^ε₀ - 1) = e^ε - 1, repairs it.
    """
    test = _decided("dp_sprt_subsampled", mu0=0.1, mu1=0.9, alpha=0.05, beta=0.05, epsilon=1.0)
    return test, [([0] + [1] * (LONG - 1), [1] * LONG)]


@released(rows, "dpsprt/outside-interval", claim=BIT, **SPRT)
def outside_interval() -> Found:
    """OutsideInterval with noise 4/ε and 2/ε is ε-DP for queries of sensitivity 1, ε = 1 (ideal)"""
    from dpsprt import OutsideInterval

    def mechanism(queries: Any, rng: np.random.Generator) -> tuple[int, int]:
        monitor = OutsideInterval(
            lower_threshold=lambda t: -4.0,
            upper_threshold=lambda t: 4.0,
            query_noise_scale=4.0,
            threshold_noise_scale=2.0,
            epsilon=1.0,
            random_seed=int(rng.integers(2**32)),
        )
        for count, query in enumerate(queries, 1):
            stopped, side = monitor.add_query(query)
            if stopped:
                return count, side
        return len(queries), 0

    return mechanism, [([0.0] * 5, [1.0] * 5)]


@released(rows, "dpcrpy/simple", claim=STEP, options={"name": "SimpleMech", "size": {"T": 4}}, **COUNTERS)
@released(
    rows, "dpcrpy/two-level", claim=STEP, options={"name": "TwoLevel", "size": {"kOrder": 2}}, **COUNTERS
)
@released(rows, "dpcrpy/binary", claim=STEP, options={"name": "BinMech", "size": {"kOrder": 2}}, **COUNTERS)
def counter(name: str, size: dict[str, int]) -> Found:
    """The running sums of {name} with Laplace noise are ε-DP when a number is replaced, 4 numbers, ε = 1
    (ideal)"""
    from dpcrpy.framework.noiMech import LapNoiMech
    from dpcrpy.naiveMethods.simpleMech import SimpleMech
    from dpcrpy.naiveMethods.twoLevel import TwoLevel
    from dpcrpy.treeMethods.binMech import BinMech

    made = {"SimpleMech": SimpleMech, "TwoLevel": TwoLevel, "BinMech": BinMech}[name]

    def sums(data: list[float]) -> list[float]:
        mechanism = made(noiMech=LapNoiMech(epsilon=1.0), **size)
        return [float(mechanism.dpRelease(x)[0]) for x in data]

    return seeding(sums), [([0.0] * 4, [1.0, 0.0, 0.0, 0.0])]
