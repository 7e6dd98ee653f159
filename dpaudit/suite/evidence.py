"""Rows whose function gathers the evidence itself: certificates, witnesses, measured numbers; one setting, or
a table of them.

    @evidence(rows, "T6P", "Theorem 6", claim=CLAIM)
    def local(run: Run) -> list[Evidence]:
        \"\"\"Each user's message is (ε, 0)-DP by itself\"\"\"
        return [proof.certify(CLAIM)]

With a grid every point is a cell, with a claim of its own:

    @evidence(rows, "T1P/dropout", "Theorem 1", claim=claim_at, over=listed("users present", (10, 9), (16,
    8)),
              role="what-if", expect="refuted")
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
from dpaudit.core.suite import Group, Outcome, Role, Row, Run
from dpaudit.suite.crashes import built, crashed_cell
from dpaudit.suite.grid import Grid, Point, in_words
from dpaudit.suite.signature import named_point, require_parameters
from dpaudit.suite.words import words_of

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
    """The kind of a row with this claim, where the row does not say another."""
    return next((kind for types, kind in _KINDS if isinstance(claim, types)), "structure")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Bounds on a row's quantity that a function computed or simulated.

    ``high`` counts towards ``verified`` only where ``covers`` says that all that the claim speaks of was
    looked at. ``exact`` bounds hold for certain; the others at the error level of the run that the function
    was given, so that one of them decides and several only describe. ``scope`` is what was looked at; of a
    row with a grid the grid says it.
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
                f"measured bounds must be numbers in order, the lower one finite, got {self.low} and "
                f"{self.high}; "
                "leave out what is no bound."
            )

    def estimate(self, claim: Claim, run: Run, *, scope: str) -> Estimate:
        """The same as evidence on ``claim``."""
        return Estimate(
            quantity=_quantity(claim),
            lower=None if self.low is None else rounded_down(self.low),
            upper=None if self.high is None else rounded_up(self.high),
            confidence=1.0 if self.exact else 1 - run.alpha,
            samples=self.samples,
            method=self.method,
            scope=self.scope or scope or "what the claim names",
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
    """Decorator: add the row ``id``, whose function ``(run, **point)`` returns evidence: a list of it, a
    ``Measured``, a list of those, or an ``Outcome``.

    ``claim`` is the claim, or with a grid a function of the point; without one the title is claimed: that
    ``quantity`` is at most ``at_most``, where ``constants`` are this audit's. With ``over`` each point is a
    cell with its own claim, named by its parameters unless ``name(**point)`` says another, expected to come
    out as ``expect`` (which may be a function of the point, too); the row claims all of them and shows the
    first one's. A point at which the function raises is a cell that crashed (``crashes``). The docstring says
    the title, the text and the notes (``words``); ``case`` fills ``{case}`` in it, where decorators stack.
    """

    def decorate(function: Function) -> Function:
        words = words_of(function, {"case": case, **fixed}, id=id)
        require_parameters(function, over, fixed, id=id, run=True)
        first: Point = {} if over is None else _first(over, id)
        stated_at = claim or _titled(words.title, quantity, at_most, constants, id)
        stated = built(
            rows,
            id,
            source,
            lambda: (_at(stated_at, first), _expected(over, expect, first)),
            title=words.title,
            role=role,
            expect=expect if isinstance(expect, str) else "verified",
            repairs=repairs,
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

        evaluate.__doc__ = words.about
        rows.add(
            Row(
                id=id,
                title=words.title,
                kind=kind or kind_of(shown),
                claim=shown,
                evaluate=evaluate,
                expect=wanted,
                view=view or (str(shown.view) if isinstance(shown, PrivacyClaim) else ""),
                source=source,
                role=role,
                fingerprint=fingerprint,
                repairs=repairs,
            )
        )
        return function

    return decorate


def _at_one(
    function: Callable[[], Any], run: Run, point: Point, *, claim: Claim, name: str, expect: str
) -> Outcome:
    """What one point of a grid shows, as cells: what the function found there, or that it raised."""
    try:
        with named_point(point):
            given = function()
        outcome = _outcome(given, claim, run, scope=in_words(point))
    except Exception as error:  # this point's alone
        return Outcome([], cells=[crashed_cell(name, claim, error, expect=expect)])
    return Outcome([], cells=outcome.as_cells(name, claim=claim, expect=expect), plots=outcome.plots)


def _titled(
    title: str, quantity: str, at_most: ExactLike | None, constants: Sequence[tuple[str, ExactLike]], id: str
) -> Callable[..., Claim]:
    """The claim that a title makes."""
    if at_most is None:
        raise InvalidParameterError(
            f"{id}: a row must have a claim or a number, got neither; pass claim, or at_most and quantity."
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
        raise InvalidParameterError(f"{id}: a grid must have a point, got none; name one.")
    return point


def _at(claim: ClaimAt, point: Point) -> Claim:
    return claim if isinstance(claim, Claim) else claim(**point)


def _at_point(expect: str | Callable[..., str], point: Point) -> str:
    return expect if isinstance(expect, str) else expect(**point)


def _expected(over: Grid | None, expect: str | Callable[..., str], first: Point) -> str:
    """What the row comes out as if its cells do: refuted if one is, verified if all are."""
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
    # Each at the level that the function was given: several inexact ones err more often than that together,
    # and then only describe. A smaller level would be one that nobody computed at.
    found: list[Evidence] = [
        item.estimate(claim, run, scope=scope) if isinstance(item, Measured) else item for item in items
    ]
    return Outcome(
        found,
        [note for item in numbers for note in item.notes],
        plots=[plot for item in numbers for plot in item.plots],
        samples=sum(item.samples for item in numbers),
    )
