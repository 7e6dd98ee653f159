"""Run an unmodified program on plain data with symbolic noise, along every path of its comparisons.

The generator returns linear forms over noise symbols, alone or in object arrays. Arithmetic gives further
forms. A comparison asks ``_Walk`` for an answer, and both answers are explored. So the regions of the paths
are disjoint and cover the noise up to a null set. A use of a form that is not linear makes the path fail,
even if the program catches the error.

A program can treat symbols differently from numbers, for example by their type, and keep them between runs.
So ``replays`` runs it with numbers inside the region of each path, and a form of another run makes a path
fail.
The program and its objects are left changed, so the caller runs it in a fork.
"""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from dpaudit.core.views import PUBLIC, audience
from dpaudit.prover.forms import Form, symbol
from dpaudit.prover.values.noise_regions import Noise, estimated, inner_points
from dpaudit.prover.values.run import exact

__all__ = ["SymbolicPath", "SymbolicProgram"]

#: Limits on the paths of a program, the decisions of a path, its noise symbols, and options of a finite draw.
MAX_PATHS, MAX_DECISIONS, MAX_NOISE, MAX_OPTIONS = 128, 64, 4_096, 64
#: Bound on the relative error of probabilities that are computed in floats.
ROUNDED = Fraction(1, 10**9)


#: Standard draws of each law.
REAL: dict[str, Callable[[Any], float]] = {
    "laplace": lambda rng: rng.laplace(),
    "gaussian": lambda rng: rng.normal(),
    "exponential": lambda rng: rng.exponential(),
    "gumbel": lambda rng: rng.gumbel(),
    "uniform": lambda rng: rng.random(),
    "cauchy": lambda rng: rng.standard_cauchy(),
}


class _LinearityError(BaseException):
    """The program uses noise in a way that is not linear.

    It is not an ``Exception``, because a program that tries again after every ``Exception`` would not end.
    """


@dataclass(frozen=True)
class _Drawn:
    """Source of numbers of a run without symbols: fixed ones where they are given, else those of ``rng``."""

    rng: np.random.Generator
    values: Mapping[str, float] = field(default_factory=dict)
    picks: Sequence[int] = ()

    def number(self, name: str, noise: Noise) -> float:
        found = self.values.get(name)
        return REAL[noise.law](self.rng) * float(noise.scale) if found is None else found

    def pick(self, place: int, draw: Callable[[Any], Any]) -> int:
        return self.picks[place] if place < len(self.picks) else int(draw(self.rng))


@dataclass(frozen=True)
class SymbolicPath:
    """One path: its rows ``form <= 0``, its noise, its output and the probability of its finite draws.

    ``output`` is a flat tuple of texts and forms, in which numbers without noise are constant forms.
    """

    rows: tuple[Form, ...]
    noise: dict[str, Noise]
    output: tuple[str | Form, ...]
    weight: tuple[Fraction, Fraction]
    picks: tuple[int, ...] = ()


