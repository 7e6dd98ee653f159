"""What a proof declares of a program's releases: which of them one record can touch, how often, at what
cost.

One declaration serves both sides: the kernel adds the mechanisms up to a certificate (``build.accounted``),
and replays hold what a changed record did touch against it (``replays.accounting``), in a measure that adds
up (``measures``).
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
    """Releases of one kind: one record touches at most ``touches`` of them and pays at most ``total``.

    ``pattern`` is a shell-style pattern on site names. ``mechanism`` is the proof of a single release; from
    it follows the total, ``touches`` times its cost, where that is not stated. A record touches one site
    of each ``group`` only (the tree of one size or of another); sites without a group add up.

    ``total`` is in the unit in which costs add up under the claim: epsilon for pure and (epsilon, delta)
    claims, rho for zCDP, mu squared for GDP, the Rényi divergence of the claim's order. ``measure`` and
    ``allowance`` (what replays are held against, ``measures``) follow from the claim in ``charged``;
    ``derived`` says that the total does too, and is taken anew for another claim.
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
                f"touches must be 1 or more, got {self.touches}; leave the site out if it is never touched."
            )
        if self.total is None and self.mechanism is None:
            raise InvalidParameterError(
                f"a site must have a total or a mechanism, got neither for {self.pattern!r}; state what one "
                "record pays."
            )
        if self.total is not None:
            object.__setattr__(self, "total", exact(self.total, name="total"))

    def matches(self, site: str) -> bool:
        """Whether a release of this name is meant."""
        return fnmatch.fnmatchcase(site, self.pattern)

    def charged(self, claim: PrivacyClaim, *, measure: Measure | None = None) -> Site:
        """The same with its total stated, and its allowance in ``measure`` (the finest one, if not given), in
        the setting of ``claim``.

        Raises ``InvalidParameterError`` where the mechanism has no cost there and no total is stated.
        """
        if self.derived:
            return replace(self, total=None, allowance=None, derived=False).charged(claim, measure=measure)
        try:
            measure = measure_for(self.mechanism, claim) if measure is None else measure
            allowance = self._allowance(claim, measure)
            total = self._total(claim, allowance)
        except CertificateError as error:
            raise InvalidParameterError(
                f"the mechanism of {self.pattern!r} must hold in the setting of the claim, it does not "
                f"({error}); correct the mechanism or the claim, or state the total alone."
            ) from error
        if total is None or allowance is None:
            raise InvalidParameterError(
                f"a site without a total must have a mechanism with {_charged_in(claim)}, got "
                f"{self.pattern!r} without; state the total."
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
        """The stated total; raises ``InvalidParameterError`` before ``charged``."""
        if self.total is None:
            raise InvalidParameterError(
                f"a site's total must be stated, got none for {self.pattern!r}; pass total, or call charged."
            )
        return exact(self.total)

    @property
    def allowed(self) -> Fraction:
        """What replays are held against, in ``measure``: the total, unless ``charged`` said otherwise."""
        return self.cost if self.allowance is None else self.allowance

    def describe(self) -> str:
        """The declaration in words."""
        releases = f"{self.touches} release{'s' if self.touches > 1 else ''}"
        return f"{self.pattern}: at most {releases}, {self.cost} in total"


def charged_sites(sites: Sequence[Site], claim: PrivacyClaim) -> list[Site]:
    """All sites charged, in one measure as far as they have one: ``square`` for all where one of them has no
    worst loss, so that they add up."""
    found = [site.charged(claim) for site in sites]
    if {site.measure for site in found} >= {"loss", "square"}:
        return [
            site.charged(claim, measure="square") if new.measure == "loss" else new
            for site, new in zip(sites, found, strict=True)
        ]
    return found


def _squares_in(total: Fraction, claim: PrivacyClaim) -> Fraction:
    """A stated total as a sum of squares: 2 rho, mu squared, a squared epsilon."""
    if isinstance(claim, ZeroConcentratedDP):
        return 2 * total
    if isinstance(claim, RenyiDP):
        return 2 * total / exact(claim.order)
    return total**2 if isinstance(claim, ApproxDP) else total


def _charged_in(claim: PrivacyClaim) -> str:
    words = {"pure-dp": "a pure epsilon", "zcdp": "a rho", "gdp": "a mu", "renyi-dp": "a Rényi divergence"}
    return words.get(claim.type, "a cost")


def total_of(sites: Sequence[Site]) -> Fraction:
    """What one record pays at most by declaration: the most expensive site of each group, and every site
    without a group."""
    return _summed([(site.group, site.cost) for site in sites])


def allowed_by(sites: Sequence[Site]) -> Fraction:
    """The same in the measure that replays add up."""
    return _summed([(site.group, site.allowed) for site in sites])


def _summed(costs: Sequence[tuple[str, Fraction]]) -> Fraction:
    alone = sum((cost for group, cost in costs if not group), Fraction(0))
    groups = {group for group, _ in costs if group}
    most_expensive = (max(cost for group, cost in costs if group == name) for name in groups)
    return alone + sum(most_expensive, Fraction(0))
