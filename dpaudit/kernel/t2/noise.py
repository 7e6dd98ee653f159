"""Noise as a sum of independent parts, with its cumulant function in balls: the table of families for all
decisions on tails.

A ``Part`` is one distribution: its cumulants, its masses or its tail, and which sums stay in its family.
``Noise`` is a sum of parts, each a number of times, plus a shift. K(t) = log E exp(tX) adds over independent
parts. Each part defines K once, in operations that balls and power series share. At a ball it gives an
enclosure of K. At the series t + e with a ball t it gives an enclosure of K(t) + K'(t) e + ..., for every t
in the ball simultaneously, hence of derivatives over an interval. The distributions of the package call it,
too.

Further properties of a part, each with its reason:

* ``growing``: all cumulants from the second on are >= 0. With c the cumulants, K(t) = mean t + sum c_k t^k /
  k!. Laplace: -log(1 - b^2 t^2) = sum (bt)^(2k) / k. Gaussian: one term. Discrete Laplace: -log(1 - u), u =
  (sinh(t/2) / sinh(1/2s))^2, both series having coefficients >= 0. Skellam: v (cosh t - 1). Exponential:
  -log(1 - bt) = sum (bt)^k / k. Polya differences: a multiple of the discrete Laplace.
* ``quadratic``: a number v with K(t) - mean t <= v t^2 / 2 for all t. Gaussian: its variance, with equality.
  Discrete Gaussian: its parameter s, since completing the square leaves log theta(ts) / theta(0) <= 0, the
  theta series being largest at integers (Canonne, Kamath, Steinke 2020, Lemma 10). Bounded by an interval of
  width w: w^2 / 4 (Hoeffding 1963, (4.16)); a fair coin attains it.
* ``symmetric``: the density or the masses are even around the mean (a bound of K is an even parabola).
* ``total`` and ``plus``: variances of independent Gaussians add. So do the means of Poisson variables, hence
  variances of Skellam variables, and the trials of binomial variables of one probability.
* ``log_concave``: the reasons are in ``t1.lattice`` and ``special_distributions``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_series, ctx

from dpaudit.kernel.ball import ball
from dpaudit.kernel.errors import NotTractableError
from dpaudit.kernel.t1.lattice import DiscreteGaussianSum, LogConcave, bulk
from dpaudit.kernel.t2 import special_distributions
from dpaudit.kernel.t2.closed_tails import finite_masses, gamma_tail, geometric_masses, laplace_tail
from dpaudit.kernel.t2.series import X, direct_theta, dual_theta, expm1, sinh, variable

__all__ = [
    "Binomial",
    "Bounded",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Finite",
    "Gaussian",
    "Laplace",
    "Noise",
    "Part",
    "Skellam",
]


class Part(ABC):
    """One distribution with its exact mean and its cumulant function."""

    growing: bool = False
    pole: Fraction | None = None  # K is infinite for all t >= pole
    two_sided: bool = True  # and then also for all t <= -pole
    symmetric: bool = False  # K(t) - mean t is even

    @abstractmethod
    def cumulant(self, t: X) -> X:
        """Return K at a ball or a series inside the domain."""

    @property
    def attained(self) -> Part:
        """Return a distribution of this part's class that is closest to its bound.

        A part that is a single distribution returns itself.
        """
        return self

    @property
    def mean(self) -> Fraction:
        return Fraction(0)

    @property
    def quadratic(self) -> Fraction | None:
        return None

    @property
    def ends(self) -> tuple[Fraction, Fraction] | None:
        """Return an interval that holds all outcomes, or ``None``."""
        return None

    @property
    def second_and_third(self) -> tuple[Fraction, Fraction] | None:
        """Return the second and the third cumulant if they are rational, or ``None``."""
        return None

    def total(self, count: int) -> Part | None:
        """Return the sum of ``count`` independent copies, if it is always of the same family."""
        return None

    def plus(self, other: Part) -> Part | None:
        """Return the sum of this and an independent part, if it is one distribution of the same family."""
        return None

    def tail(self, count: int, level: Fraction | arb, *, below: bool) -> arb | None:
        """Return P(X > level), or with ``below`` P(X < -level), of the sum X of ``count`` copies.

        Only for continuous distributions with a closed form (``closed_tails``). It is ``None`` for others.
        """
        return None

    def tail_at_log(self, factor: Fraction, base: Fraction) -> Fraction | None:
        """Return P(X > factor ln(base)) if it is a known rational number, or ``None``."""
        return None

    @property
    def log_concave(self) -> LogConcave | None:
        """Return the masses of a log-concave distribution on the integers, or ``None`` for another part."""
        return None

    def cut(self) -> tuple[int, list[arb], arb]:
        """Return an interval of integer outcomes, their masses, and a bound on the mass outside.

        The interval is given by its least outcome.
        """
        if self.log_concave is None:
            raise NotTractableError(
                "an exact tail must be of integer parts, or of one continuous distribution, got "
                f"{self}; use a cumulant bound.",
                code="E-TAIL-PART",
            )
        low, high, under, over = bulk(self.log_concave, ctx.prec)
        return low, self.log_concave.masses(low, high), arb((under + over).upper())


def _scaled(level: Fraction | arb, scale: Fraction) -> arb:
    return ball(level / scale) if isinstance(level, Fraction) else level / ball(scale)


@dataclass(frozen=True)
class Laplace(Part):
    """Density exp(-|x|/scale) / (2 scale)."""

    scale: Fraction
    growing = True
    symmetric = True

    def cumulant(self, t: X) -> X:
        return -(1 - (t * ball(self.scale)) ** 2).log()

    def tail(self, count: int, level: Fraction | arb, *, below: bool) -> arb:
        return laplace_tail(count, _scaled(level, self.scale))

    def tail_at_log(self, factor: Fraction, base: Fraction) -> Fraction | None:
        """Return base^-k / 2 for factor = k scale, k an integer."""
        power = factor / self.scale
        return (1 / base) ** int(power) / 2 if power.denominator == 1 and power <= 1000 else None

    @property
    def pole(self) -> Fraction:  # type: ignore[override]
        return 1 / self.scale

    @property
    def second_and_third(self) -> tuple[Fraction, Fraction]:
        return 2 * self.scale**2, Fraction(0)


@dataclass(frozen=True)
class Gaussian(Part):
    """N(0, variance)."""

    variance: Fraction
    growing = True
    symmetric = True

    def cumulant(self, t: X) -> X:
        return ball(self.variance) * t**2 / 2

    def total(self, count: int) -> Gaussian:
        return Gaussian(count * self.variance)

    def plus(self, other: Part) -> Gaussian | None:
        return Gaussian(self.variance + other.variance) if isinstance(other, Gaussian) else None

    def tail(self, count: int, level: Fraction | arb, *, below: bool) -> arb:
        x = level if isinstance(level, arb) else ball(level)
        return (x / ball(2 * count * self.variance).sqrt()).erfc() / 2

    @property
    def quadratic(self) -> Fraction:
        return self.variance

    @property
    def second_and_third(self) -> tuple[Fraction, Fraction]:
        return self.variance, Fraction(0)


@dataclass(frozen=True)
class Exponential(Part):
    """Density exp(-x/scale) / scale on x >= 0: K is infinite from 1/scale on, and finite at every t below."""

    scale: Fraction
    growing = True
    two_sided = False

    def cumulant(self, t: X) -> X:
        return -(1 - t * ball(self.scale)).log()

    def tail(self, count: int, level: Fraction | arb, *, below: bool) -> arb:
        return gamma_tail(count, _scaled(level, self.scale), below)

    @property
    def pole(self) -> Fraction:  # type: ignore[override]
        return 1 / self.scale

    @property
    def mean(self) -> Fraction:
        return self.scale

    @property
    def second_and_third(self) -> tuple[Fraction, Fraction]:
        return self.scale**2, 2 * self.scale**3


@dataclass(frozen=True)
class DiscreteLaplace(Part):
    """P(k) ~ exp(-|k|/scale).

    With ``share`` r, it is the difference of two Polya(r) variables, whose K is r times as large.
    """

    scale: Fraction
    share: Fraction = Fraction(1)
    growing = True
    symmetric = True

    def cumulant(self, t: X) -> X:
        return -ball(self.share) * (1 - (sinh(t / 2) / sinh(ball(1 / (2 * self.scale)))) ** 2).log()

    def cut(self) -> tuple[int, list[arb], arb]:
        return geometric_masses(self.scale) if self.share == 1 else super().cut()

    @property
    def pole(self) -> Fraction:  # type: ignore[override]
        return 1 / self.scale


@dataclass(frozen=True)
class Skellam(Part):
    """The difference of two independent Poisson(variance / 2)."""

    variance: Fraction
    growing = True
    symmetric = True

    def cumulant(self, t: X) -> X:
        return 2 * ball(self.variance) * sinh(t / 2) ** 2

    def total(self, count: int) -> Skellam:
        return Skellam(count * self.variance)

    def plus(self, other: Part) -> Skellam | None:
        return Skellam(self.variance + other.variance) if isinstance(other, Skellam) else None

    @property
    def log_concave(self) -> LogConcave:
        return special_distributions.Skellam(self.variance)

    @property
    def second_and_third(self) -> tuple[Fraction, Fraction]:
        return self.variance, Fraction(0)


@dataclass(frozen=True)
class Binomial(Part):
    """The number of successes in ``trials`` independent trials of ``probability``."""

    trials: int
    probability: Fraction

    def cumulant(self, t: X) -> X:
        rise = ball(self.probability) * expm1(t)
        return self.trials * (rise.log1p() if isinstance(rise, arb) else (1 + rise).log())

    def total(self, count: int) -> Binomial:
        return Binomial(count * self.trials, self.probability)

    def plus(self, other: Part) -> Binomial | None:
        if not isinstance(other, Binomial) or other.probability != self.probability:
            return None
        return Binomial(self.trials + other.trials, self.probability)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.probability == Fraction(1, 2)

    @property
    def log_concave(self) -> LogConcave:
        return special_distributions.Binomial(self.trials, self.probability)

    @property
    def mean(self) -> Fraction:
        return self.trials * self.probability

    @property
    def quadratic(self) -> Fraction | None:
        return Fraction(self.trials, 4) if self.probability == Fraction(1, 2) else None

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(self.trials)

    @property
    def second_and_third(self) -> tuple[Fraction, Fraction]:
        p = self.probability
        return self.trials * p * (1 - p), self.trials * p * (1 - p) * (1 - 2 * p)


@dataclass(frozen=True)
class Finite(Part):
    """Outcome ``values[i]`` with probability ``weights[i]`` / sum(weights)."""

    values: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]

    def cumulant(self, t: X) -> X:
        total = sum(self.weights)
        terms = [ball(w / total) * (ball(x) * t).exp() for x, w in self._atoms()]
        return sum(terms[1:], terms[0]).log()

    def _atoms(self) -> list[tuple[Fraction, Fraction]]:
        return [(x, w) for x, w in zip(self.values, self.weights, strict=True) if w]

    def cut(self) -> tuple[int, list[arb], arb]:
        whole = all(x.denominator == 1 for x in self.values)
        return finite_masses(self._atoms()) if whole else super().cut()

    def _moment(self, order: int, centre: Fraction) -> Fraction:
        return sum((w * (x - centre) ** order for x, w in self._atoms()), Fraction(0)) / sum(self.weights)

    @property
    def mean(self) -> Fraction:
        return self._moment(1, Fraction(0))

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        outcomes = [x for x, _ in self._atoms()]
        return min(outcomes), max(outcomes)

    @property
    def second_and_third(self) -> tuple[Fraction, Fraction]:
        return self._moment(2, self.mean), self._moment(3, self.mean)


@dataclass(frozen=True)
class Bounded(Part):
    """Any distribution on [lower, upper], minus its mean.

    Its K is a bound for all of them, and ``attained`` is the worst distribution near t = 0.
    """

    lower: Fraction
    upper: Fraction
    symmetric = True

    def cumulant(self, t: X) -> X:
        return ball(self.quadratic / 2) * t * t

    @property
    def attained(self) -> Part:
        half = (self.upper - self.lower) / 2
        return Finite((-half, half), (Fraction(1), Fraction(1)))

    @property
    def quadratic(self) -> Fraction:
        return (self.upper - self.lower) ** 2 / 4

    @property
    def second_and_third(self) -> tuple[Fraction, Fraction]:
        return self.quadratic, Fraction(0)


@dataclass(frozen=True)
class DiscreteGaussian(Part):
    """P(k) ~ exp(-k^2 / (2 parameter)) on the integers."""

    parameter: Fraction
    symmetric = True

    @property
    def quadratic(self) -> Fraction:
        return self.parameter

    @property
    def log_concave(self) -> LogConcave:
        return DiscreteGaussianSum(self.parameter)

    def cumulant(self, t: X) -> X:
        """Return t^2 s/2 + log theta(ts) - log theta(0), by Poisson's formula for s >= 1/2, else term by
        term.
        """
        s = self.parameter
        if s >= Fraction(1, 2):
            return ball(s / 2) * t * t + dual_theta(s, t).log() - dual_theta(s, arb(0)).log()
        # Let c be an integer near t s and y = t - c/s: k = c + j, tk - k^2/2s = tc - c^2/2s + jy - j^2/2s.
        c = round(float((t[0] if isinstance(t, arb_series) else t).mid()) * float(s))
        y = t - ball(c / s)
        return t * c - ball(c * c / (2 * s)) + direct_theta(s, y).log() - direct_theta(s, arb(0)).log()


@dataclass(frozen=True)
class Noise:
    """The sum of independent parts, each as often as its count, plus ``shift``."""

    parts: tuple[tuple[Part, int], ...]
    shift: Fraction = Fraction(0)

    @property
    def mean(self) -> Fraction:
        return self.shift + sum((n * part.mean for part, n in self.parts), Fraction(0))

    def infinite_at(self, t: Fraction) -> bool:
        """Return whether K(t) is infinite."""
        poles = [(part.pole, part.two_sided) for part, _ in self.parts if part.pole is not None]
        return any(t >= pole or (both and t <= -pole) for pole, both in poles)

    @property
    def pole(self) -> Fraction | None:
        """Return the least t > 0 at which K is infinite, or ``None``."""
        return min((part.pole for part, _ in self.parts if part.pole is not None), default=None)

    @property
    def growing(self) -> bool:
        return all(part.growing for part, _ in self.parts)

    @property
    def quadratic(self) -> Fraction | None:
        """Return v with K(t) - mean t <= v t^2/2 for all t if every part has one, or ``None``."""
        known = [None if part.quadratic is None else n * part.quadratic for part, n in self.parts]
        return None if None in known else sum((v for v in known if v is not None), Fraction(0))

    @property
    def attained(self) -> Noise:
        return Noise(tuple((part.attained, n) for part, n in self.parts), self.shift)

    @property
    def symmetric(self) -> bool:
        """Return True only if the kinds of the parts imply that K - mean t is even."""
        return all(part.symmetric for part, _ in self.parts)

    def cumulant(self, t: X) -> X:
        """Return K at a ball or a series inside the domain."""
        terms = [n * part.cumulant(t) for part, n in self.parts]
        return sum(terms, ball(self.shift) * t)

    def second_and_third(self) -> tuple[Fraction | arb, Fraction | arb]:
        """Return the cumulants of order 2 and 3: exact numbers if every part has them, else balls."""
        known = [part.second_and_third for part, _ in self.parts]
        if None not in known:
            pairs = [(n * c[0], n * c[1]) for (_, n), c in zip(self.parts, known, strict=True) if c]
            return sum((a for a, _ in pairs), Fraction(0)), sum((b for _, b in pairs), Fraction(0))
        series = self.cumulant(variable(arb(0)))
        return 2 * series[2], Fraction(0) if self.symmetric else 6 * series[3]

    def fourth(self, t: arb) -> arb:
        """Return an enclosure of the fourth derivative of K over the ball ``t``."""
        return 24 * self.cumulant(variable(t))[4]
