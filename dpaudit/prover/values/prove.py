"""Prove a privacy claim about a function for all declared data: explore, certify, check."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import FunctionType
from typing import Any

import numpy as np

from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.claims.base import Adjacency, Adversary, Unit
from dpaudit.core.data import EVERY, Records, Table, declared, require_domain_only, sample_pair
from dpaudit.core.errors import BrokenHarnessError, CodedError, InvalidParameterError
from dpaudit.core.exact import exact, in_figures
from dpaudit.core.kept import once
from dpaudit.kernel import program_t0
from dpaudit.kernel.check import derived_bound
from dpaudit.kernel.kernel_t0 import CertificateError
from dpaudit.kernel.values.check import (
    PROOF,
    Checked,
    ValuesProofError,
    boxes_of,
    check,
    concluded,
    path_costs,
)
from dpaudit.kernel.values.claim import ASSUMED, ROUNDING
from dpaudit.kernel.values.costs import Cost, guarantees
from dpaudit.kernel.values.info import RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import Poly
from dpaudit.kernel.values.views import read_view
from dpaudit.prover.alignment import Alignment
from dpaudit.prover.certificate import merged_fields, written_tree
from dpaudit.prover.claims import require_provable
from dpaudit.prover.explore import Explored, Path, Walk, explore
from dpaudit.prover.forms import Form
from dpaudit.prover.regions import merge, patterns
from dpaudit.prover.symbols import RefusedError
from dpaudit.prover.values.cross_check import cross_check
from dpaudit.prover.values.gaussian_cells import gaussian_cells, has_gaussian
from dpaudit.prover.values.interpreter import Interpreter
from dpaudit.prover.values.matrices import index
from dpaudit.prover.values.opaque import candidate
from dpaudit.prover.values.operations import content
from dpaudit.prover.values.programs import described, unwrapped_program
from dpaudit.prover.values.run import NotFollowedError, ProgramRaisedError, Record, Run
from dpaudit.prover.values.samples import Worlds, quiet
from dpaudit.prover.values.texts import text_records
from dpaudit.prover.values.values import Array, Coins, Frame, Generator
from dpaudit.prover.values.whole_numbers import ImpossiblePathError

__all__ = ["ASSUMPTIONS", "ValuesProof", "bound_of", "first_path", "prove_values"]

#: The attempt that follows linear combinations of Gaussian noise, if an earlier one met any.
CORRELATED = (False, True, True)
MAX_PATHS, MAX_CORNERS = 1_000, 4_096
#: The largest number of functions and classes that are not followed.
MAX_OPAQUE = 4
ASSUMPTIONS = ASSUMED

PrivacyClaim = PureDP | ApproxDP | ZeroConcentratedDP | GaussianDP | RenyiDP


@dataclass(frozen=True, kw_only=True)
class ValuesProof:
    """The result of a proof attempt.

    Attributes
    ----------
    verdict : str
        ``verified`` or ``inconclusive``.
    bound : Fraction or None
        Derived upper bound on the claimed quantity.
    scope : str
        The claim and the declared data, in words.
    reason : str
        Why the claim is not proved. Empty if it is.
    paths : int
        Number of explored paths.
    certificate : dict or None
        The certificate that the kernel checks, if the claim is proved.
    assumptions : tuple of str
        The assumptions of the proof.
    lines : tuple of str
        ``file:line`` of each recorded step.
    record : dict or None
        The recorded steps in the format of the certificate, also if the claim is not proved.
    start : str
        Digest of the record of the first path.
    """

    verdict: str
    bound: Fraction | None
    scope: str
    reason: str = ""
    paths: int = 0
    certificate: dict[str, Any] | None = field(default=None, repr=False)
    assumptions: tuple[str, ...] = ASSUMPTIONS
    lines: tuple[str, ...] = field(default=(), repr=False)
    record: dict[str, Any] | None = field(default=None, repr=False)
    start: str = field(default="", repr=False)

    def __str__(self) -> str:
        found = [f"{self.verdict.upper()}: {self.scope}"]
        if self.bound is not None:
            found.append(
                f"derived bound {in_figures(self.bound)}"
                + (f", {self.paths} paths" if self.paths > 1 else "")
            )
        if self.reason:
            found.append(self.reason[:600])
        return "\n  ".join(found)


def prove_values(
    program: Callable[..., Any],
    claim: PrivacyClaim,
    *,
    data: Records | Table,
    files: Sequence[str] = (),
    seconds: float = 60.0,
) -> ValuesProof:
    """Prove a privacy claim for all declared data, all neighbours and all outcomes.

    Parameters
    ----------
    program : callable
        ``program(data, rng)``, ``program(coins, data)``, or ``program(data)`` if it creates its generator.
    claim : PureDP, ApproxDP, ZeroConcentratedDP, GaussianDP or RenyiDP
        The claim, for real arithmetic and participation of everybody.
    data : Records or Table
        The declaration of the data.
    files : sequence of str
        Additional files whose functions are followed.
    seconds : float
        Time limit in seconds (60).

    Returns
    -------
    ValuesProof
        The verdict is ``verified`` if the kernel derives the claim from the recorded steps, and otherwise
        ``inconclusive``.

    Raises
    ------
    InvalidParameterError
        The claim, the data or the program is not supported.
    BrokenHarnessError
        The interpreter contradicts numpy or CPython, which is a bug of dpaudit.
    """
    start = _Start(alone=False)
    found = _searched(program, claim, data, files, time.monotonic() + seconds, start)
    return replace(found, start=start.digest)


def first_path(
    program: Callable[..., Any],
    claim: PrivacyClaim,
    *,
    data: Records | Table,
    files: Sequence[str] = (),
    seconds: float = 60.0,
) -> str:
    """Return the ``start`` of the proof that ``prove_values`` makes, without exploring the other paths."""
    start = _Start(alone=True)
    with suppress(_StartedError):
        _searched(program, claim, data, files, time.monotonic() + seconds, start)
    return start.digest


def _searched(
    program: Callable[..., Any],
    claim: PrivacyClaim,
    data: Records | Table,
    files: Sequence[str],
    until: float,
    start: _Start,
) -> ValuesProof:
    """Try the kinds of attempts in turn, and return the first proof or the smallest bound."""
    _require(claim, data)
    function, fixed, receiver = unwrapped_program(program)
    setting = _setting(claim, data)
    scope = f"{claim.in_words()}; {data.words}"
    proofs: dict[tuple[bool, bool, bool], ValuesProof] = {}
    reasons: dict[tuple[bool, bool, bool], str] = {}
    order = [(False, True, False), (False, False, False)]
    if claim.adversary is Adversary.OBLIVIOUS:  # a proof with hidden noise requires data fixed in advance
        order.append((True, True, False))
    followed = frozenset({function.__code__.co_filename, *files})

    opaque: frozenset[Any] = frozenset()
    attempts, may_defer = order, order[-1][0]
    while attempts:
        kind, *attempts = attempts
        hidden, picks, correlates = kind
        attempt = _Attempt(
            function, receiver, fixed, claim, data, setting(), followed, hidden, picks, until, may_defer,
            opaque, correlates, start,
        )  # fmt: skip
        may_defer = False
        try:
            explored = attempt.shared()
            start.join(explored.start)
            found = proofs[kind] = explored.judged(claim, scope)
        except _TooExpensiveError:
            attempts = [order[-1], *order[:-1]]
            continue
        except RefusedError as error:
            start.add(attempt.record, str(error))
            more = candidate(attempt.record)
            if more is not None and len(opaque) < MAX_OPAQUE:
                opaque |= {more}
                attempts = [kind, *attempts]
                continue
            reasons[kind] = str(error)
        else:
            if found.verdict == "verified":
                return found
            attempt = explored
            if not attempt.could_hide:
                attempts = [one for one in attempts if not one[0]]
        if not attempt.hidden and not attempt.picked:
            attempts = [one for one in attempts if one[1]]
        if attempt.record.combines and CORRELATED not in order:
            order.append(CORRELATED)
            attempts = [CORRELATED, *attempts]
    best: ValuesProof | None = None
    for kind in order:
        if kind in proofs and (best is None or _smaller(proofs[kind].bound, best.bound)):
            best = proofs[kind]
    if best is not None:
        return best
    return ValuesProof(verdict="inconclusive", bound=None, scope=scope, reason=_all_reasons(reasons))


def _all_reasons(reasons: dict[tuple[bool, bool, bool], str]) -> str:
    """Return the different reasons of all attempts, those without hidden or correlated noise first."""
    words: dict[str, str] = {}
    for (hidden, _, correlates), reason in sorted(reasons.items()):
        what = "attempt with hidden noise: " if hidden else "attempt with correlated noise: "
        words.setdefault(reason, what if hidden or correlates else "")
    return "not followed: " + "; ".join(what + reason for reason, what in words.items())


def _smaller(bound: Fraction | None, other: Fraction | None) -> bool:
    return bound is not None and (other is None or bound < other)


def _require(claim: Any, data: Any) -> None:
    kinds = (PureDP, ApproxDP, ZeroConcentratedDP, GaussianDP, RenyiDP)
    require_provable(claim, kinds, stated=("view", "adversary"))
    if not isinstance(data, Records | Table):
        raise InvalidParameterError(
            f"data must be Records or Table, got {type(data).__name__}.", code="E-DATA-TYPE"
        )
    require_domain_only(data)
    texts = isinstance(data, Records) and data.columns[""].kind == "t"
    if data.container == "list" and not texts and (data.size == EVERY or data.columns[""].width is not None):
        raise InvalidParameterError(
            f"a list requires a fixed number of records with one number each, got {data.words}. Declare an"
            " array, or prove a program of plain loops with dpaudit.prove.",
            code="E-DATA-LIST",
        )
    if (claim.unit is Unit.USER) != (data.group > 1) and claim.unit is Unit.USER:
        raise InvalidParameterError(
            "a claim with unit='user' requires data with group=m, the largest number of records of one user."
            " If each user has one record, use unit='event'.",
            code="E-UNIT-GROUP",
        )
    if claim.unit is Unit.EVENT and data.group > 1:
        raise InvalidParameterError(
            f"data with group={data.group} require a claim with unit='user', got unit='event'.",
            code="E-UNIT-GROUP",
        )


def _setting(claim: PrivacyClaim, data: Records | Table) -> Callable[[], Setting]:
    size = None if data.size == EVERY else int(data.size)
    return lambda: Setting(
        low={},
        adjacency=claim.adjacency.value,
        size=size,
        at_least=data.at_least,
        group=data.group,
        view=read_view(claim.view.to_json()),
    )


def _require_an_end(explored: Explored) -> None:
    """Refuse a program that raises on every path: a proof of that would say nothing about its releases."""
    last = [path.events[-1] if path.events else () for path in explored.paths]
    if all(event[:1] == ("show",) and str(event[1]).startswith("raised ") for event in last):
        raise NotFollowedError(f"the program raises on every path, so nothing is proved: {last[0][1][7:300]}")


def _branches_on_outcome(events: Sequence[Any]) -> bool:
    """Return whether a path branches on an outcome, so that hidden noise might be cheaper."""
    return any(
        event[0] == "fork" or (event[0] == "show" and event[1].startswith("truth")) for event in events
    )


class _StartedError(CodedError):
    """The first path is recorded, and nothing else was asked for."""

    code = "E-FIRST-PATH-ONLY"


@dataclass(eq=False)
class _Start:
    """A digest of what is recorded up to the end of the first path of the first attempt that gets there.

    If ``alone`` is true, the search ends there.
    """

    alone: bool
    digest: str = ""
    ended: bool = False

    def add(self, record: Record, end: object) -> None:
        """Add the record of an attempt that ended on its first path with a refusal, or the first path."""
        if not self.ended:
            tables = record.nodes, record.draws, record.releases, record.channels, record.repetitions
            text = json.dumps([self.digest, *tables, str(end)], sort_keys=True)
            self.digest = hashlib.sha256(text.encode()).hexdigest()

    def join(self, earlier: _Start) -> None:
        """Use what an earlier search with the same attempt has recorded."""
        if not self.ended:
            self.digest, self.ended = earlier.digest, earlier.ended

    def first(self, record: Record, path: Path) -> None:
        """Add the record at the end of a first path."""
        self.add(record, path.events)
        self.ended = True
        if self.alone:
            raise _StartedError("the first path is recorded")


class _TooExpensiveError(CodedError):
    """The first path of an attempt costs too much, so other kinds of attempts come first."""

    code = "E-FIRST-PATH-COST"


@dataclass(eq=False)
class _Attempt:
    """One exploration of all paths.

    Noise is released when it is used. If ``hidden`` is true, it may stay hidden in comparisons instead.
    """

    function: FunctionType
    receiver: tuple[Any, ...]
    fixed: dict[str, Any]
    claim: PrivacyClaim
    data: Records | Table
    s: Setting
    files: frozenset[str]
    hidden: bool
    picks: bool
    until: float
    may_defer: bool
    opaque: frozenset[Any] = frozenset()
    correlates: bool = False
    start: _Start = field(default_factory=lambda: _Start(alone=False))

    def __post_init__(self) -> None:
        self.record = Record(self.s, opaque=self.opaque)
        self.worlds, self.arrays = _worlds(self.s, self.data, self.claim.adjacency)
        self.could_hide = False
        self.broken: BrokenHarnessError | InvalidParameterError | None = None
        self.kinds: list[str] = []
        self.paths = 0
        self.certificate: dict[str, Any] = {}
        #: What the kernel derives from the certificate, or why it derives nothing.
        self.checked: Checked | str = "no certificate"

    def shared(self) -> _Attempt:
        """Return this attempt after its exploration, or an earlier one of the same row that is the same.

        Without hidden noise and without a delta, the exploration does not depend on the claimed number.
        """
        alike = not self.hidden and not isinstance(self.claim, ApproxDP)
        same = (self.function, *self.receiver, *self.fixed.values())
        claimed = (self.claim.adjacency, self.claim.view, None if alike else self.claim)
        kind = (self.hidden, self.picks, self.correlates, self.opaque, self.files)
        return once(same, (tuple(self.fixed), self.data, *claimed, *kind), self.explored)

    def explored(self) -> _Attempt:
        """Explore all paths, compare the interpreter with CPython, and check the resulting certificate."""
        try:
            explored = explore(self._once, max_paths=MAX_PATHS, watch=self._after_first_path)
        except RefusedError as error:
            if self.broken is not None:
                raise self.broken from None
            if "more than" in str(error) and "paths" in str(error):
                raise NotFollowedError(
                    f"the program has more than {MAX_PATHS:,} paths (public decisions multiply them)"
                ) from None
            raise
        if self.broken is not None:  # raised on a separate run, which searches for an endless loop
            raise self.broken
        _require_an_end(explored)
        self._cross_check()
        self.could_hide = any(_branches_on_outcome(path.events) for path in explored.paths)
        self._split(explored)
        try:
            cells, groups = self._cells(explored)
        except program_t0.ProgramProofError as error:
            raise NotFollowedError(f"hidden comparisons: {error}") from error
        self.paths = len(explored.paths)
        self.certificate = {
            "proof": PROOF,
            "data": declared(self.data),
            "adjacency": {"kind": self.s.adjacency, "group": self.s.group},
            "view": self.claim.view.to_json(),
            "nodes": self.record.nodes,
            "draws": self.record.draws,
            "releases": self.record.releases,
            "tree": written_tree(explored),
            "cells": cells,
            **({"channels": self.record.channels} if self.record.channels else {}),
            **({"repetitions": self.record.repetitions} if self.record.repetitions else {}),
            **({} if groups is None else {"groups": groups}),
        }
        try:
            self.checked = check(self.certificate)
        except ValuesProofError as error:
            self.checked = f"no bound: {error}"
        return self

    def judged(self, claim: PrivacyClaim, scope: str) -> ValuesProof:
        """Return what the certificate proves of a claim for which this attempt would be the same."""
        if isinstance(self.checked, str):
            return ValuesProof(
                verdict="inconclusive", bound=None, scope=scope, reason=self.checked, paths=self.paths
            )
        found = self._judged(self.checked, self.certificate, claim, scope)
        exact = None if found.verdict == "verified" else self._exact(claim, scope)
        return exact if exact is not None and _smaller(exact.bound, found.bound) else found

    def _split(self, explored: Explored) -> None:
        """Give Laplace noise of private scale what the claimed epsilon leaves for changes of its scale.

        A larger part gives a smaller delta. Gaussian noise on the same path gets one part as well.
        """
        split = [release for release in self.record.releases if "split" in release]
        if not split or not isinstance(self.claim, ApproxDP):
            return
        left = []
        for path in explored.paths:
            texts = [event[1] for event in path.events if event[0] == "show"]
            count = sum(f"release {self.record.releases.index(release)}" in texts for release in split)
            try:
                costs = self._costs(path)
            except RefusedStepError:  # ``check`` reports it later
                return
            if count:
                left += [(exact(self.claim.epsilon) - c.epsilon) / (count + (c.rho > 0)) for c in costs]
        for release in split:
            release["split"] = str(max(min(left, default=Fraction(0)), Fraction(0)))

    def _exact(self, claim: PrivacyClaim, scope: str) -> ValuesProof | None:
        """Return a proof by exact probabilities of the outputs, or None if the kernel cannot read them."""
        hides = any(node[0] == "draw" for node in self.certificate["tree"])
        if not hides or not isinstance(claim, ApproxDP) or time.monotonic() > self.until:
            return None
        kept = {key: value for key, value in self.certificate.items() if key != "groups"} | {"exact": True}
        try:
            return self._judged(check(kept), kept, claim, scope)
        except ValuesProofError:
            return None

    def _after_first_path(self, path: Path) -> None:
        self.start.first(self.record, path)
        self._defer_if_too_expensive(path)

    def _defer_if_too_expensive(self, path: Path) -> None:
        """Defer the attempt if the first path costs more than the claim and noise could stay hidden.

        There may be hundreds of other paths, which matter only if an attempt with hidden noise fails.
        """
        unsplit = any("split" in release for release in self.record.releases)
        if not self.may_defer or unsplit or not _branches_on_outcome(path.events):
            return
        try:
            costs = self._costs(path)
        except RefusedStepError:  # ``check`` reports it later
            return
        bound, _ = bound_of(concluded(costs, 1), self.claim)
        if bound is not None and self.claim.bound is not None and bound > self.claim.bound * (1 + ROUNDING):
            raise _TooExpensiveError("the first path alone costs more than the claim")

    def _costs(self, path: Path) -> list[Cost]:
        """Return the costs of the releases and sessions of a path."""
        record = self.record
        tables = {
            "nodes": record.nodes,
            "draws": record.draws,
            "releases": record.releases,
            "channels": record.channels,
            "repetitions": record.repetitions,
        }
        return path_costs(self.s, record.infos, path.events, tables)

    def _once(self, walk: Walk) -> None:
        sys.settrace(None)
        with quiet():
            self._followed(walk)

    def _followed(self, walk: Walk) -> None:
        run = Run(
            self.record,
            walk,
            self.worlds,
            {},
            self.hidden,
            self.until,
            self.picks,
            most=exact(self.claim.epsilon) if isinstance(self.claim, ApproxDP) else None,
            correlates=self.correlates,
        )
        interpreter = Interpreter(run, self.files)
        try:
            function = interpreter.function(self.function)
            arguments = self._arguments(run, interpreter)
            fixed = {
                name: interpreter.enter(value, f"the fixed argument {name}")
                for name, value in self.fixed.items()
            }
            receiver = [interpreter.enter(one, "the program") for one in self.receiver]
            interpreter.run_program(function, [*receiver, *arguments], fixed)
        except (BrokenHarnessError, InvalidParameterError) as error:
            self.broken = error
            raise
        except RecursionError:
            run.refuse("calls or expressions are nested too deeply")
        except ImpossiblePathError:
            run.event("impossible")
        except ProgramRaisedError as raised:
            run.event(described(run, raised))
        finally:
            self.record.steps += run.steps
        if run.refused is not None:
            raise run.refused

    def _arguments(self, run: Run, interpreter: Interpreter) -> list[Any]:
        given = list(inspect.signature(self.function).parameters.values())[len(self.receiver) :]
        names = [p for p in given if p.name not in self.fixed]
        plain = [p for p in names if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(plain) != len(names) and any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in names):
            run.refuse("a program with *args or **kwargs is not supported")
        needed = [p for p in plain if p.default is p.empty]
        sources = ("rng", "coins", "generator", "random_state")
        if any(p.name in sources for p in names if p not in needed) or (
            len(needed) == 1 and needed[0].name in sources
        ):
            raise InvalidParameterError(
                "a program must take its generator as a parameter without a default, besides the data.",
                code="E-PROGRAM-PARAMETERS",
            )
        value = self._data(run, interpreter)
        if not 1 <= len(needed) <= 2 or any(p.default is p.empty for p in names if p not in plain):
            missing = [p.name for p in names if p.default is p.empty]
            raise InvalidParameterError(
                "a program must take (data, rng), (coins, data) or (data), and every other parameter must"
                f" have a default or be fixed by functools.partial, got {missing}.",
                code="E-PROGRAM-PARAMETERS",
            )
        if needed[0].name in ("coins", "c"):
            self.kinds = ["coins", "data"]
            return [Coins(), value]
        self.kinds = ["data", "rng"][: len(needed)]
        return [value, Generator()][: len(needed)]

    def _cross_check(self) -> None:
        """Compare the interpreter with CPython on up to four samples of the data."""
        for side in list(self.worlds.sides)[:4]:
            columns = {name: samples[side] for name, samples in self.arrays.items()}

            def arguments(columns: dict[str, Any] = columns) -> list[Any]:
                value = self.data.build({name: array.copy() for name, array in columns.items()})
                return [value if kind == "data" else None for kind in self.kinds]

            cross_check(
                self.function,
                self.receiver,
                arguments,
                self.kinds,
                self.fixed,
                self.record,
                self.files,
                side,
                self.until,
            )

    def _data(self, run: Run, interpreter: Interpreter) -> Any:
        found: dict[str, Any] = {}
        for name, column in self.data.columns.items():
            count: int | Poly = (
                Poly.symbol("N") if self.s.size is None or self.s.length_is_private else self.s.size
            )
            shape = (count,) if column.width is None else (count, column.width)
            params = {**column.to_json(name), "shape": shape}
            del params["width"]
            found[name] = Array(run.step("data", [], params, self.arrays[name]), shared=True)
        if self.data.container == "frame":
            return Frame(found)
        if self.data.container == "table":
            interpreter.frozen[id(found)] = found
            return found
        if self.data.container == "list" and self.data.columns[""].kind == "t":
            texts = text_records(run, content(found[""]))
            interpreter.frozen[id(texts)] = texts
            return texts
        if self.data.container == "list":
            if run.s.length_is_private:
                run.refuse("a list requires a public number of records (declare an array)")
            kind = self.data.columns[""].kind
            items = [
                run.step("cast", [index(run, found[""], k)], {"kind": kind, "python": True})
                for k in range(self.s.size or 0)
            ]
            interpreter.frozen[id(items)] = items
            return items
        return found[""]

    # Cells (sets of paths with the same output) and shifts of hidden noise.

    def _cells(self, explored: Explored) -> tuple[list[dict[str, Any]], list[list[int]] | None]:
        """Return the cells, and their groups if Gaussian noise is hidden."""
        paths = explored.paths
        if not any(path.draws for path in paths):
            return [{"paths": [k]} for k in range(len(paths))], None
        forms = [row.form for path in paths for row in path.rows.values()]
        forms += [form for path in paths for form in path.shown_forms()]
        used = {name for form in forms for name in form.terms if name.startswith("x")}
        names = sorted(used, key=lambda name: int(name[1:]))
        try:
            boxes = boxes_of(self.s, self.record.infos, names)
        except RefusedStepError as error:
            raise NotFollowedError(str(error)) from error
        checker = program_t0.Data(tuple(names), False, {}, boxes)
        if has_gaussian(explored):
            alone = isinstance(self.claim, ApproxDP) and not self._releases_gaussian(explored)
            at = Fraction(self.claim.epsilon) if alone else None  # type: ignore[union-attr,arg-type]
            return gaussian_cells(explored, checker, epsilon=at, until=self.until)
        cells: list[dict[str, Any]] = []
        merges = not self._releases_gaussian(explored)
        for members in patterns(paths, range(len(paths))):
            cells += self._best_cells(explored, members, checker, merges=merges)
        return cells, None

    def _releases_gaussian(self, explored: Explored) -> bool:
        """Return whether a path has a Gaussian release. Then each path must be a cell of its own."""
        try:
            return any(cost.rho or cost.special for path in explored.paths for cost in self._costs(path))
        except RefusedStepError:  # ``check`` reports it later
            return False

    def _best_cells(
        self, explored: Explored, members: Sequence[int], checker: program_t0.Data, *, merges: bool
    ) -> list[dict[str, Any]]:
        whole = self._merged(explored, members, checker) if merges and len(members) > 1 else None
        if whole is not None and whole[0] <= (self.claim.bound or 0):
            return whole[1]
        alone = self._alone(explored, members, checker)
        found = [one for one in (whole, alone) if one is not None]
        if not found:
            raise NotFollowedError("no shift of the hidden noise keeps the path and the output")
        return min(found, key=lambda one: one[0])[1]

    def _merged(
        self, explored: Explored, members: Sequence[int], checker: program_t0.Data
    ) -> tuple[Fraction, list[dict[str, Any]]] | None:
        """Return the cost and cell of all paths with the same output merged into one region, or None."""
        merged = merge(explored, members, {})
        if merged is None:
            return None
        first = explored.paths[members[0]]
        supports = [row.form for name, row in first.rows.items() if name.startswith("n")]
        shifts = self._shifts(first, [*merged.rows, *supports], checker)
        if shifts is None:
            return None
        return shifts[0], [{"paths": list(members), "shifts": shifts[1], **merged_fields(merged)}]

    def _alone(
        self, explored: Explored, members: Sequence[int], checker: program_t0.Data
    ) -> tuple[Fraction, list[dict[str, Any]]] | None:
        worst, cells = Fraction(0), []
        for k in members:
            path = explored.paths[k]
            found = self._shifts(path, [row.form for row in path.comparisons.values()], checker)
            if found is None:
                return None
            worst = max(worst, found[0])
            cells.append({"paths": [k], "shifts": found[1]})
        return worst, cells

    def _shifts(
        self, path: Any, rows: Sequence[Form], checker: program_t0.Data
    ) -> tuple[Fraction, dict[str, list[str]]] | None:
        solver = Alignment(rows, path.shown_forms(), [], path.draws)
        route = program_t0.Route(
            0,
            {},
            draws=tuple((draw.distribution, draw.scale) for draw in path.draws),
            forms=tuple(_plain(form) for form in path.shown_forms()),
        )
        kept = {str(k): (_plain(form), False) for k, form in enumerate(rows)}
        worst, table = Fraction(0), {}
        for count, moved in enumerate(checker.extremes(program_t0.Cell(route, kept, {}))):
            if count >= MAX_CORNERS or time.monotonic() > self.until:
                raise NotFollowedError(
                    f"hidden comparisons have over {MAX_CORNERS:,} extreme changes, or exceed the time limit"
                )
            aligned = solver.best(moved)
            if aligned is None:
                return None
            table[",".join(str(moved.get(name, 0)) for name in checker.names)] = [
                str(shift) for shift in aligned.shifts
            ]
            worst = max(worst, aligned.cost)
        return worst, table

    # The verdict.

    @property
    def picked(self) -> bool:
        """Return whether only the position of a noisy score was released, not the scores."""
        return any(release["law"] == "argmax" for release in self.record.releases)

    def _judged(
        self, checked: Checked, certificate: dict[str, Any], claim: PrivacyClaim, scope: str
    ) -> ValuesProof:
        bound, reason = bound_of(checked, claim)
        claimed = claim.bound
        if claim.adversary is Adversary.ADAPTIVE and not checked.adaptive:
            bound, reason = None, "a proof with hidden noise requires data that are fixed in advance"
        holds = bound is not None and claimed is not None and bound <= claimed * (1 + ROUNDING)
        if bound is not None and not holds:
            reason = (
                f"the derived bound {in_figures(bound)} is above the claim{_released_at(self, certificate)}"
            )
        return ValuesProof(
            verdict="verified" if holds else "inconclusive",
            bound=bound,
            scope=scope,
            reason="" if holds else reason,
            paths=checked.paths,
            certificate=certificate if holds else None,
            lines=tuple(self.record.lines),
            record=certificate,
        )


def bound_of(checked: Checked, claim: PrivacyClaim) -> tuple[Fraction | None, str]:
    """Return the bound that a checked record gives on the claimed quantity, or None and the reason."""
    if not isinstance(claim, ApproxDP) and any(cost.delta for cost in checked.costs):
        return None, "the bound fails with a probability, so it is a bound on delta only (claim ApproxDP)"
    if isinstance(claim, PureDP) and checked.epsilon is None and not checked.mechanisms:
        return None, "Gaussian noise has no finite epsilon (claim ApproxDP, ZeroConcentratedDP or GaussianDP)"
    if isinstance(claim, GaussianDP) and checked.mu_squared is None:
        return None, "only Gaussian noise has a bound on mu (claim PureDP, ApproxDP or ZeroConcentratedDP)"
    try:
        found = guarantees(checked, claim.to_json())
        return max(derived_bound(guarantee, claim) for guarantee in found), ""
    except CertificateError as error:
        return None, str(error)


def _released_at(attempt: _Attempt, certificate: dict[str, Any]) -> str:
    """Return the lines of up to five released values, as text."""
    try:
        events = [
            node[1]
            for node in certificate["tree"]
            if node[0] == "show" and str(node[1]).startswith("release ")
        ]
        lines = [
            attempt.record.lines[attempt.record.releases[int(text.split()[1])]["node"]] for text in events
        ]
        lines += [
            attempt.record.lines[int(node[1].split()[2])]
            for node in certificate["tree"]
            if node[0] == "show" and str(node[1]).startswith("ask ")
        ]
    except (KeyError, IndexError, ValueError):
        return ""
    places = list(dict.fromkeys(line for line in lines if line))
    return f". The released values are computed at {', '.join(places[:5])}" if places else ""


def _plain(form: Form) -> program_t0.Form:
    return program_t0.make(form.terms, form.constant)


def _worlds(s: Setting, data: Records | Table, adjacency: Adjacency) -> tuple[Worlds, dict[str, list[Any]]]:
    """Draw sample neighbours, of several sizes if every size is declared, and few for many records."""
    rng = np.random.default_rng(20_240_229)
    sizes = (
        [data.at_least, data.at_least + 1, data.at_least + 4] if data.size == EVERY else [int(data.size)] * 3
    )
    if data.size != EVERY and int(data.size) > 20_000:
        sizes = sizes[:1]
    columns: dict[str, list[Any]] = {name: [] for name in data.columns}
    counts = []
    for size in sizes:
        fewer = size - data.group if adjacency is Adjacency.ADD_REMOVE and data.size != EVERY else size
        left, right = sample_pair(data, adjacency=adjacency, size=max(fewer, 1), rng=rng)
        for name in columns:
            columns[name] += [left[name], right[name]]
        first = next(iter(columns))
        counts += [len(left[first]), len(right[first])]
    return Worlds(s, counts), columns
