"""Cauchy and Student noise on released values: known costs, wrong programs, and forged certificates."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.coins import record, replay
from dpaudit.core.claims import PureDP
from dpaudit.core.data import Integers, Interval, Records
from dpaudit.distributions import Cauchy, Student
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.heavy_tails import degrees_of, heavy_cost
from dpaudit.prover.values.prove import prove_values

UNIT = Records(Interval(0, 1))
#: The largest loss of a shift by half a scale.
HALF = 2 * math.asinh(0.25)


def bounded(program: Any, data: Records = UNIT) -> float:
    """Return the proved epsilon of a program."""
    proof = prove_values(program, PureDP(epsilon=100), data=data)
    assert proof.verdict == "verified", proof
    return float(check(proof.certificate).epsilon)


def certificate_of(program: Any) -> dict[str, Any]:
    certificate = copy.deepcopy(prove_values(program, PureDP(epsilon=100), data=UNIT).certificate)
    assert certificate is not None
    return certificate


def total(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 1).sum() + 2 * rng.standard_cauchy()


def half_the_noise(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 1).sum() + rng.standard_cauchy()


def observed(coins: Any, data: Any) -> Any:
    return coins.observe(Cauchy(scale=2).shift(np.clip(data, 0, 1).sum()), site="total")


def released(coins: Any, data: Any) -> Any:
    return coins.release(np.clip(data, 0, 1).mean(), Cauchy(scale=2 / len(data)), site="mean")


def histogram(data: Any, rng: Any) -> Any:
    return np.bincount(data, minlength=3) + 4 * rng.standard_cauchy(size=3)


def entries(data: Any, rng: Any) -> Any:
    noise, counts = rng.standard_cauchy(size=2), np.bincount(data, minlength=2)
    return counts[0] + noise[0], counts[1] + noise[1]


def reused(data: Any, rng: Any) -> Any:
    noise, x = rng.standard_cauchy(), np.clip(data, 0, 1)
    return x.sum() + noise, x.max() + noise


def student(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 1).sum() + 2 * rng.standard_t(3)


def half_the_student(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 1).sum() + rng.standard_t(df=3)


def one_degree(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 1).sum() + 2 * rng.standard_t(1)


def student_entries(data: Any, rng: Any) -> Any:
    noise, counts = rng.standard_t(2.5, size=2), np.bincount(data, minlength=2)
    return counts[0] + noise[0], counts[1] + noise[1]


def student_histogram(data: Any, rng: Any) -> Any:
    return np.bincount(data, minlength=3) + 4 * rng.standard_t(3, size=3)


def laplace_entries(data: Any, rng: Any) -> Any:
    noise, counts = rng.laplace(size=2), np.bincount(data, minlength=2)
    return counts[0] + noise[0], counts[1] + noise[1]


def private_degrees(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 1).sum() + rng.standard_t(np.clip(data, 1, 2).sum())


def no_degrees(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 1).sum() + rng.standard_t(0)


def many_digits(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 1).sum() + rng.standard_t(0.1)


def degrees_as_text(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 1).sum() + rng.standard_t("3")


def reused_student(data: Any, rng: Any) -> Any:
    noise, x = rng.standard_t(3), np.clip(data, 0, 1)
    return x.sum() + noise, x.max() + noise


def student_place(data: Any, rng: Any) -> Any:
    return np.argmax(np.bincount(data, minlength=3) + rng.standard_t(3, size=3))


def place(data: Any, rng: Any) -> Any:
    return np.argmax(np.bincount(data, minlength=3) + rng.standard_cauchy(size=3))


@pytest.mark.parametrize(
    ("program", "data", "cost"),
    [
        (total, UNIT, HALF),
        (half_the_noise, UNIT, 2 * math.asinh(0.5)),
        (observed, UNIT, HALF),
        (released, UNIT, HALF),
        (histogram, Records(Integers(0, 2)), 6 * math.asinh(1 / 12)),
        (entries, Records(Integers(0, 1)), 4 * math.asinh(0.5)),
        (place, Records(Integers(0, 2)), 6 * math.asinh(1 / 3)),
        (student, UNIT, 4 * math.asinh(1 / (4 * math.sqrt(3)))),
        (half_the_student, UNIT, 4 * math.asinh(1 / (2 * math.sqrt(3)))),
        (one_degree, UNIT, HALF),
        (student_entries, Records(Integers(0, 1)), 7 * math.asinh(1 / (2 * math.sqrt(2.5)))),
        (student_histogram, Records(Integers(0, 2)), 12 * math.asinh(1 / (12 * math.sqrt(3)))),
        (student_place, Records(Integers(0, 2)), 12 * math.asinh(1 / (3 * math.sqrt(3)))),
    ],
)
def test_costs_are_those_of_the_formula(program: Any, data: Records, cost: float) -> None:
    """The proved epsilon is the closed form for one number, and Jensen's bound for an array."""
    assert bounded(program, data) == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize("distance", ["1/1000", "1/2", "3", "1000"])
