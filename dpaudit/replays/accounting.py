"""Observed accounting: which sites one changed record touched, and what each touch can cost at the worst
outcome.

A proof declares *sites* (``dpaudit.proofs.sites``): which releases a record can enter, how often, at what
price. A replay shows what it did enter. The two are held against each other: an undeclared move, a touch too
many or a price above the declared one breaks the accounting, whether or not the decisions hide it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.replayer import Replay, SiteLoss
from dpaudit.errors import NotTractableError
from dpaudit.exact import dyadic, exact
from dpaudit.kernel.ball import upper_exact
from dpaudit.laws import DiscreteLaplace, Laplace, Shifted, WrappedMod
from dpaudit.laws.base import Law, law_from_json
from dpaudit.laws.exact_weights import exact_loss
from dpaudit.proofs.sites import Site, total_of
from dpaudit.replays.residues import wrapped_loss

__all__ = ["Observed", "observe_accounting", "worst_loss"]

#: A mean of data, such as a tenth, is no dyadic number: the margin that refutations have too.
ROUNDING = 1 + Fraction(1, 10**9)


@dataclass(frozen=True)
class Observed:
    """What one replay touched: per declared site the number of sites and the worst-case price;
    ``undeclared`` sites that moved."""

    touches: dict[str, int]
    prices: dict[str, Fraction]
    undeclared: tuple[str, ...]
    total: Fraction

    def violations(self, sites: Sequence[Site]) -> list[str]:
        """Every way in which the observation exceeds the declaration, in words."""
        found = [f"site {name!r} moved and is no declared site" for name in self.undeclared]
        for item in sites:
            touched, price = self.touches[item.pattern], self.prices[item.pattern]
            if touched > item.touches:
                found.append(f"{item.pattern}: touched {touched} times, declared {item.touches}")
            if price > item.price * ROUNDING:
                found.append(
                    f"{item.pattern}: one record can cost {float(price):.6g}, declared "
                    f"{float(item.price):.6g}"
                )
        total = total_of(sites)
        if self.total > total * ROUNDING:
            found.append(f"one record can cost {float(self.total):.6g} in all, declared {float(total):.6g}")
        return found


def observe_accounting(replay: Replay, sites: Sequence[Site]) -> Observed:
    """Sort the moved sites of a replay into the declared sites and price each at its worst outcome; a
    channel counts once, at the joint loss of its answers."""
    touches = {item.pattern: 0 for item in sites}
    prices = {item.pattern: Fraction(0) for item in sites}
    undeclared: list[str] = []
    total = Fraction(0)
    for moved in (loss for loss in replay.losses if loss.moved):
        price = _price(moved)
        total += price
        owner = next((item for item in sites if item.matches(moved.record.site)), None)
        if owner is None:
            undeclared.append(moved.record.site)
        else:
            touches[owner.pattern] += 1
            prices[owner.pattern] += price
    for session in replay.sessions:
        if session.moved and session.indices:
            site = replay.recording.sites[session.indices[0]].site
            price = _finite_price(session.loss(replay.reached))
            total += price
            owner = next((item for item in sites if item.matches(site)), None)
            if owner is None:
                undeclared.append(site)
            else:
                touches[owner.pattern] += 1
                prices[owner.pattern] += price
    return Observed(touches, prices, tuple(undeclared), total)


def _price(moved: SiteLoss) -> Fraction:
    """The worst price of a moved site where it has a closed form, otherwise the price at the recorded
    outcome."""
    if moved.record.law is not None:
        worst = worst_loss(moved.record.law, moved.law_neighbour)
        if worst is not None:
            return worst
    return _finite_price(moved.loss)


def _finite_price(loss: NDArray[np.float64]) -> Fraction:
    realised = float(np.max(np.abs(loss)))
    return Fraction(realised) if np.isfinite(realised) else Fraction(10**300)


def worst_loss(law: Law, other: Law) -> Fraction | None:
    """An upper bound, attained or approached, on |log p - log p'| over all outcomes (modulo m up to the
    rounding of floats); ``None`` where no rule here gives it.

    Laplace and discrete Laplace noise of equal scale at two offsets: the l1 distance over the scale, attained
    in the tail (Dwork and Roth 2014, Theorem 3.6). One integer law modulo m at two offsets: the largest
    log-ratio over all residues, of which floats find the place and balls the value. Other laws with finitely
    many atoms: the largest log-ratio, exactly where all of them are rational, otherwise from balls.
    """
    if isinstance(law, Shifted) and isinstance(other, Shifted):
        return _shift_loss(law, other)
    if isinstance(law, WrappedMod) and isinstance(other, WrappedMod):
        found = wrapped_loss(law, other)
        if found is not None:
            return found
    return _finite_loss(json.dumps(law.to_json()), json.dumps(other.to_json()))


@functools.lru_cache(maxsize=4096)
def _finite_loss(law_text: str, other_text: str) -> Fraction | None:
    """The largest log-ratio of two laws with finitely many atoms. Cached by the laws' text: a search meets
    the same pair many times."""
    law, other = (law_from_json(json.loads(text)) for text in (law_text, other_text))
    exactly = exact_loss(law, other)
    if exactly is not None:
        return exactly
    try:
        left = {_key(value): p for value, p in law.atoms()}
        right = {_key(value): p for value, p in other.atoms()}
    except NotTractableError:
        return None
    if left.keys() != right.keys() or any(not p > 0 for p in (*left.values(), *right.values())):
        return None
    return max(upper_exact(abs((left[key] / right[key]).log())) for key in left)


def _shift_loss(law: Shifted, other: Shifted) -> Fraction | None:
    base = law.base
    if base != other.base or not isinstance(base, Laplace | DiscreteLaplace):
        return None
    if law.batch_shape != other.batch_shape:
        return None
    pairs = zip(_entries(law.offset), _entries(other.offset), strict=True)
    return sum((abs(a - b) for a, b in pairs), Fraction(0)) / exact(base.scale)


def _entries(offset: Fraction | NDArray[Any]) -> list[Fraction]:
    return [offset] if isinstance(offset, Fraction) else [dyadic(entry) for entry in offset.ravel().tolist()]


def _key(value: Any) -> Any:
    return tuple(np.ravel(value).tolist()) if np.ndim(value) else value
