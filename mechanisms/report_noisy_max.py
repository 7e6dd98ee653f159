"""Report Noisy Max: the index of the largest noisy score, and nothing else.

Hu, Huang and Mehta (arXiv 2102.07929), Algorithm 3, after Dwork and Roth (2014), section 3.3. The
distribution of the index is one site, never K releases.

Sensitivity. Replacing one reward vector in [0, 1]^K changes every coordinate of the sum by at most 1, each in
either direction: one score may rise while its rival falls. Laplace noise of scale b then costs 2/b. Dwork and
Roth's Claim 3.9, which the paper cites for Laplace(1/epsilon), is about counting queries under addition or
removal of a record. There all scores change in the same direction and the cost is 1/b.
"""

from __future__ import annotations

from typing import Any, Literal

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.core.views import PUBLIC
from dpaudit.distributions import Laplace, NoisyArgmax

__all__ = ["RnmVariant", "report_noisy_max", "rnm_noise"]

RnmVariant = Literal["printed", "repaired"]


def rnm_noise(*, epsilon: ExactLike, variant: RnmVariant) -> Laplace:
    """Return the noise of one score: Laplace(1/epsilon) as printed, Laplace(2/epsilon) repaired."""
    scales = {"printed": 1, "repaired": 2}
    if variant not in scales:
        raise InvalidParameterError(f"variant must be one of {sorted(scales)}, got {variant!r}.")
    return Laplace(scale=scales[variant] / positive(epsilon, name="epsilon"))


def report_noisy_max(coins: Coins, scores: Any, *, noise: Laplace, site: str = "leader") -> Any:
    """Release the index of the largest noisy score to everybody and return it.

    ``scores`` has shape (K,), or (R, K) under coins with R replicates; then the result has shape (R,).
    """
    return coins.observe(NoisyArgmax(scores=scores, noise=noise), site=site, to=PUBLIC)
