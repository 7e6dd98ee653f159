"""Compute a lower bound on the privacy loss between two inputs, as an oracle that shares no code with the
prover. The program runs on numbers. Data are fractions, each hidden draw and each noise of a release is a
variable, and computed values are linear forms in these variables. Comparisons fork. Every path is a polytope
of noise with the list of its shown values. An *event* fixes shown texts, truth values and integers, and puts
shown numbers into intervals. Its probability is a sum of masses of polytopes (``masses.py``), so that
ln(P(event | left) / P(event | right)) is a lower bound of the program's epsilon, for any event. Draws on the
integers are summed over a window whose tail is below 1e-12."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.distributions import (
    Bernoulli,
    Categorical,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Shifted,
)
from tests.prover.masses import Floats, Noise, TooWideError, polytope_mass

__all__ = ["ANY", "Form", "OracleCoins", "Path", "UnfollowedError", "Within", "loss", "paths", "probability"]

#: The largest numbers of decisions on a path, and of paths.
_DEPTH, _PATHS = 60, 20_000


class UnfollowedError(Exception):
    """The oracle cannot follow this program, so that its loss needs another derivation."""


@dataclass(frozen=True)
class Within:
    """An interval that contains a shown number. It may be a single point."""

    low: Fraction | float | str = -math.inf
    high: Fraction | float | str = math.inf

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            end = getattr(self, name)
            object.__setattr__(self, name, Fraction(end) if isinstance(end, str) else end)


ANY = Within()


def exact(value: Any) -> Fraction:
    """Return a number as a fraction. A float is the decimal that it prints as."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


