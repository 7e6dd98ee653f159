"""Parameters of P_Vec: private sums of bounded vectors and symmetric matrices by shuffled bits.

Chowdhury and Zhou (ICML 2022), section 3.3 and appendices C and E.5, after Cheu, Joseph, Mao and Peng (2022).
Every user encodes each entry of (phi y, phi phi^T), shifted into [0, 2], with precision g, adds Bin(b, p)
ones, and sends it as g + b labelled bits. The shuffled bits of a label reveal only their number of ones.

This file holds all printed parameters: Theorem C.1 (= 3.5), Corollary C.3, Theorem E.5, and the authors'
code. g and b must be natural numbers, so they are rounded up; the paper does not mention rounding. The
message protocol is in ``vector_messages``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from dpaudit.certify.binomial_sums import BinomialSum, linear_statistics
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, positive
from dpaudit.distributions import Binomial
from dpaudit.kernel.ball import ball
from dpaudit.reference.mechanisms.parameter_sheet import ceiling, rounded_up_root

__all__ = [
    "CONSTANT",
    "RETURNING_CONSTANT",
    "VectorSheet",
    "authors_sheet",
    "local_sheet",
    "overflow_exponent",
    "printed_sheet",
    "returning_sheet",
]

#: C of Theorem C.1, and the corresponding constant of Theorem E.5.
CONSTANT, RETURNING_CONSTANT = 240_000, 10**7

CHANCE = Fraction(1, 4)

Ranges = Literal["printed", "doubled"]
Budget = Literal["as_printed", "halved"]
LogReading = Literal["substituted", "without B"]


@dataclass(frozen=True, kw_only=True)
class VectorSheet:
    """P_Vec for batches of ``batch_size`` users with ``dim`` features.

    ``precision`` is g. Each user draws b = ``trials`` bits per entry, each 1 with probability p = ``chance``.
    ``ranges`` selects the scale of entries: "printed" uses g (values 0, ..., 2g), "doubled" uses g/2 (values
    0, ..., g).
    """

    dim: int
    batch_size: int
    precision: int
    trials: int
    chance: Fraction = CHANCE
    ranges: Ranges = "printed"
    #: The factor that multiplies an entry before rounding.
    scale: Fraction = field(init=False, repr=False, compare=False)
    #: The mean of all users' binomial noise on one label.
    noise_mean: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if min(self.dim, self.batch_size, self.precision, self.trials) < 1:
            raise InvalidParameterError(
                "dim, batch_size, precision and trials must be integers from 1 up, got "
                f"{self.dim}, {self.batch_size}, {self.precision} and {self.trials}."
            )
        if not 0 < self.chance < 1 or self.ranges not in ("printed", "doubled"):
            raise InvalidParameterError(
                f"chance must be in (0, 1) and ranges 'printed' or 'doubled', got {self.chance} and "
                f"{self.ranges!r}."
            )
        # Computed once, because simulations read them in every call.
        object.__setattr__(self, "scale", Fraction(self.precision, 1 if self.ranges == "printed" else 2))
        object.__setattr__(self, "noise_mean", float(self.chance * self.trials * self.batch_size))

    @property
    def noise(self) -> Binomial:
        """Return the distribution of all users' binomial noise on one label."""
        return Binomial(trials=self.trials * self.batch_size, p=self.chance)

    @property
    def bits(self) -> int:
        """Return the number of bits that a user sends for one label."""
        return self.precision + self.trials

    @property
    def entries(self) -> int:
        """Return the number of independent labels: d of the vector, d (d + 1) / 2 of the matrix."""
        return self.dim + self.dim * (self.dim + 1) // 2

    @property
    def bits_per_user(self) -> int:
        """Return the number of labels as printed, with (i, j) and (j, i) both counted: d + d^2."""
        return (self.dim + self.dim**2) * self.bits

    @property
    def noise_variance(self) -> Fraction:
        """Return the variance of one entry of the analyzer's output, without the rounding error."""
        return self.trials * self.batch_size * self.chance * (1 - self.chance) / self.scale**2

    @property
    def proxy(self) -> Fraction:
        """Return the printed variance proxy of one entry, (B + B b/4) over the squared scale (C.3)."""
        return (self.batch_size + Fraction(self.batch_size * self.trials, 4)) / self.scale**2

    def statistic(self, *, batches: int = 1) -> BinomialSum:
        """Describe ``batches`` joint releases of vector and matrix to the certificate search."""
        return linear_statistics(
            dim=self.dim,
            scale=self.scale,
            trials=self.trials * self.batch_size,
            chance=self.chance,
            times=batches,
        )

    def half(self, part: Literal["vector", "matrix"]) -> BinomialSum:
        """Describe the vector alone (squared change 4) or the matrix alone (2) as one release."""
        vector = part == "vector"
        return BinomialSum(
            trials=self.trials * self.batch_size,
            chance=self.chance,
            dimension=self.dim if vector else self.entries - self.dim,
            squares=(4 if vector else 2) * self.scale**2,
            largest=(2 if vector else 1) * self.scale,
        )


