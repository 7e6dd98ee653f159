"""A claim's headline says all that is unusual about it: no verdict is read as one about another claim."""

from __future__ import annotations

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.views import SERVER


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "(one record replaced; the adversary sees the output)"),
        ({"unit": "user"}, "all records of one user replaced"),
        ({"adjacency": "zero-out"}, "one record replaced by the null record"),
        ({"view": SERVER}, "the adversary sees what server sees"),
        ({"adversary": "adaptive"}, "the data are chosen adaptively"),
        ({"participation": "half of all users"}, "participation: half of all users"),
        ({"model": "as_run"}, "the program in floating point"),
    ],
)
def test_each_field_that_is_not_the_default_is_said(options: dict[str, object], words: str) -> None:
    """Two claims with different settings have different headlines."""
    claim = PureDP(epsilon=1, **options)  # type: ignore[arg-type]
    assert words in claim.in_words()
    assert not options or claim.in_words() != PureDP(epsilon=1).in_words()
