"""The gallery of known bugs: what is found without a hand-made pair, and no right twin is accused."""

from __future__ import annotations

import pytest

from dpaudit import audit_library
from tests.blackbox.known_bugs import BUGS

#: The entries that are not found reliably within ten seconds. docs/audit_library.md says why.
MISSED = (
    "threshold without its own mass",
    "tree levels forgotten",
    "two measurements on one sample",
    "classical Gaussian beyond epsilon 1",
    "Gaussian without factor 2",
    "float32 sums",
)
#: The entries that are found in a few seconds on one core. The other found entries are tested as slow.
FAST = (
    "bounds read from the data",
    "truncation without factor 2",
    "an exception on constant data",
    "one draw for all bins",
    "resize with factor 1",
    "codes in order of appearance",
    "a histogram with L1 sensitivity 1, replaced",
    "pairs in order",
    "noise scaled by the deviation of the data",
    "a small count is suppressed before the noise",
    "whole noise on numbers that are not whole",
    "clipping at the largest record",
    "running sums with the change of one entry",
)
FOUND = [
    pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in BUGS if name not in MISSED
]


def test_the_gallery_has_forty_bugs_of_which_thirty_two_are_found() -> None:
    """Every name in the lists is an entry."""
    assert {*MISSED, *FAST} <= set(BUGS)
    assert len(BUGS) >= 40
    assert len(FOUND) >= 32


@pytest.mark.parametrize("name", FOUND)
def test_a_known_bug_is_found_and_its_right_twin_is_not_accused(name: str) -> None:
    """By the declaration of the data alone."""
    wrong, right, claim, data = BUGS[name]
    assert audit_library({name: (wrong, claim, data)}, what_if=False, seconds=60).violations
    twin = audit_library({name: (right, claim, data)}, what_if=False, seconds=60, max_samples=3000)
    assert not twin.violations
    assert twin.exit_code == 0, twin


@pytest.mark.slow
@pytest.mark.parametrize("name", MISSED)
def test_the_right_twin_of_a_bug_that_is_not_found_is_not_accused(name: str) -> None:
    """The twin is right, whether the bug is found or not."""
    _, right, claim, data = BUGS[name]
    twin = audit_library({name: (right, claim, data)}, what_if=False, seconds=60)
    assert not twin.violations
    assert twin.exit_code == 0, twin
