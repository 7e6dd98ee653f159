"""Reading a report file that somebody else wrote: strict JSON from a regular file of bounded size, where one
text can be read in one way only.

Refused are: what is no regular file (a pipe or a device may never end), more than ``MAX_BYTES``, a key that
stands twice in an object and an id that two rows have (two readers would take different ones), NaN and
infinities however they are written, decimals with digits that a float loses, numbers in other digits than 0
to 9, and ids that a reader may take for each other. ``read_report`` and ``verify`` read through this file
alone. ``verify`` also refuses texts that show nothing, and letters of another script that look Latin.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpaudit.core.errors import BrokenReportError
from dpaudit.core.skeletons import is_readable, skeleton

__all__ = [
    "MAX_BYTES",
    "parse_strict",
    "read_regular_file",
    "require_ascii_numbers",
    "require_clear_ids",
    "require_once",
    "require_readable",
]

#: Bytes of a report; all papers' own has 7 million, in the full profile 22. Reading takes some ten times as
#: much memory.
MAX_BYTES = 256 << 20

#: Fields of a result that hold data of a program, not words about it.
_DATA = frozenset({"body", "details", "plots", "traceback"})

#: Digits of an integer: the largest float has 309.
MAX_INTEGER = 300

#: Characters of an id.
MAX_ID = 200

#: Texts that look like numbers, in any script and with separators: they must be plain ASCII. Letters are
#: those of base 16 after 0x and of an exponent: "1-DP" is a title.
_NUMBER_LIKE = re.compile(
    r"[+-]?\s?(0[xX][\da-fA-F_.,]*([pP][+-]?[\d_]*)?|[\d_.][\d_.,/\s+-]*([eEpP][+-]?[\d_]*)?)"
)
_ASCII_NUMBER = re.compile(r"[+-]?[0-9a-fA-F.,/xXpP+ -]*[0-9a-fA-F.]", re.ASCII)


def read_regular_file(path: Path) -> str:
    """The text of a regular file (a symbolic link to one is followed). Raises ``BrokenReportError`` for
    anything else, for one above ``MAX_BYTES``, and for bytes that are not UTF-8."""
    try:
        # Without O_NONBLOCK, opening a pipe that nobody writes to waits for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BrokenReportError(
                    f"a report must be a readable file, got {path} (no regular file); name the report itself."
                )
            content = file.read(MAX_BYTES + 1)
    except OSError as error:  # a folder, too: the system refuses it with its own words
        raise BrokenReportError(
            f"a report must be a readable file, got {path} ({error.strerror}); check the path."
        ) from error
    if len(content) > MAX_BYTES:
        raise BrokenReportError(
            f"a report must have at most {MAX_BYTES >> 20} MiB, got more in {path}; split the run by suite."
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BrokenReportError(
            f"a report must be UTF-8 text, got {path} ({error.reason}); run the audit again."
        ) from error


def parse_strict(text: str) -> Any:
    """Parse JSON. Raises ``ValueError`` (``json.JSONDecodeError`` for bad syntax) for NaN and infinities,
    decimals with digits that a float loses, an integer of absurd length and a key that stands twice,
    ``RecursionError`` for absurd depth."""
    return json.loads(
        text,
        parse_constant=_refuse_constant,
        parse_float=_finite,
        parse_int=_whole,
        object_pairs_hook=_distinct_keys,
    )


def require_ascii_numbers(document: Any) -> None:
    """Raise ``BrokenReportError`` where a text that reads as a number has other digits than 0 to 9,
    underscores or spaces around it: ``int`` and ``Fraction`` take them, and a reader sees another number."""
    for text in dict.fromkeys(_texts(document)):  # names of fields stand in every row
        if _is_strange_number(text):
            raise BrokenReportError(
                f"a number must be written with the ASCII digits 0 to 9 alone, got {text[:60]!a}; the file "
                "was edited."
            )


def require_clear_ids(ids: Iterable[Any]) -> None:
    """Raise ``BrokenReportError`` where an id has a character that is not printable ASCII (one in another
    script may look the same), or two ids differ at most in the case of letters, or in letters that look
    alike."""
    seen: dict[str, str] = {}
    for name in ids:
        plain = isinstance(name, str) and name.isascii() and name.isprintable()
        if not plain or not 0 < len(name) <= MAX_ID or name != " ".join(name.split()):
            raise BrokenReportError(
                f"an id must be 1 to {MAX_ID} printable ASCII characters without spaces to spare, got "
                f"{str(name)[:60]!a}; rename the row."
            )
        # Keys of two kinds in one table, which a space at the end keeps apart.
        for other in (seen.setdefault(name.casefold(), name), seen.setdefault(skeleton(name) + " ", name)):
            if other != name:
                raise BrokenReportError(
                    "two ids must differ in more than case and letters that look alike, got "
                    f"{other!r} and {name!r}; rename one."
                )


def require_readable(document: Any) -> None:
    """Raise ``BrokenReportError`` where a text that is shown to a reader looks empty and is not, or holds
    letters of another script that look like Latin ones. What a program revealed may be any text."""
    for text in dict.fromkeys(_texts(document, without=_DATA)):
        if not is_readable(text):
            raise BrokenReportError(
                "a text must show something, in letters that look like no others, got "
                f"{text[:60]!a}; the file was edited."
            )


def require_once(ids: Iterable[str]) -> None:
    """Raise ``BrokenReportError`` where an id stands twice: two readers would take different rows."""
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise BrokenReportError(
                f"an id must stand once in a report, got {name!r} twice; the file was edited, run it again."
            )
        seen.add(name)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"the number {name}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]}, which is beyond the largest float")
    if repr(number) != text and Decimal(repr(number)) != Decimal(text):
        raise ValueError(f"the number {text[:40]}, which is read as {number!r}")
    return number


def _whole(text: str) -> int:
    """Read an integer that some float is near, so that whoever shows it or adds it up may use floats."""
    if len(text) > MAX_INTEGER:
        raise ValueError(f"the number {text[:40]}..., which has more than {MAX_INTEGER} digits")
    return int(text)


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        left = dict(pairs)
        twice = next(name for name, _ in pairs if left.pop(name, left) is left)
        raise ValueError(f"the key {twice[:60]!a} twice in one object")
    return found


def _texts(document: Any, *, without: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every text of a document, keys too, but those of the fields ``without``. There is no recursion, however
    deep it is."""
    waiting = [document]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(value for key, value in item.items() if key not in without)
        elif isinstance(item, list | tuple):
            waiting.extend(item)


def _is_strange_number(text: str) -> bool:
    # The pattern comes first: of nearly every text it refuses the first character.
    return (
        _NUMBER_LIKE.fullmatch(text.strip()) is not None
        and any(character.isdigit() for character in text)
        and _ASCII_NUMBER.fullmatch(text) is None
    )
