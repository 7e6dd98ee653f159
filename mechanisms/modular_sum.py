"""Sums in Z_m: modular clipping, secure aggregation as an ideal functionality, and the analyzer.

Chowdhury and Zhou (ICLR 2023), Algorithm 1, lines 21 to 30. A user sends y = (x̂ + η) mod m. Secure
aggregation sends the server ŷ = (Σ y) mod m and nothing else. With m = n g + 2τ + 1 every noisy sum in [-τ, n
g + τ] has a different residue, and the analyzer undoes the wrap below 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import SERVER
from dpaudit.distributions import Distribution, SumMod
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["Aggregator", "clipped", "decoded_sum", "secure_sum"]

#: The secure function S: takes one distribution of x̂ + η for each user present, releases to the server what
#: the protocol reveals, and returns ŷ in 0, ..., m - 1.
Aggregator = Callable[[Coins, Sequence[Distribution], Sheet], Any]


def clipped(distribution: Distribution, *, modulus: int) -> Distribution:
    """Return the distribution of one user's message, (x̂ + η) mod m; the modulus is the mathematical one,
    never negative.
    """
    return SumMod(modulus).image_distribution([distribution])


def secure_sum(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
    """Perform perfect secure aggregation: the server sees ŷ alone (site ``aggregate``)."""
    return coins.aggregate(distributions, SumMod(sheet.modulus), site="aggregate", to=SERVER)


def decoded_sum(aggregate: Any, sheet: Sheet) -> Any:
    """Apply the analyzer elementwise: (ŷ - m)/g if ŷ > n g + τ (a wrap below 0), ŷ/g otherwise.

    The result equals the noisy sum of rewards whenever the noisy sum of encodings lies in [-τ, n g + τ].
    Raises ``InvalidParameterError`` for a ŷ outside 0, ..., m - 1.
    """
    y = np.asarray(aggregate)
    if not ((y >= 0) & (y < sheet.modulus)).all():
        raise InvalidParameterError(
            f"an aggregate must be in 0..{sheet.modulus - 1}, got {aggregate!r}; reduce it modulo m."
        )
    largest = sheet.users * sheet.precision + sheet.noise_margin
    signed = np.where(y > largest, y - sheet.modulus, y) / sheet.precision
    return float(signed) if signed.ndim == 0 else signed
