"""What the black-box check says in its notes and events is true of the runs, also where it did not look."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpaudit.blackbox.check import check
from dpaudit.blackbox.features import OutputScore
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.statistics import Failure
from dpaudit.blackbox.words import at_least, at_most, percent
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import MechanismError
from dpaudit.core.verdicts import VerdictKind
from tests.errors import raises

ONE = PureDP(epsilon=1)
UNITS = [(0, 1)]


def raises_its_data(x, rng):
    """Adds enough noise, and shows its data in the message of an exception, one time in five."""
    noise = rng.laplace()
    if rng.random() < 0.2:
        raise ValueError(f"bad {x}")
    return x + noise


@pytest.mark.parametrize(
    ("said", "number", "exactly"),
    [
        (at_least(1.01999), 1.01999, "1.019"),
        (at_least(0.3, 1), 0.3, "0.3"),
        (at_least(2.2e-7), 2.2e-7, "2.2e-07"),
        (at_least(math.inf), math.inf, "inf"),
        (at_least(12345.6), 12345.6, "1.234e+04"),
        (at_most(0.05 / 26, 2), 0.05 / 26, "0.002"),
        (at_most(0.05, 2), 0.05, "0.05"),
        (percent(0.95), 95, "95%"),
        (percent(1 - 0.05 / 26), 100 - 5 / 26, "99.8%"),
        (percent(1 - 1e-12), 100, "99.9999999999%"),
    ],
)
def test_bounds_are_rounded_to_their_own_side(said: str, number: float, exactly: str) -> None:
    """What is said of a bound holds: no lower bound and no confidence is said to be more than it is."""
    assert said == exactly
    assert math.isinf(number) or abs(float(said.removesuffix("%")) / number - 1) < 0.05


def test_a_message_that_tells_the_data_is_refuted() -> None:
    """The same exception as often on both inputs, with another message, is another output; the event names
    the message, and each note one of its own side.
    """
    result = check(raises_its_data, ONE, neighbours=UNITS)
    assert result.verdict is VerdictKind.REFUTED
    first, second = (note for note in result.notes if "inputs raised" in note)
    assert "first inputs raised (such as ValueError: bad 0)" in first
    assert "second inputs raised (such as ValueError: bad 1)" in second


def test_an_event_names_the_message_it_is_about() -> None:
    """Two messages of one type are two outputs, each said with its message."""
    encoder = OutcomeEncoder()
    outcomes = encoder.encode([Failure("ValueError", "bad 0"), Failure("ValueError", "bad 1"), 1.0])
    said = [
        encoder.describe(row, int(symbol), int(key))
        for row, symbol, key in zip(outcomes.values, outcomes.symbols, outcomes.keys, strict=True)
    ]
    assert said == [
        "the call raised ValueError: bad 0",
        "the call raised ValueError: bad 1",
        "the output is 1",
    ]


def test_equal_messages_are_no_evidence() -> None:
    """A message that does not depend on the data refutes nothing."""

    def fails(x, rng):
        if rng.random() < 0.2:
            raise ValueError(f"bad {rng.integers(3)}")
        return x + rng.laplace()

    assert check(fails, ONE, neighbours=UNITS, max_samples=4000).verdict is VerdictKind.INCONCLUSIVE


def test_what_the_run_would_have_seen_is_said_of_values_as_read() -> None:
    """True against 1 is not seen, so the sentence about power is limited to what is read."""
    result = check(lambda x, rng: bool(x) if x else 0.0, ONE, neighbours=[(0, 1)], max_samples=400)
    assert result.verdict is VerdictKind.REFUTED  # 0 and 1 are two values
    text = str(check(lambda x, rng: True if x else 1.0, ONE, neighbours=UNITS, max_samples=400))
    assert "this run would have detected" in text
    assert "docs/check.md lists the differences that are not examined" in text


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "outputs",
    [
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
    ids=["sign of zero", "int and float", "int and bool", "order of keys"],
)
def test_what_is_not_looked_at_is_not_called_the_same(outputs) -> None:
    """Outputs that differ in what docs/check.md leaves out only look the same, and no more is said."""
    result = check(lambda x, rng: outputs[x], ONE, neighbours=UNITS, max_samples=400)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert "every output on both inputs was equal" in str(result)
    assert "gave the same output" not in str(result)


def test_a_counter_is_not_called_a_draw() -> None:
    """Where the same generator gives other outputs, the mechanism may also keep something."""
    counter = itertools.count()
    result = check(lambda x, rng: next(counter), ONE, neighbours=UNITS, max_samples=200)
    assert "not reproducible: the same seed gave different outputs" in str(result)


@pytest.mark.sample(2)
@pytest.mark.parametrize("nothing", [None, float("nan"), [], [None, float("nan")], ()], ids=str)
def test_nothing_in_any_output_is_inconclusive(nothing) -> None:
    """A mechanism that always returns None, NaN or nothing else is private, and was hardly looked at."""
    result = check(lambda x, rng: nothing, ONE, neighbours=UNITS, max_samples=400)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert "every output on both inputs was equal" in str(result)


@pytest.mark.parametrize("nothing", [None, float("nan")], ids=str)
def test_a_mechanism_without_results_is_told(nothing) -> None:
    """Only None or NaN is most often a mistake, so the result asks for the mechanism's return."""
    result = check(lambda x, rng: nothing, ONE, neighbours=UNITS, max_samples=400)
    assert "no output held a number or text" in str(result)


