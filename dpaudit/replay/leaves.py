"""List the leaves of a certificate's tree: the mechanisms that it adds up, with their multiplicities."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpaudit.certify.proof import Proof
from dpaudit.core.exact import exact

__all__ = ["ROUNDING", "Leaf", "Match", "leaves_of", "objection", "payments"]

#: The share that rounding may add: 1/10 is not dyadic, and costs of finite distributions are upper ends.
ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True)
class Match:
    """How an affected site fits a leaf, or why it does not (``objection``).

    ``share`` is the share of the leaf's cost, in the unit in which costs add up. ``events`` is the least
    number of events that change the site this much. ``reach`` is the share of the leaf's sensitivity by which
    the site changed, whatever its noise. It is 1 for a leaf without a sensitivity.
    """

    share: Fraction = Fraction(1)
    events: int = 1
    objection: str = ""
    reach: Fraction = Fraction(1)


def objection(text: str) -> Match:
    """Return a ``Match`` that says why a site does not fit."""
    return Match(objection=text)


@dataclass(frozen=True)
class Leaf:
    """One mechanism of a tree: its rule and parameters.

    ``sites`` are patterns that a site of this mechanism must all match. ``most`` is the number of times that
    one record may affect it. ``events`` is the number of events of one user that may change it at once (from
    the group privacy node above it).
    """

    rule: str
    parameters: Mapping[str, Any]
    sites: tuple[str, ...] = ()
    most: int = 1
    premise: Proof | None = None
    events: int = 1

    def accepts(self, site: str) -> bool:
        return all(fnmatch.fnmatchcase(site, pattern) for pattern in self.sites)

    def number(self, name: str) -> Fraction:
        return exact(self.parameters[name], name=name)

    def describe(self) -> str:
        words = (
            f"{name} {value}" for name, value in self.parameters.items() if name not in ("rows", "weights")
        )
        return f"{self.rule} ({', '.join(words)})"


_FACTORS: dict[str, str] = {"group": "events", "tree": "levels"}


def leaves_of(proof: Proof) -> tuple[list[Leaf], int]:
    """Return the leaves of a tree, and how many affected sites it covers in all."""
    if proof.rule == "tree" and "leaves" in proof.parameters:
        # A tree of known size may be a channel, whose answers have one joint distribution, or as many
        # releases.
        levels = int(proof.parameters["leaves"]).bit_length()
        inner, most = leaves_of(proof.premises[0])
        channel = Leaf("tree", {"leaves": proof.parameters["leaves"]}, premise=proof.premises[0])
        return [channel, *_times(inner, levels)], most * levels
    if proof.rule in ("shuffle", "relaxed") or not proof.premises:
        return [Leaf(proof.rule, proof.parameters, premise=proof.premises[0] if proof.premises else None)], 1
    parts = [leaves_of(premise) for premise in proof.premises]
    if proof.rule == "accounted":
        named = zip(proof.parameters["sites"], parts, strict=True)
        inside = [
            ([replace(leaf, sites=(*leaf.sites, site)) for leaf in found], n) for site, (found, n) in named
        ]
        return _added(inside, proof.parameters["touches"])
    if proof.rule == "sequential":
        return _added(parts, proof.parameters["times"])
    found, factor = [leaf for leaves, _ in parts for leaf in leaves], _factor(proof)
    if proof.rule == "group":
        found = [replace(leaf, events=leaf.events * factor) for leaf in found]
    return _times(found, factor), max(count for _, count in parts) * factor


def _factor(proof: Proof) -> int:
    """Return how often a node other than a sum covers its premise, or one of its branches."""
    if proof.rule == "parallel":
        return 2 if proof.parameters["moves"] == "yes" else 1
    return int(proof.parameters[_FACTORS[proof.rule]]) if proof.rule in _FACTORS else 1


def _added(parts: Sequence[tuple[list[Leaf], int]], times: Sequence[Any]) -> tuple[list[Leaf], int]:
    found = [leaf for (leaves, _), n in zip(parts, times, strict=True) for leaf in _times(leaves, int(n))]
    return found, sum(count * int(n) for (_, count), n in zip(parts, times, strict=True))


def _times(leaves: Sequence[Leaf], factor: int) -> list[Leaf]:
    return [replace(leaf, most=leaf.most * factor) for leaf in leaves]


def payments(proof: Proof, spent: Mapping[int, Fraction], *, whole: bool) -> Fraction:
    """Return how many copies of the tree cover ``spent``, the use of each leaf by its index in ``leaves_of``.

    At most 1 means that the tree covers it. A parallel node covers one of its branches at a time, whatever
    its other branches hold. ``whole`` means that a branch is covered entirely or not at all. Otherwise costs
    add up, and half of two branches costs no more than the more expensive one.
    """
    places = iter(range(len(leaves_of(proof)[0])))
    return _payments(proof, spent, places, whole)


def _payments(proof: Proof, spent: Mapping[int, Fraction], places: Iterator[int], whole: bool) -> Fraction:
    def share(needed: Fraction, times: int) -> Fraction:
        return Fraction(math.ceil(needed / times)) if whole else needed / times

    if proof.rule == "tree" and "leaves" in proof.parameters:
        channel = spent.get(next(places), Fraction(0))
        levels = int(proof.parameters["leaves"]).bit_length()
        return channel + share(_payments(proof.premises[0], spent, places, whole), levels)
    if proof.rule in ("shuffle", "relaxed") or not proof.premises:
        return spent.get(next(places), Fraction(0))
    parts = [_payments(premise, spent, places, whole) for premise in proof.premises]
    if proof.rule in ("accounted", "sequential"):
        times = proof.parameters["touches" if proof.rule == "accounted" else "times"]
        return max(share(needed, int(n)) for needed, n in zip(parts, times, strict=True))
    return share(sum(parts, Fraction(0)), _factor(proof))
