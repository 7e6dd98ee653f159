"""Rows about programs that are proved: for all data of one size, all neighbours and all outcomes.

    @proved(rows, "SVT/proved", "Lyu, Su, Li 2017", over=over(queries=(4, full(8))))
    def svt(queries: int) -> Proving:
        \"\"\"The sparse vector technique is ε-DP, for all queries of one number\"\"\"
        return Proving(program=above, epsilon=1, data=Symbols(queries), adjacency=EachMoves())

The claim's domain is the proof's scope, so the claim says for which size. On a privacy row,
``prove=Shape(...)`` proves that row's own program at a size: a consistent row is then proved in that
scope.

With ``data=Records(...)`` or ``Table(...)`` the program is an ordinary function of numpy arrays, followed on
private values (``prove_values``). The neighbours then stand in the claim: ``adjacency="add-remove"``. On a
privacy row ``prove=Records(...)`` proves the row's own program for all such data.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeGuard, TypeVar, cast

from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.program_distributions import program_distributions_bound
from dpaudit.certify.witnesses.program_event import program_event_bound
from dpaudit.coins.base import Program
from dpaudit.core.claims import ApproxDP, Claim, GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.core.claims.base import Adjacency, Unit
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import DpauditError, InvalidParameterError
from dpaudit.core.evidence import Evidence, ProgramProof, Witness
from dpaudit.core.exact import ExactLike, in_digits
from dpaudit.core.suite import Group, Outcome, Role, Run
from dpaudit.kernel.claim_t0 import scope_in_words
from dpaudit.kernel.program_claim import CHECKERS
from dpaudit.prover.affected import derived_accounting, undeclared
from dpaudit.prover.certificate import written_tree
from dpaudit.prover.data import EVERY, Adjacent, Symbols
from dpaudit.prover.every_size import states_and_trees
from dpaudit.prover.gaussian import GAUSSIAN_CLAIMS, GaussianClaim, explore_releases
from dpaudit.prover.opcodes import TESTED
from dpaudit.prover.proof import Proof
from dpaudit.prover.prove import prove
from dpaudit.prover.symbols import RefusedError
from dpaudit.prover.values.prove import ValuesProof, prove_values
from dpaudit.prover.whole_program import explore_program
from dpaudit.replay.input_order import each_input
from dpaudit.suite.controls import Control
from dpaudit.suite.evidence import Measured, evidence
from dpaudit.suite.grid import Grid

__all__ = [
    "Proving",
    "Shape",
    "accounting_of",
    "derived_cost",
    "evidence_of",
    "proof_control",
    "provable",
    "proved",
    "record_digest",
]

Function = TypeVar("Function", bound="Callable[..., Proving]")

#: A declaration of the data of an ordinary function.
Declared = Records | Table

#: Whether steps for data of every size are followed here: elsewhere their proofs are refused in one sentence.
READS_FRAMES = (sys.implementation.name, sys.version_info[:2]) == TESTED


#: The claim that each choice of numbers makes.
_KINDS = {
    ("epsilon",): PureDP,
    ("epsilon", "delta"): ApproxDP,
    ("rho",): ZeroConcentratedDP,
    ("mu",): GaussianDP,
}

#: What is between an exact loss and the end of a ball around it.
BELOW = 1 - Fraction(1, 2**60)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """At which size and for which neighbours a privacy row's program is proved besides."""

    data: Symbols
    adjacency: Adjacent

    @property
    def scope(self) -> str:
        """What a proof of this shape speaks about, in words."""
        return scope_in_words(self.data.to_json(), self.adjacency.to_json(self.data))


