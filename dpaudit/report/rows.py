"""Turn one result of the report into what the page shows: words, numbers, pictures, and its sort key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from dpaudit.core.claims import Controls, LowerBound
from dpaudit.core.estimates import shown_strength
from dpaudit.report.bounds import bounds_picture
from dpaudit.report.cells import CellView, cell_view
from dpaudit.report.chart import draw_plot
from dpaudit.report.exhibits import Exhibit, Fact, exhibit
from dpaudit.report.fields import (
    NO_PROGRAM,
    STRENGTHS,
    VERDICTS,
    read_lines,
    read_list,
    read_object,
    read_text,
)
from dpaudit.report.notation import (
    MISSING,
    as_number,
    attained,
    describe,
    distinct,
    is_infinite,
    natural_key,
    show,
    show_exact,
    signs,
    symbol,
    words,
)
from dpaudit.report.roles import HOLDS, STATED, mended_by, refuted_as_expected, refuted_under, role_of
from dpaudit.report.slack import bounds_in_cells, slack_of, slack_text, slack_words

__all__ = ["RowView", "attention", "row_view"]

MEANING = {
    (
        "verified",
        "proved",
    ): "A certificate without assumptions reaches the claim, so the claim holds for every input "
    "of its domain.",
    (
        "verified",
        "proved in scope",
    ): "The program itself was proved in the scope that the row names, and not beyond it.",
    (
        "consistent",
        "accounted",
    ): "A certificate reaches the claim under the assumptions listed with it. The runs found no "
    "exception to them, but they are not proved, so the claim is not verified.",
    (
        "consistent",
        "proved in scope",
    ): "A certificate reaches the claim under the assumptions listed with it, and the program itself was "
    "proved in the scope that the row names. Beyond that scope nothing is proved.",
    (
        "verified",
        "tested",
    ): "The claim holds at every point of the grid named with the evidence. Other points were not tested.",
    ("refuted", "witness"): "False: one pair of neighbouring inputs and one event violate the claim. "
    "The counterexample below can be recomputed from the report alone.",
    ("refuted", "estimate"): "False at this run's significance level: a statistical bound contradicts "
    "the claim.",
    ("refuted", "computation"): "False: computed in the row's own code by the method named with the evidence "
    "(in ball arithmetic, if the method says so), without statistical error. The file alone does not suffice "
    "to check it. dpaudit verify --suite computes it again.",
    ("refuted", "tested"): "False at this run's significance level: an estimate that covers the whole claim "
    "contradicts it.",
    ("refuted", "proved"): "False: a certificate without assumptions contradicts the claim.",
    (
        "refuted",
        "accounted",
    ): "False if the assumptions listed with the certificate hold: the certificate contradicts the claim.",
}
MEANING_OF_VERDICT = {
    "verified": "The evidence below reaches the claim.",
    "consistent": "The evidence below reaches the claim under assumptions that are not proved.",
    "refuted": "The evidence below contradicts the claim.",
    "inconclusive": "The claim was neither proved nor contradicted. The reasons say what would decide it.",
    "crashed": "The audit of this row did not finish. Nothing is known about the claim.",
}
#: The meaning of a crashed row that still shows the evidence of its other parts.
IN_PART = "One part of this row crashed, so the row has no verdict. The other parts keep their results."
#: Names of the lower and the upper side, for privacy rows and for other rows.
PRIVATE_SIDES, OTHER_SIDES = ("attack", "certificate"), ("from below", "from above")
#: Two bounds of one number that differ relatively by less than this are shown as one.
SAME = 1e-6


@dataclass(frozen=True)
class RowView:
    """One result as the template shows it. Strings are plain text, and pictures are ``Markup``."""

    anchor: str
    id: str
    title: str
    paper: str
    kind: str
    role: str
    verdict: str
    label: str
    shown: str
    verdict_class: str
    strength: str
    alarm: str
    expected: bool
    claim: str
    context: tuple[Fact, ...]
    quantity: str
    sides: tuple[str, str]
    relation: str
    claimed: str
    lower: str
    upper: str
    lower_by: str
    upper_by: str
    sort: dict[str, float | None]
    slack: str
    slack_words: str
    in_cells: bool
    mini: Markup
    picture: Markup
    meaning: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    unmet: tuple[str, ...]
    cells: tuple[CellView, ...]
    exhibits: tuple[Exhibit, ...]
    plots: tuple[Markup, ...]
    facts: tuple[Fact, ...]
    traceback: str
    reproduce: str
    mends: tuple[str, ...]
    under: tuple[str, ...]

    @property
    def urgent(self) -> bool:
        """Whether the row needs attention: it crashed, or was not accepted."""
        return bool(self.alarm) or self.verdict == "crashed"


def attention(result: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the sort key of a result, so that rows that need attention come first.

    The order is: crashed rows, rows that are not accepted, then the others by verdict (refuted, inconclusive,
    consistent, verified), the weakest strength first. Stated claims and steps come before the other roles at
    each of the first two levels and among the others. Ties are sorted by paper and id.
    """
    verdict, strength = result.get("verdict"), result.get("strength")
    weakness = STRENGTHS.index(strength) if strength in STRENGTHS else -1
    stated = 0 if role_of(result) in STATED else 1
    if verdict not in VERDICTS or verdict == "crashed":
        place = (0, stated, 0, 0)
    elif _alarm(result):
        place = (1, stated, VERDICTS.index(verdict), 0)
    else:
        place = (2, stated, VERDICTS.index(verdict), weakness if verdict in HOLDS else 0)
    return (*place, natural_key(read_text(result, "paper")), natural_key(read_text(result, "id")))


