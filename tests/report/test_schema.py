"""The check of a report against its schema: the same findings as the schema as it stands, in less time."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from dpaudit.core.errors import BrokenReportError
from dpaudit.report.file.document import check_result, to_text
from dpaudit.report.file.strict import require_ascii_numbers
from tests.errors import raises
from tests.report.sample import sample_report

#: In the place of any field.
WRONG = (None, "x", [3], True)


def edits(document: Any, path: tuple[Any, ...] = (), depth: int = 5) -> Iterator[tuple[Any, ...]]:
    """The places of a document that an edit can change, the first item of each list."""
    yield path
    if isinstance(document, dict) and depth:
        for name, item in document.items():
            yield from edits(item, (*path, name), depth - 1)
    elif isinstance(document, list) and document and depth:
        yield from edits(document[0], (*path, 0), depth - 1)


def edited(document: Any, path: tuple[Any, ...], value: object) -> Any:
    """A copy with ``value`` at ``path``, or without that field where ``value`` is ``...``."""
    changed = copy.deepcopy(document)
    place = changed
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


def small_report() -> dict[str, Any]:
    """The sample with three rows: cells, a witness, a certificate and an estimate are among them."""
    report = sample_report()
    kept = [row for row in report["results"] if row["id"] in ("Thm 7", "Thm 7/repaired", "Lemma 5")]
    return report | {"results": kept}


def test_every_edit_is_judged_as_the_schema_judges_it() -> None:
    """The check refuses each missing or wrong field exactly as the schema does."""
    plain = Draft202012Validator(
        json.loads(files("dpaudit.report.file").joinpath("schema.json").read_text(encoding="utf-8"))
    )
    report = small_report()
    refused = 0
    for path in edits(report):
        for value in (*WRONG, ...) if path else ():
            broken = edited(report, path, value)
            error = best_match(plain.iter_errors(broken))
            if error is None:
                to_text(broken)
                continue
            refused += 1
            with raises(BrokenReportError, code="E-REPORT-SCHEMA") as told:
                to_text(broken)
            if error.validator != "required":
                assert error.message[:60] in str(told.value)
    assert refused > 200


def test_a_report_has_a_line_for_each_result() -> None:
    """Reports of two runs can be compared line by line, and the text is the document."""
    report = small_report()
    lines = to_text(report).splitlines()
    assert json.loads(to_text(report)) == report
    assert [json.loads(line.rstrip(","))["id"] for line in lines if line.startswith('{"id"')] == [
        row["id"] for row in report["results"]
    ]


def test_a_result_alone_is_checked_by_the_same_rules() -> None:
    """A result is refused for a wrong field, for digits of another script, and for what is not JSON."""
    result = small_report()["results"][0]
    check_result(result)
    for changed in (
        result | {"role": "star"},
        result | {"source": "1\u0662"},
        result | {"evidence": [{"evidence": "witness", "quantity": "epsilon"}]},
        result | {"plots": [{"kind": {1, 2}}]},
        result | {"plots": [{"kind": float("nan")}]},
    ):
        with pytest.raises(BrokenReportError):
            check_result(changed)


@pytest.mark.parametrize("text", ["\u0661", "1_000", "1/\u0662", " 7\u0663", "0x1_f"], ids=range(5))
def test_strange_numbers_are_refused_wherever_they_stand(text: str) -> None:
    """As a value, as a name, below lists; the same text in plain words is left alone."""
    for document in ({"a": text}, {text: 1}, [[{"a": [text]}]], ["x", "x", text]):
        with raises(BrokenReportError, code="E-REPORT-DIGITS"):
            require_ascii_numbers(document)
    require_ascii_numbers({"a": ["word 1_000 of it", "1-DP", "2-fold", "1 DP", "12", "", "1/2"]})
