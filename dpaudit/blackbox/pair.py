"""Attack one pair of neighbours: collect its outputs, learn experts, and record the blocks for bettors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.claim_betting import ClaimBetting
from dpaudit.blackbox.experts import CELLS, Experts
from dpaudit.blackbox.grids import Guesses
from dpaudit.blackbox.hypotheses import Points
from dpaudit.blackbox.outcomes import OutcomeEncoder, Outcomes
from dpaudit.blackbox.replay import Played
from dpaudit.blackbox.statistics.cells import CellBlock
from dpaudit.core.errors import CodedError

__all__ = ["FIRST_BLOCK", "PairAttack", "next_block"]

FIRST_BLOCK = 12
#: Blocks grow with the number of runs. A stop is delayed by at most this share of the runs.
BLOCK_SHARE = 1 / 16
#: The experts learn new cells whenever the past has grown by this factor.
REFIT_GROWTH = 1.4


def next_block(pairs: int) -> int:
    """Return the number of pairs of runs in the block after ``pairs`` pairs of runs."""
    return max(FIRST_BLOCK, int(pairs * BLOCK_SHARE))


class PairAttack:
    """Attack on one pair of neighbours.

    Alternate ``next_block``, the number of pairs of runs to make, and ``play`` with their outputs. ``blocks``
    holds the counts of all blocks, for any bettor.

    Parameters
    ----------
    epsilon : float
        The claimed epsilon.
    bits : bool
        Whether bit patterns of floats are compared.
    reader : OutcomeEncoder
        Names the parts of the outputs.
    guessed : Guesses
        Numbers to which noise may have been added (``grids.guesses``).
    fine : bool
        Whether there are experts with cells for divergences.
    """

    def __init__(
        self,
        *,
        epsilon: float,
        bits: bool,
        reader: OutcomeEncoder,
        guessed: Guesses = (),
        fine: bool = False,
    ) -> None:
        self.blocks: list[CellBlock] = []
        self.experts: Experts | None = None
        self.pairs = 0
        self._epsilon = epsilon
        self._bits = bits
        self._guessed = guessed
        self._fine = fine
        self._reader = reader
        self._past: tuple[list[Outcomes], list[Outcomes]] = ([], [])
        self._fitted = 0
        self._known: NDArray[np.int64] = np.zeros((2, 0, CELLS), dtype=np.int64)

    def next_block(self) -> int:
        """Return the number of pairs of runs in the next block."""
        return next_block(self.pairs)

    @property
    def known(self) -> NDArray[np.int64]:
        """Return the counts of all past outputs in the current cells, shape (2, E, C)."""
        return self._known

    @property
    def bold(self) -> NDArray[np.bool_]:
        """Return which experts are bold, shape (E,)."""
        return np.zeros(0, dtype=bool) if self.experts is None else self.experts.bold

    @property
    def past(self) -> tuple[Outcomes, Outcomes]:
        """Return all outputs so far in the order of the calls. Requires one block."""
        return _joined(self._past[0]), _joined(self._past[1])

    @property
    def played(self) -> Played | None:
        """Return the blocks so far for a replay, or None before the first block."""
        if self.experts is None:
            return None
        first = self.pairs - sum(block.pairs for block in self.blocks)
        weights, of_divergences = tuple(self.experts.weights), tuple(self.experts.divergence_weights)
        return Played(weights, self.experts.follow, of_divergences, first, tuple(self.blocks))

    def betting(self, points: Points) -> ClaimBetting:
        """Return a new bettor against claims that imply ``points``, to be updated with ``blocks``."""
        if self.played is None:
            raise CodedError("betting requires a first block, got none.", code="E-BLOCK-MISSING")
        return self.played.betting(points)

    def play(self, first: Outcomes, second: Outcomes) -> CellBlock | None:
        """Count a block in the cells that were fixed before it, then learn from it.

        The first block is for learning only and returns None.
        """
        block = None
        if self.experts is not None:
            seen = np.stack([self.experts.counts(first), self.experts.counts(second)])
            block = CellBlock(self._known, seen, self.experts.bold, self.experts.places)
            self.blocks.append(block)
            self._known = self._known + seen
        self._past[0].append(first)
        self._past[1].append(second)
        self.pairs += len(first.keys)
        if self.pairs >= REFIT_GROWTH * self._fitted:
            self._refit()
        return block

    def _refit(self) -> None:
        past = (_joined(self._past[0]), _joined(self._past[1]))
        self._past = ([past[0]], [past[1]])
        if self.experts is None:
            self.experts = Experts(
                past,
                epsilon=self._epsilon,
                bits=self._bits,
                guessed=self._guessed,
                reader=self._reader,
                fine=self._fine,
            )
        self._known = self.experts.fit(past)
        self._fitted = self.pairs


def _joined(parts: list[Outcomes]) -> Outcomes:
    if len(parts) == 1:
        return parts[0]
    return Outcomes(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.symbols for part in parts]),
        np.concatenate([part.keys for part in parts]),
    )
