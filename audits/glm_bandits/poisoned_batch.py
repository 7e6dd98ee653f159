"""Bound delta of Algorithm 1 from below on a dataset that Assumption 4.2 allows and the model does not.

The first batch's rewards put θ_1 at 0, and the witness is the output of a user of the second batch. Batches
have the lengths that (6) prints.

Bernoulli link on {0, R}, d = 1, one arm per round, θ* = S. Arms are in [c, 1], so that 1/κ* = μ'(cS) and κ
= 1/μ'(S) are valid for both neighbours. Every user of the first batch has x = 1. Half of their rewards are
0 and half R, with one more of either if B_1 is odd. Users of the second batch have x = c. The changed user
has x = 1 or x = c.

θ_1 is an average of projected gradient steps with unbiased noise. Its mean loss is log cosh(Rθ/2) with a
ridge, up to Rθ/(2 B_1) for the odd reward. By the standard argument (convexity, unbiased noise of variance
v),

    E loss(θ_1) - loss(0) <= D²/(2 η T) + η (L² + v)/2.

By Markov's inequality, P(|Rθ_1| > 1/10) is at most this bound plus RS/(2 B_1), over log cosh(1/20). V >=
B_1/2 except with a probability given by Chebyshev's bound. If both hold, the weight at x = 1 is at least
μ'(1/(10R))/β(1) and the weight at c at most R²/4. The changed entry then moves by (w(1) - c² R²/4) κ* g - 2
integers or more, including its own roundings. Given the transcript before, the ones of the others are a sum
of independent coins, including their roundings, with the same distribution for both neighbours. Events are
half-lines of the number of ones, whose probability grows with the move. The other outputs are ignored,
which can only weaken the bound.

A message has g + b bits. An entry of w x² >= 0 needs (1 + w x² κ*) g + 1 + Bin(b, 1/4) of them at most. A
larger entry is an error, whose probability is summed over the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from audits.glm_bandits.printed_parameters import ShuffleParameters
from audits.glm_bandits.shuffled_descent import descent
from audits.glm_bandits.shuffled_sums import half_line_delta, sheet_of
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb, ball, integer, lower_short, precision
from dpaudit.reference.algorithms.contextual.links import bernoulli
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet

__all__ = ["Instance", "Poisoned", "no_room", "poisoned"]

#: |R θ_1| is at most this value, except with a bounded probability.
STRAY = Fraction(1, 10)


@dataclass(frozen=True, kw_only=True)
class Instance:
    """Rewards on {0, R}, θ* = S = ``score``/R, arms in [``nearest``, 1], horizon T, M batches.

    ``constant`` is the constant of both O() in (10).
    """

    R: int
    score: Fraction
    nearest: Fraction
    T: int
    M: int
    epsilon: Fraction
    delta: Fraction
    constant: int = 1

    @property
    def parameters(self) -> ShuffleParameters:
        """Return (6) to (15)."""
        link, S = bernoulli(self.R), self.score / self.R
        return ShuffleParameters(
            T=self.T, d=1, M=self.M, S=S, R=Fraction(self.R), epsilon=self.epsilon, delta=self.delta,
            kappa=1 / link.at(ball(S)).slope, kappa_star=1 / link.at(ball(self.nearest * S)).slope,
            sigma_factor=Fraction(self.constant), nu_factor=Fraction(self.constant),
        )  # fmt: skip

    @property
    def excess(self) -> Fraction:
        """Return the largest weight of any dataset, R²/4, in units of 1/κ*, rounded up."""
        with precision(256):
            return Fraction(integer((self.parameters.kappa_star * self.R**2 / 4).ceil()))

    def lengths(self) -> list[int]:
        """Return (6) and (7), rounded up, where an exact integer may be rounded to the next one.

        The last batch that begins before T is cut there.
        """
        with precision(256):
            printed = [integer(length.upper().ceil()) for length in self.parameters.batches()]
        used, left = [], self.T
        for length in printed:
            if left > 0:
                used.append(min(length, left))
            left -= length
        return used


@dataclass(frozen=True, kw_only=True)
class Poisoned:
    """The results for one instance.

    The fields are κ* as a ball, the lengths of the first two batches, the move in units of Δ/g, the
    probability that the move is that large, and a lower bound on delta of Algorithm 1.
    """

    kappa_star: arb
    first: int
    second: int
    move: int
    likely: Fraction
    delta: Fraction


def poisoned(at: Instance) -> Poisoned:
    """Return the witness of the second batch. Raise ``InvalidParameterError`` if the horizon cuts it."""
    with precision(400):
        return _poisoned(at)


def _poisoned(at: Instance) -> Poisoned:
    made, lengths = at.parameters, at.lengths()
    if len(lengths) < 2 or sum(lengths[:2]) >= at.T:
        raise InvalidParameterError(f"the horizon must be longer than two batches, got {at.T} and {lengths}.")
    first, second = lengths[:2]
    sheet = sheet_of(n=second, d=1, epsilon=at.epsilon / 2, delta=at.delta / 2)
    likely = lower_short((1 - _strayed(at, first) - _thin(at, first)).max(arb(0)))
    link, scale = bernoulli(at.R), (at.R * made.gamma * (2 * made.kappa / first).sqrt()).exp()
    weight = link.at(ball(STRAY / at.R)).slope / scale
    apart = (weight - ball(at.nearest**2 * at.R**2 / 4)) * made.kappa_star
    move = integer((apart * sheet.precision).floor()) - 2
    lower_bound = Fraction(0)
    if move > 0:
        lower_bound = half_line_delta(
            trials=sheet.trials * second, chance=sheet.chance, move=move, epsilon=at.epsilon, coins=second
        )
    left = lower_short((ball(lower_bound) - no_room(sheet, at.excess)).max(arb(0)))
    return Poisoned(
        kappa_star=made.kappa_star, first=first, second=second, move=move, likely=likely, delta=likely * left
    )


def no_room(sheet: VectorSheet, excess: Fraction, *, times: int = 1) -> arb:
    """Bound the probability that some entry of a batch needs more than g + b ones.

    The bound covers ``times`` batches of its size and entries at most ``excess`` Δ. It uses Hoeffding's
    inequality for Bin(b, p), and is 1 if there is no room.
    """
    room = sheet.trials * (1 - sheet.chance) - excess * sheet.precision - 1
    if room <= 0:
        return arb(1)
    return times * sheet.batch_size * ball(-2 * room**2 / sheet.trials).exp()


def _strayed(at: Instance, n: int) -> arb:
    """Bound P(|Rθ_1| > 1/10): descent on ``n`` users, D = 2S, L = R + RS, η = 2D/(L √T)."""
    made = at.parameters
    run = descent(n=n, d=1, epsilon=at.epsilon / 2, delta=at.delta / 2)
    L, D, sheet = ball(made.R + made.R * made.S), ball(2 * made.S), run.sheet
    if not ball(made.S) * made.ridge_upper / n < ball(made.R * made.S):
        raise InvalidParameterError("the ridge must keep the loss (R + RS)-Lipschitz; take a longer batch.")
    # the call's epsilon is rounded up by less than one part in a hundred
    noise = Fraction(102, 100) * (sheet.trials * sheet.chance * (1 - sheet.chance) + Fraction(1, 4))
    variance = L**2 * ball(noise / (sheet.precision**2 * n))
    rate = 2 * D / (L * arb(run.steps).sqrt())
    gap = D**2 / (2 * rate * run.steps) + rate * (L**2 + variance) / 2
    gap = gap + ball(made.R * made.S) / (2 * n)  # the odd reward
    return gap / ball(STRAY / 2).cosh().log() + no_room(sheet, Fraction(1), times=run.steps)


def _thin(at: Instance, n: int) -> arb:
    """Bound P(V < B_1/2) and the probability that a message of that sum has no room.

    V is at least ``n`` plus the noise of the first matrix sum.
    """
    sheet = sheet_of(n=n, d=1, epsilon=at.epsilon / 2, delta=at.delta / 2)
    variance = n * (sheet.trials * sheet.chance * (1 - sheet.chance) + Fraction(1, 4)) / sheet.precision**2
    return ball(4 * variance / n**2) + no_room(sheet, Fraction(1))
