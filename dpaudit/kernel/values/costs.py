"""Add up what the releases of a path cost a record, and turn the result into a guarantee.

A cost is a pure ``epsilon``, a ``rho`` of Gaussian noise, and ``mechanisms``: rule trees of the kernel for
noise whose bound is neither, such as Skellam noise or a shuffle. The kernel derives the curves of a tree and
composes them. ``delta`` is a probability with which the other bounds fail (``private_scale``).

Statement. Let every path cost the changed record one of ``costs``. Without mechanisms the program is bounded
by the largest epsilon, and by the largest rho + epsilon^2 / 2 (``zcdp`` of the kernel). With mechanisms it is
bounded by the composition of one cost, if that cost covers all others, and by the worst of the costs if each
has a single part.

Proof. Without mechanisms, costs add along each path, whatever the choice of the next release depends on
(pure: by the product of density ratios; rho: Feldman and Zrnic 2021, Theorem 3.1, as the sum is bounded on
every path). *One cost covers all others:* add parts to a path until it has this cost, which only enlarges the
output. Then every path composes the same parts, in an order that may depend on earlier outcomes. Each part
has a dominating pair, for every prefix, and the product of pairs does not depend on the order. By induction
from the last part, the rest of the path after any prefix is dominated by the product of the remaining parts.
*Single parts:* until the part is released both sides are distributed equally, and so is what the program
does afterwards, given the outcome. The delta, the Renyi moment and the density ratio of the whole are
averages or maxima over prefixes of those of the parts, hence at most the largest. (Zhu, Dong, Wang 2022,
Theorem 10 for dominating pairs under adaptive composition.)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from dpaudit.kernel.claim_t0 import guarantee_of
from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, Setting, need

__all__ = ["Cost", "guarantees", "maximal", "mechanism", "total_of"]


#: The grid of losses on which the parts of one cost are composed (``certpld``).
GRID = {"step": "1/1000", "bits": "128", "tail": "70"}


class Cost(NamedTuple):
    """What the releases of one path cost a record.

    ``mechanisms`` holds the rule trees as text, sorted, each as often as it is used.
    """

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    mechanisms: tuple[str, ...] = ()
    delta: Fraction = Fraction(0)

    @property
    def special(self) -> bool:
        """Return whether the cost has more than an epsilon and a rho."""
        return bool(self.mechanisms or self.delta)

    @property
    def parts(self) -> int:
        """Return how many of epsilon, rho, delta and the mechanisms are there."""
        return (self.epsilon > 0) + (self.rho > 0) + (self.delta > 0) + len(self.mechanisms)

    def covers(self, other: Cost) -> bool:
        """Return whether this cost has at least all that the other one has."""
        more = Counter(self.mechanisms)
        more.subtract(other.mechanisms)
        larger = all(a >= b for a, b in zip(self[:2] + self[3:], other[:2] + other[3:], strict=True))
        return larger and min(more.values(), default=0) >= 0


def mechanism(rule: str, parameters: dict[str, Any]) -> str:
    """Return the rule tree of one mechanism as text. Equal trees have equal texts."""
    return json.dumps({"rule": rule, "parameters": parameters, "premises": []}, sort_keys=True)


def total_of(costs: Iterable[Cost]) -> Cost:
    """Return the cost of several releases."""
    listed = list(costs)
    return Cost(
        sum((cost.epsilon for cost in listed), Fraction(0)),
        sum((cost.rho for cost in listed), Fraction(0)),
        tuple(sorted(text for cost in listed for text in cost.mechanisms)),
        sum((cost.delta for cost in listed), Fraction(0)),
    )


def maximal(costs: Iterable[Cost]) -> list[Cost]:
    """Return the costs that no other cost covers."""
    found = set(costs)
    return [one for one in found if not any(other != one and other.covers(one) for other in found)]


def guarantees(checked: Any, claim: dict[str, Any]) -> list[Guarantee]:
    """Return guarantees of which the worst holds for a checked program, in the setting of a claim.

    Raises
    ------
    CertificateError
        The kernel refuses a mechanism in this setting, or paths with different mechanisms have several parts.
    """
    if not getattr(checked, "special", False):
        return [_with_hidden_noise(checked)]
    failing = max((cost.delta for cost in checked.costs), default=Fraction(0))
    if failing:
        without = replace(checked, costs=tuple(cost._replace(delta=Fraction(0)) for cost in checked.costs))
        return [_failing(guarantee, failing) for guarantee in guarantees(without, claim)]
    worst = maximal(checked.costs)
    need(
        len(worst) == 1 or all(cost.parts <= 1 for cost in worst),
        "paths with several releases each must use the same noise on all paths.",
    )
    return [_guarantee(cost, Setting.of(claim), checked.gaussian) for cost in worst]


def _failing(guarantee: Guarantee, failing: Fraction) -> Guarantee:
    """Return a guarantee that may fail with a probability of at most ``failing``.

    Proof. With F the failures and E an event, P(E) <= P(F) + P(E without F), and the guarantee bounds the
    second term by e^epsilon P'(E) + delta.
    """
    from dpaudit.kernel.ball import ball  # the higher tiers of the kernel
    from dpaudit.kernel.t1.readout import delta_bound
    from dpaudit.kernel.t1.tier import Curves
    from dpaudit.kernel.t2.gaussian import gaussian_delta

    return Guarantee(
        curves=Curves(profile=lambda epsilon: ball(failing + delta_bound(guarantee, epsilon, gaussian_delta)))
    )


def _with_hidden_noise(checked: Any) -> Guarantee:
    if not getattr(checked, "losses", ()) and getattr(checked, "exact", None) is None:
        return guarantee_of(checked)
    from dpaudit.kernel.t2.hidden_gaussian import guarantee_of_program  # needs the higher tiers

    return guarantee_of_program(checked)


def _guarantee(cost: Cost, setting: Setting, gaussian: bool) -> Guarantee:
    # Only mechanisms need the higher tiers of the kernel.
    from dpaudit.kernel.check import derive_in
    from dpaudit.kernel.t2.rules import T2

    copies = Counter(cost.mechanisms)
    premises = [derive_in(json.loads(text), setting) for text in copies]
    times = [*copies.values()]
    if cost.epsilon:
        premises.append(Guarantee(pure=cost.epsilon))
    if cost.rho:
        premises.append(Guarantee(gdp_squared=2 * cost.rho) if gaussian else Guarantee(rho=cost.rho))
    times += [1] * (len(premises) - len(times))
    parameters: dict[str, Any] = {"times": [str(count) for count in times]}
    if all(map(_has_pair, premises)):  # products of dominating pairs are tighter than sums of bounds
        parameters["grid"] = GRID
    once = Parameters(parameters, rule="sequential")
    found = T2.rules["sequential"].derive(once, tuple(premises), setting)
    assumed = [text for premise in premises for text in premise.assumptions]
    need(not assumed, f"a proof cannot assume that {'; '.join(assumed)}.")
    return found


def _has_pair(guarantee: Guarantee) -> bool:
    """Return whether a part has a dominating pair that is not computed from its bound on delta."""
    from dpaudit.kernel.t1.tier import curves_of

    curves = curves_of(guarantee)
    if curves.pair is not None or curves.directed is not None:
        return True
    return curves.profile is None and (guarantee.gdp_squared is not None or guarantee.pure is not None)
