"""The trusted checker: derive the bound of a certificate again, at the lowest tier that reaches it.

T0 (``kernel_t0``) is rational arithmetic in one file. T1 (``t1``) adds ball arithmetic with elementary
functions. T2 (``t2``) adds special functions and tails. The search that found the certificate is not trusted,
and nothing in the certificate is executed. Limits on nodes, depth and digits bound time and memory. This
folder imports nothing else of the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.kernel import kernel_t0
from dpaudit.kernel.kernel_t0 import (
    BeyondTierError,
    CertificateError,
    DpauditError,
    Guarantee,
    Setting,
    context_of,
    shown,
)
from dpaudit.kernel.t1.readout import best_bound
from dpaudit.kernel.t1.rules import T1
from dpaudit.kernel.t2.cumulant import noise_bound
from dpaudit.kernel.t2.gaussian import gaussian_delta
from dpaudit.kernel.t2.rules import T2

__all__ = [
    "ROOT",
    "Examined",
    "check",
    "context_of",
    "derive",
    "derive_in",
    "derived_bound",
    "examine",
    "known_rules",
]

#: The name of the root of every tree, which states the claim that the tree is about.
ROOT = "claim"


@dataclass(frozen=True)
class Examined:
    """The result of a check: the derived ``bound``, in the unit of the claim's quantity, and the ``tier``
    that was needed.
    """

    bound: Fraction
    tier: str


def check(certificate: Any, claim: Any) -> Fraction:
    """Return the bound that ``examine`` derives. Raise the same errors."""
    return examine(certificate, claim).bound


def examine(certificate: Any, claim: Any) -> Examined:
    """Derive the bound of ``certificate`` for ``claim`` again.

    Parameters
    ----------
    certificate, claim : dict, or object with ``to_json``
        The certificate and the claim that it is about.

    Returns
    -------
    Examined
        The derived bound, and the lowest tier that reaches the stated bound.

    Raises
    ------
    CertificateError
        The tree is malformed, too large, or about another claim; uses an unknown rule, a rule that is unsound
        in the claim's setting, or a parameter outside its domain; has assumptions that the certificate does
        not list; or claims a bound below the derived one.
    """
    data, about = _plain(certificate), _plain(claim)
    try:
        for tier, rules, reaches in _TIERS:
            try:
                guarantee = kernel_t0.check(data, about, rules, reaches)
            except BeyondTierError:
                continue
            return Examined(derived_bound(guarantee, about), tier)
    except CertificateError:
        raise
    except (DpauditError, ArithmeticError) as error:
        raise CertificateError(f"the bound could not be derived: {error}") from error
    raise CertificateError("no tier of the kernel bounds the claimed quantity.")


def derive(tree: Any, claim: Any) -> Guarantee:
    """Return the guarantee of a rule tree (without its root) in the setting of a claim, by the rules of
    all tiers.
    """
    return derive_in(tree, Setting.of(_plain(claim)))


def derive_in(tree: Any, setting: Setting) -> Guarantee:
    """Return the guarantee of a rule tree in a setting, by the rules of all tiers.

    Raise ``CertificateError`` as ``examine``.
    """
    try:
        return kernel_t0.derive(tree, setting, T2.rules)
    except CertificateError:
        raise
    except (DpauditError, ArithmeticError) as error:
        raise CertificateError(f"the bound could not be derived: {error}") from error


def derived_bound(guarantee: Guarantee, claim: Any) -> Fraction:
    """Return the best bound of ``guarantee`` on the claim's quantity. Raise ``CertificateError`` if there
    is none.
    """
    about = _plain(claim)
    try:
        noise = noise_bound(guarantee, about)
        bound = best_bound(guarantee, about, gaussian_delta) if noise is None else noise
    except CertificateError:
        raise
    except (DpauditError, ArithmeticError) as error:
        raise CertificateError(f"the claimed quantity could not be enclosed: {error}") from error
    if bound is None:
        raise CertificateError(
            f"the tree must bound {kernel_t0.QUANTITY[about['type']]} of a {about['type']} claim. Use a "
            "mechanism with such a bound."
        )
    return bound


def known_rules() -> list[str]:
    """Return the sorted names of the rules of this kernel."""
    return sorted(T2.rules)


def _plain(item: Any) -> dict[str, Any]:
    data = item if isinstance(item, dict) else item.to_json()
    return dict(data)


def _reached_in_balls(guarantee: Guarantee, claim: dict[str, Any], stated: Fraction) -> bool:
    """Return True if T1 reaches the stated bound by balls. Raise ``BeyondTierError`` otherwise, as T2 may
    reach it.
    """
    bound = best_bound(guarantee, claim)
    if bound is None or stated < bound:
        raise BeyondTierError("T2", f"the bound {shown(stated)}")
    return True


def _reached(guarantee: Guarantee, claim: dict[str, Any], stated: Fraction) -> bool:
    """Return whether the stated bound is at least the best bound of T2."""
    return kernel_t0.covers(guarantee, claim, stated) or stated >= derived_bound(guarantee, claim)


_TIERS: tuple[tuple[str, Any, Any], ...] = (
    ("T0", None, kernel_t0.covers),
    ("T1", T1.rules, _reached_in_balls),
    ("T2", T2.rules, _reached),
)
