"""What one change touches, derived: for each site how many releases move, by how much, at what cost.

The program is explored over symbols, once for every path of its public decisions. A release whose value holds
a symbol of the change moves; the largest change of a linear form over a box is at a vertex. So touch counts
and sensitivities, which an accounting declares, are exact for all data of one size and all outcomes. Programs
that decide by private values or hidden noise are refused: there a record moves what comes next.
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
#: How the text begins that says where the next release is.
MARK = "site of the next release: "


@dataclass(frozen=True)
class Touched:
    """The most that one change does at a site: how many releases move, the largest change of one value, and
    the sum of abs(change) / scale over all of them."""

    touches: int
    sensitivity: Fraction
    cost: Fraction


@dataclass(frozen=True)
class Derived:
    """By site name what one change touches, the ``total`` cost over all sites, and the paths explored."""

    sites: dict[str, Touched]
    total: Fraction
    paths: int


class _Sited(ProvingCoins):
    """Coins that note the site of each release before it."""

    __slots__ = ()

    def release(self, value: Any, noise: Any, *, site: str, to: To = PUBLIC) -> Any:
        self._follower.shown(MARK + site)
        return super().release(value, noise, site=site, to=to)


def derived_accounting(program: Program, *, data: Symbols, adjacency: Adjacent) -> Derived:
    """Explore ``program`` and derive what one change touches.

    Raises ``RefusedError`` for a program that the prover cannot follow, that decides by private values, draws
    hidden noise, or shows a private value as it is, and for data of every size.
    """
    if data.size == EVERY:
        raise RefusedError("touches are counted for data of one size; name it.")
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
    """What the derived accounting has above the declared one, in words; empty where it holds."""
    above = []
    for name, found in derived.sites.items():
        site = next((site for site in sites if site.matches(name)), None)
        if site is None:
            if found.touches:
                above.append(f"one change moves the undeclared site {name!r} (derived)")
        elif found.touches > site.touches:
            above.append(f"one change moves {found.touches} releases at {name!r}, declared {site.touches}")
        elif site.total is not None and found.cost > exact(site.total):
            above.append(f"one change costs {found.cost} at {name!r}, declared {site.total}")
    return above


def _releases(path: Path) -> Iterator[tuple[str, Form, Fraction]]:
    """Site, value and scale of each release of a path."""
    if path.comparisons or path.draws or path.shown_forms():
        raise RefusedError("what a record touches follows from hidden decisions, or is shown bare.")
    site = ""
    for event in path.events:
        if event[0] == "show" and event[1].startswith(f"str:{MARK}"):
            site = event[1].removeprefix(f"str:{MARK}")
        elif event[0] == "release":
            yield site, event[1], event[3]


def _of_piece(
    releases: Sequence[tuple[str, Form, Fraction]], piece: dict[str, tuple[Fraction, Fraction]]
) -> dict[str, tuple[list[Form], Fraction]]:
    """By site the forms that a change in the box moves, and the largest cost; of all sites under ""."""
    moved = [item for item in releases if any(name in piece for name in item[1].terms)]
    names = sorted({name for _, form, _ in moved for name in form.terms if name in piece})
    if 2 ** len(names) > MAX_VERTICES:
        raise RefusedError(f"a change moves {len(names)} numbers at once; take fewer.")
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
    """The largest change of a form over a box: both signs."""
    ends = [[value * end for end in piece[name]] for name, value in form.terms.items() if name in piece]
    return max(sum(map(max, ends), ZERO), -sum(map(min, ends), ZERO))
