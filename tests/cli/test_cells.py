"""Cells and roles from the command line: what a run writes, what every format says, what makes it fail."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from dpaudit.kernel import kernel_t0
from tests.cli.suites import by_id, invoke, run, write_suite

GRID = """
def cell(name, value, **more):
    return Cell(name=name, claim=CLAIM, evidence=[exactly(value, value)], **more)

@suite.row("T1", title="the error on a grid", kind="utility", claim=CLAIM)
def grid(run):
    return Outcome([], cells=[cell("n = 10", 0.5, notes=["small"]), cell("n = 20", 0.25)])
"""
FALSE = """
@suite.row("T2", title="the error on another grid", kind="utility", claim=CLAIM, expect="refuted")
def other_grid(run):
    return Outcome([], cells=[cell("n = 10", 0.5), cell("n = 20", 2.0, expect="refuted")])
"""
ROLES = """
@suite.row("T2/step", title="its second line", kind="utility", claim=CLAIM, expect="refuted", role="step")
def step(run):
    return Outcome([exactly(3, 3)])

@suite.row("T2/repaired", title="with n >= 20", kind="utility", claim=CLAIM, role="repaired")
def repaired(run):
    return Outcome([exactly(1, 1)])

@suite.row("T2/lost", title="lost messages", kind="utility", claim=CLAIM, expect="refuted", role="what-if")
def lost(run):
    return Outcome([exactly(4, 4)])

TABLE = (("no noise", "refuted"), ("as printed", "verified"))
CONTROLS = Controls(text="each broken estimator is refuted", cells=TABLE)

@suite.row("T2/controls", title="broken estimators", kind="structure", claim=CONTROLS, role="control")
def controls(run):
    return Outcome([], cells=[cell("no noise", 9, expect="refuted"), cell("as printed", 0.5)])
"""
SURPRISE = """
@suite.row("T3", title="a surprise inside", kind="utility", claim=CLAIM, expect="refuted")
def surprise_inside(run):
    return Outcome([], cells=[cell("n = 10", 2.0, expect="refuted"), cell("n = 20", 2.0)])
"""
MISSED = """
CONTROLS = Controls(text="each broken estimator is refuted", cells=(("half the noise", "refuted"),))

@suite.row("T4/controls", title="missed", kind="structure", claim=CONTROLS, role="control")
def missed(run):
    return Outcome([], cells=[cell("half the noise", 0.5, expect="refuted")])
