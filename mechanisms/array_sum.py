"""The Laplace mechanism on the sum of one array of fresh observations, released once ("lazy and forgetful").

Hu, Huang and Mehta (arXiv 2102.07929), eq. (3). Every observation lies in [0, 1] and enters one array only.
Replacing it therefore changes one sum by at most 1 and costs epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpaudit.coins.base import Coins
from dpaudit.core.exact import ExactLike, positive
from dpaudit.core.views import SERVER
from dpaudit.distributions import Laplace

__all__ = ["ArraySum", "NoisySum"]

#: Releases one sum: ``noisy_sum(coins, total)`` returns the noisy total, a number or an array with
#: independent noise per entry.
NoisySum = Callable[[Coins, Any], Any]


class ArraySum:
    """Release sum + Laplace(1/epsilon) to the server; ``site`` labels the release in reports."""

    def __init__(self, *, epsilon: ExactLike, site: str = "array") -> None:
        self.noise = Laplace(scale=1 / positive(epsilon, name="epsilon"))
        self.site = site

    def __call__(self, coins: Coins, total: Any) -> Any:
        return coins.release(total, self.noise, site=self.site, to=SERVER)
