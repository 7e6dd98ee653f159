"""A privacy audit as a value: one program, one claim, and what is needed to look for trouble."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from dpaudit.blackbox.neighbours import pairs_of
from dpaudit.certify.build import Proof, accounted
from dpaudit.certify.sites import Site, allowed_by, charged_sites, total_of
from dpaudit.coins import Choice, Program
from dpaudit.core.claims import (
    Accounting,
    AccountingClaim,
    ApproxDP,
    ConcentratedAccounting,
    GaussianAccounting,
    GaussianDP,
    PrivacyClaim,
    Profile,
    RenyiAccounting,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.core.claims.privacy import NOT_STATED
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Evidence
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.kernel.ball import ball, precision, upper_short
from dpaudit.replay.accounting import common_measure
from dpaudit.replay.domains import Declared, Domain, Interval

__all__ = ["PrivacyAudit"]

#: The domain of a claim, in words, where neither the claim nor its audit declares one.
NOT_DECLARED = "not declared: the pairs that the audit lists"


def no_pairs(run: Run) -> Sequence[Neighbours]:
    """Mark that an audit was given no pairs of its own."""
    return ()


@dataclass(frozen=True, kw_only=True)
class PrivacyAudit:
    """A program, its claim, and what is needed to look for trouble.

    ``data`` declares the data (``Records``, ``Table``): the pairs and the claim's ``domain`` in words follow
    from it, and a privacy row proves the program for all such data if it can. Without it, ``neighbours(run)``
    returns pairs of your own; ``sites`` is the accounting that the proof declares, ``because``
    says in words why one record touches no more; ``histories`` names the forced histories (site, occurrence,
    distribution -> outcome or None), ``proof`` is what the certificates are made from: where it is ``None``
    and every
    site has a mechanism, their sum; where some have none there is no certificate. ``searched`` = (records,
    width) lets Hypothesis look for worse pairs among arrays of at most that many records, of numbers of the
    domain, in [0, 1] if none is declared. ``more(run)`` may
    add evidence of its own, such as an event with both probabilities bounded. ``unentered`` maps the name of
    a function to the reason why lines and branches of it, and of functions inside it, need not be entered by
    any history; ``"name (raise)"`` speaks of those that only lead to an error, ``"name (branch)"`` of other
    conditions that come out one way only; the row prints it. ``domain`` declares the data: what one number of
    a record can be (pairs are then its corners and random ones too, besides those of ``neighbours``), all
    data sets (``DataSets``: all their pairs), or the listed pairs alone (``ListedPairs``). The claim's
    ``domain`` in words is derived from it. A claim without a declared domain, or with other words, is never
    verified.
    """

    claim: PrivacyClaim
    program: Program
    neighbours: Callable[[Run], Sequence[Neighbours]] = no_pairs
    data: Records | Table | None = None
    sites: Sequence[Site] = ()
    because: str = ""
    histories: Mapping[str, Choice] = field(default_factory=dict)
    proof: Proof | None = None
    more: Callable[[Run], Sequence[Evidence]] | None = None
    samples: int = 4
    searched: tuple[int, int | None] | None = None
    unentered: Mapping[str, str] = field(default_factory=dict)
    domain: Domain | None = None

    def __post_init__(self) -> None:
        if isinstance(self.claim, Profile):
            raise InvalidParameterError(
                "an audit of a program needs a claim with one number, got a Profile; claim ApproxDP at each "
                "of its points, or hand the program to dpaudit.check."
            )
        if self.data is not None:
            self._declare(self.data)
        if self.neighbours is no_pairs:
            raise InvalidParameterError("exactly one of data and neighbours must be given, got neither.")
        if not callable(self.neighbours):
            raise InvalidParameterError(
                "neighbours of an audit must be a function of the run that returns pairs, got "
                f"{type(self.neighbours).__name__}; pass neighbours=lambda run: ..."
            )
        if self.domain is not None and not isinstance(self.domain, Domain):
            raise InvalidParameterError(
                f"domain must say what a number of a record can be, got {self.domain!r}; pass, "
                "say, Values(0, 1) of dpaudit.replay.domains, or leave it out."
            )
        if self.domain is None and self.searched is not None:
            object.__setattr__(self, "domain", Interval(0, 1))
        if self.claim.domain in (NOT_STATED, NOT_DECLARED):
            words = NOT_DECLARED if self.domain is None else str(self.domain)
            object.__setattr__(self, "claim", replace(self.claim, domain=words))
        if self.searched is not None and self.domain is not None:
            self.domain.levels()  # refuses a domain that cannot be searched number by number
        object.__setattr__(self, "sites", charged_sites(self.sites, self.claim))

    def _declare(self, data: Records | Table) -> None:
        """Derive the pairs and the domain from the declaration."""
        pairs_of(self.claim, None, data)  # refuses a claim about another unit
        own = Declared(data, self.claim.adjacency)
        for name in ("neighbours", "domain"):
            given = getattr(self, name)
            if not (given is None or given is no_pairs or isinstance(given, Declared)):
                raise InvalidParameterError(f"{name} follows from data, got both; leave one of them out.")
            object.__setattr__(self, name, own)
        if self.claim.domain not in (NOT_STATED, NOT_DECLARED, str(own)):
            raise InvalidParameterError(
                f"the domain of the claim must be that of the data, {str(own)!r}, got {self.claim.domain!r}; "
                "leave it out."
            )

    @property
    def undeclared(self) -> str:
        """Why the claim is not about the data that the audit declares; empty if it is."""
        if self.domain is None:
            return f"domain {NOT_DECLARED}; pass domain= to say which data the claim is about"
        if self.claim.domain != str(self.domain):
            return (
                f"the claim is about {self.claim.domain!r}, and the audit declares {str(self.domain)!r}; "
                "leave the domain of the claim out"
            )
        return ""

    @cached_property
    def whole(self) -> Proof | None:
        """What the certificates are made from: the proof, or else the sum of the sites' mechanisms."""
        if self.proof is not None or not self.sites:
            return self.proof
        if any(site.mechanism is None or site.group for site in self.sites):
            return None
        words = self.because or "; ".join(site.describe() for site in self.sites)
        return accounted(self.sites, declared=words)

    @property
    def declared(self) -> Fraction:
        """The declared total cost of one record, in the unit in which costs add up (``Site``)."""
        return total_of(self.sites)

    @property
    def allowed(self) -> Fraction:
        """The same in the measure that replays are held against (``proofs.measures``)."""
        return allowed_by(self.sites)

    @property
    def accounting(self) -> AccountingClaim | None:
        """The claim that the proof's accounting makes, in the claim's notion; for (epsilon, delta), which
        does not add up, in epsilon or in rho; ``None`` where the sites have neither or cost nothing."""
        stated, claim = self.declared, self.claim
        if not stated:
            return None
        common: dict[str, Any] = {
            "declared": "; ".join(site.describe() for site in self.sites),
            "adjacency": claim.adjacency,
            "unit": claim.unit,
            "participation": claim.participation,
        }
        if isinstance(claim, ZeroConcentratedDP):
            return ConcentratedAccounting(rho=stated, **common)
        if isinstance(claim, GaussianDP):
            return GaussianAccounting(mu=_root(stated), **common)
        if isinstance(claim, RenyiDP):
            return RenyiAccounting(order=claim.order, epsilon=stated, **common)
        if isinstance(claim, ApproxDP) and common_measure(self.sites) != "loss":
            rho = _concentrated(self.sites, claim)
            return None if rho is None else ConcentratedAccounting(rho=rho, **common)
        return Accounting(epsilon=stated, **common)


def _root(squared: Fraction) -> Fraction:
    """The square root of a total: exact where it is rational, otherwise rounded up."""
    with precision(256):
        upper = upper_short(ball(squared).sqrt())
    nearest = upper.limit_denominator(10**12)
    return nearest if nearest**2 == squared else upper


def _concentrated(sites: Sequence[Site], claim: ApproxDP) -> Fraction | None:
    """What the sites cost in rho; ``None`` where one of them has none."""
    if any(site.mechanism is None for site in sites):
        return None
    setting = ZeroConcentratedDP(
        rho=1, adjacency=claim.adjacency, unit=claim.unit, view=claim.view, participation=claim.participation
    )
    try:
        return total_of([replace(site, total=None).charged(setting) for site in sites])
    except InvalidParameterError:
        return None
