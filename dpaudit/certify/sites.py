"""Declare which releases of a program one record can affect, how often and at what cost.

The kernel adds the declared mechanisms up to a certificate (``build.accounted``). Replays compare the same
declaration with what a changed record did affect (``replay.accounting``), in an additive measure
(``measures``).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpaudit.certify.measures import Measure, allowance_of, cost_in, measure_for
from dpaudit.certify.proof import Proof
from dpaudit.core.claims import ApproxDP, PrivacyClaim, RenyiDP, ZeroConcentratedDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.exact import ExactLike, exact
from dpaudit.kernel import check
from dpaudit.kernel.kernel_t0 import Setting

__all__ = ["Site", "allowed_by", "charged_sites", "total_of"]


@dataclass(frozen=True)
class Site:
    """Releases of one kind, of which one record affects at most ``touches``, at a total cost of at most
    ``total``.

    Parameters
    ----------
    pattern : str
        A shell-style pattern of site names.
    mechanism : Proof, optional
        The proof of a single release. If no total is stated, the total is ``touches`` times its cost.
    touches : int
        The largest number of these releases that one record affects (1).
    total : exact number, optional
        The largest cost of one record, in the unit in which costs add up under the claim: epsilon for pure
        and (epsilon, delta) claims, rho for zCDP, mu squared for GDP, the Rényi divergence of the claim's
        order.
    group : str
        A record affects only one site of each group (such as the trees of different sizes). Sites without a
        group add up.
    measure, allowance, derived : Measure, Fraction, bool
        Set by ``charged``: the measure and the limit that replays use (``measures``), and whether the total
        was derived from the mechanism, so that it is derived again for another claim.

    Raises
    ------
    InvalidParameterError
        ``touches`` is below 1, or the site has neither a total nor a mechanism.
    """

    pattern: str
    mechanism: Proof | None = field(default=None, kw_only=True)
    touches: int = field(default=1, kw_only=True)
    total: ExactLike | None = field(default=None, kw_only=True)
    group: str = field(default="", kw_only=True)
    measure: Measure = field(default="loss", kw_only=True)
    allowance: Fraction | None = field(default=None, kw_only=True)
    derived: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.touches < 1:
            raise InvalidParameterError(
                f"touches must be 1 or more, got {self.touches}.", code="E-TOUCHES-RANGE"
            )
        if self.total is None and self.mechanism is None:
            raise InvalidParameterError(
                f"a site must have a total or a mechanism, got neither for {self.pattern!r}.",
                code="E-SITE-NO-COST",
            )
        if self.total is not None:
            object.__setattr__(self, "total", exact(self.total, name="total"))

    def matches(self, site: str) -> bool:
        """Return whether the pattern matches this site name."""
        return fnmatch.fnmatchcase(site, self.pattern)

    def charged(self, claim: PrivacyClaim, *, measure: Measure | None = None) -> Site:
        """Return this site with its total and its allowance under ``claim``.

        The allowance is in ``measure``, or in the finest possible measure if none is given. Raise
        ``InvalidParameterError`` if no total is stated and the mechanism has no cost in the setting of the
        claim.
        """
        if self.derived:
            return replace(self, total=None, allowance=None, derived=False).charged(claim, measure=measure)
        try:
            measure = measure_for(self.mechanism, claim) if measure is None else measure
            allowance = self._allowance(claim, measure)
            total = self._total(claim, allowance)
        except CertificateError as error:
            raise InvalidParameterError(
                f"the mechanism of {self.pattern!r} does not hold in the setting of the claim ({error}). "
                "Correct the mechanism or the claim, or state only a total.",
                code="E-SITE-SETTING",
            ) from error
        if total is None or allowance is None:
            raise InvalidParameterError(
                f"a site without a total must have a mechanism with {_charged_in(claim)}, which "
                f"{self.pattern!r} does not have. State its total.",
                code="E-SITE-NO-COST",
            )
        derived = self.total is None
        return replace(self, total=total, measure=measure, allowance=allowance, derived=derived)

    def _allowance(self, claim: PrivacyClaim, measure: Measure) -> Fraction | None:
        if self.total is not None:
            stated = exact(self.total)
            if measure == "count":
                return Fraction(self.touches)
            if measure == "square":
                return _squares_in(stated, claim)
            return stated
        if self.mechanism is None:
            return None
        one = allowance_of(self.mechanism, Setting.of(claim.to_json()), measure)
        return None if one is None else self.touches * one

    def _total(self, claim: PrivacyClaim, allowance: Fraction | None) -> Fraction | None:
        if self.total is not None or self.mechanism is None:
            return None if self.total is None else exact(self.total)
        if isinstance(claim, ApproxDP):
            return allowance  # delta does not add up; the certificate composes the mechanisms
        cost = cost_in(check.derive(self.mechanism.to_json(), claim), claim)
        return None if cost is None else self.touches * cost

    @property
    def cost(self) -> Fraction:
        """Return the total. Raise ``InvalidParameterError`` if it is not known before ``charged``."""
        if self.total is None:
            raise InvalidParameterError(
                f"site {self.pattern!r} has no total. Pass total, or call charged first.",
                code="E-SITE-NO-TOTAL",
            )
        return exact(self.total)

    @property
    def allowed(self) -> Fraction:
        """Return the limit for replays, in ``measure``: the allowance from ``charged``, or else the total."""
        return self.cost if self.allowance is None else self.allowance

    def describe(self) -> str:
        """Return the declaration as text."""
        releases = f"{self.touches} release{'s' if self.touches > 1 else ''}"
        return f"{self.pattern}: at most {releases}, {self.cost} in total"


def charged_sites(sites: Sequence[Site], claim: PrivacyClaim) -> list[Site]:
    """Charge all sites, in one measure if possible.

    If some site needs ``square`` because it has no worst loss, all sites with ``loss`` use ``square`` too, so
    that they can be added.
    """
    found = [site.charged(claim) for site in sites]
    if {site.measure for site in found} >= {"loss", "square"}:
        return [
            site.charged(claim, measure="square") if new.measure == "loss" else new
            for site, new in zip(sites, found, strict=True)
        ]
    return found


def _squares_in(total: Fraction, claim: PrivacyClaim) -> Fraction:
    """Convert a stated total to a sum of squares: 2 rho, mu squared, or a squared epsilon."""
    if isinstance(claim, ZeroConcentratedDP):
        return 2 * total
    if isinstance(claim, RenyiDP):
        return 2 * total / exact(claim.order)
    return total**2 if isinstance(claim, ApproxDP) else total


def _charged_in(claim: PrivacyClaim) -> str:
    words = {"pure-dp": "a pure epsilon", "zcdp": "a rho", "gdp": "a mu", "renyi-dp": "a Rényi divergence"}
    return words.get(claim.type, "a cost")


def total_of(sites: Sequence[Site]) -> Fraction:
    """Return the largest declared cost of one record.

    It is the sum of all sites without a group and of the most expensive site of each group.
    """
    return _summed([(site.group, site.cost) for site in sites])


def allowed_by(sites: Sequence[Site]) -> Fraction:
    """Return the same sum as ``total_of`` in the measure of the replays."""
    return _summed([(site.group, site.allowed) for site in sites])


def _summed(costs: Sequence[tuple[str, Fraction]]) -> Fraction:
    alone = sum((cost for group, cost in costs if not group), Fraction(0))
    groups = {group for group, _ in costs if group}
    most_expensive = (max(cost for group, cost in costs if group == name) for name in groups)
    return alone + sum(most_expensive, Fraction(0))
