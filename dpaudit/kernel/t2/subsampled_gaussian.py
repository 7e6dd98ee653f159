"""T2, rule ``poisson-subsampled-gaussian``: Gaussian noise on a sum over a Poisson subsample.

This is one step of private stochastic gradient descent.

Statement. Every record is in the sample with probability at most q (``rate``), independently and unseen; the
sum of the sampled records' contributions, each of l2 norm at most D (``sensitivity``), is shown with N(0, v)
noise in every coordinate. Put mu = D / sqrt(v) and M = (1 - q) N(0, 1) + q N(mu, 1). Between data with a
record and without it, (M, N(0, 1)) dominates (with, without), and (N(0, 1), M) dominates (without, with); so
they do for a record that is replaced by a null record, which adds nothing. The step is also mu-GDP.

Proof. Fix the sample of the other records, which has the same distribution on both sides, and its sum.
Without the record the outcome is N(s, v I), with it a mixture, with weights 1 - q' and q', q' <= q, of N(s, v
I) and N(s + x, v I), |x| <= D. Rotate x to the first axis, scale to deviation 1: (1 - q') N(0, 1) + q' N(m,
1) against N(0, 1) with m <= mu; the other coordinates are independent noise. From y ~ M or N(0, 1) one gets
this pair by two random maps: keep y with probability q'/q, otherwise draw N(0, 1) anew (M becomes the mixture
with q', N(0, 1) stays); then y m/mu + sqrt(1 - m^2/mu^2) N(0, 1), which takes N(mu, 1) to N(m, 1) and N(0, 1)
to itself. So the pair is dominated for every sample of the others, in either direction; and so is its
average, for which one draws the others' sample beforehand. From N(mu, 1) and N(0, 1) the same first map with
probability q makes M and N(0, 1): mu-GDP. A contribution may depend on earlier outcomes: the bound holds for
every prefix (F4 of ``certpld``). ∎

The loss of M against N(0, 1) at y is log(1 - q + q exp(mu y - mu^2/2)): it rises in y from log(1 - q), and
equals l at y = (log((e^l - 1 + q)/q) + mu^2/2) / mu. So loss cells are intervals, whose masses are
differences of normal distribution functions (``from_cells``), and the best events are half-lines: delta of
one step is exact.

Source: Abadi et al. 2016; Mironov, Talwar, Zhang 2019, Theorem 4 and 5; Zhu, Dong, Wang 2022, Theorem 11;
Koskela, Jalko, Honkela 2020. The two directions differ, and a composition keeps them separate (``pairs``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpaudit.kernel.ball import ball, enclose, precision, sign_of, upper_exact
from dpaudit.kernel.kernel_t0 import (
    ADD_REMOVE,
    EVENT,
    ZERO_OUT,
    Guarantee,
    Parameters,
    Setting,
    moved,
    participation,
)
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, from_cells
from dpaudit.kernel.t1.tier import Curves, Tier
from dpaudit.kernel.t2.gaussian import normal_cdf

__all__ = ["Step", "add_subsampled_gaussian"]


@dataclass(frozen=True)
class Step:
    """One step with ``mu_squared`` = D^2 / v > 0 and the sampling ``rate`` q in (0, 1)."""

    mu_squared: Fraction
    rate: Fraction

    @property
    def mu(self) -> arb:
        return ball(self.mu_squared).sqrt()

    def place(self, loss: arb) -> arb | None:
        """Return the y at which M has ``loss`` against N(0, 1), or ``None`` if the loss is larger
        everywhere.
        """
        above = loss.exp() - ball(1 - self.rate)
        if above <= 0:
            return None
        return ((above / ball(self.rate)).log() + ball(self.mu_squared / 2)) / self.mu

    def below(self, y: arb | None) -> tuple[arb, arb]:
        """Return the masses of M and of N(0, 1) below y."""
        if y is None:
            return arb(0), arb(0)
        plain = normal_cdf(y)
        return ball(1 - self.rate) * plain + ball(self.rate) * normal_cdf(y - self.mu), plain

    def above(self, y: arb | None) -> tuple[arb, arb]:
        """Return the masses of M and of N(0, 1) above y."""
        if y is None:
            return arb(1), arb(1)
        plain = normal_cdf(-y)
        return ball(1 - self.rate) * plain + ball(self.rate) * normal_cdf(self.mu - y), plain

    def delta(self, epsilon: Fraction) -> arb:
        """Return delta at ``epsilon`` >= 0 of one step, the larger one of both directions, as a ball."""
        forth = enclose(lambda: self._removed(ball(epsilon)))
        if sign_of(lambda: (-ball(epsilon)).exp() - ball(1 - self.rate)) <= 0:  # no loss is that large
            return forth
        return forth.max(enclose(lambda: self._added(ball(epsilon))))

    def _removed(self, epsilon: arb) -> arb:
        p, q = self.above(self.place(epsilon))
        return p - epsilon.exp() * q

    def _added(self, epsilon: arb) -> arb:
        q, p = self.below(self.place(-epsilon))
        return p - epsilon.exp() * q

    def reach(self, grid: Grid) -> Fraction:
        """Return a loss of M against N(0, 1) beyond which M has at most the grid's tail."""
        y = self.mu + arb(2 * grid.tail).sqrt()  # the mass beyond is at most exp(-tail), by exp(-z^2 / 2)
        rise = (self.mu * y - ball(self.mu_squared / 2)).exp()
        return upper_exact((ball(1 - self.rate) + ball(self.rate) * rise).log())

    @lru_cache(maxsize=8)  # noqa: B019  # a step is a value
    def pairs(self, grid: Grid) -> tuple[LossDistribution, LossDistribution]:
        """Return the upper distributions of (M, N(0, 1)) and of (N(0, 1), M)."""
        with precision(grid.precision):
            least = upper_exact(-ball(1 - self.rate).log())
            far, near = math.ceil(self.reach(grid) / grid.step) + 1, math.ceil(least / grid.step) + 1
            up = _last(lambda loss: self.below(self.place(loss)))
            down = _last(lambda loss: self.above(self.place(-loss)))
            forth = from_cells(
                grid, p_upto=lambda x: up(x)[0], q_upto=lambda x: up(x)[1], low=-near, high=far
            )
            back = from_cells(
                grid, p_upto=lambda x: down(x)[1], q_upto=lambda x: down(x)[0], low=-far, high=near
            )
            return forth, back


