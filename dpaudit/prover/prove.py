"""Prove a privacy claim of a program for all data, neighbours and outcomes, or return the reason why not.

Every bound comes from a checker of ``dpaudit/kernel``, such as ``program_t0.py``, which derives it from the
certificate. The code here only proposes certificates. A program that the prover cannot follow is
``inconclusive``, with a reason of one sentence that names the place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.coins.base import Program
from dpaudit.core.claims import PureDP
from dpaudit.core.claims.base import Adjacency, Unit
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import PUBLIC, View
from dpaudit.kernel import finite_t0, program_t0, step_t0
from dpaudit.kernel.claim_t0 import ASSUMED_AT_EVERY_SIZE, scope_in_words
from dpaudit.prover.alignment import Aligned, Alignment
from dpaudit.prover.attained import attained
from dpaudit.prover.branches import in_pairs
from dpaudit.prover.certificate import merged_fields, written_tree
from dpaudit.prover.change_of_variables import Part, change_of_variables
from dpaudit.prover.claims import require_provable
from dpaudit.prover.data import EVERY, Adjacent, OneReplaced, Symbols, symbols_of
from dpaudit.prover.event_body import event_body
from dpaudit.prover.every_size import prove_every_size
from dpaudit.prover.explore import Explored, Path
from dpaudit.prover.finite import bounds, distribution_of, largest_ratio, trees
from dpaudit.prover.forms import ZERO, Form, Row
from dpaudit.prover.gaussian import GAUSSIAN_CLAIMS, GaussianClaim, prove_gaussian
from dpaudit.prover.proof import Bound, Proof, too_large, with_rounding_hint
from dpaudit.prover.reading import require_readable
from dpaudit.prover.refutation import Ray, both_inside, outcomes, refuted
from dpaudit.prover.regions import Merged, merge, patterns, similar_paths
from dpaudit.prover.steps import enough_steps
from dpaudit.prover.symbols import RefusedError
from dpaudit.prover.whole_program import explore_program

__all__ = ["prove"]

#: Changes of the data that are tried for one outcome when a refutation is searched.
MAX_CHANGES = 256


def prove(
    program: Program,
    claim: PureDP | GaussianClaim,
    *,
    data: Records | Table | Symbols,
    adjacency: Adjacent | None = None,
) -> Proof:
    """Prove a privacy claim for all data, neighbours and outcomes.

    Parameters
    ----------
    program : callable
        A plain function ``program(coins, data)`` that takes all randomness from ``coins``.
    claim : PureDP, ZeroConcentratedDP, GaussianDP or ApproxDP
        All but PureDP require a fixed size, and Gaussian noise on released values as the only randomness.
    data : Records, Table or Symbols
        ``Records(..., container="list")`` declares the list of records, one of which is replaced.
        ``Symbols`` declare symbolic records for the changes that ``adjacency`` describes.
    adjacency : EachMoves or OneReplaced, optional
        The changes of ``Symbols`` that make neighbours. Leave it out for ``Records`` and ``Table``.

    Returns
    -------
    Proof
        The verdict, the proved bound, its scope, the certificate, and a reason if the claim is not proved.

    Raises
    ------
    InvalidParameterError
        The claim is of another kind, or is not about one replaced event in the public view over exact
        numbers, or the data and the adjacency do not fit.

    Examples
    --------
    >>> def noisy_sum(coins, data):
    ...     coins.release(sum(data), Laplace(scale=2), site="sum")
    >>> prove(noisy_sum, PureDP(epsilon="1/2"), data=Symbols(3), adjacency=OneReplaced(by=1)).bound
    Fraction(1, 2)
    """
    if isinstance(data, Records | Table):
        if adjacency is not None:
            raise InvalidParameterError(
                f"adjacency must be left out for declared data, where the claim sets it, got {adjacency!r}.",
                code="E-ADJACENCY-TWICE",
            )
        data, adjacency = symbols_of(data), OneReplaced()
    data, adjacency = _required(claim, data, adjacency)
    scope = scope_in_words(data.to_json(), adjacency.to_json(data))
    if not isinstance(claim, PureDP):
        return prove_gaussian(program, claim, data, adjacency, scope)
    return with_rounding_hint(_pure(program, claim, data, adjacency, scope), claim.bound)


def _pure(program: Program, claim: PureDP, data: Symbols, adjacency: Adjacent, scope: str) -> Proof:
    if data.size == EVERY:
        return _at_every_size(program, claim, data, adjacency, scope)
    try:
        require_readable(program)
        by_distribution = _finite(program, claim, data, adjacency, scope)
        if by_distribution is not None:
            return by_distribution
        explored = explore_program(program, data)
    except RefusedError as refusal:
        return Proof(verdict="inconclusive", bound=None, scope=scope, reason=str(refusal))
    try:
        search = _Search(explored, claim, data, adjacency, scope, program)
        return in_pairs(search.proof(), search.fields, explored, claim)
    except (program_t0.ProgramProofError, ValueError) as error:
        return too_large(error, scope)


def _at_every_size(program: Program, claim: PureDP, data: Symbols, adjacency: Adjacent, scope: str) -> Proof:
    """Prove the claim by one generic step of the program's loop. Without a proof, return inconclusive."""
    try:
        found = prove_every_size(program, claim.bound, data, adjacency)
    except step_t0.StepProofError as error:
        return too_large(error, scope)
    return Proof(
        verdict="verified" if found.bound is not None and found.bound <= claim.bound else "inconclusive",
        bound=found.bound,
        scope=scope,
        reason=found.reason,
        paths=found.paths,
        certificate=found.certificate,
        assumptions=list(ASSUMED_AT_EVERY_SIZE),
    )


