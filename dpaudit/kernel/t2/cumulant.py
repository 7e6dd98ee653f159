"""T2, rule ``cumulant``: noise with mean 0 is sub-Gaussian, or sub-exponential, with a variance proxy.

Statement. Let X be the noise of the node (independent parts, each as often as its count, plus the shift), and
K(t) = log E exp(tX). If the node's ``proxy`` v passes ``proxies.is_proxy`` on |t| <= ``reach`` (on all t
where it is "all"), then K(t) <= v t^2 / 2 there.

Proof. The steps of ``proxies``. ∎

Readings. "Sub-Gaussian with proxy v" is the inequality for all t. "Sub-exponential with proxy v and scale h"
is the inequality for |t| <= 1/h; with |t| < 1/h instead it says the same (``proxies``, last paragraph).

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
    """What a rule about noise bounds: ``proxy`` is a reach (``None``: everywhere) with a variance proxy for
    all |t| up to it, ``chance`` the probability of the event; ``subject`` names the noise in words.
    """

    subject: str
    proxy: tuple[Fraction | None, Fraction] | None = None
    chance: Fraction | None = None


def add_cumulant(tier: Tier) -> None:
    """The rule ``cumulant``."""

    @tier.rule("cumulant")
    def _cumulant(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        noise, described = read_noise(p)
        proxy = p.positive("proxy")
        reach = None if p.text("reach") == "all" else p.positive("reach")
        words, assumptions = subject(p, described)
        where = "all t" if reach is None else f"|t| <= {reach}"
        p.need(
            is_proxy(noise, proxy, reach=reach),
            f"log E exp(tX) <= {proxy} t^2 / 2 must be provable for {where}, and it was not; state a larger "
            "proxy, or look for a counterexample.",
        )
        return Guarantee(curves=NoiseBound(proxy=(reach, proxy), subject=words), assumptions=assumptions)


def noise_bound(guarantee: Guarantee, claim: dict[str, Any]) -> Fraction | None:
    """What a guarantee about noise gives for a claim (as JSON) about the same noise; ``None`` if nothing.

    A proxy for all |t| up to some reach is one for every smaller range. Raises ``CertificateError`` if the
    claim names something else.
    """
    found, words = guarantee.curves, claim.get("event", claim.get("of"))
    if not isinstance(found, NoiseBound) or words is None:
        return None
    need(
        found.subject == words,
        f"the certificate must be about what the claim names, {words!r}, got {found.subject!r}; name it so, "
        "or say in stands_for what the claim means.",
    )
    if claim["type"] == "tail-bound" or found.proxy is None:
        return found.chance if claim["type"] == "tail-bound" else None
    reach, proxy = found.proxy
    wanted = 1 / number_of(claim, "scale") if claim["type"] == "sub-exponential" else None
    return proxy if reach is None or (wanted is not None and reach >= wanted) else None
