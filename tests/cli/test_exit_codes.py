"""The exit code says what happened: 0 as expected, 1 against expectation, 2 usage or configuration, 3 a
crash.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpaudit.run.targets import find_suites
from tests.cli.suites import RAISES, REFUTED, UNEXPECTED, VERIFIED, by_id, invoke, run, write_suite
from tests.report.dom import parse
from tests.report.sample import page_of

PRIVACY = """
@suite.row("accounted", title="by accounting", kind="privacy", claim=PureDP(epsilon=1), expect="consistent")
def accounted(run):
    return Outcome([certificate(1, "every release was declared")])

@suite.row("proved", title="by proof", kind="privacy", claim=PureDP(epsilon=1))
def proved(run):
    return Outcome([certificate(1)])
"""


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ((VERIFIED, REFUTED), 0),
        ((VERIFIED, UNEXPECTED), 1),
        ((VERIFIED, RAISES), 3),
        ((UNEXPECTED, RAISES), 3),
    ],
    ids=["as expected", "against expectation", "a crash", "a crash wins"],
)
def test_exit_code_of_a_run(tmp_path: Path, rows: tuple[str, ...], code: int) -> None:
    """An expected refutation is success; a crash weighs more than a surprise."""
    result, _ = run(write_suite(tmp_path / "suite.py", *rows))
    assert result.exit_code == code


def test_require_refuses_weaker_privacy_rows_only(tmp_path: Path) -> None:
    """``--require proved`` turns a consistent privacy row into a failure, though its suite expects that;
    proved and other kinds pass."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, PRIVACY)
    for options, code, accepted in (
        ((), 0, True),
        (("--accept", "consistent"), 0, True),
        (("--require", "proved"), 1, False),
    ):
        result, report = run(suite, *options)
        rows = by_id(report)
        assert result.exit_code == code
        assert [rows[name]["accepted"] for name in ("accounted", "proved", "fine")] == [accepted, True, True]
        assert rows["accounted"]["as_expected"]


