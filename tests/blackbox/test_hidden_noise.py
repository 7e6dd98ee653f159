"""A wrong and a right Laplace mechanism behind each kind of output: the check looks into all of them."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import json
import uuid
from dataclasses import make_dataclass

import numpy as np
import pandas as pd
import pytest

from dpaudit.blackbox.check import check
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.text import column_names
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import MechanismError
from dpaudit.core.verdicts import VerdictKind
from tests.errors import raises

ONE = PureDP(epsilon=1)
UNITS = [(0, 1)]
START = datetime.datetime(2020, 1, 1, 12)
Level = enum.Enum("Level", {f"level {k}": k for k in range(-40, 41)})
Rank = enum.IntEnum("Rank", {f"rank {k}": k for k in range(-40, 41)})


class Estimator:
    """A model in the manner of scikit-learn: a parameter, a fitted attribute, and a generator."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.random_state = np.random.default_rng(0)

    def get_params(self, deep: bool = True) -> dict[str, float]:
        """Its parameters by name."""
        return {"alpha": self.alpha}

    def fit(self, value: float) -> Estimator:
        """Keep the value."""
        self.coef_ = np.array([value, 1.0])
        return self


class Lazy(Estimator):
    """A model whose fitted attribute is a property of what cannot be looked into."""

    def fit(self, value: float) -> Lazy:
        """Keep the value where no attribute shows it."""
        self._value = lambda: value
        return self

    @property
    def coef_(self) -> float:
        """The value."""
        return self._value()


