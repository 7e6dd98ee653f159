"""Define the family of appendix Q: fixed arms ±r e_j, parameters theta_0 + a V for signs V, and learners on
it.

``SignFamily`` has means and gaps. ``play`` enumerates a learner's transcripts under every V, in balls. A
policy is a function of the history, a tuple of (coordinate, sign, reward), that returns the probability of
each arm (coordinate, sign).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from audits.glm_bandits.information import SignDistribution, Signs
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import FiniteFamily, Regularity, regularity

__all__ = ["Arm", "History", "Played", "Policy", "SignFamily", "Transcript", "play"]

Arm = tuple[int, int]
History = tuple[tuple[int, int, int], ...]
Policy = Callable[[History], dict[Arm, arb]]


@dataclass(frozen=True)
class SignFamily:
    """theta_V = ``base`` + a V and arms ±r e_j with r = tau/(2 (B_0 + a_max)), B_0 the largest abs(base_j).

    Raise ``InvalidParameterError`` unless 0 < a <= a_max <= 1.
    """

    link: FiniteFamily
    tau: Fraction
    base: tuple[Fraction, ...]
    scale: Fraction
    largest_scale: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not 0 < self.scale <= self.largest_scale <= 1:
            raise InvalidParameterError(
                f"0 < a <= a_max <= 1 is needed, got a = {self.scale}, a_max = {self.largest_scale}."
            )

    @property
    def dim(self) -> int:
        """Return d."""
        return len(self.base)

    @property
    def radius(self) -> Fraction:
        """Return r, the length of every arm."""
        return self.tau / (2 * (max(abs(b) for b in self.base) + self.largest_scale))

    @property
    def bounds(self) -> Regularity:
        """Return m, M and L on [-tau, tau]."""
        return _bounds(link=self.link, tau=self.tau)

    def admissible(self) -> bool:
        """Return whether r a <= m/(2 L), the condition of Lemma Q.1."""
        reach = ball(2 * self.radius * self.scale) * self.bounds.largest_curvature
        return bool(reach <= self.bounds.smallest_slope)

    def printed_gap(self) -> arb:
        """Return c_gap a = (m r/2) a."""
        return self.bounds.smallest_slope * ball(self.radius * self.scale / 2)

    def mean(self, arm: Arm, signs: Signs) -> arb:
        """Return mu(<x, theta_V>) of the arm sign r e_j."""
        j, sign = arm
        return self.link.at(ball(sign * self.radius * (self.base[j] + self.scale * signs[j]))).mean

    def regret(self, arm: Arm, signs: Signs) -> arb:
        """Return the regret of one pull against the best of all 2d arms."""
        best = self.mean((0, 1), signs)
        for other in product(range(self.dim), (-1, 1)):
            best = best.max(self.mean(other, signs))
        return (best - self.mean(arm, signs)).nonnegative_part()


@cache
def _bounds(*, link: FiniteFamily, tau: Fraction) -> Regularity:
    return regularity(link, radius=tau)


@dataclass(frozen=True)
class Transcript:
    """A history with its probability under each V."""

    history: History
    masses: dict[Signs, arb]


@dataclass(frozen=True)
class Played:
    """All transcripts of a learner on a family with rewards in {0, 1}."""

    family: SignFamily
    transcripts: list[Transcript]

    def regret(self) -> arb:
        """Return E R_T, V uniform."""
        every = list(product((-1, 1), repeat=self.family.dim))
        arms = product(range(self.family.dim), (-1, 1))
        lost = {(arm, signs): self.family.regret(arm, signs) for arm in arms for signs in every}
        total = arb(0)
        for one in self.transcripts:
            for signs, mass in one.masses.items():
                total += mass * sum((lost[step[:2], signs] for step in one.history), arb(0))
        return total / (1 << self.family.dim)

    def _wrong(self, j: int) -> Iterator[tuple[int, arb]]:
        """Return, for each transcript, the pulls of coordinate j and P(transcript, the MAP decoder errs on
        V_j)."""
        for one in self.transcripts:
            sides = [sum((m for signs, m in one.masses.items() if signs[j] == v), arb(0)) for v in (-1, 1)]
            yield sum(step[0] == j for step in one.history), sides[0].min(sides[1]) / 2**self.family.dim

    def pulls_decoded_wrong(self) -> arb:
        """Return Σ_j E[n_j 1{V̂_j ≠ V_j}], V̂ the MAP decoder of the full transcript."""
        return sum((n * p for j in range(self.family.dim) for n, p in self._wrong(j)), arb(0))

    def errors(self) -> arb:
        """Return E Ham(V, V̂), V̂ the MAP decoder of the full transcript."""
        return sum((p for j in range(self.family.dim) for _, p in self._wrong(j)), arb(0))

    def distribution(self, *, actions_only: bool) -> SignDistribution:
        """Return the joint distribution of V and the transcript, or the actions."""
        found: dict[History, dict[Signs, arb]] = {}
        for one in self.transcripts:
            output = tuple((j, s, 0 if actions_only else y) for j, s, y in one.history)
            into = found.setdefault(output, dict.fromkeys(one.masses, arb(0)))
            for signs, mass in one.masses.items():
                into[signs] += mass
        every = product((-1, 1), repeat=self.family.dim)
        return SignDistribution({signs: [masses[signs] for masses in found.values()] for signs in every})


def play(family: SignFamily, policy: Policy, *, horizon: int) -> Played:
    """Return every transcript of ``horizon`` rounds with its probability under each V. Rewards must be in
    {0, 1}."""
    every = list(product((-1, 1), repeat=family.dim))
    arms = list(product(range(family.dim), (-1, 1)))
    means = {(arm, signs): family.mean(arm, signs) for arm in arms for signs in every}
    alive = [Transcript((), dict.fromkeys(every, arb(1)))]
    for _ in range(horizon):
        alive = [
            Transcript(
                (*one.history, (*arm, reward)),
                {
                    signs: mass * weight * (means[arm, signs] if reward else 1 - means[arm, signs])
                    for signs, mass in one.masses.items()
                },
            )
            for one in alive
            for arm, weight in policy(one.history).items()
            for reward in (0, 1)
        ]
    return Played(family, alive)