@dataclass(eq=False)
class _Walk:
    """One run. With ``real``, noise is numbers from it, and ``values`` holds the drawn ones."""

    choices: list[int]
    real: _Drawn | None = None
    values: dict[str, float] = field(default_factory=dict)
    picks: list[int] = field(default_factory=list)
    taken: list[tuple[int, int]] = field(default_factory=list)  # (answer, number of answers)
    rows: list[Form] = field(default_factory=list)
    noise: dict[str, Noise] = field(default_factory=dict)
    low: Fraction = Fraction(1)
    high: Fraction = Fraction(1)
    failed: bool = False
    ends: dict[frozenset[tuple[str, Fraction]], tuple[Fraction | None, Fraction | None]] = field(
        default_factory=dict
    )

    def fail(self, what: str) -> NoReturn:
        self.failed = True
        raise _LinearityError(what)

    def own(self, number: Linear) -> Form:
        """Return the form of a number, which must be of this run."""
        return number.form if number.walk is self else self.fail("noise of an earlier run")

    def choose(self, answers: int) -> int:
        if len(self.taken) >= MAX_DECISIONS or answers > MAX_OPTIONS:
            self.fail("too many decisions")
        place = len(self.taken)
        answer = self.choices[place] if place < len(self.choices) else 0
        self.taken.append((answer, answers))
        return answer

    def below(self, form: Form, *, strict: bool) -> bool:
        """Return whether ``form < 0`` (or ``<= 0``). Equality has probability 0 unless there is no noise."""
        if not form.terms:
            return form.constant < 0 or (not strict and form.constant == 0)
        unit = form.times(1 / abs(form.terms[min(form.terms)]))
        key, opposite = (frozenset(f.terms.items()) for f in (unit, unit.times(Fraction(-1))))
        # Known so far: unit - constant lies in [least, most].
        least, most = self.ends.get(key, (None, None))
        if most is not None and most <= -unit.constant:
            return True
        if least is not None and least >= -unit.constant:
            return False
        if self.choose(2) == 0:
            most = -unit.constant
            self.rows.append(unit)
            answer = True
        else:
            least = -unit.constant
            self.rows.append(unit.times(Fraction(-1)))
            answer = False
        self.ends[key] = (least, most)
        self.ends[opposite] = (None if most is None else -most, None if least is None else -least)
        return answer

    def drawn(self, law: str, scale: Any) -> Any:
        if isinstance(scale, Linear):
            self.fail("a scale depends on noise")
        number = scale if isinstance(scale, Fraction) else exact(scale)
        if number == 0:
            return self._absent(law)
        if number < 0 or len(self.noise) >= MAX_NOISE:
            self.fail("a scale is negative, or there is too much noise")
        name = f"n{len(self.noise):04}"
        self.noise[name] = Noise(law, number)
        if self.real is not None:
            self.values[name] = self.real.number(name, self.noise[name])
            return self.values[name]
        return Linear(symbol(name), self)

    def _absent(self, law: str) -> Any:
        """Return noise of scale 0, for which numpy draws a number too."""
        if self.real is None:
            return Linear(Form({}, Fraction(0)), self)
        return self.real.number("", Noise(law, Fraction(0)))

    def weighted(self, p: list[tuple[Fraction, Fraction]], draw: Callable[[Any], Any]) -> int:
        answer = self.choose(len(p)) if self.real is None else self.real.pick(len(self.picks), draw)
        self.picks.append(answer)
        self.low, self.high = self.low * p[answer][0], self.high * p[answer][1]
        return answer


