"""Compute the largest cost of the releases of one path for any record, as a pure epsilon and a rho.

A release is an object. ``law`` names the distribution (laplace, discrete-laplace, cauchy, student-DF,
gaussian, discrete-gaussian, argmax, choice, response, bernoulli, table, k-ary, or one of ``shares`` or
``amplified``), and ``node`` is the released step. The other keys depend on the distribution. ``draw`` is the
number of the noise draw on the path. ``entry`` is the position in it, or ``None`` for the whole draw.
``factor`` multiplies the noise. ``by`` is a step that multiplies the noise as well, a private scale.
``given`` holds an earlier release (``test``) that is above a number (``above``) on the path
(``release_after_test``). ``sampled`` marks noise on a sum over a hidden sample (``fixed_samples``). Releases
of the law ``correlated`` may share draws and are charged together (``correlated``). The law ``reveal`` marks
a private value that is revealed without noise to the audience ``to``, which must be outside the view (see
``views``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

from dpaudit.kernel.values.amplified import AMPLIFIED, amplified_cost
from dpaudit.kernel.values.costs import Cost, maximal, total_of
from dpaudit.kernel.values.expressions import polynomial
from dpaudit.kernel.values.fixed_samples import sampled_cost
from dpaudit.kernel.values.guards import affected_sets
from dpaudit.kernel.values.heavy_tails import degrees_of, heavy_cost, log_above
from dpaudit.kernel.values.info import (
    Guards,
    Info,
    Setting,
    Support,
    disjoint,
    fit,
    flat,
    magnitude,
    need,
)
from dpaudit.kernel.values.order_statistics import count_change
from dpaudit.kernel.values.polynomials import ONE, ZERO, Bound, Poly, times
from dpaudit.kernel.values.private_scale import private_scale_cost
from dpaudit.kernel.values.release_after_test import after_test_cost, failure_of_test
from dpaudit.kernel.values.shares import share_cost
from dpaudit.kernel.values.tables import k_ary_cost, table_ratio

__all__ = ["Drawn", "Part", "cost_of", "failure_part", "log_above", "most_expensive"]

#: Noise whose cost is change^2 / (2 scale^2) in rho. For integers, discrete Gaussian noise with the parameter
#: sigma2 = scale^2 has this cost as well (Canonne, Kamath and Steinke 2020, Theorem 14).
NORMAL = ("gaussian", "discrete-gaussian")
EXPONENTIAL = ("laplace", "discrete-laplace")


@dataclass(frozen=True)
class Drawn:
    """One draw of noise: its distribution, its scale (a Gaussian's standard deviation) and its shape."""

    distribution: str
    scale: Poly
    shape: tuple[int | Poly, ...]
    #: The parameters of noise without a scale (``shares``).
    parameters: dict[str, Any] | None = None


@dataclass(frozen=True)
class Part:
    """The cost of one release, for the records of ``support`` whose values are in ``guard``."""

    cost: Cost
    support: Support
    guard: Guards | None


def cost_of(
    s: Setting, infos: Sequence[Info], releases: Sequence[dict[str, Any]], draws: Sequence[Drawn]
) -> list[Part]:
    """Return one part per release with a cost. Separately released entries of the same array share a part."""
    found: list[Part] = []
    entries: dict[tuple[str, int], list[tuple[int, Poly, Info]]] = {}
    for release in releases:
        distribution, info = release["law"], _released(infos, release)
        if distribution in AMPLIFIED:
            found.append(Part(*amplified_cost(s, infos, release), None))
            continue
        if distribution == "reveal":
            _require_unseen(s, info, release)
            continue
        if distribution in ("response", "bernoulli"):
            found.append(_response(s, info, release) if distribution == "response" else _bernoulli(s, info))
            continue
        if distribution in ("argmax", "choice"):
            found.append(_picked(s, infos, release, draws))
            continue
        if distribution in ("table", "k-ary"):
            table = distribution == "table"
            cost = log_above(table_ratio(s, info, release)) if table else k_ary_cost(s, info, release)
            found.append(Part(Cost(cost), info.support, info.guard))
            continue
        scale = _scale(s, info, release, draws)
        given = draws[release["draw"]].parameters
        if given is not None:
            need(
                release["entry"] is None and scale == 1, f"{distribution} noise is added once, as it is drawn"
            )
            found.append(Part(share_cost(s, flat(s, info), distribution, given), info.support, info.guard))
            continue
        if "sampled" in release:
            need(release["sampled"] is True, "sampled must be true")
            need("by" not in release and "given" not in release, "a sampled sum has plain Gaussian noise")
            found.append(Part(*sampled_cost(s, info, distribution, scale), None))
            continue
        if "by" in release:
            by = _released(infos, {"node": release["by"]})
            split = release.get("split", "0")
            found.append(Part(*private_scale_cost(info, by, distribution, scale, split), None))
            continue
        if "given" in release:
            need(distribution == "laplace", "a release after a test requires Laplace noise")
            test = _released(infos, release["given"]["test"])
            found.append(Part(*after_test_cost(info, test, scale), None))
            continue
        heavy = degrees_of(distribution) is not None
        need(
            heavy or distribution in (*NORMAL, *EXPONENTIAL),
            f"{distribution} noise on a released value is not supported",
        )
        parent = info.facts.get("entry")
        if parent is not None and scale.number is not None and not heavy:
            entries.setdefault((distribution, parent[0]), []).append((parent[1], scale, info))
        else:
            found.append(_noised(s, info, distribution, scale))
    for (distribution, node), parts in entries.items():
        found.append(_one_by_one(s, infos[node], distribution, parts))
    return found


def _released(infos: Sequence[Info], release: dict[str, Any]) -> Info:
    """Return the bounds of the released step, whose number must be an integer in range."""
    node: Any = release["node"]
    need(type(node) is int and 0 <= node < len(infos), "a release must refer to an existing step")
    found: Info = infos[node]
    need(found.kind in ("b", "i", "f"), "a private text cannot be released")
    return found


def _require_unseen(s: Setting, info: Info, release: dict[str, Any]) -> None:
    """Require that the view never sees a change of a value that is revealed without noise."""
    names = release["to"]
    need(
        isinstance(names, list) and names and all(isinstance(name, str) for name in names),
        "an audience must be a nonempty list of names",
    )
    alone = s.group == 1 and not s.length_is_private
    need(
        s.view.misses(names, info.support, one_user_per_record=alone),
        f"a private value is revealed without noise to {', '.join(names)[:80]}, in the claim's view (under"
        " joint privacy, a user may only see values of the user's own record and of released values)",
    )


def _scale(s: Setting, info: Info, release: dict[str, Any], draws: Sequence[Drawn]) -> Poly:
    """Return the scale of a release's noise, and require the declared distribution and shape."""
    drawn, factor = draws[release["draw"]], abs(Fraction(release["factor"]))
    need(
        drawn.distribution == release["law"] and factor > 0,
        "the noise of a release must have its distribution and a nonzero factor",
    )
    shape = drawn.shape if release["entry"] is None else ()
    need(shape == info.shape, "noise and value must have the same shape, so that each entry has its own draw")
    if drawn.distribution in ("discrete-laplace", "discrete-gaussian"):
        need(info.kind in "bi" and factor == 1, "discrete noise requires an integer value and the factor 1")
    scale: Poly = drawn.scale * factor
    return scale


def failure_part(
    infos: Sequence[Info], test: dict[str, Any], above: Fraction, draws: Sequence[Drawn], s: Setting
) -> Part:
    """Return the probability with which a test passes although none of its comparisons holds."""
    count = _released(infos, test)
    need(test["law"] == "laplace" and not {"by", "given"} & test.keys(), "a test requires Laplace noise")
    scale = _scale(s, count, test, draws)
    return Part(Cost(delta=failure_of_test(scale, above)), count.support, None)


def _noised(s: Setting, info: Info, distribution: str, scale: Poly) -> Part:
    whole = flat(s, info)
    counted = count_change(info)
    if counted is not None:
        change = s.smallest(whole.change, Poly.of(counted))
        whole = fit(s, replace(whole, change=change, change1=change, change2=times(change, change)))
    if distribution in NORMAL:
        rho = s.quotient(times(Fraction(1, 2), whole.change2), scale * scale)
        need(
            rho is not None,
            f"the released value may change without bound relative to its noise scale {scale!r} (clip it)",
        )
        return Part(Cost(rho=rho or Fraction(0)), info.support, info.guard)
    epsilon = s.quotient(whole.change1, scale)
    need(
        epsilon is not None,
        f"the released value may change without bound relative to its noise scale {scale!r} (clip it)",
    )
    degrees = degrees_of(distribution)
    if degrees is not None:
        epsilon = heavy_cost(epsilon or Fraction(0), whole.entries.number, degrees)
    return Part(Cost(epsilon or Fraction(0)), info.support, info.guard)


def _one_by_one(s: Setting, parent: Info, distribution: str, parts: Sequence[tuple[int, Poly, Info]]) -> Part:
    """Return the largest cost of entries that are released separately.

    Entry k costs w_k u_k with u_k <= change and sum of u_k <= change1 (for Gaussian noise the u_k are
    squares). The largest sum solves a fractional knapsack problem.
    """
    whole = flat(s, parent)
    weights: dict[int, Fraction] = {}
    for k, scale, _ in parts:
        number = scale.number or Fraction(1)
        weight = 1 / (2 * number * number) if distribution in NORMAL else 1 / number
        weights[k] = weights.get(k, Fraction(0)) + weight
    change: Bound = whole.change
    if distribution in NORMAL:
        budget, cap = s.largest(whole.change2), s.largest(times(change, change))
    else:
        budget, cap = s.largest(whole.change1), s.largest(change)
    need(cap is not None, "the change of a released entry is not bounded (clip it)")
    left = budget if budget is not None else (cap or Fraction(0)) * len(weights)
    cost = Fraction(0)
    for weight in sorted(weights.values(), reverse=True):
        taken = min(cap or Fraction(0), left)
        cost += weight * taken
        left -= taken
    guards = {info.guard for _, _, info in parts}
    guard = guards.pop() if len(guards) == 1 else None
    return Part(Cost(rho=cost) if distribution in NORMAL else Cost(cost), parent.support, guard)


def _picked(s: Setting, infos: Sequence[Info], release: dict[str, Any], draws: Sequence[Drawn]) -> Part:
    """Return the cost of the exponential mechanism, or of the positions of the largest noisy scores.

    With Laplace, exponential or Gumbel noise, each position costs 2 change / scale, or change / scale if
    adding a record lowers no score. The cost of Gaussian noise is in ``_places_under_gaussian``.
    """
    info = _released(infos, release)
    if release["law"] == "choice":
        need("softmax" in info.facts, "a choice requires probabilities exp(v) / exp(v).sum()")
        info = infos[info.facts["softmax"]]
        scale, drawn = Poly.of(1), None
    else:
        drawn, factor = draws[release["draw"]], Fraction(release["factor"])
        need(
            release["entry"] is None and drawn.parameters is None,
            "an argmax requires a whole draw of noise with a scale",
        )
        need(
            drawn.distribution in ("laplace", "exponential", "gumbel", "gaussian"),
            f"an argmax requires Laplace, exponential, Gumbel or Gaussian noise, got {drawn.distribution}",
        )
        need(
            drawn.shape == info.shape and len(info.shape) == 1,
            "an argmax requires a separate noise draw for each entry of a vector of scores",
        )
        need(
            drawn.distribution in ("laplace", "gaussian") or factor > 0,
            f"{drawn.distribution} noise requires a positive factor",
        )
        need(factor != 0, "the factor of the noise must not be 0")
        scale = drawn.scale * abs(factor)
    whole = flat(s, info)
    need(len(whole.shape) == 1, "a choice requires a vector of scores")
    centred = whole.facts.get("centred")
    change = s.smallest(whole.change, centred)
    need(int(release["count"]) >= 1, "the number of chosen positions must be at least 1")
    if drawn is not None and drawn.distribution == "gaussian":
        one_way = whole.rises and centred is None and s.length_is_private
        rho = _places_under_gaussian(s, whole, times(1 if one_way else 2, change), scale)
        return Part(Cost(rho=rho), info.support, None if info.records else info.guard)
    ratio = s.quotient(change, scale)
    need(
        ratio is not None,
        "the change of the scores is not bounded relative to the noise scale (clip the data)",
    )
    rises = whole.rises and centred is None and s.length_is_private
    cost = (ratio or Fraction(0)) * (1 if rises else 2) * int(release["count"])
    return Part(Cost(cost), info.support, None if info.records else info.guard)


def _places_under_gaussian(s: Setting, scores: Info, spread: Bound, scale: Poly) -> Fraction:
    """Return the rho of any number of positions of K scores with Gaussian noise of variance v.

    Proof. The order is a function of the noisy scores, so rho <= change2 / (2 v). It depends only on their
    differences, so it is also a function of the noisy scores minus their mean. There the change is d minus
    its mean. All d_k lie in an interval of length R = ``spread``, so its square is convex in d and largest at
    a corner with m of the K scores at the upper end: R^2 m (K - m) / K <= R^2 floor(K^2 / 4) / K
    (proofs.md, ``noisy-max``). A position of a Gaussian mechanism is a post-processing for any count.
    """
    count = scores.shape[0]
    by_norm = s.quotient(times(Fraction(1, 2), scores.change2), scale * scale)
    by_spread = (
        s.quotient(times(Fraction(count * count // 4, 2 * count), times(spread, spread)), scale * scale)
        if type(count) is int and count
        else None
    )
    found = [one for one in (by_norm, by_spread) if one is not None]
    need(found, "the change of the scores is not bounded relative to the noise scale (clip the data)")
    return min(found)


def _response(s: Setting, info: Info, release: dict[str, Any]) -> Part:
    """Return the cost of randomised response, which keeps each entry with probability p.

    Otherwise a bit is flipped, or a number below ``among`` is replaced by a uniform one. Each entry of a
    changed record costs the logarithm of the largest probability ratio.
    """
    rows = info.records == 1
    need(
        not info.records or (rows and not s.length_is_private),
        "randomised response requires records whose number is public",
    )
    need(info.kind in "bi", "randomised response requires integers or Booleans")
    p, among = Fraction(release["keep"]), release["among"]
    top = magnitude(s, info)
    if among is None:
        need(
            info.low is not None and s.at_most(0, info.low) and s.at_most(info.high, 1),
            "randomised response by flipping requires bits, 0 or 1",
        )
        best, least = max(p, 1 - p), min(p, 1 - p)
    else:
        inside = info.low is not None and s.at_most(0, info.low) and s.at_most(top, among - 1)
        need(
            type(among) is int and among > 1 and inside,
            "randomised response among k answers requires integers from 0 to k - 1",
        )
        best, least = p + (1 - p) / among, (1 - p) / among
    need(0 <= p <= 1 and least > 0, "every answer of a randomised response must have a positive probability")
    each = log_above(best / least)
    # Entries are integers, so an entry that changes adds at least 1 to the L1 norm of the change.
    count = _least(info.entries.number, s.largest(info.change1))
    need(count is not None, "randomised response requires rows of known length")
    return Part(Cost(each * (count or 0) * (s.group if rows else 1)), info.support, None)


def _least(*numbers: Fraction | None) -> Fraction | None:
    """Return the largest integer below all known bounds on a count, or None without a bound."""
    known = [Fraction(number.numerator // number.denominator) for number in numbers if number is not None]
    return min(known, default=None)


def _bernoulli(s: Setting, info: Info) -> Part:
    """Return the cost of coins with a private probability p in [low, high], where 0 < low and high < 1.

    The probabilities of both answers change by at most the change of p, so each coin costs the logarithm of
    the largest ratio.
    """
    need(
        not (info.records and s.length_is_private),
        "coins with private probabilities require a public number of records",
    )
    low = None if info.low is None else s.largest(-info.low)
    high, change = s.largest(info.high), s.largest(info.change)
    count = _least(info.entries.number, s.largest(info.facts.get("moved")))
    need(
        low is not None and high is not None and count is not None,
        "a private probability must be bounded (clip it)",
    )
    least, most = -(low or Fraction(0)), high or Fraction(1)
    need(0 < least <= most < 1, "a private probability must be bounded away from 0 and 1")
    step = most - least if change is None else change
    ratio = max(min(most, least + step) / least, min(1 - least, 1 - most + step) / (1 - most))
    cost = log_above(ratio) * (count or 0) * (s.group if info.records else 1)
    return Part(Cost(cost), info.support, info.guard if not info.records else None)


def most_expensive(s: Setting, parts: Sequence[Part]) -> list[Cost]:
    """Return the largest total costs of one record, over its position and its values before and after.

    The result holds all costs that no other cost covers.
    """
    found: set[Cost] = {Cost()}
    for members in _by_position(s, parts):
        found |= _by_value(s, members)
    return maximal(found)


def _by_position(s: Setting, parts: Sequence[Part]) -> list[list[Part]]:
    """Return the sets of releases that one record may affect.

    Positions only matter if one record changes and the number of records is public, because a group may have
    a record in every part. A release with unknown support is in every set.
    """
    if s.group != 1 or s.length_is_private:
        return [list(parts)]
    everywhere = [part for part in parts if part.support is None]
    known = _by_known_position([part for part in parts if part.support is not None])
    return [[*members, *everywhere] for members in known or [[]]]


def _by_known_position(parts: Sequence[Part]) -> list[list[Part]]:
    if any(type(end) is tuple for part in parts for piece in part.support or () for end in piece[:2]):
        return _that_meet(parts)
    ends = {0}
    for part in parts:
        for start, stop, step in _fixed(part):
            if step != 1:
                return _by_each_position(parts)
            ends |= {start} | ({stop} if stop is not None else set())
    places = sorted(ends)  # the set of affected releases is constant between two ends
    sets = {tuple(k for k, part in enumerate(parts) if _affects(part, place)) for place in places}
    return [[parts[k] for k in affected] for affected in sets]


def _that_meet(parts: Sequence[Part]) -> list[list[Part]]:
    """Return the largest sets of releases whose supports meet in pairs.

    The releases that one position affects all meet in pairs there, so they are a subset of a returned set.
    The sets are the maximal cliques of a graph, which the algorithm of Bron and Kerbosch (1973) enumerates.
    """
    meets = [
        {j for j, other in enumerate(parts) if j != k and not disjoint(part.support, other.support)}
        for k, part in enumerate(parts)
    ]
    found: list[list[Part]] = []
    pending: list[tuple[set[int], set[int], set[int]]] = [(set(), set(range(len(parts))), set())]
    while pending:
        chosen, candidates, done = pending.pop()
        if not candidates:
            found += [] if done else [[parts[k] for k in sorted(chosen)]]
            continue
        if len(found) + len(pending) > 10_000:
            return [list(parts)]
        pivot = max(sorted(candidates | done), key=lambda k: len(candidates & meets[k]))
        for k in sorted(candidates - meets[pivot]):
            pending.append((chosen | {k}, candidates & meets[k], done & meets[k]))
            candidates, done = candidates - {k}, done | {k}
    return found


def _by_each_position(parts: Sequence[Part]) -> list[list[Part]]:
    last = max((stop or start + 1 for part in parts for start, stop, _ in _fixed(part)), default=0)
    if last > 20_000 or any(stop is None for part in parts for _, stop, _ in _fixed(part)):
        return [list(parts)]
    sets = {tuple(k for k, part in enumerate(parts) if _affects(part, place)) for place in range(last)}
    return [[parts[k] for k in affected] for affected in sets]


def _fixed(part: Part) -> tuple[tuple[int, int | None, int], ...]:
    """Return the ranges of a part's records, of which no end depends on the number of records."""
    return cast("tuple[tuple[int, int | None, int], ...]", part.support or ())


def _affects(part: Part, place: int) -> bool:
    return any(
        start <= place and (stop is None or place < stop) and (place - start) % step == 0
        for start, stop, step in _fixed(part)
    )


def _by_value(s: Setting, members: Sequence[Part]) -> set[Cost]:
    """Return the possible total costs over the values of the changed record.

    A guarded release is charged if the record is in its guards before or after the change. Under add-remove
    there is only one side.
    """
    if s.group != 1:
        return {total_of(part.cost for part in members)}
    sets = affected_sets([part.guard for part in members], single=s.length_is_private)
    return {total_of(members[k].cost for k in sorted(on)) for on in sets}


def drawn_of(s: Setting, distribution: str, scale: Any, shape: tuple[int | Poly, ...]) -> Drawn:
    """Return a draw as a record writes it, with an expression or an object of parameters as its scale."""
    if isinstance(scale, dict):
        return Drawn(distribution, ONE, shape, scale)
    return Drawn(distribution, scale_of(s, scale), shape)


def scale_of(s: Setting, expression: Any) -> Poly:
    """Return the scale of a draw, which must be provably positive."""
    scale = polynomial(s, expression)
    need(
        scale != ZERO and s.at_most(0, scale) and _positive(s, scale),
        "the scale of the noise must be provably positive (clip it from below)",
    )
    return scale


def _positive(s: Setting, scale: Poly) -> bool:
    if scale.number is not None:
        return scale.number > 0
    if all(value > 0 for value in scale.terms.values()):
        return True
    most = s.largest(-scale)
    return most is not None and most < 0


__all__ += ["drawn_of", "scale_of"]
