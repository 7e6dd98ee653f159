"""One function heard on two neighbouring inputs: what it drew, what moved, and which draw feeds which output.

    print(dpaudit.record_draws(noisy_sum, ([0, 0], [1, 0])))

Both runs begin with the same states of all generators that can be set, so that what differs in the outputs is
what the data did. Then single numbers are changed on the first input, one a run, and the outputs compared:
where an output moves with a number as a line does, the number is noise added to it. All of this is about
these runs; it finds what to look at and what to write down, and proves nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.recorded.noise import Mixture, mixtures
from dpaudit.blackbox.recorded.outputs import Leaf, leaves
from dpaudit.blackbox.recorded.rng_proxies import Session, listening
from dpaudit.blackbox.recorded.trace import Draw, Seeding, Trace, elements_of, number

__all__ = ["Element", "RecordedCall", "Recording", "Response", "record_runs"]

#: Numbers that are changed one by one, and the seconds after which no more of them are.
PROBED, SECONDS = 256, 2.0
#: An output that moves by less than this share of what a line would is taken to follow the line.
STRAIGHT = 1e-6
#: How often the first run is repeated; where no draw was heard, somebody else's coin may show late.
REPEATED, UNHEARD_REPEATED = 2, 24
#: Families with an interval that a changed number must not leave.
_UNIFORM = ("random", "random_sample", "uniform", "rand")

Floats = NDArray[np.float64]
#: (draw, element of it), both counted from 0.
Element = tuple[int, int]
#: Runs the function on an input and returns its output; an exception is the caller's to turn into one.
Call = Callable[[Any], Any]


@dataclass(frozen=True)
class RecordedCall:
    """One run: its draws, the seeds that it chose, and what it showed."""

    draws: Sequence[Draw]
    seedings: Sequence[Seeding]
    shown: Sequence[Leaf]
    more: int = 0
    unheard: bool = False

    @cached_property
    def mixtures(self) -> dict[int, Mixture]:
        """Poisson draws of gamma variates."""
        return mixtures(self.draws)

    @property
    def numbers(self) -> int:
        """How many numbers were drawn."""
        return sum(draw.count for draw in self.draws) + self.more


@dataclass(frozen=True)
class Response:
    """How the shown numbers follow the drawn ones on the first input.

    ``slopes``: shape (shown, probed), what an entry moves by for each unit of a number; NaN where it does
    not follow a line. ``feeds``: the same shape, whether the entry moved at all. ``complete``: every number
    that was drawn was changed; ``reshaped``: a change gave an output of another form, or none.
    """

    elements: Sequence[Element]
    slopes: Floats
    feeds: NDArray[np.bool_]
    complete: bool
    reshaped: bool


@dataclass(frozen=True)
class Recording:
    """What a function drew on two inputs. ``repeats``: the first run came out the same when it was repeated;
    where it did not, there is no ``response``."""

    first: RecordedCall
    second: RecordedCall
    repeats: bool
    response: Response | None
    source: Any = field(default=None, repr=False, compare=False)

    @property
    def aligned(self) -> bool:
        """Whether both runs made the same calls, each for as many numbers."""
        pairs = [[(d.source, d.family, d.count) for d in side.draws] for side in (self.first, self.second)]
        return pairs[0] == pairs[1] and self.first.more == self.second.more

    @property
    def shift(self) -> Floats | None:
        """What each shown number moves by from the first to the second input, the noise being the same;
        ``None`` where that has no meaning."""
        one, two = self.first.shown, self.second.shown
        if not (self.repeats and self.aligned) or [path for path, _ in one] != [path for path, _ in two]:
            return None
        moves = np.array(
            [_difference(a, b) for (_, a), (_, b) in zip(one, two, strict=True)], dtype=np.float64
        )
        return None if np.isnan(moves).any() else moves


def record_runs(
    call: Call, pairs: Sequence[tuple[Any, Any]], *, function: Any, seconds: float = SECONDS
) -> list[Recording]:
    """Hear ``call`` on both inputs of each pair; ``function`` is what it runs, searched for generators that
    it holds. After ``seconds`` no more pairs are heard and no more numbers are changed."""
    end = time.perf_counter() + seconds
    found: list[Recording] = []
    with listening(function) as session:
        for pair in pairs:
            if not found or time.perf_counter() < end:
                found.append(_record(session, call, pair, function, end))
    return found


def _record(session: Session, call: Call, pair: tuple[Any, Any], function: Any, end: float) -> Recording:
    first, second = pair
    one = _run(session, call, first, Trace())
    one = replace(one, seedings=_seedings(session, call, first, one))
    two = _run(session, call, second, Trace(earlier=one.draws))
    repeats = all(
        _repeated(one, _run(session, call, first, Trace(earlier=one.draws)))
        for _ in range(REPEATED if one.draws else UNHEARD_REPEATED)
    )
    response = None
    if repeats and one.draws and not one.more:
        response = _respond(session, call, first, one, end=end)
    return Recording(one, two, repeats, response, function)


def _run(session: Session, call: Call, data: Any, trace: Trace) -> RecordedCall:
    with session.run(trace):
        output = call(data)
    return RecordedCall(trace.draws, trace.seedings, leaves(output), trace.more, trace.unheard)


def _seedings(session: Session, call: Call, data: Any, one: RecordedCall) -> list[Seeding]:
    """The seeds of a run, with those marked as drawn that are others once its numbers are: numbers of
    generators are changed, and the system's randomness comes anew."""
    if not (one.seedings and one.draws):
        return list(one.seedings)
    changes = {(k, 0): _steps(draw, 0)[0] for k, draw in enumerate(one.draws) if elements_of(draw)}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            other = _run(session, call, data, Trace(changes)).seedings
    except Exception:  # as for any changed number
        return list(one.seedings)
    if len(other) != len(one.seedings):
        return list(one.seedings)
    pairs = zip(one.seedings, other, strict=True)
    return [replace(own, drawn=not np.array_equal(own.seed, new.seed)) for own, new in pairs]


