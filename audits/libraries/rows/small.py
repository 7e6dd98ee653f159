"""Small packages: diffpriv-pure, eeprivacy, diff-priv-laplace-python."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from audits.libraries.released import released, seeding
from audits.libraries.second_routes import classical_gaussian, event, laplace_tail, laplaces_apart
from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import ball

__all__ = ["rows"]

rows = Group("Small packages")

REPLACE = PureDP(epsilon=1, adjacency="replace-one", domain="a number within the bounds")
ADD = PureDP(epsilon=1, adjacency="add-remove", domain="a number within the bounds")
ANY = PureDP(epsilon=1, adjacency="replace-one", domain="a number")
#: Parameters at which few runs show that the formula is wrong. At (8, 1/10) the exact delta is 0.237, which
#: needs many more runs.
GAUSSIAN = ApproxDP(epsilon=6, delta="1/2", domain="a number in [0, 1]")
GAUSSIAN_RUNS = (80_000, 120_000)
COUNT = PureDP(epsilon=1, adjacency="add-remove", domain="a record that counts, or none")

PURE = {"package": "diffpriv-pure", "version": "0.1.0"}
ENERGY = {"package": "eeprivacy", "version": "0.0.5"}
ALEPH = {"package": "diff-priv-laplace-python", "version": "1.0.5"}

Found = tuple[Any, list[tuple[Any, Any]]]


@released(
    rows,
    "diffpriv-pure/count",
    claim=COUNT,
    second=event(
        "the noisy count is 0", inputs=(0, 1), p=lambda: 1 - (-ball(1)).exp(), q=lambda: Fraction(0)
    ),
    **PURE,
)
def pure_count() -> Found:
    """private_count is ε-DP when one record is added or removed, ε = 1 (ideal)

    Refuted: The function geometric_noise inverts one uniform number into a geometric variate that is 0 or
    more, so the noisy count is never below the true count: a count of 1 never gives 0, and a count of 0 gives
    0 with probability 1 - 1/e. The documentation calls it "geometric (discrete Laplace) noise"; discrete
    Laplace noise is the difference of two such variates. Using this difference repairs it.
    """
    from diffpriv_pure import private_count

    return seeding(lambda count: private_count(count, 1.0)), [(0, 1)]


@released(
    rows,
    "diffpriv-pure/gaussian",
    claim=GAUSSIAN,
    second=classical_gaussian((1, 0)),
    runs=GAUSSIAN_RUNS,
    **PURE,
)
def pure_gaussian() -> Found:
    """private_sum with delta is (ε, δ)-DP when a record is replaced, ε = 6, δ = 1/2 (ideal)

    Refuted: The function gaussian_sigma returns sqrt(2 ln(1.25 / δ)) Δ / ε for every ε. This formula is
    proved for ε < 1 (Dwork and Roth 2014, Theorem A.1) and is wrong for large ε. The docstring names Balle
    and Wang 2018, whose analytic Gaussian mechanism is another formula, and right for every ε. Here the exact
    δ is 0.73 (and 0.237 for ε = 8, δ = 1/10). Refusing ε above 1, or their formula, repairs it.
    """
    from diffpriv_pure import private_sum

    return seeding(lambda data: private_sum(data, (0.0, 1.0), 6.0, delta=0.5)), [([1.0], [0.0])]


@released(rows, "diffpriv-pure/sum", claim=REPLACE, **PURE)
def pure_sum() -> Found:
    """private_sum with Laplace noise is ε-DP when a record is replaced, ε = 1 (ideal)"""
    from diffpriv_pure import private_sum

    return seeding(lambda data: private_sum(data, (0.0, 1.0), 1.0)), [([1.0, 0.0], [0.0, 0.0])]


@released(rows, "diffpriv-pure/mean", claim=REPLACE, **PURE)
def pure_mean() -> Found:
    """private_mean with Laplace noise is ε-DP when a record is replaced, ε = 1 (ideal)"""
    from diffpriv_pure import private_mean

    return seeding(lambda data: private_mean(data, (0.0, 1.0), 1.0)), [([1.0, 0.0], [0.0, 0.0])]


@released(rows, "eeprivacy/sum", claim=REPLACE, **ENERGY)
def energy_sum() -> Found:
    """PrivateClampedSum is ε-DP when a record is replaced, ε = 1 (ideal)"""
    from eeprivacy.operations import PrivateClampedSum

    operation = PrivateClampedSum(lower_bound=0, upper_bound=1)
    return seeding(lambda data: operation.execute(values=data, epsilon=1.0)), [([9.0, 0.0], [0.0, 0.0])]


@released(
    rows,
    "eeprivacy/mean",
    claim=ANY,
    second=event(
        "the private mean is the lower bound",
        inputs=([0.0, 0.0], [40.0, 0.0]),
        p=lambda: Fraction(1, 2),
        q=lambda: laplace_tail(40),
    ),
    **ENERGY,
)
def energy_mean() -> Found:
    """PrivateClampedMean is ε-DP for all numbers, when a record is replaced, ε = 1 (ideal)

    Refuted: Its docstring says "compute a mean, bounding sensitivity with clamping", and execute clamps only
    the noisy mean. The values enter their sum unclamped. One record of 40 with bounds 0 and 1 changes the sum
    by 40 noise scales: a loss of 40. The book that it cites assumes values within the bounds, and for these
    values the other row on this mean finds no violation. np.clip, which the sum of the same file uses,
    repairs it.
    """
    from eeprivacy.operations import PrivateClampedMean

    operation = PrivateClampedMean(lower_bound=0, upper_bound=1)
    return seeding(lambda data: operation.execute(values=data, epsilon=1.0)), [([0.0, 0.0], [40.0, 0.0])]


@released(rows, "eeprivacy/mean/within", claim=REPLACE, **ENERGY)
def energy_mean_within() -> Found:
    """PrivateClampedMean is ε-DP for numbers within its bounds, when a record is replaced, ε = 1 (ideal)"""
    from eeprivacy.operations import PrivateClampedMean

    operation = PrivateClampedMean(lower_bound=0, upper_bound=1)
    return seeding(lambda data: operation.execute(values=data, epsilon=1.0)), [([0.0, 0.0], [1.0, 0.0])]


@released(
    rows,
    "eeprivacy/vector-mean",
    claim=PureDP(epsilon=1, domain="a vector of two numbers in [0, 1]"),
    second=event(
        "the two private means are equal",
        inputs=([[0, 0], [0, 0]], [[1, 0], [0, 0]]),
        p=lambda: Fraction(1),
        q=lambda: Fraction(0),
    ),
    **ENERGY,
)
def energy_vector_mean() -> Found:
    """PrivateVectorClampedMeanLaplace is ε-DP when a vector is replaced, ε = 1 (ideal)

    Refuted: The method execute passes the vector of sums to LaplaceMechanism.execute, which draws one number
    and adds it to every entry. The differences between the private means are exactly the differences in the
    data. LaplaceMechanism.execute_batch, which draws one number per entry with its own scale, repairs it.
    """
    from eeprivacy.operations import PrivateVectorClampedMeanLaplace

    operation = PrivateVectorClampedMeanLaplace(lower_bound=0, upper_bound=1, k=2, N=2)
    mechanism = seeding(lambda data: operation.execute(vectors=data, epsilon=1.0, delta=0.0))
    return mechanism, [([[0, 0], [0, 0]], [[1, 0], [0, 0]])]


@released(
    rows,
    "eeprivacy/quantile",
    claim=PureDP(epsilon=1, adjacency="add-remove", domain="a number"),
    second=event(
        "the second option is returned",
        inputs=("17 values below both options, 2 between, 1 above", "the same without the value above"),
        p=lambda: Fraction(1, 2),
        q=lambda: laplaces_apart(Fraction(9, 5)),
    ),
    runs=(30_000, 60_000),
    **ENERGY,
)
def energy_quantile() -> Found:
    """PrivateQuantile is ε-DP when one record is added or removed, ε = 1, the quantile 0.9 of 20 values
    (ideal)

    Refuted: It reports the noisy maximum of the scores -|count - q N| with Laplace noise of scale Δ/ε and
    cites Claim 3.9 of Dwork and Roth, which is about counts: an added record moves all of them up. These
    scores are not monotone. Removing the largest record moves one up by 0.9 and the other down by 0.9, and
    changes the probability of the second from 1/2 to 0.157, a loss of 1.158. Noise of scale 2Δ/ε repairs it.
    """
    from eeprivacy.operations import PrivateQuantile

    operation = PrivateQuantile(options=[1.0, 2.0])
    data = [0.0] * 17 + [1.5] * 2 + [3.0]
    mechanism = seeding(lambda values: operation.execute(values=np.array(values), epsilon=1.0, quantile=0.9))
    return mechanism, [(data, data[:-1])]


@released(
    rows, "eeprivacy/histogram", claim=PureDP(epsilon=1, adjacency="add-remove", domain="a number"), **ENERGY
)
def energy_histogram() -> Found:
    """PrivateHistogram is ε-DP when one record is added or removed, ε = 1 (ideal)"""
    from eeprivacy.operations import PrivateHistogram

    operation = PrivateHistogram(bins=[0, 1, 2])
    mechanism = seeding(lambda data: operation.execute(values=np.array(data), epsilon=1.0))
    return mechanism, [([0.5, 1.5, 1.5], [0.5, 1.5])]


@released(
    rows,
    "eeprivacy/gaussian",
    claim=GAUSSIAN,
    second=classical_gaussian((1, 0)),
    runs=GAUSSIAN_RUNS,
    **ENERGY,
)
def energy_gaussian() -> Found:
    """GaussianMechanism.execute is (ε, δ)-DP for a value of sensitivity 1, ε = 6, δ = 1/2 (ideal)

    Refuted: The scale is sqrt(2 ln(1.25 / δ)) Δ / ε for every ε, and the documentation names no range. The
    formula is proved for ε < 1 (Dwork and Roth 2014, Theorem A.1) and wrong for large ε. Refusing ε above 1,
    or the formula of Balle and Wang 2018, repairs it.
    """
    from eeprivacy.mechanisms import GaussianMechanism

    def execute(value: float) -> float:
        return GaussianMechanism.execute(value=value, epsilon=6.0, delta=0.5, sensitivity=1.0)

    return seeding(execute), [(1.0, 0.0)]


@released(rows, "diff-priv-laplace/count", claim=COUNT, **ALEPH)
def aleph_count() -> Found:
    """The count anonymizer is ε-DP when one record is added or removed, ε = 1 (ideal)"""
    from diffpriv_laplace import DiffPrivLaplaceMechanism

    anonymizer = DiffPrivLaplaceMechanism.create_count_anonymizer(1.0)
    return seeding(anonymizer.apply), [(0.0, 1.0)]


@released(rows, "diff-priv-laplace/sum", claim=ADD, **ALEPH)
def aleph_sum() -> Found:
    """The sum anonymizer with bounds 0 and 5 is ε-DP when one record is added or removed, ε = 1 (ideal)"""
    from diffpriv_laplace import DiffPrivLaplaceMechanism

    anonymizer = DiffPrivLaplaceMechanism.create_sum_anonymizer(1.0, 0.0, 5.0)
    return seeding(lambda data: anonymizer.apply(sum(data))), [([5.0, 1.0], [1.0])]


@released(
    rows,
    "diff-priv-laplace/min",
    claim=PureDP(epsilon=1, domain="a number in [0, 100]"),
    role="what-if",
    second=event(
        "the noisy minimum is above 50",
        inputs=([100], [0]),
        p=lambda: 1 - laplace_tail(50),
        q=lambda: laplace_tail(50),
    ),
    **ALEPH,
)
def aleph_min() -> Found:
    """The minimum of numbers in [0, 100] is ε-DP when a record is replaced, ε = 1 (ideal)

    Refuted: The anonymizers for minimum, maximum and median take a sensitivity of 1 and no bounds, unlike the
    anonymizers for sum and mean. This is right for numbers in [0, 1], but the installed documentation does
    not state this condition, so this row is a what-if. Bounds as for the sum repair it.
    """
    from diffpriv_laplace import DiffPrivLaplaceMechanism

    anonymizer = DiffPrivLaplaceMechanism.create_min_anonymizer(1.0)
    return seeding(lambda data: anonymizer.apply(min(data))), [([100.0], [0.0])]
