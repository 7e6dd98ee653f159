"""Caps on the regret of batched and successive elimination, with rigorous bounds on the expected regret
beyond them, at any failure probability.

A mean of simulated regrets has no useful upper confidence bound on the range [0, gap * T]. On [0, cap] it
has one, at the cost of E max(0, regret - cap). The usual argument (``batched_regret.cut_of``) is useless at
a failure probability p of 0.1: it allows 3p of the runs to fail. Runs are far better if rewards deviate by
less than the radius allows for. Chernoff's bound with the exact distributions gives:

* ``leave_bounds``: some arm is eliminated in batch b by another. Either the other's decoded sum is too far
  above, or a sum left the analyzer's window [-τ, ng + τ] and wrapped, and the other sum is off as well;
* ``stay_bounds``: an arm survives batch b although the best arm is active.

Arms that have left by batch b with only negligible probability count as active, because the radius grows
with the number of active arms. With many near-ties the early batches decide nothing.

Sums of clipped Gaussians: a clipped Gaussian is a 1-Lipschitz function of a Gaussian, hence as sub-Gaussian
as that Gaussian; graded rewards: exact moment generating functions. Random rounding: Hoeffding's lemma,
1/(8 g²) for each user. Noise: exact for (discrete) Laplace and Skellam noise, sub-Gaussian for discrete
Gaussians.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive, probability
from dpaudit.distributions.chernoff import best_bound
from dpaudit.reference.algorithms.mab.batched_elimination import batch_length, confidence_radius
from dpaudit.reference.algorithms.mab.competitors import BASELINE, Competitor
from dpaudit.reference.algorithms.mab.distributed_elimination import DESIGNS
from dpaudit.reference.algorithms.mab.reward_models import ClippedGaussians, RewardLevels, RewardModel
from dpaudit.reference.algorithms.mab.successive_elimination import epoch_length, radius
from dpaudit.suite.regret import Cut

__all__ = ["Tails", "cut_of", "leave_bounds", "stay_bounds", "tails_of"]

Floats = NDArray[np.float64]

#: A cap is accepted once the expected regret beyond it is at most this share of it.
EXCESS_SHARE = 0.001
#: Probability that an arm counted as kept is not, in one batch.
NEGLIGIBLE = 1e-9
#: Exponents are sums of up to 10^7 terms of a rounded logarithm; this factor covers it.
ROUNDING = 1 + 1e-6
#: Shares of the largest useful rate that are tried; any rate is valid.
_SHARES = np.concatenate([np.geomspace(3e-4, 0.8, 24), 1 - np.geomspace(0.2, 2e-3, 8)])


@dataclass(frozen=True)
class Tails:
    """One batch of R instances: ``users`` pulls of each active arm; ``means`` (R, K).

    ``up`` and ``down`` are log E exp(±rate (sum - mean)) on the ``rates`` (L,), of a shape that broadcasts to
    (R, K, L). An arm is eliminated if its decoded sum is further than ``reach`` behind the best. ``margin``
    is τ/g, infinite without an analyzer.
    """

    users: int
    means: Floats
    rates: Floats
    up: Floats
    down: Floats
    reach: float
    margin: float

    @property
    def best(self) -> NDArray[np.intp]:
        """Return the best arm of each instance, shape (R, 1)."""
        return np.asarray(np.argmax(self.means, axis=1)[:, None])

    def chernoff(self, logs: Floats, above: Floats) -> Floats:
        """Bound P(deviation >= above), with ``logs`` (..., L) its log moment generating function; 1 for
        above <= 0.
        """
        bounds = best_bound(logs - self.rates * above[..., None])
        return np.asarray(np.where(above > 0, bounds, 1.0) * ROUNDING)

    @property
    def wraps(self) -> Floats:
        """Bound the probability that each arm's sum leaves the window, shape (R, K)."""
        if math.isinf(self.margin):
            return np.zeros(self.means.shape)
        centre = self.users * self.means
        beyond = self.chernoff(self.up, self.users + self.margin - centre)
        return np.minimum(beyond + self.chernoff(self.down, self.margin + centre), 1.0)

    @property
    def decides(self) -> bool:
        """Check whether decoded sums can be so far apart that an arm is eliminated."""
        return self.reach < self.users + 2 * self.margin

    def of_all(self, logs: Floats) -> Floats:
        return np.broadcast_to(logs, (*self.means.shape, len(self.rates)))


