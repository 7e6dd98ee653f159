"""The five kinds of evidence for a verdict.

* ``Certificate``: a rigorous upper bound, as a rule tree that the kernel re-derives.
* ``ProgramProof``: a proof of the program itself, in a scope such as data of one size.
* ``InequalityProof``: a proof of an inequality for all parameters of a range.
* ``Witness``: an exact counterexample, as distributions and values from which the loss is recomputed in
  balls.
* ``Estimate``: a statistical bound with its confidence, samples and seed, or an exact computation on a named
  grid.

All are plain data that JSON holds without loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpaudit.core.errors import BrokenReportError, InvalidParameterError
from dpaudit.core.exact import read_exact, refuse_floats, rounded_down, rounded_up
from dpaudit.kernel.values.claim import PROOF, ROUNDING

__all__ = [
    "COMPUTATION",
    "Certificate",
    "Estimate",
    "Evidence",
    "InequalityProof",
    "ProgramProof",
    "Witness",
    "evidence_from_json",
]


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A rigorous upper bound on ``quantity``, for every input of the claim's domain.

    Parameters
    ----------
    quantity : str
        The bounded quantity.
    bound : Fraction
        The upper bound.
    tree : dict
        A rule application ``{"rule": name, "parameters": {...}, "premises": [...]}`` with numbers as exact
        strings.
    assumptions : tuple of str
        Printed assumptions. Without any, the bound is proved. With some, it is accounted, and a claim that it
        reaches is consistent, not verified.
    """

    quantity: str
    bound: Fraction
    tree: dict[str, Any]
    assumptions: tuple[str, ...] = ()

    @property
    def strength(self) -> str:
        return "accounted" if self.assumptions else "proved"

    def to_json(self) -> dict[str, Any]:
        return {
            "evidence": "certificate",
            "quantity": self.quantity,
            "bound": str(self.bound),
            "tree": self.tree,
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, kw_only=True)
class ProgramProof:
    """A proof that ``quantity`` of a program is at most ``bound`` within a scope.

    Parameters
    ----------
    quantity : str
        The bounded quantity.
    bound : Fraction
        The upper bound.
    scope : str
        A description of the scope: all data of one size or declaration, all neighbours, all outcomes. The
        proof does not cover other data.
    body : dict
        The certificate that ``dpaudit/kernel/program_claim.py`` checks with the checker for its kind: the
        tree of the program's decisions and the shifts of its noise, or its record, as exact strings.
    assumptions : tuple of str
        Printed assumptions. One of them is that the tree belongs to the program. Exploring the program again
        checks this.
    """

    quantity: str
    bound: Fraction
    scope: str
    body: dict[str, Any]
    assumptions: tuple[str, ...]

    @property
    def strength(self) -> str:
        return "proved in scope"

    @property
    def rounding(self) -> Fraction:
        """Return the share of a claimed value by which the bound may exceed it, as the proof assumes."""
        return ROUNDING if self.body.get("proof") == PROOF else Fraction(0)

    def to_json(self) -> dict[str, Any]:
        return {
            "evidence": "program-proof",
            "quantity": self.quantity,
            "bound": str(self.bound),
            "scope": self.scope,
            "body": self.body,
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, kw_only=True)
class InequalityProof:
    """A proof that left <= right for all parameters of a range.

    Parameters
    ----------
    quantity : str
        The measure of the claim: "left / right", bounded by 1, or "left - right", bounded by 0.
    bound : Fraction
        The upper bound.
    scope : str
        The range and its conditions as text.
    body : dict
        What ``dpaudit.kernel.inequalities.check`` checks: the range, the expressions and a tree of boxes.
    assumptions : tuple of str
        Printed assumptions: that the expressions are those of the row's function. Tracing the function again
        checks this.
    """

    quantity: str
    bound: Fraction
    scope: str
    body: dict[str, Any]
    assumptions: tuple[str, ...]

    @property
    def strength(self) -> str:
        return "proved"

    def to_json(self) -> dict[str, Any]:
        return {
            "evidence": "inequality-proof",
            "quantity": self.quantity,
            "bound": str(self.bound),
            "scope": self.scope,
            "body": self.body,
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, kw_only=True)
class Witness:
    """An exact counterexample: one pair of neighbours and outcomes whose loss is at least ``bound``.

    Parameters
    ----------
    quantity : str
        The bounded quantity.
    bound : Fraction or None
        The lower bound, or ``None`` if the loss is infinite (a leak).
    form : str
        How to recompute ``body``, such as ``transcript`` (a sequence of sites with both distributions and the
        value), ``mixture`` (the same with hidden draws summed out), ``leak``, or ``tables`` (the whole view,
        enumerated).
    body : dict
        The distributions and values.
    origin : str
        ``sampled``, ``forced`` or ``enumerated``.
    description : str
        A description of the pair and the event.
    """

    quantity: str
    bound: Fraction | None
    form: str
    body: dict[str, Any]
    origin: str
    description: str

    def to_json(self) -> dict[str, Any]:
        return {
            "evidence": "witness",
            "quantity": self.quantity,
            "bound": None if self.bound is None else str(self.bound),
            "form": self.form,
            "body": self.body,
            "origin": self.origin,
            "description": self.description,
        }


