"""Check Lemma E.11 at one instance: two orthogonal arms, of which the worse one survives every earlier
batch.

d = 2, R = 1, logistic rewards, one context: arms of norm ``RHO`` along the axes with scores z and z -
Delta, S = 3z/2. There are four batches, and the last is examined. Delta is half the sum of the printed
widths gamma sqrt(kappa) ||x|| in H_3^-1 at their shortest, when the design has 51 of 100 arms of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from audits.glm_bandits.printed_parameters import ShuffleParameters
from dpaudit.core.errors import UndecidedError
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import logistic

__all__ = ["RHO", "Survivor"]

RHO = Fraction(99, 100)
#: The largest share of a batch that has the same arm, and the least probability of the events.
SHARE, SURE = Fraction(51, 100), Fraction(99, 100)


@dataclass(frozen=True, kw_only=True)
class Survivor:
    """The instance with scores near ``score`` at T = 10^``power``, epsilon = 1, delta = 1/10."""

    score: Fraction
    power: int

    def parameters(self) -> ShuffleParameters:
        """Return the parameters, with kappa at the score.

        kappa* = kappa is a lower bound on the kappa* of Delta and replaces it. Delta is tiny, see
        ``wobble``.
        """
        kappa = 1 / logistic().at(ball(self.score)).slope
        return ShuffleParameters(
            T=10**self.power, d=2, M=4, S=3 * self.score / 2, kappa=kappa, kappa_star=kappa,
            epsilon=Fraction(1), delta=Fraction(1, 10),
        )  # fmt: skip

    def gap(self) -> arb:
        """Return Delta, on scores."""
        parameters = self.parameters()
        design = ball(SHARE * RHO**2) * parameters.batches()[2] / parameters.kappa_star
        return parameters.gamma * parameters.kappa.sqrt() * ball(RHO) / (design + self.ridges()[1]).sqrt()

    def wobble(self) -> arb:
        """Return the largest factor between slopes at the two scores."""
        return self.gap().exp()

    def ridges(self) -> tuple[arb, arb]:
        """Return lambda_min and lambda_max of Observation 1 with half of sigma as its proxy.

        lambda_min is then at least 20 d R log T, as E.4 requires.
        """
        parameters = self.parameters()
        return parameters.ridge - parameters.noise_norm / 2, parameters.ridge + parameters.noise_norm / 2

    def share_of_radius(self) -> arb:
        """Return gamma(lambda_max, lambda_min) of (29) in units of gamma of (9)."""
        parameters = self.parameters()
        return parameters.confidence(*self.ridges()) / parameters.gamma

    def survives(self) -> bool:
        """Return whether no earlier batch eliminates the worse arm if E.6 and E.9 hold.

        The condition is that both widths minus both errors are at least Delta. Raise ``UndecidedError`` if
        the balls do not decide it.
        """
        parameters, used = self.parameters(), self.share_of_radius()
        lengths = parameters.batches()
        first = ball(SHARE * RHO**2) * lengths[0] + self.ridges()[1]  # V, along an arm
        warm = 2 * (1 - used) * parameters.gamma * parameters.kappa.sqrt() * ball(RHO) / first.sqrt()
        late = 2 * (1 - used / parameters.kappa.sqrt())  # in units of Delta; earlier batches are shorter
        enough = self.wobble()  # H_3's slopes are within this factor of 1/kappa*
        if warm >= self.gap() and late >= enough and lengths[2] >= lengths[1]:
            return True
        if warm < self.gap() or late < 1:
            return False
        raise UndecidedError(f"the widths {warm} do not decide survival for this gap; take another horizon.")

    def loss(self) -> arb:
        """Return a lower bound on E[mu(<x*, theta*>) - mu(<x, theta*>)] in the last batch.

        Each arm is played with probability 1/2.
        """
        return ball(SURE) / 2 * self.gap() / (self.parameters().kappa * self.wobble())

    def bound(self) -> arb:
        """Return E.11's right side for c = 1, with phi = sqrt(kappa) e^(3S) gamma^2 / S of appendix F, the
        larger one."""
        parameters = self.parameters()
        first, *_, before, _ = parameters.batches()
        phi = (
            parameters.kappa.sqrt()
            * (3 * ball(parameters.S)).exp()
            * parameters.gamma**2
            / ball(parameters.S)
        )
        late = parameters.gamma / before.sqrt() * (4 * self.wobble() / parameters.kappa_star).sqrt()
        return phi * 4 / (first * before).sqrt() + late
