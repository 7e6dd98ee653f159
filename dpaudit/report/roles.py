"""Group the rows of a report by role, and find the stated claims that are false.

Stated claims and steps of proofs come first and are never counted with other roles. A repair that holds, a
control that is caught and a setting outside the stated conditions are no evidence about the stated claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dpaudit.report.file.parts import Part, Result

__all__ = [
    "HOLDS",
    "NO_PROGRAM",
    "ROLE_WORDS",
    "STATED",
    "STRENGTHS",
    "URGENT_FIRST",
    "VERDICTS",
    "about_a_paper",
    "by_role",
    "counted_rows",
    "false_as_printed",
    "in_words",
    "of_a_paper",
    "role_headings",
]

#: Headings, in the order of every report.
ROLE_WORDS = {
    "printed": "Stated claims",
    "step": "Proof steps",
    "repaired": "Repairs",
    "sharper": "Sharper claims",
    "what-if": "What-ifs",
    "control": "Controls",
}

#: Heading of the role ``printed`` in a report without roles that refer to a paper.
OWN_CLAIMS = "Claims"

#: The roles of what the paper itself states.
STATED = ("printed", "step")

#: Roles that only the audit of a paper uses.
OF_A_PAPER = ("step", "repaired", "sharper", "what-if")

#: Verdicts of a claim that a certificate or a test reaches, and that no evidence contradicts.
HOLDS = ("verified", "consistent")

#: The verdicts, in the order of a headline.
VERDICTS = ("verified", "consistent", "refuted", "inconclusive", "crashed")

#: The verdicts that need attention first.
URGENT_FIRST = ("crashed", "refuted", "inconclusive", "consistent", "verified")

#: Weakest first, because a row with weaker evidence needs attention first.
STRENGTHS = ("none", "estimate", "computation", "witness", "tested", "accounted", "proved in scope", "proved")

#: What a row with ``fresh_processes`` equal to 0 "has".
NO_PROGRAM = "no program to run again in a fresh process"


def by_role(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return the results of each role that occurs, in the order of ``ROLE_WORDS``."""
    found: dict[str, list[Result]] = {role: [] for role in ROLE_WORDS}
    for result in results:
        found[result.role].append(result)
    return {role: group for role, group in found.items() if group}


def of_a_paper(roles: Iterable[str]) -> bool:
    """Return whether one of the roles of some rows is one that only the audit of a paper uses."""
    return any(role in OF_A_PAPER for role in roles)


def about_a_paper(results: Iterable[Result]) -> bool:
    """Return whether a report audits a paper."""
    return of_a_paper(result.role for result in results)


def role_headings(results: Iterable[Result]) -> dict[str, str]:
    """Return the heading of each role: ``Stated claims`` for a paper, ``Claims`` for other suites."""
    return ROLE_WORDS if about_a_paper(results) else {**ROLE_WORDS, "printed": OWN_CLAIMS}


def counted_rows(heading: str, count: int) -> str:
    """Return a count of rows with their heading in lower case: ``1 proof step``, ``2 proof steps``."""
    words = heading.lower()
    return f"{count} {words if count != 1 else words.removesuffix('s')}"


def in_words(parts: Sequence[Part]) -> str:
    """Return how many rows or cells have each verdict: ``61 verified, 14 refuted, 9 inconclusive``."""
    counts = Counter(part.verdict for part in parts)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def false_as_printed(results: Iterable[Result]) -> list[Result]:
    """Return the refuted rows among the stated claims and steps, claims first."""
    groups = by_role(results)
    return [row for role in STATED for row in groups.get(role, ()) if row.verdict == "refuted"]
