"""From a certificate to the program: is what one record moves what the certificate pays for?

Every site that moved must be one of the leaves of the certificate's tree (``leaf_rules``), and all of them
together no more than the tree adds up, with one branch of each parallel node. Where the tree has a pure
bound, one record must not cost more than that in all, whatever the claim is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from dpaudit.claims import Adjacency, Claim
from dpaudit.coins.replayer import Replay
from dpaudit.errors import CertificateError
from dpaudit.kernel.check import derive
from dpaudit.laws.base import Law
from dpaudit.proofs.proof import Proof
from dpaudit.replays.leaf_rules import match, match_session
from dpaudit.replays.leaves import ROUNDING, Leaf, Match, leaves_of, payments

__all__ = ["above_pure_bound", "misfits", "pure_bound"]

#: How many choices are tried, beyond one for each site; where none is found by then, it is a misfit.
TRIES = 200


def misfits(result: Replay, proof: Proof, adjacency: Adjacency, *, pure: bool) -> list[str]:
    """Every way in which what one record moved is not what the certificate pays for, in words.

    A ``pure`` claim adds prices up, so that two sites at half a leaf's price count as one; otherwise sites
    count, whatever their price.
    """
    leaves, most = leaves_of(proof)
    found: list[str] = []
    sites: list[tuple[str, Callable[[Leaf], Match]]] = []
    for moved in result.losses:
        if moved.moved and moved.record.law is not None:
            laws = (moved.record.law, moved.law_neighbour)
            sites.append((moved.record.site, partial(_compare, laws, adjacency)))
    for session in result.sessions:
        if session.moved and session.indices:
            site = result.recording.sites[session.indices[0]].site
            sites.append((site, partial(match_session, session, adjacency)))
    wanted: list[list[tuple[int, Fraction]]] = []
    for site, compare in sites:
        objection, fitting = _fitted(site, compare, leaves)
        if objection:
            found.append(objection)
        else:
            wanted.append([(place, share if pure else Fraction(1)) for place, share in fitting])
    if not _covered(proof, wanted, leaves, pure=pure):
        found += _overspent(wanted, leaves, most)
    return found


def pure_bound(proof: Proof, claim: Claim) -> Fraction | None:
    """The pure epsilon of the tree in the claim's setting; ``None`` if there is none."""
    try:
        return derive(proof.to_json(), claim).pure
    except CertificateError:
        return None  # said where the certificate is made


def above_pure_bound(total: Fraction, bound: Fraction | None) -> list[str]:
    """The misfit, in words, of a replay in which one record can cost ``total``."""
    if bound is None or total <= bound * (1 + ROUNDING):
        return []
    return [f"one record can cost {float(total):.6g} in all, the certificate pays for {float(bound):.6g}"]


def _covered(
    proof: Proof, wanted: Sequence[list[tuple[int, Fraction]]], leaves: Sequence[Leaf], *, pure: bool
) -> bool:
    """Whether a choice of a leaf for each site was found that the tree pays for. ``wanted`` has the leaves
    that each site fits, as places and costs; those with the least choice go first."""
    rows = sorted(wanted, key=len)
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


def _overspent(wanted: Sequence[list[tuple[int, Fraction]]], leaves: Sequence[Leaf], most: int) -> list[str]:
    """In words, what is paid too often where every site pays for its tightest leaf that has room."""
    found: list[str] = []
    spent: dict[int, Fraction] = {}
    for costs in wanted:
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


def _compare(laws: tuple[Law, Law], adjacency: Adjacency, leaf: Leaf) -> Match:
    return match(leaf, *laws, adjacency)


def _fitted(
    site: str, compare: Callable[[Leaf], Match], leaves: Sequence[Leaf]
) -> tuple[str, list[tuple[int, Fraction]]]:
    """The objection, or the leaves that the site fits: places and shares of their price, tightest first."""
    named = [(place, leaf) for place, leaf in enumerate(leaves) if leaf.accepts(site)]
    if not named:
        return f"site {site!r} moved, and the certificate is about no such site", []
    matches = [(place, compare(leaf)) for place, leaf in named]
    fitting = [(place, item.share) for place, item in matches if not item.objection]
    if not fitting:
        text = f"site {site!r} is not what the certificate speaks about, {named[0][1].describe()}"
        return f"{text}: {matches[0][1].objection}", []
    return "", sorted(fitting, key=lambda item: -item[1])
