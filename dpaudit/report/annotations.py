"""Write findings as workflow commands of GitHub Actions, which shows them at the line of the row.

The format is that of "Workflow commands for GitHub Actions" (GitHub's documentation): ``::error
file=F,line=L,title=T::MESSAGE``, where ``%``, line ends, and in properties ``:`` and ``,`` are
percent-encoded.
"""

from __future__ import annotations

from dpaudit.report.file.parts import Result
from dpaudit.report.file.report import Report
from dpaudit.report.notation import clean
from dpaudit.report.sarif import FIRST_LINE, place_of

__all__ = ["github_annotations"]


def github_annotations(report: Report) -> list[str]:
    """Return one command line for each row that was not accepted and each suite that did not import."""
    found = [_row(row) for row in report.results if not row.accepted]
    return found + [_error(item.suite, FIRST_LINE, "not imported", item.reason) for item in report.broken]


def _row(row: Result) -> str:
    headline = f"{row.against_expectation}: {row.title}"
    lines = [headline, *row.reasons, *row.unexpected_cells, f"again: {row.reproduce}"]
    return _error(*place_of(row), row.id, "\n".join(map(clean, lines)))


def _error(file: str, line: int, title: str, message: str) -> str:
    return f"::error file={_property(file)},line={line},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text)).replace(":", "%3A").replace(",", "%2C")
