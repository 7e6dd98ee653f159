"""Test hypotheses by betting with e-processes, which may be stopped at any time and averaged."""

from dpaudit.blackbox.statistics.betting import (
    PairBetting,
    epsilon_grid,
    epsilon_lower_bound,
    nested_lower_bound,
)
from dpaudit.blackbox.statistics.blocks import Failure, StepLimitError, Steps, Workers, run_in_blocks
from dpaudit.blackbox.statistics.capital import Capital, log_average
from dpaudit.blackbox.statistics.cells import CellBetting, CellBlock, cell_stakes
from dpaudit.blackbox.statistics.divergences import DivergenceBetting
from dpaudit.blackbox.statistics.families import bonferroni, e_benjamini_hochberg, holm, pair_weight
from dpaudit.blackbox.statistics.fit import (
    FitPaths,
    fit_log_wealth,
    order_log_wealth,
    probability_transform,
    repeat_log_wealth,
    uniform_log_wealth,
)
from dpaudit.blackbox.statistics.loss import delta_bounds, delta_log_wealth, hockey_stick
from dpaudit.blackbox.statistics.means import difference_log_wealth, mean_bounds, mean_log_wealth
from dpaudit.blackbox.statistics.proportions import excess_p_value, proportion_bounds
from dpaudit.blackbox.statistics.tails import (
    sub_exponential_log_wealth,
    sub_gaussian_log_wealth,
    tail_log_wealth,
)

__all__ = [
    "Capital",
    "CellBetting",
    "CellBlock",
    "DivergenceBetting",
    "Failure",
    "FitPaths",
    "PairBetting",
    "StepLimitError",
    "Steps",
    "Workers",
    "bonferroni",
    "cell_stakes",
    "delta_bounds",
    "delta_log_wealth",
    "difference_log_wealth",
    "e_benjamini_hochberg",
    "epsilon_grid",
    "epsilon_lower_bound",
    "excess_p_value",
    "fit_log_wealth",
    "hockey_stick",
    "holm",
    "log_average",
    "mean_bounds",
    "mean_log_wealth",
    "nested_lower_bound",
    "order_log_wealth",
    "pair_weight",
    "probability_transform",
    "proportion_bounds",
    "repeat_log_wealth",
    "run_in_blocks",
    "sub_exponential_log_wealth",
    "sub_gaussian_log_wealth",
    "tail_log_wealth",
    "uniform_log_wealth",
]
