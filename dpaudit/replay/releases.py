"""Make a witness from the first release of a program: choose which pieces of its distributions to compare.

It supports claims of any notion. Only a site with nothing random before it has unconditional distributions.
Whatever a program does afterwards cannot undo what that site showed (``witnesses.release``).
"""

from __future__ import annotations

import copy
import functools
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.leak import prefix_masses
from dpaudit.certify.witnesses.release import MAX_PARTS, gaussian_square, release_after, release_bound
from dpaudit.certify.witnesses.transcript import transcript_body
from dpaudit.coins.replayer import Replay, SiteLoss
from dpaudit.core.claims import ApproxDP, Claim, RenyiDP, ZeroConcentratedDP
from dpaudit.core.claims.accounting import ConcentratedAccounting, RenyiAccounting
from dpaudit.core.errors import DpauditError, NotTractableError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import exact, exact_str
from dpaudit.core.views import PUBLIC, View
from dpaudit.distributions.base import BaseMeasure, Distribution, distribution_from_json
from dpaudit.kernel.ball import precision

__all__ = ["first_release", "later_releases", "prefix_release_witness", "release_part", "release_witness"]

#: Bits of a stated bound. The checker uses more, so that its enclosure is inside this one's.
BITS = 128
#: Number of integers, or of cells of the line, that one coordinate is cut into, and the tail that is left
#: out.
POINTS, CUTS, TAIL = 4_000, 64, 2.0**-60
#: Orders tried for a zCDP claim, whose bound holds at every order.
ORDERS = tuple(Fraction(text) for text in ("11/10", "3/2", "2", "4", "8", "16", "64"))


def first_release(result: Replay, view: View) -> SiteLoss | None:
    """Return the first random site of a replay, on either input, if it is affected and ``view`` sees it."""
    sites = result.recording.sites
    place = next((index for index, site in enumerate(sites) if site.random), None)
    if place is None or (result.hidden_from is not None and result.hidden_from <= place):
        return None
    found = next((item for item in result.losses if item.index == place and item.moved), None)
    if found is None or not view.sees(found.record.to) or result.recording.replicates is not None:
        return None
    return found


def later_releases(result: Replay, view: View) -> Iterator[SiteLoss]:
    """Yield affected sites after random ones, if all have probabilities and ``view`` sees them."""
    if result.recording.replicates is not None:
        return
    losses, later = {item.index: item for item in result.losses}, False
    for index, site in enumerate(result.recording.sites[: result.witness_end(view)]):
        if not site.random:
            continue
        item = losses.get(index)
        if item is None or site.distribution is None:
            return  # a channel, or without a distribution of its own
        if item.moved and later:
            yield item
        if site.distribution.base_measure is BaseMeasure.LEBESGUE:
            return  # one outcome of a density has probability 0
        later = True


def release_part(item: SiteLoss) -> dict[str, Any] | None:
    """Return the pieces into which a release of one number is cut, or ``None`` if that is impossible."""
    distribution, other = item.record.distribution, item.distribution_neighbour
    if (
        distribution is None
        or distribution.base_measure is not other.base_measure
        or distribution.batch_shape
        or other.batch_shape
    ):
        return None
    return _part(distribution, other, None)


