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

Replace-one. Let the record be replaced instead, by another one of l2 norm at most D. For epsilon >= 0, delta
is at most that of (M, N(0, 1)) with mu = 2 D / sqrt(v), in both directions, and the step is mu-GDP.

More generally, this holds for every hidden sample such that both outcomes are mixtures (1 - q) w0 + q w1 and
(1 - q) w0 + q w1', where (w1, w0), (w1, w1') and (w1', w0) are each averages, with common weights, of pairs
N(a, v I) and N(b, v I) with |a - b| <= 2 D. For a Poisson sample, w0 is the outcome if the record is not in
the sample, and a and b are sums of the same other records, with the record, its replacement, or neither.

Proof. Let H_t(A | B) be the supremum over events E of A(E) - t B(E), and t = e^epsilon >= 1. With u = 1 + (t
- 1) / q and b = t / u, the common part cancels (Balle, Barthe, Gaboardi 2018, Theorem 2):

    H_t((1 - q) w0 + q w1 | (1 - q) w0 + q w1') = q H_u(w1 | (1 - b) w0 + b w1'),

because A - t B on the left is q w1 - (t - 1)(1 - q) w0 - t q w1', and (t - 1)(1 - q) = q u (1 - b), t = u b.
H_u is jointly convex, so this is at most q times the largest H_u(N(a, v I) | N(b, v I)), which is at most
H_u(N(mu, 1) | N(0, 1)). For w1 = N(mu, 1) and w0 = w1' = N(0, 1), the same equation gives H_t(M | N(0, 1)). A
smaller q gives a smaller H_t, by the first map above. Exchange the records for the other direction. Given the
sample, the outcomes are normal with means at most 2 D apart, and the sample has the same distribution on both
sides: mu-GDP. ∎

Samples of a fixed size. Under replace-one the same bounds hold, with q = m/n, if the sample is a set of m of
n > m records, uniformly among all such sets, and n is public.

Proof. Let record i change, and let r_k be the contribution of record k and r_i' that of the replacement. It
is in the sample with probability q, on both sides, and without it the outcome w0 does not depend on it. Let T
be a uniform set of m - 1 of the other records, and j a uniform one of the others that are not in T. Then T
and i make a uniform sample with record i, and T and j a uniform sample of m others, without it. With s the
sum of T, w1, w1' and w0 are the averages over (T, j) of N(s + r_i, v I), N(s + r_i', v I) and N(s + r_j, v
I), with the same weights. All contributions have l2 norm at most D, so these means are at most 2 D apart. QED
(Balle, Barthe, Gaboardi 2018, Theorem 11, is this coupling.)

Renyi divergence. Let m = 1 - q + q w be the density of M relative to N(0, 1), with w(y) = exp(mu y - mu^2/2),
and n >= 2 an integer. E is the expectation under N(0, 1). As the divergence rises in the order, other orders
are rounded up.

* M against N(0, 1): E[m^n] is the sum over k of C(n, k) (1 - q)^(n - k) q^k E[w^k], and E[w^k; y > c] =
  exp((k^2 - k) mu^2 / 2) Phi(k mu - c).
* N(0, 1) against M: E[m^(1 - n)], an integral in ball arithmetic.
* Replace-one, of A against B: the n-th moment is 1 + the integral over t > 1 of n (n - 1) (t^(n - 2) H_t(A |
  B) + t^(-n - 1) H_t(B | A)) (Sason and Verdu 2016, equation 80). H_t(M | N(0, 1)) = E[(m - t)_+] bounds
  both. Swap integral and expectation, with m > 1 for y > c = mu / 2: the integral of n (n - 1) t^(n - 2) (m -
  t)_+ is m^n - n m + n - 1, and that of n (n - 1) t^(-n - 1) (m - t)_+ is m^(1 - n) + (n - 1) m - n. So the
  moment is at most 1 + E[m^n + m^(1 - n) - m - 1; y > c]. ∎

