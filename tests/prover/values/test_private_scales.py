"""Noise whose scale is the smooth sensitivity of an order statistic: right, wrong and forged proofs."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit import audit
from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.data import EVERY, Integers, Interval, Records
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.prover.values.explain import explained
from dpaudit.prover.values.prove import prove_values

DATA = Records(Interval(-5, 20), size=7)
PURE, APPROX = PureDP(epsilon=1), ApproxDP(epsilon=1, delta=1e-6)
BETA = 1 / (2 * math.log(2 / 1e-6))


def smooth_sensitivity(s: Any, m: int, beta: float, low: float = 0, high: float = 10) -> Any:
    """Return the smooth sensitivity of the entry m of a sorted vector in [low, high]."""
    found = 0.0
    for k in range(len(s) + 1):
        for t in range(k + 2):
            above = s[m + t] if m + t < len(s) else high
            below = s[m + t - k - 1] if m + t - k - 1 >= 0 else low
            found = max(found, math.exp(-beta * k) * (above - below))
    return found


def cauchy(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + 6 * smooth_sensitivity(s, m, 1 / 6) * rng.standard_cauchy()


def laplace(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return np.median(s) + rng.laplace(scale=2 * smooth_sensitivity(s, m, BETA))


def around(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return rng.laplace(s[m], 2 * smooth_sensitivity(s, m, BETA))


def quartile(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, -3, 7))
    m = len(s) // 4
    return s[m] - rng.standard_cauchy() * smooth_sensitivity(s, m, 1 / 6, -3, 7) * 6


def padded(data: Any, rng: Any) -> Any:
    x, n = np.clip(data, 0, 10), len(data)
    s = np.concatenate(([0.0] * n, np.sort(x), [10.0] * n))
    m = n + n // 2
    smooth = max(
        np.exp(-BETA * k) * max(s[m + t] - s[m + t - k - 1] for t in range(k + 2)) for k in range(n + 1)
    )
    return np.median(x) + rng.laplace(scale=2 * smooth)


def slices(data: Any, rng: Any) -> Any:
    x, n = np.clip(data, 0, 10), len(data)
    s = np.concatenate((np.zeros(n + 2), np.sort(x), np.full(n + 2, 10.0)))
    m = n + 2 + n // 2
    local = [np.max(s[m : m + k + 2] - s[m - k - 1 : m + 1]) for k in range(n + 1)]
    smooth = np.max(np.exp(-BETA * np.arange(n + 1)) * np.array(local))
    return np.median(x) + 2 * rng.laplace() * smooth


def updated(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10)).tolist()
    m, smooth = len(s) // 2, 0.0
    for k in range(len(s) + 1):
        for t in range(k + 2):
            above = s[m + t] if m + t < len(s) else 10.0
            below = s[m + t - k - 1] if m + t >= k + 1 else 0.0
            here = math.exp(-BETA * k) * (above - below)
            if here > smooth:
                smooth = here
    return s[m] + rng.laplace(0, 2 * smooth)


@pytest.mark.parametrize("program", [cauchy, quartile])
def test_cauchy_noise_of_smooth_sensitivity_is_pure(program: Any) -> None:
    """The theorem gives epsilon 1 for 6 times the bound with beta = 1/6. The exact loss is smaller."""
    proof = prove_values(program, PURE, data=DATA)
    assert proof.verdict == "verified", proof
    r = math.exp(1 / 6)
    exact = math.acosh(max(2 + 1 / 36, r + (1 + 1 / 36) / r) / 2)
    assert float(proof.bound or 9) == pytest.approx(exact, rel=1e-9)
    assert exact < 0.23
    assert "0.226" in str(proof)


@pytest.mark.parametrize("program", [laplace, around, padded, slices, updated])
def test_laplace_noise_of_smooth_sensitivity_is_approximate(program: Any) -> None:
    """The theorem gives delta 1e-6. The largest difference of the distributions is smaller."""
    proof = prove_values(program, APPROX, data=DATA)
    assert proof.verdict == "verified", proof
    r = math.exp(BETA)
    exact = (1 - 1 / r) * math.exp(-(1 / 2 + BETA) / (r - 1))
    assert float(proof.bound or 9) == pytest.approx(exact, rel=1e-6)
    assert exact < 1e-8
    assert prove_values(program, PURE, data=DATA).verdict == "inconclusive"


def test_an_even_number_of_records_and_integers_are_covered() -> None:
    """The median of an even number is a mean of two entries, with a larger scale than that of one entry."""
    for data in (Records(Integers(-5, 20), size=7), Records(Interval(-5, 20), size=8)):
        assert prove_values(laplace, APPROX, data=data).verdict == "verified", data


class Fixed:
    """A generator whose Cauchy draws are one number, to read the centre and the scale of the noise."""

    def __init__(self, number: float) -> None:
        self.number = number

    def standard_cauchy(self) -> float:
        return self.number


def test_the_bound_covers_the_loss_of_real_neighbours() -> None:
    """The largest log-ratio of the densities on 200 pairs of neighbours is below the proved epsilon."""
    rng, worst = np.random.default_rng(8), 0.0
    for _ in range(200):
        x = rng.choice([0, 1, 2, 5, 10], size=7).astype(float)
        other = x.copy()
        other[0] = rng.choice([0, 10])
        centres = [cauchy(data, Fixed(0)) for data in (x, other)]
        scales = [cauchy(data, Fixed(1)) - m for data, m in zip((x, other), centres, strict=True)]
        y = np.linspace(-200, 200, 4001)
        p, q = (b / (b * b + (y - m) ** 2) for b, m in zip(scales, centres, strict=True))
        worst = max(worst, float(np.abs(np.log(p / q)).max()))
    assert 0.15 < worst < float(prove_values(cauchy, PURE, data=DATA).bound or 0)


# Wrong programs.


def half_cauchy(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + smooth_sensitivity(s, m, 1 / 6) / 2 * rng.standard_cauchy()


def without_factor_2(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + rng.laplace(scale=smooth_sensitivity(s, m, BETA))


def local_cauchy(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + 6 * max(s[m + 1] - s[m], s[m] - s[m - 1]) * rng.standard_cauchy()


def local_laplace(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + rng.laplace(scale=2 * max(s[m + 1] - s[m], s[m] - s[m - 1]))


def reused(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m, noise = len(s) // 2, rng.standard_cauchy()
    smooth = smooth_sensitivity(s, m, 1 / 6)
    return s[m] + 6 * smooth * noise, s[m - 1] + 6 * smooth * noise


def reused_scaled(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    noise = 6 * smooth_sensitivity(s, m, 1 / 6) * rng.standard_cauchy()
    return s[m] + noise, s[m - 1] + noise


def shows_noise(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m, noise = len(s) // 2, rng.standard_cauchy()
    return s[m] + 6 * smooth_sensitivity(s, m, 1 / 6) * noise, noise


def off_by_one(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m, found = len(s) // 2, 0.0
    for k in range(len(s)):
        for t in range(k + 1):  # the windows of k + 1 entries, instead of k + 2
            above = s[m + t] if m + t < len(s) else 10.0
            below = s[m + t - k] if m + t - k >= 0 else 0.0
            found = max(found, math.exp(-k / 6) * (above - below))
    return s[m] + 6 * found * rng.standard_cauchy()


def few_distances(data: Any, rng: Any) -> Any:
    s, m = np.sort(np.clip(data, 0, 10)), len(data) // 2
    found = 0.0
    for k in range(2):
        found = max(found, *(math.exp(-k * BETA) * (s[m + t] - s[m + t - k - 1]) for t in range(k + 2)))
    return s[m] + rng.laplace(scale=2 * found)


def large_beta(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + 6 * smooth_sensitivity(s, m, 2) * rng.standard_cauchy()


def large_beta_laplace(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + rng.laplace(scale=2 * smooth_sensitivity(s, m, 0.25))


def smaller_range(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + 6 * smooth_sensitivity(s, m, 1 / 6, 0, 5) * rng.standard_cauchy()


def not_clipped(data: Any, rng: Any) -> Any:
    s = np.sort(data)
    m = len(s) // 2
    return s[m] + 6 * smooth_sensitivity(s, m, 1 / 6) * rng.standard_cauchy()


def other_value(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    return s.sum() + 6 * smooth_sensitivity(s, len(s) // 2, 1 / 6) * rng.standard_cauchy()


def other_vector(data: Any, rng: Any) -> Any:
    s, other = np.sort(np.clip(data, 0, 10)), np.sort(np.clip(data, 2, 12))
    return other[3] + 6 * smooth_sensitivity(s, 3, 1 / 6) * rng.standard_cauchy()


def shifted_noise(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + 6 * smooth_sensitivity(s, m, 1 / 6) * (rng.standard_cauchy() + 5)


def gaussian(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    m = len(s) // 2
    return s[m] + 6 * smooth_sensitivity(s, m, 1 / 6) * rng.standard_normal()


@pytest.mark.parametrize(
    ("program", "claim"),
    [
        (half_cauchy, PURE),
        (without_factor_2, APPROX),
        (local_cauchy, PURE),
        (local_laplace, APPROX),
        (reused, PURE),
        (reused_scaled, PURE),
        (shows_noise, PURE),
        (off_by_one, PURE),
        (few_distances, APPROX),
        (large_beta, PURE),
        (large_beta_laplace, APPROX),
        (smaller_range, PURE),
        (not_clipped, PURE),
        (other_value, PURE),
        (other_vector, PURE),
        (shifted_noise, PURE),
        (gaussian, APPROX),
    ],
)
def test_wrong_programs_are_not_verified(program: Any, claim: Any) -> None:
    proof = prove_values(program, claim, data=DATA)
    assert proof.verdict == "inconclusive"
    assert proof.reason


def test_add_remove_groups_and_every_size_are_refused() -> None:
    """The rules are for one replaced record of a known number."""
    assert prove_values(cauchy, PURE, data=Records(Interval(-5, 20), size=EVERY)).verdict == "inconclusive"
    for claim, data in (
        (PureDP(epsilon=1, adjacency="add-remove"), DATA),
        (PureDP(epsilon=1, unit="user"), Records(Interval(-5, 20), size=7, group=2)),
    ):
        assert prove_values(cauchy, claim, data=data).verdict == "inconclusive"
    assert prove_values(cauchy, PureDP(epsilon=1, adjacency="zero-out"), data=DATA).verdict == "verified"


@pytest.mark.parametrize("program", [local_cauchy, large_beta])
def test_some_wrong_programs_are_refuted(program: Any) -> None:
    """A scale of 0, and a scale that changes by a large factor, are found on three records."""
    result = audit(program, PURE, data=Records(Interval(-5, 20), size=3), seconds=40)
    assert result.verdict == "refuted"


# Certificates.


def certificate_of(program: Any, claim: Any) -> dict[str, Any]:
    found = copy.deepcopy(prove_values(program, claim, data=DATA).certificate)
    assert found is not None
    return found


def bounds_of(certificate: dict[str, Any]) -> tuple[float, float]:
    """Return the largest epsilon and delta that the kernel derives."""
    costs = check(certificate).costs
    return max(float(one.epsilon) for one in costs), max(float(one.delta) for one in costs)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["releases"][0].update(by=c["releases"][0]["node"]),
        lambda c: c["releases"][0].update(by=0),
        lambda c: c["releases"][0].update(by=-1),
        lambda c: c["releases"][0].update(law="gaussian"),
        lambda c: c["releases"][0].update(split="-1/2"),
        lambda c: c["releases"][0].update(split="nan"),
        lambda c: c["releases"][0].update(node=0),
        lambda c: c["adjacency"].update(group=2),
        lambda c: c["draws"][0].__setitem__(1, ["number", "0"]),
    ],
)
def test_forged_certificates_are_rejected(change: Any) -> None:
    """Another step as the scale, another law, a negative part, and another setting."""
    certificate = certificate_of(laplace, APPROX)
    check(certificate)
    change(certificate)
    with pytest.raises(ValuesProofError):
        check(certificate)


def test_the_check_derives_the_bound_from_the_certificate() -> None:
    """Less noise costs more. A larger part has a smaller delta and a larger epsilon."""
    certificate = certificate_of(laplace, APPROX)
    epsilon, delta = bounds_of(certificate)
    assert epsilon == pytest.approx(1)
    assert delta < 1e-8
    more, less = copy.deepcopy(certificate), copy.deepcopy(certificate)
    more["releases"][0]["split"] = "1"
    assert bounds_of(more)[0] == pytest.approx(1.5)
    assert bounds_of(more)[1] < 1e-13
    less["releases"][0]["factor"] = "1/2"
    assert bounds_of(less)[0] == pytest.approx(1.5)
    less["releases"][0].pop("by")  # the noise of the draw has the scale 1/2, and the median changes by 10
    assert bounds_of(less) == (20, 0)


def test_weights_that_fall_faster_are_charged() -> None:
    """A certificate whose weights are edited to a larger beta has a larger bound."""
    certificate = certificate_of(cauchy, PURE)
    before = bounds_of(certificate)[0]
    for op, _, params in certificate["nodes"]:
        if op == "const" and params["shape"] == [] and 0 < Fraction(params["values"][0]) < 1:
            params["values"] = [str(Fraction(params["values"][0]) ** 3)]
    assert bounds_of(certificate)[0] > 2 * before


def test_the_explanation_names_the_scale() -> None:
    text = explained(prove_values(cauchy, PURE, data=DATA))
    assert "times #" in text
