"""Define one run of a program along one path, and the record that all paths share."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from dpaudit.core.errors import BrokenHarnessError
from dpaudit.kernel.values.expressions import polynomial, text_of
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import Poly
from dpaudit.kernel.values.releases import cost_of, drawn_of
from dpaudit.kernel.values.steps import derive
from dpaudit.prover.explore import Walk
from dpaudit.prover.forms import Form
from dpaudit.prover.symbols import RefusedError
from dpaudit.prover.values.finite import is_finite
from dpaudit.prover.values.reference import REFERENCE, plain_constant
from dpaudit.prover.values.samples import NUMBERS, Worlds, apply, same
from dpaudit.prover.values.values import (
    MISSING,
    Array,
    Choice,
    Coin,
    Correlated,
    Draw,
    Entries,
    Filtered,
    Listed,
    Noisy,
    Private,
    Public,
    Response,
    Sample,
    Samples,
    Scaled,
    Series,
    Symbol,
    Text,
    Transposed,
    Turned,
    Uniform,
)
from dpaudit.prover.values.whole_numbers import WholeNumbers

__all__ = ["NotFollowedError", "ProgramRaisedError", "Record", "Run", "exact", "written"]

#: Limit on the interpreter's steps over all paths of a proof, about 20 seconds.
MAX_STEPS = 500_000
#: Limit on the entries of a constant array, and the number up to which they are written one by one.
MAX_ENTRIES, FEW_ENTRIES = 2**20, 1_000
#: Limit on the decimals of all entries of a constant array.
MAX_DIGITS = 2**26


class NotFollowedError(RefusedError):
    """The interpreter cannot follow the program. The text names a line, a reason and often a remedy."""


class ProgramRaisedError(Exception):
    """The program under proof raises ``error``, by a statement or in a call on plain values."""

    def __init__(self, error: BaseException, value: Any = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.value = value  # of a StopIteration


def exact(number: Any) -> Fraction:
    """Return the exact value of a plain number. A float stands for the decimal that it prints as."""
    if isinstance(number, bool | np.bool_ | int | np.integer):
        return Fraction(int(number))
    if isinstance(number, Fraction):
        return number
    return Fraction(repr(float(number)))


def written(value: Any) -> Any:
    """Return parameters as JSON. An extent that depends on the number of records becomes a list of terms."""
    if isinstance(value, Poly):
        return {"N": [[str(number), dict(term).get("N", 0)] for term, number in sorted(value.terms.items())]}
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    if isinstance(value, dict):
        return {key: written(item) for key, item in value.items()}
    return value


@dataclass(eq=False)
class Record:
    """The steps, draw distributions and releases of all paths. Equal entries are stored once."""

    s: Setting
    nodes: list[list[Any]] = field(default_factory=list)
    infos: list[Info] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    draws: list[list[Any]] = field(default_factory=list)
    releases: list[dict[str, Any]] = field(default_factory=list)
    channels: list[dict[str, Any]] = field(default_factory=list)
    repetitions: list[dict[str, str]] = field(default_factory=list)
    #: Sample values of steps that depend on the data alone. They are equal on all paths and checked once.
    samples: dict[int, Samples] = field(default_factory=dict)
    verified: set[tuple[int, str]] = field(default_factory=set)
    #: The ends of slices that depend on the number of records, by the step of their mask.
    slices: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: The interpreter's steps over all finished runs.
    steps: int = 0
    #: Nodes of plain numbers, by type and value.
    constants: dict[tuple[type, Any], int] = field(default_factory=dict)
    #: The column and the place of steps that are single entries of a column, for lists of all entries.
    entries: dict[int, tuple[int, int]] = field(default_factory=dict)
    #: Functions and classes that are not followed (``opaque``), those that need not be, and the calls of
    #: these in which paths forked or ended.
    opaque: frozenset[Any] = frozenset()
    readable: dict[Any, bool] = field(default_factory=dict)
    forked: dict[Any, int] = field(default_factory=dict)
    #: Whether Gaussian noise was used twice or published alone, so that correlated noise may help.
    combines: bool = False
    stuck: Any = None
    _memo: dict[Any, int] = field(default_factory=dict)

    def node(self, op: str, ids: Sequence[int], params: dict[str, Any], where: str) -> int:
        """Record a step unless an equal step exists, and return its number."""
        key: Any = (op, *ids)  # most steps have no parameters
        if params:
            key = json.dumps([op, list(ids), written(params)], sort_keys=True)
        if key not in self._memo:
            info = derive(self.s, op, tuple(ids), [self.infos[k] for k in ids], params)
            self.nodes.append([op, list(ids), written(params)])
            self.infos.append(info)
            self.lines.append(where)
            self._memo[key] = len(self.infos) - 1
        return self._memo[key]

    def draw(self, distribution: str, scale: Any, shape: Sequence[Any]) -> int:
        """Record the distribution of a draw and return its number."""
        return _place(self.draws, [distribution, scale, written(shape)])

    def release(self, release: dict[str, Any]) -> int:
        return _place(self.releases, release)

    def channel(self, channel: dict[str, Any]) -> int:
        """Record the parameters of a channel and return their number."""
        return _place(self.channels, channel)

    def repetition(self, law: dict[str, str]) -> int:
        """Record the stopping law of a loop with a random number of runs and return its number."""
        return _place(self.repetitions, law)


def _place(table: list[Any], item: Any) -> int:
    if item not in table:
        table.append(item)
    return table.index(item)


@dataclass(eq=False)
class Run:
    """One run along one path.

    If ``hidden`` is true, noise may stay hidden in comparisons. Otherwise every noisy value is released when
    it is used.
    """

    record: Record
    walk: Walk
    worlds: Worlds
    data_samples: dict[str, Samples]
    hidden: bool
    until: float
    #: Whether only the position of the largest noisy score is released. Otherwise all noisy scores are.
    picks: bool = True
    seed: int = 0
    #: The claimed epsilon, if the claim has a delta, so that a bound may fail with a probability.
    most: Fraction | None = None
    #: Whether linear combinations of Gaussian draws are followed (``correlated``).
    correlates: bool = False
    #: Whether the data are plain numbers (``counterexample``). Noisy values then have constant bases.
    on_plain_data = False

    def __post_init__(self) -> None:
        self.s = self.record.s
        self.samples: dict[int, Samples] = dict(self.record.samples)
        self.rng = np.random.default_rng(self.seed)
        self.draws: list[Draw] = []
        self.outcomes = self.uniforms = self.steps = self.sessions = self.repetitions = 0
        self.repeating = False  # whether the run is inside a loop with a random number of runs
        self.before = self.record.steps
        self.where = ""
        self.continuous: set[int] = set()  # numbers of the outcomes that have a density
        self.whole = WholeNumbers()
        self.correlated: dict[str, Public] = {}  # outcomes of releases with correlated noise
        self.generator: Any = None  # set for a run on real data
        self.refused: NotFollowedError | None = None
        #: Whether a number may be of Python or of numpy, depending on the data, such as max(x, 0).
        self.untyped = False

    # Refusals.

    def refuse(self, what: str) -> NoReturn:
        """Record the refusal and raise it. It stays recorded even if the caller catches the error."""
        error = NotFollowedError(f"{self.where}: {what}" if self.where else what)
        self.refused = self.refused or error
        self.walk.refused = self.walk.refused or error
        raise error

    def tick(self) -> None:
        """Count a step of the interpreter, and refuse the program at a limit on steps or time."""
        self.steps += 1
        # The limit counts steps instead of time, so that the verdict does not depend on the machine.
        if self.before + self.steps > MAX_STEPS:
            self.refuse(
                f"the program takes more than {MAX_STEPS:,} interpreter steps (declare fewer records)"
            )
        if self.steps % 64 == 0 and time.monotonic() > self.until:
            self.refuse("the time limit was reached (increase `seconds`, or declare fewer records)")

    def plain(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a function of Python or numpy on plain values, and refuse the program if the call raises.

        Treating the exception as the end of the path would be unsound: it reflects the interpreter's model of
        the call, not the program.
        """
        try:
            found = function(*arguments, **options)
        except Exception as error:
            self.refuse(f"the program raises {type(error).__name__}: {str(error)[:200]}")
        return wrapped(found, arguments)

    # Steps.

    def step(
        self,
        op: str,
        operands: Sequence[Any],
        params: dict[str, Any] | None = None,
        samples: Samples | None = None,
    ) -> Private:
        """Record one operation on private, public and plain values."""
        self.tick()
        params = params or {}
        parts = [self.lift(operand) for operand in operands]
        ids = [part.node for part in parts]
        try:
            node = self.record.node(op, ids, params, self.where)
        except RefusedStepError as error:
            self.refuse(str(error))
        info = self.record.infos[node]
        if node not in self.samples:
            if samples is None:
                samples = [
                    self._computed(op, params, [self.samples[k][side] for k in ids], ids, side)
                    for side in self.worlds.sides
                ]
            if op == "exp":  # the model excludes overflow
                samples = [
                    MISSING if one is MISSING or not np.all(np.isfinite(one)) else one for one in samples
                ]
            self.worlds.check(op, info, samples)
            self.samples[node] = samples
            fixed = op in ("data", "const") or (ids and all(k in self.record.samples for k in ids))
            if fixed and op not in ("order", "row_entry", "row_function", "argbest", "hidden_draw", "sample"):
                self.record.samples[node] = samples
        return Private(node, info, self.samples[node])

    def _computed(self, op: str, params: dict[str, Any], values: list[Any], ids: list[int], side: int) -> Any:
        if op == "reshape":
            return apply(lambda a: _scalar(np.reshape(a, self.worlds.shape(params["shape"], side))), *values)
        if op == "rows":
            return apply(lambda a: a[params["start"] : params["stop"] : params["step"]], *values)
        if op == "part":
            ends = [self.worlds.end(params[name], side) for name in ("start", "stop")]
            return apply(lambda a: _within(a, *ends), *values)
        if op == "pick":
            lead = self.record.infos[ids[0]].records if params["inside"] else 0
            return apply(lambda a: _picked(a, params, lead), *values)
        return apply(lambda *operands: REFERENCE[op](params, *operands), *values)

    def lift(self, value: Any) -> Private:
        """Return a value as a step. Constants and public values become new steps."""
        if isinstance(value, Array):
            value = value.content
        if isinstance(value, Private):
            return value
        if isinstance(value, Entries):
            return self.stacked(value.items, value.kind)
        if isinstance(value, Public):
            if value.shape is None or value.kind is None:
                self.refuse("a released value of unknown shape or type is combined with a private value")
            self.require_finite(value)
            params = {
                "expression": value.expression,
                "shape": value.shape,
                "kind": value.kind,
                "python": value.python,
            }
            return self.step("public", [], params, value.samples)
        if isinstance(value, Filtered):
            self.refuse(
                "a filtered array is used in an operation that depends on its length, which is private"
            )
        if isinstance(value, Transposed):
            self.refuse("a transposed array can only be used in X.T @ Y or X.T @ w")
        if isinstance(value, Symbol):
            self.refuse(
                f"a {type(value).__name__.lower()} value cannot be combined with a private value here"
            )
        return self._constant(value)

    def _constant(self, value: Any) -> Private:
        if type(value) not in NUMBERS and type(value) is not int:
            return self._new_constant(value)
        known = self.record.constants.get((type(value), value))
        if known is None:
            known = self.record.constants[type(value), value] = self._new_constant(value).node
        return Private(
            known, self.record.infos[known], self.samples.setdefault(known, self.record.samples[known])
        )

    def _new_constant(self, value: Any) -> Private:
        plain = np.asarray(value)
        python = not isinstance(value, np.ndarray | np.generic)
        if python and isinstance(value, Fraction):
            plain = np.asarray(float(value))
        if (
            plain.dtype.kind not in "bif"
            or (plain.dtype.kind == "i" and plain.dtype != np.int64)
            or (plain.dtype.kind == "f" and plain.dtype != np.float64)
        ):
            self.refuse(
                f"{type(value).__name__} of dtype {plain.dtype} is combined with a private value (use bool,"
                " int64 or float64)"
            )
        if plain.size > MAX_ENTRIES:
            self.refuse(
                f"a constant array combined with a private value has more than {MAX_ENTRIES:,} entries"
            )
        if not np.all(np.isfinite(plain)):
            self.refuse("an infinity or NaN is combined with a private value")
        if plain.size > FEW_ENTRIES:
            values, real = self._numerators(plain)
        else:
            numbers = [value] if plain.shape == () else plain.ravel().tolist()
            values, real = [str(exact(number)) for number in numbers], None
        params: dict[str, Any] = {
            "values": values,
            "shape": plain.shape,
            "kind": plain.dtype.kind,
            "python": python and plain.shape == (),
        }
        if python and plain.shape != ():
            self.refuse("a list is combined with a private value (use np.array)")
        if real is None:
            real = plain_constant(values, plain.shape, plain.dtype.kind, python=params["python"])
        return self.step("const", [], params, self.worlds.constant(real))

    def _numerators(self, plain: Any) -> tuple[Any, Any]:
        """Return many numbers as integers over one denominator, and the array of these quotients.

        A float stands for the decimal that it prints as.
        """
        flat = plain.ravel()
        if flat.dtype.kind != "f":
            return _over(flat.astype(np.int64).tolist(), 1), plain.copy()
        for places in range(16):
            some = flat[:100]
            if not np.array_equal(np.rint(some * 10.0**places) / 10.0**places, some):
                continue
            # Different decimals of at most 15 digits are different floats, so this is the printed decimal.
            # The quotient of two integers that floats represent exactly is rounded correctly.
            whole = np.rint(flat * 10.0**places)
            real = whole / 10.0**places
            if np.all(np.abs(whole) < 1e15) and np.array_equal(real, flat):
                return _over(whole.astype(np.int64).tolist(), 10**places), real.reshape(plain.shape)
        printed = [Decimal(repr(number)) for number in flat.tolist()]
        least = repr(float(np.abs(flat[flat != 0]).min()))
        places = max(17 - Decimal(least).adjusted(), 0)  # a printed float has at most 17 digits
        if places * plain.size > MAX_DIGITS:
            self.refuse(
                f"a constant array of {plain.size:,} entries has up to {places} decimals per entry (round it)"
            )
        numerators, over = [int(number.scaleb(places)) for number in printed], 10**places
        return _over(numerators, over), np.array([n / over for n in numerators]).reshape(plain.shape)

    def require_finite(self, value: Public) -> None:
        """Refuse a public value that is not finite for every size and all outcomes."""
        bad = [
            one for one in value.samples if one is not MISSING and not np.all(np.isfinite(np.asarray(one)))
        ]
        if bad or not is_finite(self.s, value.expression, self.continuous):
            self.refuse(
                "a released value or size that may be infinite or NaN is combined with a private value (clip"
                " it, and divide by max(x, 1) instead of x)"
            )

    def stacked(self, items: Sequence[Any], kind: str) -> Private:
        """Return values of the same shape, stacked along a new first axis."""
        return self.step("stack", list(items), {"kind": kind})

    def whole_column(self, value: Any) -> Private | None:
        """Return the column whose entries are the items of a list in order, or None.

        Both have the same numbers, so an array of the list is the column.
        """
        if isinstance(value, Listed):
            return value.column
        items = value if isinstance(value, list | tuple) else ()
        places = [self.record.entries.get(item.node) if isinstance(item, Private) else None for item in items]
        first = places[0] if places else None
        if first is None or places != [(first[0], k) for k in range(len(places))]:
            return None
        info = self.record.infos[first[0]]
        whole = info.records == 1 and info.shape == (len(places),)
        return Private(first[0], info, self.samples[first[0]]) if whole else None

    def value(self, private: Private) -> Any:
        """Return a step as a program value: a number, or a new array in memory."""
        return private if private.shape == () else Array(private)

    def verify(self, result: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compare a result with the program's own call on the sample data.

        Raises
        ------
        BrokenHarnessError
            The call raises, or its value differs.
        """
        inner = result.content if isinstance(result, Array) else result
        key = (
            (inner.node, self.where)
            if isinstance(inner, Private) and inner.node in self.record.samples
            else None
        )
        if key is not None and key in self.record.verified:
            return result
        for side in self.worlds.sides:
            mine = self.sample(result, side)
            given = [self.sample(argument, side) for argument in arguments]
            if mine is MISSING or any(_has_missing(one) for one in given):
                continue
            real = _called(function, given)
            if isinstance(real, Exception):
                raise BrokenHarnessError(
                    f"{self.where}: the interpreter followed a call that raises {type(real).__name__}:"
                    f" {real}. Please report this as a bug of dpaudit.",
                    code="E-INTERPRETER-RAISES",
                )
            if real is not MISSING and not same(real, mine):
                raise BrokenHarnessError(
                    f"{self.where}: the interpreter computed {mine!r:.200}, the program {real!r:.200}. Please"
                    " report this as a bug of dpaudit.",
                    code="E-INTERPRETER-DIFFERS",
                )
        if key is not None:
            self.record.verified.add(key)
        return result

    def sample(self, value: Any, side: int) -> Any:
        """Return the value on one side of the sample worlds."""
        if isinstance(value, Array):
            return self.sample(value.content, side)
        if isinstance(value, Series):
            return self.sample(value.value, side)
        if isinstance(value, Private | Public | Draw | Coin | Choice | Uniform | Sample | Response | Turned):
            return value.samples[side]
        if isinstance(value, Text):
            return value.sample(side)
        if isinstance(value, Listed):
            return value.column.samples[side].tolist()
        if isinstance(value, Entries):
            return apply(lambda *items: np.array(items), *[self.sample(item, side) for item in value.items])
        if isinstance(value, Filtered):
            return apply(lambda a, m: a[m], value.base.samples[side], value.mask.samples[side])
        if isinstance(value, Transposed):
            return apply(np.transpose, value.base.samples[side])
        if isinstance(value, Noisy):
            if value.released is not None:
                return self.sample(value.released, side)
            total = self.sample(value.base, side)
            for factor, draw, entry in value.terms:
                noise = draw.samples[side] if entry is None else draw.samples[side][entry]
                times = 1 if factor == 1 else float(factor)  # so that integer noise stays an integer
                total = apply(lambda a, n, f=times: a + f * n, total, noise)
            return total
        if isinstance(value, Scaled) and value.released is not None:
            return self.sample(value.released, side)
        if isinstance(value, Correlated):
            return self._sample_of_correlated(value, side)
        if isinstance(value, list | tuple):
            return type(value)(self.sample(item, side) for item in value)
        if isinstance(value, Symbol):
            return MISSING
        return value

    def _sample_of_correlated(self, value: Correlated, side: int) -> Any:
        if value.released is not None:
            return self.sample(value.released, side)
        used = {number for one in value.noise.flat for number, _ in one.terms}
        drawn = {number: np.ravel(self.draws[number].samples[side]) for number in used}
        noise = np.zeros(value.shape)
        for place, one in enumerate(value.noise.flat):
            noise.flat[place] = sum(drawn[n][k] * float(factor) for (n, k), factor in one.terms.items())
        base = self.sample(value.base, side)
        return apply(lambda a: a + (noise if noise.shape else float(noise)), base)

    # Noise, outcomes and output.

    def event(self, text: str) -> None:
        """Add an event to the path."""
        self.walk._event(("show", text))

    def new_draw(self, distribution: str, scale: Any, shape: Sequence[Any], *, python: bool) -> Draw:
        """Record a draw of noise. ``scale`` is a public expression that must be provably positive."""
        try:
            positive = drawn_of(self.s, distribution, scale, tuple(shape)).scale
        except RefusedStepError as error:
            self.refuse(str(error))
        number = len(self.draws)
        samples: Samples = []
        for pair in range(0, len(self.worlds.sizes), 2):
            sizes = [self.worlds.shape(shape, pair + k) for k in (0, 1)]
            drawn = self.rng.normal(size=sizes[0]) if sizes[0] else float(self.rng.normal())
            other = drawn if sizes[1] == sizes[0] else self.rng.normal(size=sizes[1])
            samples += [drawn, other]
        if isinstance(scale, dict) or distribution.startswith("discrete-"):  # integer noise
            samples = [
                int(np.rint(one)) if np.ndim(one) == 0 else np.rint(one).astype(np.int64) for one in samples
            ]
        if distribution == "exponential":
            samples = [abs(one) for one in samples]
        draw = Draw(number, distribution, scale, positive, tuple(shape), samples, python)
        self.draws.append(draw)
        self.event(f"draw {number} {self.record.draw(distribution, scale, shape)}")
        return draw

    def take(self, draw: Draw, entry: int | None) -> None:
        """Mark an entry of a draw, or the whole draw, as used by a release."""
        if not draw.free(entry):
            self.record.combines |= draw.distribution == "gaussian"
            self.refuse("one noise draw is used twice (draw new noise for each release)")
        draw.used.add(entry)

    def released(
        self,
        release: dict[str, Any],
        info: Info,
        *,
        shape: Sequence[Any],
        kind: str,
        samples: Samples,
        python: bool,
        count: int | None = None,
    ) -> Public:
        """Record a release, check that it has a finite cost, and return its outcome, equal on both sides."""
        drawn = [drawn_of(self.s, d.distribution, d.scale, d.shape) for d in self.draws]
        try:
            cost_of(self.s, self.record.infos, [release], drawn)
        except RefusedStepError as error:
            self.refuse(str(error))
        number = self.record.release(release)
        self.event(f"release {number}")
        if "tests" in info.facts and not self.repeating:  # a question may compare its outcome
            self.event(f"test {number} {self.outcomes + 1}")
        return self.outcome(shape=shape, kind=kind, samples=samples, python=python, count=count)

    def outcome(
        self, *, shape: Sequence[Any], kind: str, samples: Samples, python: bool, count: int | None = None
    ) -> Public:
        """Return a new public outcome. Both sides get the sample value of x."""
        self.outcomes += 1
        if kind == "f":
            self.continuous.add(self.outcomes)
        forced = [samples[side - side % 2] for side in self.worlds.sides]
        if self.s.length_is_private or self.s.size is None:
            forced = [
                samples[side] if np.shape(samples[side]) != np.shape(forced[side]) else forced[side]
                for side in self.worlds.sides
            ]
        return Public(["outcome", self.outcomes], tuple(shape), kind, forced, python, count)

    def chosen(self, count: int, chances: Any) -> Public:
        """Return the outcome of a choice among ``count`` options with public probabilities."""
        samples = [apply(lambda u: np.int64(u * count), float(self.rng.random())) for _ in self.worlds.sides]
        return self.outcome(shape=(), kind="i", samples=samples, python=False, count=count)

    def hidden_symbol(self, draw: Draw, entry: int | None) -> str:
        """Return the symbol that stands for a hidden scalar draw in comparisons."""
        if entry not in draw.hidden:
            if not draw.free(entry):
                self.refuse("one noise draw is used twice (draw new noise for each release)")
            number = draw.positive.number
            if draw.distribution not in ("laplace", "exponential", "gaussian") or number is None:
                self.refuse(
                    f"{draw.distribution} noise is hidden in a comparison (only Laplace, exponential and"
                    " Gaussian noise of constant scale can be)"
                )
            self.event(f"hidden {draw.number} {entry or 0}")
            self.walk.hidden(SimpleNamespace(name=draw.distribution, scale=number))  # type: ignore[arg-type]
            draw.hidden[entry] = self.walk.draws[-1].symbol
        return draw.hidden[entry]

    def form(self, value: Any) -> Form:
        """Return a scalar as a linear form over nodes and hidden draws, with sums and multiples expanded."""
        if isinstance(value, Draw):
            return Form({self.hidden_symbol(value, None): Fraction(1)})
        if isinstance(value, Noisy):
            found = self.form(value.base)
            for factor, draw, entry in value.terms:
                found = found.plus(Form({self.hidden_symbol(draw, entry): factor}))
            return found
        if not isinstance(value, Symbol):
            return Form({}, exact(value))
        lifted = self.lift(value)
        return self._node_form(lifted.node)

    def _node_form(self, start: int) -> Form:
        found, pending = Form({}), [(start, Fraction(1))]
        while pending:
            node, factor = pending.pop()
            op, ids, _ = self.record.nodes[node]
            infos = [self.record.infos[k] for k in ids]
            info = self.record.infos[node]
            number = info.constant.number if info.constant is not None else None
            if number is not None:
                found = found.moved(factor * number)
            elif op in ("add", "sub") and all(i.shape == () for i in infos):
                pending += [(ids[0], factor), (ids[1], factor if op == "add" else -factor)]
            elif op == "neg":
                pending.append((ids[0], -factor))
            elif op == "cast" and info.kind != "b":
                pending.append((ids[0], factor))
            elif (
                op in ("mul", "div")
                and all(i.shape == () for i in infos)
                and (scaled := _scaled(op, ids, infos))
            ):
                pending.append((scaled[0], factor * scaled[1]))
            else:
                found = found.plus(Form({f"x{node}": factor}))
        return found

    def is_certain(self, expression: Any) -> bool | None:
        """Return the answer of a comparison if it is the same for every size, and None otherwise."""
        kind, left, right = expression
        a, b = polynomial(self.s, left), polynomial(self.s, right)
        if not (a.symbols | b.symbols) <= {"N"}:  # ``x == x`` is false if x is NaN
            return None
        return _decided(self.s, kind, a, b)


def wrapped(found: Any, arguments: Sequence[Any] = ()) -> Any:
    """Wrap the arrays in a result as separate places in memory, and mark views of an argument as shared."""
    if isinstance(found, np.ndarray):
        shared = found.base is not None or any(found is argument for argument in arguments)
        return Array(found, shared)
    if type(found) in (list, tuple) and any(isinstance(item, np.ndarray) for item in found):
        return type(found)(wrapped(item, arguments) for item in found)
    return found


def _decided(s: Setting, kind: str, a: Poly, b: Poly) -> bool | None:
    if kind in ("gt", "ge"):
        return _decided(s, {"gt": "lt", "ge": "le"}[kind], b, a)
    difference = a - b
    most, least = s.largest(difference), s.largest(-difference)
    if kind == "lt":
        return True if most is not None and most < 0 else False if s.at_most(b, a) else None
    if kind == "le":
        return True if s.at_most(a, b) else False if least is not None and least < 0 else None
    apart = (most is not None and most < 0) or (least is not None and least < 0)
    equal = difference == 0
    return None if not apart and not equal else equal == (kind == "eq")


def _scaled(op: str, ids: Sequence[int], infos: Sequence[Info]) -> tuple[int, Fraction] | None:
    for place in (1, 0) if op == "mul" else (1,):
        known = infos[place].constant
        number = known.number if known is not None else None
        if number is not None and number != 0:
            return ids[1 - place], number if op == "mul" else 1 / number
    return None


def _scalar(array: Any) -> Any:
    return array if array.shape else array[()]


def _within(a: Any, start: int | None, stop: int | None) -> Any:
    """Return a copy of the array with 0 in all rows but those from start to stop."""
    found = np.zeros_like(a)
    found[start:stop] = a[start:stop]
    return found


def _picked(a: Any, params: dict[str, Any], lead: int) -> Any:
    array = np.asarray(a)
    rows = array.reshape(*array.shape[:lead], -1)
    return _scalar(rows[..., list(params["places"])].reshape(*array.shape[:lead], *params["shape"]))


def _over(numerators: list[int], over: int) -> dict[str, Any]:
    return {"numerators": " ".join(map(str, numerators)), "over": over}


def _has_missing(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_missing(item) for item in value)
    return value is MISSING


def _called(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    try:
        return function(*arguments)
    except ArithmeticError:
        return MISSING
    except (IndexError, TypeError, ValueError, AttributeError) as error:
        return error


__all__ += ["text_of", "wrapped"]
