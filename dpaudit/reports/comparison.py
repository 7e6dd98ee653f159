"""What got worse from one report to another: rows and cells against what they were before.

Worse is a row or cell that came out as expected before and does not now, one that is verified no longer, a
verified one with less behind it, a new one against its expectation, and one that is gone. One with another
claim or role is another one: what was stated is stated no more, which is worse, whatever the new claim's
verdict; so is a cell that no longer decides its row. Bounds are not compared: they move with the seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpaudit.estimates import shown_strength
from dpaudit.reports.fields import STRENGTHS
from dpaudit.reports.roles import role_of
from dpaudit.row_verdicts import as_expected

__all__ = ["Part", "got_better", "got_worse", "lacks_any"]

#: One row, or one cell of it, by its name, with what is compared of it.
Part = tuple[str, Mapping[str, Any]]


def got_worse(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """One line on each row or cell of ``new`` that is worse than in ``old``; both are read reports."""
    before, after = dict(_parts(old)), dict(_parts(new))
    lines = [f"{name}: {_said(part)} before, gone now" for name, part in before.items() if name not in after]
    for name, part in after.items():
        earlier = before.get(name)
        if earlier is None:
            if not _fine(part):
                lines.append(f"{name}: new, {_said(part)}, expected {part['expect']}")
        elif _stated(earlier) != _stated(part):
            lines.append(f"{name}: {_changed(earlier, part)}; {_said(earlier)} before, {_said(part)} now")
        elif earlier.get("deciding", True) and not part.get("deciding", True):
            lines.append(f"{name}: it decided its row before and does not now; {_said(part)}")
        elif _is_worse(earlier, part):
            lines.append(f"{name}: {_said(earlier)} before, {_said(part)} now, expected {part['expect']}")
    return lines


def got_better(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """One line on each row or cell that is worse in ``old`` than in ``new``, without those that are new."""
    before, after = dict(_parts(old)), dict(_parts(new))
    return [
        f"{name}: {_said(before[name])} before, {_said(part)} now"
        for name, part in after.items()
        if name in before
        and _stated(before[name]) == _stated(part)
        and _is_worse(part, before[name])
        and not _is_worse(before[name], part)
    ]


def lacks_any(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a row or cell of ``old`` is not in ``new``."""
    return not dict(_parts(old)).keys() <= dict(_parts(new)).keys()


def _parts(report: Mapping[str, Any]) -> Iterator[Part]:
    rows: Sequence[Mapping[str, Any]] = report["results"]
    for row in rows:
        yield row["id"], row
        for cell in row["cells"]:
            yield f"{row['id']} [{cell['name']}]", cell


def _stated(part: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The claim, and of a row its role. The words that dpaudit puts a claim in change with dpaudit."""
    return {name: value for name, value in part["claim"].items() if name != "in_words"}, role_of(part)


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """In which way another thing is stated."""
    if _stated(before)[0] == _stated(now)[0]:
        return f"its role was {role_of(before)!r} and is {role_of(now)!r}"
    old, new = before["claim"]["in_words"], now["claim"]["in_words"]
    return f"another claim ({old!r} before, {new!r} now)" if old != new else f"another claim ({new!r})"


def _fine(part: Mapping[str, Any]) -> bool:
    """As expected, with all its cells; what else ``--require`` asks of a row, it says itself."""
    return as_expected(part) and bool(part.get("accepted", True))


def _is_worse(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if _fine(before) != _fine(now):
        return _fine(before)
    if before["verdict"] != now["verdict"]:
        return bool(before["verdict"] == "verified" or now["verdict"] == "crashed")
    return bool(now["verdict"] == "verified" and _strength(now) < _strength(before))


def _strength(part: Mapping[str, Any]) -> int:
    return STRENGTHS.index(shown_strength(part) or "none")


def _said(part: Mapping[str, Any]) -> str:
    strength = shown_strength(part)
    return f"{part['verdict']} / {strength}" if strength else str(part["verdict"])
