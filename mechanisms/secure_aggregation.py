"""Secure aggregation by additive masking, and what the server sees while the modular sum is computed.

Chowdhury and Zhou (ICLR 2023) describe it in appendix G.1; the construction is by Bonawitz and others (2017),
with the key agreement abstracted away. The users hold masks that are uniform on Z_m^n subject to adding up to
0. User i sends (y_i + mask_i) mod m to the server, which adds up the messages. The server's view is uniform
among all vectors with the sum ŷ: P(v) = P(ŷ = Σ v mod m) / m^(n-1). ``secure_sum`` assumes this.

Masks are agreed on by the users present: a message lost after that is not simulated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dpaudit.coins.base import Coins
from dpaudit.core.views import SERVER
from dpaudit.distributions import Categorical, Distribution
from dpaudit.reference.mechanisms.modular_sum import clipped
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["masked_sum", "zero_sum_masks"]


def zero_sum_masks(coins: Coins, *, users: int, modulus: int) -> list[Any]:
    """Draw masks of ``users`` users as hidden draws (site ``mask``): all but one uniform on Z_m, the last
    minus their sum.
    """
    free = [coins.draw(_uniform(modulus), site="mask") for _ in range(users - 1)]
    return [*free, _residue(-sum(free), modulus)]


def masked_sum(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
    """Run the masked protocol: every message is drawn, masked, and released to the server; returns ŷ.

    ``distributions`` are the users' x̂ + η. Messages are hidden draws (site ``message``), masked messages are
    released (site ``masked``). An ``Aggregator`` with the same distribution as ``secure_sum``.
    """
    modulus = sheet.modulus
    messages = [
        coins.draw(clipped(distribution, modulus=modulus), site="message") for distribution in distributions
    ]
    masks = zero_sum_masks(coins, users=len(distributions), modulus=modulus)
    seen = [
        coins.reveal(_residue(y + mask, modulus), site="masked", to=SERVER)
        for y, mask in zip(messages, masks, strict=True)
    ]
    return _residue(sum(seen), modulus)


def _residue(value: Any, modulus: int) -> Any:
    return np.mod(value, modulus) if isinstance(value, np.ndarray) else int(value) % modulus


@lru_cache(maxsize=16)
def _uniform(modulus: int) -> Categorical:
    return Categorical(weights=[1] * modulus)