Source: Abadi et al. 2016; Mironov, Talwar, Zhang 2019, Theorem 4 and 5; Zhu, Dong, Wang 2022, Theorem 11;
Koskela, Jalko, Honkela 2020. The two directions differ, and a composition keeps them separate (``pairs``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

from flint import acb, arb

from dpaudit.kernel.ball import ball, enclose, precision, sign_of, upper_exact
from dpaudit.kernel.kernel_t0 import (
    EVENT,
    REPLACE_ONE,
    Guarantee,
    Parameters,
    Setting,
    moved,
    participation,
)
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, from_cells
from dpaudit.kernel.t1.profiles import profile_pair
from dpaudit.kernel.t1.tier import Curves, Tier
from dpaudit.kernel.t2.gaussian import normal_cdf

__all__ = ["Step", "add_subsampled_gaussian"]

#: The mass of N(0, 1) beyond this is below 1e-88. Renyi divergences of larger orders, or of records that
#: move further, ignore the sample, because their integrals would take minutes.
FAR, MAX_ORDER, MAX_MU_SQUARED = 20, 256, 400


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

    def replaced(self, epsilon: Fraction) -> arb:
        """Return a bound on delta at ``epsilon`` >= 0 of a step in which a record is replaced."""
        return enclose(lambda: self._removed(ball(epsilon)))

    def renyi(self, order: Fraction, *, replaced: bool) -> arb:
        """Return a bound on the Renyi divergence of ``order`` > 1, the larger one of both directions."""
        n = max(2, math.ceil(order))
        if n > MAX_ORDER or self.mu_squared > MAX_MU_SQUARED:
            return ball(order * self.mu_squared / 2)  # without the sample
        return enclose(lambda: (self._replaced_moment(n) if replaced else self._moment(n)).log() / (n - 1))

    def _moment(self, n: int) -> arb:
        return self._raised(n, None).max(self._lowered(n, arb(-FAR)) + self._beyond(n))

    def _beyond(self, n: int) -> arb:
        """Return a bound on E[m^(1 - n); y < -FAR], as m > 1 - q."""
        return ball(1 - self.rate) ** (1 - n) * normal_cdf(arb(-FAR))

    def _replaced_moment(self, n: int) -> arb:
        c = self.mu / 2
        mixed, plain = self.above(c)
        return 1 + self._raised(n, c) + self._lowered(n, c) - mixed - plain

    def _raised(self, n: int, c: arb | None) -> arb:
        """Return E[m^n; y > c], without a bound on y if ``c`` is None."""
        return sum(
            (
                ball(math.comb(n, k) * (1 - self.rate) ** (n - k) * self.rate**k)
                * (ball((k * k - k) * self.mu_squared / 2)).exp()
                * (arb(1) if c is None else normal_cdf(k * self.mu - c))
                for k in range(n + 1)
            ),
            arb(0),
        )

    def _lowered(self, n: int, c: arb) -> arb:
        """Return a bound on E[m^(1 - n); y > c]. Beyond FAR, m > 1 and the mass is that of N(0, 1)."""
        q, mu, half = ball(self.rate), self.mu, ball(self.mu_squared / 2)
        far = arb(FAR) + mu

        def integrand(y: acb, _: bool) -> acb:
            m = 1 - q + q * (mu * y - half).exp()
            return (-y * y / 2).exp() / m ** (n - 1)

        found = acb.integral(integrand, acb(c), acb(far)).real / (2 * arb.pi()).sqrt()
        return found + normal_cdf(-far)

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
        p.need(
            setting.unit == EVENT,
            f"one record must change, per event (a user with one record is an event), got {setting.unit}.",
        )
        replaced = setting.adjacency == REPLACE_ONE
        p.need(
            not replaced or not p.is_table("sensitivity"),
            "the norm of a record must be a number under replace-one.",
        )
        p.need(not setting.holds_users, "no user may be in view, who knows their sampling; use billboard.")
        change = moved(p, setting) * (2 if replaced else 1)
        rate, mu_squared = p.positive("rate"), change**2 / p.positive("variance")
        p.need(rate < 1, f"rate must be in (0, 1), got {rate}.")
        assumed = list(participation(setting))
        if setting.view[0] != {"public"}:
            assumed.append("nobody in the view knows whether the changed record was sampled")
        if mu_squared == 0:
            return Guarantee(pure=Fraction(0), gdp_squared=Fraction(0), assumptions=tuple(assumed))
        step = Step(mu_squared, rate)
        renyi = partial(step.renyi, replaced=replaced)
        if replaced:
            curves = Curves(
                profile=step.replaced, pair=lambda grid: profile_pair(step.replaced, None, grid), renyi=renyi
            )
        else:
            curves = Curves(profile=step.delta, directed=step.pairs, renyi=renyi)
        return Guarantee(gdp_squared=mu_squared, curves=curves, assumptions=tuple(assumed))
