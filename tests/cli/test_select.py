"""``-k`` selects as a Python expression over "the id contains this word" would."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.core.errors import InvalidParameterError
from dpaudit.run.commands import command_words, quoted
from dpaudit.run.select import exactly, selector
from tests.errors import raises

WORDS = ("alg1", "thm", "lemma-2", "/accounting")
IDS = ("alg1", "alg1/accounting", "thm-1", "lemma-2/accounting", "Alg10", "other")


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions one level deeper, with brackets and without."""
    pairs = st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join)
    return st.one_of(inner.map("not {}".format), inner.map("({})".format), pairs)


EXPRESSIONS = st.recursive(st.sampled_from(WORDS), combine, max_leaves=8)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(EXPRESSIONS, st.sampled_from(IDS))
def test_an_expression_means_what_python_says(text: str, name: str) -> None:
    """Precedence, grouping and negation agree with Python's own evaluation of the same expression."""
    assert selector(text)(name) is _evaluate(text, name)


def _evaluate(text: str, name: str) -> bool:
    """The expression with every word replaced by its truth value, evaluated by Python."""
    lowered = name.casefold()
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    known = ("and", "or", "not", "(", ")")
    return bool(eval(" ".join(t if t in known else str(t in lowered) for t in tokens)))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1).filter(str.strip))
def test_a_quoted_id_selects_itself(row_id: str) -> None:
    """Whatever an id is made of, the expression in ``reproduce`` matches it."""
    if row_id.strip("\"' "):
        assert selector(exactly(row_id))(row_id)


@pytest.mark.parametrize("row_id", ["LAP", "and", "a b", "it's", "(x)", "=", "a=b"])
def test_one_row_can_be_selected_alone(row_id: str) -> None:
    """``=ID`` selects the id, whatever its case, and none that only contains it."""
    matches = selector(exactly(row_id))
    assert matches(row_id)
    assert matches(row_id.lower())
    assert not any(matches(other) for other in (f"{row_id}/bad", f"x{row_id}", f"={row_id}"))
    assert selector(f"{exactly(row_id)} or other")("another")


@pytest.mark.parametrize("text", ["", "and", "a or", "(a", "a)", "not", "a b", "'a", "() or a", "a and or b"])
def test_a_broken_expression_is_refused(text: str) -> None:
    """No broken expression selects anything silently."""
    with raises(InvalidParameterError, code="E-SELECT-SYNTAX"):
        selector(text)


def test_words_match_whatever_the_case_and_keywords_can_be_quoted() -> None:
    """``-k`` ignores case; a quoted keyword is a word."""
    assert selector("ALG1")("alg1/accounting")
    assert selector('"and"')("hand")
    assert not selector("'a b'")("ab")


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=8), max_size=6))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_line_to_paste_gives_its_words_back(words: list[str]) -> None:
    """Whatever the words are; and none of them begins with a bare =, which zsh would take for a command."""
    line = quoted(words)
    assert command_words(line) == words
    assert " =" not in f" {line}" or any(" =" in f" {word}" for word in words if not word.startswith("="))
    assert quoted(["-k", "=SVT/1"]) == "-k '=SVT/1'"
