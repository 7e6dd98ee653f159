"""Texts that a reader may take for others, and limits that the pages state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dpaudit
from dpaudit.core.errors import BrokenReportError
from dpaudit.core.skeletons import is_readable, skeleton
from dpaudit.report.axis import Scale
from dpaudit.report.file.strict import MAX_BYTES, parse_strict, require_clear_ids
from dpaudit.run.commands import RunCommand, read_command

PAGE = Path(dpaudit.__file__).parents[1] / "docs" / "verify.md"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("row-1", "row-l"),
        ("row-I", "row-l"),
        ("row-0", "row-O"),
        ("modem", "modern"),
        ("a`b", "a'b"),
        ("a", "A"),
    ],
)
def test_ids_that_look_alike_are_refused(one: str, two: str) -> None:
    """In either order; each alone is an id."""
    require_clear_ids([one, "other"])
    for pair in ([one, two], [two, one]):
        with pytest.raises(BrokenReportError, match="two ids"):
            require_clear_ids(pair)


def test_ids_that_differ_are_taken() -> None:
    """Numbers, Roman numerals and words of one paper."""
    require_clear_ids(["Thm 1", "Thm 2", "Thm 10", "Thm 20", "Lemma II", "Lemma III", "lap", "LAP/repaired"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ε-DP",
        "Δf = 1",
        "σ² of Nₙ",
        "Теорема 1",
        "с вероятностью 1",
        "naïve",
        "定理",
        "a–b",
        "+",
        "DP-механизм",
    ],
)
def test_honest_texts_are_readable(text: str) -> None:
    """Greek beside Latin letters, and whole texts in another script."""
    assert is_readable(text)


@pytest.mark.parametrize("text", [" ", "\t\n", "\u200b", "\u3164", "\u2800", "рroved", "сору", "one ѕum"])
def test_texts_that_show_nothing_or_another_are_not(text: str) -> None:
    """Blank, invisible, of mixed scripts, or of look-alikes alone."""
    assert not is_readable(text)


def test_skeletons() -> None:
    """Cyrillic, Greek and full-width letters, dashes and invisible characters."""
    assert {skeleton(text) for text in ("AX-1", "АХ–l", "ΑΧ−I", "\uff21X\u200b-1")} == {skeleton("AX-1")}


def test_commands_are_read_in_the_form_in_which_they_are_written() -> None:
    """Each setting there and back; its paths must name suites, and all of them."""
    row = RunCommand(paths=("audits", "my suite.py"), seed=7, profile="full", alpha=0.01).of_row("x (1)")
    for command in (row, RunCommand(paths=("papers",), require="proved", select="a and not b")):
        assert read_command(command.text) == command
    assert not row.strangers(["audits/a.py", "audits/deep/b.py", "my suite.py"])
    assert row.strangers(["audits/a.py"]) == ["my suite.py"]
    assert row.strangers(["audits/a.py", "my suite.py", "c.py"]) == ["c.py"]
    assert RunCommand(paths=("aud",)).strangers(["audits/a.py"]) == ["aud", "audits/a.py"]
    assert not RunCommand(paths=(".",)).strangers(["a.py", "b/c.py"])
    assert RunCommand(paths=(".",)).strangers(["/a.py"])
    assert not RunCommand(paths=("papers:classics",)).strangers(["papers:classics/suite.py"])


def test_the_page_states_the_limit_of_the_code() -> None:
    """The size of a report, in MiB."""
    said = re.search(r"regular file of at most (\d+) MiB", PAGE.read_text(encoding="utf-8"))
    assert said is not None
    assert int(said[1]) << 20 == MAX_BYTES


def test_numbers_beyond_floats_are_refused() -> None:
    """Whoever adds up or shows the numbers of a report needs no other kind."""
    assert parse_strict("1" + "0" * 299) == 10**299
    with pytest.raises(ValueError, match="digits"):
        parse_strict("1" + "0" * 400)


@pytest.mark.parametrize("high", [5e-324, 1e-310, 1e-300, 1.0, 1.7976931348623157e308])
def test_an_axis_has_ticks_whatever_its_range(high: float) -> None:
    """Also for numbers that are nearly 0, or the largest float."""
    ticks = Scale(0.0, high, 0.0, 100.0).ticks()
    assert ticks
    assert all(0 <= tick <= high * (1 + 1e-9) for tick in ticks)
