"""Cases for the rules that put mechanisms together: in sequence, on cells, in trees, by touches, for groups.

The parts are noisy counts: an integer table of a list of records, in 0..2, plus discrete Laplace noise,
clamped to 0..2 (which loses nothing of the pure loss). Which part reads which records is written out here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.certify import build
from dpaudit.certify.build import LossGrid, Proof
from dpaudit.certify.sites import Site
from dpaudit.core.claims import Adjacency, Unit
from tests.kernel.enumeration import oracle
from tests.kernel.enumeration.cases import Case, generates
from tests.kernel.enumeration.data import Data, Pair, Situation, move, pairs_in, values_of, where
from tests.kernel.enumeration.oracle import Distribution, joint
from tests.kernel.enumeration.queries import Query, choose, random_sum, random_table

__all__ = ["GRID", "ONE_CELL", "ONE_LEAF", "OTHERS_STAY", "PARTITION", "SAME_PLACES", "noisy", "per_user"]

#: What the certificates may assume, by words of the assumption.
ONE_CELL = r"all events of one user"
ONE_LEAF = r"one user is one leaf"
OTHERS_STAY = r"other records"
PARTITION = r"partition is a function"
SAME_PLACES = r"number and places"

GRID = LossGrid(step="1/50", bits=64, tail=30)
SCALES = [Fraction(1, 2), Fraction(1), Fraction(2)]


def noisy(query: Query, scale: Fraction) -> Callable[[Sequence[int | None]], Distribution]:
    """The distribution of the clamped noisy value of a query with values in 0..2."""
    return lambda values: oracle.discrete_laplace_clamped(query(tuple(values)), float(scale), 0, 2)


def _distance(a: int, b: int) -> int:
    return abs(a - b)


def _release(queries: Sequence[Query], scale: Fraction, pairs: Sequence[Pair]) -> Proof:
    """One noisy value of any of the queries, by the largest move between the pairs."""
    moved = max(move(pairs, query, _distance) for query in queries)
    return build.discrete_laplace_mechanism(sensitivity=moved, scale=scale)


@generates("sequential", count=9)
def sequential(rng: np.random.Generator, situation: Situation) -> Case:
    """A first release, then one or two whose queries are chosen by its outcome; with or without loss
    distributions."""
    pairs, scales = pairs_in(situation), [choose(rng, SCALES) for _ in range(2)]
    first, times = random_table(rng, range(3)), int(rng.integers(1, 3))
    second = [[random_table(rng, range(3)) for _ in range(times)] for _ in range(3)]
    grid = choose(rng, [None, None, GRID])

    def distribution(values: Any) -> Distribution:
        start = noisy(first, scales[0])(values)
        later = [joint(*(noisy(query, scales[1])(values) for query in chosen)) for chosen in second]
        return np.concatenate([chance * rest for chance, rest in zip(start, later, strict=True)])

    premises = [
        _release([first], scales[0], pairs),
        _release([query for chosen in second for query in chosen], scales[1], pairs),
    ]
    return Case(
        proof=lambda: build.compose_sequential(premises, times=[1, times], grid=grid),
        distribution=distribution,
        pairs=pairs,
    )


@generates("sequential:gaussian", count=6)
def sequential_gaussian(rng: np.random.Generator, situation: Situation) -> Case:
    """Two Gaussian releases: the squares of mu add up."""
    pairs = pairs_in(situation)
    queries = [random_table(rng, range(3)) for _ in range(2)]
    scales = [choose(rng, [Fraction(1), Fraction(2)]) for _ in range(2)]
    premises = [
        build.gaussian_mechanism(sensitivity=move(pairs, query, _distance), scale=scale)
        for query, scale in zip(queries, scales, strict=True)
    ]
    return Case(
        proof=lambda: build.compose_sequential(premises),
        distribution=lambda values: joint(
            *(
                oracle.gaussian_cells(query(values), float(scale), np.linspace(-5, 7, 17))
                for query, scale in zip(queries, scales, strict=True)
            )
        ),
        pairs=pairs,
    )


class Cells:
    """How records are assigned to two cells, and which pairs keep what can be assumed about it.

    ``cell(data, i)`` is the cell of event i; ``outcome`` shifts all by a number that was shown before.
    """

    def __init__(self, cell: Callable[[Data, int], int]) -> None:
        self.cell = cell

    def lists(self, data: Data, shift: int = 0) -> list[tuple[int | None, ...]]:
        """The values in either cell, in order."""
        result: list[list[int | None]] = [[], []]
        for i, (_, value) in enumerate(data):
            result[(self.cell(data, i) + shift) % 2].append(value)
        return [tuple(values) for values in result]

    def conditions(self, situation: Situation, *, moves: bool) -> dict[str, Callable[[Pair], bool]]:
        """By words of the assumption."""

        def others_stay(pair: Pair) -> bool:
            return any(
                self._cells(pair.left, a) == self._cells(pair.right, b) for a, b in _changed(pair, situation)
            )

        def own(pair: Pair) -> bool:
            """Whether the changed records are in the same cells on both sides, where they are on both."""
            return any(
                a is None
                or b is None
                or len(a) != len(b)
                or self._of(pair.left, a) == self._of(pair.right, b)
                for a, b in _changed(pair, situation)
            )

        def one_cell(pair: Pair) -> bool:
            sides = [self._of(data, where(data, pair.owner)) for data in (pair.left, pair.right)]
            return all(len(set(side)) <= 1 for side in (sides if moves else [sides[0] + sides[1]]))

        return {
            PARTITION: (lambda pair: True) if moves else own,
            OTHERS_STAY: others_stay,
            ONE_CELL: one_cell,
            SAME_PLACES: same_places,
        }

    def _of(self, data: Data, places: Sequence[int]) -> list[int]:
        return [self.cell(data, i) for i in places]

    def _cells(self, data: Data, without: Sequence[int]) -> list[int]:
        return [self.cell(data, i) for i in range(len(data)) if i not in without]


def same_places(pair: Pair) -> bool:
    """Whether the changed user owns the same places on both sides, or none on one of them."""
    left, right = where(pair.left, pair.owner), where(pair.right, pair.owner)
    return left == right or not left or not right


def _changed(pair: Pair, situation: Situation) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The places that differ on either side; every possibility, if a removed event has equals."""
    left, right = pair.left, pair.right
    if situation.unit is Unit.USER:
        return [(where(left, pair.owner), where(right, pair.owner))]
    if len(left) == len(right):
        i = next(i for i in range(len(left)) if left[i] != right[i])
        return [((i,), (i,))]
    return [((i,), ()) for i in range(len(left)) if left[:i] + left[i + 1 :] == right]