class Linear:
    """A number that is linear in noise symbols."""

    __slots__ = ("form", "walk")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, form: Form, walk: _Walk) -> None:
        self.form, self.walk = form, walk

    def _form(self, other: Any) -> Form:
        if isinstance(other, Linear):
            return self.walk.own(other)
        if isinstance(other, bool | np.bool_ | int | np.integer | Fraction):
            return Form({}, exact(other))
        if isinstance(other, float | np.floating) and np.isfinite(other):
            return Form({}, exact(other))
        return self.walk.fail("noise is combined with a value that is not a finite number")

    def _linear(self, other: Any, compute: Callable[[Form], Form]) -> Any:
        if isinstance(other, np.ndarray):
            found = np.empty(other.shape, dtype=object)
            for place in np.ndindex(other.shape):
                found[place] = self._linear(other[place], compute)
            return found
        return Linear(compute(self._form(other)), self.walk)

    def __add__(self, other: Any) -> Any:
        return self._linear(other, self.form.plus)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._linear(other, lambda f: self.form.plus(f, Fraction(-1)))

    def __rsub__(self, other: Any) -> Any:
        return self._linear(other, lambda f: f.plus(self.form, Fraction(-1)))

    def __mul__(self, other: Any) -> Any:
        return self._linear(other, self._times)

    __rmul__ = __mul__

    def _times(self, other: Form) -> Form:
        if other.terms and self.form.terms:
            self.walk.fail("a product of two noisy numbers")
        return self.form.times(other.constant) if not other.terms else other.times(self.form.constant)

    def __truediv__(self, other: Any) -> Any:
        def divided(by: Form) -> Form:
            if by.terms or not by.constant:
                self.walk.fail("a divisor depends on noise or is 0")
            return self.form.times(1 / by.constant)

        return self._linear(other, divided)

    def __neg__(self) -> Linear:
        return Linear(self.form.times(Fraction(-1)), self.walk)

    def __pos__(self) -> Linear:
        return self

    def __abs__(self) -> Linear:
        return -self if self < 0 else self

    def _below(self, other: Any, *, strict: bool) -> Any:
        if isinstance(other, np.ndarray):
            return np.array([self._below(one, strict=strict) for one in other.ravel()]).reshape(other.shape)
        if isinstance(other, float | np.floating) and np.isinf(other):
            return np.bool_(other > 0)
        return np.bool_(self.walk.below(self.form.plus(self._form(other), Fraction(-1)), strict=strict))

    def __lt__(self, other: Any) -> Any:
        return self._below(other, strict=True)

    def __le__(self, other: Any) -> Any:
        return self._below(other, strict=False)

    def __gt__(self, other: Any) -> Any:
        return np.logical_not(self._below(other, strict=False))

    def __ge__(self, other: Any) -> Any:
        return np.logical_not(self._below(other, strict=True))

    def __eq__(self, other: object) -> Any:
        if isinstance(other, np.ndarray):
            return self.walk.fail("noise is compared with an array for equality")
        known = other is not None and not isinstance(other, str)
        return np.bool_(known and self.form == self._form(other))

    def __ne__(self, other: object) -> Any:
        return np.bool_(not self == other)

    def __bool__(self) -> bool:
        return bool(self.form.terms) or self.form.constant != 0

    def _fails(self, *_: Any, **__: Any) -> NoReturn:
        self.walk.fail("noise is used in a way that is not linear")

    __float__ = __int__ = __index__ = __round__ = __str__ = __repr__ = __format__ = _fails
    __pow__ = __rpow__ = __rtruediv__ = __floordiv__ = __mod__ = __copy__ = __deepcopy__ = _fails
    __floor__ = __ceil__ = __trunc__ = __reduce_ex__ = __complex__ = _fails

    def item(self) -> Linear:
        """Return the number, as numpy scalars do."""
        return self

    def clip(self, low: Any, high: Any, out: Any = None) -> Any:
        """Return the number between two numbers, as ``np.clip`` does with scalars."""
        if out is not None or np.ndim(low) or np.ndim(high):
            self.walk.fail("a number is clipped to arrays")
        if low is not None and self < low:
            return low if isinstance(low, Linear) else np.float64(low)
        if high is not None and self > high:
            return high if isinstance(high, Linear) else np.float64(high)
        return self

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("__"):  # numpy asks for protocols such as __array__
            self.walk.failed = True
        raise AttributeError(name)


