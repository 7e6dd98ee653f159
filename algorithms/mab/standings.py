"""The leader among many arms, at the cost of the logarithm of the horizon instead of the number of arms.

The indices of Anytime-Lazy-UCB (Hu, Huang and Mehta, arXiv 2102.07929, eq. (4)) add to each arm's mean a
bonus that depends only on the size of its array. Sizes are powers of 2, so there are few. Among arms of one
size the order of the means is the order of the indices in every round, rounded too, since rounding is
monotone. The best mean of each size therefore represents all of them. If rounding makes two indices of one
size equal, the lower number of an arm wins, as in the plain loop (``race.leader``): the next arms in line are
then examined.

The decisions are those of ``race.leader`` and ``race.rounds_in_lead``, bit for bit (a test).
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence

from dpaudit.reference.algorithms.mab.race import index, is_clear, last_clear

__all__ = ["Standings"]


class Standings:
    """The arms by the size of their arrays, each size with its best mean first.

    ``means`` are the means of arrays of size 1, one for each arm; ``epsilon`` > 0 is the epsilon of the
    indices.
    """

    def __init__(self, means: Sequence[float], *, epsilon: float) -> None:
        self.means, self.sizes = list(means), [1] * len(means)
        self._epsilon = epsilon
        self._lines = {1: sorted((-mean, arm) for arm, mean in enumerate(means))}

    def renew(self, arm: int, *, mean: float, size: int) -> None:
        """Update ``arm`` with the ``mean`` of a full array of ``size`` observations."""
        line = self._lines[self.sizes[arm]]
        del line[bisect_left(line, (-self.means[arm], arm))]
        if not line:
            del self._lines[self.sizes[arm]]
        self.means[arm], self.sizes[arm] = mean, size
        insort(self._lines.setdefault(size, []), (-mean, arm))

    def leader(self, t: int) -> int:
        """Return the arm with the largest index in round ``t`` (from 1); the lowest number wins a tie."""
        log_t = math.log(t)
        best, best_index = -1, -math.inf
        for size, line in self._lines.items():
            value = index(-line[0][0], size, log_t, self._epsilon)
            arm = line[0][1]
            for minus, other in line[1:]:
                if index(-minus, size, log_t, self._epsilon) < value:
                    break
                arm = min(arm, other)
            if value > best_index or (value == best_index and arm < best):
                best, best_index = arm, value
        return best

    def rounds_in_lead(self, arm: int, t: int, *, limit: int) -> int:
        """Return how many rounds, in 1..limit, ``arm``, leader in round ``t``, is certain to lead from
        ``t`` on.
        """
        if not self._leads_its_size(arm, t):
            return 1
        last = t + limit - 1
        for size, line in self._lines.items():
            if size != self.sizes[arm]:
                last = last_clear(arm, line[0][1], self.means, self.sizes, t, last, self._epsilon)
                if last <= t:
                    return 1
        return last - t + 1

    def _leads_its_size(self, arm: int, t: int) -> bool:
        """Check that no arm of the same size can take the lead, however indices are rounded."""
        line = self._lines[self.sizes[arm]]
        if line[0] != (-self.means[arm], arm):
            return False  # an equal index by rounding, a lower number: the order may change in any round
        for _, other in line[1:]:
            if is_clear(arm, other, self.means, self.sizes, t, self._epsilon):
                return True  # the arms behind have smaller means still
            if other < arm and self.means[other] != self.means[arm]:
                return False
        return True
