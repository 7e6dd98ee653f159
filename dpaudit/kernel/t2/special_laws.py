"""T2: log-concave laws on the integers whose single masses are special functions (see ``t1.lattice``).

* binomial (log-gamma): log-concave, as a sum of Bernoulli laws;
* Skellam (Bessel functions): the difference of two Poisson laws, each log-concave since p(k+1)/p(k) = l/(k+1)
  falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from dpaudit.kernel.ball import ball
from dpaudit.kernel.t1 import recurrences
from dpaudit.kernel.t1.lattice import LogConcave, check_run

__all__ = ["Binomial", "Skellam"]


@dataclass(frozen=True)
class Skellam(LogConcave):
    """The difference of two independent Poisson(variance / 2): p(k) = e^-v I_|k|(v), v the variance."""

    variance: Fraction

    @property
    def centre(self) -> int:
        return 0

    @property
    def symmetric(self) -> bool:
        return True

    def mass(self, k: int) -> Any:
        v = ball(self.variance)
        return v.bessel_i(arb(abs(k))) * (-v).exp()

    def masses(self, low: int, high: int) -> list[Any]:
        far = max(abs(low), abs(high))
        near = 0 if low <= 0 <= high else min(abs(low), abs(high))
        check_run(near, far)
        table = self._half(near, far)
        return [table[abs(k) - near] for k in range(low, high + 1)]

    def _half(self, near: int, far: int) -> list[Any]:
        """p(near), ..., p(far) from the two farthest, by I_{n-1} = I_{n+1} + (2n/v) I_n: only positive
        terms.
        """
        twice = 2 / ball(self.variance)
        table = [arb(0)] * (far - near + 2)
        table[-1], table[-2] = self.mass(far + 1), self.mass(far)
        for n in range(far, near, -1):
            table[n - near - 1] = table[n - near + 1] + table[n - near] * (twice * n)
        return table


class Binomial(recurrences.Binomial):
    """The same law as in T1, of any variance: single masses by the log-gamma function."""

    def mass(self, k: int) -> Any:
        if not self._inside(k):
            return arb(0)
        n, p = self.trials, ball(self.probability)
        log = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
        return (log + k * p.log() + (n - k) * (1 - p).log()).exp()

    def masses(self, low: int, high: int) -> list[Any]:
        """From the end nearer to the mode outward, by the ratio of neighbours: each step one exact factor."""
        check_run(low, high)
        odds = ball(self.probability / (1 - self.probability))
        result = [arb(0)] * (high - low + 1)
        start, end = max(low, 0), min(high, self.trials)
        if start > end:
            return result
        value = self.mass(start)
        for k in range(start, end + 1):
            result[k - low] = value
            value = value * (odds * ball(Fraction(self.trials - k, k + 1)))
        return result
