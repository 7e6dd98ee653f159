"""Write a report as JUnit XML for continuous integration, with one test suite per paper and one case per row.

A row that was accepted passes, whatever its verdict. A row that is not as expected fails, and so does a row
with such a cell. A crashed row is an error.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpaudit.core.estimates import shown_strength
from dpaudit.report.notation import clean
from dpaudit.report.roles import unexpected_cells, unexpected_count

__all__ = ["junit_xml"]

#: Characters that XML 1.0 cannot contain, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(report: Mapping[str, Any]) -> str:
    """Return the report as an XML document."""
    root = ET.Element("testsuites", name="dpaudit")
    for suite in report["suites"]:
        rows = [result for result in report["results"] if result["suite"] == suite["suite"]]
        _suite(root, suite, rows, report)
    _count(root, report["results"])
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(
    root: ET.Element, suite: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], report: Mapping[str, Any]
) -> None:
    element = ET.SubElement(
        root, "testsuite", name=_text(suite["paper"]), timestamp=_text(report["stamps"]["started"])
    )
    _count(element, rows)
    unchecked = [item for item in report["unchecked"] if item["paper"] == suite["paper"]]
    for row in rows:
        case = ET.SubElement(
            element,
            "testcase",
            name=_text(row["id"]),
            classname=_text(suite["paper"]),
            time=f"{row['seconds']:.3f}",
        )
        reasons = "\n".join(map(_text, [*row["reasons"], *unexpected_cells(row)]))
        if row["verdict"] == "crashed":
            ET.SubElement(case, "error", message=reasons).text = _text(_traceback(row))
        elif not row["accepted"]:
            message = f"expected {row['expect']}, got {row['verdict']} / {shown_strength(row) or 'none'}"
            if row["verdict"] == row["expect"] and not row["as_expected"]:
                message = unexpected_count(row)
            ET.SubElement(case, "failure", message=message).text = reasons
        ET.SubElement(case, "system-out").text = "\n".join(map(_text, _about(row)))
    if unchecked:
        lines = [f"{_text(item['id'])}: {_text(item['reason'])}" for item in unchecked]
        ET.SubElement(element, "system-out").text = "not checkable by computation:\n" + "\n".join(lines)


def _traceback(row: Mapping[str, Any]) -> str:
    """Return the traceback of a crashed row, or the tracebacks of its crashed cells."""
    inside = [cell["traceback"] for cell in row["cells"] if cell.get("traceback")]
    return row["traceback"] or "\n".join(inside)


def _about(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the role and claim of a row, its scope, and the verdict of each cell."""
    yield f"{row['role']}: {row['claim']['in_words']}"
    if row.get("scope"):
        yield f"proved for {row['scope']}"
    for cell in row["cells"]:
        yield f"{cell['name']}: {cell['verdict']} / {shown_strength(cell) or 'none'}"


def _count(element: ET.Element, rows: Sequence[Mapping[str, Any]]) -> None:
    errors = sum(row["verdict"] == "crashed" for row in rows)
    element.set("tests", str(len(rows)))
    element.set("errors", str(errors))
    element.set("failures", str(sum(not row["accepted"] for row in rows if row["verdict"] != "crashed")))
    element.set("time", f"{sum(row['seconds'] for row in rows):.3f}")


def _text(value: object) -> str:
    return _ILLEGAL.sub("\ufffd", clean(value))