@dataclass(frozen=True, kw_only=True)
class Proving:
    """A program, and what it is to keep for all data that are declared: ``epsilon``, ``rho``, ``mu``, or
    ``epsilon`` and ``delta``. A program that takes ``Symbols`` needs an ``adjacency`` of its own,
    ``OneReplaced`` or ``EachMoves``. For ``Records`` or a ``Table``, ``adjacency`` is the claim's
    (replace-one), a ``group`` above 1 makes the claim about users, and ``files`` are further files whose
    functions are followed.

    Raises ``InvalidParameterError`` for another choice."""

    program: Callable[..., Any]
    data: Symbols | Declared
    adjacency: Adjacent | Adjacency | str | None = None
    epsilon: ExactLike | None = None
    delta: ExactLike | None = None
    rho: ExactLike | None = None
    mu: ExactLike | None = None
    files: Sequence[str] = ()

    def __post_init__(self) -> None:
        if tuple(self._numbers) not in _KINDS:
            raise InvalidParameterError(
                f"a proof must be of epsilon, of epsilon and delta, of rho or of mu, got {[*self._numbers]}; "
                "name one of these."
            )
        if not isinstance(self.data, Symbols | Records | Table):
            raise InvalidParameterError(
                f"data must be Symbols, Records or a Table, got {type(self.data).__name__}."
            )
        own = isinstance(self.adjacency, Adjacent)
        if own != isinstance(self.data, Symbols):
            wanted = "OneReplaced or EachMoves" if isinstance(self.data, Symbols) else "that of a claim"
            raise InvalidParameterError(
                f"the adjacency of {type(self.data).__name__} must be {wanted}, got {self.adjacency!r}."
            )

    @property
    def _numbers(self) -> dict[str, ExactLike]:
        named = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho, "mu": self.mu}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def shape(self) -> Shape | Declared:
        """The data, with the neighbours where they do not stand in the claim."""
        if isinstance(self.data, Symbols) and isinstance(self.adjacency, Adjacent):
            return Shape(data=self.data, adjacency=self.adjacency)
        return cast("Declared", self.data)

    @property
    def scope(self) -> str:
        """What a proof speaks about, in words."""
        shape = self.shape
        return shape.scope if isinstance(shape, Shape) else shape.words

    @property
    def claim(self) -> PureDP | GaussianClaim:
        """The claim about these data and no others: its domain is the scope."""
        kind: Any = _KINDS[tuple(self._numbers)]
        about: dict[str, Any] = {"domain": self.scope}
        if not isinstance(self.data, Symbols):
            about["adjacency"] = self.adjacency or Adjacency.REPLACE_ONE
            about["unit"] = Unit.USER if self.data.group > 1 else Unit.EVENT
        claim: PureDP | GaussianClaim = kind(**self._numbers, **about)
        return claim

    def outcome(self) -> Outcome:
        """The proof as a row's evidence, or why there is none."""
        return evidence_of(self.program, self.claim, self.shape, files=self.files)

    def digest(self) -> str:
        """Of the tree of the program's decisions, of its states and trees, or of its record: the same in any
        process."""
        return record_digest(self.program, self.claim, self.shape, files=self.files)


def record_digest(
    program: Callable[..., Any],
    claim: PureDP | GaussianClaim,
    shape: Shape | Declared,
    *,
    files: Sequence[str] = (),
) -> str:
    """The digest of what a proof reads off a program, or why there is none: the same in any process."""
    try:
        tree: Any
        if not isinstance(shape, Shape):
            found = prove_values(program, claim, data=shape, files=files)
            if found.record is None:
                return found.reason
            tree = found.record
        elif not isinstance(claim, PureDP):
            tree = written_tree(explore_releases(program, shape.data))
        elif shape.data.size == EVERY:
            tree = states_and_trees(program, shape.data)
        else:
            tree = written_tree(explore_program(program, shape.data))
    except DpauditError as error:  # the row says so
        return f"{type(error).__name__}: {error}"
    except RefusedError as refusal:
        return str(refusal)
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()


def provable(claim: Claim) -> TypeGuard[PureDP | GaussianClaim]:
    """Whether ``prove`` takes claims of this type."""
    return isinstance(claim, (PureDP, *GAUSSIAN_CLAIMS))


def evidence_of(
    program: Callable[..., Any],
    claim: PureDP | GaussianClaim,
    shape: Shape | Declared,
    *,
    files: Sequence[str] = (),
) -> Outcome:
    """What a proof of ``program`` for these data says about ``claim``: evidence where there is a checked
    bound, else a note with the sentence that says why not."""
    if not isinstance(shape, Shape):
        followed = prove_values(program, claim, data=shape, files=files)
        evidence = _proof(followed.record, followed.bound, claim, shape.words, followed.assumptions)
        return Outcome(evidence, [f"a proof for {shape.words}: {_in_words(followed, claim)}"])
    found = prove(program, claim, data=shape.data, adjacency=shape.adjacency)
    notes = [f"a proof for {found.scope}: {_in_words(found, claim)}"]
    return Outcome([*_evidence(found, claim), *_witness(found, claim)], notes)


def accounting_of(program: Program, sites: Sequence[Site], shape: Shape) -> Outcome:
    """The accounting that exploring ``program`` derives, as a note, and where it is above the declared one,
    as unmet conditions; neither where the program cannot be followed so."""
    try:
        derived = derived_accounting(program, data=shape.data, adjacency=shape.adjacency)
    except RefusedError:
        return Outcome([])
    told = [
        f"{name}: {item.touches} touched, each moved by at most {item.sensitivity}, {item.cost} in all"
        for name, item in sorted(derived.sites.items())
    ]
    notes = [f"derived for {shape.scope}: {'; '.join(told) or 'no release'}; total {derived.total}"]
    return Outcome([], notes, undeclared(derived, sites))