class _Generator:
    """A generator whose noise is symbolic. Other methods fail."""

    def __init__(self, walk: _Walk) -> None:
        self._walk = walk

    def _drawn(self, law: str, loc: Any, scale: Any, size: Any) -> Any:
        shape: Any = size if size is not None else np.broadcast_shapes(np.shape(loc), np.shape(scale))
        if size is None and shape == ():
            number = loc + self._walk.drawn(law, scale)
            return number if self._walk.real is None else float(number)
        shape = (int(shape),) if np.ndim(shape) == 0 else tuple(shape)
        scales, found = np.broadcast_to(np.asarray(scale), shape), np.empty(shape, dtype=object)
        for place in np.ndindex(shape):
            found[place] = self._walk.drawn(law, scales[place])
        return loc + (found if self._walk.real is None else found.astype(float))

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._drawn("laplace", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._drawn("gaussian", loc, scale, size)

    def standard_normal(self, size: Any = None) -> Any:
        return self._drawn("gaussian", 0.0, 1.0, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._drawn("gumbel", loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._drawn("exponential", 0.0, scale, size)

    def standard_cauchy(self, size: Any = None) -> Any:
        return self._drawn("cauchy", 0.0, 1.0, size)

    def random(self, size: Any = None) -> Any:
        return self._drawn("uniform", 0.0, 1.0, size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        return low + (high - low) * self.random(size)

    def integers(self, low: Any, high: Any = None, size: Any = None) -> Any:
        low, high = (0, low) if high is None else (low, high)
        if type(low) is not int or type(high) is not int or not low < high <= low + MAX_OPTIONS:
            self._walk.fail("integers with other than a few options")
        shares = [(Fraction(1, high - low),) * 2] * (high - low)

        def one() -> np.int64:
            return np.int64(low + self._walk.weighted(shares, lambda rng: rng.integers(low, high) - low))

        if size is None:
            return one()
        shape = (int(size),) if np.ndim(size) == 0 else tuple(size)
        return np.array([one() for _ in range(int(np.prod(shape)))]).reshape(shape)

    def choice(self, a: Any, size: Any = None, *, replace: bool = True, p: Any = None) -> Any:
        options = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        if size is not None or options.ndim != 1 or not replace or options.dtype == object:
            self._walk.fail("a choice of more than one option")
        count = len(options)
        chances = np.full(count, 1 / count) if p is None else np.asarray(p, dtype=float)
        if chances.shape != (count,) or not (np.all(chances >= 0) and abs(chances.sum() - 1) < 1e-9):
            self._walk.fail("the probabilities of a choice are not known")
        tiny = Fraction(1, 10**300)  # a float of 0 may be a positive number below the smallest float
        ends = [
            (Fraction(float(c)) * (1 - ROUNDED), Fraction(float(c)) * (1 + ROUNDED) + tiny) for c in chances
        ]
        return options[
            self._walk.weighted(ends, lambda rng: rng.choice(count) if p is None else rng.choice(count, p=p))
        ]

    def __getattr__(self, name: str) -> NoReturn:
        self._walk.failed = True
        raise AttributeError(name)


LAWS = {"laplace": "scale", "gaussian": "sigma", "exponential": "scale", "gumbel": "scale", "cauchy": "scale"}


class _Coins:
    """Coins with symbolic noise that record what the public sees."""

    def __init__(self, walk: _Walk) -> None:
        self._walk = walk
        self.shown: list[Any] = []

    def draw(self, distribution: Any, *, site: str) -> Any:
        name = LAWS.get(distribution.name)
        law = getattr(distribution, name, None) if name else None
        if law is None or np.ndim(law) or distribution.event_ndim:
            self._walk.fail("a distribution that is not known")
        return self._walk.drawn(distribution.name, law)

    def release(self, value: Any, noise: Any, *, site: str, to: Any = PUBLIC) -> Any:
        return self.reveal(self.draw(noise, site=site) + value, site=site, to=to)

    def observe(self, distribution: Any, *, site: str, to: Any = PUBLIC) -> Any:
        return self.reveal(self.draw(distribution, site=site), site=site, to=to)

    def reveal(self, value: Any, *, site: str, to: Any = PUBLIC) -> Any:
        if audience(to) != audience(PUBLIC):
            self._walk.fail("a value that the public does not see")
        self.shown.append(flat(value, self._walk))
        return value

    def __getattr__(self, name: str) -> NoReturn:
        self._walk.failed = True
        raise AttributeError(name)


def flat(value: Any, walk: _Walk) -> list[str | Form]:
    """Return an output as texts and forms. Boolean values are numbers."""
    if isinstance(value, Linear):
        return [walk.own(value)]
    if value is None or isinstance(value, str):
        return [f"text {value}" if value is not None else "none"]
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return [Form({}, Fraction(int(value)))]
    if isinstance(value, float | np.floating):
        return [Form({}, exact(value)) if np.isfinite(value) else f"number {value}"]
    if isinstance(value, np.ndarray):
        entries = [part for entry in value.ravel() for part in flat(entry, walk)]
        return [f"array {value.shape}", *entries]
    if isinstance(value, dict):
        items = [part for key, item in value.items() for part in [repr(key), *flat(item, walk)]]
        return [f"table {len(value)}", *items]
    if isinstance(value, list | tuple):
        return [f"list {len(value)}", *(part for item in value for part in flat(item, walk))]
    return walk.fail("an output that is not made of numbers, text and lists")


@dataclass(frozen=True)
class SymbolicProgram:
    """A program as ``run(generator, data)``, or ``run(coins, data)`` if ``coins``."""

    run: Callable[[Any, Any], Any]
    coins: bool

    def _output(self, walk: _Walk, data: Any, source: Any = None) -> tuple[str | Form, ...]:
        source = source or (_Coins(walk) if self.coins else _Generator(walk))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            found = self.run(source, copy.deepcopy(data))
        shown = source.shown if self.coins else []
        return (*(part for parts in shown for part in parts), *flat(found, walk), printed.getvalue())

    def paths(self, data: Any) -> list[SymbolicPath] | None:
        """Return all paths on ``data``, or None if one fails or there are too many."""
        pending: list[list[int]] = [[]]
        found: list[SymbolicPath] = []
        while pending:
            choices = pending.pop()
            walk = _Walk(choices)
            try:
                output = self._output(walk, data)
            except (Exception, SystemExit, _LinearityError):  # of the program: nothing is concluded
                return None
            if walk.failed or [answer for answer, _ in walk.taken[: len(choices)]] != choices:
                return None
            for place in range(len(choices), len(walk.taken)):
                before = [answer for answer, _ in walk.taken[:place]]
                pending += [[*before, other] for other in range(1, walk.taken[place][1])]
            found.append(
                SymbolicPath(tuple(walk.rows), walk.noise, output, (walk.low, walk.high), tuple(walk.picks))
            )
            if len(found) + len(pending) > MAX_PATHS:
                return None
        return found

    def agrees(self, data: Any, paths: list[SymbolicPath], seed: int) -> bool:
        """Return whether a run with real noise has the output of its path, up to rounding.

        A program with a generator runs with a generator of numpy too, which draws the same numbers. So a
        program that treats symbols or their generator differently does not agree.
        """
        walk = _Walk([], real=_Drawn(np.random.default_rng(seed)))
        try:
            output = self._output(walk, data)
            native = output if self.coins else self._output(walk, data, np.random.default_rng(seed))
        except (Exception, SystemExit, _LinearityError):
            return False
        return any(
            _alike(path.output, output, walk.values) and _alike(path.output, native, walk.values)
            for path in paths
            if _contains(path, walk)
        )

    def replays(self, data: Any, paths: list[SymbolicPath], seed: int) -> bool:
        """Return whether runs with numbers inside the region of each path have the output of that path."""
        rng = np.random.default_rng(seed)
        for path in paths:
            points = list(inner_points(path.rows, path.noise, rng))
            if not points and estimated(path.rows, path.noise) != 0:
                return False
            for values in points:
                walk = _Walk([], real=_Drawn(rng, values, path.picks))
                try:
                    output = self._output(walk, data)
                except (Exception, SystemExit, _LinearityError):
                    return False
                if not (_contains(path, walk) and _alike(path.output, output, walk.values)):
                    return False
        return True


def _contains(path: SymbolicPath, walk: _Walk) -> bool:
    if path.picks != tuple(walk.picks) or path.noise != walk.noise:
        return False
    return all(
        _at(row, walk.values) <= 1e-9 * (abs(float(row.constant)) + _spread(row, walk.values))
        for row in path.rows
    )


def _at(form: Form, values: dict[str, float]) -> float:
    return float(form.constant) + sum(float(f) * values[name] for name, f in form.terms.items())


def _spread(form: Form, values: dict[str, float]) -> float:
    """Return the size of the noise in a form."""
    return sum(abs(float(f) * values[name]) for name, f in form.terms.items())


def _alike(one: Sequence[str | Form], other: Sequence[str | Form], values: dict[str, float]) -> bool:
    """Return whether the output of a path and another one are equal up to rounding."""
    return len(one) == len(other) and all(_close(a, b, values) for a, b in zip(one, other, strict=True))


def _close(one: str | Form, other: str | Form, values: dict[str, float]) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    a, b = _at(one, values), _at(other, values)
    unit = min(1.0, _spread(one, values)) if one.terms else 1.0  # noise may be far below 1
    return abs(a - b) <= 1e-6 * max(unit, abs(a), abs(b))
