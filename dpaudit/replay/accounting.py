"""Observed accounting: which sites one changed record touched, and what each touch can cost at the worst
outcome.

A proof declares *sites* (``dpaudit.certify.sites``): which releases a record can enter, how often, at what
cost. A replay shows what it did enter. The two are held against each other: an undeclared move, a touch too
many or a cost above the declared one breaks the accounting, whether or not the decisions hide it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.certify.measures import Measure
from dpaudit.certify.sites import Site, allowed_by
from dpaudit.coins.equal_shifts import by_name, equal_shifts
from dpaudit.coins.replayer import Replay, SessionPair, SiteLoss
from dpaudit.core.errors import NotTractableError
from dpaudit.core.exact import dyadic, exact
from dpaudit.distributions import (
    DiscreteLaplace,
    Gaussian,
    Gumbel,
    Laplace,
    NoisyArgmax,
    Shifted,
    WrappedMod,
)
from dpaudit.distributions.base import Distribution, distribution_from_json
from dpaudit.distributions.exact_weights import exact_loss
from dpaudit.kernel.ball import upper_exact
from dpaudit.replay.channel_costs import node_distributions, threshold_cost
from dpaudit.replay.residues import wrapped_loss
from dpaudit.replay.shifts import base_of, moved_message, moves_of, spread_of

__all__ = ["Observed", "common_measure", "observe_accounting", "worst_cost", "worst_loss"]

#: A mean of data, such as a tenth, is no dyadic number: the margin that refutations have too.
ROUNDING = 1 + Fraction(1, 10**9)


@dataclass(frozen=True)
class Observed:
    """What one replay touched: per declared site the number of sites and the worst-case cost;
    ``undeclared`` sites that moved; ``channels``: declared sites that a channel touched. Costs are in the
    measure of the sites (``proofs.measures``)."""

    touches: dict[str, int]
    costs: dict[str, Fraction]
    undeclared: tuple[str, ...]
    total: Fraction
    channels: frozenset[str] = frozenset()

    def violations(self, sites: Sequence[Site]) -> list[str]:
        """Every way in which the observation exceeds the declaration, in words."""
        found = [f"site {name!r} moved and is no declared site" for name in self.undeclared]
        for item in sites:
            touched, cost = self.touches[item.pattern], self.costs[item.pattern]
            if touched > item.touches:
                found.append(f"{item.pattern}: touched {touched} times, declared {item.touches}")
            if cost > item.allowed * ROUNDING:
                found.append(
                    f"{item.pattern}: one record can cost {float(cost):.6g}{_UNITS[item.measure]}, declared "
                    f"{float(item.allowed):.6g}"
                )
        total, unit = allowed_by(sites), _UNITS[common_measure(sites)]
        if self.total > total * ROUNDING:
            found.append(
                f"one record can cost {float(self.total):.6g}{unit} in all, declared {float(total):.6g}"
            )
        return found


_UNITS: dict[Measure, str] = {"loss": "", "square": " in squares", "count": " touches"}


def common_measure(sites: Sequence[Site]) -> Measure:
    """The measure in which the sites add up; that of an undeclared site too."""
    found = {site.measure for site in sites}
    return "square" if "square" in found else "loss" if "loss" in found or not found else "count"


def observe_accounting(replay: Replay, sites: Sequence[Site]) -> Observed:
    """Sort the moved sites of a replay into the declared sites and cost each at its worst outcome; a
    channel counts once, at the joint loss of its answers."""
    touches = {item.pattern: 0 for item in sites}
    costs = {item.pattern: Fraction(0) for item in sites}
    undeclared: list[str] = []
    total, common = Fraction(0), common_measure(sites)
    opened = {replay.recording.sites[item.indices[0]].site for item in replay.sessions if item.indices}
    for site, count, cost_of in _moved(replay):
        owner = next((item for item in sites if item.matches(site)), None)
        cost = cost_of(common if owner is None else owner.measure)
        total += cost
        if owner is None:
            undeclared += [site] * count
        else:
            touches[owner.pattern] += count
            costs[owner.pattern] += cost
    channels = {item.pattern for item in sites if touches[item.pattern] and any(map(item.matches, opened))}
    return Observed(touches, costs, tuple(undeclared), total, frozenset(channels))


def _moved(replay: Replay) -> Iterator[tuple[str, int, Callable[[Measure], Fraction]]]:
    """The names of the sites that moved, each with how many of them have equal distributions, and what these
    cost in any measure."""
    for moves in equal_shifts(replay):
        worst = functools.cache(partial(worst_cost, moves.distribution, moves.other))
        for site, items in by_name(moves).items():
            yield site, len(items), partial(_sites_cost, items, worst)
    for session in replay.sessions:
        if session.moved and session.indices:
            site = replay.recording.sites[session.indices[0]].site
            yield site, 1, partial(_session_cost, session, replay.reached)


def _sites_cost(
    items: Sequence[SiteLoss], worst: Callable[[Measure], Fraction | None], measure: Measure
) -> Fraction:
    """The ``worst`` cost of a site for each of ``items``, which have the same distributions, where it has a
    closed form, otherwise their costs at the recorded outcomes."""
    cost = worst(measure)
    if cost is not None:
        return len(items) * cost
    return sum((_realised(item.loss, measure) for item in items), Fraction(0))


def _session_cost(session: SessionPair, reached: int, measure: Measure) -> Fraction:
    """The cost of a channel: of a tree the sum over its nodes, of AboveThreshold that of its worst answers,
    otherwise that of the recorded ones."""
    nodes = node_distributions(session)
    if nodes and measure != "count":
        costs = [worst_cost(distribution, other, measure) for distribution, other in nodes]
        known = [cost for cost in costs if cost is not None]
        if len(known) == len(costs):
            return sum(known, Fraction(0))
    loss = threshold_cost(session)
    if loss is not None and measure != "count":
        return loss**2 if measure == "square" else loss
    return _realised(np.sum(session.loss(reached)), measure)


def _realised(loss: Any, measure: Measure) -> Fraction:
    if measure == "count":
        return Fraction(1)
    realised = float(np.max(np.abs(loss)))
    cost = Fraction(realised) if np.isfinite(realised) else Fraction(10**150)  # its square is a float too
    return cost**2 if measure == "square" else cost


def worst_cost(distribution: Distribution, other: Distribution, measure: Measure) -> Fraction | None:
    """What a move from ``distribution`` to ``other`` costs at its worst outcome in ``measure``; ``None``
    where no rule here gives it.

    In squares: the squared change over the variance where the noise has Gaussian tails, a quarter of the
    squared worst loss for a maximum with Gumbel noise (bounded range: e^2/8-zCDP, Cesar and Rogers 2021), the
    scores' squared change around its mean over the variance for one with Gaussian noise (a common shift moves
    no maximum), and the squared worst loss otherwise (e^2/2-zCDP, Bun and Steinke 2016, Proposition 1.4).
    Shuffled messages of which one moved cost no more than that one does, where nothing finer is known.
    """
    if measure == "count":
        return Fraction(1)
    cost = _own_cost(distribution, other, measure)
    message = moved_message(distribution, other) if cost is None else None
    return cost if message is None else _own_cost(*message, measure)


def _own_cost(distribution: Distribution, other: Distribution, measure: Measure) -> Fraction | None:
    if measure == "loss":
        return worst_loss(distribution, other)
    spread, moves = spread_of(base_of(distribution)), moves_of(distribution, other)
    if spread is not None and spread > 0 and moves is not None:
        return sum((gap**2 for gap in moves), Fraction(0)) / spread
    if (
        isinstance(distribution, NoisyArgmax)
        and isinstance(other, NoisyArgmax)
        and isinstance(distribution.noise, Gaussian)
    ):
        alike = distribution.noise == other.noise and distribution.scores.shape == other.scores.shape
        return _centred_square(distribution, other) / distribution.noise.sigma2 if alike else None
    loss = worst_loss(distribution, other)
    if loss is None:
        return None
    return (
        loss**2 / 4
        if isinstance(distribution, NoisyArgmax) and isinstance(distribution.noise, Gumbel)
        else loss**2
    )


def _centred_square(distribution: NoisyArgmax, other: NoisyArgmax) -> Fraction:
    """The sum of squares of the scores' changes, each minus their mean, of all maxima together."""
    here, there = (one.scores.reshape(-1, one.count).tolist() for one in (distribution, other))
    total = Fraction(0)
    for row, moved in zip(here, there, strict=False):
        gaps = [dyadic(a) - dyadic(b) for a, b in zip(row, moved, strict=False)]
        mean = sum(gaps, Fraction(0)) / len(gaps)
        total += sum(((gap - mean) ** 2 for gap in gaps), Fraction(0))
    return total


