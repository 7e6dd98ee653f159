"""T2, rule ``tail``: the exact probability that noise is large.

Statement. Let X be the noise of the node. ``side`` names the event: "above" is X > t, "below" X < -t, "both"
|X| > t; with ``strict`` "no" the inequalities include equality. Its probability is at most the upper end of
the ball that ``tail_mass`` gives.

The level t is written as ``factor``, or as factor ln(a), or sqrt(factor ln(a)), with rational factor >= 0
and a >= 1 (``log_of``, and ``root``): the levels of tail bounds with failure probability 1/a. For a > 1 and
factor > 0 they are irrational (Lindemann), so that no integer outcome lies exactly at them.

Proof. ``tail_mass``; for "both" the two events are disjoint, but for t = 0 included, where the probability
is 1. One case is exact: Laplace noise of scale b at t = k b ln(a), k an integer: P(|X| > t) = a^-k. ∎

Source: the tails themselves; for the closed form Dwork and Roth 2014, Fact 3.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball, enclose, upper_short
from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, Setting
from dpaudit.kernel.t1.tier import Tier
from dpaudit.kernel.t2.cumulant import NoiseBound
from dpaudit.kernel.t2.noise import Noise
from dpaudit.kernel.t2.noise_distribution import read_noise, subject
from dpaudit.kernel.t2.tail_mass import mass_above

__all__ = ["SIDES", "Level", "add_tail", "enclosed_tail", "read_tail"]

SIDES = ("above", "below", "both")


@dataclass(frozen=True)
class Level:
    """The number ``factor``, or factor * ln(log_of), or with ``root`` the square root of it."""

    factor: Fraction
    log_of: Fraction | None = None
    root: bool = False

    @property
    def exact(self) -> Fraction | None:
        """Return the level if it is certainly rational, or ``None``."""
        if self.factor == 0 or self.log_of == 1:
            return Fraction(0)
        return self.factor if self.log_of is None and not self.root else None

    def ball(self) -> arb:
        value = ball(self.factor) * (1 if self.log_of is None else ball(self.log_of).log())
        return value.sqrt() if self.root else value

    def __str__(self) -> str:
        value = str(self.factor) if self.log_of is None else f"{self.factor} ln({self.log_of})"
        return f"sqrt({value})" if self.root else value


def add_tail(tier: Tier) -> None:
    """Add the rule ``tail``."""

    @tier.rule("tail")
    def _tail(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        noise, level, side, strict, described = read_tail(p)
        words, assumptions = subject(p, described)
        probability = enclosed_tail(noise, level, side=side, strict=strict)
        bound = probability if isinstance(probability, Fraction) else upper_short(probability)
        found = NoiseBound(chance=min(bound, Fraction(1)), subject=words)
        return Guarantee(curves=found, assumptions=assumptions)


def read_tail(parameters: Parameters) -> tuple[Noise, Level, str, bool, str]:
    """Return the event of a node: noise, level, side, strictness, and its name."""
    noise, name = read_noise(parameters)
    parameters.need(
        noise.attained == noise,
        "a tail must be of one distribution, got a class of bounded distributions.",
    )
    table = parameters.table("level")
    level = Level(
        table.positive("factor", zero=True),
        table.number("log_of") if "log_of" in table else None,
        "root" in table and table.choice("root", ["yes", "no"]) == "yes",
    )
    table.finish()
    parameters.need(
        level.log_of is not None or not level.root,
        "a level with a root must have log_of, got none.",
    )
    parameters.need(
        level.log_of is None or level.log_of >= 1, f"log_of must be 1 or more, got {level.log_of}."
    )
    side = parameters.choice("side", SIDES)
    strict = parameters.choice("strict", ["yes", "no"]) == "yes"
    sign = {"above": ">", "below": "<", "both": ">"}[side] + ("" if strict else "=")
    left = "|X|" if side == "both" else "X"
    right = f"-{level}" if side == "below" else str(level)
    return noise, level, side, strict, f"{left} {sign} {right} for X = {name}"


def enclosed_tail(noise: Noise, level: Level, *, side: str, strict: bool) -> Fraction | arb:
    """Return the probability of the event: a rational if it is known exactly, else a ball of 60 bits."""
    exact = _exact(noise, level, side)
    if exact is not None:
        return exact
    if side == "both" and level.exact == 0 and not strict:
        return Fraction(1)

    def compute() -> arb:
        point = level.exact if level.exact is not None else level.ball()
        sides = [False, True] if side == "both" else [side == "below"]
        return sum((mass_above(noise, point, strict=strict, below=below) for below in sides), arb(0))

    return enclose(compute, bits=60)


def _exact(noise: Noise, level: Level, side: str) -> Fraction | None:
    """Return the probability if it is rational, as for Laplace noise at t = k b ln(a), or ``None``."""
    if len(noise.parts) != 1 or noise.shift != 0 or level.log_of is None or level.root:
        return None
    part, count = noise.parts[0]
    half = part.tail_at_log(level.factor, level.log_of) if count == 1 else None
    return 2 * half if half is not None and side == "both" else half