def _finite(program: Program, claim: PureDP, data: Symbols, adjacency: Adjacent, scope: str) -> Proof | None:
    """Compare the exact output distributions of all datasets, if data and draws are finite (rule E)."""
    explored = trees(program, data)
    distributions = (
        None if explored is None else {numbers: distribution_of(tree) for numbers, tree in explored.items()}
    )
    found = None if distributions is None else largest_ratio(distributions, data, adjacency)
    if explored is None or found is None:
        return None
    ratio, where = found
    proof = {
        "proof": "program, exact distributions",
        "claim": {"epsilon": str(claim.bound)},
        "bound": str(bounds(ratio)[1]),
        "data": data.to_json(),
        "adjacency": adjacency.to_json(data),
        "trees": [written_tree(tree) for tree in explored.values()],
    }
    above: Bound = math.inf
    verdict, certificate = "refuted", None
    if ratio != math.inf:
        try:
            checked = finite_t0.check(proof)
        except finite_t0.FiniteProofError as error:
            reason = f"the certificate was not accepted: {error}"
            return Proof(verdict="inconclusive", bound=None, scope=scope, reason=reason)
        above, certificate = checked.epsilon, proof
        verdict = "verified" if checked.holds else "refuted" if checked.refutes else "inconclusive"
    left_right_shown = [list(part) for part in where]
    witness = {
        "kind": "exact distributions",
        "ratio": str(ratio),
        "left, right, shown": left_right_shown,
        "form": "program-distributions",
        "body": {"view": View.of(PUBLIC).to_json(), **{name: proof[name] for name in finite_t0.FIELDS}},
    }
    reason = ""
    if where:
        left, right, shown = where
        reason = (
            f"the output {shown} is possible on {left} and impossible on {right}."
            if ratio == math.inf
            else f"the output {shown} is {ratio} times as likely on {left} as on {right}."
        )
    return Proof(
        verdict=verdict,
        bound=above,
        scope=scope,
        reason="" if verdict == "verified" else reason,
        paths=sum(len(tree.paths) for tree in explored.values()),
        certificate=certificate,
        witness=witness if verdict == "refuted" else None,
    )


def _required(claim: PureDP | GaussianClaim, data: Any, adjacency: Any) -> tuple[Symbols, Adjacent]:
    require_provable(claim, (PureDP, *GAUSSIAN_CLAIMS))
    if claim.adjacency is not Adjacency.REPLACE_ONE or claim.unit is not Unit.EVENT:
        raise InvalidParameterError(
            f'prove supports only claims with adjacency="replace-one" and unit="event", got '
            f"{claim.adjacency.value} and {claim.unit.value}.",
            code="E-CLAIM-NOT-REPLACE-ONE",
        )
    if not isinstance(adjacency, Adjacent) or not isinstance(data, Symbols):
        raise InvalidParameterError(
            "data must be Records, or Symbols with an adjacency such as EachMoves(), got "
            f"{type(data).__name__} and {type(adjacency).__name__}.",
            code="E-DATA-NOT-SYMBOLIC",
        )
    if data.size == EVERY and not isinstance(claim, PureDP):
        raise InvalidParameterError(
            f"a claim about data of every size must be a PureDP claim, got {claim!r}. Other claims need a "
            "fixed size.",
            code="E-CLAIM-EVERY-SIZE",
        )
    if (
        data.size != EVERY
        and data.integers
        and any(
            end.denominator != 1
            for piece in adjacency.pieces(data)
            for ends in piece.values()
            for end in ends
        )
    ):
        raise InvalidParameterError(
            f"integers must change by whole numbers, got {adjacency}.", code="E-ADJACENCY-NOT-WHOLE"
        )
    return data, adjacency


