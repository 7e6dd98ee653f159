"""Turn one result of the report into what the page shows: words, numbers, pictures, and its sort key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from dpaudit.report.bounds import bounds_picture
from dpaudit.report.cells import CellView, cell_view
from dpaudit.report.chart import draw_plot
from dpaudit.report.exhibits import Exhibit, Fact, exhibit
from dpaudit.report.file.parts import BodyRecord, Result
from dpaudit.report.notation import (
    MISSING,
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
from dpaudit.report.roles import HOLDS, NO_PROGRAM, STATED, STRENGTHS, URGENT_FIRST
from dpaudit.report.slack import slack_of, slack_text, slack_words

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


def attention(row: Result) -> tuple[Any, ...]:
    """Return the sort key of a result, so that rows that need attention come first.

    The order is: crashed rows, rows that are not accepted, then the others by verdict (refuted, inconclusive,
    consistent, verified), the weakest strength first. Stated claims and steps come before the other roles at
    each of the first two levels and among the others. Ties are sorted by paper and id.
    """
    order, weakness = URGENT_FIRST.index(row.verdict), STRENGTHS.index(row.strength)
    if row.verdict == "crashed":
        place = (0, 0, 0)
    elif _alarm(row):
        place = (1, order, 0)
    else:
        place = (2, order, weakness if row.verdict in HOLDS else 0)
    stated = 0 if row.role in STATED else 1
    return (place[0], stated, *place[1:], natural_key(row.paper), natural_key(row.id))


def _alarm(row: Result) -> str:
    """Return in a few words why a result was not accepted, or an empty text if it was.

    It was if every unexpected verdict is ``consistent`` instead of ``verified`` and the run accepts that.
    """
    against = [part for part in (row, *row.cells) if part.surprising]
    weaker = all((part.verdict, part.expect) == ("consistent", "verified") for part in against)
    if row.as_expected or (row.accepted and weaker):
        return "" if row.accepted else "below --require"
    return f"expected {row.expect}" if row.surprising else "a cell not as expected"


def row_view(row: Result, *, anchor: str) -> RowView:
    """Return what the page shows of one result."""
    lower, claimed, upper = row.numbers
    upper = None if is_infinite(upper) else upper
    draw = partial(
        bounds_picture,
        lower=lower,
        claimed=claimed,
        upper=upper,
        at_least=row.claim.at_least,
        quantity=row.quantity,
    )
    slack = slack_of(row)
    # A count of cells is not a bound. Bounds of cells are about different claims, so the row draws none.
    drawn = not row.claim.counts_controls and not row.bounds_in_cells
    low_text, claim_text, high_text = distinct(lower, claimed, upper, quantity=row.quantity)
    evidence = tuple(map(exhibit, row.evidence))
    worst = _worst_in_words(row)
    label = "does not extend" if row.does_not_extend else row.verdict
    return RowView(
        anchor=anchor,
        id=row.id,
        title=signs(row.title),
        paper=row.paper,
        kind=row.kind,
        role=row.role,
        verdict=row.verdict,
        label=label,
        shown=row.shown_verdict if label == row.verdict else label,
        strength=row.shown_strength,
        alarm=_alarm(row),
        expected=row.as_expected,
        claim=signs(row.claim.in_words),
        context=_context(row.claim.data),
        quantity=symbol(row.quantity),
        sides=_sides(row),
        relation="≥" if row.claim.at_least else "≤",
        claimed=claim_text,
        lower=low_text,
        upper=high_text,
        lower_by="" if lower is None else _lower_source(evidence),
        upper_by="" if upper is None else _upper_source(evidence),
        sort={"claimed": claimed, "lower": lower, "upper": upper, "slack": slack},
        slack=slack_text(slack, row.verdict),
        slack_words=""
        if slack is None or worst
        else slack_words(slack, high_text, row.verdict, met=attained(lower, claimed, upper)),
        in_cells=row.bounds_in_cells and not row.claim.counts_controls,
        mini=draw(small=True) if drawn else Markup(""),
        picture=draw() if drawn else Markup(""),
        meaning=_meaning(row, worst=worst),
        reasons=row.reasons,
        notes=row.notes,
        unmet=tuple(line for line in row.obstacles if line not in row.reasons),
        cells=tuple(map(cell_view, row.cells)),
        exhibits=evidence,
        plots=tuple(map(draw_plot, row.plots)),
        facts=_row_facts(row),
        traceback=row.traceback,
        reproduce=row.reproduce,
        mends=row.mends,
        under=tuple(row.refuted_cells),
    )


def _sides(row: Result) -> tuple[str, str]:
    rigorous = any(isinstance(item, BodyRecord) for item in row.evidence)
    private = row.kind == "privacy" or (row.kind == "structure" and rigorous)
    return PRIVATE_SIDES if private and row.strength != "tested" else OTHER_SIDES


def _worst_in_words(row: Result) -> str:
    """Compare the worst computed value with the claim if a computation without samples refutes the row.

    The text is empty for every other row, and if no such computation states the bound that the row shows.
    """
    if (row.verdict, row.strength) != ("refuted", "tested") or row.claimed is None:
        return ""
    at_least, (lower, claimed, upper) = row.claim.at_least, row.numbers
    bound = upper if at_least else lower
    estimates = [item for part in (row, *row.cells) for item in part.estimates]
    stating = [item for item in estimates if bound == (item.upper if at_least else item.lower)]
    if bound is None or not stating or not all(item.exact for item in stating):
        return ""
    low, claim, high = distinct(lower, claimed, upper, quantity=row.quantity)
    exactly = lower is not None and upper is not None and upper - lower <= SAME * abs(lower)
    shown = show(lower) if exactly else f"at most {high}" if at_least else f"at least {low}"
    if exactly and shown == claim:  # so near the claim that only outward rounding separates them
        shown = high if at_least else low
    least = "at least " if at_least else ""
    return (
        f"False: computed at every point of the grid. The worst value is {shown}, "
        f"but the claim is {least or 'at most '}{claim}."
    )


def _meaning(row: Result, *, worst: str) -> str:
    if row.claim.counts_controls and row.verdict == "verified":
        return "Every control gave the right result: broken programs were refuted, and correct ones were not."
    if row.does_not_extend:
        return (
            "The claim does not extend to this setting, which the paper does not cover. This is not an error "
            "of the paper."
        )
    if row.verdict == "crashed" and (row.cells or row.evidence):
        return IN_PART
    meaning = MEANING.get((row.verdict, row.shown_strength)) or MEANING_OF_VERDICT[row.verdict]
    return worst or meaning + (f" Scope: {signs(row.scope)}." if row.scope else "")


def _context(claim: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Return the claim's fields except its sentence, numbers first. Exact values replace rounded ones.

    The schema leaves these fields open.
    """
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
    return " or ".join(
        k for k in ("witness", "computation", "estimate") if any(e.kind == k for e in evidence)
    )


