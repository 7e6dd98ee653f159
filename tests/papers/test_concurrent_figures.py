"""Figures of concurrent sums: one command writes them, the same for one seed; numbers by other routes."""

from __future__ import annotations

import json

import pytest

from benchmarks import figures
from benchmarks.concurrent_figures import CONCURRENT_FIGURES, regenerate_concurrent
from dpaudit.core.errors import InvalidParameterError


def test_one_command_writes_every_figure(tmp_path):
    """The page, a picture each, runs and numbers; three figures of four or eight curves."""
    figures.main([str(tmp_path), "--paper", "concurrent_shuffle", "--horizon", "256", "--runs", "3"])
    plots = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert {name: len(plot["series"]) for name, plot in plots.items()} == {"error": 8, "noise": 4, "blind": 4}
    assert all((tmp_path / f"figure-{name}.svg").exists() for name in CONCURRENT_FIGURES)
    assert len((tmp_path / "curves.csv").read_text(encoding="utf-8").splitlines()) == 1 + 4 * 3


def test_numbers_repeat_and_keep_their_order():
    """Same seed, same runs; a simulated error is below the bound, blind users as the tree has them."""
    _, first, numbers = regenerate_concurrent(["error"], horizon=256, runs=4, seed=3)
    _, second, _ = regenerate_concurrent(["noise"], horizon=256, runs=4, seed=3)
    assert first.equals(second)
    assert (numbers["error"] < numbers["bound"]).all()
    assert numbers["blind"].tolist() == [6, 3, 2, 1]


@pytest.mark.parametrize("wrong", [{"names": ["1a"], "horizon": 256}, {"names": ["error"], "horizon": 100}])
def test_unknown_figures_and_short_horizons_are_refused(wrong):
    """The error names what there is."""
    with pytest.raises(InvalidParameterError, match="must be"):
        regenerate_concurrent(**wrong, runs=2)
