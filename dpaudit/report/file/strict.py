"""Read a report file from an untrusted source: strict JSON that can be read in one way only.

The file must be a regular file of bounded size. Rejected are other files (a pipe or a device may never end),
more than ``MAX_BYTES``, a key that occurs twice in an object and an id of two rows (two readers would use
different ones), NaN and infinities in any notation, decimals with digits that a float loses, numbers with
other digits than 0 to 9, and ids that look alike. ``read_report`` and ``verify`` read reports only through
this module. ``verify`` also rejects texts that look empty, and letters of another script that look Latin.
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

#: Largest size of a report in bytes. The report of all papers has 7 million, and 22 million in the full
#: profile. Reading takes about ten times as much memory.
MAX_BYTES = 256 << 20

#: Fields of a result that hold data of a program, not text about it.
_DATA = frozenset({"body", "details", "plots", "traceback"})

#: Largest number of digits of an integer. The largest float has 309.
MAX_INTEGER = 300

#: Largest number of characters of an id.
MAX_ID = 200

#: Texts that look like numbers, in any script and with separators. They must be plain ASCII. Letters occur
#: only as hexadecimal digits after 0x and in exponents, because "1-DP" is a title.
_NUMBER_LIKE = re.compile(
    r"[+-]?\s?(0[xX][\da-fA-F_.,]*([pP][+-]?[\d_]*)?|[\d_.][\d_.,/\s+-]*([eEpP][+-]?[\d_]*)?)"
)
_ASCII_NUMBER = re.compile(r"[+-]?[0-9a-fA-F.,/xXpP+ -]*[0-9a-fA-F.]", re.ASCII)


def read_regular_file(path: Path) -> str:
    """Return the text of a regular file, or of the regular file that a symbolic link points to.

    Raises ``BrokenReportError`` for anything else, for a file above ``MAX_BYTES``, and for bytes that are not
    UTF-8.
    """
    try:
        # Without O_NONBLOCK, opening a pipe without a writer waits for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BrokenReportError(
                    f"a report must be a readable file, got {path} (not a regular file).",
                    code="E-REPORT-READ",
                )
            content = file.read(MAX_BYTES + 1)
    except OSError as error:  # also for a folder, with the message of the system
        raise BrokenReportError(
            f"a report must be a readable file, got {path} ({error.strerror}).", code="E-REPORT-READ"
        ) from error
    if len(content) > MAX_BYTES:
        raise BrokenReportError(
            f"a report must have at most {MAX_BYTES >> 20} MiB, got more in {path}. Split the run by suite.",
            code="E-REPORT-SIZE",
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BrokenReportError(
            f"a report must be UTF-8 text, got {path} ({error.reason}).", code="E-REPORT-ENCODING"
        ) from error


def parse_strict(text: str) -> Any:
    """Parse JSON strictly.

    Raises ``ValueError`` (``json.JSONDecodeError`` for bad syntax) for NaN and infinities, decimals with
    digits that a float loses, an integer with more than ``MAX_INTEGER`` digits, and a key that occurs twice.
    Raises ``RecursionError`` for excessive depth.
    """
    return json.loads(
        text,
        parse_constant=_refuse_constant,
        parse_float=_finite,
        parse_int=_whole,
        object_pairs_hook=_distinct_keys,
    )


def require_ascii_numbers(document: Any) -> None:
    """Raise ``BrokenReportError`` if a text that reads as a number is not plain ASCII.

    ``int`` and ``Fraction`` accept digits of other scripts, underscores and surrounding spaces, and a human
    reader may see another number.
    """
    for text in dict.fromkeys(_texts(document)):  # each text once, because field names repeat
        if _is_strange_number(text):
            raise BrokenReportError(
                f"a number must be written with the ASCII digits 0 to 9 only, got {text[:60]!a}.",
                code="E-REPORT-DIGITS",
            )


def require_clear_ids(ids: Iterable[Any]) -> None:
    """Raise ``BrokenReportError`` for ids that may be confused.

    An id must be printable ASCII, because characters of other scripts may look the same. Two ids must differ
    in more than case and letters that look alike.
    """
    seen: dict[str, str] = {}
    for name in ids:
        plain = isinstance(name, str) and name.isascii() and name.isprintable()
        if not plain or not 0 < len(name) <= MAX_ID or name != " ".join(name.split()):
            raise BrokenReportError(
                f"an id must be 1 to {MAX_ID} printable ASCII characters with single inner spaces only, got "
                f"{str(name)[:60]!a}.",
                code="E-ID-FORM",
            )
        # One table holds two kinds of keys. The space at the end of the second kind separates them.
        for other in (seen.setdefault(name.casefold(), name), seen.setdefault(skeleton(name) + " ", name)):
            if other != name:
                raise BrokenReportError(
                    "two ids must differ in more than case and letters that look alike, got "
                    f"{other!r} and {name!r}.",
                    code="E-ID-ALIKE",
                )


def require_readable(document: Any) -> None:
    """Raise ``BrokenReportError`` for a text that looks empty but is not, or has letters that look Latin.

    Data of a program may be any text.
    """
    for text in dict.fromkeys(_texts(document, without=_DATA)):
        if not is_readable(text):
            raise BrokenReportError(
                "a text must be visible and must not contain letters that look like Latin ones, got "
                f"{text[:60]!a}.",
                code="E-REPORT-LETTERS",
            )


def require_once(ids: Iterable[str]) -> None:
    """Raise ``BrokenReportError`` if an id occurs twice, because two readers would use different rows."""
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise BrokenReportError(
                f"an id must occur once in a report, got {name!r} twice.", code="E-ID-TWICE"
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
    """Read an integer within the range of floats, so that code may convert it to a float."""
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
    """Yield every text of a document, including keys, but not in the fields ``without``.

    This does not recurse, so the depth of the document does not matter.
    """
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
    # The pattern comes first because it fails at the first character of nearly every text.
    return (
        _NUMBER_LIKE.fullmatch(text.strip()) is not None
        and any(character.isdigit() for character in text)
        and _ASCII_NUMBER.fullmatch(text) is None
    )