def by_place(data: Data, i: int) -> int:
    """Record i goes to cell i mod 2."""
    return i % 2


def by_block(data: Data, i: int) -> int:
    """Blocks of two records."""
    return i // 2


def by_owner(data: Data, i: int) -> int:
    """A public attribute of the user."""
    return data[i][0] % 2


def by_value(data: Data, i: int) -> int:
    """The record's own value; the null record goes to the first cell."""
    return (data[i][1] or 0) % 2


def _parallel(
    rng: np.random.Generator,
    situation: Situation,
    cell: Callable[[Data, int], int],
    by: Any,
    *,
    moves: bool = False,
) -> Case:
    pairs, cells = pairs_in(situation), Cells(cell)
    premise_pairs = pairs
    if moves:
        values: Any = situation.values
        if situation.adjacency is Adjacency.ZERO_OUT:
            values = (*values, None)
        premise_pairs = pairs_in(replace(situation, adjacency=Adjacency.ADD_REMOVE), values=values)
    queries = [random_table(rng, range(3)) for _ in range(2)]
    if rng.integers(2):
        queries = [random_sum(rng, [0, 0, 1]) for _ in range(2)]
        queries = [lambda values, query=query: min(query(values), 2) for query in queries]
    scales = [choose(rng, SCALES) for _ in range(2)]
    premises = [_release([q], s, premise_pairs) for q, s in zip(queries, scales, strict=True)]

    def together(data: Data, shift: int = 0) -> Distribution:
        lists = cells.lists(data, shift)
        return joint(*(noisy(q, s)(v) for q, s, v in zip(queries, scales, lists, strict=True)))

    def proof() -> Proof:
        return build.compose_parallel(
            premises, by=by, partition="region" if by != "position" else "", moves=moves
        )

    conditions = cells.conditions(situation, moves=moves)
    reads = (lambda data: data) if cell is by_owner else _unowned
    if by != "shown outcomes":
        return Case(proof=proof, distribution=together, pairs=pairs, reads=reads, conditions=conditions)
    first, scale = random_table(rng, range(3)), choose(rng, SCALES)
    shown = _release([first], scale, pairs)

    def after(data: Data) -> Distribution:
        start = noisy(first, scale)(values_of(data))
        return np.concatenate([chance * together(data, shift) for shift, chance in enumerate(start)])

    return Case(
        proof=lambda: build.compose_sequential([shown, proof()]),
        distribution=after,
        pairs=pairs,
        reads=reads,
        conditions=conditions,
    )


