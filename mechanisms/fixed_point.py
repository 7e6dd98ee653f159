"""Fixed-point encoding with randomised rounding: a reward in [0, 1] becomes an integer in 0, ..., g.

Chowdhury and Zhou (ICLR 2023), Algorithm 1, line 20: x̂ = floor(x g) + Bernoulli(x g - floor(x g)), so E[x̂]
= x g. Replacing one user changes the sum of all encodings by at most g.

The rounding bit is a hidden draw: nobody sees it, and no privacy proof depends on it. Rewards are floats, and
a float is a dyadic rational, so the bit's probability is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import dyadic
from dpaudit.distributions import Bernoulli, Distribution, PointMass

__all__ = ["encode", "encoding_distribution", "split_reward"]


def split_reward(reward: Any, *, precision: int) -> tuple[int, Fraction]:
    """Return floor(x g) and the rest x g - floor(x g), exactly.

    Raises ``InvalidParameterError`` off [0, 1].
    """
    if not 0 <= reward <= 1:
        raise InvalidParameterError(f"a reward must be in [0, 1], got {reward!r}.")
    scaled = dyadic(reward) * precision
    whole = math.floor(scaled)
    return whole, scaled - whole


def encoding_distribution(reward: Any, *, precision: int) -> Distribution:
    """Return the distribution of one user's encoding: at most two neighbouring integers."""
    whole, rest = split_reward(reward, precision=precision)
    return Bernoulli(p=rest).shift(whole) if rest else PointMass(whole)


def encode(
    coins: Coins, rewards: Sequence[Any], *, precision: int, grid: int | None = None, site: str = "rounding"
) -> list[Any]:
    """Encode every user's reward, with one hidden draw per user.

    ``grid`` declares that all rewards are multiples of 1/grid (1 for Bernoulli rewards). If it divides
    ``precision``, no rounding is ever needed and no coin is drawn. The declaration is public, and the pattern
    of draws depends on it alone, never on the rewards. A reward off the grid raises
    ``InvalidParameterError``. Under coins with replicates an encoding is an array (R,).
    """
    parts = [split_reward(reward, precision=precision) for reward in rewards]
    if grid is None or precision % grid:
        return [whole + coins.draw(Bernoulli(p=rest), site=site) for whole, rest in parts]
    if any(rest for _, rest in parts):
        raise InvalidParameterError(
            f"rewards must be multiples of 1/{grid} as declared, got others; declare grid=None."
        )
    return [whole for whole, _ in parts]
