"""Cases for programs that were summed out: a random law for every data set, and all pairs of neighbours."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpaudit.proofs.tables import enumerated_tables
from tests.kernel.enumeration.cases import DOMAIN, Case, generates
from tests.kernel.enumeration.data import Situation, pairs_in
from tests.kernel.enumeration.local_rules import random_rows

__all__: list[str] = []

#: How much wider than a point an enclosure is made.
SLACK = Fraction(1, 1 << 60)


@generates("enumerated", holds=lambda situation: situation.turnout == "everybody")
def enumerated(rng: np.random.Generator, situation: Situation) -> Case:
    """Data sets of up to two events; sometimes with impossible outcomes, which are enclosed exactly."""
    pairs = pairs_in(situation, (0, 1, 2))
    data = [*dict.fromkeys(values for pair in pairs for values in pair.values)]
    place = {values: i for i, values in enumerate(data)}
    rows = random_rows(rng, len(data), int(rng.integers(2, 5)), zeros=bool(rng.integers(3) == 0))
    linked = {tuple(sorted(place[values] for values in pair.values)) for pair in pairs}
    neighbours = [(i, j) for i, j in sorted(linked) if i != j]
    tables = [
        [(max(p - SLACK, Fraction(0)), min(p + SLACK, Fraction(1))) if p else (p, p) for p in r] for r in rows
    ]
    return Case(
        proof=lambda: enumerated_tables(tables, neighbours=neighbours, domain=DOMAIN, program="random"),
        law=lambda values: np.array([float(p) for p in rows[place[values]]]),
        pairs=pairs,
    )
