"""One pair of neighbours under attack: what was seen, who bets on it, and the blocks as they were played."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.experts import CELLS, Experts
from dpaudit.blackbox.grids import Guesses
from dpaudit.blackbox.outcomes import OutcomeEncoder, Outcomes
from dpaudit.blackbox.replay import Played
from dpaudit.blackbox.statistics.cells import CellBetting, CellBlock
from dpaudit.core.errors import DpauditError

__all__ = ["FIRST_BLOCK", "PairAttack", "next_block"]

FIRST_BLOCK = 12
#: Blocks grow with what is known; a stop comes at most this share late.
BLOCK_SHARE = 1 / 16
#: The experts learn their cells anew whenever the past has grown by this factor.
REFIT_GROWTH = 1.4


def next_block(pairs: int) -> int:
    """Pairs of runs in the block after ``pairs`` of them."""
    return max(FIRST_BLOCK, int(pairs * BLOCK_SHARE))


class PairAttack:
    """The attack on one pair. Alternate ``next_block`` (how many pairs of runs to draw) and ``play`` (what
    they gave).

    ``epsilon``: the claim's; ``bits``: look at bit patterns; ``guessed``: what noise may have been added to
    (``grids.guesses``). ``blocks`` are the counts as they were played, for any bettor to replay.
    """

    def __init__(self, *, epsilon: float, bits: bool, reader: OutcomeEncoder, guessed: Guesses = ()) -> None:
        self.blocks: list[CellBlock] = []
        self.experts: Experts | None = None
        self.pairs = 0
        self._epsilon = epsilon
        self._bits = bits
        self._guessed = guessed
        self._reader = reader
        self._past: tuple[list[Outcomes], list[Outcomes]] = ([], [])
        self._fitted = 0
        self._known: NDArray[np.int64] = np.zeros((2, 0, CELLS), dtype=np.int64)

    def next_block(self) -> int:
        """Pairs of runs in the next block."""
        return next_block(self.pairs)

    @property
    def known(self) -> NDArray[np.int64]:
        """Counts of all past outputs in the cells as they are now, shape (2, E, C)."""
        return self._known

    @property
    def bold(self) -> NDArray[np.bool_]:
        """Which experts are bold, shape (E,)."""
        return np.zeros(0, dtype=bool) if self.experts is None else self.experts.bold

    @property
    def past(self) -> tuple[Outcomes, Outcomes]:
        """All outputs so far in the order of the calls; needs one block."""
        return _joined(self._past[0]), _joined(self._past[1])

    @property
    def played(self) -> Played | None:
        """What has been played so far, for a bettor to replay; ``None`` before the first block."""
        if self.experts is None:
            return None
        first = self.pairs - sum(block.pairs for block in self.blocks)
        return Played(tuple(self.experts.weights), self.experts.follow, first, tuple(self.blocks))

    def betting(self, epsilons: NDArray[np.float64], deltas: NDArray[np.float64]) -> CellBetting:
        """A bettor against these claims that has not played yet; feed it ``blocks``."""
        if self.experts is None:
            raise DpauditError(
                "a bettor needs experts, got no block yet; play the first block before betting."
            )
        return CellBetting(epsilons, deltas=deltas, weights=self.experts.weights, follow=self.experts.follow)

    def play(self, first: Outcomes, second: Outcomes) -> CellBlock | None:
        """Sort a block into the cells frozen before it, then learn from it. The first block is for learning
        only.
        """
        block = None
        if self.experts is not None:
            seen = np.stack([self.experts.counts(first), self.experts.counts(second)])
            block = CellBlock(self._known, seen, self.experts.bold)
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
