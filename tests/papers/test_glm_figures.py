"""Table 2 and Figure 1 on generalized linear bandits: what is written, and from which constants."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.glm_figures import GLM_FIGURES, regenerate_glm
from dpaudit.core.errors import InvalidParameterError, UndecidedError
from dpaudit.reference.algorithms.contextual.glm_optimisers import FitCall, StartingPoint
from dpaudit.reference.algorithms.contextual.links import logistic


def test_every_line_says_its_constants_and_branches() -> None:
    """Two runs of 40 rounds: numbers are those of the runs; the analysis' constants explore every round, the
    experiments' do not; no printed mean stands beside another horizon."""
    figures, frame, numbers = regenerate_glm(["table2"], horizon=40, runs=2)
    assert [name for name in figures if "table" in name]
    assert set(numbers["constants"]) == {"experiments", "analysis, c = C = 1"}
    assert numbers["printed_mean_of_10"].isna().all()
    last = frame[frame["round"] == 40].groupby(["setting", "algorithm"])["regret"]
    for line in numbers.itertuples():
        regrets = last.get_group((line.setting, line.algorithm))
        assert line.mean == pytest.approx(regrets.mean())
        assert line.median == pytest.approx(regrets.median())
        if line.constants.startswith("analysis"):
            assert "criterion I 40 to 40" in line.branches
            assert "calls theta_o 40 to 40" in line.branches
        elif line.algorithm.startswith("Private"):
            assert "criterion I 40 to 40" not in line.branches
    private = numbers[numbers["algorithm"].str.startswith("Private")]
    assert len(private) == 18


def test_unknown_figures_are_refused() -> None:
    """Names outside the list, and none."""
    for names in (["2"], []):
        with pytest.raises(InvalidParameterError):
            regenerate_glm(names, horizon=10, runs=1)
    assert "1a" in GLM_FIGURES


def test_a_starting_point_where_there_is_a_step_is_refused() -> None:
    """ε² n²/(d log³(nd/δ)) below 1 gives 0, above 1 an error."""

    def call(n: int) -> FitCall:
        return FitCall(
            link=logistic(), points=np.ones((n, 1)), rewards=np.ones(n), ridge=1.0, radius=1.0,
            centre=np.zeros(1), shape=np.eye(1), start=np.ones(1), epsilon=1.0, delta=0.1,
        )  # fmt: skip

    rng = np.random.default_rng(0)
    assert 81 < math.log(90) ** 3 < math.log(100) ** 3 < 100
    assert StartingPoint()(call(9), rng) == 0
    with pytest.raises(UndecidedError):
        StartingPoint()(call(10), rng)
