"""Programs with hidden draws, whose replays have no exact loss: the sites that one record moves, and events
of what is shown, with the hidden draws summed out.

An event is a sequence of shown values, and its probability a sum over hidden ones: a ``mixture`` witness,
which bounds it from below on one input and from above on the other. ``program_event`` takes the trees from
the program itself: every path that shows the event.
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

#: Bits of a stated bound; the checker uses more, so that its enclosure is inside this one's.
BITS = 128
#: What stands for the names of sites that nobody sees.
HIDDEN = "hidden draw"
#: Forced histories draw what they do not choose from this seed, whatever the run's.
FORCED = 0


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
    ``NotTractableError`` where an input cannot show ``seen``, and for a view of everybody but some.
    """
    if view.complement:
        raise NotTractableError(f"the view must name who sees the event, got {view}; use View.of.")
    sides = [sum_out(program, data, seen, view=view)[1] for data in (left, right)]
    if not all(sides):
        raise NotTractableError(f"both inputs must be able to show {seen!r}; choose another transcript.")
    values = [site.value for site in sides[0][0].sites if site.visible]
    recorded, neighbour = (_grown([path.sites for path in paths], view.principals) for paths in sides)
    return Event(values=values, recorded=recorded, neighbour=neighbour)


def _grown(paths: Sequence[tuple[PathSite, ...]], to: Audience) -> Tree:
    """The tree of a mixture from the sites of the paths that ``sum_out`` found; ``to`` sees the visible."""
    if not paths[0]:
        return End(reached=True)
    first = paths[0][0]
    if first.distribution is None:
        raise NotTractableError(f"site {first.site!r} has no distribution of its own; a mixture needs one.")
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
    """How many sites of each name have another distribution on the neighbour; those that nobody sees are
    together ``HIDDEN``."""
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
    """Why ``program`` may not be one in which a record touches one site of each name in ``sites`` (``HIDDEN``
    for a draw that nobody sees) and nothing else.

    Looked at are each pair, both directions, along the forced ``histories`` (``None``: sampled). Nothing may
    leak; on its own input nothing may move; every kind of site must have moved on a forced history.
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
                f"one record moved {count} sites {site!r} {where}": None
                for site, count in moved.items()
                if site not in sites or count > 1
            }
            touched |= set(moved) if choice is not None else set()
    return [*found, *(f"no forced history moved a site {site!r}" for site in sites if site not in touched)]
