"""Derive bounds for rows that private integers select from a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpaudit.kernel.values.elementwise import Rule, hull
from dpaudit.kernel.values.info import Info, Setting, fit, need, union

__all__ = ["SELECTIONS"]


def gather(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound ``table[place]``, where the first operand is the place and the others are the rows of the table.

    The place must provably be one of 0 ... k - 1. It is one number, or one number for each record, and then
    the rows must be public.

    Proof. On both sides the result is one of the rows, or for each record one of the rows. So every entry is
    in the hull of the rows, and its norms are at most the largest norm of a row. ``fit`` bounds the change by
    the width of the hull and by the norms. The result is a function of the place and the rows, so it depends
    on the records of their supports. If the place is public, both sides select the same row, which changes by
    at most the largest change of a row.
    """
    place, *rows = infos
    k, lead = len(rows), place.records
    need(
        place.kind == "i" and len(place.shape) == lead,
        "a private index must be one integer, or one integer for each record",
    )
    inside = place.low is not None and s.at_most(0, place.low) and s.at_most(place.high, k - 1)
    need(k >= 1 and inside, f"a private index into {k} rows must provably be from 0 to {k - 1} (clip it)")
    need(
        len({(row.shape, row.kind) for row in rows}) == 1 and not any(row.records for row in rows),
        "the rows of a table must have the same shape and type",
    )
    need(
        not lead or not any(row.private for row in rows),
        "a table in which each record selects a row must be public",
    )
    moves = place.private
    support = place.support if moves else ()
    for row in rows:
        support = union(support, row.support if row.private else ())
    low, high = hull(s, rows)
    found = Info(
        shape=(*place.shape, *rows[0].shape),
        kind=rows[0].kind,
        low=low,
        high=high,
        records=lead,
        change1=None if moves else s.largest_of(*[row.change1 for row in rows]),
        change2=None if moves else s.largest_of(*[row.change2 for row in rows]),
        change=None if moves else s.largest_of(*[row.change for row in rows]),
        norm1=s.largest_of(*[row.norm1 for row in rows]),
        norm2=s.largest_of(*[row.norm2 for row in rows]),
        support=support,
        aligned=place.aligned,
    )
    return fit(s, found)


SELECTIONS: dict[str, Rule] = {"gather": gather}
