"""One release under both inputs, with nothing random before it: lower bounds from its two distributions.

Form ``release``: a site with its distribution P on the recorded input and Q on the neighbour. If no
randomness precedes it on either input, P and Q are the distributions of what the adversary sees there,
whatever the program does afterwards: an event of that release is an event of the transcript, and a divergence
can only grow by further outputs. So each number below is a lower bound for the program.

Gaussian noise shifted by D (a scalar, or independent coordinates): with m^2 = |D|^2 / variance the pair is
equivalent to N(0, 1) and N(m, 1), by a rotation and post-processing in both directions. Hence mu = m, rho =
m^2/2, the Rényi divergence of order a is a m^2/2, and delta(e) = Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m), the
probability of a half-space (Dong, Roth and Su 2022; Balle and Wang 2018). All are equalities.

Any other pair is cut into a finite one: ``parts`` names coordinates, and for each of them ``points`` (a range
of integers, or of indices) or ``cuts`` of the line. Both distributions give each piece its mass. With masses
p_i, q_i of disjoint pieces (which need not have total mass 1: other pieces are dropped),

* delta(e) >= the sum over any pieces of p_i - exp(e) q_i;
* mu >= t - s, if Phi(t) is at most P(S) and Phi(s) at least Q(S), for any union S of pieces;
* the Rényi divergence of order a is at least log(sum of p_i^a q_i^(1-a)) / (a - 1) (all terms are positive,
  and merging outcomes never raises a divergence); rho is at least this bound over a;
* epsilon >= log(P(S) / Q(S)).

Coordinates are independent under either distribution. Their Rényi divergences add up. For events their
product is formed coordinate by coordinate, and pieces of nearly the same ratio are merged, which is a
post-processing of both sides alike. ∎

Form ``prefix-release``, for (epsilon, delta): random sites with probabilities come first, all of them seen,
with outcomes of joint probability p on the recorded input and q on the neighbour. Given these outcomes, the
release has distributions P and Q. With S any set of its outcomes, the event is the prefix followed by S, so
that delta(e) is at least p P(S) - exp(e) q Q(S). This is p times the bound above at e + log(q / p) for
Gaussian noise, and a sum over pieces of p p_i - exp(e) q q_i otherwise.

A file cannot show that nothing else random precedes the site, and that the distributions are the program's.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import ctx
from scipy import special

from dpaudit.certify.witnesses.leak import audience_of
from dpaudit.core.claims import ApproxDP, Claim
from dpaudit.core.errors import CertificateError, NotTractableError
from dpaudit.core.exact import exact, read_exact
from dpaudit.core.views import View
from dpaudit.distributions.base import BaseMeasure, Distribution, distribution_from_json
from dpaudit.distributions.scalar import Floats
from dpaudit.kernel.ball import arb, ball, lower_exact, lower_short, upper_exact
from dpaudit.kernel.kernel_t0 import notion_of
from dpaudit.kernel.t2.gaussian import normal_cdf

__all__ = ["Pieces", "gaussian_square", "pieces_of", "release_after", "release_bound"]

#: Limits for untrusted files, and the number of pieces that a product is merged into.
MAX_PARTS, MAX_PIECES, MERGED = 64, 20_000, 400
MAX_ORDER = 10_000

Pieces = list[tuple[arb, arb]]


def release_bound(body: dict[str, Any], claim: Claim, view: View) -> Fraction | None:
    """Return the lower bound on the claim's quantity that a ``release`` body gives, or ``None`` for an
    infinite one.

    Raise ``CertificateError`` for a malformed body, a site that the view does not see, distributions of two
    kinds, or pieces that give no bound.
    """
    distribution, other = _distributions(body["site"], view)
    order = _order_of(body, claim)
    square = gaussian_square(distribution, other)
    if square is not None:
        return _gaussian_bound(square, claim, order)
    parts = body["parts"]
    _require_different(parts)
    try:
        coordinates = [pieces_of(distribution, other, part) for part in parts]
    except NotTractableError as error:
        raise CertificateError(f"the masses of a release must be computable: {error}") from error
    return _pieces_bound(coordinates, claim, order)


def release_after(masses: tuple[arb, arb], body: dict[str, Any], claim: Claim, view: View) -> Fraction:
    """Return the lower bound on delta of a release after outcomes of probability ``masses`` on the two
    inputs.

    Raise ``CertificateError`` as ``release_bound``, and for another claim, an order, or outcomes that are
    impossible on one input.
    """
    here, there = masses
    if not isinstance(claim, ApproxDP) or body["order"] is not None:
        raise CertificateError("a release after other sites must be for an approx-dp claim, without order.")
    if not (here > 0 and there > 0):
        raise CertificateError("the sites before a release must be possible on both inputs.")
    distribution, other = _distributions(body["site"], view)
    epsilon = ball(exact(claim.epsilon))
    square = gaussian_square(distribution, other)
    if square is not None:
        delta = here * _gaussian_delta(square, epsilon + (there / here).log()) if square else arb(0)
        return max(lower_short(delta), Fraction(0))
    _require_different(body["parts"])
    written = (
        *(json.dumps(item) for item in (distribution.to_json(), other.to_json(), body["parts"])),
        ctx.prec,
    )
    try:
        if here * _largest_ratio(*written) <= epsilon.exp() * there:
            return Fraction(0)  # neither a piece nor a union of pieces has a positive term
        pieces = _product_of(*written)
    except NotTractableError as error:
        raise CertificateError(f"the masses of a release must be computable: {error}") from error
    gains = [here * p - epsilon.exp() * there * q for p, q in pieces]
    return max(lower_short(sum((gain for gain in gains if gain > 0), arb(0))), Fraction(0))


@lru_cache(maxsize=16)
def _coordinates_of(distribution: str, other: str, parts: str, bits: int) -> list[Pieces]:
    """Return the pieces of each coordinate of a release at the current working precision ``bits``.

    The result is cached, because a search evaluates one pair of distributions after many different prefixes.
    """
    one, two = (distribution_from_json(json.loads(text)) for text in (distribution, other))
    return [pieces_of(one, two, part) for part in json.loads(parts)]


@lru_cache(maxsize=16)
def _product_of(distribution: str, other: str, parts: str, bits: int) -> Pieces:
    """Return the pieces of a release, with arguments as in ``_coordinates_of``."""
    return _product(_coordinates_of(distribution, other, parts, bits))


@lru_cache(maxsize=16)
def _largest_ratio(distribution: str, other: str, parts: str, bits: int) -> arb:
    """Return an upper bound, as a ball, on the mass ratio of every union of pieces of the product.

    The ball is not finite if a piece may be impossible on the neighbour.
    """
    largest = arb(1)
    for pieces in _coordinates_of(distribution, other, parts, bits):
        highest = arb(0)
        for p, q in pieces:
            if not p.is_zero():
                highest = highest.max(p / q)
        largest *= highest
    return largest


def _gaussian_delta(square: Fraction, epsilon: arb) -> arb:
    """Return delta at ``epsilon``, which may be negative, for Gaussian noise with the squared shift
    ``square``.
    """
    mu = ball(square).sqrt()
    return normal_cdf(mu / 2 - epsilon / mu) - epsilon.exp() * normal_cdf(-mu / 2 - epsilon / mu)


def _require_different(parts: Any) -> None:
    """Require that each coordinate is used once.

    A part without a coordinate is the whole outcome, so it must be the only part: for a single number it is
    coordinate 0 as well.
    """
    if not isinstance(parts, list) or not 1 <= len(parts) <= MAX_PARTS:
        raise CertificateError(f"a release must have 1 to {MAX_PARTS} parts.")
    coordinates = [part.get("coordinate") for part in parts]
    if len(set(coordinates)) < len(parts) or (None in coordinates and len(parts) > 1):
        raise CertificateError(
            "the parts of a release must be of different coordinates, or one part without, got "
            f"{coordinates}."
        )


def _distributions(site: Any, view: View) -> tuple[Distribution, Distribution]:
    if not isinstance(site, dict) or site.keys() != {"site", "to", "law", "law_neighbour"}:
        raise CertificateError("a release must be one site with both distributions.")
    if not view.sees(audience_of(site["to"])):
        raise CertificateError(f"the release must be seen by the view {view}.")
    distribution, other = distribution_from_json(site["law"]), distribution_from_json(site["law_neighbour"])
    if distribution.base_measure is not other.base_measure or distribution.batch_shape != other.batch_shape:
        raise CertificateError(
            "both distributions of a release must be of one kind and shape. Write it as a leak instead."
        )
    return distribution, other


def _order_of(body: dict[str, Any], claim: Claim) -> Fraction:
    """Return the Rényi order: the claim's or the body's, and 1 if the claim needs none."""
    notion = notion_of({"type": claim.type})
    stated = read_exact(body["order"], name="order") if body["order"] is not None else Fraction(1)
    if notion not in ("renyi-dp", "zcdp"):
        return Fraction(1)
    if not 1 < stated <= MAX_ORDER:
        raise CertificateError(f"order must be above 1 and at most {MAX_ORDER}, got {stated}.")
    if notion == "renyi-dp" and stated != exact(claim.order):  # type: ignore[attr-defined]
        raise CertificateError(f"order must be the claim's, got {stated}.")
    return stated


def gaussian_square(distribution: Distribution, other: Distribution) -> Fraction | None:
    """Return |D|^2 / variance of the same Gaussian noise at two offsets, or ``None`` for other
    distributions.
    """
    variance, gaps = distribution.added_noise.gaussian_variance, distribution.distances(other)
    if variance is None or gaps is None:
        return None
    return sum((gap**2 for gap in gaps), Fraction(0)) / variance


def _gaussian_bound(square: Fraction, claim: Claim, order: Fraction) -> Fraction | None:
    notion = notion_of({"type": claim.type})
    if notion == "zcdp":
        return square / 2
    if notion == "renyi-dp":
        return order * square / 2
    if square == 0:
        return Fraction(0)
    mu = ball(square).sqrt()
    if notion == "gdp":
        return lower_short(mu)
    if notion == "approx-dp":
        epsilon = ball(exact(claim.epsilon))  # type: ignore[attr-defined]
        return max(lower_short(_gaussian_delta(square, epsilon)), Fraction(0))
    return None  # no pure bound: the loss is unbounded


# Finite pairs


def pieces_of(distribution: Distribution, other: Distribution, part: Any) -> Pieces:
    """Return the masses of the pieces of one coordinate under both distributions."""
    coordinate, points, cuts = part.get("coordinate"), part.get("points"), part.get("cuts")
    if part.keys() != {"coordinate", "points", "cuts"} or (points is None) == (cuts is None):
        raise CertificateError("a part must have a coordinate and either points or cuts.")
    one, two = (_marginal(item, coordinate) for item in (distribution, other))
    if points is not None:
        return _at_points(one, two, points)
    places = [read_exact(cut, name="cut") for cut in cuts]
    if not 1 <= len(places) <= MAX_PIECES or sorted(set(places)) != places:
        raise CertificateError(f"cuts must rise, 1 to {MAX_PIECES} of them.")
    return [*zip(_cells(one, places), _cells(two, places), strict=True)]


def _marginal(distribution: Distribution, coordinate: Any) -> Distribution:
    """Return the distribution of one coordinate of independent copies, or the distribution itself for
    ``None``.
    """
    if coordinate is None:
        return distribution
    copies = math.prod(distribution.batch_shape)
    known = type(coordinate) is int and 0 <= coordinate < copies  # "0" would duplicate 0
    try:
        if known:
            return distribution.entry(coordinate)
    except NotTractableError:
        pass  # it has no copies, or they are no scalars
    raise CertificateError("a coordinate must be one of independent copies of a scalar.")


def _at_points(one: Distribution, two: Distribution, points: Any) -> Pieces:
    if one.base_measure is not BaseMeasure.COUNTING or two.base_measure is not BaseMeasure.COUNTING:
        raise CertificateError(
            "points need distributions with probabilities, not densities. Use cuts instead."
        )
    if one.batch_shape or two.batch_shape or not _both_scalar(one, two):
        raise CertificateError("points need one scalar outcome, or two counts. Name a coordinate.")
    ends = [read_exact(end, name="points") for end in points]
    if len(ends) != 2 or any(end.denominator != 1 for end in ends):
        raise CertificateError("points must be two integers, the first and the last.")
    low, high = map(int, ends)
    if not 0 <= high - low < MAX_PIECES:
        raise CertificateError(f"a release must have at most {MAX_PIECES} points.")
    bits = int(ctx.prec)
    return [*zip(_masses(one, low, high, bits), _masses(two, low, high, bits), strict=True)]


def _masses(distribution: Distribution, low: int, high: int, bits: int) -> list[arb]:
    """Return the masses of the points from ``low`` to ``high`` at the current working precision ``bits``.

    Coordinates often have the same noise at different offsets, so the masses of the unshifted noise are
    cached.
    """
    offset = 0
    noise, moved = distribution.noise_and_offset
    if isinstance(moved, Fraction) and moved.denominator == 1:
        offset, distribution = int(moved), noise
    known = _known_masses(distribution, bits)
    found: list[arb] = []
    for x in range(low - offset, high - offset + 1):
        mass = known.get(x)
        if mass is None:
            mass = known[x] = distribution.logp_ball(distribution.as_outcome(x)).exp()
        found.append(mass)
    return found


@lru_cache(maxsize=8)
def _known_masses(distribution: Distribution, bits: int) -> dict[int, arb]:
    """Return the cache of the masses of a distribution at a precision of ``bits``."""
    return {}


def _both_scalar(one: Distribution, two: Distribution) -> bool:
    """Return whether both outcomes are one number: an integer, or the second of two counts."""
    here, there = one.as_outcome(0), two.as_outcome(0)
    return here is not None and there is not None and np.array_equal(here, there)


def _cells(distribution: Distribution, cuts: Sequence[Fraction]) -> list[arb]:
    """Return P(X <= c_1), P(c_1 < X <= c_2), ..., P(X > c_n), each from the side on which it is small."""
    below, above = [distribution.cdf_ball(cut) for cut in cuts], [distribution.sf_ball(cut) for cut in cuts]
    found = [below[0]]
    for i in range(1, len(cuts)):
        left, right = below[i] - below[i - 1], above[i - 1] - above[i]
        found.append(left if left.rad() <= right.rad() else right)
    return [*found, above[-1]]


def _pieces_bound(coordinates: Sequence[Pieces], claim: Claim, order: Fraction) -> Fraction | None:
    notion = notion_of({"type": claim.type})
    if notion in ("renyi-dp", "zcdp"):
        total = sum((_renyi(pieces, order) for pieces in coordinates), arb(0))
        if not total.is_finite():
            raise CertificateError("some piece must be possible on both sides.")
        divergence = max(lower_short(total), Fraction(0))
        return divergence if notion == "renyi-dp" else divergence / order
    pieces = _product(coordinates)
    if notion == "approx-dp":
        weight = ball(exact(claim.epsilon)).exp()  # type: ignore[attr-defined]
        gains = [p - weight * q for p, q in pieces]
        return max(lower_short(sum((gain for gain in gains if gain > 0), arb(0))), Fraction(0))
    unions = _unions(pieces)
    if notion == "gdp":
        return max((_gaussian_gap(p, q) for p, q in unions), default=Fraction(0))
    return _log_ratio(unions)


def _renyi(pieces: Pieces, order: Fraction) -> arb:
    a, total = ball(order), arb(0)
    for p, q in pieces:
        if p > 0 and q > 0:
            total += (a * p.log() + (1 - a) * q.log()).exp()
    return total.log() / (a - 1)


def _product(coordinates: Sequence[Pieces]) -> Pieces:
    """Return the product of independent coordinates, merged as it grows."""
    if len(coordinates) == 1:
        return coordinates[0]
    whole: Pieces = [(arb(1), arb(1))]
    for pieces in coordinates:
        merged = _merged(pieces, _log_ratios(pieces))
        with np.errstate(invalid="ignore"):  # inf - inf: pieces that are impossible on opposite sides
            ratios = np.add.outer(_log_ratios(whole), _log_ratios(merged)).ravel()
        ratios[np.isnan(ratios)] = 0.0
        whole = _merged([(p * r, q * s) for p, q in whole for r, s in merged], ratios)
    return whole


def _merged(pieces: Pieces, ratios: Floats) -> Pieces:
    """Return at most ``MERGED`` pieces, each a union of pieces of nearly one ratio. Any union is a
    post-processing.

    ``ratios`` are the logarithms of the ratios in floats (shape (pieces,)). They only decide which pieces are
    merged.
    """
    if len(pieces) <= MERGED:
        return [pieces[i] for i in np.argsort(ratios, kind="stable")]
    finite = np.isfinite(ratios)
    low, high = (ratios[finite].min(), ratios[finite].max()) if finite.any() else (0.0, 0.0)
    width = (high - low) / (MERGED - 2) or 1.0
    ends = np.where(ratios < 0, -1, MERGED)
    places = np.where(finite, (np.where(finite, ratios, low) - low) // width, ends).astype(int)
    groups: dict[int, tuple[arb, arb]] = {}
    for (p, q), place in zip(pieces, places.tolist(), strict=True):
        before = groups.get(place)
        groups[place] = (p, q) if before is None else (before[0] + p, before[1] + q)
    return [groups[place] for place in sorted(groups)]


def _log_ratios(pieces: Pieces) -> Floats:
    """Return log p - log q of each piece in floats: infinite if one mass may be 0, and 0 if both may be."""
    return np.array([_log_of(p) - _log_of(q) if p > 0 or q > 0 else 0.0 for p, q in pieces])


def _log_of(mass: arb) -> float:
    """Return the logarithm of the middle of a mass as a float, by balls if a float cannot hold the mass."""
    if not mass > 0:
        return -math.inf
    near = float(mass)
    return math.log(near) if near > sys.float_info.min else float(mass.log().mid())


def _unions(pieces: Pieces) -> Pieces:
    """Return the unions of the pieces of largest ratio, which are the best events (Neyman and Pearson)."""
    found: Pieces = []
    p, q = arb(0), arb(0)
    for i in np.argsort(-_log_ratios(pieces), kind="stable"):
        p, q = p + pieces[i][0], q + pieces[i][1]
        found.append((p, q))
    return found


def _gaussian_gap(p: arb, q: arb) -> Fraction:
    """Return a lower bound on mu from one event: t - s with Phi(t) <= p and Phi(s) >= q, or 0 if there is
    none.
    """
    low, high = lower_exact(p), upper_exact(q)
    if not low > 0 or not high < 1 or float(low) >= 1 or float(high) <= 0:
        return Fraction(0)
    step = Fraction(1, 10**12)
    t = Fraction(float(special.ndtri(float(low)))) - step
    s = Fraction(float(special.ndtri(float(high)))) + step
    sound = normal_cdf(ball(t)) <= ball(low) and normal_cdf(ball(s)) >= ball(high)
    return max(t - s, Fraction(0)) if sound else Fraction(0)


def _log_ratio(unions: Pieces) -> Fraction | None:
    """Return the largest log P(S) - log Q(S), or ``None`` if Q(S) is certainly 0."""
    best = Fraction(0)
    for p, q in unions:
        if p > 0 and q.is_zero():
            return None
        if p > 0 and q > 0:
            best = max(best, lower_short((p / q).log()))
    return best
