"""Prove left <= right for all parameters of a range: ``prove_inequality``.

The function runs on symbols, once for each of its paths (``trace``). Its expression is compared with the
function at points of the range (``agreement``). The search splits the range into boxes (``search``), and the
kernel checks the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from dpaudit.certify.ranges import Range
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.inequalities.check import FORMAT, PROOF, check_inequality
from dpaudit.kernel.inequalities.check import Traced as About
from dpaudit.kernel.inequalities.domain import Integers
from dpaudit.kernel.inequalities.leaf import Condition
from dpaudit.prover.inequalities.agreement import first_difference, is_false
from dpaudit.prover.inequalities.search import Budget, SideFound, prove_side
from dpaudit.prover.inequalities.symbols import Decision, NotTraceableError
from dpaudit.prover.inequalities.trace import Path, Traced, trace

__all__ = ["BOXES", "SECONDS", "InequalityResult", "prove_inequality"]

SECONDS = 60.0
BOXES = 20_000

Verdict = Literal["proved", "false", "undecided", "not traceable"]


@dataclass(frozen=True, kw_only=True)
class InequalityResult:
    """What is known of an inequality on a range.

    Parameters
    ----------
    verdict : str
        "proved" on the whole range, "false" at the point ``at``, "undecided", or "not traceable".
    over : Range
        The range.
    at : Mapping
        For "false": the point, with exact numbers.
    box : Mapping
        For "undecided": the box at which the search ended, as text by parameter.
    name : str
        The inequality that is false or undecided, if the function states several.
    why : str
        For "not traceable" and "undecided": the reason, if there is one beside the box.
    boxes : int
        The number of boxes that the search examined.
    evidence : dict or None
        For "proved": what ``dpaudit.kernel.inequalities.check`` checks, as JSON.
    """

    verdict: Verdict
    over: Range
    at: Mapping[str, Any] = field(default_factory=dict)
    box: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    why: str = ""
    boxes: int = 0
    evidence: dict[str, Any] | None = None

    def __str__(self) -> str:
        """Return verdict, inequality and place in one line."""
        place = ", ".join(f"{name} = {value}" for name, value in self.at.items())
        place = place or ", ".join(f"{name} in {text}" for name, text in self.box.items())
        parts = [f"{self.name}: " if self.name else "", self.verdict, f" at {place}" if place else ""]
        return "".join([*parts, f": {self.why}" if self.why else ""])


def prove_inequality(
    function: Callable[..., Any],
    *,
    over: Range,
    given: Callable[..., Any] | None = None,
    cuts: Mapping[str, str] | None = None,
    chain: Sequence[Callable[..., Any]] | None = None,
    fixed: Mapping[str, Any] | None = None,
    stated: Any = None,
    grid: Sequence[Mapping[str, Any]] = (),
    seconds: float = SECONDS,
    boxes: int = BOXES,
) -> InequalityResult:
    """Prove that the first side of ``function`` is at most its second side, on a whole range.

    Parameters
    ----------
    function : callable
        It takes the parameters by name and returns ``(left, right)``, or a dictionary of such pairs. It may
        compute with exact numbers and balls, call helpers that do so, and branch on ``<`` and ``<=``.
    over : Range
        The range, made by ``on``.
    given : callable, optional
        A function of the parameters that returns a comparison, or a tuple of them. The inequality is claimed
        only where they are true.
    cuts : Mapping, optional
        Inner points at which both sides are equal, as text by parameter: ``{"x": "1 2"}``.
    chain : sequence of callables, optional
        Functions of the parameters for terms between both sides.
    fixed : Mapping, optional
        Further parameters of ``function`` with one exact value.
    stated : type, optional
        A class of sides that are not claimed.
    grid : sequence of Mapping, optional
        Points at which the function is compared with its expression, besides random ones.
    seconds : float
        The processor time for the search.
    boxes : int
        The largest number of boxes for each piece of the range.

    Returns
    -------
    InequalityResult
        The verdict with its point, box, reason or evidence. A "proved" result was checked by the kernel.

    Raises
    ------
    InvalidParameterError
        ``seconds`` or ``boxes`` is not positive, or a cut is not on a range of real numbers.
    """
    if not (seconds > 0 and boxes > 0):
        raise InvalidParameterError(
            f"seconds and boxes must be positive, got {seconds} and {boxes}.", code="E-BUDGET-RANGE"
        )
    over = over.cut(**(cuts or {})).through(*(chain or ()))
    over = over.where(given) if given is not None else over
    fixed = dict(fixed or {})
    try:
        traced = list(trace(function, over, fixed=fixed, stated=stated))
        differs = first_difference(function, over, traced, fixed=fixed, grid=grid)
    except NotTraceableError as error:
        return InequalityResult(verdict="not traceable", over=over, why=str(error))
    if differs:
        return InequalityResult(verdict="not traceable", over=over, why=differs)
    try:
        return _searched(function, over, traced, fixed, Budget(seconds=seconds, boxes=boxes))
    except RecursionError:
        return InequalityResult(verdict="undecided", over=over, why="its expression is nested too deeply")


def _searched(
    function: Callable[..., Any],
    over: Range,
    traced: Sequence[Traced],
    fixed: Mapping[str, Any],
    budget: Budget,
) -> InequalityResult:
    used, made = 0, []
    for one in traced:
        paths = []
        for path in one.paths:
            about = About(one.table, one.real, _conditions(one, path), path.sides)
            proofs = []
            for name, (left, right) in path.sides.items():
                found = prove_side(about, name, over.axes, budget)
                used += found.boxes
                if found.trees is None:
                    stopped = _stopped(function, over, one, path, found, fixed)
                    return InequalityResult(over=over, name=name, boxes=used, **stopped)
                proofs.append(
                    {"name": name, "left": left, "right": right, "near": found.near, "trees": found.trees}
                )
            paths.append({"conditions": [list(each) for each in path.conditions], "sides": proofs})
        made.append(
            {
                "values": dict(one.values),
                "nodes": one.table.to_json(),
                "given": [list(each[:3]) for each in one.given],
                "paths": paths,
            }
        )
    evidence = {
        "proof": PROOF,
        "format": FORMAT,
        "range": {name: axis.to_json() for name, axis in over.axes.items()},
        "combinations": made,
    }
    check_inequality(evidence)
    return InequalityResult(verdict="proved", over=over, boxes=used, evidence=evidence)


def _conditions(one: Traced, path: Path) -> tuple[Condition, ...]:
    every: tuple[Decision, ...] = (*one.given, *path.conditions)
    return tuple(Condition(*each) for each in every)


def _stopped(
    function: Callable[..., Any],
    over: Range,
    one: Traced,
    path: Path,
    found: SideFound,
    fixed: Mapping[str, Any],
) -> dict[str, Any]:
    """Return verdict, place and reason of a search that ended without a proof.

    A point is false only if it is in the range, with whole numbers for integers, and if the function itself
    says so there.
    """
    if found.at is None:
        single = {name: str(value) for name, value in one.single.items()}
        return {"verdict": "undecided", "box": {**single, **found.stuck}}
    whole = {name for name, axis in over.axes.items() if isinstance(axis, Integers)}
    at = {**one.single, **{name: _as_called(value, name in whole) for name, value in found.at.items()}}
    shown = ", ".join(f"{name} = {value}" for name, value in at.items())
    if path.raises:
        return {"verdict": "undecided", "why": f"the function raises {path.raises} at {shown}"}
    if not over.holds(at):
        return {"verdict": "undecided", "why": f"it is false outside the range, at {shown}"}
    if not is_false(function, {**at, **fixed}):
        return {"verdict": "undecided", "why": f"its expression is false at {shown}"}
    return {"verdict": "false", "at": at}


def _as_called(value: Fraction, whole: bool) -> int | Fraction:
    return int(value) if whole and value.denominator == 1 else value