"""
PROVED = """
@suite.row("P", title="noisy sums", kind="privacy", claim=PureDP(epsilon=1))
def noisy(run):
    one, three = PureDP(epsilon=1), PureDP(epsilon=3)
    true = Cell(name="scale 1", claim=one, evidence=[certificate(1)])
    return Outcome([], cells=[true, Cell(name="more", claim=three, evidence=[certificate(3)])])
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The report of a suite with rows of every role, and where it lies."""
    folder = tmp_path_factory.mktemp("cells")
    suite = write_suite(folder / "suite.py", GRID, FALSE, ROLES, PROVED)
    result, report = run(suite)
    assert result.exit_code == 0, result.output
    return folder / "dpaudit-report.json", report


def test_a_run_writes_roles_and_cells(made: tuple[Path, dict[str, Any]]) -> None:
    """Every row has its role and its cells, and shows the bounds of the cell that decided."""
    rows = by_id(made[1])
    assert made[1]["schema_version"] == 6
    assert [row["role"] for row in rows.values()] == [
        *["printed", "printed", "step", "repaired", "what-if", "control", "printed"]
    ]
    false = rows["T2"]
    assert (false["verdict"], false["strength"], false["lower"]) == ("refuted", "tested", 2.0)
    assert false["reasons"] == ["refuted in 1 of 2 cells: n = 20"]
    assert [(cell["name"], cell["verdict"]) for cell in false["cells"]] == [
        ("n = 10", "verified"),
        ("n = 20", "refuted"),
    ]
    assert (rows["P"]["verdict"], rows["P"]["strength"]) == ("verified", "proved")
    assert rows["T2/controls"]["verdict"] == "verified"


def test_verify_confirms_every_cell(made: tuple[Path, dict[str, Any]]) -> None:
    """One line for each piece of evidence and each verdict of a cell; with ``--suite`` the rows run again."""
    alone = invoke("verify", "-v", made[0])
    assert alone.exit_code == 0
    assert alone.stdout.count("cell n = 20: verdict") == 2
    assert "cell scale 1: certificate" in " ".join(alone.stdout.split())
    assert invoke("verify", "-v", made[0], "--suite", made[0].parent / "suite.py", "--jobs", 1).exit_code == 0


def test_the_first_tier_alone_rederives_the_certificates_of_cells(made: tuple[Path, dict[str, Any]]) -> None:
    """``kernel_t0.py`` on the report finds both, names their cells, and refuses one that claims too much."""
    command = [sys.executable, "-I", kernel_t0.__file__, str(made[0])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "P, cell scale 1: epsilon <= 1, assuming nothing" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("2 re-derived")
    report = json.loads(made[0].read_text(encoding="utf-8"))
    by_id(report)["P"]["cells"][1]["evidence"][0]["bound"] = "1/2"
    forged = made[0].with_name("forged.json")
    forged.write_text(json.dumps(report), encoding="utf-8")
    command[-1] = str(forged)
    assert subprocess.run(command, capture_output=True, text=True, check=False).returncode == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (SURPRISE, "cell n = 20: refuted, expected verified"),
        (MISSED, "cell half the noise: verified, expected refuted"),
    ],
    ids=["a cell of a row that came out as expected", "a control that was not caught"],
)
def test_a_cell_against_expectation_fails_the_run(tmp_path: Path, row: str, said: str) -> None:
    """Exit code 1, the cell is named, and JUnit has a failure that says so."""
    suite = write_suite(tmp_path / "suite.py", GRID, ROLES, row)
    result, report = run(suite)
    assert result.exit_code == 1
    assert said in " ".join(result.stdout.split())
    last = report["results"][-1]
    assert (last["as_expected"], last["accepted"]) == (False, False)
    out = tmp_path / "junit.xml"
    invoke("report", tmp_path / "dpaudit-report.json", "--junit", out)
    root = ET.fromstring(out.read_text(encoding="utf-8"))
    assert root.get("failures") == "1"
    assert said.removeprefix("cell ") in "".join(root.itertext())


def test_the_terminal_says_which_cell_is_the_worst(tmp_path: Path) -> None:
    """Where several cells claim one number the row shows the bounds of one: it is named, with their number;
    bounds that are the claim itself say so."""
    row = """
@suite.row("sizes", title="sizes", kind="utility", claim=CLAIM)
def sizes(run):
    return Outcome([], cells=[Cell(name=f"n = {n}", claim=CLAIM, evidence=[exactly(0, upper)])
                              for n, upper in ((10, 0.5), (20, 0.75), (30, 0.25))])

@suite.row("met", title="met", kind="utility", claim=CLAIM)
def met(run):
    return Outcome([exactly(1, 1)])
"""
    lines = run(write_suite(tmp_path / "suite.py", row))[0].stdout.splitlines()
    (sizes,) = [line for line in lines if " sizes " in line and "verified" in line]
    (met,) = [line for line in lines if " met " in line and "verified" in line]
    assert "≤ 0.75, claimed 1  worst of 3 cells: n = 20" in sizes
    assert "claimed 1, attained" in met
    assert "attained" not in sizes


def test_the_terminal_names_the_cell_where_cells_claim_several_things(tmp_path: Path) -> None:
    """Of cells at three epsilons the row shows the bound of the one at its own, and names it; the larger
    bound at another epsilon is not the row's."""
    row = """
@suite.row("deltas", title="deltas", kind="privacy", claim=ApproxDP(epsilon=1, delta="1/100"),
           expect="refuted")
def deltas(run):
    def at(epsilon, lower):
        claim = ApproxDP(epsilon=epsilon, delta="1/100")
        bound = Estimate(quantity="delta", lower=lower, upper=None, confidence=1.0, samples=1, method="sum",
                         scope="one pair")
        return Cell(name=f"at {epsilon}", claim=claim, evidence=[bound], expect="refuted")
    return Outcome([], cells=[at(1, 0.125), at("1/10", 0.5), at(2, 0.0625)])
"""
    imports = "from dpaudit.core.claims import ApproxDP\nfrom dpaudit.core.evidence import Estimate\n"
    lines = run(write_suite(tmp_path / "suite.py", imports + row))[0].stdout.splitlines()
    (line,) = [line for line in lines if " deltas " in line and "refuted" in line]
    assert "0.125 ≤ delta, claimed 0.01  3 cells, bounds of at 1 " in line


