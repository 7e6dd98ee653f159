"""Propose-test-release of a median: right programs, wrong programs, and forged certificates."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import numpy as np
import pytest

from dpaudit import audit
from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.prover.values.prove import prove_values

DATA = Records(Interval(-5, 20), size=41)
CLAIM = ApproxDP(epsilon=2, delta=1e-6)
THRESHOLD = math.log(1e6)


def local_sensitivity(s: Any, k: int) -> Any:
    """Return the local sensitivity of the median at distance k, for k below half of the records."""
    m = len(s) // 2
    return max(s[m + t] - s[m + t - k - 1] for t in range(k + 2) if m + t < len(s))


def distance(s: Any, bound: float) -> Any:
    """Return the number of changed records that may bring the local sensitivity above the bound."""
    return sum(1 for k in range(len(s) // 2) if local_sensitivity(s, k) <= bound)


def proposed(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    if distance(s, 0.5) + rng.laplace(scale=1) <= THRESHOLD:
        return None
    return np.median(s) + rng.laplace(scale=0.5)


def fails(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    levels = np.array([local_sensitivity(s, k) for k in range(len(s) // 2)])
    noisy = (levels < 0.5).sum() + rng.laplace(scale=1)
    if noisy - THRESHOLD > 0:
        return rng.laplace(s[len(s) // 2], 0.5)
    return "fail"


def counted(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    d = 0
    for k in range(len(s) // 2):
        d += local_sensitivity(s, k) <= 0.5
    noisy = d + rng.laplace(scale=1)
    if noisy >= THRESHOLD:
        return noisy, s[len(s) // 2] + 0.5 * rng.laplace()
    return noisy, None


@pytest.mark.parametrize("program", [proposed, fails, counted])
def test_the_test_and_the_release_are_charged(program: Any) -> None:
    """The theorem gives (2, 1e-6). Noise of scale 1 is above the threshold with half of this probability."""
    proof = prove_values(program, CLAIM, data=DATA)
    assert proof.verdict == "verified", proof
    assert float(proof.bound or 1) == pytest.approx(0.5e-6, rel=1e-9)
    assert prove_values(program, ApproxDP(epsilon=1.99, delta=1e-6), data=DATA).verdict == "inconclusive"


def twice(data: Any, rng: Any) -> Any:
    first = proposed(data, rng)
    return first if first is not None else proposed(data, rng)


def test_each_test_is_charged_on_every_path() -> None:
    """The second test runs only if the first one fails. Its delta adds to the delta of the first one."""
    proof = prove_values(twice, ApproxDP(epsilon=3, delta=1e-6), data=DATA)
    assert proof.verdict == "verified", proof
    assert float(proof.bound or 1) == pytest.approx(1e-6, rel=1e-9)
    assert prove_values(twice, ApproxDP(epsilon=3, delta=0.9e-6), data=DATA).verdict == "inconclusive"
    costs = {(float(one.epsilon), round(float(one.delta), 9)) for one in check(proof.certificate).costs}
    assert costs == {(3.0, 1e-6)}


def test_a_release_that_needs_no_test_costs_no_delta() -> None:
    """The noise for the whole range is enough, also after a test."""

    def large_noise(data: Any, rng: Any) -> Any:
        s = np.sort(np.clip(data, 0, 10))
        if distance(s, 0.5) + rng.laplace(scale=1) <= THRESHOLD:
            return None
        return np.median(s) + rng.laplace(scale=10)

    assert prove_values(large_noise, PureDP(epsilon=2), data=DATA).verdict == "verified"
    assert prove_values(large_noise, CLAIM, data=DATA).bound == 0


# Wrong programs.


def low_threshold(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    if distance(s, 0.5) + rng.laplace(scale=1) <= 1:
        return None
    return np.median(s) + rng.laplace(scale=0.5)


def no_threshold(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    if distance(s, 0.5) + rng.laplace(scale=1) <= 0:
        return None
    return np.median(s) + rng.laplace(scale=0.5)


def raw_distance(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    if distance(s, 0.5) <= THRESHOLD:
        return None
    return np.median(s) + rng.laplace(scale=0.5)


def smaller_noise(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    if distance(s, 0.5) + rng.laplace(scale=1) <= THRESHOLD:
        return None
    return np.median(s) + rng.laplace(scale=0.25)


def larger_bound(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    if distance(s, 1) + rng.laplace(scale=1) <= THRESHOLD:
        return None
    return np.median(s) + rng.laplace(scale=0.5)


def wrong_branch(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    if distance(s, 0.5) + rng.laplace(scale=1) > THRESHOLD:
        return None
    return np.median(s) + rng.laplace(scale=0.5)


def without_test(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    noisy = distance(s, 0.5) + rng.laplace(scale=1)
    return noisy, np.median(s) + rng.laplace(scale=0.5)


def released_before(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    found = float(np.median(s) + rng.laplace(scale=0.5))
    if found > 3 and distance(s, 0.5) + rng.laplace(scale=1) > THRESHOLD:
        return found
    return None


def local_only(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    d = sum(1 for _ in range(30) if local_sensitivity(s, 0) <= 0.5)  # the count jumps by 30
    if d + rng.laplace(scale=1) <= THRESHOLD:
        return None
    return np.median(s) + rng.laplace(scale=0.5)


def other_number(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    if distance(s, 0.5) + rng.laplace(scale=1) <= THRESHOLD:
        return None
    return s[2] + rng.laplace(scale=0.5)


def other_vector(data: Any, rng: Any) -> Any:
    s, other = np.sort(np.clip(data, 0, 1)), np.sort(np.clip(data, 0, 10))
    if distance(s, 0.5) + rng.laplace(scale=1) <= THRESHOLD:
        return None
    return np.median(other) + rng.laplace(scale=0.5)


def more_noise_in_the_test(data: Any, rng: Any) -> Any:
    s = np.sort(np.clip(data, 0, 10))
    if distance(s, 0.5) + rng.laplace(scale=2) <= THRESHOLD:  # the threshold must rise with the scale
        return None
    return np.median(s) + rng.laplace(scale=0.5)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "program",
    [
        low_threshold,
        no_threshold,
        raw_distance,
        smaller_noise,
        larger_bound,
        wrong_branch,
        without_test,
        released_before,
        local_only,
        other_number,
        other_vector,
        more_noise_in_the_test,
    ],
)
def test_wrong_programs_are_not_verified(program: Any) -> None:
    proof = prove_values(program, CLAIM, data=DATA)
    assert proof.verdict == "inconclusive"
    assert proof.reason


def test_a_test_without_a_threshold_is_refuted() -> None:
    result = audit(no_threshold, CLAIM, data=Records(Interval(-5, 20), size=3), seconds=40)
    assert result.verdict == "refuted"


# Certificates.


@pytest.fixture(scope="module")
def proved() -> Any:
    found = prove_values(proposed, CLAIM, data=DATA).certificate
    return json.loads(json.dumps(found))


def release_after(certificate: Any) -> Any:
    [found] = [release for release in certificate["releases"] if "given" in release]
    return found


def shown(certificate: Any, start: str) -> Any:
    [found] = [node for node in certificate["tree"] if node[0] == "show" and node[1].startswith(start)]
    return found


def question(certificate: Any) -> Any:
    [found] = [node for node in certificate["tree"] if node[0] == "fork"]
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda c: release_after(c)["given"].update(above="14"),
        lambda c: release_after(c)["given"]["test"].update(factor="2"),
        lambda c: release_after(c)["given"]["test"].update(node=0),
        lambda c: release_after(c).update(law="gaussian"),
        lambda c: release_after(c).update(node=0),
        lambda c: question(c)[2].reverse(),
        lambda c: question(c).__setitem__(1, question(c)[1].replace('"le"', '"ge"')),
        lambda c: question(c).__setitem__(1, question(c)[1].replace("outcome", "other")),
        lambda c: question(c).__setitem__(1, "anything"),
        lambda c: shown(c, "test").__setitem__(1, "test 0 2"),
        lambda c: shown(c, "test").__setitem__(1, "test 1 1"),
        lambda c: shown(c, "test").__setitem__(1, "nothing"),
        lambda c: shown(c, "release 0").__setitem__(1, "nothing"),
        lambda c: c["adjacency"].update(kind="add-remove"),
    ],
)
def test_forged_certificates_are_rejected(proved: Any, change: Any) -> None:
    """Another number, test or value, the other branch, another question, and a test that is not made."""
    certificate = copy.deepcopy(proved)
    check(certificate)
    change(certificate)
    with pytest.raises(ValuesProofError):
        check(certificate)


def test_the_check_derives_the_bound_from_the_certificate(proved: Any) -> None:
    """Less noise costs more, a lower threshold has a larger delta, and no test costs 10 / 0.5."""
    [cost] = check(proved).costs
    assert cost.epsilon == 2
    assert float(cost.delta) == pytest.approx(0.5e-6)
    less, lower, without = (copy.deepcopy(proved) for _ in range(3))
    release_after(less)["factor"] = "1/2"
    assert check(less).costs[0].epsilon == 3
    release_after(lower)["given"]["above"] = "1"
    assert float(check(lower).costs[0].delta) == pytest.approx(math.exp(-1) / 2)
    release_after(without).pop("given")
    [cost] = check(without).costs
    assert cost.epsilon == 21
    assert cost.delta == 0
