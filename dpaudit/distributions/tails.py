"""Symmetric log-concave distributions on the integers without a closed cdf: tails by summation, in floats and
in balls.

In balls the sum P(X >= k) stops at some T and the rest is enclosed by a geometric series: for a log-concave
distribution the ratios p(j+1)/p(j) fall, so the rest is between 0 and p(T+1) / (1 - p(T+1)/p(T)) (fact F6:
every later term is at most p(T+1) (p(T+1)/p(T))^i). The choice of T costs accuracy if it is bad, never truth.
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

#: Longest table of tail sums: 2^21 floats (16 MB), which is a standard deviation of about 54 000.
_LONGEST = 1 << 21

#: Below this log-density a float probability is 0.
_LOWEST = -745.0


class SymmetricLattice(LatticeDistribution):
    """A distribution on the integers with p(-k) = p(k), p log-concave. A subclass gives the density and its
    balls."""

    @abstractmethod
    def _pmf_run_ball(self, first: int, last: int) -> list[arb]:
        """The balls P(X = k) for k = first, ..., last, with first >= 1."""

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
        """P(X >= k) for k >= 1."""
        last = self._reach(k, bits=ctx.prec + 16)
        run = self._pmf_run_ball(k, last + 1)
        beyond = run[-1] / (1 - run[-1] / run[-2])
        return sum(run[:-1], arb(0)) + arb(0).union(beyond)

    def _reach(self, k: int, *, bits: int) -> int:
        """Some T > k at which the density has fallen by ``bits`` bits below p(k), by float search."""
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
    """P(X >= j) for j = 0, 1, ... until it is 0 in floats; summed from the far end, so that small tails keep
    their digits.
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
