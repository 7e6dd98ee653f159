"""A report as data frames: one line a row, one line a cell, numbers as they stand in the report."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from dpaudit import Report
from dpaudit.core.errors import BrokenReportError
from dpaudit.report.file.document import write_report
from tests.report.sample import sample_report, typed


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("frames") / "report.json"
    write_report(path, sample_report())
    return Report.read(path)


def test_one_line_a_row(report: Report) -> None:
    """Every result is one line with its verdict, bounds and role; the order is that of the report."""
    frame, results = report.to_frame(), sample_report()["results"]
    assert list(frame["id"]) == [result["id"] for result in results]
    for name in ("role", "verdict", "strength", "as_expected", "samples", "seconds", "source"):
        assert list(frame[name]) == [result[name] for result in results]
    row = frame.set_index("id").loc["Thm 7/controls"]
    assert (row["claim_id"], row["cells"], row["cells_not_as_expected"]) == ("Thm 7", 3, 1)


def test_numbers_are_numbers(report: Report) -> None:
    """A missing bound is NaN and an infinite one infinite, so that columns can be compared and summed."""
    frame = report.to_frame().set_index("id")
    assert frame.loc["Alg 2", "lower"] == math.inf
    assert math.isnan(frame.loc["Alg 2", "upper"])
    assert frame.loc["Thm 7", ["lower", "claimed", "upper"]].astype(float).tolist() == pytest.approx(
        [1.4999999123, 1.0, 2.0]
    )
    assert frame[["claimed", "lower", "upper", "slack", "confidence"]].dtypes.eq(float).all()


def test_one_line_a_cell(report: Report) -> None:
    """The cells of all rows in one frame, which joins with the other by the row's id."""
    cells = report.cells_frame()
    assert len(cells) == sum(len(result["cells"]) for result in sample_report()["results"]) == 10
    repaired = cells[cells["id"] == "Thm 7/repaired"]
    assert list(repaired["cell"]) == ["ε = 1", "ε = 1/5", "ε = 4", "accounting"]
    assert list(repaired["deciding"]) == [True, True, True, False]
    assert list(repaired["upper"]) == [1.0, 0.2, 4.0, 1.0]
    joined = cells.merge(report.to_frame()[["id", "title"]], on="id")
    assert len(joined) == len(cells)


def test_a_report_without_cells_has_a_frame_of_them() -> None:
    """The columns are there whatever the report holds."""
    empty = typed({"results": []})
    assert list(empty.cells_frame().columns) == list(typed(sample_report()).cells_frame().columns)
    assert list(empty.to_frame().columns) == list(typed(sample_report()).to_frame().columns)
    assert empty.to_frame().empty


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    """A file of another kind is refused as everywhere else."""
    (tmp_path / "r.json").write_text("{}")
    with pytest.raises(BrokenReportError, match="schema_version 6"):
        Report.read(tmp_path / "r.json")


def test_pandas_is_loaded_for_a_frame_alone() -> None:
    """Neither the package, nor reading and checking a report, imports it."""
    code = (
        "import json, sys, dpaudit.cli, dpaudit.verify.report, dpaudit.report.html\n"
        "from dpaudit import Report\n"
        "assert 'pandas' not in sys.modules\n"
        "Report.from_json(json.loads(sys.argv[1])).to_frame()\n"
        "assert 'pandas' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, json.dumps(sample_report())], check=True)
