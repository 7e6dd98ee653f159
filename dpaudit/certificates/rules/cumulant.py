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

from dpaudit.certificates.proxies import is_proxy
from dpaudit.certificates.rules.noise_law import read_noise, subject
from dpaudit.certificates.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


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