@pytest.mark.parametrize("scale", ["1/3", "2"])
@pytest.mark.parametrize("degrees", ["1", "1/3", "5/2", "40"])
def test_the_cost_is_the_largest_ratio_of_densities(distance: str, scale: str, degrees: str) -> None:
    """The cost is at least the loss at each point of a grid, and at most slightly more than the largest."""
    noise = Student(df=degrees, scale=scale)
    d, b = float(Fraction(distance)), float(Fraction(scale)) * math.sqrt(Fraction(degrees))
    worst = (d - math.sqrt(d * d + 4 * b * b)) / 2
    x = worst + np.linspace(-3 * b, 3 * b, 200_001)
    losses = noise.logp(x) - noise.logp(x - d)
    cost = heavy_cost(Fraction(distance) / Fraction(scale), Fraction(1), Fraction(degrees))
    assert losses.max() <= float(cost) * (1 + 1e-9) + 1e-9
    assert float(cost) == pytest.approx(losses.max(), rel=1e-6)
    assert cost <= heavy_cost(Fraction(distance) / Fraction(scale), None, Fraction(degrees))


def test_the_cost_of_many_entries_covers_every_split() -> None:
    """No split of the change over the entries costs more, and an unknown number of entries costs more."""
    rng, cost = np.random.default_rng(5), float(heavy_cost(Fraction(3), Fraction(4), Fraction(1)))
    splits = rng.dirichlet([0.3] * 4, size=1000) * 3
    assert (2 * np.arcsinh(splits / 2)).sum(axis=1).max() <= cost
    assert cost == pytest.approx(8 * math.asinh(3 / 8), rel=1e-12)
    assert cost <= heavy_cost(Fraction(3), None, Fraction(1)) == 3


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (reused, "used twice"),
        (reused_student, "used twice"),
        (private_degrees, "degrees of freedom"),
        (no_degrees, "degrees of freedom"),
        (many_digits, "four digits"),
        (degrees_as_text, "degrees of freedom"),
    ],
)
def test_wrong_programs_are_refused(program: Any, reason: str) -> None:
    """One draw is for one private value, and the degrees of freedom are a positive constant."""
    proof = prove_values(program, PureDP(epsilon=100), data=UNIT)
    assert proof.verdict == "inconclusive"
    assert reason in str(proof.reason)


def test_laws_of_heavy_tails_are_written_in_one_way() -> None:
    assert degrees_of("student-5/2") == Fraction(5, 2)
    for law in (
        "student",
        "student-0",
        "student--1",
        "student-3 ",
        "student-1/0",
        "student-12345",
        "laplace",
    ):
        assert degrees_of(law) is None


@pytest.mark.parametrize("law", ["exponential", "gumbel", "student", "student-0", "unknown"])
def test_entries_cannot_be_released_with_another_law(law: str) -> None:
    """Separately released entries have the cost of Laplace noise only if that is their noise."""
    proof = prove_values(laplace_entries, PureDP(epsilon=100), data=Records(Integers(0, 1)))
    certificate: Any = copy.deepcopy(proof.certificate)
    check(certificate)
    certificate["draws"][0][0] = law
    for release in certificate["releases"]:
        release["law"] = law
    with pytest.raises(ValuesProofError):
        check(certificate)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["releases"][0].update(law="laplace"),
        lambda c: c["releases"][0].update(factor="0"),
        lambda c: c["releases"][0].update(law="argmax", count=1),
        lambda c: c["draws"][0].__setitem__(0, "student"),
        lambda c: c["draws"][0].__setitem__(0, "student-1"),
        lambda c: c["draws"][0].__setitem__(1, {"parties": 1}),
        lambda c: c["draws"][0].__setitem__(2, [2]),
    ],
)
def test_forged_certificates_are_rejected(change: Any) -> None:
    """Another family, a factor of 0, an argmax, unknown parameters and another shape are refused."""
    certificate = certificate_of(half_the_noise)
    check(certificate)
    change(certificate)
    with pytest.raises(ValuesProofError):
        check(certificate)


def test_the_check_derives_the_cost_from_the_certificate() -> None:
    """A certificate for twice the noise that is edited to the true noise has the true, larger cost."""
    certificate = certificate_of(total)
    assert float(check(certificate).epsilon) == pytest.approx(HALF, rel=1e-12)
    certificate["releases"][0]["factor"] = "1"
    assert float(check(certificate).epsilon) == pytest.approx(2 * math.asinh(0.5), rel=1e-12)


@pytest.mark.parametrize(("epsilon", "verdict"), [("0.962424", "verified"), ("0.9624", "inconclusive")])
def test_a_claim_below_the_bound_is_not_verified(epsilon: str, verdict: str) -> None:
    """The noise of scale 1 costs 2 asinh(1/2) = 0.96242365..., and twice the noise would cost 0.4949."""
    assert prove_values(half_the_noise, PureDP(epsilon=epsilon), data=UNIT).verdict == verdict


def test_a_replay_computes_the_loss_of_cauchy_noise() -> None:
    """The loss of a recorded outcome is the log-ratio of the two densities there."""
    ones, fewer = np.array([1.0, 1.0]), np.array([1.0, 0.0])
    recording = record(observed, ones, rng=np.random.default_rng(3))
    x, loss = float(recording.returned), float(replay(observed, fewer, recording).losses[0].loss)
    assert loss == pytest.approx(math.log((4 + (x - 1) ** 2) / (4 + (x - 2) ** 2)), rel=1e-12)
