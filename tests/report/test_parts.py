"""The typed values of a report hold what the schema names, with the values of the file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from dpaudit.report.file.document import known_fields
from dpaudit.report.file.parts import Part, Result, ResultCell
from dpaudit.report.file.report import BrokenRecord, Report, SuiteRecord, UncheckedRecord
from tests.report.sample import sample_report

#: Texts of exact bounds, which only ``verify`` reads. ``error`` is the first reason of a crashed cell.
NOT_READ = {"lower_exact", "upper_exact"}


@pytest.mark.parametrize(
    ("part", "kind", "left"),
    [
        ("result", Result, NOT_READ),
        ("cell", ResultCell, {*NOT_READ, "error"}),
        ("suite", SuiteRecord, set()),
        ("unchecked", UncheckedRecord, set()),
    ],
)
def test_every_field_of_the_schema_has_a_typed_value(part: str, kind: type, left: set[str]) -> None:
    """A field that is added to the schema must be added to the typed values too, and the other way round."""
    assert known_fields(part) == {field.name for field in fields(kind)} | left


def test_the_values_are_those_of_the_file() -> None:
    """Texts, numbers and lists of texts are unchanged, in the order of the file."""
    document = sample_report() | {"broken": [{"suite": "a.py", "reason": "no"}]}
    report = Report.from_json(document)
    assert report.broken == (BrokenRecord("a.py", "no"),)
    assert [row.id for row in report.results] == [row["id"] for row in document["results"]]
    for row, written in zip(report.results, document["results"], strict=True):
        _agree(row, written)
        for cell, data in zip(row.cells, written["cells"], strict=True):
            _agree(cell, data)


def _agree(part: Part, data: dict[str, Any]) -> None:
    quantities = [item["quantity"] for item in data["evidence"]]
    assert [item.quantity for item in part.evidence] == quantities
    made = {"claim", "evidence", "cells", "plots", "location", "traceback"}
    for name, value in data.items():
        if name not in NOT_READ | made:
            assert getattr(part, name) == (tuple(value) if isinstance(value, list) else value), name
