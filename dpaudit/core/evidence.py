"""Evidence: the four things that can stand behind a verdict.

* ``Certificate``: a rigorous upper bound, as a rule tree that the kernel re-derives.
* ``ProgramProof``: a proof of the program itself, in a scope such as data of one size.
* ``Witness``: an exact counterexample, as distributions and values from which the loss is re-computed in
  balls.
* ``Estimate``: a statistical bound with its confidence, samples and seed, or an exact computation on a named
  grid.

All are plain data: JSON and back without loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpaudit.core.errors import BrokenReportError, InvalidParameterError
from dpaudit.core.exact import read_exact, refuse_floats, rounded_down, rounded_up
from dpaudit.kernel.values.claim import PROOF, ROUNDING

__all__ = ["Certificate", "Estimate", "Evidence", "ProgramProof", "Witness", "evidence_from_json"]


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A rigorous upper bound on ``quantity``, for every input of the claim's domain.

    ``tree`` is a rule application ``{"rule": name, "parameters": {...}, "premises": [...]}`` with numbers as
    exact strings. With no ``assumptions`` the bound is proved; with some it is accounted: they are printed,
    and a claim that it reaches is consistent, not verified.
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
    """A proof that a program keeps ``quantity`` at most ``bound`` for everything in its ``scope``, which is
    said in words: all data of one size or declaration, all neighbours, all outcomes. Nothing is said of other
    data.

    ``body`` is the certificate that ``dpaudit/kernel/program_claim.py`` checks, by the file of its kind: the
    tree of the program's decisions and the shifts of its noise, or its record, exact strings. ``assumptions``
    are printed; that the tree is the program's is one of them, which exploring the program again compares.
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
        """By how much of a claim's number the bound may exceed it and still prove it: one assumption."""
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
class Witness:
    """An exact counterexample: one pair of neighbours and outcomes whose loss is at least ``bound``.

    ``bound`` is ``None`` where the loss is infinite (a leak). ``form`` names how ``body`` is re-computed:
    ``transcript`` (a sequence of sites with both distributions and the value), ``mixture`` (the same with
    hidden draws
    summed out), ``leak``, ``tables`` (all that can be seen, enumerated). ``origin`` is ``sampled``,
    ``forced`` or ``enumerated``; ``description`` says in words what the pair and the event are.
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


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Bounds on ``quantity`` that hold with probability ``confidence``, or exactly on a named grid
    (``confidence = 1``).

    ``confidence`` is in [0, 1] and speaks about both bounds together, whatever was looked at to find them:
    the best of m tests errs m times as often as one. ``lower`` and ``upper`` may be ``None``. ``scope`` names
    what was looked at: the grid, the instances, the pair. An upper bound counts towards ``verified`` only
    with ``covers_claim``, which says that the scope is the finite claim itself.
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
                f"confidence must be in [0, 1], got {self.confidence}; pass 1 - alpha, or 1 if it is exact."
            )

    @classmethod
    def exactly(
        cls, value: float | Fraction, *, quantity: str, samples: int, method: str, scope: str
    ) -> Estimate:
        """``value`` as both bounds, computed on the whole of ``scope``, which is the finite claim itself."""
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

    def to_json(self) -> dict[str, Any]:
        return {
            "evidence": "estimate",
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


Evidence = Certificate | ProgramProof | Witness | Estimate


def _finite(number: float | None) -> float | None:
    """JSON has no infinity; an infinite bound says nothing and is written as none."""
    return None if number is None or not math.isfinite(number) else float(number)


def evidence_from_json(data: dict[str, Any]) -> Evidence:
    """Read evidence that ``to_json`` wrote. Raises ``BrokenReportError`` for anything else, and for floats
    where numbers are exact strings: in bounds, rule trees and witness bodies.
    """
    try:
        kind = data["evidence"]
        values = {key: value for key, value in data.items() if key != "evidence"}
        if kind == "certificate":
            refuse_floats(values["tree"], name="tree")
            values["bound"] = read_exact(values["bound"], name="bound")
            values["assumptions"] = tuple(values["assumptions"])
            return Certificate(**values)
        if kind == "program-proof":
            refuse_floats(values["body"], name="body")
            values["bound"] = read_exact(values["bound"], name="bound")
            values["assumptions"] = tuple(values["assumptions"])
            return ProgramProof(**values)
        if kind == "witness":
            refuse_floats(values["body"], name="body")
            if values["bound"] is not None:
                values["bound"] = read_exact(values["bound"], name="bound")
            return Witness(**values)
        if kind == "estimate":
            return Estimate(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenReportError(
            f"evidence must have the fields that dpaudit writes, got {error}; re-create the report."
        ) from error
    raise BrokenReportError(
        f"evidence must be a certificate, a program's proof, a witness or an estimate, got {kind!r}; "
        "re-create the report."
    )
