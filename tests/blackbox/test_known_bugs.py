"""A part of the gallery of known bugs: found without a hand-made pair, and no right twin accused."""

from __future__ import annotations

import pytest

from dpaudit import audit_library
from tests.blackbox.known_bugs import BUGS

#: The entries that a check finds in seconds. The others are in the gallery, and are not claimed to be found.
FOUND = (
    "bounds read from the data",
    "truncation without factor 2",
    "an exception on constant data",
    "one draw for all bins",
    "resize with factor 1",
    "codes in order of appearance",
    "a histogram with L1 sensitivity 1, replaced",
    "pairs in order",
)


@pytest.mark.parametrize("name", FOUND)
def test_a_known_bug_is_found_and_its_right_twin_is_not_accused(name: str) -> None:
    """By the declaration of the data alone."""
    wrong, right, claim, data = BUGS[name]
    assert audit_library({name: (wrong, claim, data)}, what_if=False, seconds=60).violations
    twin = audit_library({name: (right, claim, data)}, what_if=False, seconds=60, max_samples=3000)
    assert not twin.violations
    assert twin.exit_code == 0, twin
