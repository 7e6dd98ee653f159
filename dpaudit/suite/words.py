"""Read a row's title, text and notes from the docstring of the function that computes it.

The first paragraph is the title. Paragraphs that begin with ``Note:`` (or ``Refuted:``, ``Proof:``) are notes
of the report. The others describe what the row does. Such a word at the start of a line begins a paragraph,
with or without a blank line before it. ``{name}`` is replaced by a fixed parameter of the row.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpaudit.core.errors import InvalidParameterError

__all__ = ["Words", "words_of"]

MARKS = ("Note:", "Refuted:", "Proof:")

#: The end of a line before a line that begins a note.
NEXT_NOTE = re.compile(rf"\n[ \t]*(?=(?:{'|'.join(MARKS)}))")


@dataclass(frozen=True)
class Words:
    """Title, text and notes of a row."""

    title: str
    about: str
    notes: tuple[str, ...]


def words_of(function: Callable[..., Any], fixed: Mapping[str, Any], *, id: str) -> Words:
    """Read the docstring of ``function``. Raises ``InvalidParameterError`` if there is none."""
    text = inspect.getdoc(function)
    if not text:
        raise InvalidParameterError(
            f"{id}: a row's function must have a docstring, whose first line is the title, got none.",
            code="E-ROW-NO-DOCSTRING",
        )
    paragraphs = [" ".join(part.split()) for part in _paragraphs(_filled(text, fixed))]
    notes = tuple(_note(part) for part in paragraphs[1:] if part.startswith(MARKS))
    about = "\n\n".join(part for part in paragraphs[1:] if not part.startswith(MARKS))
    return Words(title=paragraphs[0], about=about or paragraphs[0], notes=notes)


def _paragraphs(text: str) -> list[str]:
    """Split at blank lines and before lines that begin a note."""
    return [piece for part in re.split(r"\n\s*\n", text) for piece in NEXT_NOTE.split(part)]


def _note(text: str) -> str:
    mark, rest = text.split(":", 1)
    return f"proof:{rest}" if mark == "Proof" else rest.strip()


def _filled(text: str, fixed: Mapping[str, Any]) -> str:
    """Replace ``{name}`` in ``text`` for the names in ``fixed``. Other braces are mathematics."""
    return re.sub(
        r"\{(\w+)\}", lambda match: _shown(fixed[match[1]]) if match[1] in fixed else match[0], text
    )


def _shown(value: Any) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
