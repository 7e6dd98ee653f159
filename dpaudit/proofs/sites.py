"""What a proof declares of a program's releases: which of them one record can touch, how often, at what
price.

One declaration serves both sides: the kernel adds the mechanisms up to a certificate (``build.accounted``),
and replays hold what a changed record did touch against it (``replays.accounting``).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpaudit.claims import PrivacyClaim, PureDP
from dpaudit.errors import CertificateError, InvalidParameterError
from dpaudit.exact import ExactLike, exact
from dpaudit.kernel import check
from dpaudit.proofs.proof import Proof

__all__ = ["Site", "total_of"]


@dataclass(frozen=True)
class Site:
    """Releases of one kind: one record touches at most ``touches`` of them and pays at most ``total``.

    ``pattern`` is a shell-style pattern on site names. ``mechanism`` is the proof of a single release; from
    it follows the total, ``touches`` times its epsilon, where that is not stated. A record touches one site
    of each ``group`` only (the tree of one size or of another); sites without a group add up. ``total`` is in
    the unit of epsilon.
    """

    pattern: str
    mechanism: Proof | None = field(default=None, kw_only=True)
    touches: int = field(default=1, kw_only=True)
    total: ExactLike | None = field(default=None, kw_only=True)
    group: str = field(default="", kw_only=True)

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

    def priced(self, claim: PrivacyClaim) -> Site:
        """The same with its total stated, in the setting of ``claim``.

        Raises ``InvalidParameterError`` where the mechanism has no pure epsilon there.
        """
        if self.total is not None or self.mechanism is None:
            return self
        pure = PureDP(
            epsilon=1, adjacency=claim.adjacency, unit=claim.unit, view=claim.view, turnout=claim.turnout
        )
        try:
            price = check.derived_bound(check.derive(self.mechanism.to_json(), pure), pure)
        except CertificateError as error:
            raise InvalidParameterError(
                f"a site without a total must have a mechanism of pure epsilon, got {self.pattern!r} "
                f"({error}); state the total."
            ) from error
        return replace(self, total=self.touches * price)

    @property
    def price(self) -> Fraction:
        """The stated total; raises ``InvalidParameterError`` before ``priced``."""
        if self.total is None:
            raise InvalidParameterError(
                f"a site's total must be stated, got none for {self.pattern!r}; pass total, or call priced."
            )
        return exact(self.total)

    def describe(self) -> str:
        """The declaration in words."""
        releases = f"{self.touches} release{'s' if self.touches > 1 else ''}"
        return f"{self.pattern}: at most {releases}, {self.price} in total"


def total_of(sites: Sequence[Site]) -> Fraction:
    """What one record pays at most by declaration: the dearest site of each group, and every site without a
    group."""
    alone = sum((site.price for site in sites if not site.group), Fraction(0))
    groups = {site.group for site in sites if site.group}
    dearest = (max(site.price for site in sites if site.group == name) for name in groups)
    return alone + sum(dearest, Fraction(0))