def _unowned(data: Data) -> Data:
    return tuple((0, value) for _, value in data)


def _keeps_places(situation: Situation) -> bool:
    return situation.adjacency is not Adjacency.ADD_REMOVE


def _register(
    name: str,
    cell: Callable[[Data, int], int],
    by: str,
    *,
    moves: bool = False,
    holds: Callable[[Situation], bool],
    close: float,
) -> None:
    @generates(f"parallel:{name}", holds=holds, count=8, close=close)
    def make(rng: np.random.Generator, situation: Situation) -> Case:
        return _parallel(rng, situation, cell, by, moves=moves)


def _always(situation: Situation) -> bool:
    return True


def _never(situation: Situation) -> bool:
    return False


_register("places", by_place, "position", holds=_keeps_places, close=0.9)
_register("blocks", by_block, "position", holds=_keeps_places, close=0.9)
_register("places that move", by_place, "position", moves=True, holds=_never, close=0.0)
_register("public owners", by_owner, "public data", holds=_always, close=0.9)
_register("public places", by_place, "public data", holds=_always, close=0.9)
_register("own value", by_value, "public data", moves=True, holds=_always, close=0.4)
_register("own value, denied", by_value, "public data", holds=_always, close=0.9)
_register("shown outcomes", by_place, "shown outcomes", holds=_always, close=0.8)
_register("shown outcomes and owners", by_owner, "shown outcomes", holds=_always, close=0.8)
_register("shown outcomes and own value", by_value, "shown outcomes", moves=True, holds=_always, close=0.4)


def _blocks(leaves: int) -> list[tuple[int, int]]:
    """The dyadic blocks that prefix sums of 1..leaves records use."""
    blocks = set()
    for end in range(1, leaves + 1):
        start = 0
        for bit in range(leaves.bit_length(), -1, -1):
            if end >> bit & 1:
                blocks.add((start, start + (1 << bit)))
                start += 1 << bit
    return sorted(blocks)


def _tree(rng: np.random.Generator, situation: Situation, *, declare: bool) -> Case:
    leaves = int(rng.integers(2, 4))
    blocks, scale = _blocks(leaves), choose(rng, SCALES)
    queries = [random_table(rng, range(3)) for _ in blocks]
    pairs = pairs_in(situation, tuple(range(leaves + 1)))
    node = _release(queries, scale, pairs)
    levels, grid = int(rng.integers(1, 4)), choose(rng, [None, None, GRID])

    def one_leaf(pair: Pair) -> bool:
        places = [where(data, pair.owner) for data in (pair.left, pair.right)]
        return places[0] == places[1] and len(places[0]) == 1

    def few(pair: Pair) -> bool:
        left, right = pair.values
        return sum(left[a:b] != right[a:b] for a, b in blocks) <= levels

    return Case(
        proof=lambda: (
            build.tree_mechanism(node, levels=levels, declared="by hand", grid=grid)
            if declare
            else build.tree_mechanism(node, leaves=leaves, grid=grid)
        ),
        distribution=lambda v: joint(
            *(noisy(q, scale)(v[a:b]) for q, (a, b) in zip(queries, blocks, strict=True))
        ),
        pairs=pairs,
        conditions={ONE_LEAF: one_leaf, r"at most \d+ released nodes": few},
    )


