"""Decide whether a check that refuted nothing could have refuted anything, and explain why not.

A check is *not audited* in two cases: it has too few runs for the worst possible violation, which is known
before the first run, or its outputs held nothing that can be read. (``notes.memory`` handles the third case,
calls that depend on each other.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.features import Floats
from dpaudit.blackbox.hypotheses import Points
from dpaudit.blackbox.outcomes import CLOSED, LABEL_BASE
from dpaudit.blackbox.power import runs_needed
from dpaudit.blackbox.search import Candidate, Search
from dpaudit.blackbox.several import MAX_COORDINATES
from dpaudit.blackbox.words import at_most

__all__ = ["too_few", "unread"]


def too_few(points: Points, *, candidates: int, alpha: float, runs: int) -> str:
    """Return why ``runs`` on ``candidates`` pairs cannot refute any mechanism at level ``alpha``.

    The text is empty if they can.
    """
    needed = runs_needed(points, candidates=candidates, alpha=alpha)
    if needed is not None and runs >= needed:
        return ""
    where = f" on {candidates} pairs of inputs" if candidates > 1 else ""
    return (
        f"{runs:,} runs{where} cannot refute this claim at alpha = {alpha:.2g}, even by an event that always "
        f"occurs on one input and never on the other: {_in_words(needed)}"
    )


def _in_words(needed: int | None) -> str:
    """Describe the required number of runs, rounded up to two figures."""
    if needed is None:
        return "no number of runs is enough"
    rounded = float(at_most(needed, 2))
    return f"that requires {rounded:,.0f} runs" if rounded < 1e9 else f"that requires {rounded:.1e} runs"


def unread(search: Search, *, alpha: float) -> str:
    """Return why too few outputs could be read to refute anything, or an empty text."""
    played = [candidate for candidate in search.candidates if candidate.attack.pairs]
    points = search.target.points
    found = sum(int(np.count_nonzero(_read(candidate))) for candidate in played)
    if not too_few(points, candidates=len(search.candidates), alpha=alpha, runs=found):
        return ""
    if any(candidate.encoder.strange for candidate in played):
        what = "text that occurred only once, such as a hash or a random name"
    elif sum(sum(candidate.raised) for candidate in played) > search.samples / 2:
        what = "an exception"
    else:
        what = "None, NaN or nothing"
    return (
        f"only {found:,} of {search.samples:,} outputs held a number or a repeated label. The others were "
        f"{what}"
    )


def _labels_again(values: Floats) -> NDArray[np.bool_]:
    """Return which outputs hold a label that another output has in the same place."""
    again = np.zeros(len(values), dtype=bool)
    for column in values.T[:MAX_COORDINATES]:
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        again |= (column <= LABEL_BASE) & (counts > 1)[place]
    return again


def _read(candidate: Candidate) -> NDArray[np.bool_]:
    """Return which outputs, on both inputs, hold something to bet on.

    That is a number, a repeated label, or one of several shapes. An exception alone reveals nothing about the
    data.
    """
    values = np.concatenate([side.values for side in candidate.attack.past])
    symbols = np.concatenate([side.symbols for side in candidate.attack.past])
    encoder = candidate.encoder
    kinds, place, counts = np.unique(symbols, return_inverse=True, return_counts=True)
    names = [" ".join(encoder.kinds(kind, kind + 1)) for kind in kinds]
    proper = np.array([not name.startswith("the call raised") and CLOSED not in name for name in names])
    is_number = (values > LABEL_BASE) | np.isneginf(values)
    said = is_number.any(axis=1)
    if encoder.strange:
        said |= _labels_again(values)
    else:
        said |= ~np.isnan(values).all(axis=1)
        if np.count_nonzero(proper) > 1:
            said |= proper[place]
    found: NDArray[np.bool_] = said & (counts > 1)[place]
    return found