def prefix_release_witness(
    item: SiteLoss, before: list[Any], claim: ApproxDP, *, view: View, inputs: tuple[Any, Any], words: str
) -> Witness | None:
    """Return the better direction of ``item``, after the recorded sites ``before``, as a witness.

    Return ``None`` if it gives no bound above 0 on the quantity of ``claim``.
    """
    distribution, other = item.record.distribution, item.distribution_neighbour
    if (
        distribution is None
        or distribution.base_measure is not other.base_measure
        or distribution.batch_shape != other.batch_shape
    ):
        return None
    parts = [] if gaussian_square(distribution, other) is not None else _parts(distribution, other)
    if parts is None:
        return None
    best: Witness | None = None
    for swap in (False, True):
        distributions, sides = (
            ((other, distribution), inputs[::-1]) if swap else ((distribution, other), inputs)
        )
        sites = [site.swapped() if swap else site for site in before]
        shown: dict[str, Any] = {"site": item.record.site, "to": sorted(p.name for p in item.record.to)}
        shown |= {"law": distributions[0].to_json(), "law_neighbour": distributions[1].to_json()}
        body = {
            **transcript_body(sites, view=view, inputs=sides),
            "site": shown,
            "parts": parts,
            "order": None,
        }
        try:
            with precision(BITS):
                bound = release_after(prefix_masses(sites), body, claim, view)
        except (DpauditError, ArithmeticError, ValueError):
            continue
        if bound > (0 if best is None or best.bound is None else best.bound):
            best = Witness(
                quantity=claim.quantity,
                bound=bound,
                form="prefix-release",
                body=body,
                origin="forced",
                description=f"{words}: the release {item.record.site!r} after {len(sites)} other outcomes",
            )
    return best


def release_witness(
    item: SiteLoss, claim: Claim, *, view: View, inputs: tuple[Any, Any], words: str
) -> Witness | None:
    """Return the better direction of ``item``, the first release on the two ``inputs``, as a witness.

    Return ``None`` if its distributions give no bound above 0 on the quantity of ``claim``.
    """
    distribution, other = item.record.distribution, item.distribution_neighbour
    if (
        distribution is None
        or distribution.base_measure is not other.base_measure
        or distribution.batch_shape != other.batch_shape
    ):
        return None
    best: Witness | None = None
    for swap in (False, True):
        pair = (other, distribution) if swap else (distribution, other)
        sides = inputs[::-1] if swap else inputs
        found = _best_body(*pair, claim)
        if found is None:
            continue
        bound, body = found
        site: dict[str, Any] = {"site": item.record.site, "to": sorted(p.name for p in item.record.to)}
        site |= {"law": pair[0].to_json(), "law_neighbour": pair[1].to_json()}
        whole = {"view": view.to_json(), "inputs": written_inputs(*sides), "site": site, **body}
        if best is None or bound is None or (best.bound is not None and bound > best.bound):
            best = Witness(
                quantity=claim.quantity,
                bound=bound,
                form="release",
                body=whole,
                origin="enumerated",
                description=f"{words}: the first release, {item.record.site!r}, whatever comes after it",
            )
    return best


def _best_body(
    distribution: Distribution, other: Distribution, claim: Claim
) -> tuple[Fraction | None, dict[str, Any]] | None:
    """Return the largest bound, with its pieces and its order."""
    texts = (json.dumps(distribution.to_json()), json.dumps(other.to_json()))
    return copy.deepcopy(_cached_body(*texts, claim))  # a caller may change the result


@functools.lru_cache(maxsize=512)
def _cached_body(
    distribution_text: str, other_text: str, claim: Claim
) -> tuple[Fraction | None, dict[str, Any]] | None:
    distribution, other = (
        distribution_from_json(json.loads(text)) for text in (distribution_text, other_text)
    )
    parts = [] if gaussian_square(distribution, other) is not None else _parts(distribution, other)
    if parts is None:
        return None
    found: list[tuple[Fraction | None, dict[str, Any]]] = []
    site = {
        "site": "first",
        "to": ["public"],
        "law": distribution.to_json(),
        "law_neighbour": other.to_json(),
    }
    for order in _orders(claim):
        body = {"site": site, "parts": parts, "order": None if order is None else exact_str(order)}
        try:
            with precision(BITS):
                bound = release_bound(body, claim, View.of(PUBLIC))
        except (DpauditError, ArithmeticError, ValueError):
            continue
        if bound is None or bound > 0:
            found.append((bound, {"parts": parts, "order": body["order"]}))
    return max(found, key=lambda item: math.inf if item[0] is None else item[0], default=None)


