"""Find every path on which a program shows a given prefix, and keep draws with a density as intervals.

A *beginning* is a sequence of shown items: exact outcomes, intervals of outcomes with a density, and values.
``ways`` finds the paths on which the program shows it on one input. A hidden draw with finitely many outcomes
branches into all of them. The program receives a draw with a density, hidden or shown, as a ``Span``: an
unknown number in an interval, which the program may compare with numbers, shift and scale. A comparison that
the interval does not decide cuts the interval in two, and both parts are followed. The probability of a path
is the product of the probabilities of its outcomes and of its intervals, and the path is the same for *all*
numbers in them.

Other uses of a span, such as a conversion, a product of two spans or a text, cannot be followed. Such a path
is *open*: it may or may not show the beginning, so its probability counts only in an upper bound. It stays
open if the program catches the error. On every other path, the program is run again with a few numbers from
the intervals. If it then behaves differently, the path is open too.

Known weakness: ``type(x)`` distinguishes a span from a float without an error. If a program uses it and
behaves differently on a part of the interval that contains none of these numbers, the bounds are wrong by the
probability of that part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.coins.base import ChannelSession, Coins, Program, To
from dpaudit.coins.limits import StepLimitError
from dpaudit.coins.transcript import Recording, frozen_copy, raised_by, run_program, same_shown
from dpaudit.core.errors import DpauditError, InvalidParameterError, MechanismError, NotTractableError
from dpaudit.core.views import PUBLIC, SERVER, View, audience
from dpaudit.distributions.base import BaseMeasure, Distribution
from dpaudit.kernel.ball import arb

__all__ = ["Beginning", "Interval", "Way", "beginning_of", "ways"]

#: An open interval. An end that is ``None`` is infinite.
Interval = tuple[Fraction | None, Fraction | None]
LINE: Interval = (None, None)
#: The largest number of paths per input, and of branches along one path. More are not followed.
MAX_WAYS, MAX_DEPTH = 256, 200
#: The mass left out of a hidden distribution with infinitely many outcomes. It counts as open.
TAIL = 2.0**-60
#: The positions of the numbers that are tried inside an interval: the fraction of a finite interval, and the
#: distance to the only end, or to zero.
TRIED = ((0.5, 2.0**-7), (2.0**-9, 1.0), (1 - 2.0**-9, 100.0))


@dataclass(frozen=True)
class Beginning:
    """A sequence of shown items.

    Each item is ``("outcome", value)``, ``("interval", ends)`` or ``("value", value)``. After them comes a
    last value, or, if ``released``, a release whose distribution ``Way.distribution`` holds. ``raised`` means
    that the last value is the error with which the program ends.
    """

    items: tuple[tuple[str, Any], ...]
    released: bool
    raised: bool = False


@dataclass(frozen=True)
class Way:
    """A path of the program on one input.

    ``kind`` is "shown" if the path shows the beginning, "other" if not, and "open" if this is unknown.
    ``distribution`` is the distribution of the last release. The probability of the path is ``chance`` times
    the probabilities of the ``intervals``, each under its distribution.
    """

    kind: str
    chance: arb
    intervals: tuple[tuple[Distribution, Interval], ...]
    distribution: Distribution | None = None

    def mass(self) -> arb:
        """Return the probability of the path."""
        total = self.chance
        for distribution, (low, high) in self.intervals:
            total = total * mass_between(distribution, low, high)
        return total


def mass_between(distribution: Distribution, low: Fraction | None, high: Fraction | None) -> arb:
    """Return the probability of an interval, computed from the tail with the smaller radius."""
    if low is None:
        return arb(1) if high is None else distribution.cdf_ball(high)
    if high is None:
        return distribution.sf_ball(low)
    left = distribution.cdf_ball(high) - distribution.cdf_ball(low)
    right = distribution.sf_ball(low) - distribution.sf_ball(high)
    return left if left.rad() <= right.rad() else right


class _Stop(BaseException):
    """Ends a run whose kind of path is known."""


class _Run(Coins):
    """A run along ``choices``. After the last choice it takes the first branch and notes their number.

    With ``guide``, the values of a recording in order, the run takes the same branches as the recording, and
    the intervals are the largest in which it does. With ``points``, draws with a density have these values.
    """

    def __init__(
        self,
        view: View,
        beginning: Beginning | None,
        alike: Callable[[Any, Any], bool],
        choices: Sequence[int] = (),
        guide: list[Any] | None = None,
        points: Sequence[float] | None = None,
    ) -> None:
        self.view, self.beginning, self.alike = view, beginning, alike
        self.choices, self.guide, self.points = choices, guide, points
        self.taken: list[int] = []
        self.widths: list[int] = []
        self.drawn: list[int] = []
        self.chance = arb(1)
        self.spans: list[tuple[Distribution, Interval]] = []
        self.numbers: list[Fraction] = []
        self.items: list[tuple[str, Any]] = []
        self.place = 0
        self.kind = ""
        self.distribution: Distribution | None = None

    # How a run ends

    def stop(self, kind: str) -> _Stop:
        """Set the kind of the path, unless it is set. Later actions of the program do not change it."""
        self.kind = self.kind or kind
        return _Stop()

    def _go_on(self) -> None:
        if self.kind:
            raise _Stop

    def way(self) -> Way:
        return Way(self.kind or "other", self.chance, tuple(self.spans), self.distribution)

    # Branching

    def branch(self, width: int) -> int:
        """Return which of ``width`` branches is taken."""
        depth = len(self.taken)
        if depth >= MAX_DEPTH:
            raise self.stop("open")
        choice = self.choices[depth] if depth < len(self.choices) else 0
        self.taken.append(choice)
        self.widths.append(width)
        return choice

    def above(self, index: int, place: Fraction) -> bool:
        """Return whether span ``index`` is above ``place``. A place inside its interval cuts the interval."""
        self._go_on()
        distribution, (low, high) = self.spans[index]
        if low is not None and place <= low:
            return True
        if high is not None and place >= high:
            return False
        if self.guide is not None:
            if self.numbers[index] == place:
                raise self.stop("open")
            over = self.numbers[index] > place
        else:
            over = self.branch(2) == 0
        self.spans[index] = (distribution, (place, high) if over else (low, place))
        return over

    def _span(self, distribution: Distribution, ends: Interval, value: Any) -> Any:
        """Return a draw with a density as an unknown number."""
        if distribution.batch_shape or distribution.event_ndim:
            raise self.stop("open")
        self.spans.append((distribution, ends))
        if self.points is not None:
            if len(self.spans) > len(self.points):
                raise self.stop("open")
            return self.points[len(self.spans) - 1]
        self.numbers.append(Fraction(0) if value is None else Fraction(float(value)))
        return Span(self, len(self.spans) - 1, Fraction(1), Fraction(0))

    # The primitives

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        self._go_on()
        return self._shown(distribution) if self.view.sees(audience(to)) else self._unseen(distribution)

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        self._go_on()
        return self._unseen(distribution)

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        self._go_on()
        try:
            image = through.image_distribution(distributions)
        except NotTractableError:
            raise self.stop("open") from None
        return self._shown(image) if self.view.sees(audience(to)) else self._unseen(image)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        raise self.stop("open")

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        self._go_on()
        if not self.view.sees(audience(to)):
            return value
        if self.beginning is None:
            if _holds_span(value):
                raise self.stop("open")
            self.items.append(("value", self._recorded()))
            return value
        self._show(value, raised=False)
        return value

    def _show(self, value: Any, *, raised: bool) -> None:
        items = self.beginning.items  # type: ignore[union-attr]
        kind, wanted = items[self.place] if self.place < len(items) else ("release", None)
        if _holds_span(value) or kind != "value":
            raise self.stop("open")
        last = self.place == len(items) - 1
        if raised != (last and self.beginning.raised) or not self.alike(wanted, value):  # type: ignore[union-attr]
            raise self.stop("other")
        self._next()

    def _next(self) -> None:
        """Advance to the next item, because the current item was shown."""
        self.place += 1
        beginning = self.beginning
        if beginning is not None and not beginning.released and self.place == len(beginning.items):
            raise self.stop("shown")

    def _recorded(self) -> Any:
        """Return the next value of the recording, or end the run after the last value."""
        if not self.guide:
            raise self.stop("shown")
        return self.guide.pop(0)

    def _shown(self, distribution: Distribution) -> Any:
        density = distribution.base_measure is BaseMeasure.LEBESGUE
        if self.beginning is None:
            value = self._recorded()
            self.items.append(("interval", len(self.spans)) if density else ("outcome", value))
            return self._span(distribution, LINE, value) if density else frozen_copy(value)
        items = self.beginning.items
        if self.place >= len(items):
            self.distribution = distribution
            raise self.stop("shown")
        kind, value = items[self.place]
        if density and kind != "interval":
            raise self.stop("other")  # a single number has probability 0
        if not density and kind == "interval":
            raise self.stop("open")
        if density:
            found = self._span(distribution, value, None)
        else:
            found = frozen_copy(value)
            self.chance = self.chance * self._chance(distribution, value)
        self._next()
        return found

    def _chance(self, distribution: Distribution, value: Any) -> arb:
        try:
            return distribution.logp_ball(value).exp()
        except (DpauditError, ArithmeticError, ValueError, TypeError):
            raise self.stop("open") from None

    def _unseen(self, distribution: Distribution) -> Any:
        density = distribution.base_measure is BaseMeasure.LEBESGUE
        if self.guide is not None:
            value = self._recorded()
            return self._span(distribution, LINE, value) if density else frozen_copy(value)
        if density:
            return self._span(distribution, LINE, None)
        try:
            atoms = _atoms(distribution)
        except NotTractableError:
            raise self.stop("open") from None
        choice = self.branch(len(atoms))
        self.drawn.append(choice)
        value, chance = atoms[choice]
        self.chance = self.chance * chance
        if value is None:
            raise self.stop("open")
        return frozen_copy(value)


def _atoms(distribution: Distribution) -> list[tuple[Any, arb]]:
    """Return at most ``MAX_WAYS`` outcomes with their probabilities, and ``None`` with the remaining mass."""
    try:
        found, rest = [*distribution.atoms()], False
    except NotTractableError:
        found, rest = [*distribution.atoms(tail=TAIL)], True
    if len(found) > MAX_WAYS:
        found, rest = found[:MAX_WAYS], True
    if rest:
        left = 1 - sum((p for _, p in found), arb(0))
        found.append((None, arb(0).union(left.upper())))
    return found


class Span:
    """An unknown number ``factor * draw + offset``, with the draw anywhere in its interval."""

    __slots__ = ("_of",)
    __array_ufunc__ = None

    def __init__(self, run: _Run, index: int, factor: Fraction, offset: Fraction) -> None:
        object.__setattr__(self, "_of", (run, index, factor, offset))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # ``isinstance`` reads this, and would distinguish a span from a float
        raise self._of[0].stop("open")

    def __getattr__(self, name: str) -> Any:
        raise self._of[0].stop("open")

    def _moved(self, factor: Fraction, offset: Fraction) -> Any:
        run, index, own, start = self._of
        if factor == 0:
            raise run.stop("open")
        return Span(run, index, own * factor, start * factor + offset)

    def _number(self, other: Any) -> Fraction:
        number = other.item() if isinstance(other, np.integer | np.floating) else other
        if type(number) in (int, bool, Fraction) or (type(number) is float and math.isfinite(number)):
            return Fraction(number)
        raise self._of[0].stop("open")

    def _above(self, other: Any) -> bool:
        run, index, factor, offset = self._of
        if type(other) in (float, np.float64) and math.isinf(other):
            return bool(other < 0)
        over: bool = run.above(index, (self._number(other) - offset) / factor)
        return over if factor > 0 else not over

    # A single number has probability 0, so > and >= agree, and no span equals a number.
    def __gt__(self, other: Any) -> bool:
        return self._above(other)

    def __ge__(self, other: Any) -> bool:
        return self._above(other)

    def __lt__(self, other: Any) -> bool:
        return not self._above(other)

    def __le__(self, other: Any) -> bool:
        return not self._above(other)

    def __eq__(self, other: object) -> bool:
        self._number(other)
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return True

    def __add__(self, other: Any) -> Any:
        return self._moved(Fraction(1), self._number(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._moved(Fraction(1), -self._number(other))

    def __rsub__(self, other: Any) -> Any:
        return self._moved(Fraction(-1), self._number(other))

    def __mul__(self, other: Any) -> Any:
        return self._moved(self._number(other), Fraction(0))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        divisor = self._number(other)
        if divisor == 0:
            raise self._of[0].stop("open")
        return self._moved(1 / divisor, Fraction(0))

    def __neg__(self) -> Any:
        return self._moved(Fraction(-1), Fraction(0))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self._above(0) else -self

    def _refuse(self, *_: Any) -> Any:
        raise self._of[0].stop("open")

    __float__ = __int__ = __index__ = __complex__ = __round__ = __floor__ = __ceil__ = __trunc__ = _refuse
    __str__ = __repr__ = __format__ = __iter__ = __len__ = __getitem__ = __array__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __rtruediv__ = _refuse
    __divmod__ = __rdivmod__ = __hash__ = _refuse
    __setattr__ = __delattr__ = __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


def _holds_span(value: Any) -> bool:
    kind = type(value)
    if kind is Span:
        return True
    if kind in (list, tuple, set, frozenset):
        return any(map(_holds_span, value))
    if kind is dict:
        return any(_holds_span(item) for pair in value.items() for item in pair)
    return kind is np.ndarray and value.dtype.hasobject and any(map(_holds_span, value.ravel().tolist()))


def beginning_of(
    program: Program, recording: Recording, *, end: int, view: View, released: bool
) -> Beginning | None:
    """Return the beginning that ``view`` sees of a recording before position ``end``.

    Each draw with a density is widened to the largest interval in which the program takes the same branches.
    The last item is the value at ``end``, or a release if ``released``. Return ``None`` if the program cannot
    be followed.
    """
    sites = recording.sites
    last = sites[end]
    visible = view.sees(last.to)
    if not visible or any(site.kind == "channel" for site in sites[:end]):
        return None
    # The run does not read the values of hidden reveals.
    values = [site.value for site in sites[:end] if site.random or view.sees(site.to)]
    run = _Run(view, None, same_shown, guide=values)
    _ended(program, recording.data, run)
    if last.kind == "raise" and not run.spans and not run.guide:
        run.kind = "shown"  # the error itself is the last item
    if run.kind != "shown" or run.guide:
        return None
    items = [
        (kind, run.spans[value][1]) if kind == "interval" else (kind, value) for kind, value in run.items
    ]
    if not released:
        items.append(("value", last.value))
    return Beginning(tuple(items), released, last.kind == "raise")


def _ended(program: Program, data: Any, run: _Run) -> None:
    """Run the program until the kind of its path is known."""
    try:
        run_program(program, data, run)
    except _Stop:
        pass
    except StepLimitError:
        run.kind = run.kind or "open"
    except (MechanismError, InvalidParameterError) as error:
        if run.kind:
            return
        if (run.spans and run.points is None) or run.beginning is None:
            run.kind = "open"  # a span may have caused the error
            return
        with suppress(_Stop):
            run._show(raised_by(error), raised=True)
        run.kind = run.kind or "other"
    run.kind = run.kind or "other"


def ways(
    program: Program, data: Any, beginning: Beginning, *, view: View, alike: Callable[[Any, Any], bool]
) -> list[Way] | None:
    """Return all paths of the program on ``data``, each with whether it shows ``beginning``.

    Values that are ``alike`` count as equal. Return ``None`` if there are more than ``MAX_WAYS`` paths.
    """
    found: list[Way] = []
    choices: list[int] = []
    while len(found) < MAX_WAYS:
        run = _Run(view, beginning, alike, choices)
        _ended(program, data, run)
        way = run.way()
        if way.intervals and way.kind != "open" and not _confirmed(program, data, run, way):
            way = Way("open", way.chance, way.intervals)
        found.append(way)
        taken, widths = run.taken, run.widths
        while taken and taken[-1] + 1 >= widths[-1]:
            taken, widths = taken[:-1], widths[:-1]
        if not taken:
            return found
        choices = [*taken[:-1], taken[-1] + 1]
    return None


def _confirmed(program: Program, data: Any, run: _Run, way: Way) -> bool:
    """Return whether the program takes the same path with numbers from the intervals instead of spans."""
    for part, distance in TRIED:
        points = [_point(ends, part, distance) for _, ends in way.intervals]
        # Pass only the choices at hidden draws, because the numbers decide the comparisons.
        again = _Run(run.view, run.beginning, run.alike, run.drawn, points=points)
        _ended(program, data, again)
        if (
            again.kind != way.kind
            or again.distribution != way.distribution
            or len(again.spans) != len(way.intervals)
        ):
            return False
    return True


def _point(ends: Interval, part: float, distance: float) -> float:
    low, high = ends
    if low is not None and high is not None:
        return float(low + (high - low) * Fraction(part))
    if low is not None:
        return float(low) + distance * max(1.0, abs(float(low)) * 2.0**-20)
    if high is not None:
        return float(high) - distance * max(1.0, abs(float(high)) * 2.0**-20)
    return distance if part != 0.5 else -distance
