"""Every rule of the kernel, in every situation: what it certifies is never below the truth by enumeration."""

from __future__ import annotations

from typing import Any

import pytest

from dpaudit.core.errors import CertificateError
from dpaudit.kernel import check as kernel
from tests.kernel.enumeration import (
    composition_rules,
    local_rules,
    noise_rules,
    selection_rules,
    table_rules,
    view_rules,
)
from tests.kernel.enumeration.cases import GENERATORS, compare_all, stream
from tests.kernel.enumeration.data import SITUATIONS, Situation
from tests.kernel.enumeration.test_noise_distributions import DISTRIBUTION_RULES

#: Importing them registers their generators.
MODULES = (composition_rules, local_rules, noise_rules, selection_rules, table_rules, view_rules)


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_bound_is_at_least_the_truth(name: str, situation: Situation) -> None:
    """For random small mechanisms the rule refuses the situation, or its bound is at least the truth on all
    neighbours that keep the listed assumptions; where it is sound it does not refuse them all.
    """
    shares = compare_all(name, situation)
    if GENERATORS[name].holds(situation):
        assert shares


@pytest.mark.parametrize("name", sorted(name for name, g in GENERATORS.items() if g.close))
def test_the_truth_comes_close_to_the_bound(name: str) -> None:
    """The oracle sees the loss that there is: on pairs that keep every premise, some case of the first sound
    situation comes near to its bound, and none exceeds it.
    """
    generator = GENERATORS[name]
    situation = next(situation for situation in SITUATIONS if generator.holds(situation))
    assert max(compare_all(name, situation, all_kept=True)) >= generator.close


def test_every_rule_is_enumerated() -> None:
    """A rule without a test by enumeration fails here: add a generator for it."""
    covered = {name.partition(":")[0] for name in GENERATORS} | set(DISTRIBUTION_RULES)
    assert covered == set(kernel.known_rules())


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_generators_use_their_rule(name: str) -> None:
    """A generator's proof has the rule that it is registered for somewhere in its tree."""
    situation = next(filter(GENERATORS[name].holds, SITUATIONS), SITUATIONS[0])
    case = GENERATORS[name].make(stream(name, "tree"), situation)
    rule = name.partition(":")[0]
    try:
        used = _rules(case.proof().to_json())
    except CertificateError as error:  # a combination that is never sound: the rule itself refuses it
        used = {str(error).partition(":")[0]}
    assert rule in used


def _rules(tree: dict[str, Any]) -> set[str]:
    return {tree["rule"]}.union(*(_rules(premise) for premise in tree["premises"]))
