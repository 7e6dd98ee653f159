"""One batch's protocol (R, S, A): from the users' rewards to the server's estimate of their sum.

Chowdhury and Zhou (ICLR 2023): Algorithm 1, lines 18 to 30 (distributed), Algorithms 2 and 3 (central: a
trusted server adds the noise) and Algorithms 4 and 5 (local: every message is private by itself). The sheet
selects the variant.

The server is the adversary. It sees:

* distributed: what the secure function sends it, by default ŷ (site ``aggregate``);
* central: the sum after the noise (site ``aggregate``); the raw sum never leaves the trusted party;
* local: every user's message (site ``message``).

Users who drop out before they send are absent: pass the rewards of the users present. The sheet keeps the
nominal batch size, so the total noise is then below its nominal amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import SERVER
from dpaudit.distributions import WrappedMod
from dpaudit.reference.mechanisms.fixed_point import encode
from dpaudit.reference.mechanisms.modular_sum import Aggregator, decoded_sum, secure_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["BatchProtocol"]


@dataclass(frozen=True, kw_only=True)
class BatchProtocol:
    """Release the sum of one batch's rewards under ``sheet``.

    ``aggregator`` is the secure function of the distributed model: ``secure_sum``, ``masked_sum``, or one of
    ``relaxed_aggregation``. ``grid`` declares rewards as multiples of 1/grid (``fixed_point.encode``).
    """

    sheet: Sheet
    aggregator: Aggregator = secure_sum
    grid: int | None = None

    def __call__(self, coins: Coins, rewards: Sequence[Any]) -> Any:
        """Return the decoded sum of rewards, from 1 to ``sheet.users`` of them."""
        if not 1 <= len(rewards) <= self.sheet.users:
            raise InvalidParameterError(
                f"a batch must have 1 to {self.sheet.users} users present, got {len(rewards)}; leave an "
                f"empty batch out."
            )
        encoded = encode(coins, rewards, precision=self.sheet.precision, grid=self.grid)
        return decoded_sum(self._aggregate(coins, encoded), self.sheet)

    def _aggregate(self, coins: Coins, encoded: list[Any]) -> Any:
        if self.sheet.trust == "central":
            distribution = self.sheet.aggregate_distribution(sum(encoded))
            return coins.observe(distribution, site="aggregate", to=SERVER)
        if self.sheet.trust == "local":
            return self._local(coins, encoded)
        return self.aggregator(coins, [self.sheet.share.shift(x) for x in encoded], self.sheet)

    def _local(self, coins: Coins, encoded: list[Any]) -> Any:
        """Release all messages at once: independent entries of one array, users on the last axis."""
        if coins.replicates is None:
            values = np.array(encoded)
        else:
            copies = [np.broadcast_to(x, (coins.replicates,)) for x in encoded]
            values = np.stack(copies, axis=-1)
        distribution = WrappedMod(self.sheet.share, modulus=self.sheet.modulus, offset=values)
        total = np.sum(coins.observe(distribution, site="message", to=SERVER), axis=-1) % self.sheet.modulus
        return int(total) if total.ndim == 0 else total