#: The name of an estimate at confidence 1, because nothing in it is statistical.
COMPUTATION = "computation"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Bounds on ``quantity`` that hold at a stated confidence, or exactly on a named grid (``confidence=1``).

    Parameters
    ----------
    quantity : str
        The bounded quantity.
    lower, upper : float or None
        The bounds.
    confidence : float
        The probability in [0, 1] that both bounds hold, including any selection: the best of m tests errs up
        to m times as often as one test.
    samples : int
        The number of samples.
    method, scope : str
        The method, and what was examined: the grid, the instances or the pair.
    seed : int or None
        The seed of the samples.
    covers_claim : bool
        Whether the scope is the finite claim itself. Only then can the upper bound verify a claim.
    details : dict
        Further data for the report.

    Raises
    ------
    InvalidParameterError
        ``confidence`` is not in [0, 1].
    """

    quantity: str
    lower: float | None
    upper: float | None
    confidence: float
    samples: int
    method: str
    scope: str
    seed: int | None = None
    covers_claim: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.confidence <= 1:
            raise InvalidParameterError(
                f"confidence must be in [0, 1], got {self.confidence}.", code="E-CONFIDENCE-RANGE"
            )

    @classmethod
    def exactly(
        cls, value: float | Fraction, *, quantity: str, samples: int, method: str, scope: str
    ) -> Estimate:
        """Return an estimate with ``value`` as both bounds, computed on the whole scope of a finite claim."""
        return cls(
            quantity=quantity,
            lower=rounded_down(value),
            upper=rounded_up(value),
            confidence=1.0,
            samples=samples,
            method=method,
            scope=scope,
            covers_claim=True,
        )

    @property
    def kind(self) -> str:
        """``computation`` if the confidence is 1, otherwise ``estimate``."""
        return COMPUTATION if self.confidence == 1 else "estimate"

    def to_json(self) -> dict[str, Any]:
        return {
            "evidence": self.kind,
            "quantity": self.quantity,
            "lower": _finite(self.lower),
            "upper": _finite(self.upper),
            "confidence": self.confidence,
            "samples": self.samples,
            "method": self.method,
            "scope": self.scope,
            "seed": self.seed,
            "covers_claim": self.covers_claim,
            "details": self.details,
        }


Evidence = Certificate | ProgramProof | InequalityProof | Witness | Estimate


def _finite(number: float | None) -> float | None:
    """Return a finite bound, or ``None`` for an infinite bound, which JSON cannot hold."""
    return None if number is None or not math.isfinite(number) else float(number)


def _estimate(kind: str, values: dict[str, Any]) -> Estimate:
    item = Estimate(**values)
    if item.kind != kind:
        raise BrokenReportError(
            f"a computation has confidence 1, and an estimate less, got {kind} with confidence "
            f"{item.confidence}.",
            code="E-EVIDENCE-KIND",
        )
    return item


def evidence_from_json(data: dict[str, Any]) -> Evidence:
    """Read evidence that ``to_json`` wrote.

    Raises ``BrokenReportError`` for anything else, and for floats in bounds, rule trees and witness bodies,
    whose numbers are exact strings.
    """
    try:
        kind = data["evidence"]
        values = {key: value for key, value in data.items() if key != "evidence"}
        if kind == "certificate":
            refuse_floats(values["tree"], name="tree")
            values["bound"] = read_exact(values["bound"], name="bound")
            values["assumptions"] = tuple(values["assumptions"])
            return Certificate(**values)
        if kind in ("program-proof", "inequality-proof"):
            refuse_floats(values["body"], name="body")
            values["bound"] = read_exact(values["bound"], name="bound")
            values["assumptions"] = tuple(values["assumptions"])
            return ProgramProof(**values) if kind == "program-proof" else InequalityProof(**values)
        if kind == "witness":
            refuse_floats(values["body"], name="body")
            if values["bound"] is not None:
                values["bound"] = read_exact(values["bound"], name="bound")
            return Witness(**values)
        if kind in ("estimate", COMPUTATION):
            return _estimate(kind, values)
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenReportError(
            f"evidence must have the fields that dpaudit writes, got {error}", code="E-EVIDENCE-FIELDS"
        ) from error
    raise BrokenReportError(
        "evidence must be a certificate, a proof of a program or of an inequality, a witness, an estimate "
        f"or a computation, got {kind!r}.",
        code="E-EVIDENCE-KIND",
    )