def _orders(claim: Claim) -> tuple[Fraction | None, ...]:
    if isinstance(claim, ZeroConcentratedDP | ConcentratedAccounting):
        return ORDERS
    if isinstance(claim, RenyiDP | RenyiAccounting):
        return (exact(claim.order),)
    return (None,)


def _parts(distribution: Distribution, other: Distribution) -> list[dict[str, Any]] | None:
    """Return the coordinates that changed most, each with its pieces, or ``None`` if they cannot be cut."""
    if not distribution.batch_shape:
        part = _part(distribution, other, None)
        return None if part is None else [part]
    moves = distribution.distances(other)
    if moves is None:
        return None
    ranked = sorted((i for i, gap in enumerate(moves) if gap), key=lambda i: -moves[i])[:MAX_PARTS]
    try:
        entries = [(distribution.entry(i), other.entry(i), i) for i in ranked]
    except NotTractableError:  # the entries are no copies of one scalar
        return None
    parts = [_part(*entry) for entry in entries]
    known = [part for part in parts if part is not None]
    return known or None


def _part(distribution: Distribution, other: Distribution, coordinate: int | None) -> dict[str, Any] | None:
    if distribution.event_ndim or other.event_ndim:
        return _counts_of_two(distribution, other)
    if distribution.base_measure is BaseMeasure.COUNTING:
        ends = _integer_range(distribution, other)
        return None if ends is None else _written(coordinate, points=[str(end) for end in ends])
    cuts = _cuts(distribution, other)
    return None if not cuts else _written(coordinate, cuts=[exact_str(cut) for cut in cuts])


def _counts_of_two(distribution: Distribution, other: Distribution) -> dict[str, Any] | None:
    """Return all counts of the second of two symbols, or ``None`` for other outcomes."""
    messages, none = distribution.messages, distribution.as_outcome(0)
    if messages is None or none is None or not np.array_equal(none, other.as_outcome(0)):
        return None
    users = messages.total()
    return _written(None, points=["0", str(users)]) if users < POINTS else None


def _written(coordinate: int | None, **pieces: Any) -> dict[str, Any]:
    return {"coordinate": coordinate, "points": None, "cuts": None, **pieces}


def _integer_range(distribution: Distribution, other: Distribution) -> tuple[int, int] | None:
    """Return the range of integers that holds all but a tail of both distributions.

    If there are too many, return the middle ones.
    """
    ends = []
    for one in (distribution, other):
        try:
            support = one.support
            if support.finite and (support.upper or 0) - (support.lower or 0) < POINTS // 8:
                ends.append((math.ceil(support.lower or 0), math.floor(support.upper or 0)))
                continue
            inside = (int(one.ppf(TAIL)), int(one.ppf(1 - 2.0**-50)))
        except DpauditError:
            return None
        low = inside[0] if support.lower is None else max(inside[0], math.ceil(support.lower))
        high = inside[1] if support.upper is None else min(inside[1], math.floor(support.upper))
        ends.append((low, high))
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    if high - low >= POINTS:
        middle = (low + high) // 2
        low, high = middle - POINTS // 2, middle + POINTS // 2 - 1
    return low, high


def _cuts(distribution: Distribution, other: Distribution) -> list[Fraction]:
    """Return the cuts between pieces: quantiles of both distributions, as short dyadic numbers."""
    levels = [2.0**-k for k in (40, 30, 20, 14, 10, 7, 5)]
    levels = [*levels, *(i / CUTS for i in range(3, CUTS - 2)), *(1 - level for level in reversed(levels))]
    places: set[Fraction] = set()
    for one in (distribution, other):
        try:
            found = np.asarray(one.ppf(np.array(levels)), dtype=float)
        except (DpauditError, ValueError):
            return []
        places |= {Fraction(round(value * 2**20), 2**20) for value in found.tolist() if math.isfinite(value)}
    return sorted(places)
