"""A check that could not have failed says NOT AUDITED, and one that could does not."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from dpaudit.blackbox.check import check
from dpaudit.blackbox.hypotheses import family_of
from dpaudit.blackbox.power import runs_needed
from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP
from dpaudit.core.errors import NotAuditedError, RefutedError
from dpaudit.core.suite import Outcome
from dpaudit.core.verdicts import VerdictKind
from dpaudit.run.finding import finding_of
from tests.errors import raises

ONE, PAIR = PureDP(epsilon=1), [([0, 1], [1, 1])]


def noisy(data, rng):
    return sum(data) + float(rng.laplace())


def hashed(data, rng):
    return hashlib.sha256(str(noisy(data, rng)).encode()).hexdigest()


def cached(data, rng, known={}):  # noqa: B006 (the mistake)
    return known.setdefault(tuple(data), noisy(data, rng))


BLIND = {
    "nothing": lambda data, rng: None,
    "NaN": lambda data, rng: float("nan"),
    "an empty list": lambda data, rng: [],
    "hashes": hashed,
    "hashes as bytes": lambda data, rng: bytes.fromhex(hashed(data, rng)),
    "hashes in a dict": lambda data, rng: {"id": hashed(data, rng)},
    "cached": cached,
}


@pytest.mark.parametrize("name", BLIND)
def test_outputs_without_anything_to_compare_are_not_audited(name: str) -> None:
    """The verdict stays inconclusive, the result says why, and to rely on it raises an error of its own."""
    result = check(BLIND[name], ONE, neighbours=PAIR, max_samples=2000, record_draws=False)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert result.not_audited
    assert result.to_dict()["not_audited"] == result.not_audited
    assert str(result).startswith("NOT AUDITED")
    with raises(NotAuditedError, code="E-NOT-AUDITED"):
        result.raise_if_refuted()


SEEING = {
    "noise": noisy,
    "a constant": lambda data, rng: 0,
    "two labels": lambda data, rng: "yes" if rng.random() < 0.5 else "no",
    "mostly nothing": lambda data, rng: None if rng.random() < 0.9 else noisy(data, rng),
    "raises often": lambda data, rng: noisy(data, rng) if rng.random() < 0.4 else 1 / 0,
    "a random name and a number": lambda data, rng: (hashed(data, rng), noisy(data, rng)),
    "a random name and a label": lambda data, rng: (hashed(data, rng), "ab"[int(rng.integers(2))]),
    "many labels": lambda data, rng: "".join(chr(97 + k) for k in rng.integers(26, size=2)),
    "lists of nothing": lambda data, rng: [None] * int(rng.integers(5)),
    "text": lambda data, rng: f"{noisy(data, rng):.2f} kg",
    "an array with NaN": lambda data, rng: np.array([np.nan, noisy(data, rng)]),
}


@pytest.mark.parametrize("name", SEEING)
def test_what_could_have_failed_is_audited(name: str) -> None:
    """Private mechanisms whose outputs can be compared are inconclusive, and no more is said."""
    result = check(SEEING[name], PureDP(epsilon=2), neighbours=PAIR, max_samples=2000, record_draws=False)
    assert (result.verdict, result.not_audited) == (VerdictKind.INCONCLUSIVE, "")
    assert result.raise_if_refuted() is result


def test_too_few_runs_are_said_before_the_first() -> None:
    """The exact sum at epsilon 8 with 5,000 runs: nothing is called, and the number of runs that would do is
    enough to refute it."""
    calls = []

    def exact_sum(data, rng):
        calls.append(data)
        return sum(data)

    claim = PureDP(epsilon=8)
    result = check(exact_sum, claim, neighbours=PAIR, max_samples=5000)
    assert (result.samples, calls) == (0, [])
    needed = runs_needed(family_of(claim).tested, candidates=1, alpha=0.05)
    assert needed is not None
    with raises(NotAuditedError, code="E-NOT-AUDITED"):
        result.raise_if_refuted()
    with raises(RefutedError, code="E-REFUTED"):
        check(exact_sum, claim, neighbours=PAIR, max_samples=needed, record_draws=False).raise_if_refuted()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "claim", [ONE, PureDP(epsilon=5), ApproxDP(epsilon=1, delta="0.5"), GaussianDP(mu=1)]
)
@pytest.mark.parametrize("pairs", [1, 4])
def test_the_runs_needed_are_enough(claim, pairs: int) -> None:
    """Where the last of several pairs alone shows the data, so many runs refute the claim."""
    needed = runs_needed(family_of(claim).tested, candidates=pairs, alpha=0.05)
    inputs = [([k, 0], [k, 1]) for k in range(pairs)]
    result = check(
        lambda data, rng: data[1] if data[0] == pairs - 1 else 0,
        claim,
        neighbours=inputs,
        max_samples=max(100, needed or 0),
        record_draws=False,
    )
    assert result.verdict is VerdictKind.REFUTED


def test_a_row_with_such_a_check_crashes() -> None:
    """`inconclusive` may be what a row expects: evidence of a check that compared nothing must not pass."""
    blind = check(BLIND["nothing"], ONE, neighbours=PAIR, max_samples=2000, record_draws=False)
    seeing = check(noisy, ONE, neighbours=PAIR, max_samples=2000, record_draws=False)
    with raises(NotAuditedError, code="E-NOT-AUDITED"):
        finding_of(ONE, Outcome([blind.evidence]), alpha=0.05)
    assert finding_of(ONE, Outcome([seeing.evidence]), alpha=0.05)["verdict"] == "inconclusive"


def test_a_claim_at_epsilon_0() -> None:
    """An output that ignores the data stands at epsilon 0; one that shows them is refuted."""
    zero = PureDP(epsilon=0)
    blind = check(lambda data, rng: rng.random(), zero, neighbours=PAIR, max_samples=1000, record_draws=False)
    assert (blind.verdict, blind.not_audited) == (VerdictKind.INCONCLUSIVE, "")
    assert check(noisy, zero, neighbours=PAIR, max_samples=20_000).verdict is VerdictKind.REFUTED
