"""Witnesses against relaxed secure aggregation: what the server sees, with the users' hidden messages summed
out.

A relaxed S looks at messages that nobody sees. An event is then a sequence of shown values, and its
probability a sum over hidden ones: a ``mixture`` witness, which bounds it from below on one input and from
above on the other. ``program_event`` takes the trees from the program itself (every path that shows the
event), ``leaky_event`` writes them down for ``LeakySum`` and a batch too large for that, with few messages
listed and the rest charged in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from dpaudit.claims import PureDP
from dpaudit.coins import sum_out
from dpaudit.coins.base import Program
from dpaudit.coins.enumerator import Path, PathSite
from dpaudit.errors import NotTractableError
from dpaudit.evidence import Witness
from dpaudit.exact import encode_value
from dpaudit.kernel.ball import arb, precision
from dpaudit.laws import Bernoulli, WrappedMod
from dpaudit.views import SERVER, Audience, View
from dpaudit.witnesses.mixture import Draw, End, Event, See, Tree, mixture_body, mixture_bound
from mechanisms.local_noise import total_noise
from mechanisms.modular_sum import clipped
from mechanisms.parameter_sheet import Sheet
from mechanisms.relaxed_aggregation import LeakyCoin, nearer_to_full

__all__ = ["ADMISSIBLE", "BITS", "leaky_event", "leaky_loss", "mixture_witness", "program_event", "tree_of"]

#: What Theorem 3 lets the server see.
ADMISSIBLE = "the output of any (ε/4, q)-relaxation of secure aggregation (Definition 9)"

#: Bits of a stated bound; the checker uses more, so that its enclosure is inside this one's.
BITS = 128

_TO: Audience = frozenset([SERVER])


def mixture_witness(claim: PureDP, event: Event, *, description: str) -> Witness:
    """The witness that ``event`` gives for ``claim``, in the claim's view, with the loss of its trees."""
    body = mixture_body([event], view=claim.view)
    with precision(BITS):
        bound = mixture_bound(body["events"], claim, claim.view)
    return Witness(
        quantity=claim.quantity,
        bound=bound,
        form="mixture",
        body=body,
        origin="enumerated",
        description=description,
    )


def program_event(program: Program, left: Any, right: Any, seen: Sequence[Any], *, view: View) -> Event:
    """The event that ``view`` sees ``seen`` (the return value last) when ``program`` runs, from all paths.

    What is revealed is the same on every path that counts; only random values enter the event. Raises
    ``NotTractableError`` where an input cannot show ``seen``.
    """
    sides = [sum_out(program, data, seen, view=view)[1] for data in (left, right)]
    if not all(sides):
        raise NotTractableError(f"both inputs must be able to show {seen!r}; choose another transcript.")
    values = [site.value for site in sides[0][0].sites if site.visible]
    recorded, neighbour = (tree_of(paths) for paths in sides)
    return Event(values=values, recorded=recorded, neighbour=neighbour)


def tree_of(paths: Iterable[Path]) -> Tree:
    """The tree of a mixture from the paths that ``sum_out`` found; everything visible goes to the server."""
    return _grown([path.sites for path in paths])


def _grown(paths: Sequence[tuple[PathSite, ...]]) -> Tree:
    if not paths[0]:
        return End(reached=True)
    first = paths[0][0]
    if first.law is None:
        raise NotTractableError(f"site {first.site!r} has no law of its own; a mixture needs one.")
    if first.visible:
        return See(site=first.site, to=_TO, law=first.law, then=_grown([path[1:] for path in paths]))
    branches: dict[str, tuple[Any, list[tuple[PathSite, ...]]]] = {}
    for path in paths:
        branches.setdefault(str(encode_value(path[0].value)), (path[0].value, []))[1].append(path[1:])
    return Draw(
        site=first.site, law=first.law, branches=[(value, _grown(rest)) for value, rest in branches.values()]
    )


def leaky_event(sheet: Sheet, coin: LeakyCoin, *, reach: int) -> Event:
    """One batch with ``LeakySum`` about user 0, whose reward is 1 or else 0, all others' being 0; the server
    sees ŷ = g and the coin 1.

    Messages from -``reach`` to g + ``reach`` are listed, modulo m, or all of them where these are as many.
    """
    return Event(
        values=[sheet.precision % sheet.modulus, 1],
        recorded=_leaky_tree(sheet, coin, reach, sheet.precision),
        neighbour=_leaky_tree(sheet, coin, reach, 0),
    )


def _leaky_tree(sheet: Sheet, coin: LeakyCoin, reach: int, encoded: int) -> Tree:
    m, rest = sheet.modulus, total_noise(sheet.share, users=sheet.users - 1)

    def shown(message: int) -> Tree:
        bias = coin.high if nearer_to_full(message, sheet) else coin.low
        toss = See(site="coin", to=_TO, law=Bernoulli(p=bias), then=End(reached=True))
        return See(site="aggregate", to=_TO, law=WrappedMod(rest, modulus=m, offset=message), then=toss)

    law = clipped(sheet.share.shift(encoded), modulus=m)
    return Draw(site="message", law=law, branches=[(k, shown(k)) for k in _listed(sheet, reach)])


def _listed(sheet: Sheet, reach: int) -> list[int]:
    if 2 * reach + sheet.precision + 1 >= sheet.modulus:
        return list(range(sheet.modulus))
    return [k % sheet.modulus for k in range(-reach, sheet.precision + reach + 1)]


def leaky_loss(sheet: Sheet, coin: LeakyCoin, *, reach: int) -> tuple[Any, Any]:
    """P(ŷ = g, coin 1) of both inputs of ``leaky_event`` as balls, computed without trees: an independent
    route. What ``reach`` leaves out is in the radius."""
    m = sheet.modulus
    own = WrappedMod(sheet.share, modulus=m)
    others = WrappedMod(total_noise(sheet.share, users=sheet.users - 1), modulus=m)
    found = []
    for encoded in (sheet.precision, 0):
        total, mass = arb(0), arb(0)
        for k in _listed(sheet, reach):
            weight = own.residue_ball((k - encoded) % m)
            bias = coin.high if nearer_to_full(k, sheet) else coin.low
            total += weight * others.residue_ball((sheet.precision - k) % m) * _ball(bias)
            mass += weight
        found.append(total + arb(0).union(1 - mass))
    return found[0], found[1]


def _ball(value: Fraction) -> Any:
    return arb(value.numerator) / value.denominator