def worst_loss(distribution: Distribution, other: Distribution) -> Fraction | None:
    """An upper bound, attained or approached, on |log p - log p'| over all outcomes (modulo m up to the
    rounding of floats); ``None`` where no rule here gives it.

    Laplace and discrete Laplace noise of equal scale at two offsets: the l1 distance over the scale, attained
    in the tail (Dwork and Roth 2014, Theorem 3.6). One integer distribution modulo m at two offsets: the
    largest
    log-ratio over all residues, of which floats find the place and balls the value. Other distributions with
    finitely many atoms: the largest log-ratio, exactly where all of them are rational, otherwise from balls.
    """
    if isinstance(distribution, Shifted) and isinstance(other, Shifted):
        return _shift_loss(distribution, other)
    if isinstance(distribution, WrappedMod) and isinstance(other, WrappedMod):
        found = wrapped_loss(distribution, other)
        if found is not None:
            return found
    return _finite_loss(json.dumps(distribution.to_json()), json.dumps(other.to_json()))


@functools.lru_cache(maxsize=4096)
def _finite_loss(distribution_text: str, other_text: str) -> Fraction | None:
    """The largest log-ratio of two distributions with finitely many atoms. Cached by the distributions' text:
    a search meets the same pair many times."""
    distribution, other = (
        distribution_from_json(json.loads(text)) for text in (distribution_text, other_text)
    )
    exactly = exact_loss(distribution, other)
    if exactly is not None:
        return exactly
    try:
        left = {_key(value): p for value, p in distribution.atoms()}
        right = {_key(value): p for value, p in other.atoms()}
    except NotTractableError:
        return None
    if left.keys() != right.keys() or any(not p > 0 for p in (*left.values(), *right.values())):
        return None
    return max(upper_exact(abs((left[key] / right[key]).log())) for key in left)


def _shift_loss(distribution: Shifted, other: Shifted) -> Fraction | None:
    base = distribution.base
    if base != other.base or not isinstance(base, Laplace | DiscreteLaplace):
        return None
    if distribution.batch_shape != other.batch_shape:
        return None
    pairs = zip(_entries(distribution.offset), _entries(other.offset), strict=True)
    return sum((abs(a - b) for a, b in pairs), Fraction(0)) / exact(base.scale)


def _entries(offset: Fraction | NDArray[Any]) -> list[Fraction]:
    return [offset] if isinstance(offset, Fraction) else [dyadic(entry) for entry in offset.ravel().tolist()]


def _key(value: Any) -> Any:
    return tuple(np.ravel(value).tolist()) if np.ndim(value) else value
