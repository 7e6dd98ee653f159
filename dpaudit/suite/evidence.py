"""Define rows whose function collects the evidence: certificates, witnesses or measured numbers.

    @evidence(rows, "T6P", "Theorem 6", claim=CLAIM)
    def local(run: Run) -> list[Evidence]:
        \"\"\"Each user's message is (ε, 0)-DP by itself\"\"\"
        return [proof.certify(CLAIM)]

With a grid every point is a cell with its own claim:

    @evidence(
        rows,
        "T1P/dropout",
        "Theorem 1",
        claim=claim_at,
        over=listed("users present", (10, 9), (16, 8)),
        role="what-if",
        expect="refuted",
    )
    def dropout(run: Run, users: int, present: int) -> list[Evidence]: ...
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from dpaudit.core.claims import (
    AccountingClaim,
    Claim,
    ErrorRate,
    LowerBound,
    MessageSize,
    Ordering,
    PrivacyClaim,
    RegretBound,
    RegretRate,
    SubExponential,
    SubGaussian,
    TailBound,
)
from dpaudit.core.claims.statements import Statement
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Estimate, Evidence
from dpaudit.core.exact import ExactLike, exact, exact_str, rounded_down, rounded_up
from dpaudit.core.suite import Group, Outcome, Role, Run
from dpaudit.suite.crashes import crashed_cell
from dpaudit.suite.declared import Declared
from dpaudit.suite.grid import Grid, Point, in_words
from dpaudit.suite.signature import named_point

__all__ = ["Measured", "evidence", "kind_of"]

Function = TypeVar("Function", bound=Callable[..., Any])
ClaimAt = Claim | Callable[..., Claim]

_KINDS: tuple[tuple[tuple[type[Claim], ...], str], ...] = (
    ((PrivacyClaim,), "privacy"),
    ((AccountingClaim,), "structure"),
    ((SubGaussian, SubExponential, TailBound), "tail"),
    ((RegretRate, RegretBound), "regret"),
    ((LowerBound,), "lower-bound"),
    ((ErrorRate, MessageSize), "utility"),
)


def kind_of(claim: Claim) -> str:
    """Return the default kind of a row with this claim."""
    return next((kind for types, kind in _KINDS if isinstance(claim, types)), "structure")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Bounds on a row's quantity that a function computed or simulated.

    Parameters
    ----------
    low, high : number, optional
        The bounds. Leave out a bound that does not exist. ``low`` must be finite.
    samples : int
        Number of computations or runs (1).
    method, scope : str
        How the bounds were computed, and for what. In a row with a grid, the default scope is the point.
    exact : bool
        True if the bounds hold with certainty (the default). Otherwise they hold at the significance level of
        the run that the function was given. One such bound decides, several only describe.
    covers : bool
        True if everything in the claim was examined (the default). Only then ``high`` can verify the claim.
    details, notes, plots : mapping, sequence of str, sequence of dict
        Additional data for the report.

    Raises
    ------
    InvalidParameterError
        The bounds are not numbers in order, or the lower one is infinite.
    """

    low: float | Fraction | None = None
    high: float | Fraction | None = None
    samples: int = 1
    method: str = "exact computation"
    scope: str = ""
    exact: bool = True
    covers: bool = True
    details: dict[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    plots: Sequence[dict[str, Any]] = ()

    def __post_init__(self) -> None:
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if not low <= high or low == math.inf:
            raise InvalidParameterError(
                f"measured bounds must be numbers in order with a finite lower bound, got {self.low} and "
                f"{self.high}.",
                code="E-MEASURED-BOUNDS",
            )

    def estimate(self, claim: Claim, run: Run, *, scope: str) -> Estimate:
        """Return the bounds as evidence on ``claim``."""
        return Estimate(
            quantity=_quantity(claim),
            lower=None if self.low is None else rounded_down(self.low),
            upper=None if self.high is None else rounded_up(self.high),
            confidence=1.0 if self.exact else 1 - run.alpha,
            samples=self.samples,
            method=self.method,
            scope=self.scope or scope or "the parameters in the claim",
            seed=None if self.exact else run.seed,
            covers_claim=self.covers and self.high is not None,
            details=self.details,
        )


def _quantity(claim: Claim) -> str:
    named = claim.quantity_name if isinstance(claim, Statement) else ""
    return named or claim.quantity


def evidence(
    rows: Group,
    id: str,
    source: str,
    *,
    claim: ClaimAt | None = None,
    at_most: ExactLike | None = None,
    quantity: str = "value",
    constants: Sequence[tuple[str, ExactLike]] = (),
    over: Grid | None = None,
    name: Callable[..., str] | None = None,
    kind: str = "",
    role: Role = "printed",
    expect: str | Callable[..., str] = "verified",
    view: str = "",
    fingerprint: Callable[[int], str] | None = None,
    case: str = "",
    repairs: str | Sequence[str] = (),
    **fixed: Any,
) -> Callable[[Function], Function]:
    """Return a decorator that adds the row ``id``, whose function ``(run, **point)`` returns evidence.

    The function returns a list of evidence, a ``Measured``, a list of these, or an ``Outcome``. Its docstring
    holds the title, the text and the notes (``words``).

    Parameters
    ----------
    rows, id, source : Group, str, str
        The group of the row, its id and its source.
    claim : Claim or callable, optional
        The claim or, with a grid, a function of the point. Default: the title, as the claim that ``quantity``
        is at most ``at_most``.
    at_most, quantity, constants : number, str, sequence of (str, number)
        The default claim. ``constants`` are those of this audit.
    over, name : Grid, callable
        Each point of the grid is a cell with its own claim, named by its parameters or by ``name(**point)``.
        The row claims all of them and shows the claim of the first. A point at which the function raises is a
        crashed cell (``crashes``).
    kind, role, view : str
        Columns of the report. The default kind and view follow from the claim.
    expect : str or callable
        The expected verdict ("verified"), or a function of the point.
    fingerprint : callable, optional
        ``fingerprint(seed)`` returns a digest that must not depend on the process.
    case : str
        Fills ``{case}`` in the docstring, for several rows of one function.
    repairs : str or sequence of str
        The rows that this one repairs.
    **fixed : object
        Parameters with the same value at every point.

    Raises
    ------
    InvalidParameterError
        There is no claim and no number, the grid is empty, or the function takes other parameters.
    """

    def decorate(function: Function) -> Function:
        asked = expect if isinstance(expect, str) else "verified"
        declared = Declared(rows, id, source, role, asked, repairs)
        words = declared.words(function, over, fixed, run=True, case=case)
        first: Point = {} if over is None else _first(over, id)
        stated_at = claim or _titled(words.title, quantity, at_most, constants, id)
        stated = declared.built(
            lambda: (_at(stated_at, first), _expected(over, expect, first)), title=words.title
        )
        if stated is None:
            return function
        shown, wanted = stated

        def evaluate(run: Run) -> Outcome:
            if over is None:
                outcome = _outcome(function(run, **fixed), shown, run, scope="")
                return replace(outcome, notes=[*outcome.notes, *words.notes])
            points = list(over.at(run))
            share = Run(run.profile, run.alpha / len(points), run.seed, run.row_id)
            parts = [
                _at_one(
                    partial(function, share, **point, **fixed),
                    share,
                    point,
                    claim=_at(stated_at, point),
                    name=name(**point) if name else in_words(point),
                    expect=_at_point(expect, point),
                )
                for point in points
            ]
            cells = [cell for part in parts for cell in part.cells]
            return Outcome(
                [], words.notes, cells=cells, plots=[plot for part in parts for plot in part.plots]
            )

        seen = view or (str(shown.view) if isinstance(shown, PrivacyClaim) else "")
        own = kind or kind_of(shown)
        declared.add(evaluate, words, shown, kind=own, view=seen, expect=wanted, fingerprint=fingerprint)
        return function

    return decorate


def _at_one(
    function: Callable[[], Any], run: Run, point: Point, *, claim: Claim, name: str, expect: str
) -> Outcome:
    """Return the cells of one point of a grid: the function's results there, or a crashed cell."""
    try:
        with named_point(point):
            given = function()
        outcome = _outcome(given, claim, run, scope=in_words(point))
    except Exception as error:  # other points must not be lost
        return Outcome([], cells=[crashed_cell(name, claim, error, expect=expect)])
    return Outcome([], cells=outcome.as_cells(name, claim=claim, expect=expect), plots=outcome.plots)


def _titled(
    title: str, quantity: str, at_most: ExactLike | None, constants: Sequence[tuple[str, ExactLike]], id: str
) -> Callable[..., Claim]:
    """Return the claim that a title makes."""
    if at_most is None:
        raise InvalidParameterError(
            f"{id}: a row requires a claim, or at_most and quantity, got neither.", code="E-CLAIM-MISSING"
        )
    named = tuple((name, exact_str(exact(value))) for name, value in constants)

    def claim(**point: Any) -> Claim:
        text = f"{title}; {in_words(point)}" if point else title
        return Ordering(text=text, quantity_name=quantity, claimed=at_most, constants=named)

    return claim


def _first(grid: Grid, id: str) -> Point:
    quick = Run(profile="quick", alpha=0.05, seed=0, row_id=id)
    point = next(grid.at(quick), None)
    if point is None:
        raise InvalidParameterError(f"{id}: the grid has no points.", code="E-GRID-EMPTY")
    return point


def _at(claim: ClaimAt, point: Point) -> Claim:
    return claim if isinstance(claim, Claim) else claim(**point)


def _at_point(expect: str | Callable[..., str], point: Point) -> str:
    return expect if isinstance(expect, str) else expect(**point)


def _expected(over: Grid | None, expect: str | Callable[..., str], first: Point) -> str:
    """Return the expected verdict of the row: refuted if any cell is, verified if all are."""
    if over is None or isinstance(expect, str):
        return _at_point(expect, first)
    verdicts = {
        _at_point(expect, point)
        for profile in ("quick", "full")
        for point in over.at(Run(profile=profile, alpha=0.05, seed=0, row_id=""))
    }
    return next(kind for kind in ("refuted", "inconclusive", "consistent", "verified") if kind in verdicts)


def _outcome(given: Any, claim: Claim, run: Run, *, scope: str) -> Outcome:
    if isinstance(given, Outcome):
        return given
    items = list(given) if isinstance(given, list | tuple) else [given]
    numbers = [item for item in items if isinstance(item, Measured)]
    # Each bound holds at the level that the function was given. Several inexact ones err more often than that
    # in total, so they only describe. No bound was computed at a smaller level.
    found: list[Evidence] = [
        item.estimate(claim, run, scope=scope) if isinstance(item, Measured) else item for item in items
    ]
    return Outcome(
        found,
        [note for item in numbers for note in item.notes],
        plots=[plot for item in numbers for plot in item.plots],
        samples=sum(item.samples for item in numbers),
    )
