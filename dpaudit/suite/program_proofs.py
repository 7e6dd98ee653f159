"""Define rows on proved programs: for all data of one size, all neighbours and all outcomes.

    @proved(rows, "SVT/proved", "Lyu, Su, Li 2017", over=over(queries=(4, full(8))))
    def svt(queries: int) -> Proving:
        \"\"\"The sparse vector technique is ε-DP, for all queries of one number\"\"\"
        return Proving(program=above, epsilon=1, data=Symbols(queries), adjacency=EachMoves())

The claim's domain is the proof's scope, so the claim states the size. On a privacy row, ``prove=Shape(...)``
proves that row's own program at a size: a consistent row is then proved in that scope.

With ``data=Records(...)`` or ``Table(...)`` the program is an ordinary function of numpy arrays, followed on
private values (``prove_values``). The claim then states the neighbours: ``adjacency="add-remove"``. On a
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
from functools import partial
from typing import Any, TypeGuard, TypeVar, cast

from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.program_distributions import program_distributions_bound
from dpaudit.certify.witnesses.program_event import program_event_bound
from dpaudit.coins.base import Program
from dpaudit.core.claims import ApproxDP, Claim, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.claims.base import Adjacency, Unit
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import DpauditError, InvalidParameterError
from dpaudit.core.evidence import Evidence, ProgramProof, Witness
from dpaudit.core.exact import ExactLike, in_digits
from dpaudit.core.kept import once, profile_of_run, verdict_follows
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
from dpaudit.prover.values.prove import ValuesProof, first_path, prove_values
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
    "is_proved",
    "proof_control",
    "provable",
    "proved",
    "record_digest",
]

Function = TypeVar("Function", bound="Callable[..., Proving]")

#: A declaration of the data of an ordinary function.
Declared = Records | Table

#: Whether this interpreter supports steps for data of every size. Others refuse their proofs in one sentence.
READS_FRAMES = (sys.implementation.name, sys.version_info[:2]) == TESTED


#: The claim for each combination of numbers.
_KINDS = {
    ("epsilon",): PureDP,
    ("epsilon", "delta"): ApproxDP,
    ("rho",): ZeroConcentratedDP,
    ("mu",): GaussianDP,
}

#: The factor between an exact loss and the lower end of a ball around it.
BELOW = 1 - Fraction(1, 2**60)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The data and neighbours for which a privacy row's program is also proved."""

    data: Symbols
    adjacency: Adjacent

    @property
    def scope(self) -> str:
        """Return a description of what a proof of this shape covers."""
        return scope_in_words(self.data.to_json(), self.adjacency.to_json(self.data))


@dataclass(frozen=True, kw_only=True)
class Proving:
    """A program, and the claim to prove for all declared data.

    Parameters
    ----------
    program : callable
        The program. With ``Symbols`` it is ``program(coins, data)``.
    data : Symbols, Records or Table
        The data.
    adjacency : Adjacent or str, optional
        With ``Symbols``: ``OneReplaced`` or ``EachMoves``, required. Otherwise the claim's adjacency
        (replace-one).
    epsilon, delta, rho, mu : number
        The claim: ``epsilon``, ``rho``, ``mu``, or ``epsilon`` and ``delta``.
    files : sequence of str
        More files whose functions are followed, for ``Records`` or a ``Table``.

    Raises
    ------
    InvalidParameterError
        Another combination of numbers, data and adjacency.

    Notes
    -----
    For ``Records`` or a ``Table``, a ``group`` above 1 makes the claim about users.
    """

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
                "a proof requires epsilon, epsilon and delta, rho, or mu, got "
                f"{[*self._numbers] or 'none of them'}.",
                code="E-CLAIM-NUMBER",
            )
        if not isinstance(self.data, Symbols | Records | Table):
            raise InvalidParameterError(
                f"data must be Symbols, Records or a Table, got {type(self.data).__name__}.",
                code="E-DATA-TYPE",
            )
        own = isinstance(self.adjacency, Adjacent)
        if own != isinstance(self.data, Symbols):
            wanted = "OneReplaced or EachMoves" if isinstance(self.data, Symbols) else "that of a claim"
            raise InvalidParameterError(
                f"the adjacency of {type(self.data).__name__} must be {wanted}, got {self.adjacency!r}.",
                code="E-ADJACENCY-TYPE",
            )

    @property
    def _numbers(self) -> dict[str, ExactLike]:
        named = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho, "mu": self.mu}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def shape(self) -> Shape | Declared:
        """Return the data, with the neighbours if the claim does not state them."""
        if isinstance(self.data, Symbols) and isinstance(self.adjacency, Adjacent):
            return Shape(data=self.data, adjacency=self.adjacency)
        return cast("Declared", self.data)

    @property
    def scope(self) -> str:
        """Return a description of what a proof covers."""
        shape = self.shape
        return shape.scope if isinstance(shape, Shape) else shape.words

    @property
    def claim(self) -> PureDP | GaussianClaim:
        """Return the claim about exactly these data: its domain is the scope."""
        kind: Any = _KINDS[tuple(self._numbers)]
        about: dict[str, Any] = {"domain": self.scope}
        if not isinstance(self.data, Symbols):
            about["adjacency"] = self.adjacency or Adjacency.REPLACE_ONE
            about["unit"] = Unit.USER if self.data.group > 1 else Unit.EVENT
        claim: PureDP | GaussianClaim = kind(**self._numbers, **about)
        return claim

    def outcome(self) -> Outcome:
        """Return the proof as a row's evidence, or a note on why there is none."""
        return evidence_of(self.program, self.claim, self.shape, files=self.files)

    def digest(self) -> str:
        """Return a digest of the program's decision tree, of its states and trees, or of its record.

        It is the same in every process.
        """
        return record_digest(self.program, self.claim, self.shape, files=self.files)


