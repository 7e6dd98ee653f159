"""Refute a claim by the exact probabilities of events of the output on two neighbouring datasets.

The unmodified program runs on plain data with symbolic noise, along all paths of its comparisons
(``symbolic_noise``). So each path is a region of the noise, and the output on it is a list of constants and
linear forms. An event fixes the texts in the output and bounds linear combinations of its numbers. Its
probability is the sum over the paths, each by ``noise_regions``. The probabilities on both sides form a
witness by tables, which ``recompute`` checks. An event that only one side can show gives an infinite loss.

The events are cells of the output between cuts around the numbers without noise, and, if a combination of
noisy numbers contains no noise, its value. If entries share one draw, the latter identifies the dataset. If
the output is normal with the same covariance on both sides, there are also cells of its likelihood ratio.

Assumptions and limits are those of ``counterexample``: all rounding modes must give the same probabilities,
and real runs must agree with their paths.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import pickle
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.tables import Outcome, tables_witness
from dpaudit.core.claims import ApproxDP, Model, PureDP, ZeroConcentratedDP
from dpaudit.core.claims.base import Adjacency
from dpaudit.core.data import Records, Table
from dpaudit.core.evidence import Witness
from dpaudit.core.processes.own_fork import OwnFork, can_fork_itself
from dpaudit.core.rounding_modes import MODES, rounding_mode
from dpaudit.core.views import PUBLIC
from dpaudit.distributions import Gaussian
from dpaudit.prover.forms import ZERO, Form
from dpaudit.prover.symbols import RefusedError
from dpaudit.prover.values.climb import climbed, constants_of, extremes, ordered
from dpaudit.prover.values.common_shift import common_shift
from dpaudit.prover.values.cross_check import seeded
from dpaudit.prover.values.exact_witness import (
    MARGIN,
    REFUSALS,
    STEADY,
    UNROUNDED,
    checked_witness,
    exceeds,
    within,
)
from dpaudit.prover.values.noise_regions import enclosed, estimated
from dpaudit.prover.values.number_cells import best_places, crossings
from dpaudit.prover.values.programs import inputs_of, unwrapped_program
from dpaudit.prover.values.prove import PrivacyClaim
from dpaudit.prover.values.samples import quiet
from dpaudit.prover.values.symbolic_noise import SymbolicPath, SymbolicProgram

__all__ = ["event_counterexample"]

#: Numbers that differ by less, relative to max(1, number), may be equal.
EQUAL = Fraction(1, 10**6)
#: Cuts beside a number without noise, in scales of its noise, for one number and for several.
CUTS = (0, Fraction(1, 2), 1, 2, 3, 5)
SEVERAL = (0, 1, 3)
#: Places where the ratio of densities is computed, cuts between which they may cross, and widths, in scales.
FINE = (0, Fraction(1, 4), Fraction(1, 2), 1, Fraction(3, 2), 2, 3, 5, 8, 16)
FAR = (0, Fraction(1, 4), Fraction(1, 2), 1, Fraction(3, 2), 2, 3, 5, 8, 12, 16, 24)
THIN = Fraction(1, 2000)
#: Runs with real noise on each side, limits on events and numbers, and failures after which the search ends.
RUNS, MAX_EVENTS, MAX_NUMBERS, MAX_FAILED, MAX_CELLS = 12, 300, 40, 4, 60
#: Seconds for the last pair after the time limit.
SPARE = 5.0
#: Probabilities below this are too inaccurate in floats to rank events.
LEAST = 1e-30

#: The coefficients of the numbers at some places.
Weights = tuple[tuple[int, Fraction], ...]
#: ``sum of coefficient * number at a place + constant <= 0``.
Bound = tuple[Weights, Fraction]


@dataclass(frozen=True)
class _Event:
    """Texts of the output (None for numbers), and bounds on its numbers."""

    texts: tuple[str | None, ...]
    bounds: tuple[Bound, ...]

    def rows(self, path: SymbolicPath) -> list[Form] | None:
        """Return the rows of the event on a path, or None if the path does not show it."""
        if len(path.output) != len(self.texts):
            return None
        for text, part in zip(self.texts, path.output, strict=True):
            if text != (part if isinstance(part, str) else None):
                return None
        found = list(path.rows)
        for weights, constant in self.bounds:
            total = Form({}, constant)
            for place, factor in weights:
                part = path.output[place]
                assert isinstance(part, Form)
                total = total.plus(part, factor)
            found.append(total)
        return None if any(not row.terms and row.constant > 0 for row in found) else found

    def estimated(self, paths: Sequence[SymbolicPath]) -> float | None:
        total = 0.0
        for path in paths:
            rows = self.rows(path)
            if rows is not None:
                part = estimated(rows, path.noise)
                if part is None:
                    return None
                total += part * float(path.weight[0])
        return total

    def enclosed(self, paths: Sequence[SymbolicPath]) -> tuple[Fraction, Fraction] | None:
        low, high = ZERO, ZERO
        for path in paths:
            rows = self.rows(path)
            if rows is not None:
                part = enclosed(rows, path.noise)
                if part is None:
                    return None
                low += part[0] * path.weight[0]
                high += part[1] * path.weight[1]
        return min(low, Fraction(1)), min(high, Fraction(1))

    def words(self) -> str:
        """Return the event as text."""
        values = [f"output {place}: {text}" for place, text in enumerate(self.texts) if text]
        for weights, constant in self.bounds:
            left = " + ".join(f"{float(f):g} * output {place}" for place, f in weights)
            values.append(f"{left} <= {float(-constant):.9g}")
        return "; ".join(values)


def event_counterexample(
    program: Callable[..., Any],
    claim: PrivacyClaim,
    *,
    data: Records | Table,
    pairs: Sequence[tuple[Any, Any]],
    unrounded: Callable[[Any, Any], float],
    most: Fraction | None = None,
    seconds: float = 10.0,
) -> Witness | None:
    """Return a witness by the probabilities of events of the output, or None.

    The search runs the program in a fork. Where the system cannot fork, there is no search. The parameters
    are those of ``counterexample``.
    """
    if claim.model is not Model.IDEAL or not claim.view.sees(frozenset([PUBLIC])):
        return None
    if not can_fork_itself():
        return None
    deadline = time.monotonic() + seconds
    search = partial(_found, program, claim, data, pairs, unrounded, most, deadline)
    fork = OwnFork(search)  # the program may keep symbols, or never end without numbers
    try:
        found: Witness | None = fork.read(deadline + SPARE)
    finally:
        fork.end()
    return found


def _found(
    program: Callable[..., Any],
    claim: PrivacyClaim,
    data: Records | Table,
    pairs: Sequence[tuple[Any, Any]],
    unrounded: Callable[[Any, Any], float],
    most: Fraction | None,
    until: float,
) -> Witness | None:
    function = unwrapped_program(program)[0]
    search = _Search(_symbolic(program, function), claim, until)
    constants = constants_of(function.__code__)
    half = (time.monotonic() + until) / 2
    ranked = [(search.loss(pair), pair) for pair in pairs]
    ranked += ordered(data, claim.adjacency, search.loss, constants=constants, until=half)
    ranked.sort(key=lambda one: -one[0])
    searches = (
        method(data, claim.adjacency, search.loss, constants=constants, until=until)
        for method in (extremes, climbed)
    )
    target = search.target()
    for loss, pair in itertools.chain(ranked[:2], *searches):
        if loss <= target:
            if search.hopeless:
                return None
            continue
        found = search.refuting(pair, unrounded, most)
        if found is not None:
            return found
    return None


def _symbolic(program: Callable[..., Any], function: FunctionType) -> SymbolicProgram:
    inputs = inputs_of(program)
    coins = "coins" in inputs

    def run(source: Any, data: Any) -> Any:
        given = [data if kind == "data" else source for kind in inputs]
        with contextlib.nullcontext() if coins else seeded(0, source, function.__globals__):
            before = _global_randomness()
            found = program(*given)
            found = list(found) if isinstance(found, GeneratorType) else found
            if _global_randomness() != before:
                raise RefusedError("the program draws from a global generator", code="E-PROGRAM-NOT-FOLLOWED")
        return found

    return SymbolicProgram(run, coins)


def _global_randomness() -> Any:
    numpy_state = np.random.get_state(legacy=False)  # noqa: NPY002  programs may use it
    return pickle.dumps(numpy_state), random.getstate()


class _Search:
    def __init__(self, program: SymbolicProgram, claim: PrivacyClaim, until: float) -> None:
        self.program, self.claim, self.until = program, claim, until
        self.failed = self.followed = 0

    @property
    def hopeless(self) -> bool:
        """Return whether no pair could be followed."""
        return not self.followed and self.failed >= MAX_FAILED

    def target(self) -> float:
        """Return the loss in floats above which a pair may refute the claim."""
        if isinstance(self.claim, PureDP | ApproxDP):
            return float(self.claim.bound or 0)
        return 0.0

    def loss(self, pair: tuple[Any, Any]) -> float:
        """Return the loss of a pair in floats: of the claim, or the total variation if that is unknown."""
        if self.hopeless or time.monotonic() > self.until:
            return 0.0
        sides = self._sides(pair)
        if sides is None:
            return 0.0
        shift = common_shift(*sides)
        if shift is not None:
            return self._loss_of_shift(shift)
        try:
            fine = not isinstance(self.claim, PureDP)
            events = _events(*sides, fine=fine)
            events += [] if fine else self._refined(sides)
            ends = [self._estimates(sides, event) for event in events]
        except REFUSALS:  # numbers too large for floats
            return 0.0
        return self._loss([one for one in ends if one is not None])

    def _sides(self, pair: tuple[Any, Any]) -> tuple[list[SymbolicPath], list[SymbolicPath]] | None:
        with quiet():
            here = self.program.paths(pair[0])
            there = None if here is None else self.program.paths(pair[1])
        if here is None or there is None:
            self.failed += 1
            return None
        self.followed += 1
        return here, there

    def _estimates(self, sides: Any, event: _Event) -> tuple[float, float] | None:
        p, q = event.estimated(sides[0]), event.estimated(sides[1])
        return None if p is None or q is None else (p, q)

    def _loss(self, ends: Sequence[tuple[float, float]]) -> float:
        if isinstance(self.claim, PureDP):
            return max((_ratio(*one) for one in ends), default=0.0)
        e = self._factor()
        sums = [sum(max(0.0, one[k] - e * one[1 - k]) for one in ends) for k in (0, 1)]
        return max(sums)

    def _factor(self) -> float:
        return math.exp(float(self.claim.epsilon)) if isinstance(self.claim, ApproxDP) else 1.0

    def _gain(self, ends: tuple[float, float]) -> float:
        """Return the delta of one event."""
        return max(ends) - self._factor() * min(ends)

    def refuting(
        self, pair: tuple[Any, Any], unrounded: Callable[[Any, Any], float], most: Fraction | None
    ) -> Witness | None:
        """Return a witness on a pair that rounding cannot explain, or None."""
        sides = self._sides(pair)
        if sides is None:
            return None
        shift = common_shift(*sides)
        try:
            if shift is not None:
                return self._checked(self._half_space(pair, shift), pair, sides, [], unrounded, most)
            events = [*_events(*sides), *self._refined(sides)]
            known = [(event, ends) for event in events if (ends := self._estimates(sides, event))]
            if isinstance(self.claim, PureDP):
                known = [max(known, key=lambda one: _ratio(*one[1]))]
            else:
                choices = [_disjoint(known, key) for key in (_difference, self._gain)]
                known = max(choices, key=lambda one: self._loss([ends for _, ends in one]))
            found = self._witness(pair, sides, [event for event, _ in known])
        except REFUSALS:  # no bound for this claim
            return None
        return self._checked(found, pair, sides, known, unrounded, most)

    def _checked(
        self,
        found: Witness | None,
        pair: tuple[Any, Any],
        sides: Any,
        known: Sequence[Any],
        unrounded: Callable[[Any, Any], float],
        most: Fraction | None,
    ) -> Witness | None:
        """Return the witness if rounding does not explain it, and real runs agree with their paths."""
        if found is None or not self._is_steady(pair, sides, known) or not self._agrees(pair, sides):
            return None
        found = within(found, most)
        if found is None:
            return None
        with quiet():
            share = unrounded(*pair)
        return found if share >= UNROUNDED else None

    def _loss_of_shift(self, shift: float) -> float:
        """Return the loss of N(0, 1) and N(shift, 1) in floats: for the claim, or the shift."""
        if isinstance(self.claim, PureDP):
            return math.inf if shift else 0.0
        if not isinstance(self.claim, ApproxDP) or not shift:
            return shift
        e = float(self.claim.epsilon)
        return float(ndtr(shift / 2 - e / shift) - math.exp(e) * ndtr(-shift / 2 - e / shift))

    def _half_space(self, pair: tuple[Any, Any], shift: float) -> Witness | None:
        """Return the witness of outputs that are as far apart as N(0, 1) and N(shift, 1)."""
        laws = [Gaussian(sigma=1).shift(Fraction(shift) * side) for side in (0, 1 - MARGIN / 1000)]
        body: dict[str, Any] = {
            "view": self.claim.view.to_json(),
            "inputs": written_inputs(*pair),
            "site": {
                "site": "the outputs, as a combination of their noise",
                "to": [PUBLIC.name],
                "law": laws[0].to_json(),
                "law_neighbour": laws[1].to_json(),
            },
            "parts": [],
            "order": "2" if isinstance(self.claim, ZeroConcentratedDP) else None,
        }
        return checked_witness(
            self.claim, "release", body, "two neighbours of the declared data: outputs with Gaussian noise"
        )

    def _refined(self, sides: Any) -> list[_Event]:
        """Return more cells of single noisy numbers: where the ratio of the densities is largest, or 1."""
        found: list[_Event] = []
        pure = isinstance(self.claim, PureDP)
        for texts, fixed, place, paths in _single_numbers(*sides, alike=not pure):
            one = ((place, Fraction(1)),)

            def cell(low: Fraction, high: Fraction, one: Weights = one, rest: Any = (texts, fixed)) -> _Event:
                return _Event(rest[0], (*rest[1], *_inside(one, low, high)))

            def chances(low: Fraction, high: Fraction, cell: Any = cell) -> tuple[float, float] | None:
                return self._estimates(sides, cell(low, high))

            width = THIN * min(_spread(path, _form(path, place)) for side in paths for path in side)
            if pure:
                places = best_places(_cuts(place, paths, FINE), width, chances)
                found += [cell(at, at + width) for at in places]
            else:
                cuts = _cuts(place, paths, FAR)
                cuts = sorted({*cuts, *crossings(cuts, chances, self._factor())})
                found += [_Event(texts, (*fixed, *part)) for part in _between(one, cuts, True)]
        return found

    def _witness(self, pair: tuple[Any, Any], sides: Any, events: Sequence[_Event]) -> Witness | None:
        """Return the table of the events and of the rest, if it gives a bound above the claim."""
        outcomes, rest = [], ((ZERO, ZERO), (ZERO, ZERO))
        for event in events:
            here, there = event.enclosed(sides[0]), event.enclosed(sides[1])
            if here is None or there is None:
                return None
            outcomes.append(Outcome(values=[event.words()], recorded=here, neighbour=there))
            rest = tuple((r[0] + s[0], r[1] + s[1]) for r, s in zip(rest, (here, there), strict=True))  # type: ignore[assignment]
        left = [(max(ZERO, 1 - high), max(ZERO, 1 - low)) for low, high in rest]
        outcomes.append(Outcome(values=["any other output"], recorded=left[0], neighbour=left[1], merged=1))
        found = tables_witness(
            self.claim,
            outcomes,
            inputs=pair,
            description="two neighbours of the declared data: the probabilities of an event of the output"
            if len(events) == 1
            else "two neighbours of the declared data: the probabilities of events of the output",
            orders=[Fraction(n, d) for n, d in ((101, 100), (3, 2), (2, 1), (4, 1), (8, 1))],
        )
        if self.claim.adjacency is Adjacency.ZERO_OUT and found.description.endswith("(swapped)"):
            return None
        return found if exceeds(found.bound, self.claim) else None

    def _is_steady(
        self, pair: tuple[Any, Any], sides: Any, known: Sequence[tuple[_Event, tuple[float, float]]]
    ) -> bool:
        """Return whether the probabilities are the same in all rounding modes."""
        draws, shift = _draws(sides), common_shift(*sides)
        for mode in MODES:
            with rounding_mode(mode):
                sides = self._sides(pair)
            if sides is None or _draws(sides) != draws:  # a scale may be 0 in one mode only
                return False
            if shift is not None and abs((common_shift(*sides) or 0.0) - shift) > STEADY * shift:
                return False
            for event, ends in known:
                again = self._estimates(sides, event)
                if again is None or any(
                    abs(a - b) > STEADY * max(a, b) for a, b in zip(ends, again, strict=True)
                ):
                    return False
        return bool(MODES)

    def _agrees(self, pair: tuple[Any, Any], sides: Any) -> bool:
        """Return whether runs with real noise have the output of their paths, also of improbable ones."""
        with quiet():
            return all(
                self.program.agrees(data, paths, seed)
                for data, paths in zip(pair, sides, strict=True)
                for seed in range(RUNS)
            ) and all(
                self.program.replays(data, paths, RUNS) for data, paths in zip(pair, sides, strict=True)
            )


def _draws(sides: Any) -> list[list[str]]:
    """Return the names of the draws on each path of both sides."""
    return [sorted(path.noise) for side in sides for path in side]


def _ratio(p: float, q: float) -> float:
    """Return the loss of an event in the worse direction, at least 0."""
    most, least = max(p, q), min(p, q)
    return 0.0 if most < LEAST else math.log(most / max(least, LEAST))


def _difference(ends: tuple[float, float]) -> float:
    return abs(ends[0] - ends[1])


def _disjoint(
    known: Sequence[tuple[_Event, tuple[float, float]]], key: Callable[[tuple[float, float]], float]
) -> list[Any]:
    """Return events of which at most one can happen, those with the largest key first."""
    found: list[Any] = []
    for one in sorted(known, key=lambda one: -key(one[1])):
        if one[1][0] != one[1][1] and all(_are_disjoint(one[0], other[0]) for other in found):
            found.append(one)
        if len(found) == MAX_CELLS:
            break
    return found


def _are_disjoint(one: _Event, other: _Event) -> bool:
    """Return whether the texts differ, or some combination of numbers lies in disjoint intervals."""
    if one.texts != other.texts:
        return True
    for weights, constant in one.bounds:
        opposite = tuple((place, -factor) for place, factor in weights)
        # w x <= -constant in the one, and w x >= c in the other.
        if any(w == opposite and c > -constant for w, c in other.bounds):
            return True
    return False


def _events(
    here: Sequence[SymbolicPath], there: Sequence[SymbolicPath], *, fine: bool = True
) -> list[_Event]:
    """Return events that may tell two sides apart. Fine ones divide the values of one number into cells."""
    found: list[_Event] = []
    for texts, fixed, noisy, sides in _patterns(here, there):
        if len(noisy) <= MAX_NUMBERS:
            parts = _cells(noisy[0], sides, fine) if len(noisy) == 1 else _tails(noisy, sides)
            parts += [bounds for one in sides for bounds in _without_noise(noisy, one)]
            parts += _of_likelihood(noisy, sides, fine)
            found += [_Event(texts, (*fixed, *part)) for part in parts]
        if len(found) > MAX_EVENTS:
            return found[:MAX_EVENTS]
    return list(dict.fromkeys(found))


#: The texts of an output, the bounds of its constants, the places of its noisy numbers, and the paths.
Pattern = tuple[tuple[str | None, ...], list[Bound], list[int], tuple[list[SymbolicPath], list[SymbolicPath]]]


def _patterns(here: Sequence[SymbolicPath], there: Sequence[SymbolicPath]) -> list[Pattern]:
    """Return the paths of both sides by the texts and constants of their outputs."""
    patterns: dict[Any, tuple[list[SymbolicPath], list[SymbolicPath]]] = {}
    for side, paths in enumerate((here, there)):
        for path in paths:
            key = tuple(p if isinstance(p, str) or not p.terms else None for p in path.output)
            patterns.setdefault(key, ([], []))[side].append(path)
    found = []
    for key, sides in patterns.items():
        texts = tuple(part if isinstance(part, str) else None for part in key)
        fixed = [
            bound
            for place, part in enumerate(key)
            if isinstance(part, Form)
            for bound in _near(((place, Fraction(1)),), part.constant)
        ]
        found.append((texts, fixed, [place for place, part in enumerate(key) if part is None], sides))
    return found


def _single_numbers(
    here: Sequence[SymbolicPath], there: Sequence[SymbolicPath], *, alike: bool
) -> Iterator[tuple[tuple[str | None, ...], list[Bound], int, Any]]:
    """Yield the patterns with one noisy number.

    Without ``alike``, only if its noise differs between the paths, or is Cauchy noise.
    """
    for texts, fixed, noisy, sides in _patterns(here, there):
        if len(noisy) == 1 and all(sides):
            paths = [path for side in sides for path in side]
            parts = [(path, _form(path, noisy[0]).terms) for path in paths]
            spreads = {
                tuple((f * path.noise[n].scale, path.noise[n].law) for n, f in terms.items())
                for path, terms in parts
            }
            if alike or len(spreads) > 1 or any(law == "cauchy" for [*one] in spreads for _, law in one):
                yield texts, fixed, noisy[0], sides


def _inside(one: Weights, low: Fraction, high: Fraction) -> tuple[Bound, Bound]:
    """Return the bounds of ``low <= combination <= high``."""
    return (tuple((place, -factor) for place, factor in one), low), (one, -high)


def _near(weights: tuple[tuple[int, Fraction], ...], value: Fraction) -> list[Bound]:
    most = EQUAL * max(Fraction(1), abs(value))
    return [*_inside(weights, value - most, value + most)]


def _spread(path: SymbolicPath, form: Form) -> Fraction:
    return max(abs(factor) * path.noise[name].scale for name, factor in form.terms.items())


def _form(path: SymbolicPath, place: int) -> Form:
    part = path.output[place]
    assert isinstance(part, Form)
    return part


def _cuts(place: int, sides: Any, steps: Sequence[Any]) -> list[Fraction]:
    forms = [(path, _form(path, place)) for side in sides for path in side]
    return sorted(
        {
            f.constant + sign * step * _spread(path, f)
            for path, f in forms
            for step in steps
            for sign in (1, -1)
        }
    )


def _cells(place: int, sides: Any, fine: bool) -> list[tuple[Bound, ...]]:
    """Return the cells of one number between cuts around its values without noise."""
    return _between(((place, Fraction(1)),), _cuts(place, sides, CUTS if fine else (0, CUTS[-1])), fine)


def _between(one: Weights, cuts: Sequence[Fraction], fine: bool) -> list[tuple[Bound, ...]]:
    """Return the cells of a combination of numbers between cuts, with small gaps, and the half-lines."""
    other = tuple((place, -factor) for place, factor in one)
    found: list[tuple[Bound, ...]] = [((other, cuts[-1]),), ((one, -cuts[0]),)]
    for low, high in itertools.pairwise(cuts) if fine else ():
        gap = (high - low) / 10**9
        found.append(_inside(one, low + gap, high - gap))
    if not fine:
        return [*found, ((other, cuts[len(cuts) // 2]),), ((one, -cuts[len(cuts) // 2]),)]
    return found + [((other, cut),) for cut in cuts[:-1]] + [((one, -cut),) for cut in cuts[1:]]


def _tails(noisy: Sequence[int], sides: Any) -> list[tuple[Bound, ...]]:
    """Return the event without bounds, and events with each number where one input is likelier."""
    found: list[tuple[Bound, ...]] = [()]
    if not noisy or not all(sides):
        return found
    means = [[sum((_form(p, n).constant for p in side), ZERO) / len(side) for n in noisy] for side in sides]
    changed = [k for k in range(len(noisy)) if means[0][k] != means[1][k]]
    found += [(_half_line(noisy[k], (means[0][k] + means[1][k]) / 2, up=True),) for k in changed]
    for side in (0, 1):
        for step in SEVERAL:
            bounds: list[Bound] = []
            for k, place in enumerate(noisy):
                change = means[side][k] - means[1 - side][k]
                if change:
                    cuts = _cuts(place, sides, (step,))
                    up = change > 0
                    bounds.append(_half_line(place, cuts[-1] if up else cuts[0], up=up))
            found.append(tuple(bounds))
            found += [(bound,) for bound in bounds if len(bounds) > 1]
    return found


def _of_likelihood(noisy: Sequence[int], sides: Any, fine: bool) -> list[tuple[Bound, ...]]:
    """Return cells of the likelihood ratio of two normal vectors, which is linear in the vector."""
    if len(noisy) < 2 or any(len(side) != 1 for side in sides):
        return []
    [[here], [there]] = sides
    pairs = [(_form(here, place), _form(there, place)) for place in noisy]
    names = sorted({name for form, _ in pairs for name in form.terms})
    if any(one.terms != other.terms for one, other in pairs) or here.noise != there.noise:
        return []
    if any(here.noise[name].law != "gaussian" for name in names):
        return []
    scales = np.array([float(here.noise[name].scale) for name in names])
    table = np.array([[float(form.terms.get(name, 0)) for name in names] for form, _ in pairs]) * scales
    change = np.array([float(one.constant - other.constant) for one, other in pairs])
    direction = np.linalg.lstsq(table @ table.T, change, rcond=None)[0]
    if not np.any(direction) or not np.all(np.isfinite(direction)):
        return []
    rounded = [Fraction(round(w * 2**40), 2**40) for w in (direction / np.abs(direction).max()).tolist()]
    weights = tuple((place, w) for place, w in zip(noisy, rounded, strict=True) if w)
    spread = float(np.linalg.norm(np.array([float(w) for w in rounded]) @ table))
    cuts = {
        sum((_form(path, place).constant * w for place, w in weights), ZERO)
        + sign * Fraction(step) * Fraction(spread)
        for path in (here, there)
        for step in (CUTS if fine else (0, CUTS[-1]))
        for sign in (1, -1)
    }
    return _between(weights, sorted(cuts), fine)


def _half_line(place: int, cut: Fraction, *, up: bool) -> Bound:
    """Return the bound that a number is above the cut, or below it."""
    return (((place, Fraction(-1)),), cut) if up else (((place, Fraction(1)),), -cut)


def _without_noise(noisy: Sequence[int], paths: Sequence[SymbolicPath]) -> list[tuple[Bound, ...]]:
    """Return the values of combinations of numbers that contain no noise, of a program with one path."""
    if len(paths) != 1 or len(noisy) < 2:
        return []
    path, found = paths[0], []
    reduced: list[tuple[Form, dict[int, Fraction]]] = []  # a pivot form and its combination
    for place in noisy:
        form, weights = _form(path, place), {place: Fraction(1)}
        for pivot, combination in reduced:
            name = min(pivot.terms)
            factor = form.terms.get(name, ZERO) / pivot.terms[name]
            if factor:
                form = form.plus(pivot, -factor)
                for k, weight in combination.items():
                    weights[k] = weights.get(k, ZERO) - factor * weight
        if form.terms:
            reduced.append((form, weights))
        else:
            kept = tuple(sorted((k, w) for k, w in weights.items() if w))
            found.append(tuple(_near(kept, form.constant)))
    return found
