"""The check of the pages' types can fail."""

from __future__ import annotations

import pytest

from tests.docs.snippets import check, modules

pytest.importorskip("mypy", reason="an extra of developers; continuous integration runs the check itself")


def test_a_wrong_call_and_no_page_at_all_are_not_accepted() -> None:
    """A wrong keyword is named; without any module nothing was checked, which is no success."""
    accepted, told = check({"wrong": "import dpaudit\n\ndpaudit.PureDP(epsilon=1, adjacency='sideways')\n"})
    assert not accepted
    assert "page_wrong.py:3" in told
    assert not check({})[0]


@pytest.mark.slow
def test_a_right_call_is_accepted_and_there_are_pages() -> None:
    """The same call with a word that adjacency knows."""
    assert check({"right": "import dpaudit\n\ndpaudit.PureDP(epsilon=1, adjacency='add-remove')\n"})[0]
    assert {"readme", "check", "tutorial", "suites"} <= modules().keys()