def _upper_source(evidence: tuple[Exhibit, ...]) -> str:
    if any(e.kind == "proof of an inequality" for e in evidence):
        return "proved"
    certificates = [e for e in evidence if e.kind == "certificate"]
    if certificates:
        return "proved" if any(not e.assumptions for e in certificates) else "accounted"
    if any(e.kind == "program proof" for e in evidence):
        return "proved in scope"
    return "tested" if any(e.kind in ("estimate", "computation") for e in evidence) else ""


def _repeated(row: Result) -> str:
    """Return how often the program was run again in fresh processes. The text is empty for a crashed row."""
    times = row.fresh_processes
    if times is None or row.verdict == "crashed":
        return ""
    return f"in {show(times)} fresh processes" if times else f"the row has {NO_PROGRAM}"


def _row_facts(row: Result) -> tuple[Fact, ...]:
    exact = row.strength == "tested" and row.confidence == 1
    facts = [
        ("source", row.source),
        ("view", row.view),
        ("confidence", show(row.confidence, digits=10, toward="down")),
        ("significance level of the row", show(row.alpha, digits=3)),
        ("points" if exact else "samples", show(row.samples, digits=15) if row.samples else ""),
        ("repeated", _repeated(row)),
        ("time", f"{show(row.seconds, digits=2)} s"),
        ("suite", row.suite),
    ]
    return tuple((name, text) for name, text in facts if text not in ("", MISSING))
