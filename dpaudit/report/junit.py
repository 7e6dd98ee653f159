"""Write a report as JUnit XML for continuous integration, with one test suite per paper and one case per row.

A row that was accepted passes, whatever its verdict. A row that is not as expected fails, and so does a row
with such a cell. A crashed row is an error.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence

from dpaudit.report.file.parts import Result
from dpaudit.report.file.report import Report, SuiteRecord
from dpaudit.report.notation import clean

__all__ = ["junit_xml"]

#: Characters that XML 1.0 cannot contain, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(report: Report) -> str:
    """Return the report as an XML document."""
    root = ET.Element("testsuites", name="dpaudit")
    for suite in report.suites:
        rows = [row for row in report.results if row.suite == suite.suite]
        _suite(root, suite, rows, report)
    _count(root, report.results)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(root: ET.Element, suite: SuiteRecord, rows: Sequence[Result], report: Report) -> None:
    element = ET.SubElement(root, "testsuite", name=_text(suite.paper), timestamp=_text(report.started))
    _count(element, rows)
    unchecked = [item for item in report.unchecked if item.paper == suite.paper]
    for row in rows:
        case = ET.SubElement(
            element,
            "testcase",
            name=_text(row.id),
            classname=_text(suite.paper),
            time=f"{row.seconds:.3f}",
        )
        reasons = "\n".join(map(_text, [*row.reasons, *row.unexpected_cells]))
        if row.verdict == "crashed":
            ET.SubElement(case, "error", message=reasons).text = _text(_traceback(row))
        elif not row.accepted:
            message = f"expected {row.expect}, got {row.verdict} / {row.shown_strength or 'none'}"
            if not row.surprising and not row.as_expected:
                message = row.unexpected_count
            ET.SubElement(case, "failure", message=message).text = reasons
        ET.SubElement(case, "system-out").text = "\n".join(map(_text, _about(row)))
    if unchecked:
        lines = [f"{_text(item.id)}: {_text(item.reason)}" for item in unchecked]
        ET.SubElement(element, "system-out").text = "not checkable by computation:\n" + "\n".join(lines)


def _traceback(row: Result) -> str:
    """Return the traceback of a crashed row, or the tracebacks of its crashed cells."""
    inside = [cell.traceback for cell in row.cells if cell.traceback]
    return row.traceback or "\n".join(inside)


def _about(row: Result) -> Iterator[str]:
    """Yield the role and claim of a row, its scope, and the verdict of each cell."""
    yield f"{row.role}: {row.claim.in_words}"
    if row.scope:
        yield f"proved for {row.scope}"
    for cell in row.cells:
        yield f"{cell.name}: {cell.verdict} / {cell.shown_strength or 'none'}"


def _count(element: ET.Element, rows: Sequence[Result]) -> None:
    errors = sum(row.verdict == "crashed" for row in rows)
    element.set("tests", str(len(rows)))
    element.set("errors", str(errors))
    element.set("failures", str(sum(not row.accepted for row in rows if row.verdict != "crashed")))
    element.set("time", f"{sum(row.seconds for row in rows):.3f}")


def _text(value: object) -> str:
    return _ILLEGAL.sub("\ufffd", clean(value))
