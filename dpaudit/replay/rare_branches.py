"""Bound the probability of an event after a hidden draw or a density, for an (epsilon, delta) claim.

A forced history enters a branch however rare it is. The probability of its output there sums over all hidden
outcomes, and over all numbers in an interval of the outcomes with a density (``coins.regions``). The
probabilities on both inputs then form a table: the last output of the history, or the cells of its last
release, and everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

from dpaudit.certify.witnesses.release import pieces_of
from dpaudit.certify.witnesses.tables import Interval, Outcome, tables_witness
from dpaudit.coins import Program, Replay
from dpaudit.coins.regions import Beginning, Way, beginning_of, ways
from dpaudit.coins.replayer import SiteLoss
from dpaudit.coins.transcript import same_shown
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import DpauditError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import exact_str
from dpaudit.core.rounding_modes import MODES, in_mode, rounding_mode
from dpaudit.core.views import View
from dpaudit.distributions.base import BaseMeasure
from dpaudit.kernel.ball import arb, lower_short, precision, upper_short
from dpaudit.replay.releases import release_part
from dpaudit.replay.rounding import by_rounding

__all__ = ["branch_witness", "hangs_on_more"]

#: Working precision of the masses. Probabilities are written with fewer bits.
BITS = 192

#: The bounds on each outcome, and the mass whose outcome is unknown.
_Masses = tuple[list[Interval], Fraction]


def hangs_on_more(result: Replay, end: int, view: View) -> bool:
    """Return whether a hidden draw or an outcome with a density comes before position ``end``."""
    return any(
        site.random
        and (
            not view.sees(site.to)
            or (site.distribution is not None and site.distribution.base_measure is BaseMeasure.LEBESGUE)
        )
        for site in result.recording.sites[:end]
    )


def branch_witness(
    program: Program, result: Replay, claim: ApproxDP, *, end: int, item: SiteLoss | None, words: str
) -> Witness | None:
    """Return a witness for the event at position ``end`` of a recording, after the outputs before it.

    The event is the recorded output there, or any cell of the release ``item``. Return ``None`` if the
    program cannot be followed far enough for a bound.
    """
    inputs, view = (result.recording.data, result.data), claim.view
    recording, released = result.recording, item is not None
    if end >= len(recording.sites):
        return None
    beginning = beginning_of(program, recording, end=end, view=view, released=released)
    if beginning is None:
        return None
    part = None if item is None else release_part(item)
    if released and part is None:
        return None

    def alike(one: Any, other: Any) -> bool:
        return same_shown(one, other) or by_rounding(one, other, data=[*inputs])

    def table(mode: int | None) -> list[_Masses] | None:
        with nullcontext() if mode is None else rounding_mode(mode):
            given = inputs if mode is None else [in_mode(data, mode) for data in inputs]
            found = [ways(program, data, beginning, view=view, alike=alike) for data in given]
        known = [side for side in found if side is not None]
        return [_masses(side, part) for side in known] if len(known) == 2 else None

    try:
        with precision(BITS):
            tables = [table(None)]
            witness = _witness(claim, tables, inputs, beginning, part, words)
            if witness is not None and witness.bound is not None and witness.bound > claim.bound:
                tables += [table(mode) for mode in MODES]
                witness = _witness(claim, tables, inputs, beginning, part, words)
            return witness
    except (DpauditError, ArithmeticError, ValueError):
        return None


def _masses(found: Sequence[Way], part: dict[str, Any] | None) -> _Masses:
    """Return bounds on the probabilities of the event, or of each cell of its release, on one input."""
    width = 1 if part is None else _width(part)
    totals, left_out = [arb(0)] * width, arb(0)
    for way in found:
        if way.kind == "other":
            continue
        mass = way.mass()
        cells = _cells(way, part) if way.kind == "shown" else None
        if cells is None:
            left_out += mass
        else:
            totals = [total + mass * cell for total, cell in zip(totals, cells, strict=True)]
    bounds = [
        (max(lower_short(total), Fraction(0)), min(upper_short(total), Fraction(1))) for total in totals
    ]
    return bounds, min(max(upper_short(left_out), Fraction(0)), Fraction(1))


def _width(part: dict[str, Any]) -> int:
    if part["cuts"] is not None:
        return len(part["cuts"]) + 1
    low, high = map(int, part["points"])
    return high - low + 1


def _cells(way: Way, part: dict[str, Any] | None) -> list[arb] | None:
    """Return the probabilities of the cells under the distribution of a path's release, or 1 for a value."""
    if part is None:
        return [arb(1)]
    distribution = way.distribution
    measure = BaseMeasure.LEBESGUE if part["cuts"] is not None else BaseMeasure.COUNTING
    if (
        distribution is None
        or distribution.batch_shape
        or distribution.event_ndim
        or distribution.base_measure is not measure
    ):
        return None
    return [p for p, _ in pieces_of(distribution, distribution, part)]


def _spanning(tables: Sequence[Sequence[_Masses]]) -> list[_Masses]:
    """Return the bounds that hold in every rounding mode."""
    found = []
    for sides in zip(*tables, strict=True):
        rows = zip(*(bounds for bounds, _ in sides), strict=True)
        bounds = [(min(low for low, _ in row), max(high for _, high in row)) for row in rows]
        found.append((bounds, max(left_out for _, left_out in sides)))
    return found


def _witness(
    claim: ApproxDP,
    tables: Sequence[Sequence[_Masses] | None],
    inputs: tuple[Any, Any],
    beginning: Beginning,
    part: dict[str, Any] | None,
    words: str,
) -> Witness | None:
    known = [table for table in tables if table is not None]
    if len(known) < len(tables):
        return None
    here, there = sides = _spanning(known)
    what = _in_words(beginning)
    labels = ["shown"] if part is None else [f"cell {k}" for k in range(len(here[0]))]
    outcomes = [
        Outcome(values=[what, label], recorded=p, neighbour=q)
        for label, p, q in zip(labels, here[0], there[0], strict=True)
    ]
    rest = [_rest(side) for side in sides]
    outcomes.append(Outcome(values=["everything else", ""], recorded=rest[0], neighbour=rest[1]))
    found = tables_witness(
        claim,
        outcomes,
        inputs=inputs,
        description=f"{words}: {what}",
        left_out=(here[1], there[1]),
    )
    return None if found.bound == 0 and (here[1] or there[1]) else found


def _rest(side: _Masses) -> Interval:
    bounds, left_out = side
    low = 1 - left_out - sum((high for _, high in bounds), Fraction(0))
    return max(low, Fraction(0)), max(1 - sum((low for low, _ in bounds), Fraction(0)), Fraction(0))


def _in_words(beginning: Beginning) -> str:
    words = []
    for kind, value in beginning.items:
        if kind == "interval":
            low, high = (None if end is None else exact_str(end) for end in value)
            words.append(f"a number between {low or '-infinity'} and {high or 'infinity'}")
        else:
            words.append(repr(value)[:60])
    return f"the event that shows {', then '.join(words) or 'nothing'}" + (
        ", then the last release in a set of cells" if beginning.released else ""
    )
