"""Look for an exact counterexample: a pair of neighbours whose outputs have a loss above the claim.

The interpreter follows the function once on each of two neighbouring datasets. The data are plain numbers and
the noise is symbolic, so each release is a known number plus noise. Outcomes are forced, equal on both sides
and far in the tail where the recorded side is more likely. The distributions on both sides and the outcomes
form a witness, from which ``recompute`` (as in ``dpaudit verify``) computes the loss in ball arithmetic.

Theorem. Suppose that both runs are straight lines (no decision depends on an outcome), and that the output is
the same function g of the outcomes in both, with g injective. Then the loss of the output g(o) is that of o,
the sum of the losses of its releases. If both runs are straight lines and show different constants at one
place, then the output identifies the dataset.

Proof. A straight line shows the same constants for all outcomes. For an injective g, the event that the
output is in g(B) is the event that the outcomes are in B, on both sides. For a continuous outcome inside the
support, the density ratio is continuous, so that the loss of a small box B around it is as close to that of o
as is wanted, and P(B) > 0. Densities of successive releases multiply, given the outcomes before. ∎

Assumptions and limits:

* The claim is about real numbers. Released numbers are computed in floats. So all rounding modes of the
  processor must give nearly the same numbers, and the loss must exceed the claim by one part in a million.
* Nothing is concluded from a run with another source of randomness, a decision on an outcome, or an outcome
  that the output does not determine. For these programs, ``output_events`` computes the probabilities of
  events of the output.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.transcript import WitnessSite, leak_body, transcript_body
from dpaudit.core.claims import PureDP, ZeroConcentratedDP
from dpaudit.core.claims.base import Adjacency
from dpaudit.core.data import Records, Table
from dpaudit.core.evidence import Witness
from dpaudit.core.rounding_modes import MODES, rounding_mode
from dpaudit.core.views import PUBLIC
from dpaudit.distributions import Categorical, Exponential, Gaussian, Gumbel, Laplace, NoisyArgmax
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.values.info import Info, Setting
from dpaudit.prover.symbols import RefusedError
from dpaudit.prover.values.climb import climbed, constants_of
from dpaudit.prover.values.cross_check import cross_check
from dpaudit.prover.values.exact_witness import MARGIN, REFUSALS, STEADY, UNROUNDED, checked_witness, within
from dpaudit.prover.values.interpreter import Interpreter
from dpaudit.prover.values.operations import content
from dpaudit.prover.values.output_events import event_counterexample
from dpaudit.prover.values.programs import inputs_of, unwrapped_program
from dpaudit.prover.values.prove import PrivacyClaim
from dpaudit.prover.values.run import ProgramRaisedError, Record, Run
from dpaudit.prover.values.samples import Worlds, quiet
from dpaudit.prover.values.values import Array, Coins, Generator, Public

__all__ = ["counterexample"]

#: Forced outcomes are this many scales from the released number. The largest forced distance in scales.
FAR, FARTHEST = 60.0, 1e6
#: Seconds for the comparison with CPython after the time limit.
SPARE = 5.0
#: The number of given pairs that are tried, those of the largest loss.
TRIED = 4
#: The largest number of options of a discrete release.
OPTIONS = 64

NOISES: dict[str, Any] = {
    "laplace": Laplace,
    "exponential": Exponential,
    "gumbel": Gumbel,
    "gaussian": lambda *, scale: Gaussian(sigma=scale),
}


@dataclass(frozen=True)
class Site:
    """One release on one side: its law, the released number or numbers, and the exact scale of its noise."""

    law: str
    noise: str
    base: Any
    scale: Fraction
    fixed: bool

    @property
    def discrete(self) -> bool:
        return self.law in ("argmax", "choice")

    def near(self, other: Site) -> bool:
        """Return whether two computations of the same number differ little, relative to the noise."""
        one, two = np.asarray(self.base, dtype=float), np.asarray(other.base, dtype=float)
        if self.law == "choice":
            return bool(np.allclose(one, two, rtol=STEADY, atol=0))
        return bool(np.abs(one - two).sum() <= STEADY * float(self.scale))

    def distribution(self) -> Distribution:
        """Return the distribution of the outcome."""
        if self.law == "choice":
            return Categorical.of_floats(self.base)
        if self.law == "argmax":
            return NoisyArgmax(np.asarray(self.base), NOISES[self.noise](scale=self.scale))
        noise: Distribution = NOISES[self.law](scale=self.scale)
        return noise.shift(self.base)


@dataclass(eq=False)
class _Line:
    """A walk that refuses decisions on outcomes and hidden draws, and records what is shown."""

    refused: Any = None
    shown: list[str] = field(default_factory=list)

    def _event(self, event: Any) -> None:
        if event[0] != "show" or str(event[1]).split(" ", 1)[0] not in ("draw", "release"):
            self.shown.append(str(event[1]))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise RefusedError("a decision depends on an outcome", code="E-PROGRAM-NOT-FOLLOWED")

    fork = below = hidden = _refuse


class _PlainRun(Run):
    """A run on plain data. Outcomes are those of ``script``, or near the released numbers without it."""

    on_plain_data = True

    def __init__(self, record: Record, walk: Any, until: float, script: Sequence[Any]) -> None:
        super().__init__(record, walk, Worlds(record.s, [record.s.size or 0] * 2), {}, False, until)
        self.script = script
        self.sites: list[Site] = []
        self.numbers: list[int] = []  # the outcome of each site
        self.visible: set[int] = set()
        self._inside = False

    def released(
        self,
        release: dict[str, Any],
        info: Info,
        *,
        shape: Sequence[Any],
        kind: str,
        samples: list[Any],
        python: bool,
        count: int | None = None,
    ) -> Public:
        """Record the release and return its forced outcome."""
        law, node = release["law"], release["node"]
        drawn = self.draws[release["draw"]]
        factor, number = Fraction(release["factor"]), drawn.positive.number
        if number is None or law not in ("laplace", "gaussian", "argmax"):
            self.refuse("the scale of the noise is no number")
        base: Any = np.asarray(self.samples[node][0])
        if law == "argmax":
            noise = np.asarray(drawn.samples[0])
            largest = np.argmax(base + float(factor) * noise)
            smallest = np.argmin(base - float(factor) * noise)  # the factor has the sign of the rule
            if release["count"] != 1 or factor <= 0 or samples[0] != largest or largest == smallest:
                self.refuse("the rule of the position is not known")
        fixed = self.record.nodes[node][0] == "const"
        base = base.astype(float) if base.shape else float(base)
        if not np.all(np.isfinite(base)):
            self.refuse("a released number is not finite")
        site = Site(law, drawn.distribution, base, Fraction(number) * abs(factor), fixed)
        value = self._next(site, samples[0])
        self._inside = True
        try:
            return super().released(
                release, info, shape=shape, kind=kind, samples=[value] * 2, python=python, count=count
            )
        finally:
            self._inside = False

    def outcome(self, **options: Any) -> Public:
        """Return an outcome of a release. Other public randomness is refused: its law is not recorded."""
        if not self._inside:
            self.refuse("randomness is published that is not the noise of a release")
        found = super().outcome(**options)
        self.numbers.append(self.outcomes)
        return found

    def chosen(self, count: int, chances: Any) -> Public:
        """Record a choice with known probabilities and return its forced outcome."""
        p = np.full(count, 1 / count) if chances is None else np.asarray(self.sample(chances, 0), dtype=float)
        if p.shape != (count,) or count > OPTIONS or not (np.all(p >= 0) and abs(p.sum() - 1) < 1e-9):
            self.refuse("the probabilities of a choice are not known")
        value = self._next(Site("choice", "", p, Fraction(1), True), np.int64(np.argmax(p)))
        self._inside = True
        try:
            return self.outcome(shape=(), kind="i", samples=[value] * 2, python=False, count=count)
        finally:
            self._inside = False

    def _next(self, site: Site, otherwise: Any) -> Any:
        self.sites.append(site)
        place = len(self.sites) - 1
        return self.script[place] if place < len(self.script) else otherwise


class _SeeingInterpreter(Interpreter):
    """An interpreter that notes which outcomes the coins publish."""

    def _method(self, value: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        found = super()._method(value, name, arguments, options)
        if isinstance(content(value), Coins) and name in ("release", "observe"):
            inner = content(found)
            if isinstance(inner, Public) and inner.expression[0] == "outcome":
                self.run.visible.add(inner.expression[1])  # type: ignore[attr-defined]
        return found


@dataclass(frozen=True)
class _Trace:
    """What one run released and showed, and the value of its output."""

    sites: list[Site]
    numbers: list[int]
    visible: set[int]
    shown: list[str]
    output: Any


def counterexample(
    program: Callable[..., Any],
    claim: PrivacyClaim,
    *,
    data: Records | Table,
    pairs: Sequence[tuple[Any, Any]],
    unrounded: Callable[[Any, Any], float],
    files: Sequence[str] = (),
    most: Fraction | None = None,
    seconds: float = 10.0,
) -> Witness | None:
    """Return a witness that the loss of the program exceeds the claim on one of the pairs, or None.

    Parameters
    ----------
    program, claim, data, files
        As for ``prove_values``.
    pairs : sequence of pairs of inputs
        Neighbouring inputs that fit the declaration.
    unrounded : callable
        The share of the difference of the outputs on two inputs that rounding cannot explain.
    most : Fraction, optional
        A proved upper bound. A larger loss is rounding, and gives no witness.
    seconds : float
        Time limit in seconds (10), for transcripts and for events of the output each.

    Returns
    -------
    Witness or None
        The witness, with the largest loss that it proves.
    """
    until = time.monotonic() + seconds
    follower = _Follower(program, claim, data, files, until)
    ranked = sorted(pairs, key=follower.loss, reverse=True)
    constants = constants_of(unwrapped_program(program)[0].__code__)
    more = climbed(data, claim.adjacency, follower.loss, constants=constants, until=until)
    for pair in itertools.chain(ranked[:TRIED], (pair for _, pair in more)):
        found = follower.refuting(pair, unrounded, most)
        if found is not None:
            return found
    return event_counterexample(
        program, claim, data=data, pairs=pairs, unrounded=unrounded, most=most, seconds=seconds
    )


@dataclass(frozen=True)
class _Follower:
    program: Callable[..., Any]
    claim: PrivacyClaim
    data: Records | Table
    files: Sequence[str]
    until: float

    def loss(self, pair: tuple[Any, Any]) -> float:
        """Return the loss of a pair in floats, infinite if the output may identify its input."""
        try:
            here, there = (self.trace(side, []) for side in pair)
        except REFUSALS:
            return 0.0
        if _first_difference(here.shown, there.shown) is not None:
            return math.inf
        arrays = here.shown != there.shown
        if not _alike(here, there) or (arrays and not _plainly_apart(here.output, there.output)):
            return 0.0
        if arrays:
            return math.inf
        return sum(_cost(a, b) for a, b in zip(here.sites, there.sites, strict=True))

    def refuting(
        self, pair: tuple[Any, Any], unrounded: Callable[[Any, Any], float], most: Fraction | None
    ) -> Witness | None:
        """Return a witness on a pair or on the reversed pair that rounding cannot explain, or None."""
        both_ways = self.claim.adjacency is not Adjacency.ZERO_OUT
        for recorded, neighbour in [pair, pair[::-1]][: 1 + both_ways]:
            if time.monotonic() > self.until:
                return None
            try:
                found = self.witness(recorded, neighbour)
            except REFUSALS:  # refused, too hard to evaluate, or no witness for this claim
                continue
            found = None if found is None else within(found, most)
            if found is None:
                continue
            with quiet():
                share = unrounded(recorded, neighbour)
            if share >= UNROUNDED:
                self._cross_check(recorded)
                self._cross_check(neighbour)
                return found
        return None

    def _cross_check(self, data: Any) -> None:
        """Compare the interpreter with CPython on one side."""
        function, fixed, receiver = unwrapped_program(self.program)
        kinds = list(inputs_of(self.program))

        def arguments() -> list[Any]:
            return [copy.deepcopy(data) if kind == "data" else None for kind in kinds]

        record = Record(Setting(low={}, size=1))
        files = frozenset({function.__code__.co_filename, *self.files})
        for seed in (0, 1):
            cross_check(function, receiver, arguments, kinds, fixed, record, files, seed, self.until + SPARE)

    def trace(self, data: Any, script: Sequence[Any]) -> _Trace:
        """Follow the program on ``data`` with forced outcomes."""
        function, fixed, receiver = unwrapped_program(self.program)
        columns = data.values() if isinstance(data, dict) else [data]
        record = Record(Setting(low={}, size=max(len(next(iter(columns))), 1)))
        walk = _Line()
        run = _PlainRun(record, walk, self.until, script)
        interpreter = _SeeingInterpreter(run, frozenset({function.__code__.co_filename, *self.files}))
        sources = {"data": _inside(data), "rng": Generator(), "coins": Coins()}
        given = [sources[kind] for kind in inputs_of(self.program)]
        with quiet():
            followed = interpreter.function(function)
            given = [*(interpreter.enter(one, "the program") for one in receiver), *given]
            inside = {name: interpreter.enter(value, name) for name, value in fixed.items()}
            try:
                result = interpreter.run_program(followed, given, inside)
            except ProgramRaisedError as error:
                raise RefusedError("the program raises", code="E-PROGRAM-NOT-FOLLOWED") from error
        if run.refused is not None:
            raise run.refused
        output = _numbers(run.sample(_open(result), 0))
        return _Trace(run.sites, run.numbers, run.visible, walk.shown, output)

    def witness(self, recorded: Any, neighbour: Any) -> Witness | None:
        """Return a witness on one pair, or None if its loss is not above the claim."""
        here, there = self.trace(recorded, []), self.trace(neighbour, [])
        different = _first_difference(here.shown, there.shown)
        if different is None and here.shown != there.shown and _alike(here, there):
            different = self._different_arrays(recorded, neighbour, here, there)
        if different is not None:
            steady = self._is_steady(recorded, here, []) and self._is_steady(neighbour, there, [])
            return self._leak(recorded, neighbour, *different) if steady else None
        if not here.sites or not _alike(here, there):
            return None
        script: list[Any] = []
        for _ in range(3):  # later releases may depend on the outcomes of earlier ones
            script = [_worst(a, b) for a, b in zip(here.sites, there.sites, strict=True)]
            here, there = self.trace(recorded, script), self.trace(neighbour, script)
            if here.shown != there.shown or not _alike(here, there):
                return None
        if not self._determined(recorded, here, there, script):
            return None
        if not (self._is_steady(recorded, here, script) and self._is_steady(neighbour, there, script)):
            return None
        sites = [(a, b, o) for a, b, o in zip(here.sites, there.sites, script, strict=True)]
        if isinstance(self.claim, PureDP):
            return self._transcript(recorded, neighbour, sites)
        return self._release(recorded, neighbour, sites)

    def _different_arrays(
        self, recorded: Any, neighbour: Any, here: _Trace, there: _Trace
    ) -> tuple[str, str] | None:
        """Return the outputs if constant arrays in them differ, or None.

        The outcomes are forced to be equal. Then outputs differ only in shown constants.
        """
        pairs = zip(here.shown, there.shown, strict=False)
        if len(here.shown) != len(there.shown) or any(
            a != b and not (a.startswith("ndarray ") and b.startswith("ndarray ")) for a, b in pairs
        ):
            return None
        script = [_worst(a, b) for a, b in zip(here.sites, there.sites, strict=True)]
        outputs = self.trace(recorded, script).output, self.trace(neighbour, script).output
        return (repr(outputs[0]), repr(outputs[1])) if _plainly_apart(*outputs) else None

    def _is_steady(self, data: Any, trace: _Trace, script: list[Any]) -> bool:
        """Return whether all rounding modes of the processor give nearly the same numbers."""
        for mode in MODES:
            with rounding_mode(mode):
                other = self.trace(data, script)
            if len(other.shown) != len(trace.shown) or not _alike(trace, other):
                return False
            if not trace.sites and _plainly_apart(trace.output, other.output):
                return False
            if any(
                a.split(" ", 1)[0] != b.split(" ", 1)[0]
                for a, b in zip(trace.shown, other.shown, strict=True)
            ):
                return False
            if any(a != b and _apart(a, b) for a, b in zip(trace.shown, other.shown, strict=True)):
                return False
            if any(not a.near(b) for a, b in zip(trace.sites, other.sites, strict=True)):
                return False
        return bool(MODES)

    def _determined(self, data: Any, here: _Trace, there: _Trace, script: list[Any]) -> bool:
        """Return whether the output determines all outcomes, in the same way on both sides."""
        known = set(here.visible) & set(there.visible)
        for text in here.shown:
            if text.startswith("public "):
                found = _solved(json.loads(text[len("public ") :]), known)
                known |= {found} if found is not None else set()
        if known >= set(here.numbers):
            return True
        if len(here.sites) != 1 or not here.sites[0].discrete:
            return False
        others = [self.trace(data, [np.int64(k)]) for k in range(len(here.sites[0].base)) if k != script[0]]
        return all(
            _plainly_apart(one.output, here.output) and len(one.shown) == len(here.shown) for one in others
        )

    def _transcript(self, recorded: Any, neighbour: Any, sites: Sequence[Any]) -> Witness | None:
        listed = []
        for k, (here, there, outcome) in enumerate(sites, 1):
            one, other = here.distribution(), there.distribution()
            if one != other:
                value = int(outcome) if here.discrete else outcome
                listed.append(
                    WitnessSite(
                        site=f"release {k}",
                        to=frozenset([PUBLIC]),
                        distribution=one,
                        distribution_neighbour=other,
                        value=value,
                    )
                )
        body = transcript_body(listed, view=self.claim.view, inputs=(recorded, neighbour))
        return self._checked("transcript", body, "released outcomes, forced in the tail of the noise")

    def _release(self, recorded: Any, neighbour: Any, sites: Sequence[Any]) -> Witness | None:
        """Return a witness of the releases whose numbers depend on no outcome, divided by their scales."""
        pairs = [(a, b) for a, b, _ in sites if a.fixed and b.fixed and a.law == "gaussian"]
        if not pairs or any(a.scale != b.scale for a, b in pairs):
            return None
        offsets = [
            np.concatenate([np.ravel(pair[side].base) / float(pair[side].scale) for pair in pairs])
            for side in (0, 1)
        ]
        laws = [Gaussian(sigma=1).shift(offset) for offset in offsets]
        site = {"site": "all releases, divided by the scales of their noise", "to": [PUBLIC.name]}
        body: dict[str, Any] = {
            "view": self.claim.view.to_json(),
            "inputs": written_inputs(recorded, neighbour),
            "site": {**site, "law": laws[0].to_json(), "law_neighbour": laws[1].to_json()},
            "parts": [],
            "order": "2" if isinstance(self.claim, ZeroConcentratedDP) else None,
        }
        return self._checked("release", body, "the released numbers with Gaussian noise")

    def _leak(self, recorded: Any, neighbour: Any, one: str, other: str) -> Witness | None:
        body = leak_body(
            [],
            what="value",
            recorded=one,
            neighbour=other,
            view=self.claim.view,
            site="output",
            to=frozenset([PUBLIC]),
            inputs=(recorded, neighbour),
        )
        return self._checked("leak", body, f"the output shows {one[:80]} or {other[:80]}")

    def _checked(self, form: str, body: dict[str, Any], words: str) -> Witness | None:
        """Return the witness with the bound that its own body gives, if that is above the claim."""
        return checked_witness(self.claim, form, body, f"two neighbours of the declared data: {words}")


def _inside(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: Array(column.copy(), shared=True) for name, column in data.items()}
    return Array(data.copy(), shared=True) if isinstance(data, np.ndarray) else data


def _open(value: Any) -> Any:
    """Return a result with its arrays and mappings as plain lists of values."""
    inner = content(value)
    if isinstance(inner, dict):
        return [part for key, item in inner.items() for part in (repr(key), _open(item))]
    return [_open(item) for item in inner] if isinstance(inner, list | tuple) else inner


def _numbers(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _alike(here: _Trace, there: _Trace) -> bool:
    """Return whether both runs make releases of the same kinds and shapes."""
    kinds = [[(site.law, site.noise, np.shape(site.base)) for site in one.sites] for one in (here, there)]
    return kinds[0] == kinds[1] and here.numbers == there.numbers


def _first_difference(one: list[str], other: list[str]) -> tuple[str, str] | None:
    """Return the first constants that differ, if what precedes them is equal, or None.

    A number or a text may equal a noisy one, but ``None`` equals no noisy number.
    """
    for a, b in zip(one, other, strict=False):
        if a != b:
            kinds = {text.split(" ", 1)[0] for text in (a, b)}
            apart = kinds == {"NoneType", "public"} or ("public" not in kinds and _apart(a, b))
            return (a, b) if apart else None
    return None


def _apart(one: str, other: str) -> bool:
    """Return whether two shown constants differ by more than rounding."""
    parts = [text.split(" ", 1)[-1] for text in (one, other)]
    if all(part.startswith("of ") for part in parts):
        return parts[0] != parts[1]
    try:
        values = [json.loads(part) for part in parts]
    except json.JSONDecodeError:
        return True  # a container and a number
    if all(value[0] == "number" for value in values):
        a, b = (Fraction(value[1]) for value in values)
        return bool(abs(a - b) > MARGIN * max(Fraction(1), abs(a), abs(b)))
    return not any("array" in value[:2] for value in values)  # the entries of an array are not known here


def _plainly_apart(one: Any, other: Any) -> bool:
    """Return whether two outputs without noise have a number or a length that differs."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) != len(other) or any(map(_plainly_apart, one, other))
    if type(one) in (int, float, bool) and type(other) in (int, float, bool):
        finite = math.isfinite(one) and math.isfinite(other)
        return finite and abs(one - other) > float(MARGIN) * max(1.0, abs(one), abs(other))
    return False


