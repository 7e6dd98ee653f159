"""``dpaudit verify --suite``: the rows of a report run again, on the same sources, with the same evidence."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.suites import REFUTED, UNEXPECTED, VERIFIED, invoke, run, write_suite

SAMPLED = """
@suite.row("sampled", title="depends on seed and error level", kind="utility", claim=CLAIM)
def sampled(run):
    return Outcome([exactly(0.25, 0.5 + run.rng().random() / 4 + run.alpha / 100)])
"""

STUBBORN = """
@suite.row("time", title="depends on the time", kind="utility", claim=CLAIM)
def at(run):
    return Outcome([exactly(0.25, 0.5 + time.time_ns() % 10**9 / 10**10)])
"""


def test_an_honest_report_is_confirmed_row_by_row(tmp_path: Path) -> None:
    """Same sources, same seed: every row has the same evidence, also from a run of several suites and with
    another number of workers."""
    first = write_suite(tmp_path / "audits" / "first.py", SAMPLED, VERIFIED)
    write_suite(tmp_path / "audits" / "second.py", REFUTED)
    report = tmp_path / "report.json"
    run(tmp_path, "--seed", 5, report=report)
    result = invoke("verify", "-v", report, "--suite", first, "--jobs", 2)
    assert result.exit_code == 1  # a suite of the report was not named
    assert "second.py suite: its rows were not run again" in result.output
    assert result.output.count("run again: the same evidence") == 2
    whole = invoke("verify", "-v", report, "--suite", tmp_path / "audits", "--jobs", 1)
    assert whole.exit_code == 0
    assert whole.output.count("run again: the same evidence") == 3


def test_evidence_that_the_program_does_not_give_is_not_confirmed(tmp_path: Path) -> None:
    """A report with one bound of an estimate changed: the file alone is consistent, the program disagrees."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", VERIFIED, REFUTED)
    file = tmp_path / "report.json"
    _, report = run(suite, report=file)
    changed = report["results"][0]
    changed["evidence"][0]["upper"] = changed["upper"] = 0.75
    changed["upper_exact"] = "3/4"
    changed["slack"] = 4 / 3
    file.write_text(json.dumps(report), encoding="utf-8")
    assert invoke("verify", "-v", file).exit_code == 0
    result = invoke("verify", "-v", file, "--suite", suite)
    assert result.exit_code == 1
    assert "fine run again: different evidence, slack, upper, upper_exact" in " ".join(result.output.split())
    assert result.output.count("run again: the same evidence") == 1


def test_a_row_that_does_not_repeat_itself_is_not_confirmed(tmp_path: Path) -> None:
    """A row that looks at the clock."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", STUBBORN)
    file = tmp_path / "report.json"
    run(suite, report=file)
    result = invoke("verify", "-v", file, "--suite", suite)
    assert result.exit_code == 1
    assert "time run again: different" in result.output


def test_other_sources_are_an_error_before_anything_runs(tmp_path: Path) -> None:
    """The suite was changed after the report: exit code 2, and no row runs."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", VERIFIED)
    file = tmp_path / "report.json"
    run(suite, report=file)
    marks = (tmp_path / "audits" / "fine.ran").read_text()
    write_suite(suite, VERIFIED, "# changed\n")
    result = invoke("verify", "-v", file, "--suite", suite)
    assert result.exit_code == 2
    assert "the report was not made from" in " ".join(result.stderr.split())
    assert (tmp_path / "audits" / "fine.ran").read_text() == marks


def test_a_changed_suite_among_others_is_a_finding(tmp_path: Path) -> None:
    """One suite is the report's, the other is not: the first is run, the second is named."""
    write_suite(tmp_path / "audits" / "first.py", VERIFIED)
    second = write_suite(tmp_path / "audits" / "second.py", REFUTED)
    file = tmp_path / "report.json"
    run(tmp_path, report=file)
    write_suite(second, REFUTED, UNEXPECTED)
    result = invoke("verify", "-v", file, "--suite", tmp_path / "audits")
    assert result.exit_code == 1
    assert "differs from all sources" in " ".join(result.output.split())
    assert result.output.count("run again: the same evidence") == 1


def test_a_partial_report_lacks_rows(tmp_path: Path) -> None:
    """A report of -k: the rows that it left out are one finding, which names the first of them and -k; a row
    that the suite lacks is named by itself."""
    others = [
        VERIFIED.replace('"fine"', f'"other-{n}"').replace("def fine", f"def other_{n}") for n in range(7)
    ]
    suite = write_suite(tmp_path / "audits" / "tiny.py", VERIFIED, *others)
    file = tmp_path / "report.json"
    _, report = run(suite, "-k", "fine", report=file)
    result = invoke("verify", "-v", file, "--suite", suite)
    assert result.exit_code == 1
    assert (
        "the report was made with -k 'fine': 7 of the suite's rows are missing (other-0, other-1, other-2, "
        "other-3, other-4, ...)"
    ) in result.output
    assert "the suite has this row" not in result.output
    assert "1 not" in result.output
    assert result.output.count("run again: the same evidence") == 1
    report["results"].append(report["results"][0] | {"id": "fine-too"})
    file.write_text(json.dumps(report), encoding="utf-8")
    result = invoke("verify", "-v", file, "--suite", suite)
    assert result.exit_code == 1
    assert "the suite has no such row" in " ".join(result.output.split())


