"""Force every site to quantiles of its distribution, and bisect between quantiles that behave differently.

Sampled histories are typical, and the far tails show nothing of what lies between. Here one site at a time
takes levels of its inverse distribution function, spread over (0, 1) and into both tails, while all others
have the outcomes of one fixed run. A hidden draw uses the level as its uniform, the noise inside a channel
uses it as its quantile. If two adjacent levels behave differently (other branches, other sites, another kind
of output, an error), the levels between them are bisected. This locates a threshold to the last digit, so the
replay shows whatever depends on raw data there. It also finds a narrow window between two thresholds, however
rare it is. Behaviour that requires several outcomes is searched for first (``combined_histories``).

Nothing here is random: the same program has the same histories for any seed. Levels of a distribution with
atoms often give the same outcome. That run is the same, and is made once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.coins import Choice, Recording, force, record
from dpaudit.coins.forcer import ImpossibleHistoryError
from dpaudit.coins.levels import outcome_at
from dpaudit.coins.limits import Limits
from dpaudit.coins.transcript import count_of
from dpaudit.core.neighbours import Neighbours
from dpaudit.distributions.base import Distribution
from dpaudit.replay.combined_histories import combinations_of, patterns_of
from dpaudit.replay.watch import Watch

__all__ = ["Forced", "quantile_histories"]

#: The seed of the fixed run that a quantile history changes.
SEED = 20
#: Levels in the tails, on either side.
TAILS = (1e-2, 1e-3, 1e-5, 1e-8, 1e-12)
#: Levels below and above the middle, for an answer that is one of two.
BOTH = (0.25, 0.75)
#: Bisections of one bracket: floats have no more bits between two levels.
HALVINGS = 44
#: Bisections of every bracket before any gets more.
FIRST = 12


@dataclass(frozen=True)
class Target:
    """The choice of a history: the outcome of one site (or one ``entry`` of it), a hidden draw, or a channel.

    Of a channel it is one answer, or all of its noise. ``site`` is ``None`` for all sites at once. ``levels``
    are the useful levels, if not all are.
    """

    kind: str
    site: str | None
    occurrence: int = 0
    entry: int | None = None
    base: Any = None
    levels: tuple[float, ...] = ()

    def __str__(self) -> str:
        if self.site is None:
            return "every site"
        entry = "" if self.entry is None else f", entry {self.entry}"
        return f"{self.site!r} number {self.occurrence + 1}{entry}"


@dataclass(frozen=True)
class Forced:
    """A recording along a chosen history, with a description of the history."""

    recording: Recording
    words: str


#: A site, a level and the program's behaviour there, a higher level and the behaviour there.
Bracket = tuple["_Runs", float, Hashable, float, Hashable]


def quantile_histories(
    watch: Watch, pair: Neighbours, *, values: int, halvings: int, limits: Limits
) -> Iterator[Forced]:
    """Yield recordings of ``pair.left`` along forced histories.

    Some force several sites at once (``combined_histories``), about ``values`` are at quantiles, and at most
    ``halvings`` lie between quantiles that behave differently. The program runs as ``watch.program``, whose
    branches show how it behaves.
    """
    base = record(watch.program, pair.left, rng=np.random.default_rng(SEED), keep_errors=True, limits=limits)
    patterns = patterns_of(base)[: max(6, values // 4)]
    for words, choice in [*patterns, *combinations_of(base, most=max(4, values // 4))]:
        steered = _steered(watch, pair, choice, limits)
        if steered is not None:
            yield Forced(steered[0], words)
    targets = _targets(base, most=max(2, values // 8))
    if not targets:
        return
    levels = _levels(max(3, values // len(targets)))
    brackets: list[Bracket] = []
    for target in targets:
        runs = _Runs(watch, pair, target, limits)
        before: tuple[float, Hashable] | None = None
        for level in target.levels or levels:
            found = runs.at(level)
            if found is None:
                continue
            recording, behaviour = found
            if recording is not None:
                yield Forced(recording, f"{target} at quantile {level:.6g}")
            if before is not None and before[1] != behaviour:
                brackets.append((runs, *before, level, behaviour))
            before = (level, behaviour)
    yield from _bisected(brackets, halvings)


def _bisected(brackets: list[Bracket], left: int) -> Iterator[Forced]:
    """Yield at most ``left`` recordings at levels between two that behave differently, by bisection.

    Every bracket is narrowed by ``FIRST`` halvings before any gets more. Otherwise the first threshold, to
    its last digit, would leave nothing for a window elsewhere.
    """
    waiting = deque((bracket, 0) for bracket in brackets)
    while waiting and left > 0:
        (runs, low, at_low, high, at_high), made = waiting.popleft()
        most = HALVINGS if made else FIRST
        for _ in range(made, most):
            middle = _between(low, high)
            if left <= 0 or not low < middle < high:
                break
            left -= 1
            found = runs.at(middle)
            if found is None:
                break
            recording, behaviour = found
            if recording is not None:
                words = f"{runs.target} at quantile {middle:.9g}, between two that behave differently"
                yield Forced(recording, words)
            if behaviour == at_low:
                low = middle
            elif behaviour == at_high:
                high = middle
            else:
                waiting.append(((runs, middle, behaviour, high, at_high), 0))
                high, at_high = middle, behaviour
        else:
            if most < HALVINGS:
                waiting.append(((runs, low, at_low, high, at_high), most))


def _levels(count: int) -> list[float]:
    inner = [(i + 0.5) / count for i in range(count)]
    tails = TAILS if count > 8 else TAILS[1::2]
    return sorted({*inner, *tails, *(1 - tail for tail in tails)})


def _between(low: float, high: float) -> float:
    """Return the middle of two levels, in a tail on the scale of its logarithm."""
    if high < 1e-3 and low > 0:
        return math.sqrt(low * high)
    if low > 1 - 1e-3 and high < 1:
        return 1 - math.sqrt((1 - low) * (1 - high))
    return (low + high) / 2


# The choices


def _targets(base: Recording, *, most: int) -> list[Target]:
    """Return at most ``most`` sites of the fixed run: one of each name first, then evenly spread."""
    occurrence: dict[tuple[str, str], int] = {}
    found: list[Target] = []
    for site in base.sites:
        if not site.random or (site.kind == "aggregate" and site.distribution is None):
            continue
        kernel = base.kernels[site.session] if site.session is not None else None
        kind = "shown" if site.kind in ("observe", "aggregate") else site.kind
        key = (kind, site.site)
        number = occurrence.get(key, 0)
        occurrence[key] = number + 1
        if kind == "channel":
            if not number:
                found += [Target(kind, site.site, entry=entry) for entry in range(2)]
            few = BOTH if getattr(kernel, "answers", None) is not None else ()
            found.append(Target("answer", site.site, number, levels=few))
            continue
        size = count_of(site.value)
        if (
            size > 1
            and kind == "shown"
            and site.distribution is not None
            and not site.distribution.event_ndim
        ):
            ends = sorted({0, size - 1})
            found += [Target(kind, site.site, number, entry, site.value) for entry in ends]
        found.append(Target(kind, site.site, number))
    first: dict[tuple[str, str | None, int | None], Target] = {}
    for target in found:
        first.setdefault((target.kind, target.site, target.entry), target)
    heads = [*first.values()][:most]
    rest = [target for target in found if target not in heads] if len(heads) < most else []
    step = max(1, -(-len(rest) // max(1, most - len(heads))))
    every = [Target("shown", None)] if len(found) > 1 else []
    return [*heads, *rest[::step][: most - len(heads)], *every]


@dataclass
class _Known:
    """An earlier run: its outcomes and their distributions, in order, and the program's behaviour.

    ``possible`` is false if there is no such run.
    """

    chosen: list[tuple[Any, Hashable]]
    behaviour: Hashable = None
    possible: bool = False


class _Runs:
    """Runs of ``pair.left`` in which ``target`` takes the outcome at a level.

    Everything before the first choice is the same in each run, so two runs with the same choices are the
    same.
    """

    def __init__(self, watch: Watch, pair: Neighbours, target: Target, limits: Limits) -> None:
        self._watch, self._pair, self._limits = watch, pair, limits
        self.target = target
        self._known: dict[Hashable, list[_Known]] = {}
        self._first: list[Any] = []  # the distribution of the first choice
        self._ready: list[tuple[Any, Any]] = []  # that distribution, and its outcome at the current level

    def at(self, level: float) -> tuple[Recording | None, Hashable] | None:
        """Return the recording (``None`` for a repeated run) and the program's behaviour.

        Return ``None`` if there is no such outcome.
        """
        known = self._before(level)
        if known is not None:
            return (None, known.behaviour) if known.possible else None
        chosen: list[tuple[Any, Hashable]] = []
        found = self._run(level, chosen)
        if chosen:
            self._first = [chosen[0][0]]
            behaviour = None if found is None else found[1]
            known = _Known(chosen, behaviour, possible=found is not None)
            self._known.setdefault(chosen[0][1], []).append(known)
        return found

    def _before(self, level: float) -> _Known | None:
        """Return the earlier run with the same choices at this level, if any.

        Runs with the same first choice have the same distribution of the second, and so on.
        """
        if not self._first:
            return None
        value = _outcome(self.target, level, self._first[0])
        self._ready = [(self._first[0], value)]
        first = _exactly(value)
        return next(
            (
                known
                for known in self._known.get(first, ())
                if all(
                    _exactly(_outcome(self.target, level, distribution)) == value
                    for distribution, value in known.chosen
                )
            ),
            None,
        )

    def _run(self, level: float, chosen: list[tuple[Any, Hashable]]) -> tuple[Recording, Hashable] | None:
        """Run the program, and append its choices to ``chosen``."""
        target = self.target
        hidden: dict[tuple[str, int], float] = {}
        levels: dict[str, list[float]] = {}
        if target.kind == "draw":
            hidden[str(target.site), target.occurrence] = level
        elif target.kind == "channel":
            # the first noise (a threshold's) in the middle, or opposite to all the others
            levels[str(target.site)] = [0.5 if target.entry else 1 - level, *[level] * 63]
        choice = _choice(target, level, chosen, self._ready)
        return _steered(self._watch, self._pair, choice, self._limits, hidden=hidden, levels=levels)


def _steered(
    watch: Watch, pair: Neighbours, choice: Choice, limits: Limits, **drawn: Any
) -> tuple[Recording, Hashable] | None:
    """Return the recording along ``choice`` and the program's behaviour, or ``None`` if it is impossible."""
    watch.tracking = True
    try:
        recording = force(
            watch.program,
            pair.left,
            watch.aside(choice),
            rng=np.random.default_rng(SEED),
            radius=2.0**-44,
            keep_errors=True,
            limits=limits,
            **drawn,
        )
    except ImpossibleHistoryError:
        return None
    finally:
        watch.tracking = False
    return recording, _behaviour(recording, watch)


