"""The claims of a page as units that fold: one claim of one paper with all its rows. The units of a long
report are packed: the browser reads a heading each, and the rest when somebody opens it; of the table of all
rows it reads the first ones.

A pack is a JSON list of the markup of some units, deflated (RFC 1950) and in base64, which needs no escaping
and no network; the script of the page puts a unit in its place. Nothing else of a page needs the script.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from dpaudit.report.groups import Group
from dpaudit.report.notation import natural_key
from dpaudit.report.rows import RowView

__all__ = ["INLINE", "Pack", "Unit", "packed", "packed_lines", "units"]

#: Up to so many characters of markup stand in the page itself, where they can be read without the script.
INLINE = 2_000_000
#: Characters of markup in one pack; the browser unpacks it as a whole, in some milliseconds.
PACK = 500_000
#: Lines of the table in the page itself, where units are packed, and in each further pack.
LINES = 250

#: The name of a pack in the page, and its content.
Pack = tuple[str, str]


@dataclass(frozen=True)
class Unit:
    """A claim that folds: ``row`` where it has one row alone, else ``group``. ``heading`` is the paper,
    before its first claim. ``body`` is what unfolds, empty where it is number ``part`` of the pack ``pack``.
    """

    anchor: str
    heading: str | None
    group: Group
    row: RowView | None
    title: str
    counts: tuple[tuple[str, str, int], ...]
    open: bool
    body: Markup
    pack: str = ""
    part: int = 0

    @property
    def has(self) -> str:
        """The anchors of all rows of the claim, for the script."""
        return " ".join(row.anchor for row in _rows(self.group))


def units(
    groups: Iterable[Group], draw_row: Callable[[RowView], str], draw_group: Callable[[Group], str]
) -> list[Unit]:
    """One unit a claim, paper by paper; within a paper in the order of ``groups``. A unit with a row that
    somebody has to look at starts open."""
    by_paper: dict[str, list[Group]] = {}
    for group in groups:
        by_paper.setdefault(group.paper, []).append(group)
    found: list[Unit] = []
    for paper in sorted(by_paper, key=natural_key):
        for i, group in enumerate(by_paper[paper]):
            rows = _rows(group)
            alone = rows[0] if len(rows) == 1 else None
            counts = Counter((row.verdict_class, row.label) for row in rows)
            found.append(
                Unit(
                    anchor=alone.anchor if alone else f"claim.{len(found) + 1}",
                    heading=paper if i == 0 and len(by_paper) > 1 else None,
                    group=group,
                    row=alone,
                    title=rows[0].title,
                    counts=tuple((verdict, label, count) for (verdict, label), count in counts.items()),
                    open=any(row.urgent for row in rows),
                    body=Markup(draw_row(alone) if alone else draw_group(group)),
                )
            )
    return found


def _rows(group: Group) -> tuple[RowView, ...]:
    return (*group.main, *group.beside, *(row for fold in group.folds for row in fold.rows))


def packed(found: Sequence[Unit], *, inline: int = INLINE) -> tuple[list[Unit], list[Pack]]:
    """Units and packs of a page: where the bodies have more than ``inline`` characters together, all are
    packed, and no unit starts open; else there is no pack."""
    if sum(len(unit.body) for unit in found) <= inline:
        return list(found), []
    bodies: list[list[str]] = []
    kept = []
    size = PACK
    for unit in found:
        if size >= PACK:
            bodies.append([])
            size = 0
        bodies[-1].append(str(unit.body))
        size += len(unit.body)
        name, part = f"pack.{len(bodies)}", len(bodies[-1]) - 1
        kept.append(replace(unit, body=Markup(""), open=False, pack=name, part=part))
    return kept, [(f"pack.{i}", _deflated(texts)) for i, texts in enumerate(bodies, start=1)]


def packed_lines(lines: Sequence[str]) -> tuple[list[Markup], list[Pack]]:
    """The lines of a long report's table that stand in the page, and the packs of the others."""
    packs = [
        (f"lines.{i}", _deflated(lines[start : start + LINES]))
        for i, start in enumerate(range(LINES, len(lines), LINES), start=1)
    ]
    return [Markup(line) for line in lines[:LINES]], packs


def _deflated(texts: Sequence[str]) -> str:
    plain = json.dumps(list(texts), ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(plain, 6)).decode("ascii")
