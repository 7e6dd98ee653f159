"""Check a leak: an output that distinguishes two inputs with certainty."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from flint import arb

from dpaudit.certify.witnesses.inputs import same_written
from dpaudit.core.claims import Claim
from dpaudit.core.errors import CertificateError
from dpaudit.core.exact import decode_value
from dpaudit.core.views import Audience, Principal, View
from dpaudit.distributions.base import BaseMeasure
from dpaudit.kernel.ball import lower_short

__all__ = ["LEAKS", "audience_of", "prefix_mass", "prefix_masses", "require_leak"]

LEAKS = ("value", "missing", "extra", "shape")

_KEYS = {"what", "recorded", "neighbour", "site", "to"}


class _Site(Protocol):
    """A random site before the leak."""

    @property
    def site(self) -> str: ...

    def log_densities(self) -> tuple[arb, arb]:
        """Return balls for the log-density of the outcome on both inputs."""


def require_leak(sites: Sequence[_Site], leak: Any, claim: Claim, view: View) -> None:
    """Raise ``CertificateError`` unless ``leak``, after ``sites``, is visible in ``view`` and differs.

    An event that is possible on one side only has an infinite log-ratio and Renyi divergence, and no finite
    mu. Its delta is at least its probability (``prefix_mass``).
    """
    if not isinstance(leak, dict) or leak.keys() != _KEYS or not isinstance(leak["site"], str):
        raise CertificateError(f"a leak must have the fields {sorted(_KEYS)}, got {str(leak)[:80]}.")
    if not leak["site"] or not view.sees(audience_of(leak["to"])):
        raise CertificateError(
            f"a leak must be at a site and be seen by the view {view}, it is at {leak['site'][:60]!r} and "
            f"goes to {leak['to']}."
        )
    for site in sites:
        here, there = site.log_densities()
        if not (here.is_finite() and there.is_finite()):
            raise CertificateError(
                f"site {site.site!r} before a leak must be possible on both sides, got log-densities {here} "
                f"and {there}."
            )
    what, recorded, neighbour = leak["what"], leak["recorded"], leak["neighbour"]
    if what not in LEAKS:
        raise CertificateError(f"a leak must be one of {LEAKS}, got {what!r}.")
    decode_value(recorded)
    decode_value(neighbour)
    if same_written(recorded, neighbour):
        raise CertificateError(
            f"a leak must show different things on the two sides, but both show {str(recorded)[:60]}."
        )


def prefix_mass(sites: Sequence[_Site]) -> Fraction:
    """Return a lower bound on the probability, on the recorded side, of the outcomes before a leak.

    Raise ``CertificateError`` as ``prefix_masses``.
    """
    return max(lower_short(prefix_masses(sites)[0]), Fraction(0))


def prefix_masses(sites: Sequence[_Site]) -> tuple[arb, arb]:
    """Return the probability of the outcomes at ``sites`` on both inputs: the product of their masses, 1
    without sites.

    Raise ``CertificateError`` if a site has a density, because each of its outcomes has probability 0.
    """
    here, there = arb(1), arb(1)
    for site in sites:
        if _has_density(site):
            raise CertificateError(
                f"for an approx-dp claim, site {site.site!r} before the event must have probabilities, not a "
                "density, because each of its outcomes has probability 0."
            )
        own, other = site.log_densities()
        here, there = here * own.exp(), there * other.exp()
    return here, there


def _has_density(site: _Site) -> bool:
    distribution = getattr(site, "distribution", None)
    if distribution is None:  # a channel with finitely many answers
        return getattr(getattr(site, "kernel", None), "answers", None) is None
    return bool(distribution.base_measure is BaseMeasure.LEBESGUE)


def audience_of(names: Any) -> Audience:
    """Return the principals that a file names. Raise ``CertificateError`` for anything but a list of
    names.
    """
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise CertificateError(f"a site's audience must be a list of names, got {str(names)[:60]!r}.")
    return frozenset(Principal(name) for name in names)
