"""Check that a certificate covers every site that one record affects.

Every affected site must be one of the leaves of the certificate's tree (``leaf_rules``), and all of them no
more than the tree adds up, with one branch of each parallel node. If the tree has a pure bound, one record
must not cost more than that in all, whatever the claim is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from dpaudit.certify.proof import Proof
from dpaudit.coins.equal_shifts import by_name, equal_shifts
from dpaudit.coins.replayer import Replay
from dpaudit.core.claims import Adjacency, Claim
from dpaudit.core.errors import CertificateError
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.check import derive
from dpaudit.replay.leaf_rules import match, match_session
from dpaudit.replay.leaves import ROUNDING, Leaf, Match, leaves_of, payments

__all__ = ["Fit", "above_pure_bound", "fit", "pure_bound"]

#: The leaves that a site fits: their indices and the site's cost there, tightest first.
Fitting = tuple[tuple[int, Fraction], ...]

#: Number of choices that are tried, beyond one for each site. If none fits by then, it is a mismatch.
TRIES = 200


@dataclass(frozen=True)
class Fit:
    """How the sites that one record affects fit a certificate.

    ``mismatches`` describes the sites that do not fit. ``reach`` maps each site that fits to the largest
    share of a fitting leaf's sensitivity by which it changed.
    """

    mismatches: list[str]
    reach: dict[str, Fraction]


def fit(result: Replay, proof: Proof, adjacency: Adjacency, *, pure: bool) -> Fit:
    """Compare the sites that one record affects with the certificate.

    A ``pure`` claim adds up costs, so two sites at half a leaf's cost count as one. Otherwise the number of
    sites counts, whatever their cost.
    """
    leaves, most = leaves_of(proof)
    found: list[str] = []
    wanted: dict[Fitting, int] = {}
    reached: dict[str, Fraction] = {}
    for site, count, compare in _compared(result, adjacency):
        objection, fitting, reach = _fitted(site, compare, leaves)
        if objection:
            found.append(objection)
        else:
            reached[site] = max(reach, reached.get(site, Fraction(0)))
            costs = tuple((place, item.share if pure else Fraction(item.events)) for place, item in fitting)
            wanted[costs] = wanted.get(costs, 0) + count
    if not _covered(proof, wanted, leaves, pure=pure):
        found += _overspent(wanted, leaves, most)
    return Fit(found, reached)


def _compared(
    result: Replay, adjacency: Adjacency
) -> Iterator[tuple[str, int, Callable[[int, Leaf], Match]]]:
    """Yield the names of affected sites, how many have equal distributions, and a comparison with a leaf."""
    for moves in equal_shifts(result):
        compare = _remembered(partial(_compare, (moves.distribution, moves.other), adjacency))
        for site, items in by_name(moves).items():
            yield site, len(items), compare
    for session in result.sessions:
        if session.moved and session.indices:
            site = result.recording.sites[session.indices[0]].site
            yield site, 1, _remembered(partial(match_session, session, adjacency))


def _remembered(compare: Callable[[Leaf], Match]) -> Callable[[int, Leaf], Match]:
    """Cache ``compare`` for each leaf, because equal sites may have ten thousand names."""
    known: dict[int, Match] = {}

    def at(place: int, leaf: Leaf) -> Match:
        if place not in known:
            known[place] = compare(leaf)
        return known[place]

    return at


def pure_bound(proof: Proof, claim: Claim) -> Fraction | None:
    """Return the pure epsilon of the tree in the claim's setting, or ``None`` if there is none."""
    try:
        return derive(proof.to_json(), claim).pure
    except CertificateError:
        return None  # reported where the certificate is made


def above_pure_bound(total: Fraction, bound: Fraction | None) -> list[str]:
    """Return a mismatch if one record can cost ``total`` in a replay and the certificate covers less."""
    if bound is None or total <= bound * (1 + ROUNDING):
        return []
    return [f"one record can cost {float(total):.6g} in all, the certificate covers only {float(bound):.6g}"]


def _covered(proof: Proof, wanted: Mapping[Fitting, int], leaves: Sequence[Leaf], *, pure: bool) -> bool:
    """Return whether the search found a leaf for each site such that the tree covers all of them.

    ``wanted`` maps the leaves that a site fits, as indices and costs, to the number of such sites. Sites with
    the least choice go first.
    """
    rows = sorted(wanted.items(), key=lambda item: len(item[0]))
    if _in_bulk(proof, rows, leaves, pure=pure):
        return True
    if all(len(row) == 1 for row, _ in rows):
        return False  # there was nothing to choose
    return _by_search(proof, [row for row, count in rows for _ in range(count)], leaves, pure=pure)


