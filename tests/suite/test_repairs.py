"""A repair is linked to the row that it repairs, by id or by name, on the page and in the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from audits.distributed_mab.suite import suite as distributed
from audits.private_online_learning.suite import suite as online
from dpaudit.core.claims import ErrorRate
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Outcome, Row, Suite
from dpaudit.report.file.parts import mended_rows
from dpaudit.run.describe import describe
from tests.cli.suites import by_id, invoke, run, write_suite
from tests.errors import raises
from tests.report.dom import parse
from tests.report.sample import page_of

CLAIM = ErrorRate(text="the error is at most 1", claimed=1)


def row(id: str, **options: Any) -> Row:
    return Row(id=id, title=id, kind="utility", claim=CLAIM, evaluate=lambda run: Outcome([]), **options)


def _mended(row: dict[str, Any]) -> tuple[str, ...]:
    return mended_rows(row["id"], row["role"], tuple(row.get("repairs", ())))


@pytest.mark.parametrize("suite", [distributed, online], ids=lambda suite: suite.paper)
def test_every_repair_of_the_papers_mends_a_row(suite: Suite) -> None:
    """None is left without a link, and each link leads to a row of its paper that is no repair itself."""
    roles = {item.id: item.role for item in suite.rows}
    described = describe(suite, file="suite.py", root=Path())["rows"]
    repairs = [item for item in described if item["role"] == "repaired"]
    assert repairs
    for item in repairs:
        assert _mended(item), item["id"]
        assert all(roles[name] != "repaired" for name in _mended(item)), item["id"]


def test_what_a_repair_mends() -> None:
    """Its id says it unless it names rows; other roles mend nothing."""
    for data, mended in (
        ({"id": "A/b/repaired", "role": "repaired"}, ("A/b",)),
        ({"id": "A/repaired/wide", "role": "repaired"}, ("A",)),
        ({"id": "A/b", "role": "repaired"}, ()),
        ({"id": "A/b", "role": "repaired", "repairs": ["A", "C"]}, ("A", "C")),
        ({"id": "A/repaired", "role": "what-if"}, ()),
    ):
        assert _mended(data) == mended


def test_only_repairs_mend_and_only_what_is_there() -> None:
    """A printed row that mends, a row that is not in the suite, a row that mends itself."""
    with raises(InvalidParameterError, code="E-ROW-REPAIRS", match="'repaired'"):
        row("A", repairs="B")
    for name in ("B", "A"):
        suite = Suite(paper="tiny", title="Tiny")
        suite.add(row("A", role="repaired", repairs=name))
        with pytest.raises(InvalidParameterError, match="repairs must name other rows"):
            describe(suite, file="suite.py", root=Path())


ROWS = """
@suite.row("wrong", title="too small", kind="utility", claim=CLAIM, expect="refuted")
def wrong(run):
    return Outcome([exactly(2, 2)])

@suite.row("wrong/part", title="a part", kind="utility", claim=CLAIM, expect="refuted", role="step")
def part(run):
    return Outcome([exactly(3, 3)])

MENDED = ("wrong", "wrong/part")

@suite.row("right", title="mended", kind="utility", claim=CLAIM, role="repaired", repairs=MENDED)
def right(run):
    return Outcome([exactly(1, 1)])
"""


def test_links_go_both_ways(tmp_path: Path) -> None:
    """On the page in each row and in the list of what is false; in the terminal; verify confirms the report,
    and finds a link that another role was given."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", ROWS)
    _, report = run(suite)
    assert by_id(report)["right"]["repairs"] == ["wrong", "wrong/part"]
    assert "repairs" not in by_id(report)["wrong"]
    dom = parse(page_of(report))
    shown = {
        claim.attributes["id"]: [
            ("".join(line.text).split()[0], [link.attributes["href"] for link in line.find("a")])
            for line in claim.find("p", "links")
        ]
        for claim in dom.find("details", "claim")
    }
    assert shown == {
        "right": [("mends", ["#wrong", "#wrong-part"])],
        "wrong": [("mended", ["#right"])],
        "wrong-part": [("mended", ["#right"])],
    }
    mended = [note.find("a")[0].words() for note in dom.find("section", "findings")[0].find("span", "holds")]
    assert mended == ["right", "right"]
    said = [" ".join(invoke("explain", name, suite).output.split()) for name in ("right", "wrong")]
    assert "mends wrong, wrong/part" in said[0]
    assert "mended by right" in said[1]
    file = tmp_path / "audits" / "dpaudit-report.json"
    assert invoke("verify", "-v", file).exit_code == 0
    by_id(report)["wrong"]["repairs"] = ["right"]
    file.write_text(json.dumps(report), encoding="utf-8")
    assert "must have the role 'repaired'" in " ".join(invoke("verify", "-v", file).output.split())