def test_a_row_that_the_selection_has_is_missed_by_name(tmp_path: Path) -> None:
    """A row taken out of a report of -k that selects it, and one out of a report without -k."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", VERIFIED, REFUTED)
    for options in ((), ("-k", "fine or false")):
        file = tmp_path / "report.json"
        _, report = run(suite, *options, report=file)
        report["results"] = report["results"][:1]
        file.write_text(json.dumps(report), encoding="utf-8")
        result = invoke("verify", "-v", file, "--suite", suite)
        assert result.exit_code == 1
        assert "false row: the suite has this row, but the report does not" in result.output


def test_a_difference_is_named(tmp_path: Path) -> None:
    """The first value that differs, by its path, and which setting of the command is another."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", STUBBORN)
    file = tmp_path / "report.json"
    _, report = run(suite, report=file)
    report["stamps"]["command"] = report["stamps"]["command"].replace("--seed 0", "--seed 3")
    file.write_text(json.dumps(report), encoding="utf-8")
    output = invoke("verify", "-v", file, "--suite", suite).output
    assert f"evidence[0].upper: {report['results'][0]['upper']} in the report, 0.5" in output
    assert "report command: its seed is 3, but the report has 0" in output
    assert "its profile" not in output


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    """A report without stamps is refused as one in which they are missing."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", VERIFIED)
    file = tmp_path / "report.json"
    _, report = run(suite, report=file)
    file.write_text(json.dumps({k: v for k, v in report.items() if k != "stamps"}), encoding="utf-8")
    result = invoke("verify", "-v", file)
    assert result.exit_code == 2
    assert "the field 'stamps' is missing" in result.stderr


def test_an_edited_claim_is_named_by_its_field(tmp_path: Path) -> None:
    """Not the two claims as a whole."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", VERIFIED)
    file = tmp_path / "report.json"
    _, report = run(suite, report=file)
    report["results"][0]["claim"]["in_words"] = "no error at all"
    file.write_text(json.dumps(report), encoding="utf-8")
    output = invoke("verify", "-v", file).output
    assert "claim.in_words: 'no error at all' shown, 'the error is at most 1" in output
    assert "'claimed'" not in output


def test_what_a_reader_is_shown_of_a_row_is_compared_too(tmp_path: Path) -> None:
    """A title that promises more, and a note that was added: the evidence is untouched."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", VERIFIED, REFUTED)
    file = tmp_path / "report.json"
    _, report = run(suite, report=file)
    report["results"][0]["title"] = "ten times as good"
    report["results"][1]["notes"] = ["a typing error of the paper"]
    file.write_text(json.dumps(report), encoding="utf-8")
    assert invoke("verify", "-v", file).exit_code == 0
    result = invoke("verify", "-v", file, "--suite", suite)
    output = " ".join(result.output.split())
    assert result.exit_code == 1
    assert "run again: different title" in output
    assert "run again: different notes" in output


def test_error_levels_above_the_runs_are_not_confirmed(tmp_path: Path) -> None:
    """Rows share the level of the run: one that takes more for itself was edited, and needs no program to
    tell."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", VERIFIED, REFUTED)
    file = tmp_path / "report.json"
    _, report = run(suite, report=file)
    assert sum(result["alpha"] for result in report["results"]) <= report["alpha"]
    assert invoke("verify", "-v", file).exit_code == 0
    report["results"][0]["alpha"] = 0.5
    file.write_text(json.dumps(report), encoding="utf-8")
    result = invoke("verify", "-v", file)
    assert result.exit_code == 1
    assert "must sum to at most the level of the run, 0.05" in " ".join(result.output.split())


def test_a_row_of_a_suite_that_the_report_does_not_list_is_named(tmp_path: Path) -> None:
    """It is no row of a suite that was left out: there is no such suite."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", VERIFIED)
    file = tmp_path / "report.json"
    _, report = run(suite, report=file)
    invented = report["results"][0] | {"id": "invented", "suite": "audits/other.py", "alpha": 1e-9}
    report["results"][0]["alpha"] -= 1e-6
    report["results"].append(invented)
    file.write_text(json.dumps(report), encoding="utf-8")
    result = invoke("verify", "-v", file, "--suite", suite)
    assert result.exit_code == 1
    assert "does not list its suite, audits/other.py" in " ".join(result.output.split())