@generates("tree:leaves", holds=_keeps_places, count=8)
def tree_leaves(rng: np.random.Generator, situation: Situation) -> Case:
    """The nodes that prefix sums of two or three records use."""
    return _tree(rng, situation, declare=False)


@generates("tree:levels", count=8)
def tree_levels(rng: np.random.Generator, situation: Situation) -> Case:
    """The same, with a declared number of levels, true or not."""
    return _tree(rng, situation, declare=True)


def per_user(situation: Situation) -> bool:
    """Whether a claim is about users."""
    return situation.unit is Unit.USER


@generates("group", holds=per_user, count=12)
def group(rng: np.random.Generator, situation: Situation) -> Case:
    """A release with a bound per event, and a declared number of events, true or not."""
    pairs, scale, events = pairs_in(situation), choose(rng, SCALES), int(rng.integers(1, 4))
    query = choose(rng, [random_table(rng, range(3)), random_sum(rng, [0, 1])])
    single = pairs_in(replace(situation, unit=Unit.EVENT), values=situation.values)
    moved, normal = move(single, query, _distance), bool(rng.integers(2))
    edges = np.linspace(-6, 9, 121)

    def proof() -> Proof:
        one = build.discrete_laplace_mechanism(sensitivity=moved, scale=scale)
        if normal:
            one = build.gaussian_mechanism(sensitivity=moved, scale=2 * scale)
        return build.group_privacy(one, events=events, declared="by hand")

    def distribution(values: Any) -> Distribution:
        if normal:
            return oracle.gaussian_cells(query(values), 2 * float(scale), edges)
        return oracle.discrete_laplace_clamped(query(values), float(scale), 0, 3)

    def few(pair: Pair) -> bool:
        return all(len(where(data, pair.owner)) <= events for data in (pair.left, pair.right))

    return Case(
        proof=proof,
        distribution=distribution,
        pairs=pairs,
        conditions={r"contributes at most": few, SAME_PLACES: same_places},
    )


@generates("accounted", count=9)
def accounted(rng: np.random.Generator, situation: Situation) -> Case:
    """Three releases of parts of the data in two classes; touches are declared rightly, or one too few."""
    pairs, scales = pairs_in(situation), [choose(rng, SCALES) for _ in range(2)]
    parts = [tuple(i for i in range(3) if rng.integers(2)) for _ in range(3)]
    queries, classes = [random_table(rng, range(3)) for _ in range(3)], [0, 0, 1]

    def reads(j: int, values: Any) -> Any:
        return tuple(values[i] for i in parts[j] if i < len(values))

    def touched(pair: Pair) -> list[int]:
        left, right = pair.values
        changed = [j for j in range(3) if reads(j, left) != reads(j, right)]
        return [sum(classes[j] == c for j in changed) for c in range(2)]

    most = np.max([touched(pair) for pair in pairs], axis=0)
    less = int(rng.integers(3) == 0)
    touches = [max(1, int(count) - less) for count in most]
    moved = [
        max(
            move(pairs, lambda values, j=j: queries[j](reads(j, values)), _distance)
            for j in range(3)
            if classes[j] == c
        )
        for c in range(2)
    ]
    sites = [
        Site(
            f"class {c}",
            touches=touches[c],
            mechanism=build.discrete_laplace_mechanism(sensitivity=moved[c], scale=scales[c]),
        )
        for c in range(2)
    ]
    grid = choose(rng, [None, None, GRID])
    return Case(
        proof=lambda: build.accounted(sites, declared="by hand", grid=grid),
        distribution=lambda v: joint(*(noisy(queries[j], scales[classes[j]])(reads(j, v)) for j in range(3))),
        pairs=pairs,
        conditions={
            r"affects declared sites only": lambda pair: all(
                a <= b for a, b in zip(touched(pair), touches, strict=True)
            )
        },
    )