def _choice(
    target: Target, level: float, chosen: list[tuple[Any, Hashable]], ready: list[tuple[Any, Any]]
) -> Callable[[str, int, Distribution], Any]:
    """Return a function that chooses ``target`` at ``level``.

    It appends each distribution that it chose from, and the outcome, to ``chosen``. ``ready`` may hold the
    first distribution and its outcome, which is taken from there, because the program may change an array.
    """

    def choose(site: str, occurrence: int, distribution: Distribution) -> Any:
        if target.kind not in ("shown", "answer") or target.site not in (None, site):
            return None
        if target.site is not None and occurrence != target.occurrence:
            return None
        known, value = ready.pop() if ready else (None, None)
        if known is None or known != distribution:
            value = _outcome(target, level, distribution)
        chosen.append((distribution, _exactly(value)))
        return value

    return choose


def _outcome(target: Target, level: float, distribution: Any) -> Any:
    """Return the outcome of ``target`` under ``distribution`` at ``level``, or ``None`` if there is none."""
    if not isinstance(distribution, Distribution):
        answers = getattr(distribution, "answers", None)  # a channel without distributions of single answers
        return None if target.site is None or not answers else answers[int(level * len(answers))]
    value = outcome_at(distribution, level)
    if value is None or target.entry is None:
        return value
    chosen = np.array(target.base)
    if chosen.shape != np.shape(value):
        return None
    chosen.flat[target.entry] = np.ravel(value)[target.entry]
    return chosen