def record_digest(
    program: Callable[..., Any],
    claim: PureDP | GaussianClaim,
    shape: Shape | Declared,
    *,
    files: Sequence[str] = (),
) -> str:
    """Return the digest of a proof's record of a program, or why there is none: the same in every process.

    In a quick run, or outside of one, it is the record of the first path of a numpy function.
    """
    try:
        tree: Any
        if not isinstance(shape, Shape):
            if profile_of_run() in (None, "quick"):
                if verdict_follows():
                    return _followed(program, claim, shape, files).start
                return first_path(program, claim, data=shape, files=files)
            found = _followed(program, claim, shape, files)
            if found.record is None:
                return found.reason
            tree = found.record
        elif not isinstance(claim, PureDP):
            tree = written_tree(explore_releases(program, shape.data))
        elif shape.data.size == EVERY:
            tree = states_and_trees(program, shape.data)
        else:
            tree = written_tree(explore_program(program, shape.data))
    except DpauditError as error:  # the row reports it
        return f"{type(error).__name__}: {error}"
    except RefusedError as refusal:
        return str(refusal)
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()


def is_proved(
    program: Callable[..., Any], claim: PureDP | GaussianClaim, shape: Declared, *, files: Sequence[str] = ()
) -> bool:
    """Return whether the claim is proved of a numpy function for all declared data. A refusal is no proof."""
    try:
        return _followed(program, claim, shape, files).verdict == "verified"
    except DpauditError:  # the row reports it
        return False


def _followed(program: Callable[..., Any], claim: Any, shape: Declared, files: Sequence[str]) -> ValuesProof:
    """Return the proof of this very program. Within a row, the fingerprint and the evidence share it."""
    proof = partial(prove_values, program, claim, data=shape, files=files)
    return once((program, type(claim), type(shape)), (claim, shape, tuple(files)), proof)


def provable(claim: Claim) -> TypeGuard[PureDP | GaussianClaim]:
    """Return whether ``prove`` supports claims of this type."""
    return isinstance(claim, (PureDP, *GAUSSIAN_CLAIMS))


def evidence_of(
    program: Callable[..., Any],
    claim: PureDP | GaussianClaim | RenyiDP,
    shape: Shape | Declared,
    *,
    files: Sequence[str] = (),
) -> Outcome:
    """Prove ``program`` for these data.

    Return evidence on ``claim`` if there is a checked bound, and otherwise a note with the reason.
    """
    if not isinstance(shape, Shape):
        followed = _followed(program, claim, shape, files)
        evidence = _proof(followed.record, followed.bound, claim, shape.words, followed.assumptions)
        return Outcome(evidence, [f"a proof for {shape.words}: {_in_words(followed, claim)}"])
    if isinstance(claim, RenyiDP):
        raise InvalidParameterError(
            "a RenyiDP claim is proved for Records or a Table, got Symbols.", code="E-CLAIM-NOT-PROVABLE"
        )
    found = prove(program, claim, data=shape.data, adjacency=shape.adjacency)
    notes = [f"a proof for {found.scope}: {_in_words(found, claim)}"]
    return Outcome([*_evidence(found, claim), *_witness(found, claim)], notes)


def accounting_of(program: Program, sites: Sequence[Site], shape: Shape) -> Outcome:
    """Derive the accounting of ``program`` by exploration, as a note.

    Values above the declared accounting become unmet conditions. Return neither if exploration is impossible.
    """
    try:
        derived = derived_accounting(program, data=shape.data, adjacency=shape.adjacency)
    except RefusedError:
        return Outcome([])
    parts = [
        f"{name}: {item.touches} affected, each changed by at most {item.sensitivity}, {item.cost} in all"
        for name, item in sorted(derived.sites.items())
    ]
    notes = [f"derived for {shape.scope}: {'; '.join(parts) or 'no release'}; total {derived.total}"]
    return Outcome([], notes, undeclared(derived, sites))


def derived_cost(program: Program, shape: Shape, *, site: str = "") -> Measured:
    """Return the exact cost of one change in all releases, or the number of sites it affects at ``site``."""
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
    """Return the number as it is if that is short, and otherwise rounded up."""
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
    """Return a witness against a claim of exactly this scope, if a report allows computing it again."""
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
    """Return the bound of a witness, or ``None`` for an infinite loss."""
    if form == "transcript":  # exact here, and computed again in balls
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
    """Return a decorator that adds the row ``id``, whose function returns a ``Proving`` for a point.

    With a grid every point is a cell with a claim about its own size. The docstring holds title and text. The
    other parameters are those of ``evidence``.
    """

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
    """Return a control (``controls``) whose verdict is that of a proof of the program."""
    return Control(
        claim=proving.claim,
        evaluate=lambda run: proving.outcome(),
        expect=expect,
        about=about,
        digest=lambda seed: proving.digest(),
    )
