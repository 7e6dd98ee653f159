"""The black-box check looks into text and objects, and what it says about an event is true of it."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.blackbox.check import check
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.statistics import Failure
from dpaudit.blackbox.text import column_names, numbers_in
from dpaudit.core.claims import PureDP
from dpaudit.core.verdicts import VerdictKind

ONE = PureDP(epsilon=1)
UNITS = [(0, 1)]


@dataclasses.dataclass
class Answer:
    """An output as a data class."""

    total: float
    label: str = "sum"


class Plain:
    """An output that is an ordinary object."""

    def __init__(self, total: float) -> None:
        self.total = total


class Table:
    """An output that turns into an array, as data frames do."""

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def __array__(self, dtype=None, copy=None):
        return np.array(self.rows, dtype=dtype)


FORMS = {
    "str": str,
    "sentence": lambda v: f"The count is {v:.3f} people.",
    "json": lambda v: json.dumps({"query": {"sum": v, "rows": [1, 2]}, "ok": True}),
    "list of text": lambda v: ["sum", f"{v:+.2e}"],
    "mapping of text": lambda v: {"sum": f"{v} $"},
    "printed array": lambda v: str(np.array([v, 1.0])),
    "bytes": lambda v: f"{v}".encode(),
    "object": Plain,
    "namespace": lambda v: SimpleNamespace(inner=SimpleNamespace(total=v)),
    "data class": Answer,
    "complex": lambda v: complex(0, v),
    "extended precision": np.longdouble,
    "complex of extended precision": lambda v: np.clongdouble(v),
    "deque": lambda v: collections.deque([1, v]),
    "masked array": lambda v: np.ma.array([1.0, v, 2.0], mask=[True, False, False]),
    "record": lambda v: np.array([(1, v)], dtype=[("a", int), ("b", float)]),
    "table": lambda v: Table([[1.0, v]]),
    "structured text in a tuple": lambda v: ("a", (f"x={v:.4f}",)),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_found_in_whatever_holds_them(form: str) -> None:
    """A quarter of the noise is refuted and the right noise is not, with the number in text or objects."""
    for scale, verdict in ((0.25, VerdictKind.REFUTED), (1.0, VerdictKind.INCONCLUSIVE)):
        result = check(
            lambda x, rng, scale=scale: FORMS[form](x + rng.laplace(0, scale)),
            ONE,
            neighbours=UNITS,
            max_samples=3000,
        )
        assert result.verdict is verdict
        assert result.samples < 3000 or "this run would have detected" in str(result)


@pytest.mark.parametrize(
    ("text", "numbers", "pattern"),
    [
        ("12.5", [12.5], "#"),
        ("a -3e-2, b=.5", [-0.03, 0.5], "a #, b=#"),
        ("2024-01-15", [2024, 1, 15], "#-#-#"),
        ("no number, x2, v1.2", [], "no number, x2, v1.2"),
        ('{"n": [1, -2.50]}', [1, -2.5], '{"n": [#, #]}'),
        ("[ 1.  -2. ]", [1, -2], "[ # # ]"),
        ("0110100101101001", [0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1], " ".join("#" * 16)),
    ],
)
def test_text_is_numbers_and_a_pattern(text: str, numbers: list[float], pattern: str) -> None:
    """Numbers that stand alone are read, digits inside words are not, and the rest is the pattern."""
    assert numbers_in(text) == (numbers, pattern)


def test_bits_written_as_text_are_seen_one_by_one() -> None:
    """Randomised response on 20 bits, written as one word, with too little noise on the last one."""

    def word(x, rng):
        bits = (rng.random(20) < 0.5).astype(int)
        bits[-1] = x if rng.random() < 0.9 else 1 - x
        return "".join(map(str, bits))

    assert check(word, ONE, neighbours=UNITS, max_samples=4000).verdict is VerdictKind.REFUTED


def test_equal_numbers_written_otherwise_are_other_outputs() -> None:
    """The way a number is written is seen: 1 and 1.0, and the words around it."""
    keys = OutcomeEncoder().encode(["1", "1.0", "1 ", "1", 1, "a 1"]).keys.tolist()
    assert keys[0] == keys[3]
    assert len(set(keys)) == 5


def test_a_way_of_writing_that_depends_on_the_data_is_refuted() -> None:
    """One input is printed with a decimal point, the other without."""
    result = check(lambda x, rng: "7.0" if x else "7", ONE, neighbours=UNITS)
    assert result.verdict is VerdictKind.REFUTED


@pytest.mark.parametrize(
    "output",
    [
        5,
        [5, 7],
        (5, "a", None),
        np.zeros((2, 3)),
        {"b": 1, "a": {"c": [1, 2]}},
        Answer(3.0),
        "sum 3 of 4",
        ["x 1", 2.0],
        complex(1, 2),
        Table([[1.0], [2.0]]),
        SimpleNamespace(a=1, b=[2]),
        np.array(["1 2", "b"]),
        np.longdouble(1),
        collections.deque([1, "a"]),
        np.ma.array([1.0, 2.0], mask=[True, False]),
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    ],
)
def test_every_column_has_a_name(output) -> None:
    """There are as many names as numbers and labels in a row."""
    encoder = OutcomeEncoder()
    encoder.encode([output])
    assert len(column_names(output)) == encoder.width


def test_objects_without_anything_to_see_are_refused_by_name() -> None:
    """An object that holds nothing readable, or a function, is no output."""
    for output, name in ((object(), "object"), (len, "builtin"), ([lambda: 1], "function")):
        result = None
        with pytest.raises(Exception, match=name):
            result = check(lambda x, rng, output=output: output, ONE, neighbours=UNITS)
        assert result is None


def event_of(mechanism) -> str:
    """The telling event of a mechanism that is refuted."""
    result = check(mechanism, ONE, neighbours=UNITS)
    assert result.verdict is VerdictKind.REFUTED
    return result.event


def test_events_are_said_in_the_users_terms() -> None:
    """The output's own keys, fields, places and labels appear in the event, and nothing internal."""
    assert "output['sum']" in event_of(lambda x, rng: {"sum": x + rng.laplace(0, 0.2), "name": "a"})
    assert "output.total" in event_of(lambda x, rng: Answer(x + rng.laplace(0, 0.2)))
    assert "output[1]" in event_of(lambda x, rng: ["a", x + rng.laplace(0, 0.2)])
    assert "the number in the output" in event_of(lambda x, rng: f"{x + rng.laplace(0, 0.2)} people")
    label = event_of(lambda x, rng: ("yes" if x else "no", rng.random()))
    assert "output[0] is 'yes'" in label or "output[0] is 'no'" in label
    for mechanism in (
        lambda x, rng: ("yes" if rng.random() < 0.8 * x else "no", rng.random(), x + rng.laplace(0, 0.3)),
        lambda x, rng: rng.normal(x, 1, 6),
        lambda x, rng: [rng.random()] * (2 + x),
    ):
        assert "e+2" not in event_of(mechanism)


