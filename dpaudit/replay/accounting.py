"""Observe which sites one changed record affects, and what each can cost at its worst outcome.

A proof declares *sites* (``dpaudit.certify.sites``): which releases a record can affect, how often, and at
what cost. A replay shows which it did affect. An undeclared affected site, an affected site too many, or a
cost above the declared one breaks the accounting, whether or not the decisions hide it.
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

from dpaudit.certify.measures import Measure
from dpaudit.certify.sites import Site, allowed_by
from dpaudit.coins.equal_shifts import by_name, equal_shifts
from dpaudit.coins.replayer import Replay, SessionPair, SiteLoss
from dpaudit.core.errors import NotTractableError
from dpaudit.distributions.base import Distribution, distribution_from_json
from dpaudit.distributions.exact_weights import exact_loss
from dpaudit.kernel.ball import upper_exact
from dpaudit.replay.channel_costs import node_distributions, threshold_cost

__all__ = ["Observed", "common_measure", "observe_accounting", "worst_cost", "worst_loss"]

#: The margin of refutations. A mean of data, such as 1/10, is not dyadic.
ROUNDING = 1 + Fraction(1, 10**9)


@dataclass(frozen=True)
class Observed:
    """The sites that one replay affected: for each declared site their number and worst-case cost.

    ``undeclared`` lists other affected sites. ``channels`` lists declared sites that a channel affected.
    Costs are in the measure of the sites (``certify.measures``).
    """

    touches: dict[str, int]
    costs: dict[str, Fraction]
    undeclared: tuple[str, ...]
    total: Fraction
    channels: frozenset[str] = frozenset()

    def violations(self, sites: Sequence[Site]) -> list[str]:
        """Describe every way in which the observation exceeds the declaration."""
        found = [f"site {name!r} is affected but not declared" for name in self.undeclared]
        for item in sites:
            touched, cost = self.touches[item.pattern], self.costs[item.pattern]
            if touched > item.touches:
                found.append(f"{item.pattern}: affected {touched} times, declared {item.touches}")
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


_UNITS: dict[Measure, str] = {"loss": "", "square": " in squares", "count": " affected sites"}


def common_measure(sites: Sequence[Site]) -> Measure:
    """Return the measure in which the sites add up, which is also that of undeclared sites."""
    found = {site.measure for site in sites}
    return "square" if "square" in found else "loss" if "loss" in found or not found else "count"


def observe_accounting(replay: Replay, sites: Sequence[Site]) -> Observed:
    """Assign the affected sites of a replay to the declared sites, with their costs at the worst outcome.

    A channel counts once, at the joint loss of its answers.
    """
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
    """Yield the names of affected sites, how many have equal distributions, and their cost in any measure."""
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
    """Return the ``worst`` cost of all ``items``, which have the same distributions.

    If it has no closed form, return their costs at the recorded outcomes.
    """
    cost = worst(measure)
    if cost is not None:
        return len(items) * cost
    return sum((_realised(item.loss, measure) for item in items), Fraction(0))


def _session_cost(session: SessionPair, reached: int, measure: Measure) -> Fraction:
    """Return the cost of a channel.

    This is the sum over the nodes of a tree, the cost of the worst answers of AboveThreshold, and otherwise
    the cost of the recorded answers.
    """
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
    """Return the cost of a change from ``distribution`` to ``other`` at its worst outcome in ``measure``.

    Return ``None`` if no rule here applies. In squares it is ``Distribution.squared_cost``. Shuffled messages
    of which one changed cost no more than that one does, if nothing finer is known.
    """
    if measure == "count":
        return Fraction(1)
    cost = _own_cost(distribution, other, measure)
    message = distribution.changed_message(other) if cost is None else None
    return cost if message is None else _own_cost(*message, measure)


def _own_cost(distribution: Distribution, other: Distribution, measure: Measure) -> Fraction | None:
    loss = partial(worst_loss, distribution, other)
    return loss() if measure == "loss" else distribution.squared_cost(other, loss)


def worst_loss(distribution: Distribution, other: Distribution) -> Fraction | None:
    """Return an upper bound, attained or approached, on |log p - log p'| over all outcomes.

    For values modulo m it holds up to the rounding of floats. Return ``None`` if no rule here applies.

    The same noise at two offsets: the sum of the entries' losses, for Laplace noise the l1 distance
    over the scale (Dwork and Roth 2014, Theorem 3.6). One integer distribution modulo m at two offsets: the
    largest log-ratio over all residues, located in floats and evaluated in balls. Other distributions with
    finitely many atoms: the largest log-ratio, exact if all of them are rational, otherwise from balls.
    """
    loss = distribution.largest_loss(other)
    if loss is not None:
        return loss if isinstance(loss, Fraction) else upper_exact(loss)
    return _finite_loss(json.dumps(distribution.to_json()), json.dumps(other.to_json()))


@functools.lru_cache(maxsize=4096)
def _finite_loss(distribution_text: str, other_text: str) -> Fraction | None:
    """Return the largest log-ratio of two distributions with finitely many atoms.

    Cached by the distributions' text, because a search meets the same pair many times.
    """
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


def _key(value: Any) -> Any:
    return tuple(np.ravel(value).tolist()) if np.ndim(value) else value