def derived_cost(program: Program, shape: Shape, *, site: str = "") -> Measured:
    """What one change costs in all releases of a program, or how many it moves at ``site``: exact."""
    derived = derived_accounting(program, data=shape.data, adjacency=shape.adjacency)
    value = Fraction(derived.sites[site].touches) if site else derived.total
    return Measured(
        low=value, high=value, samples=derived.paths, method="exploration over symbols", scope=shape.scope
    )


def _in_words(found: Proof | ValuesProof, claim: Claim) -> str:
    paths = f"{found.paths} path{'s' * (found.paths != 1)}"
    if found.verdict == "verified":
        return f"{paths}, {claim.quantity} at most {_number(found.bound)}, claimed {claim.bound}"
    known = f"{claim.quantity} at most {_number(found.bound)}; " if isinstance(found.bound, Fraction) else ""
    return f"{paths}; {known}{found.reason}"


def _number(bound: Any) -> str:
    """As it is where that is short, else rounded up."""
    return str(bound) if len(str(bound)) < 20 else in_digits(bound, toward="up")


def _evidence(found: Proof, claim: Claim) -> list[Evidence]:
    body = found.certificate
    if body is None or not isinstance(found.bound, Fraction) or body["proof"] not in CHECKERS:
        return []
    scope = scope_in_words(body["data"], body["adjacency"])
    return _proof(body, found.bound, claim, scope, tuple(found.assumptions))


def _proof(
    body: dict[str, Any] | None,
    bound: Fraction | None,
    claim: Claim,
    scope: str,
    assumptions: tuple[str, ...],
) -> list[Evidence]:
    if body is None or bound is None:
        return []
    quantity = claim.quantity
    return [ProgramProof(quantity=quantity, bound=bound, scope=scope, body=body, assumptions=assumptions)]


def _witness(found: Proof, claim: PureDP | GaussianClaim) -> list[Evidence]:
    """What refutes a claim of exactly this scope, where it can be computed again from a report."""
    witness = found.witness or {}
    body, form = witness.get("body"), witness.get("form", "program-event")
    if body is None or claim.domain != found.scope:
        return []
    return [
        Witness(
            quantity="epsilon",
            bound=_bound(witness, form, claim),
            form=form,
            body=body,
            origin="forced" if form == "transcript" else "enumerated",
            description=found.reason,
        )
    ]


def _bound(witness: dict[str, Any], form: str, claim: Claim) -> Fraction | None:
    """What a witness gives; None for an infinite loss."""
    if form == "transcript":  # exact here, in balls where it is computed again
        return Fraction(witness["loss"]) * BELOW
    bound_of = program_distributions_bound if form == "program-distributions" else program_event_bound
    return bound_of(witness["body"], claim)


def proved(
    rows: Group,
    id: str,
    source: str,
    *,
    over: Grid | None = None,
    name: Callable[..., str] | None = None,
    role: Role = "printed",
    expect: str | Callable[..., str] = "verified",
    repairs: str | Sequence[str] = (),
    **fixed: Any,
) -> Callable[[Function], Function]:
    """Decorator: add the row ``id``, whose function returns a ``Proving`` for a point's parameters. With a
    grid every point is a cell with the claim of its own size; the docstring says title and text."""

    def decorate(function: Function) -> Function:
        def wanted(**point: Any) -> str:
            stated = expect if isinstance(expect, str) else expect(**point)
            data = function(**{**fixed, **point}).data
            followed = not isinstance(data, Symbols) or data.size != EVERY or READS_FRAMES
            return stated if followed or stated != "verified" else "inconclusive"

        def row(run: Run, **point: Any) -> Outcome:
            return function(**point).outcome()

        def digest(seed: int) -> str:
            quick = Run(profile="quick", alpha=0.05, seed=seed, row_id=id)
            points: list[Mapping[str, Any]] = [{}] if over is None else list(over.at(quick))
            return "".join(each_input(points, lambda point: function(**point, **fixed).digest()))

        row.__doc__ = function.__doc__
        own = inspect.signature(function)
        first = inspect.Parameter("run", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        row.__signature__ = own.replace(parameters=[first, *own.parameters.values()])  # type: ignore[attr-defined]
        evidence(
            rows,
            id,
            source,
            claim=lambda **point: function(**{**fixed, **point}).claim,
            over=over,
            name=name,
            role=role,
            expect=wanted,
            fingerprint=digest,
            repairs=repairs,
            **fixed,
        )(row)
        return function

    return decorate


def proof_control(proving: Proving, *, expect: str, about: str = "") -> Control:
    """A program in a table of controls (``controls``): what a proof of it must come out as."""
    return Control(
        claim=proving.claim,
        evaluate=lambda run: proving.outcome(),
        expect=expect,
        about=about,
        digest=lambda seed: proving.digest(),
    )
