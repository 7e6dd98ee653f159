"""Select rows with the expressions of ``-k``, which have the syntax of pytest.

A word matches an id that contains it, in upper or lower case. ``=LAP`` (or ``"=LAP"``) matches only the id
LAP. Combine words with ``and``, ``or``, ``not`` and parentheses. Put a word with spaces or parentheses in
quotes.
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
    """Return the function that tests whether an expression selects an id.

    Raises ``InvalidParameterError`` for a broken expression.
    """
    if not expression.strip():
        raise InvalidParameterError(
            "-k must contain at least one word, got an empty expression. Omit -k to run every row.",
            code="E-SELECT-SYNTAX",
        )
    reader = _Reader(expression)
    matches = reader.either()
    if reader.next is not None:
        raise reader.broken()
    return matches


def exactly(row_id: str) -> str:
    """Return the expression that selects only ``row_id``, quoted only if necessary.

    For an id with both kinds of quotes, the expression selects all ids that contain its parts.
    """
    word = f"={row_id}"
    if re.fullmatch(r"""[^\s()"']+""", word):
        return word
    if '"' not in word:
        return f'"{word}"'
    if "'" not in word:
        return f"'{word}'"
    return " and ".join(f'"{part}"' for part in map(_plain, row_id.split('"')) if part)


def _plain(part: str) -> str:
    """Return a part of an id without leading ``=``, which would make it match only a whole id."""
    return part.lstrip("=")


class _Reader:
    """A recursive-descent parser of this grammar.

    either := both ("or" both)*
    both := one ("and" one)*
    one := "not" one | "(" either ")" | word
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
            f"got {self.expression!r} (error at {place}). Quote a word with spaces.",
            code="E-SELECT-SYNTAX",
        )

    def _take(self, keyword: str) -> bool:
        if self.next == (keyword, False):
            self.at += 1
            return True
        return False

    def _split(self, expression: str) -> list[tuple[str, bool]]:
        """Return the tokens, each with whether it was quoted (a quoted ``and`` is a word)."""
        tokens: list[tuple[str, bool]] = []
        at, text = 0, expression.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise InvalidParameterError(
                    f"-k must close its quotes, got {expression!r}.", code="E-SELECT-SYNTAX"
                )
            quoted = match["double"] if match["double"] is not None else match["single"]
            tokens.append((quoted, True) if quoted is not None else (match["mark"] or match["word"], False))
            at = match.end()
        return tokens
