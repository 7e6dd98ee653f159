"""Rigorous upper bounds on the regret of Algorithm 1, for all instances, evaluated at finite parameters.

The argument is the argument of Lemma 2 with every constant worked out. In batch b let t_b bound the
probability that one arm's decoded mean is above its mean by more than β(b). By symmetry it also bounds the
probability below. Outside an event of probability Σ_b |Φ(b)| t_b some best arm survives every batch (only the
deviations of one best arm downward and of the suboptimal arms upward matter), and an arm of gap Δ is
eliminated at the end of the first batch with 4β(b) < Δ. Inside the event the regret is at most T Δ_max.

t_b has two parts. A wrap that the analyzer does not undo needs total noise beyond τ. Without a wrap the
decoded sum is Σ x̂/g plus noise. x̂/g lies in [0, 1] and has the reward's mean, so Hoeffding's lemma covers
sampling and rounding jointly, and Chernoff's bound uses the noise's moment generating function. Decoded means
lie in [-τ/(g n), 1 + τ/(g n)]: while 2β(b) is longer than this interval no arm can be eliminated, and t_b
counts as 0. For Theorem 3 a third part is q, the probability that a relaxed secure function outputs a wrong
sum modulo m.

Computed in floats, a few hundred operations deep; ``ROUNDING`` covers their errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpaudit.distributions.chernoff import best_bound
from dpaudit.reference.algorithms.mab.batched_elimination import confidence_radius
from dpaudit.reference.algorithms.mab.distributed_elimination import DESIGNS, Design, Variant, variant
from dpaudit.reference.mechanisms.parameter_sheet import Sheet
from dpaudit.suite.regret import Cut, gaps_of

__all__ = [
    "Setting",
    "cut_of",
    "deviation",
    "event_probability",
    "pull_cap",
    "relaxation",
    "shape",
    "shape_value",
    "worst_ratio",
    "wrap",
]

Floats = NDArray[np.float64]
#: Per-arm rate: (gap, suboptimal arms) -> the theorem's expression divided by the number of suboptimal arms.
PerArm = Callable[[Floats, Floats], Floats]

ROUNDING = 1 + 1e-9
#: Shares of the largest useful exponent that are tried; any exponent gives a valid bound.
SHARES = np.linspace(0.01, 0.998, 80)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One variant of Algorithm 1 with all its public parameters; p is 1/T unless ``failure_prob`` is
    given.
    """

    name: str
    epsilon: Fraction
    n_arms: int
    horizon: int
    scale_factor: int = 1
    failure_prob: Fraction | None = None

    @cached_property
    def p(self) -> Fraction:
        return Fraction(1, self.horizon) if self.failure_prob is None else self.failure_prob

    @cached_property
    def variant(self) -> Variant:
        return variant(self.name, epsilon=self.epsilon, failure_prob=self.p, scale_factor=self.scale_factor)

    @property
    def design(self) -> Design:
        return DESIGNS[self.name]

    def sheet(self, batch: int) -> Sheet:
        return self._sheets[batch - 1]

    @cached_property
    def _sheets(self) -> list[Sheet]:
        return [self.variant.sheet(2**batch) for batch in range(1, self.batches + 1)]

    @property
    def batches(self) -> int:
        """Return the last batch that two or more arms can finish within the horizon."""
        return max(0, (self.horizon // 2 + 2).bit_length() - 2)


def _radius(setting: Setting, batch: int, n_active: int | NDArray[np.int64]) -> Floats:
    length = 2**batch
    tail = setting.variant.tail(length)
    return confidence_radius(batch, n_active, length, failure_prob=float(setting.p), tail=tail)


def _variance(design: Design, sheet: Sheet, epsilon: Fraction) -> float:
    """Return the approximate variance of a batch's total noise Y, which guides the search for an exponent."""
    pole = design.pole(sheet, epsilon)
    if math.isinf(pole):
        return float(sheet.precision / epsilon) ** 2
    return 2 / pole**2 * design.terms(sheet)


def _exponents(pole: float, optimum: Floats) -> Floats:
    """Return exponents to try around the optimum of a Gaussian, below the pole; a new last axis."""
    return np.asarray(np.minimum(np.minimum(2 * optimum, pole), 300.0)[..., None] * SHARES)


def wrap(setting: Setting, batch: int) -> float:
    """Bound P(Y > τ), the probability that one sum's noise exceeds the margin on one side."""
    sheet, design = setting.sheet(batch), setting.design
    pole, beyond = design.pole(sheet, setting.epsilon), sheet.noise_margin + 1
    if design.noise == "laplace":
        return math.exp(-pole * beyond) / (1 + math.exp(-pole)) * ROUNDING
    theta = _exponents(pole, np.asarray(beyond / _variance(design, sheet, setting.epsilon)))
    logs = design.cumulant(theta, sheet, setting.epsilon) - theta * beyond
    return float(best_bound(logs)) * ROUNDING


def deviation(setting: Setting, batch: int, n_active: int | NDArray[np.int64]) -> Floats:
    """Bound P(Σ x̂/g + Y/g > n (μ + β)) with β for ``n_active`` arms: sampling, rounding and noise."""
    n, sheet, design = 2**batch, setting.sheet(batch), setting.design
    needed = n * _radius(setting, batch, n_active) * sheet.precision
    sampling = float(sheet.precision) ** 2 * n / 4
    pole = design.pole(sheet, setting.epsilon)
    theta = _exponents(pole, needed / (sampling + _variance(design, sheet, setting.epsilon)))
    logs = theta**2 * sampling / 2 - theta * needed[..., None]
    logs += design.cumulant(theta, sheet, setting.epsilon)
    return best_bound(logs) * ROUNDING


def relaxation(setting: Setting) -> float:
    """Return q of Theorem 3, half of p, or 0 if the secure function's output is the sum.

    q bounds the total variation distance between the secure function's output modulo m and the sum of the
    messages.
    """
    return float(setting.p / 2) if setting.design.relaxed else 0.0


@lru_cache(maxsize=1024)
def _event(setting: Setting) -> Floats:
    """Bound the probability of the bad event with 1, ..., K - 1 suboptimal arms."""
    active = np.arange(2, setting.n_arms + 1)
    suboptimal = np.arange(1, setting.n_arms)[:, None]
    total = np.zeros(setting.n_arms - 1)
    for batch in range(1, setting.batches + 1):
        sheet = setting.sheet(batch)
        reach = 1 + 2 * sheet.noise_margin / (sheet.precision * 2**batch)
        possible = 2 * _radius(setting, batch, active) < reach * ROUNDING
        if not possible.any():
            continue
        wrong = wrap(setting, batch) + relaxation(setting)
        one = np.where(possible, wrong + deviation(setting, batch, active), 0.0)
        # One best arm and at most |Φ| - 1 suboptimal arms; |Φ| is not known, so the worst value is used.
        total += ((1 + np.minimum(suboptimal, active - 1)) * one).max(axis=1)
    return np.asarray(np.minimum(total * ROUNDING, 1.0))


def event_probability(setting: Setting, suboptimal: int) -> float:
    """Bound the probability that Lemma 2's argument fails for an instance with this many suboptimal arms.

    It fails if no best arm survives, or if an arm stays beyond its cap.
    """
    return float(_event(setting)[suboptimal - 1])


@lru_cache(maxsize=1024)
def _ladder(setting: Setting) -> tuple[Floats, Floats]:
    """Return 4β(b) with all arms active, rounded up, and the pulls by the end of batch b; b = 1, 2, ..."""
    index = range(1, setting.batches + 2)
    reach = [4 * float(_radius(setting, batch, setting.n_arms)) * ROUNDING for batch in index]
    pulls = [float(min(2 ** (batch + 1) - 2, setting.horizon)) for batch in index]
    return np.array(reach), np.array(pulls)


def pull_cap(setting: Setting, gap: float) -> float:
    """Return the pulls of an arm of this gap outside the bad event."""
    reach, pulls = _ladder(setting)
    below = np.flatnonzero(reach < gap)
    return float(pulls[below[0]]) if len(below) else float(min(setting.horizon, 2 * pulls[-1] + 2))


def cut_of(setting: Setting, means: Sequence[float]) -> Cut:
    """Return where to cut simulated regrets on arms of these means, and the cost of the cut."""
    gaps = gaps_of(means)
    if not gaps:
        return Cut(0.0, 0.0, (0.0,))
    most = max(gaps) * setting.horizon
    cap = min(most, sum(gap * pull_cap(setting, gap) for gap in gaps) * ROUNDING)
    excess = most * event_probability(setting, len(gaps))
    return Cut(cap, excess, (cap,)) if cap + excess < most else Cut(most, 0.0, (cap,))


def worst_ratio(setting: Setting, per_arm: PerArm) -> tuple[float, float]:
    """Return an upper bound on E Reg(T) / rate over ALL instances with K arms, and the gap that attains it.

    The rate is Σ over suboptimal arms of ``per_arm(Δ, number of suboptimal arms)``, falling in Δ. Pulls
    change only where Δ exceeds some 4β(b), so the supremum over Δ is a maximum over these gaps and 1.
    """
    reach, _ = _ladder(setting)
    gaps = np.append(np.minimum(reach, 1.0), 1.0)
    caps = np.array([pull_cap(setting, gap) for gap in gaps])
    suboptimal = np.arange(1, setting.n_arms, dtype=np.float64)[:, None]
    extra = setting.horizon * _event(setting)[:, None] / suboptimal
    ratios = (gaps * caps + extra) / per_arm(gaps, suboptimal) * ROUNDING
    where = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
    return float(ratios[where]), float(gaps[where[1]])


# The theorems' rates: a Σ 1/Δ + K b for each variant


def shape(setting: Setting) -> tuple[float, float]:
    """Return (a, b) of the theorem's expression."""
    return setting.design.rate(math.log(setting.horizon), float(setting.epsilon), setting.scale_factor)


def shape_value(setting: Setting, means: Sequence[float]) -> float:
    """Return the theorem's expression at this setting, on arms of these means.

    It is finite, and 0 only in the local model when all arms tie.
    """
    sampling, noise = shape(setting)
    return sampling * sum(1 / gap for gap in gaps_of(means)) + setting.n_arms * noise
