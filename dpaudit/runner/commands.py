"""Command lines as a report holds them: read with care, since whoever made the file wrote them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from dpaudit.errors import InvalidParameterError
from dpaudit.runner.select import Matches, selector

__all__ = ["MAX_COMMAND", "command_words", "file_for", "quoted", "selected_by"]

#: Characters of a command line. Splitting takes time that grows with the square of them.
MAX_COMMAND = 10_000


def command_words(text: str) -> list[str]:
    """The words of a command line. Raises ``ValueError`` for a broken one and for a longer one."""
    if len(text) > MAX_COMMAND:
        raise ValueError(f"a command line must have at most {MAX_COMMAND} characters, got {len(text)}")
    return shlex.split(text)


def quoted(words: Sequence[str]) -> str:
    """The words as a line for a shell, zsh too, which takes a bare ``=word`` for the path of a command."""
    safe = [shlex.quote(word) for word in words]
    return " ".join(f"'{word}'" if word.startswith("=") else word for word in safe)


def selected_by(words: list[str]) -> tuple[str, Matches] | None:
    """The expression after the last ``-k`` among the words, and which ids it selects; ``None`` without one.
    Raises ``ValueError`` for a broken expression."""
    places = [place for place, word in enumerate(words[:-1]) if word == "-k"]
    if not places:
        return None
    expression = words[places[-1] + 1]
    try:
        return expression, selector(expression)
    except (InvalidParameterError, RecursionError) as error:
        raise ValueError(f"-k {expression[:60]!r} is no expression") from error


def file_for(row_id: str) -> str:
    """A file name for the report of one row: letters, digits, points and dashes of its id."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", row_id)[:80].strip("-._") or "row") + ".json"
