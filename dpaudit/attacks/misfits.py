"""From a certificate to the program: is what one record moves what the certificate pays for?

Every site that moved must be one of the leaves of the certificate's tree (``leaf_rules``), and all of them
together no more than the tree adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from dpaudit.attacks.leaf_rules import ROUNDING, Match, match, match_session
from dpaudit.attacks.leaves import Leaf, leaves_of
from dpaudit.certificates.proof import Proof
from dpaudit.claims import Adjacency
from dpaudit.coins.replayer import Replay
from dpaudit.laws.base import Law

__all__ = ["misfits"]


def misfits(result: Replay, proof: Proof, adjacency: Adjacency, *, pure: bool) -> list[str]:
    """Every way in which what one record moved is not what the certificate pays for, in words.

    A ``pure`` claim adds prices up, so that two sites at half a leaf's price count as one; otherwise sites
    count, whatever their price.
    """
    leaves, most = leaves_of(proof)
    found: list[str] = []
    spent: dict[int, Fraction] = {}
    sites: list[tuple[str, Callable[[Leaf], Match]]] = []
    for moved in result.losses:
        if moved.moved and moved.record.law is not None:
            laws = (moved.record.law, moved.law_neighbour)
            sites.append((moved.record.site, partial(_compare, laws, adjacency)))
    for session in result.sessions:
        if session.moved and session.indices:
            site = result.recording.sites[session.indices[0]].site
            sites.append((site, partial(match_session, session, adjacency)))
    for site, compare in sites:
        objection, fitting = _fitted(site, compare, leaves)
        if objection:
            found.append(objection)
            continue
        costs = [(place, share if pure else Fraction(1)) for place, share in fitting]
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
    return found


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
