"""The race between two refreshes: how many rounds the leader of Anytime-Lazy-UCB leads.

The index of arm j (Hu, Huang and Mehta, arXiv 2102.07929, eq. (4)) is m_j + sqrt(3 ln t / n_j) + 3 ln t /
(epsilon n_j). Between two refreshes m_j and n_j are fixed and it changes through ln t only. This can change
the arg-max: the bonus of an arm with a *shorter* array grows faster, so that it overtakes in the end.

Theory of operation. With u = sqrt(ln t) the lead of arm i over arm j is A + B u + C u^2, where A = m_i - m_j,
and B and C both have the sign of n_j - n_i. The lead is monotone in t: an arm with an equal or longer array
never overtakes, an arm with a shorter array overtakes once, at the positive root.

The float program compares rounded indices, and near the root their order may flicker. The decisions must be
those of the plain loop bit for bit, so the root is not trusted: a lead counts as *clear* if it exceeds a
bound on all rounding errors. Because the true lead is monotone, one clear comparison at the right end of a
stretch settles the whole stretch. Rounds that are not settled are stepped one by one with the plain
comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["index", "is_clear", "last_clear", "leader", "rounds_in_lead"]

#: Relative bound on the rounding error of a lead: each index takes fewer than 10 roundings of 2^-53 (and a
#: logarithm good to one unit in the last place), two indices fewer than 2^5 in all; 2^-47 leaves a factor of
#: 2.
_MARGIN = 2.0**-47


def index(mean: float, size: int, log_t: float, epsilon: float) -> float:
    """Return eq. (4) at ``log_t`` = ln t: noisy mean of the last full array, of ``size``, plus both
    bonuses.
    """
    return mean + math.sqrt(3 * log_t / size) + 3 * log_t / (epsilon * size)


def leader(means: Sequence[float], sizes: Sequence[int], t: int, epsilon: float) -> int:
    """Return the arm with the largest index in round ``t`` (from 1); the lowest number wins a tie."""
    log_t = math.log(t)
    best, best_index = 0, -math.inf
    for arm, (mean, size) in enumerate(zip(means, sizes, strict=True)):
        value = mean + math.sqrt(3 * log_t / size) + 3 * log_t / (epsilon * size)
        if value > best_index:
            best, best_index = arm, value
    return best


def rounds_in_lead(
    arm: int, means: Sequence[float], sizes: Sequence[int], t: int, epsilon: float, *, limit: int
) -> int:
    """Return how many rounds, in 1..limit, the leader ``arm`` of round ``t`` is certain to lead, from ``t``
    on.

    At most one rival ends the stretch early; the caller asks again in the next round. If the order of two
    rounded indices cannot be settled for more than the present round, the result is 1.
    """
    last = t + limit - 1
    for rival in range(len(means)):
        if rival != arm:
            last = last_clear(arm, rival, means, sizes, t, last, epsilon)
            if last <= t:
                return 1
    return last - t + 1


def last_clear(
    arm: int, rival: int, means: Sequence[float], sizes: Sequence[int], t: int, last: int, epsilon: float
) -> int:
    """Return the last round, at most ``last``, up to which the lead over ``rival`` is settled."""
    if sizes[arm] == sizes[rival] and (
        means[arm] == means[rival] or (means[arm] > means[rival] and arm < rival)
    ):
        # Rounding is monotone: equal bonuses keep the order of the means, and the lower number wins a tie.
        return last
    if sizes[arm] <= sizes[rival]:
        return last if is_clear(arm, rival, means, sizes, t, epsilon) else t  # the lead does not shrink
    if is_clear(arm, rival, means, sizes, last, epsilon):
        return last
    if not is_clear(arm, rival, means, sizes, t, epsilon):
        return t
    return _bisect(arm, rival, means, sizes, t, last, epsilon)


def is_clear(
    arm: int, rival: int, means: Sequence[float], sizes: Sequence[int], t: int, epsilon: float
) -> bool:
    """Check whether the lead of ``arm`` over ``rival`` in round ``t`` exceeds the possible rounding error."""
    log_t = math.log(t)
    ours = index(means[arm], sizes[arm], log_t, epsilon)
    theirs = index(means[rival], sizes[rival], log_t, epsilon)
    # |mean| + bonus <= index + 2 |mean| bounds the size of everything that was rounded.
    magnitude = abs(ours) + abs(theirs) + 2 * (abs(means[arm]) + abs(means[rival]))
    return ours - theirs > _MARGIN * magnitude


def _bisect(
    arm: int, rival: int, means: Sequence[float], sizes: Sequence[int], low: int, high: int, epsilon: float
) -> int:
    """Return the last clear round: clear at ``low``, not at ``high``.

    The root brackets it to a few rounds.
    """
    root = _overtake(arm, rival, means, sizes, epsilon, high)
    slack = 2 + int(root * 2.0**-44)
    for probe in (int(root) - slack, int(root) + slack):
        if low < probe < high:
            low, high = (probe, high) if is_clear(arm, rival, means, sizes, probe, epsilon) else (low, probe)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_clear(arm, rival, means, sizes, middle, epsilon) else (low, middle)
    return low


def _overtake(
    arm: int, rival: int, means: Sequence[float], sizes: Sequence[int], epsilon: float, cap: int
) -> float:
    """Return the real t at which the lead is 0: the positive root in u = sqrt(ln t), at most about
    ``cap``.
    """
    ahead = means[arm] - means[rival]
    slope = math.sqrt(3 / sizes[rival]) - math.sqrt(3 / sizes[arm])
    curvature = 3 / epsilon * (1 / sizes[rival] - 1 / sizes[arm])
    root = 2 * ahead / (slope + math.sqrt(slope * slope + 4 * curvature * ahead))
    return math.exp(min(root * root, math.log(cap) + 1))
