"""Group the claims of a page into units that fold, each with all rows of one claim, and pack long reports.

The page of a long report contains only the heading of each unit and the first rows of the table. The rest is
in packs, which the script of the page unpacks on demand. A pack is a JSON list of the markup of some units,
deflated (RFC 1950) and in base64, so it needs no escaping and no network. Only packs need the script.
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

#: Up to this many characters of markup stay in the page itself, where they can be read without the script.
INLINE = 2_000_000
#: Characters of markup in one pack. The browser unpacks a whole pack in a few milliseconds.
PACK = 500_000
#: Lines of the table in the page itself if units are packed, and in each further pack.
LINES = 250

#: The name of a pack in the page, and its content.
Pack = tuple[str, str]


@dataclass(frozen=True)
class Unit:
    """A claim that folds.

    ``row`` is its row if it has only one, and ``group`` holds all its rows. ``heading`` is the paper, for the
    first claim of each paper. ``body`` is the markup to unfold. If ``body`` is empty, the markup is item
    number ``part`` of the pack ``pack``.
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
    """Return one unit per claim, sorted by paper and then in the order of ``groups``.

    A unit with a row that needs attention starts open.
    """
    by_paper: dict[str, list[Group]] = {}
    for group in groups:
        by_paper.setdefault(group.paper, []).append(group)
    found: list[Unit] = []
    for paper in sorted(by_paper, key=natural_key):
        for i, group in enumerate(by_paper[paper]):
            rows = _rows(group)
            alone = rows[0] if len(rows) == 1 else None
            counts = Counter((row.verdict, row.label) for row in rows)
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
    """Return the units and packs of a page.

    If the bodies have more than ``inline`` characters in total, all are packed and no unit starts open.
    Otherwise there is no pack.
    """
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
    """Return the first lines of a long report's table, and the packs of the other lines."""
    packs = [
        (f"lines.{i}", _deflated(lines[start : start + LINES]))
        for i, start in enumerate(range(LINES, len(lines), LINES), start=1)
    ]
    return [Markup(line) for line in lines[:LINES]], packs


def _deflated(texts: Sequence[str]) -> str:
    plain = json.dumps(list(texts), ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(plain, 6)).decode("ascii")
