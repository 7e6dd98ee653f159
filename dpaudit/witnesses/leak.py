"""The check of a leak: something shown that tells two inputs apart with certainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from flint import arb

from dpaudit.claims import ApproxDP, Claim
from dpaudit.errors import CertificateError
from dpaudit.exact import decode_value
from dpaudit.views import Audience, Principal, View
from dpaudit.witnesses.inputs import same_written

__all__ = ["LEAKS", "audience_of", "require_leak"]

LEAKS = ("value", "missing", "extra", "shape")

_KEYS = {"what", "recorded", "neighbour", "site", "to"}


class _Site(Protocol):
    """A random site before the leak."""

    @property
    def site(self) -> str: ...

    def log_densities(self) -> tuple[arb, arb]:
        """Balls for the log-density of what came out, on both inputs."""


def require_leak(sites: Sequence[_Site], leak: Any, claim: Claim, view: View) -> None:
    """Raise ``CertificateError`` unless ``leak``, after ``sites``, is shown in ``view`` and differs.

    An event that is possible on one side only has an infinite log-ratio and Renyi divergence, and no finite
    mu; its delta may be small.
    """
    if isinstance(claim, ApproxDP):
        raise CertificateError(
            "a leak refutes an approx-dp claim only by its probability; sum the event out (form 'mixture')."
        )
    if not isinstance(leak, dict) or leak.keys() != _KEYS or not isinstance(leak["site"], str):
        raise CertificateError(
            f"a leak must have the fields {sorted(_KEYS)}, its site and audience among them, got "
            f"{str(leak)[:80]}; re-create the witness."
        )
    if not leak["site"] or not view.sees(audience_of(leak["to"])):
        raise CertificateError(
            f"a leak must be at a site and be seen by the view {view}, it is at {leak['site'][:60]!r} and "
            f"goes to {leak['to']}; it is no witness in this view."
        )
    for site in sites:
        here, there = site.log_densities()
        if not (here.is_finite() and there.is_finite()):
            raise CertificateError(
                f"site {site.site!r} before a leak must be possible on both sides, log-densities {here} "
                f"and {there}; cut it before."
            )
    what, recorded, neighbour = leak["what"], leak["recorded"], leak["neighbour"]
    if what not in LEAKS:
        raise CertificateError(f"a leak must be one of {LEAKS}, got {what!r}; re-create the witness.")
    decode_value(recorded)
    decode_value(neighbour)
    if same_written(recorded, neighbour):
        raise CertificateError(
            f"a leak must show different things on the two sides, both show {str(recorded)[:60]}; there is "
            "no leak."
        )


def audience_of(names: Any) -> Audience:
    """The principals that a file names. Raises ``CertificateError`` for anything but a list of names."""
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise CertificateError(
            f"a site's audience must be a list of names, got {str(names)[:60]!r}; re-create the witness."
        )
    return frozenset(Principal(name) for name in names)
