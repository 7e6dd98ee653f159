"""Test the derived accounting of affected releases and costs against other counts of the same tree."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.distributions import Laplace
from dpaudit.prover import EVERY, EachMoves, OneReplaced, RefusedError, Symbols
from dpaudit.prover.affected import Derived, derived_accounting, undeclared
from dpaudit.reference.mechanisms.concurrent_tree import Tree
from dpaudit.reference.mechanisms.counter_programs import concurrent_batches, tree_counter
from dpaudit.reference.mechanisms.hybrid_charges import charge_at
from dpaudit.reference.mechanisms.online_learning_programs import follow_noisy_leader, hybrid_counter
from dpaudit.reference.mechanisms.tree_counter import touched_nodes
from tests.errors import raises

UNIT = Laplace(scale=1)


def of(program: Any, n: int, *, width: int | None = None) -> Derived:
    return derived_accounting(program, data=Symbols(n, low=0, high=1, width=width), adjacency=OneReplaced())


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_tree_touches_what_is_counted_from_its_leaves(levels: int) -> None:
    """A tree counter has levels + 1 affected nodes, as the count from its leaves."""
    counted = max(len(touched_nodes(leaf, levels=levels)) for leaf in range(1, 2**levels + 1))
    found = of(tree_counter(levels=levels, noise=UNIT), 2**levels)
    assert found.sites["node"].touches == counted == levels + 1
    assert found.total == counted


@pytest.mark.parametrize("r", [1, 2, 3])
def test_a_printed_hybrid_counter_charges_what_the_paper_row_counts(r: int) -> None:
    """The block of 2^r costs (1 + 1/(2r)) epsilon, as the count over pulls."""
    found = of(hybrid_counter(array=2, node=2), 2 ** (r + 1) - 1)
    here = found.sites[f"node-{r}"].cost + found.sites["array"].cost
    assert here == charge_at(r) == 1 + Fraction(1, 2 * r)


@pytest.mark.parametrize("sizes", [(2,), (2, 4), (2, 4, 8)])
def test_a_user_is_in_one_batch_of_every_height(sizes: tuple[int, ...]) -> None:
    """A user affects as many batches as there are nodes above her in the schedule's tree."""
    tree = Tree(horizon=16, sizes=sizes, length=16, budget_parts=len(sizes))
    above = max(len(tree.above(user)) for user in range(1, 17))
    assert of(concurrent_batches(sizes=sizes, noise=UNIT), 16).sites["batch"].touches == above


def differences(coins: Any, data: Any) -> None:
    coins.release(2 * data[0] - data[1], UNIT, site="weighted")
    coins.release(data[1], Laplace(scale=2), site="plain")


def test_the_largest_change_is_that_of_the_corners() -> None:
    """The sensitivity 3 and the total 3 + 1/2 agree with an enumeration of the corners."""
    found = derived_accounting(differences, data=Symbols(2), adjacency=EachMoves())
    moves = list(product((-1, 0, 1), repeat=2))
    assert found.sites["weighted"].sensitivity == max(abs(2 * a - b) for a, b in moves) == 3
    assert found.total == max(abs(2 * a - b) + Fraction(abs(b), 2) for a, b in moves)


def test_a_declared_accounting_is_compared_with_the_derived_one() -> None:
    """Too few affected releases, a total too small and an undeclared site are reported."""
    found = of(concurrent_batches(sizes=(1, 2), noise=UNIT), 2)
    once = laplace_mechanism(sensitivity=1, scale=1)
    assert not undeclared(found, [Site("batch", touches=2, total=2)])
    assert "declared 1" in undeclared(found, [Site("batch", mechanism=once, total=2)])[0]
    assert "costs 2" in undeclared(found, [Site("batch", touches=2, total=1)])[0]
    assert "undeclared site 'batch'" in undeclared(found, [Site("other", total=1)])[0]


def shows_a_record(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="bare")


def test_what_hidden_decisions_lead_to_is_refused() -> None:
    """Noisy maxima, values without noise and data of every size are refused."""
    for program, width in ((follow_noisy_leader(actions=2, scale=1), 2), (shows_a_record, None)):
        with raises(RefusedError, code="E-SITES-NOT-PUBLIC"):
            of(program, 3, width=width)
    with raises(RefusedError, code="E-SIZE-NOT-FIXED"):
        derived_accounting(differences, data=Symbols(EVERY), adjacency=EachMoves())
