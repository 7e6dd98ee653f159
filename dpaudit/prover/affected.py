"""Derive how one change of the data affects each site: the affected releases, their changes and their cost.

The program is explored over symbols, once for every path of its public decisions. A release is affected if
its value contains a symbol of the change. The largest change of a linear form over a box is at a vertex. So
the counts and sensitivities, which an accounting declares, are exact for all data of one size and all
outcomes. Programs that branch on private values or hidden noise are refused, because there a record also
changes which releases follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from dpaudit.certify.sites import Site
from dpaudit.coins.base import Program, To
from dpaudit.coins.prover import ProvingCoins
from dpaudit.core.exact import exact
from dpaudit.core.views import PUBLIC
from dpaudit.prover.data import EVERY, Adjacent, Symbols
from dpaudit.prover.explore import Path, Walk, explore
from dpaudit.prover.forms import ZERO, Form, symbol
from dpaudit.prover.reading import require_readable
from dpaudit.prover.symbols import RefusedError

__all__ = ["Derived", "Touched", "derived_accounting", "undeclared"]

#: Vertices of one box of changes.
MAX_VERTICES = 2**14
#: The prefix of the text that names the site of the next release.
MARK = "site of the next release: "


@dataclass(frozen=True)
class Touched:
    """The largest effect of one change at a site.

    ``touches`` is the number of affected releases, ``sensitivity`` the largest change of one value, and
    ``cost`` the sum of abs(change) / scale over all releases.
    """

    touches: int
    sensitivity: Fraction
    cost: Fraction


@dataclass(frozen=True)
class Derived:
    """The largest effects of one change by site name, the ``total`` cost of all sites, and the path count."""

    sites: dict[str, Touched]
    total: Fraction
    paths: int


class _Sited(ProvingCoins):
    """Coins that record the site of each release before it."""

    __slots__ = ()

    def release(self, value: Any, noise: Any, *, site: str, to: To = PUBLIC) -> Any:
        self._follower.shown(MARK + site)
        return super().release(value, noise, site=site, to=to)


def derived_accounting(program: Program, *, data: Symbols, adjacency: Adjacent) -> Derived:
    """Explore ``program`` and derive how one change affects each site.

    Raise ``RefusedError`` for a program that the prover cannot follow, that branches on private values, draws
    hidden noise, or shows a private value without noise, and for data of every size.
    """
    if data.size == EVERY:
        raise RefusedError(
            "affected releases can only be counted for data of one size, got EVERY.", code="E-SIZE-NOT-FIXED"
        )
    require_readable(program)

    def run(walk: Walk) -> None:
        walk.shown(program(_Sited(walk), data.records(lambda name: walk.private(symbol(name)))))

    explored = explore(run, domain=data.domain(), integers=set(data.names) if data.integers else None)
    found: dict[str, Touched] = {}
    total = ZERO
    for path in explored.paths:
        releases = list(_releases(path))
        for piece in adjacency.pieces(data):
            here = _of_piece(releases, piece)
            total = max(total, here.pop("")[1])
            for site, (forms, cost) in here.items():
                moved = [_largest(form, piece) for form in forms]
                new = Touched(len(forms), max(moved, default=ZERO), cost)
                old = found.get(site, Touched(0, ZERO, ZERO))
                found[site] = Touched(*map(max, *((t.touches, t.sensitivity, t.cost) for t in (old, new))))
    return Derived(found, total, len(explored.paths))


def undeclared(derived: Derived, sites: Sequence[Site]) -> list[str]:
    """Return the differences by which the derived accounting exceeds the declared one, as sentences."""
    above = []
    for name, found in derived.sites.items():
        site = next((site for site in sites if site.matches(name)), None)
        if site is None:
            if found.touches:
                above.append(f"one change affects the undeclared site {name!r} (derived)")
        elif found.touches > site.touches:
            above.append(f"one change affects {found.touches} releases at {name!r}, declared {site.touches}")
        elif site.total is not None and found.cost > exact(site.total):
            above.append(f"one change costs {found.cost} at {name!r}, declared {site.total}")
    return above


def _releases(path: Path) -> Iterator[tuple[str, Form, Fraction]]:
    """Yield the site, value and scale of each release of a path."""
    if path.comparisons or path.draws or path.shown_forms():
        raise RefusedError(
            "the program branches on private values, draws hidden noise, or shows a private value without "
            "noise.",
            code="E-SITES-NOT-PUBLIC",
        )
    site = ""
    for event in path.events:
        if event[0] == "show" and event[1].startswith(f"str:{MARK}"):
            site = event[1].removeprefix(f"str:{MARK}")
        elif event[0] == "release":
            yield site, event[1], event[3]


def _of_piece(
    releases: Sequence[tuple[str, Form, Fraction]], piece: dict[str, tuple[Fraction, Fraction]]
) -> dict[str, tuple[list[Form], Fraction]]:
    """Return, by site, the forms that a change in the box affects, and the largest cost.

    The key "" has the sum over all sites.
    """
    moved = [item for item in releases if any(name in piece for name in item[1].terms)]
    names = sorted({name for _, form, _ in moved for name in form.terms if name in piece})
    if 2 ** len(names) > MAX_VERTICES:
        raise RefusedError(
            f"one change affects {len(names)} numbers at once, more than {MAX_VERTICES.bit_length() - 1}.",
            code="E-CHANGE-TOO-WIDE",
        )
    costs: dict[str, Fraction] = dict.fromkeys({"", *(site for site, _, _ in releases)}, ZERO)
    for ends in product(*(piece[name] for name in names)):
        change = dict(zip(names, ends, strict=True))
        here: dict[str, Fraction] = {}
        for site, form, scale in moved:
            for key in (site, ""):
                here[key] = here.get(key, ZERO) + abs(form.change(change)) / scale
        costs = {key: max(value, here.get(key, ZERO)) for key, value in costs.items()}
    return {key: ([form for site, form, _ in moved if site == key], cost) for key, cost in costs.items()}


def _largest(form: Form, piece: dict[str, tuple[Fraction, Fraction]]) -> Fraction:
    """Return the largest absolute change of a form over a box."""
    ends = [[value * end for end in piece[name]] for name, value in form.terms.items() if name in piece]
    return max(sum(map(max, ends), ZERO), -sum(map(min, ends), ZERO))
