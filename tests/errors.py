"""Assert errors by their class and code, never by their text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dpaudit.core.errors import code_of

__all__ = ["raises"]


@contextmanager
def raises(
    kind: type[BaseException], *, code: str, match: str | None = None
) -> Iterator[pytest.ExceptionInfo]:
    """Like ``pytest.raises``, for an error with this code. ``match`` is for values in the text only."""
    with pytest.raises(kind, match=match) as caught:
        yield caught
    assert code_of(caught.value) == code