def test_a_list_that_starts_with_5_is_not_5() -> None:
    """Whole outputs are shown as they were, also those of another shape than the usual."""
    event = event_of(lambda x, rng: [5, 7 + x])
    assert "the output is [5, 7]" in event or "the output is [5, 8]" in event
    encoder = OutcomeEncoder()
    outcomes = encoder.encode(
        [5, 5, 5, [5, 6], (5,), {"a": 5}, "5", "5 of 6", "yes", Failure("KeyError", "x")]
    )
    said = [
        encoder.describe(row, int(symbol))
        for row, symbol in zip(outcomes.values, outcomes.symbols, strict=True)
    ]
    assert said[0] == "the output is 5"
    assert said[3] == "the output is [5, 6]"
    assert said[4] == "the output is (5)"
    assert said[5] == "the output is a mapping of ['a'] holding 5"
    assert said[6] == "the output is '5'"
    assert said[7] == "the output is '5 of 6'"
    assert said[8] == "the output is 'yes'"
    assert said[9] == "the call raised KeyError"
    cut = encoder.encode([[5, 6, 7]])
    assert encoder.describe(cut.values[0], int(cut.symbols[0])) == "the output is [5, 6, ...]"


def test_names_hold_for_every_output_or_are_general() -> None:
    """Where outputs have several shapes, a column is named so that the name is true of all of them."""
    encoder = OutcomeEncoder()
    encoder.encode([{"a": 1, "b": 2}, {"a": 1, "b": 3}])
    assert encoder.column_name(1) == "output['b']"
    encoder.encode([[1, 2, 3]])
    assert encoder.column_name(1) == "number 2 of the output"
    lists = OutcomeEncoder()
    lists.encode([[1, 2], [1, 2], [3], None, Failure("ValueError", "")])
    assert lists.column_name(0) == "output[0]"


def test_a_mechanism_that_mostly_raises_was_hardly_seen() -> None:
    """The share that raised and the reason are told, and no violation is said to be visible."""

    def fails(x, rng):
        if rng.random() < 0.9:
            raise ValueError("no data today")
        return x + rng.laplace()

    result = check(fails, ONE, neighbours=UNITS, max_samples=2000)
    text = str(result)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert "this run would have detected" not in text
    assert "% of the runs on the first inputs raised (such as ValueError: no data today)" in text
    assert "most runs raised" in text
    rarely = str(check(lambda x, rng: 1 / int(rng.random() > 0.01), ONE, neighbours=UNITS, max_samples=2000))
    assert "raised (such as ZeroDivisionError" in rarely
    assert "this run would have detected" in rarely


@pytest.mark.parametrize(
    "hide",
    [
        lambda v: hashlib.sha256(repr(v).encode()).hexdigest(),
        lambda v: hashlib.sha256(repr(v).encode()).digest(),
        lambda v: {hashlib.sha256(repr(v).encode()).hexdigest(): 1},
        lambda v: [1, "id-" + hashlib.sha256(repr(v).encode()).hexdigest()],
    ],
    ids=["text", "bytes", "key", "in a list"],
)
def test_what_cannot_be_looked_into_is_named(hide) -> None:
    """Outputs that never come again are no evidence of anything, and the result says so."""
    result = check(lambda x, rng: hide(x + rng.laplace(0, 0.1)), ONE, neighbours=UNITS, max_samples=2000)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert "this run would have detected" not in str(result)
    assert "occurred only once" in str(result)
