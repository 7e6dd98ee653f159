"""List what got worse from one report to another.

A row or cell is worse if it was as expected before and is not now, is no longer verified, is no longer
consistent (and not verified either), holds by weaker evidence, is new and not as expected, or is gone. A
change from consistent to verified is better, whatever the suite expects. A row or cell with another claim or
role is worse, whatever the new claim's verdict, because the former statement is no longer made. So is a cell
that no longer decides its row, and a verdict of the same strength that assumes more, or covers another scope
or fewer points. A run is worse as a whole if it was stopped, could not load a suite, has a smaller profile, a
larger significance level or a weaker ``--require``, or accepts more. Bounds are not compared, because they
change with the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpaudit.report.file.parts import BodyRecord, Part, Result, ResultCell
from dpaudit.report.file.report import Report
from dpaudit.report.roles import HOLDS, STRENGTHS

__all__ = ["got_better", "got_worse"]

#: Smallest first.
PROFILES = ("quick", "full", "paper")
#: Weakest first.
REQUIRED = (None, "proved")
#: Most first.
ACCEPTED = ("consistent", None)


def got_worse(old: Report, new: Report) -> list[str]:
    """Return one line for each way in which the run ``new``, or a row or cell of it, is worse."""
    before, after = dict(_parts(old)), dict(_parts(new))
    lines = list(_worse_run(old, new))
    lines += [
        f"{name}: {_verdict(part)} before, gone now" for name, part in before.items() if name not in after
    ]
    for name, part in after.items():
        earlier = before.get(name)
        if earlier is None:
            if not _fine(part):
                lines.append(f"{name}: new, {_verdict(part)}, expected {part.expect}")
        elif _stated(earlier) != _stated(part):
            lines.append(
                f"{name}: {_changed(earlier, part)}, {_verdict(earlier)} before, {_verdict(part)} now"
            )
        elif _decides(earlier) and not _decides(part):
            lines.append(f"{name}: it decided its row before and does not now, {_verdict(part)}")
        elif _is_worse(earlier, part):
            lines.append(f"{name}: {_verdict(earlier)} before, {_verdict(part)} now, expected {part.expect}")
        elif less := _covers_less(earlier, part):
            lines.append(f"{name}: {_verdict(part)} as before, {less}")
    return lines


def _worse_run(old: Report, new: Report) -> Iterator[str]:
    """Yield one line for each way in which the run as a whole checked less or demanded less.

    A suite that was not run is named even if it was not run before, because its rows have no results.
    """
    for item in new.broken:
        yield f"suite {item.suite}: not run"
    if not new.complete:
        yield "run: stopped before its end"
    for name, order in (("profile", PROFILES), ("require", REQUIRED), ("accept", ACCEPTED)):
        before, now = getattr(old, name), getattr(new, name)
        if order.index(now) < order.index(before):
            yield f"run: {name} {before or 'none'} before, {now or 'none'} now"
    if new.alpha > old.alpha:
        yield f"run: significance level {old.alpha:g} before, {new.alpha:g} now"


def got_better(old: Report, new: Report) -> list[str]:
    """Return one line for each row or cell that is better in ``new`` than in ``old``, except new ones."""
    before, after = dict(_parts(old)), dict(_parts(new))
    return [
        f"{name}: {_verdict(before[name])} before, {_verdict(part)} now"
        for name, part in after.items()
        if name in before
        and _stated(before[name]) == _stated(part)
        and _is_worse(part, before[name])
        and not _is_worse(before[name], part)
    ]


def _parts(report: Report) -> Iterator[tuple[str, Part]]:
    for row in report.results:
        yield row.id, row
        for cell in row.cells:
            yield f"{row.id} [{cell.name}]", cell


def _stated(part: Part) -> tuple[dict[str, Any], str]:
    """Return the claim and role. The claim in words is left out, because it can change with dpaudit."""
    return {name: value for name, value in part.claim.data.items() if name != "in_words"}, _role(part)


def _changed(before: Part, now: Part) -> str:
    """Say how the claim or role changed."""
    if _stated(before)[0] == _stated(now)[0]:
        return f"its role was {_role(before)!r} and is {_role(now)!r}"
    old, new = before.claim.in_words, now.claim.in_words
    return f"another claim ({old!r} before, {new!r} now)" if old != new else f"another claim ({new!r})"


def _fine(part: Part) -> bool:
    """Return whether a part is as expected with all its cells, and accepted (also under ``--require``)."""
    return not part.surprising and (
        not isinstance(part, Result) or (not part.unexpected_cells and part.accepted)
    )


def _is_worse(before: Part, now: Part) -> bool:
    old, new = before.verdict, now.verdict
    if old != new and old in HOLDS and new in HOLDS:  # whatever the suite expects now
        return new == "consistent"
    if _fine(before) != _fine(now):
        return _fine(before)
    if old != new:
        return old in HOLDS or new == "crashed"
    return new in HOLDS and _strength(now) < _strength(before)


def _covers_less(before: Part, now: Part) -> str:
    """Say how a verdict of the same strength assumes more or covers less, or return an empty text.

    A refutation needs one violation only, so its coverage does not matter.
    """
    if before.verdict != now.verdict or now.verdict not in (*HOLDS, "inconclusive"):
        return ""
    if _strength(before) != _strength(now):
        return ""
    added = _assumptions(now) - _assumptions(before)
    if added and now.shown_strength != "proved":  # a proof without assumptions decides
        return f"which now assumes also {sorted(added)[0]!r}"
    scopes = [part.scope for part in (before, now)]
    if scopes[0] and scopes[0] != scopes[1]:
        return f"for {scopes[1]!r}, before for {scopes[0]!r}"
    if now.shown_strength in ("proved", "proved in scope", "accounted"):
        return ""  # the estimates next to a certificate do not decide
    points = [sum(item.samples for item in part.estimates if item.exact) for part in (before, now)]
    if points[1] < points[0]:
        return f"on {points[1]} points, before on {points[0]}"
    grids = [{item.scope for item in part.estimates} for part in (before, now)]
    if grids[0] - grids[1] and points[1] == points[0]:
        return f"no longer checked on {sorted(grids[0] - grids[1])[0]!r}"
    return ""


def _assumptions(part: Part) -> set[str]:
    return {text for item in part.evidence if isinstance(item, BodyRecord) for text in item.assumptions}


def _decides(part: Part) -> bool:
    return not isinstance(part, ResultCell) or part.deciding


def _role(part: Part) -> str:
    return part.role if isinstance(part, Result) else ""


def _strength(part: Part) -> int:
    return STRENGTHS.index(part.shown_strength or "none")


def _verdict(part: Part) -> str:
    strength = part.shown_strength
    return f"{part.verdict} / {strength}" if strength else str(part.verdict)
