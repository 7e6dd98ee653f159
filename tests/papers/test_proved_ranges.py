"""The ranges on which rows are proved: the roundings of the programs lie in them, and beside them the claims
are false."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from audits.distributed_mab.rows import aggregate_divergences, errors, regret_orderings
from audits.private_online_learning.rows import lemma_11, lemma_12, lemma_13, lower_bound, theorem_7
from dpaudit import prove_inequality
from dpaudit.certify.ranges import Range
from dpaudit.core.exact_functions import ceil_root, ln
from dpaudit.kernel.ball import ball, integer
from dpaudit.suite import integers, on, reals

POSITIVE, HALF = reals(0, None, "()"), reals("1/2", 1, "[)")
GAP = reals(0, 1, "(]")
second_branch = partial(aggregate_divergences.second_branch, words="")

BESIDE: dict[str, tuple[Callable[..., Any], Range]] = {
    "g below sε sqrt n": (
        partial(second_branch, power=1),
        on(epsilon=POSITIVE, excess=HALF),
    ),
    "the printed branch for ε < 1": (
        partial(second_branch, power=2),
        on(epsilon=HALF, excess=reals(1, None)),
    ),
    "δ above 1/e": (
        regret_orderings.earlier_work,
        on(log2_T=integers(1, None), n_arms=integers(1, None), epsilon=POSITIVE, level=HALF),
    ),
    "p above 1/2": (errors.rounding_rate, on(level=HALF, excess=reals(1, None))),
    "radius below the critical level": (lemma_11.radius, on(ratio=POSITIVE, times=HALF)),
    "the mean below the critical level": (
        lemma_12._of_mean.sides,
        on(y=reals(256, None), times=reals("1/4", "1/3")),
    ),
    "s at z_j": (lemma_12._falling.sides, on(z=reals(2, None), times=HALF)),
    "four times the noise": (
        partial(lemma_13._two_terms, noise=4),
        on(gap=GAP, epsilon=POSITIVE, n=integers(1, None)),
    ),
    "fewer than m*/2 rounds": (
        lower_bound.conversion,
        on(K=integers(2, None), gap=GAP, epsilon=POSITIVE, part=HALF),
    ),
    "fewer than m* rounds": (
        lower_bound._round_by_round.sides,
        on(K=integers(2, None), excess=HALF),
    ),
    "an epoch longer than the ceiling gives": (
        theorem_7._several_actions.sides,
        on(size=integers(2, None), part=reals("5/2", 3)),
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_beside_its_range_a_claim_is_false(name: str) -> None:
    function, over = BESIDE[name]
    found = prove_inequality(function, over=over, seconds=20)
    assert found.verdict == "false", str(found)


def test_the_exact_root_is_the_least_integer_above() -> None:
    for square in (Fraction(k, 7) for k in range(500)):
        g = ceil_root(square)
        assert g**2 >= square
        assert g == 0 or (g - 1) ** 2 < square


def test_the_rounded_precision_is_an_excess_of_one_or_more() -> None:
    for epsilon, n in itertools.product((Fraction(1, 1000), Fraction(1, 10), Fraction(3)), (1, 2, 64)):
        share = aggregate_divergences._share(epsilon, Fraction(1), n, None)
        assert share > 0
        assert not share > 1


def test_the_chosen_epoch_lies_in_the_proved_range() -> None:
    for size, m in itertools.product((2, 51, 1000), theorem_7.PRODUCTS):
        part = ball(2 ** theorem_7._epoch(size, m) * m) / (16 * ln(size))
        assert 1 <= part <= 2


def test_the_whole_rounds_lie_in_the_proved_ranges() -> None:
    for K, gap, epsilon in itertools.product(
        (2, 16), (Fraction(1, 10), Fraction(1)), (Fraction(1, 1000), Fraction(1, 30))
    ):
        critical = lower_bound._critical(K, gap, epsilon)
        assert critical >= 1
        assert 1 <= 2 * integer(critical.floor()) / critical <= 2
        assert integer(critical.ceil()) / critical >= 1


def test_the_critical_levels_lie_in_the_proved_ranges() -> None:
    point: dict[str, Any] = {"T": 1000, "gap": Fraction(1, 20), "epsilon": Fraction(1, 4)}
    assert 2 ** lemma_11.critical_level(**point) >= lemma_11.threshold(**point)
    length = ball(2 ** lemma_12.critical_level(**point))
    assert length >= lemma_12._a_log_a(**point)
    assert length >= 256
