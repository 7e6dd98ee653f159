"""Convert the figures of Section 6 and Appendix G to plot data: regret over time, one curve per algorithm."""

from __future__ import annotations

from collections.abc import Mapping

from audits.shuffle_linear_bandits.experiment_settings import ALGORITHMS, FIGURES
from dpaudit.core.plots import Plot
from dpaudit.reference.algorithms.contextual.simulated_regret import LinearRuns
from dpaudit.suite.regret import over_time

__all__ = ["PANELS", "WORDS", "panel"]

#: Map the name of a panel to the figure that holds its data, and to its ε.
PANELS: Mapping[str, tuple[str, str]] = {
    "1a": ("1", "0.2"),
    "1b": ("1", "1"),
    "1c": ("1", "10"),
    "2a": ("2a", "1"),
    "2b": ("2b", "1"),
}
WORDS: Mapping[str, str] = {
    "authors_code": "noise, ridge and radius of the authors' code",
    "theorem": "noise, ridge and radius of the theorems",
}
FIRST_ROUND = 100


def panel(name: str, profile: str, found: Mapping[tuple[str, str], LinearRuns]) -> Plot:
    """Return one panel: pseudo-regret over rounds of every algorithm, with bands of one standard error."""
    figure, epsilon = PANELS[name]
    return over_time(
        {title: found[key, epsilon].pseudo for key, title in ALGORITHMS.items()},
        title=f"d = {FIGURES[figure].dim}, ε = {epsilon}, {WORDS[profile]}",
        first_round=FIRST_ROUND,
    )
