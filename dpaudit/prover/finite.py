"""Compute the exact output distribution of every dataset, if data and draws are finite (rule E).

If all records are integers of a bounded range and all randomness is finite, the program runs on plain
numbers. Each dataset has a tree of draws, each path has an exact rational weight, and all pairs of neighbours
are compared. The program may apply any function to the data, because nothing is symbolic, but floats must not
round (``decimals``). The privacy loss is the logarithm of a rational number, enclosed in balls. The trees
with their weights are the certificate, which ``dpaudit/kernel/finite_t0.py`` checks from the start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from dpaudit.coins.base import Program, To
from dpaudit.coins.prover import ProvingCoins
from dpaudit.core.exact_functions import ln
from dpaudit.core.views import PUBLIC
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.randomised_response import RandomisedResponse
from dpaudit.kernel.ball import lower_exact, upper_short
from dpaudit.prover.data import Adjacent, Symbols
from dpaudit.prover.decimals import DecimalFloat, decimal_program
from dpaudit.prover.explore import CrashedError, Event, Explored, Walk, explore
from dpaudit.prover.forms import ZERO
from dpaudit.prover.symbols import RefusedError

__all__ = ["Distributions", "bounds", "distribution_of", "exact_distributions", "largest_ratio", "trees"]

MAX_DATA_SETS, MAX_PAIRS = 1_000, 20_000

#: For each dataset, the exact probability of each possible output.
Distributions = dict[tuple[int, ...], dict[tuple[Any, ...], Fraction]]


class _FiniteCoins(ProvingCoins):
    """Coins that also observe finite outcomes.

    Their distribution may depend on the data, which are plain numbers.
    """

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        self._to_all(site, to)
        walk = self._follower
        if type(distribution) is RandomisedResponse:
            if distribution.keep is None:
                self._follower.refuse("randomised response with an irrational probability was observed")
            other = (1 - distribution.keep) / (distribution.symbols - 1)
            weights = [
                distribution.keep if j == distribution.truth else other for j in range(distribution.symbols)
            ]
            outcome = walk.weighted(tuple(weights))  # type: ignore[attr-defined]
        else:
            outcome = self.draw(distribution, site=site)
        walk.shown(outcome)
        return outcome


class _FiniteWalk(Walk):
    """A walk of plain numbers that shows a ``DecimalFloat`` as an ordinary float."""

    def _shows(self, value: Any) -> list[Event]:
        return super()._shows(float(value) if type(value) is DecimalFloat else value)


def exact_distributions(program: Program, data: Symbols) -> Distributions | None:
    """Return the exact output distribution of ``program`` on every dataset.

    Return None if data or draws are not finite.
    """
    explored = trees(program, data)
    return (
        None if explored is None else {numbers: distribution_of(tree) for numbers, tree in explored.items()}
    )


def trees(program: Program, data: Symbols) -> dict[tuple[int, ...], Explored] | None:
    """Return the tree of every dataset in the order of ``product``, or None if data or draws are not finite.

    Raise ``CrashedError`` if the program raises on a dataset. These are actual data, so that a proof by
    symbols is not possible either.
    """
    if not data.integers or data.low is None or data.high is None:
        return None
    values = range(int(data.low), int(data.high) + 1)
    if len(values) ** data.numbers > MAX_DATA_SETS:
        return None
    data_sets = list(product(values, repeat=data.numbers))
    try:
        decimals = decimal_program(program)
        return {numbers: _tree(decimals, data, numbers) for numbers in data_sets}
    except RefusedError:
        _require_no_crash(program, data, data_sets)
        return None


def _require_no_crash(program: Program, data: Symbols, data_sets: list[tuple[int, ...]]) -> None:
    """Raise ``CrashedError`` if the unchanged program raises on a dataset. No distributions are computed."""
    try:
        for numbers in data_sets:
            _tree(program, data, numbers)
    except CrashedError:
        raise
    except RefusedError:
        return


def _tree(program: Program, data: Symbols, numbers: tuple[int, ...]) -> Explored:
    given = dict(zip(data.names, numbers, strict=True))

    def run(walk: Walk) -> None:
        walk.shown(program(_FiniteCoins(walk), data.records(lambda name: given[name])))

    explored = explore(run, walk_class=_FiniteWalk)
    if any(path.draws or path.releases() for path in explored.paths):
        raise RefusedError("a draw is not finite.", code="E-DRAW-NOT-FINITE")
    return explored


def distribution_of(explored: Explored) -> dict[tuple[Any, ...], Fraction]:
    """Return the probability of each output of one tree."""
    distribution: dict[tuple[Any, ...], Fraction] = {}
    for path in explored.paths:
        weight = math.prod((e[1][e[2]] for e in path.events if e[0] == "finite"), start=Fraction(1))
        shown = tuple(event[1] for event in path.events if event[0] == "show")
        distribution[shown] = distribution.get(shown, ZERO) + weight
    return distribution


def _pairs(
    distributions: Distributions, data: Symbols, adjacency: Adjacent
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield all pairs of neighbours, in both orders if both are neighbours."""
    for piece in adjacency.pieces(data):
        ends = [piece.get(name, (ZERO, ZERO)) for name in data.names]
        for one in distributions:
            steps = [
                [v for v in range(int(data.low or 0), int(data.high or 0) + 1) if low <= v - at <= high]
                for at, (low, high) in zip(one, ends, strict=True)
            ]
            for other in product(*steps):
                if other != one:
                    yield one, other


def largest_ratio(
    distributions: Distributions, data: Symbols, adjacency: Adjacent
) -> tuple[Fraction | float, tuple[Any, ...]] | None:
    """Return the largest P(shown | one) / P(shown | other) over all neighbours, with (one, other, shown).

    Return None if there are too many pairs.
    """
    worst: tuple[Fraction | float, tuple[Any, ...]] = (Fraction(1), ())
    for count, (one, other) in enumerate(_pairs(distributions, data, adjacency)):
        if count >= MAX_PAIRS:
            return None
        for shown, chance in distributions[one].items():
            for over, under, left, right in (
                (chance, distributions[other].get(shown, ZERO), one, other),
                (distributions[other].get(shown, ZERO), chance, other, one),
            ):
                if over and (not under or over / under > worst[0]):
                    worst = (over / under if under else math.inf, (left, right, shown))
                    if not under:
                        return worst
        for shown in distributions[other].keys() - distributions[one].keys():
            return math.inf, (other, one, shown)
    return worst


def bounds(ratio: Fraction | float) -> tuple[Fraction | float, Fraction | float]:
    """Return exact numbers below and above ln(ratio)."""
    if not isinstance(ratio, Fraction):
        return math.inf, math.inf
    if ratio == 1:
        return ZERO, ZERO
    return lower_exact(ln(ratio)), upper_short(ln(ratio))
