"""Cases for programs that were summed out: a random distribution for every data set, and all pairs of
neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpaudit.certify.tables import enumerated_tables, enumerated_weights
from dpaudit.kernel.t1.exponentials import ExpSum
from tests.kernel.enumeration.cases import DOMAIN, Case, generates
from tests.kernel.enumeration.data import Pair, Situation, Values, pairs_in
from tests.kernel.enumeration.local_rules import random_rows

__all__: list[str] = []

#: How much wider than a point an enclosure is made.
SLACK = Fraction(1, 1 << 60)


def listed(situation: Situation) -> tuple[Sequence[Pair], dict[Values, int], list[tuple[int, int]]]:
    """Pairs of data sets of up to two events, the row of each data set, and the neighbours as rows."""
    pairs = pairs_in(situation, (0, 1, 2))
    data = [*dict.fromkeys(values for pair in pairs for values in pair.values)]
    place = {values: i for i, values in enumerate(data)}
    linked = {(min(ends), max(ends)) for pair in pairs for ends in [[place[v] for v in pair.values]]}
    return pairs, place, [(i, j) for i, j in sorted(linked) if i != j]


def everybody(situation: Situation) -> bool:
    return situation.participation == "everybody"


@generates("enumerated", holds=everybody)
def enumerated(rng: np.random.Generator, situation: Situation) -> Case:
    """Sometimes with impossible outcomes, which are enclosed exactly."""
    pairs, place, neighbours = listed(situation)
    rows = random_rows(rng, len(place), int(rng.integers(2, 5)), zeros=bool(rng.integers(3) == 0))
    tables = [
        [(max(p - SLACK, Fraction(0)), min(p + SLACK, Fraction(1))) if p else (p, p) for p in r] for r in rows
    ]
    return Case(
        proof=lambda: enumerated_tables(tables, neighbours=neighbours, domain=DOMAIN, program="random"),
        distribution=lambda values: np.array([float(p) for p in rows[place[values]]]),
        pairs=pairs,
    )


@generates("enumerated:weights", holds=everybody, count=3)
def enumerated_by_weights(rng: np.random.Generator, situation: Situation) -> Case:
    """Random sums of two exponentials; each third case has outcomes that no data set gives."""
    pairs, place, neighbours = listed(situation)
    outcomes, empty = int(rng.integers(2, 4)), bool(rng.integers(3) == 0)

    def weight() -> ExpSum:
        ends = rng.integers(-3, 4, size=2).tolist()
        return ExpSum.exp(Fraction(ends[0], 2), int(rng.integers(1, 4))) + ExpSum.exp(Fraction(ends[1], 3))

    rows = [[weight() for _ in range(outcomes)] + [ExpSum({})] * empty for _ in place]
    chances = np.array(
        [[sum(float(c) * np.exp(float(a)) for a, c in w.terms.items()) for w in r] for r in rows]
    )
    chances /= chances.sum(axis=1, keepdims=True)
    return Case(
        proof=lambda: enumerated_weights(rows, neighbours=neighbours, domain=DOMAIN, program="random"),
        distribution=lambda values: chances[place[values]],
        pairs=pairs,
    )
