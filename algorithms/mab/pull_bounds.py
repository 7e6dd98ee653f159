"""Rigorous upper bounds on the expected pulls of a suboptimal arm, evaluated at finite parameters.

A simulated mean regret has no useful upper confidence bound by itself: one run in a million may cost gap * T,
and no sample excludes that. The paper's argument (Lemmas 11 and 12) excludes it, with every O(1) worked out
here as a number. The bounds hold for all rewards in [0, 1], for any other arms besides the best one, and at
the stated horizon. They are used in two ways: as upper bounds by themselves, and as the cost of cutting a
simulated regret at a cap.

Notation: arm j has gap ``gap``; arm 1 is the best. Sums of n rewards deviate like a variable with moment
generating function exp(lambda^2 n / 8) (Hoeffding's lemma), Laplace noise of scale b like a variable with 1 /
(1 - b^2 lambda^2). A tail is bounded by Chernoff at the best lambda of a grid, and any lambda is valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions.chernoff import best_bound
from dpaudit.reference.algorithms.mab.successive_elimination import epoch_length, radius
from dpaudit.suite.regret import Cut, gaps_of, trivial_cut

__all__ = [
    "elimination_cap",
    "elimination_cut",
    "hybrid_cut",
    "hybrid_excess",
    "hybrid_pull_bound",
    "lazy_cut",
    "lazy_excess",
    "lazy_pull_bound",
]

Floats = NDArray[np.float64]
Variant = Literal["printed", "repaired"]

#: Everything is rounded in floats, a few hundred operations deep; this factor covers it.
ROUNDING = 1 + 1e-9
#: Shares of the largest useful lambda that are tried.
SHARES = np.linspace(0.02, 0.998, 64)
#: A cap is accepted once its excess is at most this share of it.
EXCESS_SHARE = 0.002
#: Blocks of pull counts per factor of two, for Hybrid-UCB.
BLOCKS = 16


def _check(gap: float, epsilon: float, horizon: float) -> None:
    if not 0 < gap <= 1 or not epsilon > 0 or not 2 <= horizon < 1e18:
        raise InvalidParameterError(
            "gap must be in (0, 1], epsilon positive and horizon from 2 to 10^18, got "
            f"{gap}, {epsilon} and {horizon}."
        )


def _lazy_tail(n: Floats, needed: Floats, epsilon: float) -> Floats:
    """Bound P(deviation of a sum of n rewards + Laplace(1/epsilon) >= needed); 1 if ``needed`` <= 0."""
    positive = np.maximum(needed, 1e-300)
    rates = np.minimum(4 * positive / n, epsilon)[..., None] * SHARES
    logs = rates**2 * n[..., None] / 8 - rates * positive[..., None] - np.log1p(-((rates / epsilon) ** 2))
    return np.asarray(np.where(needed > 0, best_bound(logs), 1.0))


def _lazy_radius(n: Floats, t: Floats | float, epsilon: float) -> Floats:
    """Return n times the bonus of eq. (4) in round t."""
    return np.asarray(np.sqrt(3 * n * np.log(t)) + 3 * np.log(t) / epsilon)


def _sizes(horizon: float) -> Floats:
    """Return 2^0, 2^1, ... up to the horizon."""
    return np.asarray(2.0 ** np.arange(math.floor(math.log2(horizon)) + 1), dtype=np.float64)


def _lazy_entries(gap: float, epsilon: float, horizon: float) -> Floats:
    """Bound P(arm j is pulled for its array s within the horizon), s = 0, 1, ..., floor(log2 horizon).

    That pull happens in a round t > 2^s, when j has its mean from array s - 1. Then one of two events occurs.
    (A) That mean plus the bonus reaches the best mean, although the bonus grows with t at most to its value
    at the horizon. (B) Some array r of arm 1 has a mean plus bonus below the best mean. The bonus of an array
    only grows, so its first possible round max(2^s + 1, 2^(r+1)) is the worst. Means are fixed while an array
    lasts: the union is over arrays, not over rounds.
    """
    n = _sizes(horizon)
    above = _lazy_tail(n, n * gap - _lazy_radius(n, horizon, epsilon), epsilon)
    entries = np.ones(len(n))
    entries[1:] = np.minimum(1.0, above[:-1] + _lazy_low(epsilon, horizon)[1:])
    return np.asarray(np.minimum.accumulate(entries))  # array s + 1 is entered after array s


@lru_cache(maxsize=256)
def _lazy_low(epsilon: float, horizon: float) -> Floats:
    """Return the probability of (B) for s = 0, 1, ...: it does not depend on arm j."""
    n = _sizes(horizon)
    first = np.maximum(n[:, None] + 1, 2 * n[None, :])  # [s, r]
    wide = np.broadcast_to(n, first.shape)
    below = _lazy_tail(wide, _lazy_radius(wide, first, epsilon), epsilon)
    return np.asarray(np.where(first <= horizon, below, 0.0).sum(axis=1))


def lazy_excess(*, gap: float, epsilon: float, horizon: float) -> tuple[Floats, Floats]:
    """Return caps 2^(L+1) - 1 for L = 0, 1, ... and upper bounds on E max(0, O_j(T) - cap), Anytime-Lazy-UCB.

    0 < ``gap`` <= 1, ``epsilon`` > 0, 2 <= ``horizon`` < 10^18. The last cap is at least the horizon.
    """
    _check(gap, epsilon, horizon)
    entries = _lazy_entries(gap, epsilon, horizon)
    sizes = _sizes(horizon)
    beyond = np.cumsum((sizes * entries)[::-1])[::-1] - sizes * entries
    return 2 * sizes - 1, np.asarray(ROUNDING * beyond)


def lazy_pull_bound(*, gap: float, epsilon: float, horizon: float) -> float:
    """Bound E O_j(T) for Anytime-Lazy-UCB from above: the best cap with its excess, or T itself."""
    caps, excess = lazy_excess(gap=gap, epsilon=epsilon, horizon=horizon)
    return float(min(horizon, (caps + excess).min()))


def _hybrid_noise_log(level: Floats, rates: Floats, extra: int) -> Floats:
    """Return log E exp(rate * noise) of a release at array index ``level``; rates in units of epsilon.

    The release has that many arrays with Laplace(2), and as many nodes with Laplace(2 (level + extra)).
    """
    level = np.maximum(level, 1)  # the first count has one array and no node
    nodes = 2 * (level + extra) * rates
    safe = np.where(nodes < 1, nodes, 0.0)
    arrays = np.minimum(2 * rates, 0.999999)
    logs = -level * np.log1p(-(arrays**2)) - level * np.log1p(-(safe**2))
    return np.asarray(np.where(nodes < 1, logs, np.inf))


@lru_cache(maxsize=256)
def _hybrid_low(exponent: int, extra: int) -> float:
    """Bound the sum over rounds t >= 2^exponent and counts o <= t of P(arm 1 has an index below its mean).

    Rounds are in dyadic blocks, each at its first round. The reward part gets sqrt(3 o log2 t), which
    Hoeffding bounds by exp(-6 log2 t), the noise part 6 sqrt(8) log2 t floor(log2(o + 1)) / epsilon: epsilon
    cancels. The first count, whose release is one array with Laplace(2/epsilon), is treated separately.
    """
    total = 0.0
    for i in range(exponent, exponent + 64):
        rounds = 2.0**i
        block = rounds * 2.0 ** (i + 1) * math.exp(-6 * i)
        block += rounds * 0.5 * math.exp(-3 * math.sqrt(8) * i)
        levels = np.arange(1.0, i + 2)[:, None]
        rates = SHARES / (2 * (levels + extra))
        logs = _hybrid_noise_log(levels, rates, extra) - rates * 6 * math.sqrt(8) * i * levels
        block += float(rounds * (2.0 ** levels[:, 0] * best_bound(logs)).sum())
        total += block
    return (
        total + block
    ) * ROUNDING  # blocks more than halve by then: all later blocks sum to less than the last


def hybrid_excess(
    *, gap: float, epsilon: float, horizon: float, variant: Variant = "printed"
) -> tuple[Floats, Floats]:
    """Return caps m (increasing) and upper bounds on E max(0, O_j(T) - m) for Hybrid-UCB (Algorithm 4).

    A pull of arm j with o >= m earlier pulls needs one of two events. (A) The release after o pulls, plus its
    bonus at the horizon, reaches the best mean, which can serve one pull for each o. (B) In that round, t >
    m, an index of arm 1 is below the best mean. Hence the excess is at most sum over o >= m of P(A_o) + sum
    over t > m of P(B_t). Same ranges as ``lazy_excess``.
    """
    _check(gap, epsilon, horizon)
    extra = int(variant == "repaired")
    log_t = math.log2(horizon)
    edges = 2.0 ** (np.arange(BLOCKS * math.floor(log_t) + 1) / BLOCKS)
    edges = np.unique(np.ceil(np.append(edges, horizon)))
    start, end = edges[:-1], edges[1:] - 1
    level = np.floor(np.log2(start))
    radius = np.sqrt(3 * end * log_t) + 6 * math.sqrt(8) * log_t * np.floor(np.log2(end + 1)) / epsilon
    needed = start * gap - radius
    largest = np.minimum(4 * np.maximum(needed, 1e-300) / end, epsilon / (2 * (np.maximum(level, 1) + extra)))
    rates = largest[:, None] * SHARES
    logs = rates**2 * end[:, None] / 8 - rates * needed[:, None]
    logs += _hybrid_noise_log(level[:, None], rates / epsilon, extra)
    high = np.where(needed > 0, best_bound(logs), 1.0)
    later = np.cumsum((high * (end - start + 1))[::-1])[::-1]
    low = np.array([_hybrid_low(math.floor(math.log2(m)), extra) for m in start])
    excess = np.minimum(later + low, horizon - start) * ROUNDING
    return np.append(start, horizon), np.append(excess, 0.0)


def hybrid_pull_bound(*, gap: float, epsilon: float, horizon: float, variant: Variant = "printed") -> float:
    """Bound E O_j(T) for Hybrid-UCB from above: the best cap with its excess, or T itself."""
    caps, excess = hybrid_excess(gap=gap, epsilon=epsilon, horizon=horizon, variant=variant)
    return float(min(horizon, (caps + excess).min()))


def elimination_cap(
    gap: float, *, n_arms: int, epsilon: float, failure_probability: float, horizon: int
) -> float:
    """Return pulls of an arm by DP-SE outside an event of probability ``failure_probability`` at most.

    Outside it every noisy mean of an epoch is within h + c of its mean (Hoeffding and the Laplace tail with
    the radii of the algorithm; the failure probabilities sum to beta * pi^2 / 12 over epochs and arms). The
    best arm therefore stays, and an arm is eliminated in the first epoch with 4 (h + c) < gap.
    """
    pulls, epoch = 0, 0
    settings = {"epsilon": epsilon, "failure_probability": failure_probability}
    while pulls < horizon:
        epoch += 1
        length = epoch_length(epoch, n_arms, **settings)
        pulls += length
        # With fewer arms alive both the epoch and the radius shrink; length * radius grows with the number.
        reach = max(
            2 * radius(epoch, alive, epoch_length(epoch, alive, **settings), **settings)
            for alive in range(2, n_arms + 1)
        )
        if reach < gap:
            break
    return float(min(pulls, horizon))


# Where to cut a simulated regret on arms of given means, and the cost.


def lazy_cut(means: Sequence[float], *, epsilon: float, horizon: int) -> Cut:
    """Return the cut of Anytime-Lazy-UCB."""
    return _sum_cut(_lazy_pulls, means, epsilon, horizon)


def hybrid_cut(means: Sequence[float], *, epsilon: float, horizon: int, variant: Variant) -> Cut:
    """Return the cut of Hybrid-UCB."""
    return _sum_cut(partial(_hybrid_pulls, variant=variant), means, epsilon, horizon)


def elimination_cut(means: Sequence[float], *, epsilon: float, horizon: int) -> Cut:
    """Return the cut of DP-SE with failure probability 1/horizon.

    Outside an event of that probability every arm stays below its cap; inside it the regret is at most the
    horizon times the largest gap. Epochs grow by 4, and the last epoch is often not needed: hence two floors.
    """
    trivial, gaps = trivial_cut(means, horizon=horizon), gaps_of(means)
    if not gaps or horizon < 2:
        return trivial
    caps = [_elimination(gap, len(means), epsilon, horizon) for gap in gaps]
    cap = sum(gap * cap for gap, cap in zip(gaps, caps, strict=True))
    (uniform,) = trivial.floors
    return _better(Cut(cap, max(gaps), tuple(min(uniform, floor) for floor in (cap / 3, cap))), trivial)


def _sum_cut(
    pulls: Callable[[float, float, int], tuple[float, float]],
    means: Sequence[float],
    epsilon: float,
    horizon: int,
) -> Cut:
    """Add up caps and costs of the arms."""
    trivial, gaps = trivial_cut(means, horizon=horizon), gaps_of(means)
    if not gaps or horizon < 2:
        return trivial
    parts = [(gap, *pulls(gap, epsilon, horizon)) for gap in gaps]
    cap = sum(gap * cap for gap, cap, _ in parts)
    (uniform,) = trivial.floors
    return _better(Cut(cap, sum(gap * excess for gap, _, excess in parts), (min(uniform, cap),)), trivial)


def _better(cut: Cut, trivial: Cut) -> Cut:
    return cut if cut.cap + cut.excess < trivial.cap else trivial


@lru_cache(maxsize=1024)
def _lazy_pulls(gap: float, epsilon: float, horizon: int) -> tuple[float, float]:
    return _accepted(*lazy_excess(gap=gap, epsilon=epsilon, horizon=horizon))


@lru_cache(maxsize=1024)
def _hybrid_pulls(gap: float, epsilon: float, horizon: int, *, variant: Variant) -> tuple[float, float]:
    return _accepted(*hybrid_excess(gap=gap, epsilon=epsilon, horizon=horizon, variant=variant))


def _accepted(caps: Floats, excess: Floats) -> tuple[float, float]:
    """Return the first cap whose excess is a small share of it, and that excess."""
    first = int(np.argmax(excess <= EXCESS_SHARE * caps))
    return float(caps[first]), float(excess[first])


@lru_cache(maxsize=1024)
def _elimination(gap: float, n_arms: int, epsilon: float, horizon: int) -> float:
    return elimination_cap(
        gap, n_arms=n_arms, epsilon=epsilon, failure_probability=1 / horizon, horizon=horizon
    )


#: Neighbouring gaps of a supremum over all gaps.
STEP = 2**0.25


def worst_gap_regret(pulls: Callable[[float], float], *, n_arms: int, horizon: int) -> float:
    """Bound the regret over ALL gaps in [0, 1] from above.

    The arms below gap* contribute T gap*. Each other arm contributes the supremum of gap * pulls(gap),
    bounded on a geometric grid because pulls fall with the gap.
    """
    above, best, high = 0.0, float(horizon), 1.0
    while (n_arms - 1) * above < best and high * horizon > 0.25:
        low = high / STEP
        above = max(above, high * min(horizon, pulls(low)))
        best = min(best, horizon * low + (n_arms - 1) * above)
        high = low
    return best
