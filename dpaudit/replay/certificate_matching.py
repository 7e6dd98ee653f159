"""From a certificate to the program: is what one record moves what the certificate pays for?

Every site that moved must be one of the leaves of the certificate's tree (``leaf_rules``), and all of them
together no more than the tree adds up, with one branch of each parallel node. Where the tree has a pure
bound, one record must not cost more than that in all, whatever the claim is about.
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

#: The leaves that a site fits: their places and what it costs there, tightest first.
Fitting = tuple[tuple[int, Fraction], ...]

#: How many choices are tried, beyond one for each site; where none is found by then, it is a mismatch.
TRIES = 200


@dataclass(frozen=True)
class Fit:
    """How what one record moved fits a certificate: every ``mismatches`` in words, and for each site that
    fits the ``reach``: the largest share of a fitting leaf's sensitivity that it moved by."""

    mismatches: list[str]
    reach: dict[str, Fraction]


def fit(result: Replay, proof: Proof, adjacency: Adjacency, *, pure: bool) -> Fit:
    """Compare what one record moved with what the certificate pays for.

    A ``pure`` claim adds costs up, so that two sites at half a leaf's cost count as one; otherwise sites
    count, whatever their cost.
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
    """The names of the sites that moved, how many of them have equal distributions, and how these fit the
    leaf at a place."""
    for moves in equal_shifts(result):
        compare = _remembered(partial(_compare, (moves.distribution, moves.other), adjacency))
        for site, items in by_name(moves).items():
            yield site, len(items), compare
    for session in result.sessions:
        if session.moved and session.indices:
            site = result.recording.sites[session.indices[0]].site
            yield site, 1, _remembered(partial(match_session, session, adjacency))


def _remembered(compare: Callable[[Leaf], Match]) -> Callable[[int, Leaf], Match]:
    """``compare``, asked once for each place: equal sites may have ten thousand names."""
    known: dict[int, Match] = {}

    def at(place: int, leaf: Leaf) -> Match:
        if place not in known:
            known[place] = compare(leaf)
        return known[place]

    return at


def pure_bound(proof: Proof, claim: Claim) -> Fraction | None:
    """The pure epsilon of the tree in the claim's setting; ``None`` if there is none."""
    try:
        return derive(proof.to_json(), claim).pure
    except CertificateError:
        return None  # said where the certificate is made


def above_pure_bound(total: Fraction, bound: Fraction | None) -> list[str]:
    """The mismatch, in words, of a replay in which one record can cost ``total``."""
    if bound is None or total <= bound * (1 + ROUNDING):
        return []
    return [f"one record can cost {float(total):.6g} in all, the certificate pays for {float(bound):.6g}"]


def _covered(proof: Proof, wanted: Mapping[Fitting, int], leaves: Sequence[Leaf], *, pure: bool) -> bool:
    """Whether a choice of a leaf for each site was found that the tree pays for. ``wanted`` has the leaves
    that a site fits, as places and costs, and how many sites that are; those with the least choice go
    first."""
    rows = sorted(wanted.items(), key=lambda item: len(item[0]))
    if _in_bulk(proof, rows, leaves, pure=pure):
        return True
    if all(len(row) == 1 for row, _ in rows):
        return False  # there was nothing to choose
    return _by_search(proof, [row for row, count in rows for _ in range(count)], leaves, pure=pure)


def _in_bulk(
    proof: Proof, rows: Sequence[tuple[Fitting, int]], leaves: Sequence[Leaf], *, pure: bool
) -> bool:
    """Whether it will do to give each leaf in turn as many of the equal sites as it has room for."""
    spent: dict[int, Fraction] = {}
    for ((place, cost), *_), count in rows:
        spent[place] = spent.get(place, Fraction(0)) + count * cost
    if _pays(proof, spent, leaves, pure=pure):
        return True  # each site its tightest leaf: one look at the tree, as a rule
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
    """Whether the tree pays for so much of each leaf, by its place."""
    room = all(now <= leaves[place].most * (1 + ROUNDING) for place, now in spent.items())
    return room and payments(proof, spent, whole=not pure) <= 1 + ROUNDING


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` that ``fits``, where all below one that does fit too; 0 if none."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _by_search(proof: Proof, rows: Sequence[Fitting], leaves: Sequence[Leaf], *, pure: bool) -> bool:
    """The same, site by site, with some choices taken back."""
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
    """In words, what is paid too often where every site pays for its tightest leaf that has room."""
    found: list[str] = []
    spent: dict[int, Fraction] = {}
    for costs in (costs for costs, count in wanted.items() for _ in range(count)):
        room = (item for item in costs if spent.get(item[0], 0) + item[1] <= leaves[item[0]].most)
        place, cost = next(room, costs[0])
        spent[place] = spent.get(place, Fraction(0)) + cost
    for place, total in spent.items():
        if total > leaves[place].most * (1 + ROUNDING):
            found.append(
                f"one record pays {float(total):.6g} times for {leaves[place].describe()}, which the "
                f"certificate has {leaves[place].most} times"
            )
    if sum(spent.values(), Fraction(0)) > most * (1 + ROUNDING):
        found.append(
            f"one record pays for {float(sum(spent.values())):.6g} mechanisms, the certificate for {most}"
        )
    names = ", ".join(leaves[place].describe() for place in spent)
    return found or [
        f"one record pays for mechanisms that the certificate does not pay for together: {names}"
    ]


def _compare(distributions: tuple[Distribution, Distribution], adjacency: Adjacency, leaf: Leaf) -> Match:
    return match(leaf, *distributions, adjacency)


def _fitted(
    site: str, compare: Callable[[int, Leaf], Match], leaves: Sequence[Leaf]
) -> tuple[str, list[tuple[int, Match]], Fraction]:
    """The objection, or the leaves that the site fits, by their places, tightest first; and the largest share
    of their sensitivities that it moved by."""
    named = [(place, leaf) for place, leaf in enumerate(leaves) if leaf.accepts(site)]
    if not named:
        return f"site {site!r} moved, and the certificate is about no such site", [], Fraction(0)
    matches = [(place, compare(place, leaf)) for place, leaf in named]
    fitting = [(place, item) for place, item in matches if not item.objection]
    if not fitting:
        text = f"site {site!r} is not what the certificate speaks about, {named[0][1].describe()}"
        return f"{text}: {matches[0][1].objection}", [], Fraction(0)
    reach = max(item.reach for _, item in fitting)
    return "", sorted(fitting, key=lambda item: -item[1].share), reach