def _last(compute: Callable[[arb], tuple[arb, arb]]) -> Callable[[arb], tuple[arb, arb]]:
    """Cache the last value of ``compute``, because both masses are needed at each point in turn."""
    known: list[tuple[arb, tuple[arb, arb]]] = []

    def value(x: arb) -> tuple[arb, arb]:
        if not known or known[0][0] is not x:
            known[:] = [(x, compute(x))]
        return known[0][1]

    return value


def add_subsampled_gaussian(tier: Tier) -> None:
    """Add the rule ``poisson-subsampled-gaussian``."""

    @tier.rule("poisson-subsampled-gaussian")
    def _subsampled(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        one = setting.adjacency in (ADD_REMOVE, ZERO_OUT) and setting.unit == EVENT
        p.need(
            one,
            "one record must be added, removed or made null, per event (a user with one record is an event), "
            f"got {setting.adjacency} per {setting.unit}.",
        )
        p.need(not setting.holds_users, "no user may be in view, who knows their sampling; use billboard.")
        rate, mu_squared = p.positive("rate"), moved(p, setting) ** 2 / p.positive("variance")
        p.need(rate < 1, f"rate must be in (0, 1), got {rate}.")
        assumed = list(participation(setting))
        if setting.view[0] != {"public"}:
            assumed.append("nobody in the view knows whether the changed record was sampled")
        if mu_squared == 0:
            return Guarantee(pure=Fraction(0), gdp_squared=Fraction(0), assumptions=tuple(assumed))
        step = Step(mu_squared, rate)
        curves = Curves(profile=step.delta, directed=step.pairs)
        return Guarantee(gdp_squared=mu_squared, curves=curves, assumptions=tuple(assumed))
