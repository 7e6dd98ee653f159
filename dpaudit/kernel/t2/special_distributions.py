"""T2: log-concave distributions on the integers whose single masses are special functions (see
``t1.lattice``).

``dpaudit.distributions`` uses the masses of these classes.

* binomial (gamma functions): log-concave, as a sum of Bernoulli distributions;
* Skellam (Bessel functions): the difference of two Poisson distributions, each log-concave since p(k+1)/p(k)
  = l/(k+1) falls.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from dpaudit.kernel.ball import ball, enclose
from dpaudit.kernel.t1 import recurrences
from dpaudit.kernel.t1.lattice import check_run

__all__ = ["Binomial", "Skellam"]


class Skellam(recurrences.Skellam):
    """The distribution of T1 for any variance v: p(k) = e^-v I_|k|(v)."""

    def mass(self, k: int) -> arb:
        order = arb(abs(k))
        return enclose(
            lambda: ball(self.variance).bessel_i(order, scaled=True), bits=ctx.prec - 8, start=ctx.prec + 16
        )

    def masses(self, low: int, high: int) -> list[arb]:
        far = max(abs(low), abs(high))
        near = 0 if low <= 0 <= high else min(abs(low), abs(high))
        check_run(near, far)
        table = self._half(near, far)
        return [table[abs(k) - near] for k in range(low, high + 1)]

    def _half(self, near: int, far: int) -> list[arb]:
        """Return p(near), ..., p(far) from the two farthest, by I_{n-1} = I_{n+1} + (2n/v) I_n, with
        positive terms only.
        """
        table = [arb(0)] * (far - near + 2)
        table[-1], table[-2] = self.mass(far + 1), self.mass(far)
        for n in range(far, near, -1):
            table[n - near - 1] = table[n - near + 1] + table[n - near] * ball(2 * n / self.variance)
        return table


class Binomial(recurrences.Binomial):
    """The distribution of T1 for any variance, with single masses from the binomial coefficient."""

    def mass(self, k: int) -> arb:
        if not self._inside(k):
            return arb(0)
        n, p = self.trials, self.probability
        return arb.bin_uiui(n, k) * ball(p) ** k * ball(1 - p) ** (n - k)

    def masses(self, low: int, high: int) -> list[arb]:
        """Compute masses from the end nearer to the mode outward, by the exact ratio of neighbours."""
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