def _repeated(one: RecordedCall, again: RecordedCall) -> bool:
    return _alike(one.shown, again.shown) and len(one.draws) == len(again.draws)


def _alike(one: Sequence[Leaf], two: Sequence[Leaf]) -> bool:
    return len(one) == len(two) and all(
        p == q and (a == b or (a != a and b != b)) for (p, a), (q, b) in zip(one, two, strict=True)
    )


def _respond(session: Session, call: Call, data: Any, base: RecordedCall, *, end: float) -> Response:
    """Change numbers one by one and see what is shown; those that only set the mean of another draw are left
    alone."""
    means = {gamma for gamma, _ in base.mixtures.values()}
    counts = [0 if i in means else elements_of(draw) for i, draw in enumerate(base.draws)]
    tried = _spread(counts)
    probe = _Probe(session, call, data, base)
    slopes, feeds = [np.zeros((len(base.shown), 0))], [np.zeros((len(base.shown), 0), dtype=bool)]
    done: list[Element] = []
    for element in tried:
        if time.perf_counter() > end:
            break
        slope, feed = probe.along(element)
        slopes.append(slope[:, None])
        feeds.append(feed[:, None])
        done.append(element)
    return Response(done, np.hstack(slopes), np.hstack(feeds), len(done) == sum(counts), probe.reshaped)


def _spread(counts: Sequence[int]) -> list[Element]:
    """All elements, or ``PROBED`` of them, evenly spread."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    places = range(total) if total <= PROBED else np.unique(np.linspace(0, total - 1, PROBED).astype(int))
    draws = np.searchsorted(ends, list(places), side="right")
    return [(int(i), int(place - ends[i] + counts[i])) for i, place in zip(draws, places, strict=True)]


class _Probe:
    """Runs on one input with single numbers changed. ``reshaped``: one of them gave another form, or none."""

    def __init__(self, session: Session, call: Call, data: Any, base: RecordedCall) -> None:
        self._session, self._call, self._data, self._base = session, call, data, base
        self.reshaped = False

    def along(self, element: Element) -> tuple[Floats, NDArray[np.bool_]]:
        """Slopes of all shown entries along one number, and which entries it moves at all."""
        step, low, high = _steps(self._base.draws[element[0]], element[1])
        # A choice may turn only where a number is very different: at the ends.
        once, twice, low_end, high_end = (self._moved({element: by}) for by in (step, 2 * step, low, high))
        straight = np.abs(twice - 2 * once) <= STRAIGHT * np.abs(once) + 1e-12
        moves = [np.isnan(part) | (part != 0) for part in (once, twice, low_end, high_end)]
        feeds = np.logical_or.reduce(moves)
        return np.where(straight & ((once != 0) | ~feeds), once / step, np.nan), feeds

    def _moved(self, changes: dict[Element, float]) -> Floats:
        """What each shown entry moves by; NaN where it moves and is no number on both sides."""
        base = self._base.shown
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                heard = _run(self._session, self._call, self._data, Trace(changes, earlier=self._base.draws))
        except Exception:  # a number that the distribution cannot give may do anything
            heard = None
        if heard is None or [path for path, _ in heard.shown] != [path for path, _ in base]:
            self.reshaped = True
            return np.full(len(base), np.nan)
        return np.array([_difference(a, b) for (_, a), (_, b) in zip(base, heard.shown, strict=True)])


def _steps(draw: Draw, element: int) -> tuple[float, float, float]:
    """Changes of a drawn number: one of the size of its noise, a power of two (1 for whole numbers), and two
    far ones, down and up; a uniform number stays in its interval."""
    values = np.asarray(draw.values)
    if draw.family in _UNIFORM and values.dtype.kind == "f":
        low, high = number(draw.parameters.get("low", 0.0)), number(draw.parameters.get("high", 1.0))
        if low is not None and high is not None and low < high:
            value, width = float(values.flat[element]), high - low
            step = width * (2.0**-6 if value + width / 16 < high else -(2.0**-6))
            return step, (low - value) * (1 - 2.0**-9), (high - value) * (1 - 2.0**-9)
    if values.dtype.kind in "iu":
        return 1.0, -64.0, 64.0
    scale = next((number(draw.parameters[k]) for k in ("scale", "sigma") if k in draw.parameters), None)
    usable = scale is not None and np.isfinite(scale) and scale > 0
    step = float(2.0 ** np.round(np.log2(scale or 1.0))) if usable else 2.0**-6
    return step, -64 * step, 64 * step


def _difference(before: float | str, after: float | str) -> float:
    if isinstance(before, str) or isinstance(after, str):
        return 0.0 if before == after else float("nan")
    return 0.0 if before == after or (before != before and after != after) else after - before