@dataclass(eq=False)
class _Search:
    """Search for the cells and shifts of one explored program."""

    explored: Explored
    claim: PureDP
    data: Symbols
    adjacency: Adjacent
    scope: str
    program: Program

    def __post_init__(self) -> None:
        self.fields = {
            "proof": "program, own regions",
            "claim": {"epsilon": str(self.claim.bound)},
            "data": self.data.to_json(),
            "adjacency": self.adjacency.to_json(self.data),
            "tree": written_tree(self.explored),
        }
        self.checker = program_t0.Data.read(self.fields["data"], self.fields["adjacency"])
        self.pieces = self.adjacency.pieces(self.data)
        self.inexact = False
        self.regions: dict[int, Merged | None] = {}

    def proof(self) -> Proof:
        """Return verified by a checked certificate, else refuted by a checked witness, else inconclusive."""
        cells: list[dict[str, Any]] = []
        failed: list[int] = []
        for similar in similar_paths(self.explored.paths):
            found = [self._cells(members) for members in patterns(self.explored.paths, similar)]
            worst = max((math.inf if one is None else one[0] for one in found), default=ZERO)
            if worst > self.claim.bound and len(similar) > 1:
                solved = change_of_variables(self._parts(similar), self.data.domain(), self.pieces)
                if solved is not None and solved[0] < worst:
                    cells.append(solved[1])
                    continue
            for members, one in zip(patterns(self.explored.paths, similar), found, strict=True):
                if one is None:
                    failed.extend(members)
                else:
                    cells.extend(one[1])
        bound, reason, certificate = self._without(failed) if failed else self._checked(cells)
        verdict, witness = "verified", None
        if bound is None or bound > self.claim.bound:
            witness = self._witness()
            verdict = "refuted" if witness else "inconclusive"
            reason = str(witness["reason"]) if witness else reason
        return Proof(
            verdict=verdict,
            bound=bound,
            scope=self.scope,
            reason=reason,
            paths=len(self.explored.paths),
            certificate=certificate,
            witness=witness,
        )

    def _parts(self, similar: Sequence[int]) -> list[Part]:
        """Return cells for a change of variables: equal paths are merged if they form one region."""
        parts = []
        for members in patterns(self.explored.paths, similar):
            merged = self._merged(members)
            if merged is None:
                for i in members:
                    path = self.explored.paths[i]
                    parts.append(Part(path, path.comparisons, {"paths": [i]}))
                continue
            first = self.explored.paths[members[0]]
            rows = {f"k{i}": Row(form, strict=False) for i, form in enumerate(merged.rows)}
            rows |= {name: row for name, row in first.rows.items() if name.startswith("n")}
            parts.append(Part(first, rows, {"paths": list(members), **merged_fields(merged)}))
        return parts

    def _merged(self, members: Sequence[int]) -> Merged | None:
        """Return the common region of these paths (cached), or None. One path has its own closed region."""
        key = members[0]
        if key not in self.regions:
            self.regions[key] = merge(self.explored, members, self.data.domain())
        return self.regions[key]

    def _checked(self, cells: list[dict[str, Any]]) -> tuple[Bound | None, str, dict[str, Any] | None]:
        """Return the bound that the checker derives from the certificate. No bound has another source."""
        certificate = {**self.fields, "cells": cells}
        try:
            checked = program_t0.check(certificate)
        except program_t0.ProgramProofError as error:
            return None, f"the certificate was not accepted: {error}", None
        reason = "" if checked.holds else f"the proved bound {checked.epsilon} is above the claim."
        return checked.epsilon, reason, certificate

    def _without(self, failed: list[int]) -> tuple[Bound | None, str, dict[str, Any] | None]:
        first = self.explored.paths[failed[0]]
        shown = [event[1:] for event in first.events if event[0] in ("show", "form", "release", "fork")]
        reason = f"no shift of the hidden noise keeps the output of the path {str(shown)[:200]}."
        return None if self.inexact else math.inf, reason, None

    def _witness(self) -> dict[str, Any] | None:
        """Return an exactly checked refutation under the conditions of section F and G14, or None."""
        for group in outcomes(self.explored.paths):
            changes: dict[tuple[Fraction, ...], dict[str, Fraction]] = {}
            for path in group:
                for moved in self._extremes(path, [row.form for row in path.comparisons.values()])[
                    :MAX_CHANGES
                ]:
                    changes.setdefault(tuple(moved.get(name, Fraction(0)) for name in self.data.names), moved)
            found = refuted(group, list(changes.values())[:MAX_CHANGES], self.data, self.claim.bound)
            if found is not None:
                witness, ray = found
                if ray is not None:
                    witness = {**witness, "certificate": self._ray_certificate(ray)}
                steps = None if ray is None else enough_steps(ray, self.claim.bound)
                body = event_body(self.fields, self.explored.paths, group, witness, ray)
                witness = witness if body is None else {**witness, "body": body}
                return witness if steps is None else {**witness, "steps": steps}
        return self._at_outcomes()

    def _ray_certificate(self, ray: Ray) -> dict[str, Any]:
        """Return the unbounded-loss certificate that ``dpaudit/kernel/ray_t0.py`` checks."""
        places = {id(path): i for i, path in enumerate(self.explored.paths)}
        table = {"start": ray.start, "point": ray.point, "change": ray.change}
        written = {key: {name: str(v) for name, v in sorted(side.items())} for key, side in table.items()}
        multipliers = [[[str(y) for y in part] for part in both] for both in ray.multipliers]
        members = [places[id(path)] for path in ray.paths]
        rest = {"paths": members, "infinite": ray.infinite, "multipliers": multipliers}
        return {**self.fields, "proof": "program, ray", "ray": {**written, **rest}}

    def _at_outcomes(self) -> dict[str, Any] | None:
        """Return a refutation at one list of outcomes (G14 c), or None.

        Only paths that do nothing but release are tried, the most expensive path first.
        """
        candidates = []
        for path in self.explored.paths:
            if path.draws or path.shown_forms() or not path.releases():
                continue
            for moved in self._extremes(path, [])[:MAX_CHANGES]:
                cost = sum((abs(form.change(moved)) / scale for form, _, scale in path.releases()), ZERO)
                start = both_inside(moved, self.data)
                if cost > self.claim.bound and start is not None:
                    candidates.append((cost, path, start, moved))
        candidates.sort(key=lambda one: -one[0])
        paths = [(path, start, moved) for _, path, start, moved in candidates]
        found = attained(self.program, paths, self.data, self.claim.bound)
        loss = None if found is None else found.loss(self.program, self.data)
        if found is None or loss is None:
            return None
        body = found.transcript(self.program, self.data)
        return {**found.to_json(loss), "form": "transcript", "body": body}

    def _cells(self, members: Sequence[int]) -> tuple[Fraction, list[dict[str, Any]]] | None:
        """Return the cost and cells of the cheaper partition of equal paths: merged or path by path (G9)."""
        paths = self.explored.paths
        merged = self._merged(members) if len(members) > 1 else None
        best: tuple[Fraction, list[dict[str, Any]]] | None = None
        if merged is not None:
            best = self._whole(members, merged)
            if best is not None and best[0] <= self.claim.bound:
                return best
        alone: list[dict[str, Any]] = []
        worst = Fraction(0)
        for i in members:
            rows = [row.form for row in paths[i].comparisons.values()]
            found = self._shifts(paths[i], rows)
            if found is None:
                return best
            worst = max(worst, found[0])
            if best is not None and worst >= best[0]:
                return best
            alone.append({"paths": [i], "shifts": found[1]})
        return worst, alone

    def _whole(self, members: Sequence[int], merged: Merged) -> tuple[Fraction, list[dict[str, Any]]] | None:
        first = self.explored.paths[members[0]]
        supports = [row.form for name, row in first.rows.items() if name.startswith("n")]
        found = self._shifts(first, [*merged.rows, *supports])
        if found is None:
            return None
        cell = {"paths": list(members), "shifts": found[1], **merged_fields(merged)}
        return found[0], [cell]

    def _shifts(self, path: Path, rows: Sequence[Form]) -> tuple[Fraction, dict[str, list[str]]] | None:
        """Return the largest cost and the shifts of one cell for every extreme change.

        The checker enumerates the same changes.
        """
        releases = [(form, scale) for form, _, scale in path.releases()]
        program = Alignment(rows, path.shown_forms(), releases, path.draws)
        worst, table = Fraction(0), {}
        for moved in self._extremes(path, rows):
            aligned: Aligned | None = program.best(moved)
            if aligned is None:
                self.inexact = self.inexact or program.inexact
                return None
            key = ",".join(str(moved.get(name, 0)) for name in self.data.names)
            table[key] = [str(shift) for shift in aligned.shifts]
            worst = max(worst, aligned.cost)
        return worst, table

    def _extremes(self, path: Path, rows: Sequence[Form]) -> list[dict[str, Fraction]]:
        route = program_t0.Route(
            0,
            {},
            draws=tuple((draw.distribution, draw.scale) for draw in path.draws),
            forms=tuple(_plain(form) for form in path.shown_forms()),
            releases=tuple(
                (_plain(form), distribution, scale) for form, distribution, scale in path.releases()
            ),
        )
        kept = {str(i): (_plain(form), False) for i, form in enumerate(rows)}
        return list(self.checker.extremes(program_t0.Cell(route, kept, {})))


def _plain(form: Form) -> program_t0.Form:
    """Convert a form to the checker's representation."""
    return program_t0.make(form.terms, form.constant)
