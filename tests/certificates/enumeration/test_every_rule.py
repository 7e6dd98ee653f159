"""Every rule of the kernel, in every situation: what it certifies is never below the truth by enumeration."""

from __future__ import annotations

import pytest

from dpaudit.kernel import check as kernel
from tests.certificates.enumeration import (
    composition_rules,
    local_rules,
    noise_rules,
    selection_rules,
    view_rules,
)
from tests.certificates.enumeration.cases import GENERATORS, compare_all
from tests.certificates.enumeration.data import SITUATIONS, Situation

MODULES = (composition_rules, local_rules, noise_rules, selection_rules, view_rules)


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_bound_is_at_least_the_truth(name: str, situation: Situation) -> None:
    """For random small mechanisms the rule refuses the situation, or its bound is at least the truth on all
    neighbours that keep the listed assumptions; where it is sound it does not refuse them all.
    """
    shares = compare_all(name, situation)
    if GENERATORS[name].holds(situation):
        assert shares
