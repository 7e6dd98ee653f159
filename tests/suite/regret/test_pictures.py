"""Pictures of regret show means, with bands of one standard error."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.core.plots import read_plot
from dpaudit.suite.regret import RegretRuns, at_horizon, over_time, plus_minus

ROUNDS = np.array([1, 10, 100])
TWO = RegretRuns("two", ROUNDS, np.array([[1.0, 2.0, 10.0], [1.0, 4.0, 30.0]]))
ONE = RegretRuns("one", ROUNDS, np.array([[0.0, 5.0, 50.0]]))


def test_curves_over_time_have_bands() -> None:
    """Two runs: mean and standard error by hand; one run: no band."""
    plot = over_time({"two": TWO, "one": ONE}, title="t")
    read_plot(plot)
    two, one = plot["series"]
    assert two["y"] == [1.0, 3.0, 20.0]
    assert two["high"] == pytest.approx([1.0, 4.0, 30.0])
    assert two["low"] == pytest.approx([1.0, 2.0, 10.0])
    assert one["low"] == one["high"] == one["y"]


def test_per_round_divides_by_the_round() -> None:
    """From the first round asked for, every value over its round."""
    (line,) = over_time({"two": TWO}, title="t", per_round=True, first_round=10)["series"]
    assert line["x"] == [10, 100]
    assert line["y"] == pytest.approx([0.3, 0.2])


def test_at_the_horizon_a_point_is_a_result() -> None:
    """Final regret against the parameter, each result over its own horizon."""
    (line,) = at_horizon({"two": [TWO, TWO]}, title="t", x=[0.5, 1.0], x_title="ε")["series"]
    assert (line["x"], line["y"]) == ([0.5, 1.0], [20.0, 20.0])
    (line,) = at_horizon({"two": [TWO]}, title="t", x=[1.0], x_title="ε", per_round=True)["series"]
    assert line["y"] == pytest.approx([0.2])


def test_numbers_with_errors() -> None:
    """Rounded to whole rewards."""
    assert plus_minus(TWO.final) == "20 ± 10"
    assert plus_minus(ONE.final) == "50 ± 0"
