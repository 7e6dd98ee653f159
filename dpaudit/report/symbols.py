"""Find the symbols of a suite that a row uses, with the meaning that they have at the row's place.

A letter may mean different things in different parts of a paper. The key ``γ (R, 126)`` of a suite's symbols
is the letter γ for the rows whose source names a statement of appendix R or the equation (126). There it
replaces the key ``γ``. What a source quotes after a colon or "from" is no place of the row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

__all__ = ["name_of", "symbols_in"]

_PLACED = re.compile(r"(?P<name>\S(?:.*\S)?) \((?P<places>[^()]+)\)")
_QUOTED = re.compile(r":|\bfrom\b")


def name_of(key: str) -> str:
    """Return the symbol of a key: ``γ`` for ``γ (R, 126)``, and ``P(n, k)`` for itself."""
    found = _PLACED.fullmatch(key)
    return found["name"] if found else key


def symbols_in(symbols: Mapping[str, str], *, text: str, source: str) -> Iterator[tuple[str, str]]:
    """Yield the symbols that occur in the text of a row with this source, in the suite's order.

    A symbol is yielded with its key, so that the reader sees for which places its meaning holds.
    """
    placed = {name_of(key) for key in symbols if name_of(key) != key and _holds_at(key, source)}
    for key, meaning in symbols.items():
        name = name_of(key)
        holds = name not in placed if name == key else _holds_at(key, source)
        if holds and _occurs(name, text):
            yield key, meaning


def _holds_at(key: str, source: str) -> bool:
    """Return whether the source names one of the places of a key."""
    found = _PLACED.fullmatch(key)
    own = _QUOTED.split(source)[0]
    return found is not None and any(
        re.search(_place(place.strip()), own) for place in found["places"].split(",")
    )


def _place(place: str) -> str:
    """Return a pattern for a place: an appendix by its letter, or any other number as it is written."""
    text = re.escape(place)
    if re.fullmatch(r"[A-Z]", place):
        return rf"\b(?:[Aa]ppendix|Appendices|App\.|and) {text}\b|(?<![\w.]){text}\.\d"
    return rf"(?<![\w.]){text}(?!\d)"


def _occurs(name: str, text: str) -> bool:
    """Return whether a symbol occurs in a text. A term may start a sentence, but a letter keeps its case."""
    flags = re.IGNORECASE if " " in name else 0
    return re.search(rf"(?<![\w*]){re.escape(name)}(?![\w*])", text, flags) is not None
