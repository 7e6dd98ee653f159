"""Collect many cells of simulated regret in one tidy frame, and summarise it with one line per cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from dpaudit.core.errors import InvalidParameterError
from dpaudit.suite.regret.runs import RegretRuns
from dpaudit.suite.regret.slopes import log_slope

if TYPE_CHECKING:
    import pandas

__all__ = ["regret_frame", "summary"]

#: Columns of measurements. All other columns of a frame identify the cell.
_MEASURED = ("run", "round", "regret")


def regret_frame(cells: Iterable[tuple[Mapping[str, object], RegretRuns]]) -> pandas.DataFrame:
    """Return the frames of all cells in one frame, with labels before numbers.

    Raises ``InvalidParameterError`` if there is no cell.
    """
    import pandas

    frames = [result.to_frame(**labels) for labels, result in cells]
    if not frames:
        raise InvalidParameterError("a frame requires at least one cell, got none.", code="E-FRAME-EMPTY")
    return pandas.concat(frames, ignore_index=True)


def summary(frame: pandas.DataFrame, *, first_round: int = 100) -> pandas.DataFrame:
    """Return one line per cell, in the order of the frame.

    The columns are runs, horizon, mean regret there, and the slope of log regret on log T from
    ``first_round`` on, with standard errors. Errors and slopes are missing if there is only one run or too
    little regret.
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
