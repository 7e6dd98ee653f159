"""Sum tails of symmetric log-concave distributions on the integers without a closed cdf, in floats and balls.

In balls, the sum P(X >= k) stops at some T, and a geometric series encloses the remainder. For a log-concave
distribution the ratios p(j+1)/p(j) decrease, so the remainder is between 0 and p(T+1) / (1 - p(T+1)/p(T))
(fact F6: every later term is at most p(T+1) (p(T+1)/p(T))^i). A bad choice of T reduces the accuracy but not
the validity.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import lru_cache

import numpy as np
from flint import arb, ctx

from dpaudit.core.errors import NotTractableError
from dpaudit.distributions.lattice import LatticeDistribution
from dpaudit.distributions.scalar import Floats

__all__ = ["SymmetricLattice"]

#: The longest table of tail sums: 2^21 floats (16 MB), for standard deviations up to about 54,000.
_LONGEST = 1 << 21

#: Below this log-density a float probability is 0.
_LOWEST = -745.0


class SymmetricLattice(LatticeDistribution):
    """A distribution on the integers with p(-k) = p(k) and p log-concave, unless it overrides ``_tail_ball``.

    A subclass defines the density in floats and in balls.
    """

    @abstractmethod
    def _pmf_run_ball(self, first: int, last: int) -> list[arb]:
        """Return balls for P(X = k), k = first, ..., last, with first >= 1."""

    def _below(self, k: Floats) -> Floats:
        tails = _tail_table(self)
        end = float(len(tails) - 1)
        near = np.clip(k, -end, end - 1)
        left = tails[np.maximum(-near, 0).astype(np.int64)]
        right = 1 - tails[np.maximum(near + 1, 0).astype(np.int64)]
        return np.where(near < 0, left, right)

    def _above(self, k: Floats) -> Floats:
        return self._below(-k - 1)

    def _below_ball(self, k: int) -> arb:
        return self._above_ball(-k - 1)

    def _above_ball(self, k: int) -> arb:
        return self._tail_ball(k + 1) if k >= 0 else 1 - self._tail_ball(-k)

    def _tail_ball(self, k: int) -> arb:
        """Return P(X >= k) for k >= 1."""
        last = self._reach(k, bits=ctx.prec + 16)
        run = self._pmf_run_ball(k, last + 1)
        beyond = run[-1] / (1 - run[-1] / run[-2])
        return sum(run[:-1], arb(0)) + arb(0).union(beyond)

    def _reach(self, k: int, *, bits: int) -> int:
        """Return some T > k at which the density is ``bits`` bits below p(k), by a search in floats."""
        target = float(self._log_pmf(np.array(float(k)))) - bits * math.log(2)
        step = 1
        while float(self._log_pmf(np.array(float(k + step)))) > target:
            step *= 2
            if step > _LONGEST:
                raise NotTractableError(
                    f"a tail of {self!r} must have at most {_LONGEST} terms, got more. Use a coarser unit.",
                    code="E-TERMS-TOO-MANY",
                )
        return k + step


@lru_cache(maxsize=8)
def _tail_table(distribution: SymmetricLattice) -> Floats:
    """Return P(X >= j) for j = 0, 1, ... until it is 0 in floats.

    It is summed from the far end, so that small tails are accurate.
    """
    length = 1
    while float(distribution._log_pmf(np.array(float(length)))) > _LOWEST:
        length *= 2
        if length > _LONGEST:
            raise NotTractableError(
                f"the cdf of {distribution!r} in floats requires at most {_LONGEST} values, got more. Use "
                "sf_ball, sampling, or a coarser unit.",
                code="E-TERMS-TOO-MANY",
            )
    pmf = np.exp(distribution._log_pmf(np.arange(float(length + 1))))
    table: Floats = np.append(np.cumsum(pmf[::-1])[::-1], 0.0)
    table.flags.writeable = False
    return table