def _expected(result: Mapping[str, Any]) -> bool:
    expected = result.get("as_expected")
    return expected if isinstance(expected, bool) else result.get("verdict") == result.get("expect")


def _weaker(result: Mapping[str, Any]) -> bool:
    """Return whether every unexpected verdict is ``consistent`` instead of ``verified``."""
    cells = [cell for cell in read_list(result, "cells") if isinstance(cell, Mapping)]
    against = [part for part in (result, *cells) if part.get("verdict") != part.get("expect")]
    return all((part.get("verdict"), part.get("expect")) == ("consistent", "verified") for part in against)


def _alarm(result: Mapping[str, Any]) -> str:
    """Return in a few words why a result was not accepted, or an empty text if it was."""
    if result.get("accepted") is True and _expected(result) is False and _weaker(result):
        return ""
    if not _expected(result):
        inside = result.get("verdict") == result.get("expect")
        return "a cell not as expected" if inside else f"expected {read_text(result, 'expect') or 'nothing'}"
    return "below --require" if result.get("accepted") is False else ""


def row_view(result: Mapping[str, Any], *, anchor: str) -> RowView:
    """Return what the page shows of one result. Missing or ill-typed fields are shown as missing."""
    verdict, strength = read_text(result, "verdict"), shown_strength(result)
    claim = read_object(result, "claim")
    at_least = claim.get("type") == LowerBound.type
    lower, claimed, upper = (as_number(result.get(key)) for key in ("lower", "claimed", "upper"))
    upper = None if is_infinite(upper) else upper
    draw = partial(
        bounds_picture,
        lower=lower,
        claimed=claimed,
        upper=upper,
        at_least=at_least,
        quantity=read_text(result, "quantity"),
    )
    slack, in_cells = slack_of(result), bounds_in_cells(result)
    # A count of cells is not a bound. Bounds of cells are about different claims, so the row draws none.
    drawn = claim.get("type") != Controls.type and not in_cells
    quantity = result.get("quantity")
    low_text, claim_text, high_text = distinct(lower, claimed, upper, quantity=quantity)
    evidence = tuple(exhibit(item) for item in read_list(result, "evidence"))
    reasons, notes = read_lines(result, "reasons"), read_lines(result, "notes")
    worst = _worst_in_words(result)
    label = "does not extend" if _does_not_extend(result) else verdict
    return RowView(
        anchor=anchor,
        id=read_text(result, "id"),
        title=signs(read_text(result, "title")),
        paper=read_text(result, "paper"),
        kind=read_text(result, "kind"),
        role=role_of(result),
        verdict=verdict,
        label=label,
        shown=f"{label}, as expected" if label == "refuted" and refuted_as_expected(result) else label,
        verdict_class=verdict if verdict in VERDICTS else "unknown",
        strength=strength,
        alarm=_alarm(result),
        expected=_expected(result),
        claim=signs(read_text(claim, "in_words")),
        context=_context(claim),
        quantity=symbol(result.get("quantity")),
        sides=_sides(result, evidence),
        relation="≥" if at_least else "≤",
        claimed=claim_text,
        lower=low_text,
        upper=high_text,
        lower_by="" if lower is None else _lower_source(evidence),
        upper_by="" if upper is None else _upper_source(evidence),
        sort={"claimed": claimed, "lower": lower, "upper": upper, "slack": slack},
        slack=slack_text(slack, verdict),
        slack_words=""
        if slack is None or worst
        else slack_words(slack, high_text, verdict, met=attained(lower, claimed, upper)),
        in_cells=in_cells and claim.get("type") != Controls.type,
        mini=draw(small=True) if drawn else Markup(""),
        picture=draw() if drawn else Markup(""),
        meaning=_meaning(result, verdict, strength, worst=worst),
        reasons=reasons,
        notes=tuple(notes),
        unmet=tuple(line for line in read_lines(result, "obstacles") if line not in reasons),
        cells=tuple(cell_view(cell) for cell in read_list(result, "cells")),
        exhibits=evidence,
        plots=tuple(draw_plot(plot) for plot in read_list(result, "plots")),
        facts=_row_facts(result),
        traceback=read_text(result, "traceback"),
        reproduce=read_text(result, "reproduce"),
        mends=mended_by(result),
        under=tuple(refuted_under(result)),
    )


def _does_not_extend(result: Mapping[str, Any]) -> bool:
    """Return whether this result is a refuted what-if: the claim does not extend to its setting."""
    return role_of(result) == "what-if" and result.get("verdict") == "refuted"


