"""Competitors of a comparison of regrets: a variant of batched elimination, or the central baseline DP-SE."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.core.exact import ExactLike
from dpaudit.reference.algorithms.mab.distributed_elimination import DESIGNS, Variant, variant
from dpaudit.reference.algorithms.mab.distributed_regret import simulate_baseline, simulate_variant
from dpaudit.reference.algorithms.mab.reward_models import RewardModel
from dpaudit.suite.regret import RegretRuns, Seed

__all__ = ["BASELINE", "Competitor", "simulated"]

#: The name of DP-SE (``dpaudit.reference.algorithms.mab.successive_elimination``) among competitors.
BASELINE = "dp_se"


@dataclass(frozen=True)
class Competitor:
    """One curve of a picture: a name of ``distributed_elimination.DESIGNS`` or ``BASELINE``.

    A variant has a scale factor and the growth of its batches; the baseline has neither.
    """

    name: str
    scale_factor: int = 1
    growth: int = 4

    @property
    def label(self) -> str:
        """Return a key for tables."""
        return self.name if self.scale_factor == 1 else f"{self.name}(s={self.scale_factor})"

    @property
    def title(self) -> str:
        """Return the label in a legend."""
        scale = "" if self.scale_factor == 1 else f" (s = {self.scale_factor})"
        return ("DP-SE" if self.name == BASELINE else DESIGNS[self.name].title) + scale

    def variant(self, *, epsilon: ExactLike, failure_prob: ExactLike) -> Variant:
        """Return the variant of batched elimination. Raises ``InvalidParameterError`` for the baseline."""
        return variant(self.name, epsilon=epsilon, failure_prob=failure_prob, scale_factor=self.scale_factor)


def simulated(
    competitor: Competitor,
    epsilon: ExactLike,
    model: RewardModel,
    *,
    horizon: int,
    seed: Seed,
    failure_prob: ExactLike,
) -> RegretRuns:
    """Play one run of ``competitor`` on every instance of ``model``."""
    if competitor.name == BASELINE:
        return simulate_baseline(
            model, epsilon=epsilon, failure_prob=failure_prob, horizon=horizon, seed=seed
        )
    chosen = competitor.variant(epsilon=epsilon, failure_prob=failure_prob)
    return simulate_variant(chosen, model, horizon=horizon, growth=competitor.growth, seed=seed)
