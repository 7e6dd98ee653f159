"""Refute programs that branch on public values by the privacy loss at one list of outcomes (G14 c).

Far out along a ray, the answers of public questions need not be consistent. So actual lists of outcomes are
tried. The program runs on two neighbours with plain numbers, and every release returns a prescribed number.
Suppose that both runs show the same constants, have no hidden draw, show no number computed from outcomes,
and compare no two equal numbers of this kind. Then the same holds for all outcomes nearby. The densities of
the outcomes are continuous there, and their exact ratio, e to the sum of (abs(o - v') - abs(o - v)) / scale,
is the limit of the ratios of small balls of outcomes. A claim strictly below the loss is therefore refuted.

The data are exact numbers in such a run. A float that is combined with them is the decimal that it prints as,
as in the proof. No float is made of data or outcomes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import GeneratorType
from typing import Any, NoReturn

from dpaudit.certify.witnesses.transcript import WitnessSite, transcript_body
from dpaudit.coins.base import ChannelSession, Coins, Program, To
from dpaudit.core.views import PUBLIC, View, audience
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.continuous import Laplace
from dpaudit.prover.data import Symbols
from dpaudit.prover.explore import Path
from dpaudit.prover.forms import ZERO
from dpaudit.prover.interrupts import handlers, is_from_a_handler
from dpaudit.prover.symbols import RefusedError, is_plain, plain_key, plain_number

__all__ = ["Attained", "attained"]

#: Numbers of tries: lists of outcomes for one path and change, and paths.
TRIES, MAX_PATHS = 40, 40


class _Number:
    """An exact number computed from data, or from outcomes (``noisy``).

    It supports arithmetic and comparisons only. A comparison of a noisy number must not be a tie.
    """

    __slots__ = ("noisy", "value")

    def __init__(self, value: Fraction, *, noisy: bool) -> None:
        self.value, self.noisy = value, noisy

    __hash__ = None  # type: ignore[assignment]

    def _made(self, value: Fraction, other: Any = None) -> _Number:
        return _Number(value, noisy=self.noisy or _is_noisy(other))

    def __add__(self, other: Any) -> _Number:
        return self._made(self.value + _plain(other), other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> _Number:
        return self._made(self.value - _plain(other), other)

    def __rsub__(self, other: Any) -> _Number:
        return self._made(_plain(other) - self.value, other)

    def __mul__(self, other: Any) -> _Number:
        return self._made(self.value * _plain(other), other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> _Number:
        if not is_plain(other) or not other:
            raise RefusedError("a divisor may be 0.", code="E-OUTCOME-DIVISOR")
        return self._made(self.value / _plain(other))

    def __neg__(self) -> _Number:
        return self._made(-self.value)

    def __pos__(self) -> _Number:
        return self

    def __abs__(self) -> _Number:
        return -self if self < 0 else self

    def _above(self, other: Any, *, same: bool) -> bool:
        if other is self:
            return same
        if type(other) is float and other in (float("inf"), float("-inf")):
            return other < 0
        if self.value == _plain(other):
            if self.noisy or _is_noisy(other):
                raise RefusedError("two compared numbers are equal.", code="E-OUTCOME-TIE")
            return same
        return self.value > _plain(other)

    def __gt__(self, other: Any) -> bool:
        return self._above(other, same=False)

    def __ge__(self, other: Any) -> bool:
        return self._above(other, same=True)

    def __lt__(self, other: Any) -> bool:
        return not self._above(other, same=True)

    def __le__(self, other: Any) -> bool:
        return not self._above(other, same=False)

    def __bool__(self) -> bool:
        raise RefusedError("an outcome was used as a truth value.", code="E-OUTCOME-TRUTH")

    def __eq__(self, other: object) -> bool:
        raise RefusedError("an outcome was compared for equality.", code="E-OUTCOME-EQUALITY")


def _is_noisy(value: Any) -> bool:
    return type(value) is _Number and value.noisy


def _plain(value: Any) -> Fraction:
    if type(value) is _Number:
        return value.value
    if not is_plain(value):
        raise RefusedError(
            "an outcome was combined with a value that is not a number.", code="E-OUTCOME-NOT-NUMBER"
        )
    return plain_number(value)


class _PrescribedCoins(Coins):
    """Coins whose releases return prescribed numbers. They record the output."""

    __slots__ = ("outcomes", "seen", "values")

    def __init__(self, outcomes: Callable[[int], Fraction]) -> None:
        self.outcomes = outcomes
        self.values: list[tuple[Fraction, Fraction]] = []
        self.seen: list[str] = []

    def _refuse(self) -> NoReturn:
        raise RefusedError(
            "the program has other randomness than releases with Laplace noise.",
            code="E-RANDOMNESS-NOT-LAPLACE",
        )

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        self._refuse()

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        if type(noise) is not Laplace or audience(to) != audience(PUBLIC):
            self._refuse()
        self.values.append((_plain(value), noise.scale))
        self.seen.append("release")
        return _Number(self.outcomes(len(self.values) - 1), noisy=True)

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        return self.release(0, distribution, site=site, to=to)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        if audience(to) != audience(PUBLIC):
            self._refuse()
        self.seen.extend(self._keys(value))
        return value

    def _keys(self, value: Any) -> list[str]:
        if type(value) in (list, tuple):
            return [
                f"{type(value).__name__} {len(value)}",
                *(key for item in value for key in self._keys(item)),
            ]
        if value is None or type(value) is str or is_plain(value):
            return [plain_key(value)]
        return self._refuse()

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = PUBLIC
    ) -> Any:
        self._refuse()

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        self._refuse()


@dataclass(frozen=True)
class Attained:
    """Two neighbours (numbers in the order of ``data.names``) and a list of outcomes."""

    left: tuple[Fraction, ...]
    right: tuple[Fraction, ...]
    outcomes: tuple[Fraction, ...]

    def loss(self, program: Program, data: Symbols) -> Fraction | None:
        """Run the program twice and return the exact loss at these outcomes, or None if it proves nothing."""
        sides = self._sides(program, data)
        if sides is None:
            return None
        pairs = zip(self.outcomes, *sides, strict=True)
        return sum(((abs(o - w) - abs(o - v)) / scale for o, (v, scale), (w, _) in pairs), ZERO)

    def transcript(self, program: Program, data: Symbols) -> dict[str, Any] | None:
        """Return the body of a witness: each release with its outcome and its distribution on both inputs."""
        sides = self._sides(program, data)
        if sides is None:
            return None
        sites = [
            WitnessSite(
                site=f"release {place}",
                to=audience(PUBLIC),
                distribution=Laplace(scale=scale).shift(value),
                distribution_neighbour=Laplace(scale=scale).shift(other),
                value=outcome,
            )
            for place, (outcome, (value, scale), (other, _)) in enumerate(
                zip(self.outcomes, *sides, strict=True)
            )
        ]
        return transcript_body(sites, view=View.of(PUBLIC), inputs=(list(self.left), list(self.right)))

    def _sides(self, program: Program, data: Symbols) -> list[list[tuple[Fraction, Fraction]]] | None:
        """Return the released values with their scales on both inputs, or None if they do not match."""
        sides = []
        for numbers in (self.left, self.right):
            run = _run(program, data, numbers, self.outcomes.__getitem__)
            if run is None or len(run.values) != len(self.outcomes):
                return None
            sides.append(run)
        one, other = sides
        scales = [[scale for _, scale in side.values] for side in sides]
        if one.seen != other.seen or scales[0] != scales[1]:
            return None
        return [one.values, other.values]

    def to_json(self, loss: Fraction) -> dict[str, Any]:
        """Return the witness as plain data with exact strings."""
        lists = {"left": self.left, "right": self.right, "outcomes": self.outcomes}
        texts = {name: ", ".join(map(str, numbers)) for name, numbers in lists.items()}
        return {
            "kind": "attained",
            **{name: [str(n) for n in numbers] for name, numbers in lists.items()},
            "loss": str(loss),
            "reason": f"at the outcomes {texts['outcomes']} the privacy loss is {loss} between the data "
            f"{texts['left']} and {texts['right']}.",
        }


def _run(
    program: Program, data: Symbols, numbers: Sequence[Fraction], outcomes: Callable[[int], Fraction]
) -> _PrescribedCoins | None:
    coins = _PrescribedCoins(outcomes)
    given = dict(zip(data.names, numbers, strict=True))
    try:
        result = program(coins, data.records(lambda name: _Number(given[name], noisy=False)))
        if isinstance(result, GeneratorType):
            return None
        coins.reveal(result, site="result")
    except Exception as error:  # no exception of the program refutes a claim
        if is_from_a_handler(error, handlers()):
            raise
        return None
    return coins


def attained(
    program: Program,
    paths: Iterable[tuple[Path, dict[str, Fraction], dict[str, Fraction]]],
    data: Symbols,
    above: Fraction,
) -> Attained | None:
    """Return neighbours and outcomes with a loss above ``above``, or None.

    Each of ``paths`` has data and a change of the data.
    """
    rng = random.Random(0)
    for _, (path, start, change) in zip(range(MAX_PATHS), paths, strict=False):
        left = tuple(start[name] for name in data.names)
        right = tuple(start[name] + change.get(name, ZERO) for name in data.names)
        moves = [form.change(change) for form, _, _ in path.releases()]
        far = sum((abs(n) for n in (*left, *right)), Fraction(1))
        for _ in range(TRIES):
            # Outcomes beyond both values, on the side that is farther from the neighbour's value.
            outcomes: list[Fraction] = []
            sizes = [far * rng.choice((1, 2, 5, 30)) + Fraction(rng.randint(1, 999), 1000) for _ in moves]
            for move, size in zip(moves, sizes, strict=True):
                sign = rng.choice((-1, 1)) if not move else -1 if move > 0 else 1
                outcomes.append(sign * size)
            found = Attained(left, right, tuple(outcomes))
            loss = found.loss(program, data)
            if loss is not None and loss > above:
                return found
    return None
