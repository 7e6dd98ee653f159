"""What the rows of a report are to the paper: headline counts by role, and what is false as printed.

Printed claims and printed steps of proofs come first and are never counted together with anything else: a
repair that holds, a control that is caught or a setting that the paper does not speak of says nothing about
what the paper states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpaudit.core.claims import Controls

__all__ = [
    "HOLDS",
    "OUTSIDE",
    "ROLE_WORDS",
    "STATED",
    "VERDICTS",
    "against_expectation",
    "by_role",
    "claim_id",
    "false_as_printed",
    "in_words",
    "mended_by",
    "not_extending",
    "refuted_under",
    "role_of",
    "shown_title",
    "unexpected_cells",
    "unexpected_count",
]

Result = Mapping[str, Any]

#: In the order of every report; ``other`` is what a page shows of a role that it does not know.
ROLE_WORDS = {
    "printed": "Printed claims",
    "step": "Proof steps",
    "repaired": "Repairs",
    "sharper": "Sharper claims",
    "what-if": "What-ifs",
    "control": "Controls",
    "other": "Other rows",
}

#: What the paper itself states.
STATED = ("printed", "step")

#: Before the title of a refuted what-if, which is a sentence of its own.
OUTSIDE = "outside the stated conditions, false: "

#: Verdicts on a claim that nothing found false, and that a certificate or a test reaches.
HOLDS = ("verified", "consistent")

#: In the order of a headline.
VERDICTS = ("verified", "consistent", "refuted", "inconclusive", "crashed")


def role_of(result: Result) -> str:
    """The role of a result; ``other`` for one that this page does not know."""
    role = result.get("role")
    return role if isinstance(role, str) and role in ROLE_WORDS else "other"


def by_role(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results of each role that there is, in the order of ``ROLE_WORDS``."""
    found: dict[str, list[Result]] = {role: [] for role in ROLE_WORDS}
    for result in results:
        found[role_of(result)].append(result)
    return {role: group for role, group in found.items() if group}


def in_words(results: Sequence[Result]) -> str:
    """How many came out how: ``61 verified, 14 refuted, 9 inconclusive``."""
    counts = Counter(result["verdict"] for result in results)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def false_as_printed(results: Iterable[Result]) -> list[Result]:
    """The refuted ones among what the paper itself states, claims before steps."""
    groups = by_role(results)
    stated = [*groups.get("printed", []), *groups.get("step", [])]
    return [result for result in stated if result.get("verdict") == "refuted"]


def not_extending(results: Iterable[Result]) -> list[Result]:
    """The refuted ones among settings that the paper does not speak of."""
    return [result for result in by_role(results).get("what-if", []) if result.get("verdict") == "refuted"]


def shown_title(result: Result) -> str:
    """The title of a result. A refuted what-if says that it is false outside the stated conditions: it is no
    error of the paper."""
    title = str(result["title"])
    extends = role_of(result) != "what-if" or result.get("verdict") != "refuted"
    return title if extends else f"{OUTSIDE}{title}"


def claim_id(row_id: str) -> str:
    """The id of the claim that a row belongs to: the row's up to its first slash."""
    return row_id.split("/", 1)[0]


def mended_by(result: Result) -> tuple[str, ...]:
    """The ids of the rows that a repair mends: those that it names, or ``ID`` for ``ID/repaired...``."""
    if role_of(result) != "repaired":
        return ()
    named, own = result.get("repairs"), str(result.get("id", ""))
    if isinstance(named, list) and named:
        return tuple(str(name) for name in named)
    before, found, _ = own.rpartition("/repaired")
    return (before,) if found else ()


def refuted_under(result: Result) -> list[str]:
    """The names of refuted cells in a row that is not refuted: those that do not decide, and those of a row
    that crashed. A page and the terminal say them wherever they say the row's verdict. Of a row about
    controls they are what it is for."""
    claim = result.get("claim")
    controls = isinstance(claim, Mapping) and claim.get("type") == Controls.type
    cells = result.get("cells")
    if controls or result.get("verdict") == "refuted" or not isinstance(cells, list):
        return []
    return [
        str(cell.get("name", ""))
        for cell in cells
        if isinstance(cell, Mapping) and cell.get("verdict") == "refuted"
    ]


def against_expectation(result: Result) -> str:
    """A row's verdict beside what was expected of it and of its cells, in words."""
    if result["verdict"] != result["expect"]:
        return f"{result['verdict']}, expected {result['expect']}"
    if unexpected_cells(result):
        return f"{result['verdict']}, but {unexpected_count(result)}"
    if not result["accepted"]:
        return f"{result['verdict']} as expected, but by less than --require asks"
    return f"{result['verdict']}, as expected"


def unexpected_count(result: Result) -> str:
    """How many of its cells did not come out as they should, in words."""
    return f"{len(unexpected_cells(result))} of {len(result['cells'])} cells are not as expected"


def unexpected_cells(result: Result) -> list[str]:
    """One line on each cell that did not come out as its ``expect`` says."""
    return [
        f"{cell['name']}: {cell['verdict']}, expected {cell['expect']}"
        for cell in result.get("cells", ())
        if cell["verdict"] != cell["expect"]
    ]
