"""Build ridge problems of a generalized linear model whose minimiser is known, for Lemma R.1.

Arms x_i span R^d, and each is pulled ``copies`` times with the same reward each time. Given a minimiser
theta_min, the rewards r_i = mu(<x_i, theta_min>) + ridge s_i/copies, where Σ s_i x_i = theta_min, make the
gradient of L(theta) = Σ b(<x, theta>) - r <x, theta> + (ridge/2) |theta|² vanish there. So no equation is
solved in floats. R = 1, logistic.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb_mat

from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import logistic

__all__ = ["ARMS", "RidgeProblem", "drawn_problem", "root"]

Vector = tuple[Fraction, ...]

#: Arms in the unit ball that span R^d. The j-th arm is within the first j coordinates.
ARMS: dict[int, tuple[Vector, ...]] = {
    1: ((Fraction(1),),),
    2: ((Fraction(1), Fraction(0)), (Fraction(3, 5), Fraction(4, 5))),
    3: (
        (Fraction(1), Fraction(0), Fraction(0)),
        (Fraction(3, 5), Fraction(4, 5), Fraction(0)),
        (Fraction(2, 7), Fraction(3, 7), Fraction(6, 7)),
    ),
}
LINK = logistic()


@dataclass(frozen=True)
class RidgeProblem:
    """A problem in which theta_min minimises L, theta_star is the true parameter and theta_hat an
    optimizer's output.

    The N of H(theta) is ``share`` * ridge * I, with share <= 1 (R.1 requires N <= ridge I).
    """

    copies: int
    ridge: Fraction
    theta_min: Vector
    theta_star: Vector
    theta_hat: Vector
    share: Fraction = Fraction(1)

    @property
    def arms(self) -> tuple[Vector, ...]:
        """Return the arms, (d, d)."""
        return ARMS[len(self.theta_min)]

    def rewards(self) -> list[arb]:
        """Return the reward of each arm. The problem meets R.1's conditions if all lie in [0, 1]."""
        parts = _coordinates(self.arms, self.theta_min)
        means = [LINK.at(ball(_dot(x, self.theta_min))).mean for x in self.arms]
        return [mean + ball(self.ridge * s / self.copies) for mean, s in zip(means, parts, strict=True)]

    def admissible(self) -> bool:
        """Return whether every reward certainly lies in [0, 1]."""
        return all(bool(reward >= 0) and bool(reward <= 1) for reward in self.rewards())

    def positive(self) -> bool:
        """Return whether H(theta_star) is certainly positive definite, by its leading minors."""
        hessian, dim = self.hessian(), len(self.theta_min)
        return all(
            bool(arb_mat([[hessian[i, j] for j in range(k)] for i in range(k)]).det() > 0)
            for k in range(1, dim + 1)
        )

    def loss(self, theta: Vector) -> arb:
        """Return L(theta)."""
        pairs = [(ball(_dot(x, theta)), r) for x, r in zip(self.arms, self.rewards(), strict=True)]
        fit = sum((LINK.at(score).log_partition - reward * score for score, reward in pairs), arb(0))
        return self.copies * fit + ball(self.ridge * _dot(theta, theta) / 2)

    def gradient(self, theta: Vector) -> list[arb]:
        """Return the gradient of L, (d,), which is zero at ``theta_min``."""
        off = [LINK.at(ball(_dot(x, theta))).mean - r for x, r in zip(self.arms, self.rewards(), strict=True)]
        return [
            self.copies * sum((e * ball(x[k]) for e, x in zip(off, self.arms, strict=True)), arb(0))
            + ball(self.ridge * theta[k])
            for k in range(len(theta))
        ]

    def hessian(self) -> arb_mat:
        """Return H(theta_star) = Σ mu'(<x, theta_star>) x xᵀ + N."""
        dim = len(self.theta_min)
        slopes = [LINK.at(ball(_dot(x, self.theta_star))).slope for x in self.arms]
        return arb_mat(
            [
                [
                    sum(
                        (self.copies * w * ball(x[i] * x[j]) for w, x in zip(slopes, self.arms, strict=True)),
                        ball(self.share * self.ridge if i == j else Fraction(0)),
                    )
                    for j in range(dim)
                ]
                for i in range(dim)
            ]
        )

    def gamma(self) -> arb:
        """Return |g(theta_min) - g(theta_star)| in the norm of H(theta_star)^-1. g is the gradient plus Σ r
        x."""
        column = arb_mat([[entry] for entry in self.gradient(self.theta_star)])
        square = (column.transpose() * self.hessian().solve(column))[0, 0]
        return root(square)

    def distance(self) -> arb:
        """Return |theta_hat - theta_star| in the norm of H(theta_star)."""
        column = arb_mat([[ball(a - b)] for a, b in zip(self.theta_hat, self.theta_star, strict=True)])
        return root((column.transpose() * self.hessian() * column)[0, 0])

    def reach(self) -> Fraction:
        """Return c, the largest abs(<x_i, theta_hat - theta_star>)."""
        return max(abs(_dot(x, self.theta_hat) - _dot(x, self.theta_star)) for x in self.arms)


def drawn_problem(
    *, dim: int, copies: int, ridge: Fraction, seed: int, share: Fraction = Fraction(1)
) -> RidgeProblem:
    """Draw a problem from ``seed`` with all three vectors in the ball of radius 2, rational."""
    rng = random.Random(seed * 1009 + dim)

    def vector(largest: int) -> Vector:
        return tuple(Fraction(rng.randint(-largest, largest), 10) for _ in range(dim))

    return RidgeProblem(copies, ridge, vector(11), vector(11), vector(11), share)


def root(square: arb) -> arb:
    """Return the square root of a number that is at least 0, even if its ball reaches below 0."""
    if square > 0:
        return square.sqrt()
    return arb(0).union(square.upper().nonnegative_part().sqrt())


def _dot(first: Vector, second: Vector) -> Fraction:
    return sum((a * b for a, b in zip(first, second, strict=True)), Fraction(0))


def _coordinates(arms: Sequence[Vector], vector: Vector) -> list[Fraction]:
    """Return s with Σ s_i x_i = vector, by back substitution: arm j lies within the first j coordinates."""
    rest, found = list(vector), [Fraction(0)] * len(arms)
    for j in reversed(range(len(arms))):
        found[j] = rest[j] / arms[j][j]
        rest = [entry - found[j] * x for entry, x in zip(rest, arms[j], strict=True)]
    return found