def stay_bounds(tails: Tails) -> Floats:
    """Bound P(arm survives the batch | it and the best arm are active), shape (R, K); 1 for the best arm."""
    if not tails.decides:
        return np.ones(tails.means.shape)
    best, wraps = tails.best, tails.wraps
    gaps = np.take_along_axis(tails.means, best, axis=1) - tails.means
    rival = np.take_along_axis(tails.of_all(tails.down), best[..., None], axis=1)
    bounds = tails.chernoff(tails.up + rival, tails.users * gaps - tails.reach)
    bounds = np.minimum(bounds + wraps + np.take_along_axis(wraps, best, axis=1), 1.0)
    np.put_along_axis(bounds, best, 1.0, axis=1)
    return np.asarray(bounds)


def leave_bounds(tails: Tails) -> Floats:
    """Bound P(arm is eliminated in the batch | it is active) for any other active arms, shape (R, K).

    The bound is a sum over the others. Without a wrap the two sums are too far apart. With a wrap of the
    other arm its decoded sum is at most n + τ/g, so this arm's sum is below n + τ/g - reach. With a wrap of
    this arm the other sum is above reach - τ/g. Or both wrap. Sums of different arms are independent.
    """
    if not tails.decides:
        return np.zeros(tails.means.shape)
    centre = tails.users * tails.means
    up, down = tails.of_all(tails.up), tails.of_all(tails.down)
    ahead = tails.reach + centre[:, :, None] - centre[:, None, :]  # [run, this arm, other arm]
    others = ~np.eye(centre.shape[1], dtype=bool)
    bounds = (tails.chernoff(down[:, :, None] + up[:, None, :], ahead) * others).sum(axis=2)
    if not math.isinf(tails.margin):
        wraps = tails.wraps
        low = tails.chernoff(down, centre - (tails.users + tails.margin - tails.reach))
        high = tails.chernoff(up, tails.reach - tails.margin - centre)
        bounds = bounds + low * (wraps @ others) + wraps * np.minimum((high + wraps) @ others, 1.0)
    return np.asarray(np.minimum(bounds, 1.0))


def cut_of(
    competitor: Competitor,
    model: RewardModel,
    *,
    epsilon: ExactLike,
    failure_prob: ExactLike,
    horizon: int,
) -> Cut:
    """Return a cap that holds for every instance of ``model``, and the expected regret beyond it.

    The expected regret is averaged over the instances. ``floors`` are fractions of the cap.
    """
    gaps = model.means.max(axis=1, keepdims=True) - model.means
    worst = gaps.max(axis=1) * horizon
    arms_best = np.argmax(model.means, axis=1)[:, None]
    kept = np.ones(gaps.shape, dtype=bool)
    active = [np.ones(gaps.shape)]
    sizes: list[int] = []
    failure, played = np.zeros(len(gaps)), 0
    while played < horizon:  # at least two arms are active as long as anything is decided
        least = np.maximum(kept.sum(axis=1), 2)
        numbers = _numbers_active(competitor, least, gaps.shape[1])
        after = partial(
            tails_of, competitor, model, batch=len(sizes) + 1, epsilon=epsilon, failure_prob=failure_prob
        )
        batches = {n: after(n_active=n) for n in numbers}
        stay, leave = _worst_bounds(batches, least)
        kept &= leave <= NEGLIGIBLE
        np.put_along_axis(kept, arms_best, True, axis=1)
        failure += np.where(kept, leave, 0.0).sum(axis=1)
        active.append(np.minimum(active[-1], stay))
        lengths = [tails.users for tails in batches.values()]
        sizes.append(min(max(lengths), horizon))
        played += 2 * min(lengths)
    most, beyond = _pulls(np.array(sizes, dtype=np.float64), np.array(active[:-1]), horizon)
    caps = _most_regret(gaps, most, horizon)
    excess = ((gaps * beyond).sum(axis=1) + worst * np.minimum(failure, 1.0)) * ROUNDING
    trivial = caps + excess >= worst
    cap = float(np.where(trivial, worst, caps).max())
    return Cut(cap, float(np.where(trivial, 0.0, excess).mean()), (cap / 4, cap / 2, cap))


