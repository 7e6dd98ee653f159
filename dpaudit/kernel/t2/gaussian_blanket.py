"""Rule ``shuffled-gaussian``: shuffled messages with Gaussian noise, by a blanket that almost covers them.

Statement. Each of n users sends a point of R^k plus N(0, v I); any two points that users may hold are at most
D apart. The messages are shuffled. With m = D / (2 sqrt v), E = e^epsilon, any split t >= 0, gamma = e^-t and

    L = exp(m Z - m^2/2) - E exp(-m Z - m^2/2),   Z ~ N(0, 1),   V = L with probability gamma, 0 otherwise,

delta(epsilon) <= E[(V_1 + ... + V_n)_+] / (gamma n) + (n - 1) gamma d(t) (E - 1 + 2 d(epsilon)), V_i
independent, where d is the exact delta of N(0, 1) against N(2m, 1). It is at most d(epsilon), too, by
post-processing.

Proof. Let the changed user hold x or x', c = (x + x')/2, W = N(c, v I), and x_i the other points: |x_i - c|
<= D, as a ball around x_i holds x, x' and so c. *Almost covered:* the mass of (gamma W - N(x_i, v I))_+ is
gamma times the hockey-stick divergence of order 1/gamma = e^t of W from N(x_i, v I), at most gamma d(t). As
in ``approximate_shuffle`` there is r_i' >= gamma W with r_i - r_i' = s - u, masses s, u of the same size, at
most gamma d(t). For an event S, P(S) - E P'(S) is linear in the distribution of user i; with s in its place
it is at most |s| d(epsilon), and with u in its place at least -|u| (E - 1 + d(epsilon)) (the complement of
S). So replacing one user costs at most gamma d(t) (E - 1 + 2 d(epsilon)). *Blanket:* by the lemma of
``blanket``, whose proof needs only that the others' distributions are above gamma W, the rest is at most
E[(sum of V_i')_+]/(gamma n) with L' = (N(x) - E N(x'))/W under W. Along x - x' that is L with m' = |x -
x'|/(2 sqrt v) <= m for m; the other coordinates cancel. *Largest at m:* with Brownian motion B, L at m has
the distribution of M_s = exp(B_s - s/2) - E exp(-B_s - s/2) at s = m^2, a martingale; so for convex f, E
f(M_s) grows with s. f(y) = E[(y + others)_+], one copy after the other, gives the claim. ∎

Computation. L rises with Z. On a grid with step h, E of a convex function of V is at most that of its
interpolation at the grid points, that is with mass (C(j-1) - 2 C(j) + C(j+1))/h at jh, C(j) = E(L - jh)_+ =
N(m - a) - E N(-m - a) - jh N(-a), L(a) = jh, N the normal distribution function. The mass below the grid is
moved up to its lowest point. The values above it are cut to the highest, H, at the cost of E(L - H)_+ (by (a
+ b)_+ <= a_+ + b_+, n times gamma of it over gamma n). Masses are rounded up, convolved as upper loss
distributions (``certpld``), and mass moved to infinity there is charged with n times H. ∎

Conditions. As ``shuffle``. The mechanism includes the condition that any two users' points, not only the two
of one user, are within the sensitivity, and the common variance.

Source: Balle, Bell, Gascon, Nissim 2019, Lemma 5.3, for blankets below all of the others' distributions.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb, fmpz_poly

from dpaudit.kernel.ball import ball, integer, precision
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, power
from dpaudit.kernel.t2.gaussian import gaussian_delta, normal_cdf

__all__ = ["gaussian_blanket_delta"]

#: Largest number of grid points of one copy.
MAX_POINTS = 5_000


def gaussian_blanket_delta(
    *, users: int, mu_squared: Fraction, split: Fraction, epsilon: Fraction, grid: Grid
) -> arb:
    """Return a ball whose upper end bounds delta at ``epsilon`` >= 0 of n = ``users`` shuffled Gaussian
    messages.

    ``mu_squared`` = D²/v > 0 is the squared sensitivity over the variance, and ``split`` the split t.
    ``grid.step`` is the step of the values of L, whose deviation is about sqrt(``mu_squared``).
    """
    uncovered, own = gaussian_delta(mu_squared, split), gaussian_delta(mu_squared, epsilon)
    with precision(grid.precision):
        each = ball(epsilon).exp() - 1 + 2 * ball(own)
        cost = ball((users - 1) * uncovered) * ball(-split).exp() * each
        low, high = _ends(_Excess(ball(mu_squared).sqrt() / 2, ball(epsilon).exp()), grid)
    if cost >= 1 or high - low > MAX_POINTS:  # useless or too much work, so only the local bound remains
        return arb(1)
    return _covered(users, mu_squared, split, epsilon, grid) + cost


@lru_cache(maxsize=128)
def _covered(users: int, mu_squared: Fraction, split: Fraction, epsilon: Fraction, grid: Grid) -> arb:
    """Return E[(sum of n copies of V)_+] / (gamma n).

    The value is cached, because it is needed when a proof is made and when it is checked.
    """
    with precision(grid.precision):
        gamma = ball(-split).exp()
        low, high, points = _points(ball(mu_squared).sqrt() / 2, ball(epsilon).exp(), grid)
        masses = {low + j: grid.units(gamma * mass) for j, mass in enumerate(points)}
        masses[0] = masses.get(0, 0) + grid.units(1 - gamma)
        start, end = min(masses), max(masses)
        poly = fmpz_poly([masses.get(j, 0) for j in range(start, end + 1)])
        whole = power(LossDistribution(grid=grid, low=start, poly=poly, infinite=0), users)
        total = arb(whole.infinite) * users * max(high, 0)
        for j, units in enumerate(whole.poly.coeffs()):
            if whole.low + j > 0:
                total += arb(units) * (whole.low + j)
        rest = _Excess(ball(mu_squared).sqrt() / 2, ball(epsilon).exp()).above(ball(grid.step) * high)
        return total * ball(grid.step) / arb(2) ** grid.bits / (gamma * users) + rest


class _Excess:
    """The function E(L - x)_+ and the place a with L(a) = x."""

    def __init__(self, m: arb, e: arb) -> None:
        self.m, self.e = m, e
        self.factor = (-m * m / 2).exp()

    def place(self, x: arb) -> arb:
        """Return log(y)/m for the y > 0 with factor (y - e/y) = x."""
        root = (x * x + 4 * self.e * self.factor**2).sqrt()
        y = (x + root) / (2 * self.factor) if x > 0 else 2 * self.e * self.factor / (root - x)
        return y.log() / self.m

    def value(self, z: arb) -> arb:
        """Return L at Z = z."""
        return self.factor * ((self.m * z).exp() - self.e * (-self.m * z).exp())

    def above(self, x: arb) -> arb:
        a = self.place(x)
        return normal_cdf(self.m - a) - self.e * normal_cdf(-self.m - a) - x * normal_cdf(-a)


def _points(m: arb, e: arb, grid: Grid) -> tuple[int, int, list[arb]]:
    """Return the lowest and the highest index of L on the grid, and the masses between them."""
    excess, step = _Excess(m, e), ball(grid.step)
    low, high = _ends(excess, grid)
    curve = [excess.above(step * j) for j in range(low, high + 1)]
    masses = [1 + (curve[1] - curve[0]) / step]
    masses += [(curve[j - 1] - 2 * curve[j] + curve[j + 1]) / step for j in range(1, high - low)]
    # The highest point also takes the mass above it. Values are cut to H, and the caller charges the rest.
    masses.append((curve[-2] - curve[-1]) / step)
    return low, high, masses


def _ends(excess: _Excess, grid: Grid) -> tuple[int, int]:
    """Return indices between which L lies but for probability about 2^-tail at either end. Any indices are
    valid.
    """
    reach = (2 * arb.const_log2() * grid.tail).sqrt()
    low, high = (integer((excess.value(z) / ball(grid.step)).mid().floor()) for z in (-reach, reach))
    return low, high + 1