def _solved(expression: Any, known: set[int]) -> int | None:
    """Return the outcome that an expression determines, given the known outcomes, or None.

    The expression must be an injective function of one outcome that is not known yet: the outcome itself,
    moved by a number or a known outcome, or multiplied by a number that is not 0.
    """
    kind, *parts = expression
    if kind == "outcome":
        return None if parts[0] in known else int(parts[0])
    if kind == "neg":
        return _solved(parts[0], known)
    if kind in ("add", "sub"):
        inside = [_outcomes(part) - known for part in parts]
        if not inside[0] or not inside[1]:
            return _solved(parts[0] if inside[0] else parts[1], known)
        return None
    if kind in ("mul", "div") and parts[1][0] == "number" and Fraction(parts[1][1]):
        return _solved(parts[0], known)
    if kind == "mul" and parts[0][0] == "number" and Fraction(parts[0][1]):
        return _solved(parts[1], known)
    return None


def _outcomes(expression: Any) -> set[int]:
    if not isinstance(expression, list):
        return set()
    if expression[:1] == ["outcome"]:
        return {int(expression[1])}
    return {number for part in expression for number in _outcomes(part)}


def _cost(here: Site, there: Site) -> float:
    """Return about the largest loss of one release, or its rho for Gaussian noise."""
    if here.discrete:
        one, other = here.distribution(), there.distribution()
        return max(float(one.logp(k)) - float(other.logp(k)) for k in range(len(here.base)))
    change = np.abs(np.asarray(here.base) - np.asarray(there.base)) / float(here.scale)
    return float((change**2).sum() / 2 if here.law == "gaussian" else change.sum())


def _worst(here: Site, there: Site) -> Any:
    """Return the outcome at which the recorded side is the most likely, relative to the neighbour."""
    if here.discrete:
        one, other = here.distribution(), there.distribution()
        places = range(len(here.base))
        return np.int64(max(places, key=lambda k: float(one.logp(k)) - float(other.logp(k))))
    base = np.asarray(here.base)
    change = base - np.asarray(there.base)
    scale = float(here.scale)
    distance = FAR * scale
    if here.law == "gaussian":  # the loss at distance t is (t |change| + change^2 / 2) / scale^2
        size = np.abs(change)[change != 0].min(initial=math.inf)
        distance = min(max(distance, 100 * scale * scale / size), FARTHEST * scale)
    found = base + np.where(change < 0, -1.0, 1.0) * distance
    return found if found.shape else float(found)