def _sides(result: Mapping[str, Any], evidence: tuple[Exhibit, ...]) -> tuple[str, str]:
    rigorous = any(item.kind in ("certificate", "program proof", "witness") for item in evidence)
    kind = read_text(result, "kind")
    private = kind == "privacy" or (kind == "structure" and rigorous)
    return PRIVATE_SIDES if private and read_text(result, "strength") != "tested" else OTHER_SIDES


def _worst_in_words(result: Mapping[str, Any]) -> str:
    """Compare the worst computed value with the claim if a computation without samples refutes the row.

    The text is empty for every other row, and if no such computation states the bound that the row shows.
    """
    if (read_text(result, "verdict"), read_text(result, "strength")) != ("refuted", "tested"):
        return ""
    at_least = read_object(result, "claim").get("type") == LowerBound.type
    lower, claimed, upper = (as_number(result.get(key)) for key in ("lower", "claimed", "upper"))
    side, bound = ("upper", upper) if at_least else ("lower", lower)
    parts = [result, *(cell for cell in read_list(result, "cells") if isinstance(cell, Mapping))]
    stating = [
        item
        for part in parts
        for item in read_list(part, "evidence")
        if isinstance(item, Mapping) and item.get("evidence") == "estimate"
        if bound is not None and as_number(item.get(side)) == bound
    ]
    if claimed is None or not stating or any(as_number(item.get("confidence")) != 1 for item in stating):
        return ""
    low, claim, high = distinct(lower, claimed, upper, quantity=result.get("quantity"))
    exactly = lower is not None and upper is not None and upper - lower <= SAME * abs(lower)
    shown = show(lower) if exactly else f"at most {high}" if at_least else f"at least {low}"
    if exactly and shown == claim:  # so near the claim that only outward rounding separates them
        shown = high if at_least else low
    least = "at least " if at_least else ""
    return (
        f"False: computed at every point of the grid. The worst value is {shown}, "
        f"but the claim is {least or 'at most '}{claim}."
    )


def _meaning(result: Mapping[str, Any], verdict: str, strength: str, *, worst: str) -> str:
    if read_object(result, "claim").get("type") == Controls.type and verdict == "verified":
        return "Every control gave the right result: broken programs were refuted, and correct ones were not."
    meaning = MEANING.get((verdict, strength)) or MEANING_OF_VERDICT.get(
        verdict, f"This page does not know the verdict {verdict!r}."
    )
    if _does_not_extend(result):
        return (
            "The claim does not extend to this setting, which the paper does not cover. This is not an error "
            "of the paper."
        )
    if scope := read_text(result, "scope"):
        meaning = f"{meaning} Scope: {signs(scope)}."
    if verdict == "crashed" and (read_list(result, "cells") or read_list(result, "evidence")):
        return IN_PART
    return worst or meaning


def _context(claim: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Return the claim's fields except its sentence, numbers first. Exact values replace rounded ones."""
    facts: list[Fact] = []
    for key, value in sorted(claim.items(), key=lambda item: f"{item[0]}_exact" not in claim):
        if key in ("in_words", "text") or key.endswith("_exact") or value in (None, "", []):
            continue
        if key == "constants" and isinstance(value, list):
            pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
            facts += [(describe(name), show_exact(number)) for name, number in pairs]
            continue
        exact = claim.get(f"{key}_exact")
        facts.append((words(key), describe(value) if exact is None else show_exact(exact)))
    return tuple(facts)


def _lower_source(evidence: tuple[Exhibit, ...]) -> str:
    return " or ".join(k for k in ("witness", "computation", "estimate") if any(e.tag == k for e in evidence))


def _upper_source(evidence: tuple[Exhibit, ...]) -> str:
    certificates = [e for e in evidence if e.kind == "certificate"]
    if certificates:
        return "proved" if any(not e.assumptions for e in certificates) else "accounted"
    if any(e.kind == "program proof" for e in evidence):
        return "proved in scope"
    return "tested" if any(e.kind == "estimate" for e in evidence) else ""


def _repeated(result: Mapping[str, Any]) -> str:
    """Return how often the program was run again in fresh processes. The text is empty for a crashed row."""
    times = as_number(result.get("fresh_processes"))
    if times is None or read_text(result, "verdict") == "crashed":
        return ""
    return f"in {show(times)} fresh processes" if times else f"the row has {NO_PROGRAM}"


def _row_facts(result: Mapping[str, Any]) -> tuple[Fact, ...]:
    seconds, samples = as_number(result.get("seconds")), as_number(result.get("samples"))
    exact = read_text(result, "strength") == "tested" and as_number(result.get("confidence")) == 1
    facts = [
        ("source", read_text(result, "source")),
        ("view", read_text(result, "view")),
        ("confidence", show(as_number(result.get("confidence")), digits=10, toward="down")),
        ("significance level of the row", show(as_number(result.get("alpha")), digits=3)),
        ("points" if exact else "samples", show(samples, digits=15) if samples else ""),
        ("repeated", _repeated(result)),
        ("time", f"{show(seconds, digits=2)} s" if seconds is not None else ""),
        ("suite", read_text(result, "suite")),
    ]
    return tuple((name, text) for name, text in facts if text not in ("", MISSING))