def _exactly(value: Any) -> Hashable:
    """Return a key that is equal only for values of the same type and the same bits."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return value.dtype.str, value.shape, value.tobytes()
    return type(value), repr(value.tolist() if isinstance(value, np.ndarray) else value)


# The behaviour of a run


def _behaviour(recording: Recording, watch: Watch) -> Hashable:
    """Return the outcomes of conditions, the sites, and the outputs except numbers that follow the noise."""
    sites = tuple(
        (
            site.kind,
            site.site,
            _outline(site.value) if site.kind in ("reveal", "raise") else _extent(site.value),
        )
        for site in recording.sites
    )
    return frozenset(watch.path), sites, recording.cut


def _extent(value: Any) -> Hashable:
    """Return the shape of an array, or how many numbers another outcome, which may be ragged, holds."""
    return value.shape if isinstance(value, np.ndarray) else count_of(value)


def _outline(value: Any) -> Hashable:
    if value is None or isinstance(value, bool | np.bool_):
        return value
    if isinstance(value, int | np.integer):
        return type(value).__name__, int(value) if abs(int(value)) <= 8 else "large"
    if isinstance(value, float | np.floating):
        return (
            type(value).__name__,
            "nan" if np.isnan(value) else float(np.sign(value)),
            bool(np.isinf(value)),
        )
    if isinstance(value, str):
        return "text", "".join("0" if letter.isdigit() else letter for letter in value)
    if isinstance(value, np.ndarray):
        small = value.dtype.kind in "biu" and value.size <= 64
        return value.dtype.str, value.shape, tuple(map(_outline, value.ravel().tolist())) if small else None
    if isinstance(value, dict):
        return tuple((key, _outline(item)) for key, item in value.items())
    if isinstance(value, Sequence):
        return type(value).__name__, len(value), tuple(_outline(item) for item in value[:64])
    return type(value).__name__
