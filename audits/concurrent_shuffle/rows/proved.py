"""Prove from the schedule, as a program, how many batches include a user, and the privacy cost of noisy
batches.

The program (``mechanisms/counter_programs.py``) has one running batch per height and releases its sum when
it is full. Central Laplace noise replaces the shuffler's noise.
"""

from __future__ import annotations

from dpaudit.core.claims import Ordering
from dpaudit.core.suite import Group, Run
from dpaudit.distributions import Laplace
from dpaudit.prover.data import OneReplaced, Symbols
from dpaudit.reference.mechanisms.counter_programs import concurrent_batches
from dpaudit.suite import Measured, evidence, full, over
from dpaudit.suite.program_proofs import Proving, Shape, derived_cost, proved

__all__ = ["rows"]

rows = Group("Batches of concurrent shufflers, as programs")


def _sizes(heights: int) -> tuple[int, ...]:
    """Return batches of 2, 4, 8, ... users."""
    return tuple(2**height for height in range(1, heights + 1))


def _participation(heights: int) -> Ordering:
    text = f"a user is in at most {heights} of the batches of {heights} concurrent shufflers"
    return Ordering(text=text, quantity_name="touches", claimed=heights)


@evidence(
    rows,
    "TKMS23-T3.4/touches",
    "Section 3.2, proof of Theorem 3.4",
    claim=_participation,
    role="step",
    over=over(heights=(1, 2, 3, 4)),
)
def touches(run: Run, heights: int) -> Measured:
    """With k concurrent shufflers a user's message is in at most k batches: one per height

    The proof uses the schedule as a program, for two of the largest batches.
    """
    sizes = _sizes(heights)
    program = concurrent_batches(sizes=sizes, noise=Laplace(scale=heights))
    shape = Shape(data=Symbols(2 * sizes[-1], low=0, high=1), adjacency=OneReplaced())
    return derived_cost(program, shape, site="batch")


@proved(
    rows,
    "TKMS23-T3.4/batches",
    "Section 3.2, Theorem 3.4",
    role="what-if",
    over=over(heights=(1, 2, 3), users=("every", full(16))),
)
def batches(heights: int, users: int | str) -> Proving:
    """Batches of k heights with central Laplace noise of scale k/ε are ε-DP, for every number of users

    Note: central noise replaces the noise of the shufflers; the row proves that the batches share ε among k
    """
    program = concurrent_batches(sizes=_sizes(heights), noise=Laplace(scale=heights))
    return Proving(program=program, epsilon=1, data=Symbols(users, low=0, high=1), adjacency=OneReplaced())
