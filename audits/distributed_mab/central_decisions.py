"""Theorem 5: the public's view and the server's view of the central protocol.

The public sees arms only. Its view hides the noisy sums on which the decisions depend, so no transcript has
an exact loss in it. Instead, the probability of the event "arm 2 is eliminated after the first batch" is
summed over both hidden sums, with the algorithm's own rule.

The server of Algorithm 3 adds the noise itself, to the exact sum that secure aggregation outputs to it.
Theorem 5 is not about the server's view, whose privacy loss the audit shows to be infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.certify.witnesses.mixture import Draw, End, Event, mixture_body
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins.base import Coins, Program
from dpaudit.core.claims import PureDP
from dpaudit.core.evidence import Witness
from dpaudit.core.views import SERVER
from dpaudit.reference.algorithms.mab import batched_elimination
from dpaudit.reference.algorithms.mab.batched_elimination import Elimination
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant, variant
from dpaudit.reference.algorithms.play import bandit_program
from dpaudit.reference.mechanisms.fixed_point import encode
from dpaudit.reference.mechanisms.modular_sum import decoded_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = [
    "EPSILON",
    "HORIZON",
    "LENGTH",
    "arm_goes_out",
    "decision_tree",
    "decision_witness",
    "literal_program",
]

EPSILON = Fraction(1, 2)
#: Users of each arm in the first batch, just enough to eliminate an arm after it, and rounds.
LENGTH, HORIZON = 39, 82


def _chosen() -> Variant:
    return variant("cdp_se", epsilon=EPSILON, failure_prob=Fraction(1, HORIZON))


# The view of the public


def decision_witness(claim: PureDP) -> Witness:
    """Return the event that arm 2 is eliminated after the first batch: arm 1 pays 1 and arm 2 pays 0, or one
    user of arm 1 is paid 0. Both hidden sums are summed out, and ``dpaudit verify`` repeats this sum."""
    chosen = _chosen()
    sheet = chosen.sheet(LENGTH)
    full, event = LENGTH * sheet.precision, arm_goes_out(chosen)
    here = decision_tree(sheet, event, (full, 0), complete=False)
    there = decision_tree(sheet, event, (full - sheet.precision, 0), complete=True)
    found = Witness(
        quantity=claim.quantity,
        bound=Fraction(0),
        form="mixture",
        body=mixture_body([Event(values=[], recorded=here, neighbour=there)], view=claim.view),
        origin="enumerated",
        description=(
            f"arm 1 pays 1 and arm 2 pays 0, or one of arm 1's first {LENGTH} users is paid 0; arm 2 is "
            f"eliminated after the first batch"
        ),
    )
    return replace(found, bound=recompute(found, claim))


def arm_goes_out(chosen: Variant) -> NDArray[np.bool_]:
    """Return an array of shape (m, m): whether arm 2 is eliminated after the first batch, for every pair of
    the arms' residues. The decisions are those of ``Elimination``, for all pairs at once."""
    sheet = chosen.sheet(LENGTH)
    means = decoded_sum(np.arange(sheet.modulus), sheet) / LENGTH
    grid = np.stack(np.meshgrid(means, means, indexing="ij"), axis=-1)
    state = Elimination(
        grid.shape, failure_prob=chosen.failure_prob, tail=chosen.tail, growth=Fraction(LENGTH)
    )
    state.update(grid)
    return np.asarray(state.active[..., 0] & ~state.active[..., 1])


def decision_tree(sheet: Sheet, event: NDArray[np.bool_], totals: tuple[int, int], *, complete: bool) -> Draw:
    """Return the paths of the program to ``event``, a set of pairs of residues (m, m), if the sums of the
    arms' encodings are ``totals``.

    ``complete`` also lists the residues outside the event. An upper bound needs them, a lower bound does not.
    """

    def second(row: NDArray[np.bool_]) -> Draw | End:
        if not row.any():
            return End(reached=False)
        ends = [(y, End(reached=bool(row[y]))) for y in range(sheet.modulus) if complete or row[y]]
        return Draw(
            site="aggregate of arm 2", distribution=sheet.aggregate_distribution(totals[1]), branches=ends
        )

    branches = [(y, second(event[y])) for y in range(sheet.modulus) if complete or event[y].any()]
    return Draw(
        site="aggregate of arm 1", distribution=sheet.aggregate_distribution(totals[0]), branches=branches
    )


# The view of the server


def literal_program() -> Program:
    """CDP-SE with Algorithm 3 as printed: secure aggregation outputs the exact sum to the server, which adds
    the noise."""
    chosen = _chosen()

    def protocols(length: int) -> Any:
        sheet = chosen.sheet(length)

        def run(coins: Coins, rewards: Sequence[Any]) -> Any:
            total = sum(encode(coins, rewards, precision=sheet.precision, grid=1)) % sheet.modulus
            shown = coins.reveal(total, site="exact sum", to=SERVER)
            noisy = coins.observe(sheet.aggregate_distribution(shown), site="aggregate", to=SERVER)
            return decoded_sum(noisy, sheet)

        return run

    return bandit_program(
        batched_elimination.strategy(
            protocols, failure_prob=chosen.failure_prob, tail=chosen.tail, growth=LENGTH
        )
    )
