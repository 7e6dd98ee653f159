"""Rule ``cumulant``: noise with mean 0 is sub-Gaussian, or sub-exponential, with a variance proxy.

Statement. Let X be the noise of the node (independent parts, each as often as its count, plus the shift), and
K(t) = log E exp(tX). If the node's ``proxy`` v passes ``proxies.is_proxy`` on |t| <= ``reach`` (on all t
where it is "all"), then K(t) <= v t^2 / 2 there.

Proof. The steps of ``proxies``. ∎

Readings. "Sub-Gaussian with proxy v" is the inequality for all t. "Sub-exponential with proxy v and scale h"
is the inequality for |t| <= 1/h; with |t| < 1/h instead it says the same (``proxies``, last paragraph).

Source: Boucheron, Lugosi, Massart 2013, chapter 2; the proxies of the single laws are in ``noise``.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.claims import Claim, SubExponential, TailBound
from dpaudit.errors import CertificateError
from dpaudit.exact import exact
from dpaudit.kernel.proxies import is_proxy
from dpaudit.kernel.rules.noise_law import read_noise, subject
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__ = ["noise_bound"]


@rule("cumulant")
def _cumulant(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    noise, described = read_noise(parameters)
    proxy = parameters.positive("proxy")
    everywhere = parameters.text("reach") == "all"
    reach = None if everywhere else parameters.positive("reach")
    words, assumptions = subject(parameters, described)
    if not is_proxy(noise, proxy, reach=reach):
        where = "all t" if reach is None else f"|t| <= {reach}"
        raise parameters.fail(
            f"log E exp(tX) <= {proxy} t^2 / 2 must be provable for {where}, and it was not; state a larger "
            "proxy, or look for a counterexample."
        )
    return Guarantee(proxy=(reach, proxy), subject=words, assumptions=assumptions)


def noise_bound(guarantee: Guarantee, claim: Claim) -> Fraction | None:
    """What a guarantee about noise gives for a claim about the same noise; ``None`` if it says nothing.

    A proxy for all |t| up to some reach is one for every smaller range. Raises ``CertificateError`` if the
    claim names something else.
    """
    words = claim.event if isinstance(claim, TailBound) else getattr(claim, "of", None)
    if words is None or guarantee.subject != words:
        raise CertificateError(
            f"the certificate must be about what the claim names, {words!r}, got {guarantee.subject!r}; "
            "name it so, or say in stands_for what the claim means."
        )
    if isinstance(claim, TailBound):
        return guarantee.chance
    if guarantee.proxy is None:
        return None
    reach, proxy = guarantee.proxy
    wanted = 1 / exact(claim.scale) if isinstance(claim, SubExponential) else None
    return proxy if reach is None or (wanted is not None and reach >= wanted) else None
