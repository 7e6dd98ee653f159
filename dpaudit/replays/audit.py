"""A privacy audit as a value: one program, one claim, and what is needed to look for trouble."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from dpaudit.claims import Accounting, PrivacyClaim
from dpaudit.coins import Choice, Program
from dpaudit.evidence import Evidence
from dpaudit.proofs.build import Proof, accounted
from dpaudit.proofs.sites import Site, total_of
from dpaudit.replays.domains import Domain
from dpaudit.replays.histories import Neighbours
from dpaudit.suite import Run

__all__ = ["PrivacyAudit"]


@dataclass(frozen=True, kw_only=True)
class PrivacyAudit:
    """A program, its claim, and what is needed to look for trouble.

    ``neighbours(run)`` returns the pairs; ``sites`` is the accounting that the proof declares, ``because``
    says in words why one record touches no more; ``histories`` names the forced histories (site, occurrence,
    law -> outcome or None), ``proof`` is what the certificates are made from: where it is ``None`` and every
    site has a mechanism, their sum; where some have none there is no certificate. ``searched`` = (records,
    width) lets Hypothesis look for worse pairs among arrays of at most that many records. ``more(run)`` may
    add evidence of its own, such as an event with both probabilities bounded. ``unentered`` maps the name of
    a function to the reason why lines and branches of it, and of functions inside it, need not be entered by
    any history; ``"name (raise)"`` speaks of those that only lead to an error, ``"name (branch)"`` of other
    conditions that come out one way only; the row prints it. ``domain`` says what one number of a record can
    be: pairs are then its corners and random ones too, besides those of ``neighbours``.
    """

    claim: PrivacyClaim
    program: Program
    neighbours: Callable[[Run], Sequence[Neighbours]]
    sites: Sequence[Site]
    because: str = ""
    histories: Mapping[str, Choice] = field(default_factory=dict)
    proof: Proof | None = None
    more: Callable[[Run], Sequence[Evidence]] | None = None
    samples: int = 4
    searched: tuple[int, int | None] | None = None
    unentered: Mapping[str, str] = field(default_factory=dict)
    domain: Domain | None = None

    def __post_init__(self) -> None:
        sites = [site.priced(self.claim) for site in self.sites]
        object.__setattr__(self, "sites", sites)

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
        """The declared total price of one record."""
        return total_of(self.sites)

    @property
    def accounting(self) -> Accounting:
        """The claim that the proof's accounting makes."""
        return Accounting(
            epsilon=self.declared,
            declared="; ".join(site.describe() for site in self.sites),
            adjacency=self.claim.adjacency,
            unit=self.claim.unit,
            turnout=self.claim.turnout,
        )
