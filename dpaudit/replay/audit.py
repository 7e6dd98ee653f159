"""Define the audit of one program against one privacy claim."""

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

#: The claim's ``domain`` text if neither the claim nor its audit declares a domain.
NOT_DECLARED = "not declared: the pairs that the audit lists"


def no_pairs(run: Run) -> Sequence[Neighbours]:
    """Mark that an audit was given no pairs of its own."""
    return ()


@dataclass(frozen=True, kw_only=True)
class PrivacyAudit:
    """Describe a program, its privacy claim and how to audit it.

    A claim whose domain is not declared, or differs from that of the audit, is never verified.

    Parameters
    ----------
    claim : PrivacyClaim
        The claim, with one number. The claim's ``domain`` text is derived from ``domain`` or ``data``.
    program : callable
        ``program(coins, data)``, which takes all randomness from ``coins``.
    neighbours : callable
        ``neighbours(run)`` returns the pairs of neighbouring inputs. Required unless ``data`` is given.
    data : Records or Table, optional
        Declared data. The pairs and the domain follow from it, and a privacy row proves the program for all
        such data if it can.
    sites : sequence of Site
        The releases that one record can affect, with their privacy costs.
    because : str
        Why one record affects no other site.
    histories : mapping of str to callable
        Histories to force, by name: (site, occurrence, distribution) -> outcome, or None to draw it.
    proof : Proof, optional
        Source of the certificate. Default: the sum of the sites' mechanisms, if all sites have one and no
        site has a group. If some have none, there is no certificate.
    more : callable, optional
        ``more(run)`` returns additional evidence, such as an event with both probabilities bounded.
    samples : int
        Number of sampled histories per pair and direction (4).
    searched : (int, int or None), optional
        (records, width) of the largest arrays in which Hypothesis searches for worse pairs. Their numbers are
        in the domain, or in [0, 1] if none is declared.
    domain : Domain, optional
        The data of the claim: the possible values of a number of a record (which adds corner and random
        pairs to those of ``neighbours``), all datasets (``DataSets``, which adds all their pairs), or only
        the listed pairs (``ListedPairs``).

    Raises
    ------
    InvalidParameterError
        The claim is a Profile or does not fit a site or the data, ``neighbours`` or ``domain`` has the wrong
        type, or both of ``data`` and ``neighbours`` or ``domain`` are given.
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
    domain: Domain | None = None

    def __post_init__(self) -> None:
        if isinstance(self.claim, Profile):
            raise InvalidParameterError(
                "PrivacyAudit requires a claim with one number, got a Profile. Claim ApproxDP at each of its "
                "points, or pass the program to dpaudit.check.",
                code="E-CLAIM-PROFILE",
            )
        if self.data is not None:
            self._declare(self.data)
        if self.neighbours is no_pairs:
            raise InvalidParameterError(
                "exactly one of data and neighbours must be given, got neither.", code="E-NEIGHBOURS-MISSING"
            )
        if not callable(self.neighbours):
            raise InvalidParameterError(
                "neighbours of an audit must be a function of the run that returns pairs, got "
                f"{type(self.neighbours).__name__}. Pass neighbours=lambda run: ...",
                code="E-NEIGHBOURS-TYPE",
            )
        if self.domain is not None and not isinstance(self.domain, Domain):
            raise InvalidParameterError(
                f"domain must be a Domain, such as dpaudit.replay.domains.Values(0, 1), got {self.domain!r}.",
                code="E-DOMAIN-TYPE",
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
                raise InvalidParameterError(
                    f"{name} follows from data and cannot be given as well.", code="E-DATA-CONFLICT"
                )
            object.__setattr__(self, name, own)
        if self.claim.domain not in (NOT_STATED, NOT_DECLARED, str(own)):
            raise InvalidParameterError(
                f"the domain of the claim must be that of the data, {str(own)!r}, got {self.claim.domain!r}.",
                code="E-CLAIM-DOMAIN",
            )

    @property
    def undeclared(self) -> str:
        """Return why the claim is not about the data that the audit declares, or "" if it is."""
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
        """Return the source of the certificates: the proof, or else the sum of the sites' mechanisms."""
        if self.proof is not None or not self.sites:
            return self.proof
        if any(site.mechanism is None or site.group for site in self.sites):
            return None
        words = self.because or "; ".join(site.describe() for site in self.sites)
        return accounted(self.sites, declared=words)

    @property
    def declared(self) -> Fraction:
        """Return the declared total cost of one record, in the unit in which costs add up (``Site``)."""
        return total_of(self.sites)

    @property
    def allowed(self) -> Fraction:
        """Return the declared total in the measure that replays are compared in (``proofs.measures``)."""
        return allowed_by(self.sites)

    @property
    def accounting(self) -> AccountingClaim | None:
        """Return the claim that the proof's accounting makes, in the notion of the claim.

        (epsilon, delta) does not add up, so its accounting is in epsilon or in rho. Return ``None`` if the
        sites have neither or cost nothing.
        """
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
    """Return the square root of a total: exact if it is rational, otherwise rounded up."""
    with precision(256):
        upper = upper_short(ball(squared).sqrt())
    nearest = upper.limit_denominator(10**12)
    return nearest if nearest**2 == squared else upper


def _concentrated(sites: Sequence[Site], claim: ApproxDP) -> Fraction | None:
    """Return the total cost of the sites in rho, or ``None`` if a site has none."""
    if any(site.mechanism is None for site in sites):
        return None
    setting = ZeroConcentratedDP(
        rho=1, adjacency=claim.adjacency, unit=claim.unit, view=claim.view, participation=claim.participation
    )
    try:
        return total_of([replace(site, total=None).charged(setting) for site in sites])
    except InvalidParameterError:
        return None
