"""Mechanisms that hang, raise, change what they return or what they are given, remember, or add no noise:
the result names each, and what the runs gave before is kept.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpaudit.blackbox.check import CheckResult, check
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.verdicts import VerdictKind
from tests.errors import raises

ONE = PureDP(epsilon=1)
UNITS = [(0, 1)]


def in_one_line(result: CheckResult) -> str:
    """The result as printed, without its line breaks."""
    return " ".join(str(result).split())


def changes_after(calls: int, then: Callable[[float], Any]) -> Callable[..., Any]:
    """A correct mechanism whose outputs take another form after so many calls."""
    count = itertools.count()

    def run(x, rng):
        noisy = x + rng.laplace()
        return noisy if next(count) < calls else then(noisy)

    return run


def remembers_answers() -> Callable[..., float]:
    """A cache of noisy answers."""
    answers: dict[int, float] = {}

    def run(x, rng):
        return answers.setdefault(x, x + rng.laplace())

    return run


def counts_calls() -> Callable[..., float]:
    """A counter between calls shows in the output."""
    count = itertools.count()
    return lambda x, rng: 0.05 * next(count) + x + rng.laplace()


def own_generator() -> Callable[..., float]:
    """Randomness from elsewhere than the given generator."""
    own = np.random.default_rng(5)
    return lambda x, rng: x + own.laplace()


def sometimes_raising(share: float) -> Callable[..., float]:
    """A correct mechanism that raises in this share of the calls."""

    def run(x, rng):
        if rng.random() < share:
            raise ValueError("no luck")
        return x + rng.laplace()

    return run


ODD = {
    "raises sometimes": (
        lambda: sometimes_raising(0.1),
        "of the runs on the first inputs raised (such as ValueError",
    ),
    "NaN sometimes": (
        lambda: lambda x, rng: np.nan if rng.random() < 0.1 else x + rng.laplace(),
        "several kinds: the output is a number (",
    ),
    "always NaN": (lambda: lambda x, rng: np.nan, "no output held a number or text"),
    "another type halfway": (lambda: changes_after(200, str), "outputs had several kinds"),
    "another shape halfway": (lambda: changes_after(200, lambda v: [v, v]), "outputs had several kinds"),
    "another shape halfway, as memory": (
        lambda: changes_after(200, lambda v: [v, v]),
        "changed with the number of calls",
    ),
    "a generator of its own": (own_generator, "not reproducible"),
    "a seed of its own": (
        lambda: lambda x, rng: x + np.random.default_rng(7).laplace(),
        "gave the same output: the output is",
    ),
    "remembers answers": (remembers_answers, "it keeps its answers"),
    "counts calls": (counts_calls, "changed with the number of calls"),
    "no noise": (lambda: lambda x, rng: 3 * x, "Without noise, no finite epsilon holds"),
    "does not look": (lambda: lambda x, rng: 3, "Does the mechanism use its data?"),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", ODD)
def test_odd_mechanisms_are_named(name: str) -> None:
    """The result says what is odd; only a function of the data without noise is refuted."""
    make, says = ODD[name]
    result = check(make(), ONE, neighbours=UNITS, max_samples=500, seed=1, record_draws=False)
    assert says in in_one_line(result)
    noiseless = name in ("a seed of its own", "no noise")
    assert result.verdict is (VerdictKind.REFUTED if noiseless else VerdictKind.INCONCLUSIVE)


def test_a_hang_keeps_what_is_known() -> None:
    """A call that hangs after some blocks ends the runs; those before count, and the result names it."""
    count = itertools.count()

    def hangs_later(x, rng):
        if next(count) == 150:
            time.sleep(5)
        return x + rng.laplace()

    result = check(hangs_later, ONE, neighbours=UNITS, timeout=0.3, record_draws=False)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert 0 < result.evidence.samples < 150
    assert "its block was discarded: a call did not return within timeout=0.3 seconds" in in_one_line(result)


def test_a_mechanism_that_is_raises_always_is_an_error() -> None:
    """Raising on every call is an error that says what was raised."""
    with raises(MechanismError, code="E-MECHANISM-RAISES", match="ValueError: no luck"):
        check(sometimes_raising(1.0), ONE, neighbours=UNITS)


def adds_one(x, rng, noise):
    """Writes into an array."""
    x += 1
    return x.sum() + rng.laplace(0, noise)


def sorts(x, rng, noise):
    """Sorts a list in place."""
    x.sort()
    return sum(x) + rng.laplace(0, noise)


def adds_a_column(x, rng, noise):
    """Leaves a column in a data frame."""
    x["noisy"] = x["a"] + rng.laplace(0, noise, len(x))
    return x["noisy"].sum()


def on_the_second_input(x, rng, noise):
    """Writes into one of the two inputs only."""
    if x[0]:
        x[0] += 1
    return min(x[0], 2) / 2 + rng.laplace(0, noise)


WRITERS = {
    "array": (adds_one, (np.zeros(3), np.array([1.0, 0.0, 0.0]))),
    "list": (sorts, ([3, 1], [2, 1])),
    "data frame": (adds_a_column, (pd.DataFrame({"a": [0.0]}), pd.DataFrame({"a": [1.0]}))),
    "second input": (on_the_second_input, ([0, 0], [1, 0])),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_mechanism_that_changes_its_input_runs_on_copies(name: str) -> None:
    """Each call sees the data as they were: enough noise is not refuted, half of it is, the result names
    the change, and the caller's data stay.
    """
    write, pair = WRITERS[name]
    before = repr(pair)
    right, wrong = (
        check(
            lambda x, rng, noise=noise: write(x, rng, noise),
            ONE,
            neighbours=[pair],
            max_samples=runs,
            record_draws=False,
        )
        for noise, runs in ((1.0, 300), (0.4, 2000))
    )
    assert right.verdict is VerdictKind.INCONCLUSIVE
    assert wrong.verdict is VerdictKind.REFUTED
    for result in (right, wrong):
        assert in_one_line(result).count("the mechanism changes its input, so each call got a new copy") == 1
    assert repr(pair) == before


def test_a_change_is_seen_in_what_pickle_cannot_save() -> None:
    """Data that hold a function are compared by what can be read of them."""

    def pops(x, rng):
        return x.pop() + rng.laplace()

    held = lambda: 0  # noqa: E731
    data = [[held, 1.0, 0.0], [held, 1.0, 1.0]]
    result = check(pops, ONE, neighbours=[tuple(data)], max_samples=300, record_draws=False)
    assert "each call got a new copy" in in_one_line(result)
    assert result.verdict is VerdictKind.INCONCLUSIVE


@pytest.mark.parametrize(
    ("mechanism", "batch", "code", "says"),
    [
        (lambda data: data, False, "E-MECHANISM-SIGNATURE", r"got .*\(data\)"),
        (lambda data, rng: data, True, "E-MECHANISM-SIGNATURE", r"\(data, rng, size\)"),
        (lambda coins, data: data, False, "E-MECHANISM-TAKES-COINS", "coins"),
        (3.5, False, "E-MECHANISM-NOT-CALLABLE", "float|3.5"),
    ],
    ids=["no rng", "no size", "coins", "no function"],
)
def test_what_cannot_be_called_is_told_before_a_run(
    mechanism: Any, batch: bool, code: str, says: str
) -> None:
    """A mechanism with a wrong signature is an error. A function with a hidden signature is run."""
    with raises(InvalidParameterError, code=code, match=says):
        check(mechanism, ONE, neighbours=UNITS, batch=batch)
    hidden = check(lambda *arguments: arguments[1].laplace(), ONE, neighbours=UNITS, max_samples=200)
    assert hidden.verdict is VerdictKind.INCONCLUSIVE
