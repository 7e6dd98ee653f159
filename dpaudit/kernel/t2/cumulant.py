"""T2, rule ``cumulant``: noise with mean 0 is sub-Gaussian, or sub-exponential, with a variance proxy.

Statement. Let X be the noise of the node (independent parts, each as often as its count, plus the shift), and
K(t) = log E exp(tX). If the node's ``proxy`` v passes ``proxies.is_proxy`` on |t| <= ``reach`` (on all t if
it is "all"), then K(t) <= v t^2 / 2 there.

Proof. The steps of ``proxies``. ∎

Meaning. "Sub-Gaussian with proxy v" is the inequality for all t. "Sub-exponential with proxy v and scale h"
is the inequality for |t| <= 1/h. With |t| < 1/h it is equivalent (``proxies``, last paragraph).

Source: Boucheron, Lugosi, Massart 2013, chapter 2; the proxies of the single distributions are in ``noise``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, Setting, need, number_of
from dpaudit.kernel.t1.tier import Tier
from dpaudit.kernel.t2.noise_distribution import read_noise, subject
from dpaudit.kernel.t2.proxies import is_proxy

__all__ = ["NoiseBound", "add_cumulant", "noise_bound"]


@dataclass(frozen=True, kw_only=True)
class NoiseBound:
    """The bound of a rule about noise.

    ``proxy`` is a reach (``None``: everywhere) with a variance proxy for all |t| up to it. ``chance`` is the
    probability of the event. ``subject`` is the name of the noise.
    """

    subject: str
    proxy: tuple[Fraction | None, Fraction] | None = None
    chance: Fraction | None = None


def add_cumulant(tier: Tier) -> None:
    """Add the rule ``cumulant``."""

    @tier.rule("cumulant")
    def _cumulant(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        noise, described = read_noise(p)
        proxy = p.positive("proxy")
        reach = None if p.text("reach") == "all" else p.positive("reach")
        words, assumptions = subject(p, described)
        where = "all t" if reach is None else f"|t| <= {reach}"
        p.need(
            is_proxy(noise, proxy, reach=reach),
            f"log E exp(tX) <= {proxy} t^2 / 2 could not be proved for {where}.",
        )
        return Guarantee(curves=NoiseBound(proxy=(reach, proxy), subject=words), assumptions=assumptions)


def noise_bound(guarantee: Guarantee, claim: dict[str, Any]) -> Fraction | None:
    """Return the bound of a guarantee about noise on a claim (as JSON) about the same noise, or ``None``.

    A proxy for all |t| up to some reach holds for every smaller range. Raise ``CertificateError`` if the
    claim names another noise.
    """
    found, words = guarantee.curves, claim.get("event", claim.get("of"))
    if not isinstance(found, NoiseBound) or words is None:
        return None
    need(
        found.subject == words,
        f"the certificate must be about what the claim names, {words!r}, got {found.subject!r}. Use this "
        "name, or set stands_for to the claim's name.",
    )
    if claim["type"] == "tail-bound" or found.proxy is None:
        return found.chance if claim["type"] == "tail-bound" else None
    reach, proxy = found.proxy
    wanted = 1 / number_of(claim, "scale") if claim["type"] == "sub-exponential" else None
    return proxy if reach is None or (wanted is not None and reach >= wanted) else None
