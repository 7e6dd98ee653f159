"""Rule ``parallel``: mechanisms that run on disjoint parts of the data cost their maximum.

Statement. The records are divided into cells, and each cell is used by one mechanism for which one of the
premises holds. Suppose that the cell of a record depends on nothing but its position (``by: position``), on
public data, or on outcomes already shown, so that both neighbours have the same partition. Then the joint
outcome has the maximum of the premises' bounds.

If the changed record can itself move to another cell (``moves: yes``), both cells are charged: the premises
are derived under add/remove adjacency and the cost is twice the maximum for pure DP, four times the maximum
for mu^2 and for rho.

Proof. Fix the outcomes shown before. With equal partitions the outcome laws of all cells but the changed
record's are equal, so only that cell's factor remains. If the record moves from cell i to cell j, the data
set without the record is an add/remove neighbour of either side, in one cell; so two steps lead from one
neighbour to the other, each with a premise's bound, and so they do when the record is replaced within its
cell. Two steps cost at most twice the pure epsilon (triangle inequality of log-ratios), (2 mu)^2 (Dong, Roth,
Su 2022, Theorem 2.14) and 4 rho (Bun and Steinke 2016, Proposition 1.9). ∎

Source: McSherry 2009, Theorem 4. A partition that is not by position rests on a declaration, which becomes an
assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.claims import Adjacency
from dpaudit.kernel.ball import ball
from dpaudit.kernel.rules.readout import delta_bound, renyi_bound
from dpaudit.kernel.rules.sequential import MAX_PREMISES, zcdp
from dpaudit.kernel.terms import Guarantee, Parameters, Profile, RenyiCurve, Setting, rule

__all__: list[str] = []


def _premise_setting(parameters: dict[str, Any], setting: Setting) -> Setting:
    moves = isinstance(parameters, dict) and parameters.get("moves") == "yes"
    return setting.with_adjacency(Adjacency.ADD_REMOVE) if moves else setting


@rule("parallel", premises=(1, MAX_PREMISES), premise_setting=_premise_setting)
def _parallel(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    by = parameters.choice("by", ["position", "public data", "shown outcomes"])
    factor = 2 if parameters.choice("moves", ["no", "yes"]) == "yes" else 1
    assumptions = []
    if by != "position":
        assumptions.append(f"the partition is a function of {by} only: {parameters.text('partition')}")
    worst = [
        _largest([p.pure for p in premises]),
        _largest([p.gdp_squared for p in premises]),
        _largest([zcdp(p) for p in premises]),
    ]
    pure, gdp_squared, rho = worst
    return Guarantee(
        pure=None if pure is None else factor * pure,
        gdp_squared=None if gdp_squared is None else factor**2 * gdp_squared,
        rho=None if rho is None else factor**2 * rho,
        profile=_worst_profile(premises) if factor == 1 else None,
        renyi=_worst_renyi(premises) if factor == 1 else None,
        assumptions=tuple(assumptions),
    )


def _worst_profile(premises: Sequence[Guarantee]) -> Profile | None:
    """The pointwise maximum of the premises' deltas, where one of them has a delta of its own."""
    if all(premise.profile is None for premise in premises):
        return None
    return lambda epsilon: ball(max(delta_bound(premise, epsilon) for premise in premises))


def _worst_renyi(premises: Sequence[Guarantee]) -> RenyiCurve | None:
    """The pointwise maximum of the premises' divergences, where one of them has a curve of its own."""
    known = [premise for premise in premises if premise.renyi is not None or zcdp(premise) is not None]
    if len(known) < len(premises) or all(premise.renyi is None for premise in premises):
        return None
    return lambda order: ball(_largest([renyi_bound(premise, order) for premise in premises]) or 0)


def _largest(costs: Sequence[Fraction | None]) -> Fraction | None:
    known = [cost for cost in costs if cost is not None]
    return max(known) if len(known) == len(costs) else None
