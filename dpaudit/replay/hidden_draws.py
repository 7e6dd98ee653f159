"""Examine programs with hidden draws, whose replays have no exact loss.

``objections`` checks which sites one record affects. A ``mixture`` witness bounds the probability of an event
of the output, a sum over hidden draws, from below on one input and from above on the other.
``program_event`` takes the trees from the program itself: every path with this output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpaudit.certify.witnesses.mixture import Draw, End, Event, See, Tree, mixture_body, mixture_bound
from dpaudit.coins import Choice, Program, Replay, force, record, replay, sum_out
from dpaudit.coins.enumerator import PathSite
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import NotTractableError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import encode_value
from dpaudit.core.neighbours import Neighbours, both_directions
from dpaudit.core.views import Audience, View
from dpaudit.kernel.ball import precision

__all__ = ["HIDDEN", "mixture_witness", "objections", "program_event"]

#: Bits of a stated bound. The checker uses more, so that its enclosure is inside this one's.
BITS = 128
#: Replaces the names of sites that nobody sees.
HIDDEN = "hidden draw"
#: Seed for the outcomes that a forced history does not choose, whatever the run's own seed is.
FORCED = 0


def mixture_witness(claim: PureDP, event: Event, *, description: str) -> Witness:
    """Return the witness that ``event`` gives for ``claim`` in its view, with the loss of its trees."""
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
    """Return the event that ``view`` sees ``seen`` (the return value last), from all paths of ``program``.

    Revealed values are the same on every path that counts, so only random values enter the event. Raises
    ``NotTractableError`` if an input cannot show ``seen``, and for a view of everybody but some.
    """
    if view.complement:
        raise NotTractableError(
            f"the view must name who sees the event, got {view}. Use View.of.", code="E-VIEW-COMPLEMENT"
        )
    sides = [sum_out(program, data, seen, view=view)[1] for data in (left, right)]
    if not all(sides):
        raise NotTractableError(
            f"both inputs must be able to show {seen!r}, one of them cannot.", code="E-EVENT-IMPOSSIBLE"
        )
    values = [site.value for site in sides[0][0].sites if site.visible]
    recorded, neighbour = (_grown([path.sites for path in paths], view.principals) for paths in sides)
    return Event(values=values, recorded=recorded, neighbour=neighbour)


def _grown(paths: Sequence[tuple[PathSite, ...]], to: Audience) -> Tree:
    """Return the tree of a mixture from the paths that ``sum_out`` found. ``to`` sees the visible sites."""
    if not paths[0]:
        return End(reached=True)
    first = paths[0][0]
    if first.distribution is None:
        raise NotTractableError(
            f"a mixture requires sites with their own distribution, site {first.site!r} has none.",
            code="E-MIXTURE-NO-DISTRIBUTION",
        )
    if first.visible:
        return See(
            site=first.site,
            to=to,
            distribution=first.distribution,
            then=_grown([path[1:] for path in paths], to),
        )
    branches: dict[str, tuple[Any, list[tuple[PathSite, ...]]]] = {}
    for path in paths:
        branches.setdefault(str(encode_value(path[0].value)), (path[0].value, []))[1].append(path[1:])
    return Draw(
        site=first.site,
        distribution=first.distribution,
        branches=[(value, _grown(rest, to)) for value, rest in branches.values()],
    )


def _moved_sites(result: Replay) -> Counter[str]:
    """Count the affected sites of each name. Sites that nobody sees are counted together as ``HIDDEN``."""
    moved = Counter(item.record.site for item in result.losses if item.moved)
    moved[HIDDEN] += sum(HIDDEN in text for text in result.unmet)
    moved["something else"] += sum(HIDDEN not in text for text in result.unmet)
    return +moved


def objections(
    program: Program,
    pairs: Sequence[Neighbours],
    histories: Mapping[str, Choice | None],
    *,
    sites: Sequence[str],
    rng: np.random.Generator,
) -> list[str]:
    """Return why ``program`` may not affect exactly one site of each name in ``sites`` with one record.

    ``HIDDEN`` in ``sites`` is a draw that nobody sees. Each pair is examined in both directions, along the
    forced ``histories`` (``None``: sampled). Nothing may leak, nothing may change on the program's own input,
    and every kind of site must be affected on a forced history.
    """
    found: dict[str, None] = {}
    touched: set[str] = set()
    for pair in both_directions(pairs):
        for name, choice in histories.items():
            where = f"({pair.name}, {name})"
            if choice is None:
                recording = record(program, pair.left, rng=rng)
            else:
                recording = force(program, pair.left, choice, rng=np.random.default_rng(FORCED))
            same, other = (replay(program, data, recording) for data in (pair.left, pair.right))
            if _moved_sites(same) or same.leaks:
                found[f"the program does not repeat itself on its own input {where}"] = None
            moved = _moved_sites(other)
            found |= {f"leak: {leak} {where}": None for leak in other.leaks}
            found |= {
                f"one record affected {count} sites {site!r} {where}": None
                for site, count in moved.items()
                if site not in sites or count > 1
            }
            touched |= set(moved) if choice is not None else set()
    missing = (f"no forced history affected a site {site!r}" for site in sites if site not in touched)
    return [*found, *missing]