class Slotted:
    """An object without a dictionary of attributes."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value


def clipped(value: float) -> int:
    """Twentieths within 2 of zero: still a function of the noisy value."""
    return int(np.clip(round(20 * value), -40, 40))


def moment(value: float) -> pd.Timestamp:
    """An hour for each unit."""
    return pd.Timestamp(START) + pd.Timedelta(value, "h")


FORMS = {
    "data frame": lambda v: pd.DataFrame({"a": [1, 2], "b": [v, 0.0]}),
    "data frame of several types": lambda v: pd.DataFrame({"a": ["x", "y"], "b": [v, 0.0]}, index=["p", "q"]),
    "labels of rows": lambda v: pd.DataFrame({"a": [1, 2]}, index=[v, 0.0]),
    "labels of columns": lambda v: pd.DataFrame([[1, 2]], columns=[v, 0.0]),
    "attributes of a frame": lambda v: (frame := pd.DataFrame({"a": [1]}), frame.attrs.update(e=v))[0],
    "frame of times": lambda v: pd.DataFrame({"t": [moment(v)]}),
    "many times": lambda v: pd.Series([moment(v)] * 20),
    "series": lambda v: pd.Series({"count": 1.0, "sum": v}),
    "name of a series": lambda v: pd.Series([1.0], name=v),
    "index of a series": lambda v: pd.Series([1.0], index=[v]),
    "index with levels": lambda v: pd.MultiIndex.from_tuples([("a", v)]),
    "categories that are not used": lambda v: pd.Series(
        pd.Categorical(["0", None], categories=["0", f"{v} cm"])
    ),
    "missing values": lambda v: pd.Series([v, None], dtype="Float64"),
    "interval": lambda v: pd.Interval(v, v + 1),
    "datetime": lambda v: START + datetime.timedelta(hours=v),
    "datetime in a zone": lambda v: START.replace(tzinfo=datetime.UTC) + datetime.timedelta(hours=v),
    "date": lambda v: START.date() + datetime.timedelta(days=round(20 * v)),
    "time": lambda v: (START + datetime.timedelta(hours=float(np.clip(v, -11, 11)))).time(),
    "timedelta": lambda v: datetime.timedelta(hours=v),
    "datetime64": lambda v: np.datetime64(START, "ns") + np.timedelta64(round(v * 3.6e12), "ns"),
    "timedelta64": lambda v: np.timedelta64(round(v * 3600), "s"),
    "array of times": lambda v: np.array([START, "NaT"], "M8[s]") + np.timedelta64(round(v * 3600), "s"),
    "timestamp": moment,
    "decimal": lambda v: decimal.Decimal(repr(v)),
    "fraction": lambda v: fractions.Fraction(v),
    "enumeration": lambda v: Level(clipped(v)),
    "whole enumeration": lambda v: Rank(clipped(v)),
    "estimator": lambda v: Estimator(1.0).fit(v),
    "parameter of an estimator": Estimator,
    "property of an estimator": lambda v: Lazy(1.0).fit(v),
    "estimators in a list": lambda v: [Estimator(1.0).fit(v), Estimator(0.0)],
    "slots": Slotted,
    "uuid": lambda v: uuid.UUID(int=1000 + clipped(v)),
    "values of a dict": lambda v: {"a": v}.values(),
    "named tuple": collections.namedtuple("Answer", "value"),
    "JSON": lambda v: json.dumps({"rows": [{"sum": v}]}),
    "frame in a dict": lambda v: {"result": pd.DataFrame({"b": [v]})},
}


def hidden(form, *, scale: float):
    """Laplace noise of this scale on the data, in the given form."""
    return lambda x, rng: form(float(x + rng.laplace(0, scale)))


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", FORMS)
def test_half_the_noise_is_refuted_in_every_kind_of_output(name: str) -> None:
    """Half the noise falls within 2,000 runs wherever the number is; enough noise does not."""
    wrong, right = (
        check(
            hidden(FORMS[name], scale=scale),
            ONE,
            neighbours=UNITS,
            max_samples=runs,
            alpha=1e-3,
            record_draws=False,
            seed=3,
        )
        for scale, runs in ((0.5, 2000), (1.0, 150))
    )
    assert wrong.verdict is VerdictKind.REFUTED
    assert right.verdict is VerdictKind.INCONCLUSIVE
    assert not any("occurred only once" in note for note in right.notes)


@pytest.mark.parametrize("name", FORMS)
def test_every_part_has_a_name(name: str) -> None:
    """There are as many names as numbers and labels."""
    output, encoder = FORMS[name](0.25), OutcomeEncoder()
    encoder.encode([output])
    assert len(column_names(output)) == encoder.width


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("data frame", "output.iloc[0, 1]"),
        ("labels of rows", "output.index[0]"),
        ("series", "output.iloc[1]"),
        ("datetime", "output in seconds since 1970"),
        ("timestamp", "output.hour"),
        ("timedelta", "output in seconds"),
        ("enumeration", "output.value"),
        ("estimator", "output.coef_[0]"),
        ("frame in a dict", "output['result'].iloc[0, 0]"),
        ("slots", "output.value"),
    ],
)
def test_parts_are_named_as_their_user_reaches_them(name: str, says: str) -> None:
    """An event on a table, a time or an estimator can be looked up."""
    assert says in column_names(FORMS[name](0.25))


def test_an_hour_is_seen_behind_a_noisy_day() -> None:
    """A time whose day is noise and whose hour is the record shows the record."""

    def shows_the_hour(x, rng):
        return START + datetime.timedelta(days=int(rng.integers(-200, 200)), hours=x)

    result = check(shows_the_hour, ONE, neighbours=UNITS, max_samples=1000, record_draws=False)
    assert result.verdict is VerdictKind.REFUTED
    assert "hour" in result.event or "ratio" in result.event or "sum" in result.event


def test_data_classes_without_fields_are_told_apart() -> None:
    """An answer that is one of two empty data classes shows what a bit would."""
    above, below = make_dataclass("Above", []), make_dataclass("Below", [])
    result = check(lambda x, rng: above() if rng.random() < 0.1 + 0.8 * x else below(), ONE, neighbours=UNITS)
    assert result.verdict is VerdictKind.REFUTED


def test_what_cannot_be_looked_into_is_said() -> None:
    """A function or a generator inside an output is passed over, and the result names it; a mechanism that
    returns nothing else is an error.
    """
    result = check(
        lambda x, rng: Estimator(1.0).fit(x + rng.laplace()), ONE, neighbours=UNITS, max_samples=200
    )
    assert any("cannot be read (Generator)" in note for note in result.notes)
    with raises(MechanismError, code="E-OUTPUT-UNREADABLE", match="got function"):
        check(lambda x, rng: [lambda: x], ONE, neighbours=UNITS, max_samples=200)


def test_closed_outputs_now_and_then_are_an_outcome() -> None:
    """An object without anything to see is told from a number, and the run goes on."""
    result = check(lambda x, rng: object() if rng.random() < 0.4 * x else 1.0, ONE, neighbours=UNITS)
    assert result.verdict is VerdictKind.REFUTED
