"""Render the HTML report: one self-contained file made from the JSON report alone.

The page opens offline (no font, script, image or style from elsewhere) and can be read without JavaScript. It
trusts no text of a suite. The template engine escapes all text, anchors are rebuilt from safe characters, and
the page's content policy admits only the one script and the one style sheet whose hashes it contains. The
evidence of a long report is packed (``dpaudit.report.units``). The script unfolds it from markup that this
module has escaped. Equal reports give equal bytes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from dpaudit.report.beyond_the_file import CANNOT_KNOW
from dpaudit.report.exhibits import Fact
from dpaudit.report.file.parts import OUTSIDE, Result
from dpaudit.report.file.report import Report
from dpaudit.report.findings import PaperFindings, counted, findings, first_reason
from dpaudit.report.groups import counts_by_paper, counts_by_role, grouped, links
from dpaudit.report.notation import clean, describe, natural_key, words
from dpaudit.report.roles import URGENT_FIRST, about_a_paper, counted_rows, role_headings
from dpaudit.report.rows import RowView, attention, row_view
from dpaudit.report.units import INLINE, packed, packed_lines, units

__all__ = ["render_html"]

#: Prefixes of the page's own anchors: claims with several rows, and packs.
RESERVED = ("claim.", "pack.", "lines.")


def render_html(report: Report, *, inline: int = INLINE) -> str:
    """Render a report as one HTML page, with rows in the order of ``dpaudit.report.rows.attention``.

    Evidence with more than ``inline`` characters of markup is packed, and unfolds on demand.
    """
    headings = role_headings(report.results)
    unchecked = report.shown_unchecked
    anchors = _anchors([*(row.id for row in report.results), *(item.id for item in unchecked)])
    placed = sorted(zip(report.results, anchors, strict=False), key=lambda pair: attention(pair[0]))
    claims = [row_view(row, anchor=anchor) for row, anchor in placed]
    style, script = _part("report.css"), _part("report.js")
    policy = (
        f"default-src 'none'; style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    overview = _overview(claims, headings) | {"of_a_paper": about_a_paper(report.results)}
    details = _environment().get_template("details.html.j2").make_module(overview)
    found, packs = packed(
        units(overview["groups"], vars(details)["body"], vars(details)["block"]), inline=inline
    )
    lines = [vars(details)["line"](row, rank) for rank, row in enumerate(claims, start=1)]
    shown, more = packed_lines(lines) if packs else (lines, [])
    template = _environment().get_template("template.html.j2")
    return template.render(
        claims=claims,
        findings=_findings(report, claims, headings),
        units=found,
        lines=shown,
        more=[name for name, _ in more],
        packs=[*packs, *more],
        unchecked=[
            (anchor, item.id, item.paper, item.reason)
            for anchor, item in zip(anchors[len(report.results) :], unchecked, strict=True)
        ],
        **overview,
        complete=report.complete,
        run=_run(report),
        stamps=_stamps(report),
        suites=report.suites,
        style=Markup(style),
        script=Markup(script),
        policy=policy,
        cannot_know=CANNOT_KNOW,
    )


def _overview(claims: list[RowView], headings: Mapping[str, str]) -> dict[str, Any]:
    """Return counts, lists of rows that need attention, groups, links, and choices of the filters."""
    return {
        "roles": counts_by_role(claims, headings),
        "urgent": [c for c in claims if c.urgent],
        "beside": [c for c in claims if c.under],
        "outside_words": OUTSIDE,
        "groups": grouped(claims, headings),
        "links": links(claims),
        "papers": sorted({c.paper for c in claims}, key=natural_key),
        "counts": counts_by_paper(claims, headings),
        "kinds": sorted({c.kind for c in claims}, key=natural_key),
        "verdicts": [v for v in URGENT_FIRST if any(c.verdict == v for c in claims)],
        "alarms": sum(bool(c.alarm) for c in claims),
    }


def _findings(report: Report, claims: list[RowView], headings: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the findings of each paper, with the rows as the page shows them."""
    known = {(row.paper, row.id): row for row in reversed(claims)}

    def view(result: Result) -> RowView:
        return known[result.paper, result.id]

    def shown(results: Iterable[Result]) -> list[RowView]:
        return [view(result) for result in results]

    return [
        {
            "paper": found.paper,
            "title": found.title,
            "stated": [counted_rows(headings[role], len(rows)) for role, rows in found.stated.items()],
            "came": _outcomes(found, headings),
            "false": [
                (
                    f"{headings[role]} that {'is' if len(false) == 1 else 'are'} false",
                    [
                        {
                            "row": view(f.result),
                            "much": f.much,
                            "repairs": shown(f.repairs),
                            "tried": shown(f.tried),
                        }
                        for f in false
                    ],
                )
                for role, false in found.false.items()
            ],
            "open": [(view(result), first_reason(result)) for result in found.open],
            "outside": shown(found.outside),
            "unchecked": found.unchecked,
        }
        for found in findings(report)
    ]


def _outcomes(found: PaperFindings, headings: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return a few words on the stated rows with each verdict, for each verdict and role that occurs."""
    words = {
        "verified": "hold",
        "consistent": "consistent",
        "inconclusive": "inconclusive",
        "refuted": "false",
        "crashed": "crashed",
    }
    return [
        (verdict, f"{headings[role]} {word}: {counted(rows, verdict)}")
        for verdict, word in words.items()
        for role, rows in found.stated.items()
        if any(row.verdict == verdict for row in rows)
    ]


def _run(report: Report) -> str:
    """Return the settings of the run in one line."""
    settings = f"profile {report.profile} · seed {report.seed} · significance level {report.alpha}"
    return f"{settings} · {report.started}" if report.started else settings


def _stamps(report: Report) -> list[Fact]:
    """Return every other top-level field of the report, with objects spelled out."""
    facts: list[Fact] = []
    for key, value in report.document.items():
        if key not in ("results", "unchecked", "suites"):
            facts += _spelled(words(key), value, depth=0)
    return facts


def _spelled(name: str, value: object, *, depth: int) -> list[Fact]:
    if isinstance(value, Mapping) and value and depth < 3:
        # The object "stamps" only groups fields. The name of any other object is part of its meaning.
        prefix = "" if name == "stamps" else f"{name}: "
        parts = [_spelled(f"{prefix}{words(key)}", inner, depth=depth + 1) for key, inner in value.items()]
        return [fact for part in parts for fact in part]
    # Seeds and versions are identifiers: no rounding, no thousands separators.
    plain = isinstance(value, int | float | str) and not isinstance(value, bool)
    return [(name, str(value) if plain else describe(value))]


def _anchors(ids: list[str]) -> list[str]:
    """Return one anchor for each id. Unsafe characters become hyphens, and repeats get a number."""
    taken = {"top", "glossary"}  # "#top" is the top of any page
    anchors = []
    for identifier in ids:
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", identifier)[:120] or "row"
        base = f"row-{base}" if base.lower().startswith(RESERVED) else base
        name, repeat = base, 2
        while name.lower() in taken:
            name, repeat = f"{base}-{repeat}", repeat + 1
        taken.add(name.lower())
        anchors.append(name)
    return anchors


def _part(name: str) -> str:
    return files("dpaudit.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_part),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
