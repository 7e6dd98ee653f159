"""Which rows to run: the expressions of ``-k``, as pytest has them.

A word matches an id that contains it, whatever the case; ``=LAP`` (or ``"=LAP"``) matches the id LAP alone.
``and``, ``or``, ``not`` and parentheses combine. A word with spaces or parentheses in it goes in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dpaudit.core.errors import InvalidParameterError

__all__ = ["Matches", "exactly", "selector"]

_TOKEN = re.compile(r"""\s*(?:(?P<mark>[()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+))""")
_KEYWORDS = ("and", "or", "not")

Matches = Callable[[str], bool]


def selector(expression: str) -> Matches:
    """Return the function that says whether an id is selected.

    Raises ``InvalidParameterError`` for a broken expression.
    """
    if not expression.strip():
        raise InvalidParameterError(
            "-k must name at least one word, got an empty expression; leave it out to run every row."
        )
    reader = _Reader(expression)
    matches = reader.either()
    if reader.next is not None:
        raise reader.broken()
    return matches


def exactly(row_id: str) -> str:
    """The expression that selects ``row_id`` and no other, quoted only where it must be; for an id with
    quotes of both kinds one that selects it by its parts."""
    word = f"={row_id}"
    if re.fullmatch(r"""[^\s()"']+""", word):
        return word
    if '"' not in word:
        return f'"{word}"'
    if "'" not in word:
        return f"'{word}'"
    return " and ".join(f'"{part}"' for part in map(_plain, row_id.split('"')) if part)


def _plain(part: str) -> str:
    """A part of an id without the sign that would make it a whole one."""
    return part.lstrip("=")


class _Reader:
    """Recursive descent: either := both ("or" both)*; both := one ("and" one)*; one := "not" one | "(" either
    ")" | word.
    """

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens = self._split(expression)
        self.at = 0

    @property
    def next(self) -> tuple[str, bool] | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def either(self) -> Matches:
        options = [self.both()]
        while self._take("or"):
            options.append(self.both())
        return lambda row_id: any(matches(row_id) for matches in options)

    def both(self) -> Matches:
        needs = [self.one()]
        while self._take("and"):
            needs.append(self.one())
        return lambda row_id: all(matches(row_id) for matches in needs)

    def one(self) -> Matches:
        if self._take("not"):
            inner = self.one()
            return lambda row_id: not inner(row_id)
        if self._take("("):
            inner = self.either()
            if not self._take(")"):
                raise self.broken()
            return inner
        token = self.next
        if token is None or (not token[1] and token[0] in (*_KEYWORDS, "(", ")")):
            raise self.broken()
        self.at += 1
        word = token[0].casefold()
        if word.startswith("="):
            return lambda row_id: word[1:] == row_id.casefold()
        return lambda row_id: word in row_id.casefold()

    def broken(self) -> InvalidParameterError:
        place = "its end" if self.next is None else repr(self.next[0])
        return InvalidParameterError(
            "-k must combine words with and, or, not and parentheses, "
            f"got {self.expression!r} (trouble at {place}); quote a word with spaces."
        )

    def _take(self, keyword: str) -> bool:
        if self.next == (keyword, False):
            self.at += 1
            return True
        return False

    def _split(self, expression: str) -> list[tuple[str, bool]]:
        """Tokens, each with whether it was quoted (a quoted ``and`` is a word)."""
        tokens: list[tuple[str, bool]] = []
        at, text = 0, expression.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise InvalidParameterError(
                    f"-k must close its quotes, got {expression!r}; add the missing quote."
                )
            quoted = match["double"] if match["double"] is not None else match["single"]
            tokens.append((quoted, True) if quoted is not None else (match["mark"] or match["word"], False))
            at = match.end()
        return tokens
