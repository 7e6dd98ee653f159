"""Group the rows of a report by role, and find the stated claims that are false.

Stated claims and steps of proofs come first and are never counted with other roles. A repair that holds, a
control that is caught and a setting outside the stated conditions are no evidence about the stated claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpaudit.core.claims import Controls
from dpaudit.report.fields import read_list, read_text

__all__ = [
    "HOLDS",
    "OUTSIDE",
    "ROLE_WORDS",
    "STATED",
    "VERDICTS",
    "about_a_paper",
    "against_expectation",
    "by_role",
    "claim_id",
    "counted_rows",
    "false_as_printed",
    "in_words",
    "mended_by",
    "not_extending",
    "refuted_as_expected",
    "refuted_under",
    "role_headings",
    "role_of",
    "shown_title",
    "shown_verdict",
    "unchecked_of",
    "unexpected_cells",
    "unexpected_count",
]

Result = Mapping[str, Any]

#: Headings, in the order of every report. ``other`` stands for a role that this version does not know.
ROLE_WORDS = {
    "printed": "Stated claims",
    "step": "Proof steps",
    "repaired": "Repairs",
    "sharper": "Sharper claims",
    "what-if": "What-ifs",
    "control": "Controls",
    "other": "Other rows",
}

#: Heading of the role ``printed`` in a report without roles that refer to a paper.
OWN_CLAIMS = "Claims"

#: The roles of what the paper itself states.
STATED = ("printed", "step")

#: Roles that only the audit of a paper uses.
OF_A_PAPER = ("step", "repaired", "sharper", "what-if")

#: Prefix of the title of a refuted what-if, whose title is a full sentence.
OUTSIDE = "outside the stated conditions, false: "

#: Verdicts of a claim that a certificate or a test reaches, and that no evidence contradicts.
HOLDS = ("verified", "consistent")

#: The verdicts, in the order of a headline.
VERDICTS = ("verified", "consistent", "refuted", "inconclusive", "crashed")


def role_of(result: Result) -> str:
    """Return the role of a result, or ``other`` for a role that this version does not know."""
    role = result.get("role")
    return role if isinstance(role, str) and role in ROLE_WORDS else "other"


def by_role(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return the results of each role that occurs, in the order of ``ROLE_WORDS``."""
    found: dict[str, list[Result]] = {role: [] for role in ROLE_WORDS}
    for result in results:
        found[role_of(result)].append(result)
    return {role: group for role, group in found.items() if group}


def about_a_paper(results: Iterable[Result]) -> bool:
    """Return whether a report audits a paper: some row has a role that only the audit of a paper uses."""
    return any(role_of(result) in OF_A_PAPER for result in results)


def role_headings(results: Iterable[Result]) -> dict[str, str]:
    """Return the heading of each role: ``Stated claims`` for a paper, ``Claims`` for other suites."""
    return ROLE_WORDS if about_a_paper(results) else {**ROLE_WORDS, "printed": OWN_CLAIMS}


def counted_rows(heading: str, count: int) -> str:
    """Return a count of rows with their heading in lower case: ``1 proof step``, ``2 proof steps``."""
    words = heading.lower()
    return f"{count} {words if count != 1 else words.removesuffix('s')}"


def refuted_as_expected(result: Result) -> bool:
    """Return whether a row is refuted, as its author expected, and was accepted."""
    return result.get("verdict") == result.get("expect") == "refuted" and result.get("accepted") is True


def shown_verdict(result: Result) -> str:
    """Return the verdict in words: ``refuted, as expected`` if the author of the suite expected that."""
    return "refuted, as expected" if refuted_as_expected(result) else str(result["verdict"])


def unchecked_of(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the claims that no computation can check, of the papers with a row in this report.

    A run with ``-k`` reports only these. A report without rows keeps all of them. The terminal, the page and
    the Markdown table count this list.
    """
    items = [item for item in read_list(report, "unchecked") if isinstance(item, Mapping)]
    papers = {read_text(row, "paper") for row in read_list(report, "results") if isinstance(row, Mapping)}
    return [item for item in items if not papers or read_text(item, "paper") in papers]


def in_words(results: Sequence[Result]) -> str:
    """Return how many results have each verdict: ``61 verified, 14 refuted, 9 inconclusive``."""
    counts = Counter(result["verdict"] for result in results)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def false_as_printed(results: Iterable[Result]) -> list[Result]:
    """Return the refuted rows among the stated claims and steps, claims first."""
    groups = by_role(results)
    stated = [*groups.get("printed", []), *groups.get("step", [])]
    return [result for result in stated if result.get("verdict") == "refuted"]


def not_extending(results: Iterable[Result]) -> list[Result]:
    """Return the refuted what-ifs: settings outside the stated conditions in which the claim is false."""
    return [result for result in by_role(results).get("what-if", []) if result.get("verdict") == "refuted"]


def shown_title(result: Result) -> str:
    """Return the title of a result.

    The title of a refuted what-if says that the claim is false outside the stated conditions, because this is
    not an error of the paper.
    """
    title = str(result["title"])
    extends = role_of(result) != "what-if" or result.get("verdict") != "refuted"
    return title if extends else f"{OUTSIDE}{title}"


def claim_id(row_id: str) -> str:
    """Return the id of the claim that a row belongs to: the row id up to its first slash."""
    return row_id.split("/", 1)[0]


def mended_by(result: Result) -> tuple[str, ...]:
    """Return the ids of the rows that a repair mends: the named rows, or ``ID`` for ``ID/repaired...``."""
    if role_of(result) != "repaired":
        return ()
    named, own = result.get("repairs"), str(result.get("id", ""))
    if isinstance(named, list) and named:
        return tuple(str(name) for name in named)
    before, found, _ = own.rpartition("/repaired")
    return (before,) if found else ()


def refuted_under(result: Result) -> list[str]:
    """Return the names of refuted cells in a row that is not refuted.

    These are cells that do not decide the row, and cells of a crashed row. The page and the terminal name
    them wherever they show the row's verdict. A row about controls has none, because its cells are meant to
    be refuted.
    """
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
    """Compare the verdicts of a row and its cells with the expected ones."""
    if result["verdict"] != result["expect"]:
        return f"{result['verdict']}, expected {result['expect']}"
    if unexpected_cells(result):
        return f"{result['verdict']}, but {unexpected_count(result)}"
    if not result["accepted"]:
        return f"{result['verdict']} as expected, but weaker than --require demands"
    return f"{result['verdict']}, as expected"


def unexpected_count(result: Result) -> str:
    """Return how many cells of a row are not as expected, in words."""
    return f"{len(unexpected_cells(result))} of {len(result['cells'])} cells are not as expected"


def unexpected_cells(result: Result) -> list[str]:
    """Return one line for each cell whose verdict differs from its ``expect``."""
    return [
        f"{cell['name']}: {cell['verdict']}, expected {cell['expect']}"
        for cell in result.get("cells", ())
        if cell["verdict"] != cell["expect"]
    ]