def test_none_against_nan_is_a_violation() -> None:
    """None on one input and NaN on the other are two outputs; a fair coin between them is none."""
    pair = (None, float("nan"))
    result = check(lambda x, rng: pair[x], ONE, neighbours=UNITS, max_samples=400)
    assert result.verdict is VerdictKind.REFUTED
    assert "the output is None" in result.event or "NaN" in result.event
    coin = check(lambda x, rng: pair[rng.integers(2)], ONE, neighbours=UNITS, max_samples=400)
    assert coin.verdict is VerdictKind.INCONCLUSIVE


def test_a_ratio_is_said_plainly() -> None:
    """An event about frequent outputs says which input they speak for, with the counts of both in order."""
    result = check(
        lambda x, rng: int(rng.integers(40)) + 40 * int(rng.random() < 0.9 * x), ONE, neighbours=UNITS
    )
    assert result.verdict is VerdictKind.REFUTED
    assert "came" not in result.event
    assert " runs on the first input, " in result.event
    assert result.event.index("on the first") < result.event.index("on the second")
    encoder = OutcomeEncoder()
    score = OutputScore(encoder)
    said = [score.describe(*ends) for ends in ((None, -0.5), (0.5, None), (-0.5, 0.5), (None, 0.5))]
    unclear = "outputs by their likelihood on the first input relative to the second"
    assert said == [
        "outputs more likely on the second input (ratio below 0.607)",
        "outputs more likely on the first input (ratio 1.65 or more)",
        f"{unclear} (ratio 0.607 or more and below 1.65)",
        f"{unclear} (ratio below 1.65)",
    ]


def test_an_error_on_every_call_names_both_inputs() -> None:
    """Where every call raises, the error quotes a message of each input, not one for both."""

    def fails(x, rng):
        raise ValueError(f"bad {x}")

    with raises(
        MechanismError,
        code="E-MECHANISM-RAISES",
        match=r"first input ValueError: bad 0 .* ValueError: bad 1\.",
    ):
        check(fails, ONE, neighbours=UNITS)


@pytest.mark.slow
def test_a_correct_mechanism_that_answers_by_messages_is_seldom_refuted() -> None:
    """Randomised response at exactly the claim, answered by messages: 40 checks at error level 0.05; more
    than 12 refutations have probability below 1e-6 for a correct check.
    """

    def answers(x, rng):
        truth = rng.random() < 1 / (1 + np.exp(-1))
        raise ValueError(f"answer {x if truth else 1 - x}") if rng.random() < 0.5 else KeyError("none")

    def quiet(x, rng):
        return 0.0 if rng.random() < 0.1 else answers(x, rng)

    verdicts = [check(quiet, ONE, neighbours=UNITS, max_samples=600, seed=seed).verdict for seed in range(40)]
    assert verdicts.count(VerdictKind.REFUTED) <= 12