def _in_bulk(
    proof: Proof, rows: Sequence[tuple[Fitting, int]], leaves: Sequence[Leaf], *, pure: bool
) -> bool:
    """Return whether it suffices to give each leaf in turn as many of the equal sites as fit."""
    spent: dict[int, Fraction] = {}
    for ((place, cost), *_), count in rows:
        spent[place] = spent.get(place, Fraction(0)) + count * cost
    if _pays(proof, spent, leaves, pure=pure):
        return True  # each site on its tightest leaf, which usually suffices
    spent = {}
    for row, count in rows:
        left = count
        for place, cost in row:
            before = spent.get(place, Fraction(0))

            def fits(
                number: int, place: int = place, cost: Fraction = cost, before: Fraction = before
            ) -> bool:
                return _pays(proof, {**spent, place: before + number * cost}, leaves, pure=pure)

            number = _largest(fits, left)
            spent[place] = before + number * cost
            left -= number
            if not left:
                break
        if left:
            return False
    return True


def _pays(proof: Proof, spent: Mapping[int, Fraction], leaves: Sequence[Leaf], *, pure: bool) -> bool:
    """Return whether the tree covers this use of each leaf, by its index."""
    room = all(now <= leaves[place].most * (1 + ROUNDING) for place, now in spent.items())
    return room and payments(proof, spent, whole=not pure) <= 1 + ROUNDING


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number up to ``most`` that ``fits``, or 0. Numbers below one that fits must fit."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _by_search(proof: Proof, rows: Sequence[Fitting], leaves: Sequence[Leaf], *, pure: bool) -> bool:
    """Return the same as ``_in_bulk``, site by site with backtracking."""
    chosen: list[int] = []
    spent: dict[int, Fraction] = {}
    start = 0
    for _ in range(TRIES + len(rows)):
        if len(chosen) == len(rows):
            return True
        row = rows[len(chosen)]
        for number in range(start, len(row)):
            place, cost = row[number]
            now = spent.get(place, Fraction(0)) + cost
            if now > leaves[place].most * (1 + ROUNDING):
                continue
            start = number + 1
            if payments(proof, {**spent, place: now}, whole=not pure) <= 1 + ROUNDING:
                spent[place] = now
                chosen.append(number)
                start = 0
            break
        else:
            if not chosen:
                return False
            start = chosen.pop() + 1
            place, cost = rows[len(chosen)][start - 1]
            spent[place] -= cost
    return len(chosen) == len(rows)


def _overspent(wanted: Mapping[Fitting, int], leaves: Sequence[Leaf], most: int) -> list[str]:
    """Describe what is used too often if every site uses its tightest leaf that has room."""
    found: list[str] = []
    spent: dict[int, Fraction] = {}
    for costs in (costs for costs, count in wanted.items() for _ in range(count)):
        room = (item for item in costs if spent.get(item[0], 0) + item[1] <= leaves[item[0]].most)
        place, cost = next(room, costs[0])
        spent[place] = spent.get(place, Fraction(0)) + cost
    for place, total in spent.items():
        if total > leaves[place].most * (1 + ROUNDING):
            found.append(
                f"one record uses {leaves[place].describe()} {float(total):.6g} times, the certificate has "
                f"it {leaves[place].most} times"
            )
    if sum(spent.values(), Fraction(0)) > most * (1 + ROUNDING):
        found.append(
            f"one record uses {float(sum(spent.values())):.6g} mechanisms, the certificate covers {most}"
        )
    names = ", ".join(leaves[place].describe() for place in spent)
    return found or [
        f"one record uses mechanisms that the certificate does not cover in combination: {names}"
    ]


def _compare(distributions: tuple[Distribution, Distribution], adjacency: Adjacency, leaf: Leaf) -> Match:
    return match(leaf, *distributions, adjacency)


def _fitted(
    site: str, compare: Callable[[int, Leaf], Match], leaves: Sequence[Leaf]
) -> tuple[str, list[tuple[int, Match]], Fraction]:
    """Return a mismatch, the leaves that the site fits (tightest first), and its largest reach."""
    named = [(place, leaf) for place, leaf in enumerate(leaves) if leaf.accepts(site)]
    if not named:
        return f"site {site!r} is affected, but no mechanism of the certificate covers it", [], Fraction(0)
    matches = [(place, compare(place, leaf)) for place, leaf in named]
    fitting = [(place, item) for place, item in matches if not item.objection]
    if not fitting:
        text = f"site {site!r} does not match the certificate's mechanism {named[0][1].describe()}"
        return f"{text}: {matches[0][1].objection}", [], Fraction(0)
    reach = max(item.reach for _, item in fitting)
    return "", sorted(fitting, key=lambda item: -item[1].share), reach