class Form:
    """A linear form in the noise of one run."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, run: OracleCoins, coefficients: dict[int, Fraction], constant: Fraction) -> None:
        self.run = run
        self.coefficients = {i: c for i, c in coefficients.items() if c}
        self.constant = constant

    def _lift(self, other: Any) -> Form:
        if isinstance(other, Form):
            return other
        if isinstance(other, int | float | Fraction):
            return Form(self.run, {}, exact(other))
        raise UnfollowedError(f"a form was combined with {other!r}")

    def _plus(self, other: Any, sign: int) -> Form:
        that = self._lift(other)
        keys = {*self.coefficients, *that.coefficients}
        sums = {i: self.coefficients.get(i, Fraction(0)) + sign * that.coefficients.get(i, 0) for i in keys}
        return Form(self.run, sums, self.constant + sign * that.constant)

    def _times(self, factor: Fraction) -> Form:
        return Form(self.run, {i: c * factor for i, c in self.coefficients.items()}, self.constant * factor)

    def __add__(self, other: Any) -> Form:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Form:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Form:
        return self._lift(other)._plus(self, -1)

    def __neg__(self) -> Form:
        return self._times(Fraction(-1))

    def __pos__(self) -> Form:
        return self

    def __abs__(self) -> Form:
        return self if self >= 0 else -self

    def __mul__(self, other: Any) -> Form:
        that = self._lift(other)
        if that.coefficients and self.coefficients:
            raise UnfollowedError("a product of two forms")
        return self._times(that.constant) if not that.coefficients else that._times(self.constant)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Form:
        that = self._lift(other)
        if that.coefficients:
            raise UnfollowedError("a division by a form")
        return self._times(1 / that.constant)

    def __lt__(self, other: Any) -> bool:
        return self.run.decide(self - other, strict=True)

    def __le__(self, other: Any) -> bool:
        return self.run.decide(self - other, strict=False)

    def __gt__(self, other: Any) -> bool:
        return self.run.decide(self._lift(other) - self, strict=True)

    def __ge__(self, other: Any) -> bool:
        return self.run.decide(self._lift(other) - self, strict=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Form | int | float | Fraction):
            return False
        gap = self - other
        if any(i not in self.run.integral for i in gap.coefficients):
            return False  # probability 0
        return self.run.decide(gap, strict=False) and self.run.decide(-gap, strict=False)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    def _stop(self, *_: Any) -> Any:
        raise UnfollowedError("noise became a plain number or text")

    __float__ = __int__ = __index__ = __round__ = __floor__ = __str__ = __repr__ = __format__ = _stop


@dataclass
class Path:
    """One path: the weight of its finite draws, its rows (``form < 0`` or ``form <= 0``) and its shown
    values."""

    weight: Fraction
    noise: list[Any]
    rows: list[tuple[Form, bool]]
    shown: list[Any]


@dataclass
class OracleCoins:
    """The coins of one run along a prefix of decisions."""

    prefix: list[int]
    taken: list[tuple[int, int]] = field(default_factory=list)
    weight: Fraction = Fraction(1)
    noise: list[Any] = field(default_factory=list)
    integral: set[int] = field(default_factory=set)
    rows: list[tuple[Form, bool]] = field(default_factory=list)
    shown: list[Any] = field(default_factory=list)
    replicates: None = None

    def choose(self, options: int) -> int:
        place = len(self.taken)
        if place >= _DEPTH:
            raise UnfollowedError("a path is too long")
        answer = self.prefix[place] if place < len(self.prefix) else 0
        self.taken.append((answer, options))
        return answer

    def decide(self, form: Form, *, strict: bool) -> bool:
        """Return whether ``form < 0`` (or <= 0). A constant is decided, and any other form forks."""
        if not form.coefficients:
            return form.constant < 0 if strict else form.constant <= 0
        yes = self.choose(2) == 0
        self.rows.append((form, strict) if yes else (-form, not strict))
        return yes

    def draw(self, distribution: Any, *, site: str = "") -> Any:
        if isinstance(distribution, Shifted):
            return distribution.offset + self.draw(distribution.base, site=site)
        if isinstance(distribution, Bernoulli | Categorical):
            weights = (
                [1 - distribution.p, distribution.p]
                if isinstance(distribution, Bernoulli)
                else distribution.weights
            )
            total = sum(weights)
            value = self.choose(len(weights))
            self.weight *= Fraction(weights[value]) / total
            return value
        if not isinstance(distribution, Laplace | Exponential | Gaussian | DiscreteLaplace):
            raise UnfollowedError(f"the distribution {distribution!r}")
        self.noise.append(distribution)
        if isinstance(distribution, DiscreteLaplace):
            self.integral.add(len(self.noise) - 1)
        return Form(self, {len(self.noise) - 1: Fraction(1)}, Fraction(0))

    def release(self, value: Any, noise: Any, *, site: str = "", to: Any = None) -> Any:
        return self.reveal(value + self.draw(noise))

    def observe(self, distribution: Any, *, site: str = "", to: Any = None) -> Any:
        return self.reveal(self.draw(distribution))

    def reveal(self, value: Any, *, site: str = "", to: Any = None) -> Any:
        self.shown += flattened(value)
        return value


def flattened(value: Any) -> Iterator[Any]:
    """Yield the shown values in order. A container yields its type and length before its elements."""
    if isinstance(value, list | tuple):
        yield f"{type(value).__name__} of {len(value)}"
        for item in value:
            yield from flattened(item)
    elif value is None or isinstance(value, str | bool | int | float | Fraction | Form):
        yield value
    else:
        raise UnfollowedError(f"shown: {type(value).__name__}")


def paths(program: Callable[..., Any], data: Sequence[Any]) -> list[Path]:
    """Return every path of the program on ``data``, possible or not. A returned value is shown last."""
    found: list[Path] = []
    waiting: list[list[int]] = [[]]
    while waiting:
        coins = OracleCoins(waiting.pop())
        try:
            result = program(coins, list(data))
            coins.shown += [] if result is None else flattened(result)
        except (ArithmeticError, AssertionError, LookupError, StopIteration, SystemExit, ValueError) as error:
            coins.shown.append(f"raises {type(error).__name__}")
        if coins.weight:
            found.append(Path(coins.weight, coins.noise, coins.rows, coins.shown))
        if len(found) > _PATHS:
            raise UnfollowedError("too many paths")
        for place in range(len(coins.prefix), len(coins.taken)):
            start = [answer for answer, _ in coins.taken[:place]]
            waiting += [[*start, other] for other in range(1, coins.taken[place][1])]
    return found


def probability(found: Sequence[Path], event: Sequence[Any]) -> float:
    """Return P(the output is in the event)."""
    return math.fsum(float(path.weight) * _mass(path, event) for path in found)


def loss(
    program: Callable[..., Any], left: Sequence[Any], right: Sequence[Any], event: Sequence[Any]
) -> float:
    """Return ln(P(event | left) / P(event | right)), which is infinite if the right side is impossible."""
    above, below = probability(paths(program, left), event), probability(paths(program, right), event)
    if above == 0:
        return -math.inf
    return math.log(above / below) if below > 0 else math.inf


def _mass(path: Path, event: Sequence[Any]) -> float:
    if len(event) != len(path.shown):
        return 0.0
    rows = list(path.rows)
    for shown, wanted in zip(path.shown, event, strict=True):
        extra = _inside(shown, wanted)
        if extra is None:
            return 0.0
        rows += extra
    for form, strict in rows:
        if not form.coefficients and not (form.constant < 0 if strict else form.constant <= 0):
            return 0.0
    return _polytope(path.noise, [row for row in rows if row[0].coefficients])


def _inside(shown: Any, wanted: Any) -> list[tuple[Form, bool]] | None:
    """Return the rows that put a shown value into the event, or None if that is impossible."""
    if not isinstance(wanted, Within):
        same = type(shown) is type(wanted) and repr(shown) == repr(wanted)  # 0.0 and -0.0 differ
        return [] if same else None
    if isinstance(shown, bool | str) or shown is None:
        return None
    if not isinstance(shown, Form) or not shown.coefficients:
        value = shown.constant if isinstance(shown, Form) else exact(shown)
        return [] if wanted.low <= value <= wanted.high else None
    if wanted.low == wanted.high and not set(shown.coefficients) <= shown.run.integral:
        return None
    above = [] if wanted.low == -math.inf else [(exact(wanted.low) - shown, False)]
    below = [] if wanted.high == math.inf else [(shown - exact(wanted.high), False)]
    return above + below


def _polytope(noise: Sequence[Any], rows: Sequence[tuple[Form, bool]]) -> float:
    """Return the mass of a polytope. Draws on the integers are summed, the others integrated."""
    used = sorted({i for form, _ in rows for i in form.coefficients})
    whole = [i for i in used if isinstance(noise[i], DiscreteLaplace)]
    smooth = [i for i in used if i not in whole]
    if whole and smooth:
        return _mixed(noise, rows, whole, smooth)
    if whole:
        return _grid(noise, rows, whole)
    matrix = np.array([[float(form.coefficients.get(i, 0)) for i in smooth] for form, _ in rows])
    constants = np.array([float(form.constant) for form, _ in rows])
    return _integrated([noise[i] for i in smooth], matrix.reshape(len(rows), len(smooth)), constants)


def _integrated(distributions: Sequence[Any], matrix: Floats, constants: Floats) -> float:
    kinds = {Laplace: "laplace", Exponential: "exponential", Gaussian: "gaussian"}
    scales = [
        math.sqrt(distribution.sigma2) if isinstance(distribution, Gaussian) else float(distribution.scale)
        for distribution in distributions
    ]
    made = [
        Noise(kinds[type(distribution)], s) for distribution, s in zip(distributions, scales, strict=True)
    ]  # type: ignore[arg-type]
    return polytope_mass(made, matrix, constants)


def _window(distribution: DiscreteLaplace) -> tuple[Any, Floats]:
    far = math.ceil(30 * float(distribution.scale))
    values = np.arange(-far, far + 1)
    rate = 1 / float(distribution.scale)
    return values, np.exp(-np.abs(values) * rate) * math.tanh(rate / 2)


def _grid(noise: Sequence[Any], rows: Sequence[tuple[Form, bool]], whole: Sequence[int]) -> float:
    """Return the mass of integer draws, with exact membership and masses in floats."""
    windows = [_window(noise[i]) for i in whole]
    if math.prod(len(values) for values, _ in windows) > 5_000_000:
        raise TooWideError("too many draws on the integers")
    inside: Any = np.ones(tuple(len(v) for v, _ in windows), dtype=bool)
    for form, strict in rows:
        scale = math.lcm(form.constant.denominator, *(c.denominator for c in form.coefficients.values()))
        total: Any = int(form.constant * scale)
        for axis, i in enumerate(whole):
            shape = [1] * len(whole)
            shape[axis] = -1
            total = total + int(form.coefficients.get(i, Fraction(0)) * scale) * windows[axis][0].reshape(
                shape
            )
        inside &= (total < 0) if strict else (total <= 0)
    mass: Any = inside.astype(float)
    for axis, (_, weights) in enumerate(windows):
        shape = [1] * len(whole)
        shape[axis] = -1
        mass = mass * weights.reshape(shape)
    return float(mass.sum())


def _mixed(
    noise: Sequence[Any], rows: Sequence[tuple[Form, bool]], whole: Sequence[int], smooth: Sequence[int]
) -> float:
    """Return the mass of a mixed polytope: enumerate the integer draws and integrate the others."""
    windows = [_window(noise[i]) for i in whole]
    total = 0.0
    for combination in itertools.product(*(range(len(v)) for v, _ in windows)):
        values = {i: int(w[0][j]) for i, w, j in zip(whole, windows, combination, strict=True)}
        weight = math.prod(float(w[1][j]) for w, j in zip(windows, combination, strict=True))
        fixed = []
        for form, strict in rows:
            inner = {i: c for i, c in form.coefficients.items() if i in smooth}
            constant = form.constant + sum(c * values[i] for i, c in form.coefficients.items() if i in values)
            fixed.append((Form(form.run, inner, Fraction(constant)), strict))
        if all(f.coefficients or (f.constant < 0 if s else f.constant <= 0) for f, s in fixed):
            left = [row for row in fixed if row[0].coefficients]
            total += weight * (_polytope(noise, left) if left else 1.0)
    return total
