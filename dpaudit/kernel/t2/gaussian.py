"""T2: Gaussian DP, from mu to delta and to a loss distribution, by the complementary error function.

mu-GDP to the profile (Dong, Roth, Su 2022, Corollary 2.13): delta(e) <= Phi(mu/2 - e/mu) - e^e Phi(-mu/2 -
e/mu). GDP is defined by the pair N(0, 1) against N(mu, 1).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball, enclose, precision, upper_exact
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, from_cells
from dpaudit.kernel.t1.pairs import response_pair
from dpaudit.kernel.t1.readout import probability

__all__ = ["gaussian_delta", "gaussian_pair", "normal_cdf"]


def gaussian_delta(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Return delta at ``epsilon`` of every mu-GDP mechanism."""
    if mu_squared == 0:
        return Fraction(0)

    def compute() -> arb:
        mu = ball(mu_squared).sqrt()
        near, far = mu / 2 - ball(epsilon) / mu, -mu / 2 - ball(epsilon) / mu
        return normal_cdf(near) - ball(epsilon).exp() * normal_cdf(far)

    return probability(enclose(compute))


def normal_cdf(x: arb) -> arb:
    """Return P(N(0, 1) <= x), accurate in the lower tail."""
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian_pair(mu_squared: Fraction, grid: Grid) -> LossDistribution:
    """Return N(0, 1) against N(mu, 1): the loss is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q."""
    if mu_squared == 0:
        return response_pair(Fraction(0), grid)
    with precision(grid.precision):
        mean = ball(mu_squared / 2)
        deviation = ball(mu_squared).sqrt()
        # The mass beyond z deviations is at most exp(-z^2 / 2), which is within the grid's tail. It is
        # counted anyway.
        reach = upper_exact(mean + deviation * arb(2 * grid.tail).sqrt())
        end = int(reach / grid.step) + 2
        scale = (2 * ball(mu_squared)).sqrt()
        return from_cells(
            grid,
            p_upto=lambda x: (-(x - mean) / scale).erfc() / 2,
            q_upto=lambda x: (-(x + mean) / scale).erfc() / 2,
            low=-end,
            high=end,
        )
