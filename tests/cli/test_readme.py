"""Continuous integration runs the README's command, and its example gives the output that it shows."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from audits.classics.suite import suite
from dpaudit.report.markdown import BEGIN, END
from tests.cli.suites import invoke

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


SUITES = (ROOT / "docs" / "suites.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_the_function_example_prints_what_is_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The README's function, in a file as a reader would have it, gives the two verdicts that are shown."""
    [example] = blocks("python")
    file = tmp_path / "example.py"
    file.write_text(example, encoding="utf-8")
    runpy.run_path(str(file))
    shown = [line[4:] for line in README.splitlines() if re.match(r"    (verified|refuted)$", line)]
    assert len(shown) == 2
    assert capsys.readouterr().out.splitlines() == shown


def test_the_page_on_contextual_bandits_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Its example runs and prints the line below it."""
    page = (ROOT / "docs" / "contextual.md").read_text(encoding="utf-8")
    [example] = blocks("python", page)
    exec(compile(example, "contextual.md", "exec"), {})
    assert f"\n    {capsys.readouterr().out}" in page


def test_there_are_two_commands_and_ci_runs_the_second() -> None:
    """The first shell block has two lines; ``.ci/run`` takes the second one from there, to the letter."""
    first, second = blocks("sh")[0].splitlines()
    assert first.endswith("dpaudit run")
    assert second.endswith("-m pytest")
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    done = subprocess.run(
        [bash, str(ROOT / ".ci" / "run"), "--print"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{second}\n"
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_the_suite_example_gives_the_output_that_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The examples' rows, verdicts and bounds come out as printed, apart from the times."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audits").mkdir()
    shown = [line[4:] for line in SUITES.splitlines() if re.match(r"    ([✓✗]|    expected)", line)]
    assert len(shown) == 7
    parts = (shown[:2], shown[2:4], shown[4:5], shown[5:6], shown[6:])
    for example, lines, code in zip(blocks("python", SUITES), parts, (1, 0, 0, 0, 0), strict=True):
        (tmp_path / "audits" / "mine.py").write_text(example, encoding="utf-8")
        result = invoke("run", "audits/mine.py", "--jobs", 1)
        for line in lines:
            assert line in result.stdout
        assert result.exit_code == code
        assert "cell accounting:" not in result.stdout  # the declared accounting holds, as the page says
        assert invoke("verify", "dpaudit-report.json").exit_code == 0


def test_the_page_on_rows_is_one_suite_that_comes_out_as_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The examples of the page on rows, put together, run, are as expected, and verify; each is short."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audits").mkdir()
    examples = blocks("python", (ROOT / "docs" / "rows.md").read_text(encoding="utf-8"))
    (tmp_path / "audits" / "mine.py").write_text("\n\n".join(examples), encoding="utf-8")
    result = invoke("run", "audits/mine.py", "--jobs", 1)
    assert result.exit_code == 0, result.stdout
    assert "6 rows" in result.stdout
    assert invoke("verify", "dpaudit-report.json").exit_code == 0


@pytest.mark.parametrize("name", ["verdicts.md", "classics.md"])
def test_the_verdict_table_has_its_place(name: str) -> None:
    """Both markers are there once, in order, so that the table can be refreshed."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page.count(BEGIN) == page.count(END) == 1
    assert page.index(BEGIN) < page.index(END)


def test_the_table_of_the_classics_has_every_row() -> None:
    """Each row of the suite stands there once, with the mark of an expected verdict."""
    page = (ROOT / "docs" / "classics.md").read_text(encoding="utf-8")
    listed = [line.split("|")[2].strip() for line in page.splitlines() if line.startswith("| ✓")]
    assert sorted(listed) == sorted(row.id for row in suite.rows)
