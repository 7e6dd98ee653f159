"""Bound probabilities exactly (Clopper-Pearson) from a fixed number of independent trials.

If the number of trials depends on their outcomes, use ``mean_bounds`` or ``tail_log_wealth``, which are valid
at any time.
"""

from __future__ import annotations

from scipy import special

from dpaudit.core.errors import InvalidParameterError

__all__ = ["excess_p_value", "proportion_bounds"]


def proportion_bounds(hits: int, trials: int, *, alpha: float) -> tuple[float, float]:
    """Return a lower and an upper bound on P(hit), each at level ``alpha``/2 (Clopper and Pearson 1934)."""
    _check(hits, trials)
    if not 0 < alpha < 1:
        raise InvalidParameterError(f"alpha must be in (0, 1), got {alpha}.", code="E-ALPHA-RANGE")
    low = special.betaincinv(hits, trials - hits + 1, alpha / 2) if hits else 0.0
    high = special.betainccinv(hits + 1, trials - hits, alpha / 2) if hits < trials else 1.0
    return float(low), float(high)


def excess_p_value(hits: int, trials: int, *, at_most: float) -> float:
    """Return P(this many hits or more) at ``at_most``: a p-value against "P(hit) is at most that"."""
    _check(hits, trials)
    return float(special.betainc(hits, trials - hits + 1, at_most)) if hits else 1.0


def _check(hits: int, trials: int) -> None:
    if not 0 <= hits <= trials or trials < 1:
        raise InvalidParameterError(
            f"hits must be between 0 and trials, and trials at least 1, got {hits} of {trials}.",
            code="E-HITS-RANGE",
        )