def test_an_inconclusive_row_says_what_stands_in_the_way(tmp_path: Path) -> None:
    """The first two unmet conditions of its cells stand below the line on the terminal, once each."""
    row = """
@suite.row("blind", title="blind", kind="privacy", claim=PureDP(epsilon=1))
def blind(run):
    claim = PureDP(epsilon=1)
    ways = {name: ["no site noise", f"{name} no", "c"] for name in ("a", "b")}
    return Outcome([], cells=[Cell(name=n, claim=claim, evidence=[], unmet=ways[n]) for n in ways])
"""
    result, _ = run(write_suite(tmp_path / "suite.py", row))
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert [line for line in lines if line in ("no site noise", "a no", "b no", "c")] == [
        "no site noise",
        "a no",
    ]


def test_headlines_never_mix_roles(made: tuple[Path, dict[str, Any]]) -> None:
    """Stated claims and steps first, each counted alone; only they are false as printed, and a refuted
    what-if does not extend the claim."""
    shown = invoke("report", made[0]).stdout
    for line in (
        "Stated claims: 2 verified, 1 refuted",
        "Proof steps: 1 refuted",
        "Repairs: 1 verified",
        "What-ifs: 1 refuted",
        "Controls: 1 verified",
        "Does not extend: T2/lost",
        "All 7 rows (8 cells) came out as expected.",
    ):
        assert line in shown.splitlines()
    false = [line.split()[1] for line in shown.splitlines() if line.startswith("  false ")]
    assert false == ["T2", "T2/step"]
    assert shown.index("  false T2 ") < shown.index("Stated claims: 2 verified")
    assert "outside the stated conditions, false: lost messages" in " ".join(shown.split())


def test_markdown_has_a_table_for_each_role(made: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """Each role has its own count and table, printed claims first, with the cells of each row counted."""
    out = tmp_path / "verdicts.md"
    invoke("report", made[0], "--markdown", out)
    text = out.read_text(encoding="utf-8")
    heads = ["Stated claims: 2 verified, 1 refuted.", "Proof steps: 1 refuted.", "Repairs: 1 verified."]
    places = [text.index(head) for head in [*heads, "What-ifs: 1 refuted.", "Controls: 1 verified."]]
    assert places == sorted(places)
    assert "| 1 verified, 1 refuted |" in text
    assert "outside the stated conditions, false: lost messages" in text


def test_list_and_explain_know_roles_and_cells(made: tuple[Path, dict[str, Any]]) -> None:
    """``list`` shows the role, ``explain`` every cell with its claim, evidence and notes."""
    suite = made[0].parent / "suite.py"
    listed = [line.split() for line in invoke("list", suite).stdout.splitlines()]
    assert ["T2/lost", "what-if", "utility", "refuted", "lost", "messages"] in listed
    explained = invoke("explain", "T1", suite, "--report", made[0]).stdout
    for words in (
        "role     printed",
        "cell n = 20: verified / tested",
        "note: small",
        "grid: the whole grid",
    ):
        assert words in explained


def test_a_resumed_run_keeps_cells(tmp_path: Path) -> None:
    """The journal holds the cells; ``--resume`` runs nothing again and writes the same results."""
    suite = write_suite(tmp_path / "suite.py", GRID, FALSE)
    _, first = run(suite)
    result, second = run(suite, "--resume")
    assert "2 rows were finished before" in result.stdout
    assert second["results"] == first["results"]


def test_a_crashed_row_has_no_cells(tmp_path: Path) -> None:
    """Two cells with one name are the suite's mistake: the row crashes and says so."""
    suite = write_suite(tmp_path / "suite.py", GRID.replace("n = 20", "n = 10"))
    result, report = run(suite)
    assert result.exit_code == 3
    [row] = report["results"]
    assert (row["verdict"], row["cells"], row["as_expected"]) == ("crashed", [], False)
    assert "unique in its row" in row["reasons"][0]
    assert invoke("verify", "-v", tmp_path / "dpaudit-report.json").exit_code == 0