@pytest.mark.parametrize(
    ("options", "code"), [((), 1), (("--accept", "consistent"), 0)], ids=["by default", "accepted"]
)
def test_a_consistent_row_where_verified_is_expected(
    tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    """It is not accepted without ``--accept consistent``; with it, it is still not as expected, the page has
    no alarm, and ``dpaudit verify`` confirms the report. A refutation is accepted by no option."""
    rows = PRIVACY.replace(', expect="consistent"', "")
    suite = write_suite(tmp_path / "suite.py", rows)
    result, report = run(suite, *options, report=tmp_path / "report.json")
    row = by_id(report)["accounted"]
    assert result.exit_code == code
    assert (row["verdict"], row["strength"]) == ("consistent", "accounted")
    assert (row["as_expected"], row["accepted"]) == (False, code == 0)
    assert report["accept"] == (options[1] if options else None)
    assert ("expected verified" in page_of(report)) == (code == 1)
    assert invoke("verify", tmp_path / "report.json").exit_code == 0
    both = write_suite(tmp_path / "both.py", rows, UNEXPECTED)
    assert run(both, "--accept", "consistent")[0].exit_code == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--alpha", "nan"], "alpha must be above 0 and at most 0.5, got nan"),
        (["--alpha", "0"], "alpha must be above 0 and at most 0.5, got 0.0"),
        (["--alpha", "1"], "alpha must be above 0 and at most 0.5, got 1.0"),
        (["--alpha", "0.51"], "alpha must be above 0 and at most 0.5, got 0.51"),
        (["--alpha", "inf"], "alpha must be above 0 and at most 0.5, got inf"),
        (["--alpha", "much"], "'much' is not a valid float"),
        (["--seed", "-1"], "the seed must be an integer from 0"),
        (["--seed", "1.5"], "'1.5' is not a valid integer"),
        (["--jobs", "0"], "jobs must be 1 or more, got 0"),
        (["--timeout", "0"], "the timeout must be a positive number of seconds, got 0.0"),
        (["--timeout", "nan"], "the timeout must be a positive number of seconds, got nan"),
        (["--require", "proved", "--accept", "consistent"], "cannot require proved and accept consistent"),
        (["--accept", "refuted"], "'refuted' is not"),
        (["--timeout", "inf"], "the timeout must be a positive number of seconds, got inf"),
        (["--require", "luck"], "'luck' is not"),
        (["-k", "nothing-like-it"], "-k 'nothing-like-it' matches none of the 1 rows"),
        (["-k", "fine and"], "-k must combine words"),
        (["-k", "'fine"], "-k must close its quotes"),
        (["-k", " "], "-k must contain at least one word"),
        (["--json", "report.txt"], "--json must name a file that ends in .json"),
        (["--json", "no/such/folder/report.json"], "an output must be a file in an existing folder"),
        (["--html", "no/such/folder/report.html"], "an output must be a file in an existing folder"),
    ],
)
def test_bad_options_are_refused_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
) -> None:
    """Each bad value is named with the constraint, exit code 2, before any row runs."""
    monkeypatch.chdir(tmp_path)
    suite = write_suite(tmp_path / "suite.py", VERIFIED)
    result = invoke("run", suite, *options)
    assert result.exit_code == 2
    assert told in result.stderr
    assert not list(tmp_path.glob("*.ran"))
    assert not list(tmp_path.glob("dpaudit-report*"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("suite = 3\n", "got int"),
        ("import no_such_module\nsuite = None\n", "No module named 'no_such_module' (suite.py:1)"),
        ("suite = (\n", "SyntaxError"),
        ("raise SystemExit(0)\nsuite = 1\n", "SystemExit: 0"),
        ("import os\nos._exit(0)\nsuite = 1\n", "the import ended its process with exit code 0"),
        (
            "from dpaudit.core.suite import Suite\nsuite = Suite(paper='p', title='t')\n",
            "the suites have no rows",
        ),
    ],
    ids=["no suite", "no module", "no python", "leaves", "dies", "no rows"],
)
def test_a_suite_that_does_not_import_is_a_configuration_error(tmp_path: Path, text: str, told: str) -> None:
    """Whatever goes wrong in a suite's import ends in one message and exit code 2."""
    suite = tmp_path / "suite.py"
    suite.write_text(text)
    result = invoke("run", suite, "--json", tmp_path / "r.json", "--jobs", 1)
    assert result.exit_code == 2
    assert told in result.stderr


@pytest.mark.parametrize("command", ["run", "list", "explain", "calibrate"])
def test_a_broken_suite_does_not_stop_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The others are served; the error is three lines with the line of source, and the exit code is 2."""
    monkeypatch.chdir(tmp_path)
    deep = "".join(f"def f{i}():\n    f{i - 1}()\n" for i in range(1, 30))
    broken = f"def f0():\n    raise NameError('no [bold]such\\nname')\n{deep}f29()\nsuite = 1\n"
    write_suite(tmp_path / "audits" / "b_fine.py", VERIFIED)
    (tmp_path / "audits" / "a_broken.py").write_text(broken)
    arguments = {"explain": ["fine"], "calibrate": ["audits"]}.get(command, [])
    result = invoke(command, *arguments)
    assert result.exit_code == 2
    assert "Tiny claims" in result.stdout or "holds on the grid" in result.stdout
    errors = [line for line in result.stderr.splitlines() if not line.startswith("loading ")]
    assert errors[0].startswith("error [E-SUITE-BROKEN]: ")
    assert "audits/a_broken.py" in errors[0]
    assert errors[1:] == [
        "  NameError: no [bold]such name (audits/a_broken.py:2)",
        "  audits/a_broken.py:2: raise NameError('no [bold]such\\nname')",
    ]
    if command == "run":
        report = json.loads((tmp_path / "dpaudit-report.json").read_text())
        assert [row["verdict"] for row in report["results"]] == ["verified"]
        assert [item["suite"] for item in report["broken"]] == ["audits/a_broken.py"]
        assert "not run: audits/a_broken.py" in result.stdout


def test_a_run_says_what_is_not_checked_in_fresh_processes(tmp_path: Path) -> None:
    """A row without a fingerprint says so in the report, at the end of the run, and in ``explain``."""
    row = """
