"""One pair of neighbours under attack: what was seen, who bets on it, and the blocks as they were played."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.attacks.blackbox_features import CELLS, Expert, make_experts
from dpaudit.attacks.blackbox_outcomes import Outcomes
from dpaudit.statistics.cells import CellBetting, CellBlock

__all__ = ["PairAttack"]

FIRST_BLOCK = 16
#: Blocks grow with what is known; a stop comes at most this share late.
BLOCK_SHARE = 0.125
#: The experts learn their cells anew whenever the past has grown by this factor.
REFIT_GROWTH = 1.4


class PairAttack:
    """The attack on one pair. Alternate ``next_block`` (how many pairs of runs to draw) and ``play`` (what they gave)."""

    def __init__(self, *, bits: bool) -> None:
        self.blocks: list[CellBlock] = []
        self.experts: list[Expert] = []
        self.follow = 0.0
        self._bits = bits
        self._past: tuple[list[Outcomes], list[Outcomes]] = ([], [])
        self._fitted = 0
        self.pairs = 0
        self._known: NDArray[np.int64] = np.zeros((2, 0, CELLS), dtype=np.int64)

    def next_block(self) -> int:
        """Pairs of runs in the next block."""
        return max(FIRST_BLOCK, int(self.pairs * BLOCK_SHARE))

    def betting(self, epsilons: NDArray[np.float64], deltas: NDArray[np.float64]) -> CellBetting:
        """A bettor against these claims that has not played yet; feed it ``blocks``."""
        weights = [expert.weight for expert in self.experts]
        return CellBetting(epsilons, deltas=deltas, weights=weights, follow=self.follow)

    def play(self, first: Outcomes, second: Outcomes) -> CellBlock | None:
        """Sort a block of outputs into the cells frozen before it, then learn from it. The first block is for learning only."""
        block = None
        if self.pairs:
            seen = np.stack([self._counts([expert.cells(side) for expert in self.experts]) for side in (first, second)])
            block = CellBlock(self._known, seen)
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
        if not self.experts:
            self.experts, self.follow = make_experts(past, bits=self._bits)
        cells = [expert.fit(past) for expert in self.experts]
        self._known = np.stack([self._counts([both[side] for both in cells]) for side in (0, 1)])
        self._fitted = self.pairs

    @staticmethod
    def _counts(cells: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        return np.stack([np.bincount(part, minlength=CELLS) for part in cells])


def _joined(parts: list[Outcomes]) -> Outcomes:
    if len(parts) == 1:
        return parts[0]
    return Outcomes(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.symbols for part in parts]),
        np.concatenate([part.keys for part in parts]),
    )
