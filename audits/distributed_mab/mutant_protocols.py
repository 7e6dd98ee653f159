"""Five mechanisms whose batch protocols are broken on purpose, at one budget, and Algorithm 1 around them.

``mechanisms.broken_protocols`` has the mistakes. ``mutant_register`` has their names and how each is caught.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from dpaudit.coins import Coins, Program
from dpaudit.reference.algorithms.mab import batched_elimination
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant, variant
from dpaudit.reference.algorithms.play import bandit_program
from dpaudit.reference.mechanisms.broken_protocols import Make

__all__ = [
    "EPSILON",
    "FAILURE_PROB",
    "MECHANISMS",
    "REFERENCES",
    "SCALE_FACTOR",
    "Mechanism",
    "program_of",
]

#: Every mutant claims this ε. Theorems 4 to 6 need ε < 1. With it, g = 2, 2, 3 for batches of 2, 4, 8 users.
EPSILON = Fraction(9, 10)
FAILURE_PROB = Fraction(1, 64)
#: s of the Skellam and discrete Gaussian variants, as in the paper's experiments.
SCALE_FACTOR = 10

Mechanism = Literal["polya", "central", "local", "skellam", "gaussian"]
MECHANISMS: tuple[Mechanism, ...] = ("polya", "central", "local", "skellam", "gaussian")

_NAMES: dict[Mechanism, str] = {
    "polya": "dist_dp_se",
    "central": "cdp_se",
    "local": "ldp_se",
    "skellam": "dist_rdp_se",
    "gaussian": "dist_cdp_se",
}

#: The correct variants from which the mutants are made.
REFERENCES: dict[Mechanism, Variant] = {
    mechanism: variant(name, epsilon=EPSILON, failure_prob=FAILURE_PROB, scale_factor=SCALE_FACTOR)
    for mechanism, name in _NAMES.items()
}


def program_of(make: Make, mechanism: Mechanism, *, grid: int | None = 1) -> Program:
    """Return ``program(coins, data)`` for rewards (T, K): the reference's Algorithm 1 around a mutant's
    sums."""
    chosen = REFERENCES[mechanism]

    def program(coins: Coins, data: Any) -> Any:
        strategy = batched_elimination.strategy(
            make(chosen.sheet, grid), failure_prob=chosen.failure_prob, tail=chosen.tail
        )
        return bandit_program(strategy)(coins, data)

    return program