def printed_sheet(
    *,
    dim: int,
    batch_size: int,
    epsilon: ExactLike,
    delta: ExactLike,
    constant: ExactLike = CONSTANT,
    ranges: Ranges = "printed",
    budget: Budget = "as_printed",
) -> VectorSheet:
    """Apply Theorem C.1 (3.5): g = max(2 sqrt(B), d, 4), b = C g^2 log(4(d^2+1)/delta)^2 / (epsilon^2 B), p =
    1/4.

    ``constant`` is C, 24 10^4 in C.1; "halved" gives each of the two releases (epsilon/2, delta/2).
    """
    e, loss = _budget(epsilon, delta, budget)
    g = max(rounded_up_root(2, batch_size), dim, 4)
    return VectorSheet(
        dim=dim,
        batch_size=batch_size,
        precision=g,
        trials=_trials(exact(constant) * g**2 / (e**2 * batch_size), 4 * (dim**2 + 1) / loss),
        ranges=ranges,
    )


def local_sheet(
    *, dim: int, epsilon: ExactLike, delta: ExactLike, batch_size: int = 1, budget: Budget = "as_printed"
) -> VectorSheet:
    """Apply Corollary C.3: g = max(d, 4), b = 24 10^4 g^2 log(4(d^2+1)/delta)^2 / epsilon^2, for any batch
    size.
    """
    e, loss = _budget(epsilon, delta, budget)
    g = max(dim, 4)
    trials = _trials(CONSTANT * g**2 / e**2, 4 * (dim**2 + 1) / loss)
    return VectorSheet(dim=dim, batch_size=batch_size, precision=g, trials=trials)


def returning_sheet(
    *,
    dim: int,
    batch_size: int,
    batches: int,
    epsilon: ExactLike,
    delta: ExactLike,
    reading: LogReading = "substituted",
) -> VectorSheet:
    """Apply Theorem E.5: b = 10^7 log(2/delta) g^2 T log(8T(d^2+1)/(B delta))^2 / (epsilon^2 B^2), T = M B.

    The print's logarithm is damaged. With ``reading`` "without B" it is log(8T(d^2+1)/delta).
    """
    e, loss = _budget(epsilon, delta, "as_printed")
    g = max(rounded_up_root(2, batch_size), dim, 4)
    inside = 8 * batches * (dim**2 + 1) / loss * (1 if reading == "substituted" else batch_size)
    factor = RETURNING_CONSTANT * g**2 * Fraction(batches, batch_size) / e**2
    trials = ceiling(lambda: ball(factor) * ball(2 / loss).log() * ball(inside).log() ** 2)
    return VectorSheet(dim=dim, batch_size=batch_size, precision=g, trials=trials)


def authors_sheet(
    *, dim: int, batch_size: int, epsilon: ExactLike, delta: ExactLike, constant: int
) -> VectorSheet:
    """Use the parameters that the authors' code draws for its figures.

    b = C g^2 log(d/delta)^2 / (epsilon^2 B) with ``constant`` C = 1 or 10, truncated to an integer. g is a
    real number in their code and is rounded up here.
    """
    e, loss = _budget(epsilon, delta, "as_printed")
    g = max(rounded_up_root(2, batch_size), dim, 4)
    trials = max(1, _trials(constant * g**2 / (e**2 * batch_size), dim / loss) - 1)
    return VectorSheet(dim=dim, batch_size=batch_size, precision=g, trials=trials)


def _budget(epsilon: ExactLike, delta: ExactLike, budget: Budget) -> tuple[Fraction, Fraction]:
    parts = 1 if budget == "as_printed" else 2
    return positive(epsilon, name="epsilon") / parts, positive(delta, name="delta") / parts


def _trials(factor: Fraction, inside: Fraction) -> int:
    """Return ceil(factor log(inside)^2)."""
    if inside <= 1:
        raise InvalidParameterError(f"the logarithm must be of a number above 1, got {float(inside):.6g}.")
    return max(1, ceiling(lambda: ball(factor) * ball(inside).log() ** 2))


def overflow_exponent(sheet: VectorSheet) -> float:
    """Return -log of Hoeffding's bound on the chance that one user's entry needs more than g + b ones.

    It is 2 (b - g - b p)^2 / b for an encoding of 2g, and 0 if Hoeffding gives no bound.
    """
    room = float(sheet.trials - sheet.precision - sheet.trials * sheet.chance)
    return 2 * room**2 / sheet.trials if room > 0 else 0.0
