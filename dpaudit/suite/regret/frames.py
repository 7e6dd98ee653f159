"""Many cells of simulated regret as one tidy frame, and its summary with a line a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from dpaudit.core.errors import InvalidParameterError
from dpaudit.suite.regret.runs import RegretRuns
from dpaudit.suite.regret.slopes import log_slope

if TYPE_CHECKING:
    import pandas

__all__ = ["regret_frame", "summary"]

#: What is measured; all other columns of a frame say in which cell.
_MEASURED = ("run", "round", "regret")


def regret_frame(cells: Iterable[tuple[Mapping[str, object], RegretRuns]]) -> pandas.DataFrame:
    """The frames of all cells, labels before numbers, one below the other."""
    import pandas

    frames = [result.to_frame(**labels) for labels, result in cells]
    if not frames:
        raise InvalidParameterError("a frame needs a cell at least, got none; simulate one.")
    return pandas.concat(frames, ignore_index=True)


def summary(frame: pandas.DataFrame, *, first_round: int = 100) -> pandas.DataFrame:
    """One line a cell, in the order of the frame: runs, horizon, mean regret there, and the slope of log
    regret on log T from ``first_round`` on, with standard errors.

    Errors and slopes are missing where one run, or too little regret, says nothing about them.
    """
    import pandas

    labels = [name for name in frame.columns if name not in _MEASURED]
    lines = []
    for where, cell in frame.groupby(labels, sort=False):
        last = cell[cell["round"] == cell["round"].max()]
        line = dict(zip(labels, where, strict=True))
        line |= {"runs": len(last), "horizon": int(last["round"].iloc[0])}
        line |= {"mean": last["regret"].mean(), "standard_error": last["regret"].sem()}
        lines.append(line | _slope(cell, first_round))
    return pandas.DataFrame(lines)


def _slope(cell: pandas.DataFrame, first_round: int) -> dict[str, float]:
    try:
        slope = log_slope(cell, first_round=first_round)
    except InvalidParameterError:
        return {"slope": float("nan"), "slope_error": float("nan")}
    return {"slope": slope.value, "slope_error": slope.standard_error}
