"""A row's docstring is split into title, text and notes."""

from __future__ import annotations

from dpaudit.core.errors import InvalidParameterError
from dpaudit.suite.words import words_of
from tests.errors import raises


def glued() -> None:
    """The title, on
    two lines

    What it does: a Note: inside a line is text.

    Refuted: the first reason,
    on two lines
    Note: the second note
    Note: the third one,
      indented
    Proof: by induction

    More text
    Note: right below it
    """


def test_each_note_at_a_lines_beginning_is_its_own() -> None:
    """With and without a blank line before it; inside a line the word is text."""
    words = words_of(glued, {}, id="x")
    assert words.title == "The title, on two lines"
    assert words.about == "What it does: a Note: inside a line is text.\n\nMore text"
    assert words.notes == (
        "the first reason, on two lines",
        "the second note",
        "the third one, indented",
        "proof: by induction",
        "right below it",
    )


def test_a_row_without_a_docstring_is_refused() -> None:
    """The title has to come from somewhere."""
    with raises(InvalidParameterError, code="E-ROW-NO-DOCSTRING", match="x: "):
        words_of(lambda: None, {}, id="x")
