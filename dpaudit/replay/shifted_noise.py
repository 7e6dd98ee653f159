"""Bound the divergence between neighbours by the noise of the sums that one record changes.

This is for aggregates without a closed form. It uses the shares of these sums as the program adds them, and
the divergence of the shares' sum from itself shifted. If one record enters several sums, it uses their sum
modulo m, which is a function of the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.certify.witnesses.divergence import divergence_witness
from dpaudit.coins import Program, Sampler
from dpaudit.coins.base import To
from dpaudit.core.claims import RenyiDP, ZeroConcentratedDP
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import exact
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.views import SERVER
from dpaudit.distributions import DiscreteGaussian, Distribution, Skellam

__all__ = ["ShiftedNoise", "shifted_noise"]


class _SumRecorder(Sampler):
    """A sampler that keeps the inputs of every modular sum."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.sums: list[tuple[tuple[Distribution, ...], int]] = []

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        if through.ring is not None:
            self.sums.append((tuple(distributions), through.ring))
        return super().aggregate(distributions, through, site=site, to=to)


@dataclass(frozen=True, kw_only=True)
class ShiftedNoise:
    """Shares of noise whose sum modulo ``modulus`` one record shifts by ``shift`` > 0."""

    shares: tuple[Distribution, ...]
    shift: int
    modulus: int
    words: str

    @property
    def signal(self) -> float:
        """Return the shift squared over the variance. Divergences grow with it."""
        return self.shift**2 / sum(distribution.variance() for distribution in self.shares)

    def witness(self, claim: RenyiDP | ZeroConcentratedDP) -> Witness:
        """Return a lower bound on the divergence of the sum at the claim's order, or at order 2."""
        family, noise = _family(self.shares)
        return divergence_witness(
            claim,
            family,
            shift=self.shift,
            modulus=self.modulus,
            order=2 if isinstance(claim, ZeroConcentratedDP) else None,
            description=self.words,
            **noise,
        )


def shifted_noise(program: Program, pair: Neighbours, *, seed: int) -> ShiftedNoise | None:
    """Return the noise of the first batch that hides the change between the pair's inputs.

    Return ``None`` if no aggregate changes, or if the two inputs have different noise or numbers of
    aggregates, because then they differ by more than a shift. Only aggregates with the first one's modulus
    count, because they come before any decision on their outcomes. If several change, their sum modulo m is
    used, with all their shares and the sum of their shifts.
    """
    sides = []
    for data in (pair.left, pair.right):
        coins = _SumRecorder(np.random.default_rng(seed))
        program(coins, data)
        sides.append([distributions for distributions, modulus in coins.sums if modulus == coins.sums[0][1]])
    modulus, shift = next((modulus for _, modulus in coins.sums), 1), 0
    left, right = ([[share.noise_and_offset[0] for share in shares] for shares in side] for side in sides)
    if left != right:
        return None
    shares: list[Distribution] = []
    for here, there, noise in zip(*sides, left, strict=True):
        before, after = (sum(int(share.noise_and_offset[1]) for share in side) for side in (here, there))
        gap = after - before
        shift += gap
        shares += noise if gap else []
    if not shift:
        return None
    words = f"{pair.name}: {len(shares)} shares, shifted by {abs(shift)} in total, modulo {modulus}"
    return ShiftedNoise(shares=tuple(shares), shift=abs(shift), modulus=modulus, words=words)


def _family(shares: Sequence[Distribution]) -> tuple[Any, dict[str, Any]]:
    """Return the noise of a sum of shares, in the terms of ``divergence_witness``."""
    skellams = [distribution for distribution in shares if isinstance(distribution, Skellam)]
    if len(skellams) == len(shares):
        return "skellam", {
            "variance": sum(exact(distribution.parameters()["variance"]) for distribution in skellams)
        }
    # all users add the same share
    (only,) = {distribution for distribution in shares if isinstance(distribution, DiscreteGaussian)}
    return "discrete-gaussian-sum", {"variance": only.parameters()["sigma2"], "count": len(shares)}
