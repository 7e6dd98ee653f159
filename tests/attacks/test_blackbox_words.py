"""What the black-box check says in its notes and events is true of the runs, also where it did not look."""

from __future__ import annotations

from dpaudit.attacks.blackbox import check
from dpaudit.attacks.blackbox_outcomes import OutcomeEncoder
from dpaudit.claims import PureDP
from dpaudit.statistics import Failure
from dpaudit.verdicts import VerdictKind

ONE = PureDP(epsilon=1)
UNITS = [(0, 1)]


def raises_its_data(x, rng):
    """Adds enough noise, and shows its data in the message of an exception, one time in five."""
    noise = rng.laplace()
    if rng.random() < 0.2:
        raise ValueError(f"bad {x}")
    return x + noise


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
