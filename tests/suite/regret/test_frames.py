"""Runs as tidy frames, and the slope of log regret in log T."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.suite.regret import RegretRuns, log_slope, regret_frame, summary
from tests.errors import raises


def _power_runs(power: float, *, runs: int, seed: int = 1) -> RegretRuns:
    """Regret c T^power, with a factor c of its own in every run and a little noise a checkpoint."""
    rng = np.random.default_rng(seed)
    rounds = np.array([10, 100, 1000, 10_000])
    scale = np.exp(rng.normal(0, 0.5, (runs, 1)))
    return RegretRuns("x", rounds, scale * rounds**power * np.exp(rng.normal(0, 0.05, (runs, 4))))


def test_a_frame_has_one_line_a_run_and_checkpoint() -> None:
    """Every number of the curves is there once, beside its run, its round and the labels."""
    result = RegretRuns("lazy", np.array([1, 8]), np.array([[0.0, 2.0], [1.0, 4.0]]))
    frame = result.to_frame(epsilon="1/2")
    assert list(frame.columns) == ["algorithm", "epsilon", "run", "round", "regret"]
    assert frame.to_numpy().tolist() == [
        ["lazy", "1/2", 0, 1, 0.0],
        ["lazy", "1/2", 0, 8, 2.0],
        ["lazy", "1/2", 1, 1, 1.0],
        ["lazy", "1/2", 1, 8, 4.0],
    ]


def test_a_summary_has_one_line_a_cell() -> None:
    """Labels in front, in the order of the cells; a cell with one run has neither error nor slope."""
    cells = [({"epsilon": "1"}, _power_runs(0.5, runs=9)), ({"epsilon": "8"}, _power_runs(0.5, runs=1))]
    lines = summary(regret_frame(cells), first_round=10).to_dict("records")
    assert [line["epsilon"] for line in lines] == ["1", "8"]
    assert [(line["runs"], line["horizon"]) for line in lines] == [(9, 10_000), (1, 10_000)]
    assert lines[0]["mean"] == pytest.approx(cells[0][1].mean)
    assert lines[0]["standard_error"] == pytest.approx(cells[0][1].standard_error)
    assert lines[0]["slope"] == pytest.approx(0.5, abs=0.05)
    assert np.isnan([lines[1]["slope"], lines[1]["standard_error"]]).all()


def test_no_cells_make_no_frame() -> None:
    """An empty table would pass for a result."""
    with raises(InvalidParameterError, code="E-FRAME-EMPTY"):
        regret_frame([])


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_slope_of_a_power_is_its_exponent(power: float) -> None:
    """Within the interval of a generous level, and near it."""
    slope = log_slope(_power_runs(power, runs=40).to_frame(), alpha=1e-6)
    assert slope.low <= power <= slope.high
    assert slope.value == pytest.approx(power, abs=0.02)
    assert slope.runs == 40


def test_errors_know_that_rounds_of_a_run_belong_together() -> None:
    """Slopes that differ from run to run: the clustered error is that of a mean of independent slopes."""
    rng = np.random.default_rng(2)
    rounds = np.round(np.geomspace(10, 10**6, 200)).astype(np.int64)
    powers = rng.normal(0.5, 0.1, (60, 1))
    slope = log_slope(RegretRuns("x", rounds, rounds**powers).to_frame())
    assert slope.standard_error == pytest.approx(powers.std(ddof=1) / np.sqrt(60), rel=0.1)


def test_early_rounds_and_rounds_without_regret_are_left_out() -> None:
    """A jump before the first round asked for does not count, and 0 has no logarithm."""
    rounds = np.array([1, 10, 100, 1000])
    curves = np.array([[0.0, 90.0, 100.0, 1000.0], [7.0, 0.0, 50.0, 500.0], [7.0, 0.0, 80.0, 800.0]])
    slope = log_slope(RegretRuns("x", rounds, curves).to_frame(), first_round=100)
    assert slope.value == pytest.approx(1.0)


def test_a_slope_needs_two_runs_and_two_rounds() -> None:
    """One run has no spread between runs, one round no slope."""
    with raises(InvalidParameterError, code="E-SLOPE-RUNS"):
        log_slope(_power_runs(0.5, runs=1).to_frame())
    with raises(InvalidParameterError, code="E-SLOPE-RUNS"):
        log_slope(_power_runs(0.5, runs=5).to_frame(), first_round=10_000)


@pytest.mark.parametrize(
    "module",
    ["dpaudit", "dpaudit.kernel.check", "dpaudit.suite.regret", "dpaudit.blackbox.statistics", "dpaudit.cli"],
)
def test_importing_loads_neither_pandas_nor_statsmodels(module: str) -> None:
    """They come with the first frame or fit that is asked for; the kernel never asks."""
    program = (
        f"import sys, {module}; print([name for name in ('pandas', 'statsmodels') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