def _worst_bounds(batches: Mapping[int, Tails], least: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the largest ``stay_bounds`` and ``leave_bounds`` over the numbers of active arms (the keys) from
    ``least`` (R,) on.

    Each has shape (R, K).
    """
    shape = next(iter(batches.values())).means.shape
    stay, leave = np.zeros(shape), np.zeros(shape)
    for n, tails in batches.items():
        possible = (least <= n)[:, None]
        stay = np.maximum(stay, np.where(possible, stay_bounds(tails), 0.0))
        leave = np.maximum(leave, np.where(possible, leave_bounds(tails), 0.0))
    return stay, leave


def _pulls(sizes: Floats, active: Floats, horizon: int) -> tuple[Floats, Floats]:
    """Return pulls of each arm up to the batch after which few are expected, and the expected later pulls.

    Each has shape (R, K). ``sizes`` (B,) are lengths, ``active`` (B, R, K) bounds on P(the arm is active).
    """
    length = sizes[:, None, None]
    pulls = np.minimum(np.cumsum(length, axis=0), horizon) * np.ones(active.shape[1:])
    reached = length * active
    later = np.cumsum(reached[::-1], axis=0)[::-1] - reached
    last = np.argmax(later <= EXCESS_SHARE * pulls, axis=0)[None]
    most, beyond = (np.take_along_axis(array, last, axis=0)[0] for array in (pulls, later))
    return most, beyond


def _most_regret(gaps: Floats, most: Floats, horizon: int) -> Floats:
    """Return the largest Σ gap N with N <= ``most`` for each arm and Σ N <= ``horizon``: worst arms first."""
    order = np.argsort(-gaps, axis=1)
    filled = np.minimum(np.cumsum(np.take_along_axis(most, order, axis=1), axis=1), horizon)
    pulls = np.diff(filled, axis=1, prepend=0.0)
    return np.asarray((np.take_along_axis(gaps, order, axis=1) * pulls).sum(axis=1))


def _numbers_active(competitor: Competitor, least: NDArray[np.intp], n_arms: int) -> list[int]:
    """Return the numbers of active arms that have to be tried.

    The radius grows with the number of active arms, the length does not: both ends are the worst. In the
    baseline the length grows as well: all numbers.
    """
    if competitor.name == BASELINE:
        return list(range(int(least.min()), n_arms + 1))
    return sorted({*least.tolist(), n_arms})


def tails_of(
    competitor: Competitor,
    model: RewardModel,
    *,
    batch: int,
    n_active: int,
    epsilon: ExactLike,
    failure_prob: ExactLike,
) -> Tails:
    """Return batch ``batch`` (from 1) of ``competitor`` on the instances of ``model``, ``n_active`` arms
    left.
    """
    budget, p = positive(epsilon, name="epsilon"), probability(failure_prob, name="failure_prob")
    e = float(budget)
    if competitor.name == BASELINE:
        settings = {"epsilon": e, "failure_probability": float(p)}
        users = epoch_length(batch, n_active, **settings)
        reach = users * radius(batch, n_active, users, **settings)
        rates, margin = e * _SHARES, math.inf
        shared = -np.log1p(-((rates / e) ** 2))
    else:
        design = DESIGNS[competitor.name]
        if design.relaxed:
            raise InvalidParameterError(
                f"a competitor must sum exactly, got {competitor.name}; add the errors of its sums here."
            )
        chosen = competitor.variant(epsilon=budget, failure_prob=p)
        users = batch_length(batch, growth=competitor.growth)
        sheet = chosen.sheet(users)
        tail = chosen.tail(users)
        reach = 2 * users * float(confidence_radius(batch, n_active, users, failure_prob=float(p), tail=tail))
        rates = _SHARES * (e if design.noise.startswith("laplace") else 200.0)
        margin = sheet.noise_margin / sheet.precision
        steps = rates / sheet.precision
        shared = design.cumulant(steps, sheet, budget) + users * steps**2 / 8
    up, down = (users * _reward_log_mgf(model, sign * rates) + shared for sign in (1, -1))
    return Tails(users, model.means, rates, up, down, reach, margin)


def _reward_log_mgf(model: RewardModel, rates: Floats) -> Floats:
    """Return log E exp(rate (x - mean)) of one reward of each arm, or an upper bound; broadcasts to (R, K,
    L).
    """
    if isinstance(model, ClippedGaussians):
        return np.asarray((model.deviation * rates) ** 2 / 2)
    if isinstance(model, RewardLevels):
        levels = np.array([float(level) for level in model.levels])
        centred = levels - model.means[..., None]
        exponents = centred[..., None] * rates
        largest = exponents.max(axis=2)
        sums = (model.chances[..., None] * np.exp(exponents - largest[:, :, None])).sum(axis=2)
        return np.asarray(largest + np.log(sums))
    raise InvalidParameterError(
        f"model must be ClippedGaussians or RewardLevels, got {type(model).__name__}; add its rewards here."
    )
