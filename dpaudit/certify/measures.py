"""Choose the measure in which the effects of one record are added up during a replay, and bound it.

A claim has a quantity (epsilon, rho, mu, delta), and a replay gives distributions at two offsets. A measure
is additive over affected sites and is defined for both:

* ``loss``: the worst privacy loss, for pure claims, and for (epsilon, delta) if every mechanism is pure.
* ``square``: the squared change over the variance, for noise with Gaussian tails (Gaussian, discrete
  Gaussian, Skellam, binomial), and the squared worst loss for other noise: mu squared and 2 rho if there are
  such bounds. A maximum with Gumbel noise counts a quarter, as its certificate does (e^2/8-zCDP).
* ``count``: one for each affected site, if a mechanism has neither (shuffled messages).

In every measure, an affected site must also be the mechanism of a leaf (``replay.leaf_rules``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from dpaudit.certify.proof import Proof
from dpaudit.core.claims import ApproxDP, PrivacyClaim, PureDP
from dpaudit.core.exact import exact
from dpaudit.kernel import check
from dpaudit.kernel.kernel_t0 import Guarantee, Setting, zcdp
from dpaudit.kernel.t1.readout import renyi_bound
from dpaudit.kernel.t2.rules import T2

__all__ = ["Measure", "allowance_of", "cost_in", "measure_for", "noise_variance"]

Measure = Literal["loss", "square", "count"]

#: Mechanisms whose worst loss does not determine their delta, so that sites are counted.
_COUNTED = (
    "shuffle",
    "shuffled-response",
    "shuffled-table",
    "shuffled-gaussian",
    "poisson-subsampled-gaussian",
)
_SUMS = ("sequential", "accounted", "tree")


def measure_for(mechanism: Proof | None, claim: PrivacyClaim) -> Measure:
    """Return the finest measure of a site with this mechanism under ``claim``.

    Without a mechanism it is ``loss`` for pure and (epsilon, delta) claims, whose stated totals are epsilons,
    and ``square`` for all others.
    """
    if isinstance(claim, PureDP):
        return "loss"
    if mechanism is None:
        return "loss" if isinstance(claim, ApproxDP) else "square"
    if _mentions(mechanism, _COUNTED):
        return "count"
    setting = Setting.of(claim.to_json())
    if isinstance(claim, ApproxDP) and check.derive_in(mechanism.to_json(), setting).pure:
        return "loss"
    return "count" if allowance_of(mechanism, setting, "square") is None else "square"


def allowance_of(mechanism: Proof, setting: Setting, measure: Measure) -> Fraction | None:
    """Return how much of ``measure`` one run of the mechanism may use, or ``None`` if it has no such bound.

    Raise ``CertificateError`` if the mechanism does not hold in the setting.
    """
    guarantee = check.derive_in(mechanism.to_json(), setting)
    if measure == "count":
        return Fraction(1)
    if measure == "loss":
        return guarantee.pure
    rho = zcdp(guarantee)
    return _square(mechanism, setting) if rho is None else 2 * rho


def _square(proof: Proof, setting: Setting) -> Fraction | None:
    """Return the allowance of rules that have privacy profiles only: the squared change over the variance.

    It is added up like rho.
    """
    if proof.rule in ("integer-noise", "vector-noise", "binomial-vectors"):
        squared = proof.parameters.get("l2_squared")
        if squared is None:
            squared = exact(proof.parameters["sensitivity"]) ** 2
        return exact(squared) / noise_variance(proof.parameters)
    inner = T2.rules[proof.rule].inner(proof.parameters, setting)
    parts = [allowance_of(premise, inner, "square") for premise in proof.premises]
    known = [part for part in parts if part is not None]
    if len(known) < len(proof.premises) or not known:
        return None
    if proof.rule in _SUMS:
        return sum((n * part for n, part in zip(_counts(proof), known, strict=True)), Fraction(0))
    factor = {"group": int(proof.parameters.get("events", 1)) ** 2}.get(proof.rule, 1)
    return max(known) * (4 if proof.parameters.get("moves") == "yes" else factor)


def _counts(proof: Proof) -> list[int]:
    if proof.rule == "tree":
        levels = proof.parameters.get("levels")
        return [int(proof.parameters["leaves"]).bit_length() if levels is None else int(levels)]
    return [int(n) for n in proof.parameters["times" if proof.rule == "sequential" else "touches"]]


def noise_variance(parameters: Any) -> Fraction:
    """Return the variance of integer noise from the parameters of its rule.

    For a discrete Gaussian it is the variance parameter.
    """
    if parameters.get("family", "binomial") == "binomial":
        chance = exact(parameters["probability"])
        return int(parameters["trials"]) * chance * (1 - chance)
    return exact(parameters["variance"]) * int(parameters.get("count", 1))


def cost_in(guarantee: Guarantee, claim: PrivacyClaim) -> Fraction | None:
    """Return the additive cost of a guarantee under ``claim``.

    It is epsilon, rho, mu squared or the Rényi divergence of the claim's order, and ``None`` for (epsilon,
    delta) or if the guarantee has no such bound.
    """
    if claim.type == "pure-dp":
        return guarantee.pure
    if claim.type == "zcdp":
        return zcdp(guarantee)
    if claim.type == "gdp":
        return guarantee.gdp_squared
    if claim.type == "renyi-dp":
        return renyi_bound(guarantee, exact(claim.order))  # type: ignore[attr-defined]
    return None


def _mentions(proof: Proof, rules: tuple[str, ...]) -> bool:
    return proof.rule in rules or any(_mentions(premise, rules) for premise in proof.premises)
