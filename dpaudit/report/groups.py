"""Group the rows of a page by claim: the claim, its repairs, and folded steps, what-ifs and controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit.report.file.parts import claim_id
from dpaudit.report.notation import natural_key
from dpaudit.report.roles import STRENGTHS, URGENT_FIRST
from dpaudit.report.rows import RowView

__all__ = [
    "Group",
    "Links",
    "counts_by_paper",
    "counts_by_role",
    "grouped",
    "links",
]

#: Roles in the main column of a claim, and in the column beside it. Rows of other roles are folded by role.
MAIN, BESIDE = ("printed",), ("repaired", "sharper")
FOLDED = ("step", "what-if", "control")


@dataclass(frozen=True)
class Fold:
    """Rows of one role under a claim. A fold is open if one of its rows needs attention."""

    words: str
    rows: tuple[RowView, ...]
    open: bool


@dataclass(frozen=True)
class Group:
    """The rows of one claim of one paper.

    ``opened`` holds the anchors of the rows in ``main`` that start open: the claim itself (the first row, if
    no row has the claim's id) and refuted rows.
    """

    id: str
    paper: str
    main: tuple[RowView, ...]
    opened: frozenset[str]
    beside: tuple[RowView, ...]
    folds: tuple[Fold, ...]


def grouped(rows: Sequence[RowView], headings: Mapping[str, str]) -> list[Group]:
    """Return one group for each claim, in the order of their first rows. ``headings`` names each role."""
    found: dict[tuple[str, str], list[RowView]] = {}
    for row in rows:
        found.setdefault((row.paper, claim_id(row.id)), []).append(row)
    return [_group(paper, name, group, headings) for (paper, name), group in found.items()]


def _group(paper: str, name: str, rows: Sequence[RowView], headings: Mapping[str, str]) -> Group:
    ordered = sorted(rows, key=lambda row: natural_key(row.id))
    folds = []
    for role in FOLDED:
        inside = tuple(row for row in ordered if row.role == role)
        if inside:
            counts = Counter(row.label for row in inside)
            verdicts = ", ".join(f"{count} {label}" for label, count in counts.items())
            alarm = any(row.urgent for row in inside)
            folds.append(Fold(f"{headings[role]}: {verdicts}", inside, alarm))
    main = tuple(row for row in ordered if row.role in MAIN)
    claimed = [row for row in main if row.id == name] or main[:1]
    return Group(
        id=name,
        paper=paper,
        main=main,
        opened=frozenset(row.anchor for row in main if row in claimed or row.verdict == "refuted"),
        beside=tuple(row for row in ordered if row.role in BESIDE),
        folds=tuple(folds),
    )


def counts_by_role(rows: Sequence[RowView], headings: Mapping[str, str]) -> list[dict[str, Any]]:
    """Count the rows with each verdict, and their strengths, for each role that occurs.

    Stated claims are listed even if there are none.
    """
    counts = []
    for role, words in headings.items():
        group = [row for row in rows if row.role == role]
        if group or role == "printed":
            counts.append({"role": role, "words": words, "count": len(group), "verdicts": _verdicts(group)})
    return counts


def _verdicts(rows: Sequence[RowView]) -> list[dict[str, Any]]:
    """Return for each verdict the number of rows, their strengths, and the verdict's share of a bar."""
    found: list[dict[str, Any]] = []
    start = 0.0
    for verdict in URGENT_FIRST[::-1]:
        group = [row for row in rows if row.verdict == verdict]
        strengths = Counter(row.strength for row in group)
        share = 100.0 * len(group) / len(rows) if rows else 0.0
        found.append(
            {
                "verdict": verdict,
                "count": len(group),
                "behind": " · ".join(f"{strengths[s]} {s}" for s in STRENGTHS[::-1] if strengths[s]),
                "start": f"{start:.3f}%",
                "share": f"{share:.3f}%",
            }
        )
        start += share
    return found


def counts_by_paper(rows: Sequence[RowView], headings: Mapping[str, str]) -> list[dict[str, Any]]:
    """Count the rows, the rows with each verdict, and the rows not accepted, for each paper and role."""
    counts = []
    for paper in sorted({row.paper for row in rows}, key=natural_key):
        for role, words in headings.items():
            group = [row for row in rows if (row.paper, row.role) == (paper, role)]
            if group:
                counts.append(
                    {
                        "paper": paper,
                        "words": words,
                        "count": len(group),
                        "verdicts": [sum(row.verdict == v for row in group) for v in URGENT_FIRST[::-1]],
                        "alarms": sum(bool(row.alarm) for row in group),
                    }
                )
    return counts


@dataclass(frozen=True)
class Links:
    """The rows that a row mends, and the rows that mend it."""

    mends: tuple[RowView, ...]
    mended_by: tuple[RowView, ...]


def links(rows: Sequence[RowView]) -> dict[str, Links]:
    """Return the links between repairs and the rows they mend, by the anchor of each linked row."""
    known = {(row.paper, row.id): row for row in rows}
    mending = _repairs(rows)
    found: dict[str, Links] = {}
    for row in rows:
        mends = tuple(known[row.paper, name] for name in row.mends if (row.paper, name) in known)
        repairs = tuple(mending.get((row.paper, row.id), ()))
        if mends or repairs:
            found[row.anchor] = Links(mends, repairs)
    return found


def _repairs(rows: Iterable[RowView]) -> dict[tuple[str, str], list[RowView]]:
    """Return the repairs among ``rows``, by the paper and id of the row they mend, in their order."""
    found: dict[tuple[str, str], list[RowView]] = {}
    for row in rows:
        for name in dict.fromkeys(row.mends):
            found.setdefault((row.paper, name), []).append(row)
    return found