suite.add(Row(id="seen", title="seen", kind="utility", claim=CLAIM, fingerprint=lambda seed: "same",
              evaluate=lambda run: Outcome([exactly(0, 0.5)])))
suite.add(Row(id="computed", title="computed", kind="utility", claim=CLAIM, expect="inconclusive",
              evaluate=lambda run: Outcome([])))
"""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, row)
    result, report = run(suite)
    fresh = {name: row["fresh_processes"] for name, row in by_id(report).items()}
    assert fresh == {"fine": 0, "seen": 2, "computed": 0}
    told = "no program to run again in a fresh process"
    assert f"2 rows have {told}." in result.stdout.splitlines()
    assert f"the row has {told}" in invoke("explain", "fine", suite).stdout
    sections = parse(page_of(report)).find("details", "claim")
    facts = {section.find("b")[0].words(): section.words() for section in sections}
    assert [name for name, words in facts.items() if told in words] == ["computed", "fine"]
    assert "in 2 fresh processes" in facts["seen"]
    alone, _ = run(suite, "-k", "=seen")
    assert told not in alone.stdout
    assert "must do the same in two fresh processes" in invoke("explain", "seen", suite).stdout


@pytest.mark.parametrize("row", ["weight=0", "weight=float('nan')", "weight=-1"])
def test_a_weight_must_be_positive(tmp_path: Path, row: str) -> None:
    """A row cannot take a share of the error level that is no share."""
    text = f"suite.row('w', title='w', kind='utility', claim=CLAIM, {row})(lambda run: Outcome([]))\n"
    result = invoke("run", write_suite(tmp_path / "suite.py", text), "--jobs", 1)
    assert result.exit_code == 2
    assert "weight must be a positive number" in result.stderr


def test_one_of_the_suites_that_ship_with_dpaudit_can_be_named() -> None:
    """``papers:classics`` is that suite, by the name in reports too; another name lists them all."""
    all_of_them = [suite.label for suite in find_suites(["papers"])]
    assert "papers:classics/suite.py" in all_of_them
    for path in ("papers:classics", "papers:classics/", "papers:classics/suite.py"):
        found = [suite.label for suite in find_suites([path]) if suite.kind != "part"]
        assert found == ["papers:classics/suite.py"]
    for path in ("papers:class", "papers:nothing", "papers:"):
        result = invoke("list", path)
        assert result.exit_code == 2
        assert "papers must be one of papers:classics, papers:concurrent_shuffle" in result.stderr


def test_a_path_must_exist_and_be_a_suite(tmp_path: Path) -> None:
    """A missing path, a file that is no Python file and a folder without suites are each told apart."""
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "empty").mkdir()
    for path, told in (
        ("gone", "must be a suite file, a folder of suites, 'papers' or"),
        ("notes.txt", "must be a Python file"),
        ("empty", "error [E-SUITE-MISSING]"),
    ):
        result = invoke("run", tmp_path / path)
        assert result.exit_code == 2
        assert told in result.stderr
        assert path in result.stderr


def test_weights_share_the_error_level_of_the_run(tmp_path: Path) -> None:
    """Shares are proportional to weights and add up to alpha over all suites, whatever ``-k`` selects."""
    light = "suite.row('{}', title='', kind='utility', claim=CLAIM, weight={})(lambda run: Outcome([]))\n"
    write_suite(tmp_path / "audits" / "one.py", light.format("a", 1), light.format("b", 2.5))
    write_suite(tmp_path / "audits" / "two.py", light.format("c", 0.5))
    _, report = run(tmp_path / "audits", "--alpha", 0.04, report=tmp_path / "r.json")
    alphas = {row["id"]: row["alpha"] for row in report["results"]}
    assert alphas == pytest.approx({"a": 0.01, "b": 0.025, "c": 0.005})
    _, selected = run(tmp_path / "audits", "--alpha", 0.04, "-k", "c", report=tmp_path / "r.json")
    assert [(row["id"], row["alpha"]) for row in selected["results"]] == [("c", alphas["c"])]
