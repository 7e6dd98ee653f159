"""Estimate how regret grows: the slope of log regret in log T, with errors clustered by run.

A slope of a means regret in proportion to T^a. Logarithmic regret has slopes that fall to 0. The estimate is
descriptive, and no verdict rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.core.errors import InvalidParameterError

if TYPE_CHECKING:
    import pandas

__all__ = ["Slope", "log_slope"]


@dataclass(frozen=True)
class Slope:
    """A slope with its standard error and an interval at the requested level, from ``runs`` clusters."""

    value: float
    standard_error: float
    low: float
    high: float
    runs: int


def log_slope(frame: pandas.DataFrame, *, first_round: int = 1, alpha: float = 0.05) -> Slope:
    """Fit log regret on log round by least squares, clustered by run, to a frame of ``RegretRuns.to_frame``.

    Lines before ``first_round`` and lines without regret are left out. Raises ``InvalidParameterError`` if
    fewer than two runs, or fewer than two different rounds, are left.
    """
    import statsmodels.api as sm

    kept = frame[(frame["round"] >= first_round) & (frame["regret"] > 0)]
    runs, rounds = kept["run"].nunique(), kept["round"].nunique()
    if runs < 2 or rounds < 2:
        raise InvalidParameterError(
            f"a slope with clustered errors requires two runs and two rounds with regret, got {runs} and "
            f"{rounds}.",
            code="E-SLOPE-RUNS",
        )
    design = sm.add_constant(np.log(kept["round"].to_numpy(dtype=float)))
    fitted = sm.OLS(np.log(kept["regret"].to_numpy()), design).fit(
        cov_type="cluster", cov_kwds={"groups": kept["run"].to_numpy()}, use_t=True
    )
    covariance = np.array(fitted.cov_params())
    covariance[1, 1] = max(covariance[1, 1], 0.0)  # exact powers have 0, up to rounding
    slope = fitted.t_test([0.0, 1.0], cov_p=covariance)
    low, high = slope.conf_int(alpha=alpha)[0]
    return Slope(slope.effect.item(), slope.sd.item(), float(low), float(high), runs)
