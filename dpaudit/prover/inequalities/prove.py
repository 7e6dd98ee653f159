"""Prove left <= right for all parameters of a range: ``prove_inequality``.

The function runs once on symbols for each of its paths (``trace``). The search splits the range into boxes
(``search``), and the kernel checks the whole proof again. At points of the range the function also runs on
numbers, and its sides must lie in the enclosures of the traced expressions.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact
from dpaudit.kernel.ball import arb, ball, precision
from dpaudit.kernel.inequalities.check import FORMAT, PROOF, Traced, check_inequality
from dpaudit.kernel.inequalities.domain import (
    REAL,
    Choices,
    Integers,
    Parameter,
    Reals,
    combinations,
    real_range,
)
from dpaudit.kernel.inequalities.evaluate import nonnegative_nodes, values
from dpaudit.kernel.inequalities.interval import Interval
from dpaudit.kernel.inequalities.leaf import Condition
from dpaudit.prover.inequalities.search import Budget, prove_side
from dpaudit.prover.inequalities.symbols import NotTraceableError, Path
from dpaudit.prover.inequalities.trace import TracedPath, code_of, conditions_of, traced

__all__ = [
    "InequalityResult",
    "Range",
    "choices",
    "integers",
    "on",
    "prove_inequality",
    "reals",
    "trace_evidence",
]

SECONDS = 60.0
BOXES = 20_000
#: Random points of each combination at which the traced expression is compared with the function.
POINTS = 16
BITS = 128

Verdict = Literal["proved", "false", "undecided", "not traceable"]
Given = Callable[..., Any]


@dataclass(frozen=True)
class Range:
    """The range of every parameter of an inequality (``on``)."""

    parameters: Mapping[str, Parameter]
    choices: Mapping[str, Mapping[str, Any]]

    @property
    def words(self) -> str:
        """The range as text, such as ``all m >= 1, 0 < epsilon <= 1``."""
        return f"all {', '.join(_in_words(name, each) for name, each in self.parameters.items())}"


def reals(
    lo: ExactLike | None, hi: ExactLike | None, ends: str = "[]", *, cuts: Sequence[ExactLike] = ()
) -> Reals:
    """Return the real numbers from ``lo`` to ``hi``.

    Parameters
    ----------
    lo, hi : exact number or None
        The ends. None is infinite.
    ends : str
        "[" or "(" and "]" or ")": whether the ends belong to the range. An infinite end is open.
    cuts : sequence of exact numbers
        Points inside at which both sides are equal. The search splits there first.

    Raises
    ------
    InvalidParameterError
        ``ends`` are no brackets, or ``lo`` is not below ``hi``.
    """
    if not re.fullmatch(r"[\[(][\])]", ends):
        raise InvalidParameterError(f"ends must be such as '[)' , got {ends!r}.", code="E-RANGE-ENDS")
    low, high = (None if end is None else exact(end) for end in (lo, hi))
    if low is not None and high is not None and (low > high or (low == high and ends != "[]")):
        raise InvalidParameterError(
            f"a range must have lo below hi, got {lo} and {hi}.", code="E-RANGE-EMPTY"
        )
    return Reals(
        low,
        high,
        open_lo=ends[0] == "(" or low is None,
        open_hi=ends[1] == ")" or high is None,
        cuts=tuple(exact(cut) for cut in cuts),
    )


def integers(lo: int, hi: int | None = None, *, each: int | None = None) -> Integers:
    """Return the integers from ``lo`` to ``hi``, None for no end.

    Up to ``each`` they are taken one by one, as Python integers. Beyond, the inequality is proved for all real
    numbers from there on, which is a stronger claim.

    Raises
    ------
    InvalidParameterError
        ``hi`` is below ``lo``.
    """
    if hi is not None and hi < lo:
        raise InvalidParameterError(
            f"a range must have lo below hi, got {lo} and {hi}.", code="E-RANGE-EMPTY"
        )
    return Integers(lo, hi, each)


@dataclass(frozen=True)
class _Values:
    values: tuple[Any, ...]


def choices(*values: Any) -> _Values:
    """Return a list of values, each of which is taken by itself.

    Raises
    ------
    InvalidParameterError
        There is no value, or two have the same text.
    """
    if not values or len({str(value) for value in values}) < len(values):
        raise InvalidParameterError(
            f"choices must be different values, at least one, got {values}.", code="E-RANGE-EMPTY"
        )
    return _Values(values)


def on(**parameters: Any) -> Range:
    """Return the range of each parameter: ``on(m=integers(1), epsilon=reals(0, 1, "(]"))``.

    Raises
    ------
    InvalidParameterError
        A parameter's range is not made by ``reals``, ``integers`` or ``choices``.
    """
    found: dict[str, Parameter] = {}
    named: dict[str, dict[str, Any]] = {}
    for name, each in parameters.items():
        if isinstance(each, _Values):
            named[name] = {f"value {value}": value for value in each.values}
            found[name] = Choices(tuple(map(str, each.values)))
        elif isinstance(each, Reals | Integers):
            found[name] = each
        else:
            raise InvalidParameterError(
                f"a range must be reals(...), integers(...) or choices(...), got {each!r} for {name!r}.",
                code="E-RANGE-KIND",
            )
    return Range(found, named)


@dataclass(frozen=True, kw_only=True)
class InequalityResult:
    """What was found of an inequality on a range.

    Parameters
    ----------
    verdict : str
        "proved" on the whole range, "false" at the point ``at``, "undecided", or "not traceable".
    range : Range
        The range.
    at : dict
        For "false": a point, exact. For "undecided": the box at which the search stopped, as text.
    name : str
        The inequality, if the function states several.
    why : str
        For "not traceable", and for "undecided" if the traced expression differs from the function: the reason.
    evidence : dict or None
        For "proved": what ``dpaudit.kernel`` checks again, as JSON.
    boxes : int
        The number of boxes.
    """

    verdict: Verdict
    range: Range
    at: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    why: str = ""
    evidence: Mapping[str, Any] | None = None
    boxes: int = 0


def prove_inequality(
    function: Callable[..., Any],
    *,
    over: Range,
    given: Given | None = None,
    fixed: Mapping[str, Any] | None = None,
    seconds: float = SECONDS,
    boxes: int = BOXES,
    grid: Sequence[Mapping[str, Any]] = (),
) -> InequalityResult:
    """Prove that ``function``'s first side is at most its second, for all parameters of a range.

    Parameters
    ----------
    function : callable
        It takes the parameters by name and returns (left, right), or a dictionary of such pairs. It computes with
        +, -, \\*, /, powers, ``Fraction``, ``ball``, ``ln``, ``log2``, min, max, abs and the methods exp, log,
        sqrt, cosh, sinh, tanh, atanh, erfc, ceil and floor of balls, and may branch on <, <=, > and >=.
    over : Range
        The range of each parameter, from ``on``.
    given : callable, optional
        Takes the parameters by name and returns a comparison, or a tuple of comparisons: the inequality is claimed
        only where they hold.
    fixed : dict, optional
        Further arguments of the function, with one value each.
    seconds, boxes : float, int
        The search ends after this time, or after this number of boxes for a part of the range.
    grid : sequence of dict
        Further points, by name, at which the function is compared with its expression.

    Returns
    -------
    InequalityResult
        "proved", "false" at a point, "undecided" or "not traceable".

    Raises
    ------
    InvalidParameterError
        ``seconds`` or ``boxes`` is not positive.
    """
    if not (seconds > 0 and boxes > 0):
        raise InvalidParameterError(
            f"seconds and boxes must be positive, got {seconds} and {boxes}.", code="E-BUDGET-RANGE"
        )
    try:
        each = list(_combinations(function, over, given, fixed or {}))
        differs = _first_difference(function, over, each, grid)
    except NotTraceableError as error:
        return InequalityResult(verdict="not traceable", range=over, why=str(error))
    if differs:
        return InequalityResult(verdict="undecided", range=over, why=differs)
    return _searched(function, over, each, Budget(seconds=seconds, boxes=boxes))


@dataclass(frozen=True)
class _Combination:
    """One combination of single values: the arguments, and the paths that were traced."""

    values: Mapping[str, str]
    path: Path
    fixed: Mapping[str, Any]
    real: Mapping[str, Reals]
    given: Sequence[tuple[int, int, bool]]
    paths: Sequence[TracedPath]
    whole: frozenset[str]

    def numbers(self, point: Mapping[str, Fraction]) -> dict[str, int | Fraction]:
        """Return a point as the function is called with it: integer parameters as integers."""
        return {name: int(x) if name in self.whole else x for name, x in point.items()}

    def on_path(self, one: TracedPath) -> Traced:
        conditions = [Condition(a, b, strict, True) for a, b, strict in self.given]
        conditions += [Condition(*each) for each in one.conditions]
        sides = {name: (left, right) for name, left, right in one.sides}
        return Traced(self.path.table, tuple(self.real), tuple(conditions), sides)

    def to_json(self, paths: Sequence[Any]) -> dict[str, Any]:
        return {
            "values": dict(self.values),
            "nodes": self.path.table.to_json(),
            "given": [list(each) for each in self.given],
            "paths": list(paths),
        }


def _combinations(
    function: Callable[..., Any], over: Range, given: Given | None, constants: Mapping[str, Any]
) -> Iterator[_Combination]:
    for values_ in combinations(over.parameters):
        path = Path()
        fixed: dict[str, Any] = dict(constants)
        real: dict[str, Reals] = {}
        arguments: dict[str, Any] = dict(constants)
        for name, text in values_.items():
            if text == REAL:
                arguments[name] = path.symbol("v", len(real))
                real[name] = real_range(over.parameters[name])
            else:
                arguments[name] = fixed[name] = (
                    over.choices[name][text] if name in over.choices else int(text)
                )
        stated = conditions_of(given, path, arguments) if given else []
        whole = frozenset(name for name in real if isinstance(over.parameters[name], Integers))
        yield _Combination(values_, path, fixed, real, stated, traced(function, path, arguments), whole)


def _searched(
    function: Callable[..., Any], over: Range, each: Sequence[_Combination], budget: Budget
) -> InequalityResult:
    used, made = 0, []
    for combination in each:
        paths = []
        for one in combination.paths:
            about = combination.on_path(one)
            proofs = []
            for name, (left, right) in about.sides.items():
                found = prove_side(about, name, over.parameters, budget)
                used += found.boxes
                if found.at is not None:
                    at = {**combination.fixed, **found.at}
                    return InequalityResult(verdict="false", range=over, at=at, name=name, boxes=used)
                if found.trees is None:
                    at = {**combination.fixed, **found.stuck}
                    return InequalityResult(verdict="undecided", range=over, at=at, name=name, boxes=used)
                proofs.append(
                    {"name": name, "left": left, "right": right, "near": found.near, "trees": found.trees}
                )
            paths.append({"conditions": [list(c) for c in one.conditions], "sides": proofs})
        made.append(combination.to_json(paths))
    evidence = _evidence(function, over, made)
    check_inequality(evidence)  # the kernel, on what was written
    return InequalityResult(verdict="proved", range=over, evidence=evidence, boxes=used)


def _evidence(function: Callable[..., Any], over: Range, made: Sequence[Any]) -> dict[str, Any]:
    return {
        "proof": PROOF,
        "format": FORMAT,
        "range": {name: each.to_json() for name, each in over.parameters.items()},
        "combinations": list(made),
        "source": {
            "module": str(getattr(function, "__module__", "")),
            "function": str(getattr(function, "__qualname__", "")),
            "code": code_of(function),
        },
    }


def trace_evidence(
    function: Callable[..., Any],
    *,
    over: Range,
    given: Given | None = None,
    fixed: Mapping[str, Any] | None = None,
) -> list[tuple[Any, Any, Any]]:
    """Return the nodes, given conditions and paths of each combination, as they stand in evidence.

    With the function at hand they are compared with those of a proof. Raises ``NotTraceableError``.
    """
    found = []
    for each in _combinations(function, over, given, fixed or {}):
        paths = [
            ([list(c) for c in one.conditions], [[name, left, right] for name, left, right in one.sides])
            for one in each.paths
        ]
        found.append((each.path.table.to_json(), [list(c) for c in each.given], paths))
    return found


# The function against its expression


def _first_difference(
    function: Callable[..., Any], over: Range, each: Sequence[_Combination], grid: Sequence[Mapping[str, Any]]
) -> str:
    """Return where the function's sides are not in the enclosures of the traced expression, or an empty text.

    Raises ``NotTraceableError`` if the function could be called at no point of the range.
    """
    rng = random.Random(20_000)
    shown = each if len(each) <= POINTS else [each[i] for i in sorted(rng.sample(range(len(each)), POINTS))]
    points = [(one, point) for one in shown for point in _points(over, one.real, rng)]
    points += [(one, point) for one in each for point in _on_grid(one, grid)]
    called, raised = 0, ""
    for one, point in points:
        try:
            found = _difference(function, one, point)
        except NotTraceableError as error:
            raised = raised or str(error)
            continue
        if found:
            return found
        called += 1
    if points and not called:
        raise NotTraceableError(raised)
    return ""


def _points(over: Range, real: Mapping[str, Reals], rng: random.Random) -> Iterator[dict[str, Fraction]]:
    """Yield random points of the real parameters, every second one of whole numbers where there are some."""
    for k in range(POINTS if real else 1):
        point = {}
        for name, span in real.items():
            value = _random_point(span, rng)
            whole = Fraction(math.ceil(value))
            if isinstance(over.parameters[name], Integers) or (k % 2 and _is_inside(whole, span)):
                value = whole
            point[name] = value
        yield point


def _on_grid(one: _Combination, grid: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Fraction]]:
    """Yield the points of a grid that belong to a combination of values and lie in the range."""
    for point in grid:
        fixed = all(point.get(name, value) == value for name, value in one.fixed.items())
        if fixed and all(_is_inside(Fraction(point[name]), span) for name, span in one.real.items()):
            yield {name: Fraction(point[name]) for name in one.real}


def _is_inside(value: Fraction, span: Reals) -> bool:
    above = span.lo is None or (value > span.lo if span.open_lo else value >= span.lo)
    below = span.hi is None or (value < span.hi if span.open_hi else value <= span.hi)
    return above and below


def _random_point(span: Reals, rng: random.Random) -> Fraction:
    """Return an exact number inside, of any order of magnitude if the range has no end."""
    share = Fraction(rng.randrange(1, 1000), 1000)
    lo, hi = span.lo, span.hi
    far = Fraction(2) ** rng.randrange(-6, 12) * share
    if lo is None and hi is None:
        return far if rng.random() < 0.5 else -far
    if hi is None:
        return Fraction(lo or 0) + far
    return hi - far if lo is None else lo + (hi - lo) * share


def _difference(function: Callable[..., Any], each: _Combination, point: Mapping[str, Fraction]) -> str:
    """Return a text if a side of the function is not in the enclosure of its expression at a point.

    Raises ``NotTraceableError`` if the function raises there.
    """
    box = [(x, x) for x in point.values()]
    table = each.path.table
    with precision(BITS):
        value = values(table, box, nonnegative_nodes(table, box), range(len(table.nodes)))
        if any(value[b] < value[a] for a, b, _ in each.given):
            return ""
        own = _own_sides(function, {**each.fixed, **each.numbers(point)})
        for one in each.paths:
            if any(value[b] < value[a] if want else value[a] < value[b] for a, b, _, want in one.conditions):
                continue
            for name, left, right in one.sides:
                for i, side in zip((left, right), own.get(name, (None, None)), strict=True):
                    if side is None or not _meet(value[i], side):
                        return f"the function and its expression differ at {_shown({**each.fixed, **point})}."
            break
    return ""


def _own_sides(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the sides of the function at exact numbers.

    Balls cannot be added to a ``Fraction``, so whole numbers are tried as integers if that fails.
    """
    try:
        try:
            found = function(**arguments)
        except TypeError:
            found = function(**{name: _whole(value) for name, value in arguments.items()})
    except Exception as error:
        raise NotTraceableError(
            f"at {_shown(arguments)} the function raises {type(error).__name__}: {str(error)[:120]}"
        ) from error
    named = found if isinstance(found, dict) else {"": found}
    return {str(name): tuple(each) for name, each in named.items() if isinstance(each, tuple)}


def _whole(value: Any) -> Any:
    return int(value) if type(value) is Fraction and value.denominator == 1 else value


def _meet(enclosure: Interval, side: Any) -> bool:
    if not isinstance(side, arb | int | Fraction):
        return False
    own = Interval.around(side if isinstance(side, arb) else ball(Fraction(side)))
    return enclosure.finite and own.finite and not own < enclosure and not enclosure < own


def _shown(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in point.items()) or "no parameters"


def _in_words(name: str, each: Parameter) -> str:
    if isinstance(each, Choices):
        return f"{name} in {{{', '.join(each.values)}}}"
    if isinstance(each, Integers):
        end = "" if each.hi is None else f" <= {each.hi}"
        return f"integers {each.lo} <= {name}{end}" if end else f"integers {name} >= {each.lo}"
    low = "" if each.lo is None else f"{each.lo} {'<' if each.open_lo else '<='} "
    high = "" if each.hi is None else f" {'<' if each.open_hi else '<='} {each.hi}"
    if not low and not high:
        return f"real {name}"
    if not high:
        return f"{name} {'>' if each.open_lo else '>='} {each.lo}"
    return f"{low}{name}{high}"
