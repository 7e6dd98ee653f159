"""Record a function on two neighbouring inputs: its draws, its changes, and which draw feeds which output.

    print(dpaudit.record_draws(noisy_sum, ([0, 0], [1, 0])))

Both runs start with the same states of all generators that can be set, so any difference of the outputs is
caused by the data. Then single numbers are changed on the first input, one per run, and the outputs are
compared. If an output is linear in a number, the number is noise added to it. All of this is about these runs
only. It finds possible defects and a draft of a rewrite, and proves nothing.
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
from dpaudit.blackbox.recorded.rng_proxies import Session, install_proxies
from dpaudit.blackbox.recorded.trace import Draw, Seeding, Trace, elements_of, number

__all__ = ["Element", "RecordedCall", "Recording", "Response", "record_runs"]

#: Largest number of drawn numbers that are changed one by one, and the time limit in seconds.
PROBED, SECONDS = 256, 2.0
#: An output is taken to be linear if it deviates from a line by at most this share of its change.
STRAIGHT = 1e-6
#: Repetitions of the first run: with recorded draws, and without, since unrecorded randomness may be rare.
REPEATED, UNRECORDED_REPEATED = 2, 24
#: Families whose changed numbers must stay in an interval.
_UNIFORM = ("random", "random_sample", "uniform", "rand")

Floats = NDArray[np.float64]
#: (draw, element of it), both counted from 0.
Element = tuple[int, int]
#: A callable that runs the function on an input and returns its output. It converts exceptions to outputs.
Call = Callable[[Any], Any]


@dataclass(frozen=True)
class RecordedCall:
    """One recorded run: its draws, the seeds that it chose, and its output.

    Attributes
    ----------
    more : int
        Numbers drawn after the limit of recorded draws.
    unrecorded : bool
        Whether a generator advanced without a recorded draw.
    """

    draws: Sequence[Draw]
    seedings: Sequence[Seeding]
    shown: Sequence[Leaf]
    more: int = 0
    unrecorded: bool = False

    @cached_property
    def mixtures(self) -> dict[int, Mixture]:
        """Return the Poisson draws of gamma variates."""
        return mixtures(self.draws)

    @property
    def numbers(self) -> int:
        """Return how many numbers were drawn."""
        return sum(draw.count for draw in self.draws) + self.more


@dataclass(frozen=True)
class Response:
    """Dependence of the returned numbers on the drawn numbers, on the first input.

    Attributes
    ----------
    elements : sequence of Element
        The drawn numbers that were changed.
    slopes : array, shape (returned, changed)
        Change of an entry per unit of a number. NaN if the entry is not linear in the number.
    feeds : array of bool, shape (returned, changed)
        Whether the entry changed at all.
    complete : bool
        Whether every drawn number was changed.
    reshaped : bool
        Whether a change gave an output of another form, or no output.
    """

    elements: Sequence[Element]
    slopes: Floats
    feeds: NDArray[np.bool_]
    complete: bool
    reshaped: bool


@dataclass(frozen=True)
class Recording:
    """Recorded runs of a function on two inputs.

    ``repeats`` states whether repetitions of the first run gave the same output. Without it, there is no
    ``response``.
    """

    first: RecordedCall
    second: RecordedCall
    repeats: bool
    response: Response | None
    source: Any = field(default=None, repr=False, compare=False)

    @property
    def aligned(self) -> bool:
        """Return whether both runs made the same calls, each for the same count of numbers."""
        pairs = [[(d.source, d.family, d.count) for d in side.draws] for side in (self.first, self.second)]
        return pairs[0] == pairs[1] and self.first.more == self.second.more

    @property
    def shift(self) -> Floats | None:
        """Return the change of each returned number from the first to the second input under equal noise.

        The value is None if the change is undefined.
        """
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
    """Record ``call`` on both inputs of each pair.

    ``function`` is the function that ``call`` runs. It is searched for generators that it holds. After
    ``seconds``, no more pairs are recorded and no more numbers are changed.
    """
    end = time.perf_counter() + seconds
    found: list[Recording] = []
    with install_proxies(function) as session:
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
        for _ in range(REPEATED if one.draws else UNRECORDED_REPEATED)
    )
    response = None
    if repeats and one.draws and not one.more:
        response = _respond(session, call, first, one, end=end)
    return Recording(one, two, repeats, response, function)


def _run(session: Session, call: Call, data: Any, trace: Trace) -> RecordedCall:
    with session.run(trace):
        output = call(data)
    return RecordedCall(trace.draws, trace.seedings, leaves(output), trace.more, trace.unrecorded)


def _seedings(session: Session, call: Call, data: Any, one: RecordedCall) -> list[Seeding]:
    """Return the seeds of a run, and mark the seeds that depend on drawn numbers as drawn.

    Numbers of generators are changed, and new system randomness is drawn. A seed that changes is drawn.
    """
    if not (one.seedings and one.draws):
        return list(one.seedings)
    changes = {(k, 0): _steps(draw, 0)[0] for k, draw in enumerate(one.draws) if elements_of(draw)}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            other = _run(session, call, data, Trace(changes)).seedings
    except Exception:  # a number that the distribution cannot give may have any effect
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
    """Change numbers one by one and compare outputs. Skip numbers that only set the mean of another draw."""
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
    """Return all elements, or ``PROBED`` of them, evenly spread."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    places = range(total) if total <= PROBED else np.unique(np.linspace(0, total - 1, PROBED).astype(int))
    draws = np.searchsorted(ends, list(places), side="right")
    return [(int(i), int(place - ends[i] + counts[i])) for i, place in zip(draws, places, strict=True)]


class _Probe:
    """Runs on one input with single numbers changed.

    ``reshaped`` states whether a run gave an output of another form, or no output.
    """

    def __init__(self, session: Session, call: Call, data: Any, base: RecordedCall) -> None:
        self._session, self._call, self._data, self._base = session, call, data, base
        self.reshaped = False

    def along(self, element: Element) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the slopes of all entries along one number, and which entries it changes at all."""
        step, low, high = _steps(self._base.draws[element[0]], element[1])
        # A choice may depend only on a large change of a number, so both ends are tried as well.
        once, twice, low_end, high_end = (self._moved({element: by}) for by in (step, 2 * step, low, high))
        straight = np.abs(twice - 2 * once) <= STRAIGHT * np.abs(once) + 1e-12
        moves = [np.isnan(part) | (part != 0) for part in (once, twice, low_end, high_end)]
        feeds = np.logical_or.reduce(moves)
        return np.where(straight & ((once != 0) | ~feeds), once / step, np.nan), feeds

    def _moved(self, changes: dict[Element, float]) -> Floats:
        """Return the change of each entry, or NaN if it changes and is not a number in both runs."""
        base = self._base.shown
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                changed = _run(
                    self._session, self._call, self._data, Trace(changes, earlier=self._base.draws)
                )
        except Exception:  # a number that the distribution cannot give may have any effect
            changed = None
        if changed is None or [path for path, _ in changed.shown] != [path for path, _ in base]:
            self.reshaped = True
            return np.full(len(base), np.nan)
        return np.array([_difference(a, b) for (_, a), (_, b) in zip(base, changed.shown, strict=True)])


def _steps(draw: Draw, element: int) -> tuple[float, float, float]:
    """Return three changes of a drawn number: a small one, a large one down and a large one up.

    The small change is a power of two near the scale of the noise (1 for integers). A uniform number stays
    in its interval.
    """
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
