"""Prove programs that branch on their data and release with noise (G11): clipped values, cases, steps.

Every pair of paths is examined: the data follow one path and a neighbour follows the other. Either no
neighbours follow the two paths, or the distance between their released values is bounded by one linear
program per sign, over all data and changes of the pair. The linear programs only propose.
``dpaudit/kernel/branches_t0.py`` derives the bound from exact multipliers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from dpaudit.core.claims import PureDP
from dpaudit.kernel.branches_t0 import (
    DISTRIBUTION,
    Checked,
    check,
    excluded,
    joint,
    moves,
    routes,
    same_shown,
)
from dpaudit.kernel.program_t0 import Data, ProgramProofError, Tree
from dpaudit.kernel.program_t0 import Form as Plain
from dpaudit.kernel.program_t0 import Row as PlainRow
from dpaudit.prover.explore import Explored
from dpaudit.prover.forms import Form
from dpaudit.prover.linear import NOISE, contradiction, matrix, solved_exactly
from dpaudit.prover.proof import Proof

__all__ = ["by_branches", "in_pairs"]

#: The largest number of pairs of paths over all boxes of changes. Each takes about a millisecond.
MAX_TRIED = 4_000

Weights = dict[str, str]


def by_branches(fields: Mapping[str, Any]) -> tuple[Checked, dict[str, Any]] | str:
    """Return the checked cost of all pairs of paths with its certificate, or one sentence if there is none.

    ``fields`` are claim (one of epsilon, rho and mu), data, adjacency and tree of a certificate.
    """
    [quantity] = fields["claim"]
    certificate = {**fields, "proof": "program, data branches", "pairs": {}}
    data = Data.read(fields["data"], fields["adjacency"])
    tree = Tree(fields["tree"], data)
    try:
        paths = routes(tree, DISTRIBUTION[quantity])
        if len(data.boxes) * len(paths) ** 2 > MAX_TRIED:
            return f"the data decide among {len(paths)} paths, too many for pairs. Prove fewer records."
        for k, box in enumerate(data.boxes):
            for i, p in enumerate(paths):
                for j, q in enumerate(paths):
                    if not excluded(p, q):
                        found = _pair(joint(data, box, p, q), moves(box, p, q) if same_shown(p, q) else None)
                        if found is None:
                            return (
                                f"neighbours on the paths {i} and {j} of the tree show or release different "
                                "things, or the distance of their values has no known bound."
                            )
                        certificate["pairs"][f"{k}.{i}.{j}"] = found
        return check(certificate), certificate
    except ProgramProofError as error:
        return f"the certificate was not accepted: {error}"


def in_pairs(found: Proof, fields: Mapping[str, Any], explored: Explored, claim: PureDP) -> Proof:
    """Prove an inconclusive claim by pairs of paths, if the program branches on data without hidden draws.

    Return ``found`` unchanged if randomness alignment or a refutation decided the claim.
    """
    hidden = any(path.draws or any(e[0] == "finite" for e in path.events) for path in explored.paths)
    if found.verdict != "inconclusive" or hidden or not any(path.comparisons for path in explored.paths):
        return found
    better = by_branches(fields)
    if isinstance(better, str):
        return replace(found, reason=better)
    checked, certificate = better
    if found.bound is not None and found.bound <= checked.cost:
        return found
    verified = checked.cost <= claim.bound
    return replace(
        found,
        verdict="verified" if verified else "inconclusive",
        bound=checked.cost,
        reason="" if verified else f"the proved bound {checked.cost} is above the claim.",
        certificate=certificate,
    )


def _pair(rows: dict[str, PlainRow], released: Any) -> Weights | list[list[Weights]] | None:
    """Return multipliers that contradict the constraints of a pair, or that bound each release, or None."""
    forms = {name: _form(row) for name, (row, _) in rows.items()}
    excluding = contradiction(forms, {name for name, (_, strict) in rows.items() if strict})
    if excluding is not None:
        return _written(excluding)
    if released is None:
        return None
    found = []
    for form, _ in released:
        ends = [_bounding(_form(form).times(Fraction(sign)), forms) for sign in (1, -1)]
        if None in ends:
            return None
        found.append([_written(end) for end in ends if end is not None])
    return found


def _bounding(form: Form, rows: dict[str, Form]) -> dict[str, Fraction] | None:
    """Return exact multipliers of rows that bound ``form`` as tightly as possible, or None."""
    names = list(rows)
    symbols = sorted({s for row in (form, *rows.values()) for s in row.terms})
    table = matrix(list(rows.values()), symbols)
    goal = matrix([form], symbols)[0, :-1]
    found = linprog(-goal, A_ub=table[:, :-1], b_ub=-table[:, -1], bounds=(None, None), method="highs")
    if found.x is None:
        return None
    near = -np.asarray(found.ineqlin.marginals)
    support = [i for i, weight in enumerate(near) if weight > NOISE]
    lines = [[rows[names[i]].terms.get(s, Fraction(0)) for i in support] for s in symbols]
    wanted = [form.terms.get(s, Fraction(0)) for s in symbols]
    weights = solved_exactly(lines, wanted, [near[i] for i in support])
    if weights is None or any(weight < 0 for weight in weights):
        return None
    return {names[i]: weight for i, weight in zip(support, weights, strict=True) if weight}


def _form(plain: Plain) -> Form:
    terms, constant = plain
    return Form({name: Fraction(value) for name, value in terms}, Fraction(constant))


def _written(weights: Mapping[str, Fraction]) -> Weights:
    return {name: str(weight) for name, weight in weights.items()}
