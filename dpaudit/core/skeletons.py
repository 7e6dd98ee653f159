"""Find texts that look alike, with the skeletons of Unicode (UTS 39) for the letters that reports may hold.

A reader may mistake two names with the same skeleton for each other. The table is a small part of Unicode's:
only characters that look like Latin letters and digits in names.
"""

from __future__ import annotations

import re
import unicodedata

from dpaudit.kernel.kernel_t0 import hidden, legible

__all__ = ["is_readable", "skeleton"]

#: Letters of other scripts that look like Latin ones, in pairs: Cyrillic and Armenian.
_FOREIGN = str.maketrans(
    "АВЕЅІЈКМНОРСТХҮԌԚԜаеѕіјорсухһԁԛԝӏгпʼհոսօցզյ",
    "ABESIJKMHOPCTXYGQWaesijopcyxhdqwlrn'hnuogqj",
)

#: Greek letters that look like Latin ones, dashes, quotes, and ASCII characters that look like other letters.
_LIKE = str.maketrans(
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧνοıȷɡɑ‐‑‒–—−‘’`´1I|0",
    "ABEZHlKMNOPTYXvoijga------''''lllO",
)

#: Pairs of letters that look like one letter.
_PAIRS = {"rn": "m", "vv": "w"}

_FOREIGN_LETTERS = "\u0400-\u052f\u0531-\u058a\u10a0-\u10ff\u13a0-\u13fd\uab70-\uabbf"

#: A word that mixes Latin letters with Cyrillic, Armenian, Georgian or Cherokee ones.
_MIXED = re.compile(rf"[A-Za-z][^\W\d_]*[{_FOREIGN_LETTERS}]|[{_FOREIGN_LETTERS}][^\W\d_]*[A-Za-z]")
#: Joiners where Persian, the scripts of India, and pictures need them: after a letter or sign beyond Greek.
_JOINED = re.compile(r"(?<=[\u0590-\U0001faff])[\u200c\u200d](?=[\u0590-\U0001faff])")
_WORD = re.compile(r"[^\W\d_]+")


def skeleton(text: str) -> str:
    """Return the skeleton of a text. Two texts that a reader may confuse have the same skeleton."""
    plain = unicodedata.normalize("NFKD", text)
    seen = "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Cc") and c != "\u034f")
    found = seen.translate(_FOREIGN).translate(_LIKE)
    for pair, letter in _PAIRS.items():
        found = found.replace(pair, letter)
    return " ".join(found.split())


def is_readable(text: str) -> bool:
    """Return whether a text is empty, or visible and not easily mistaken for another text.

    A text is not readable if it has invisible characters or only blanks, if a word mixes scripts, or if it
    has words of Cyrillic or Armenian letters that all look like Latin ones and no other letters of the
    script. A joiner is allowed between letters of a script that needs it.
    """
    if text.isascii():
        return not text or legible(text)
    seen = _JOINED.sub("", text)
    if not legible(seen) or any(hidden(c) and c not in "\n\t" for c in seen) or _MIXED.search(text):
        return False
    foreign = [word for word in _WORD.findall(text) if re.search(f"[{_FOREIGN_LETTERS}]", word)]
    return not foreign or any(not word.translate(_FOREIGN).isascii() for word in foreign)
