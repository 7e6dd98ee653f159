"""Witnesses against claims about noise: one point, recomputed in balls from the distribution alone.

Form ``tilt``: a number t at which K(t) = log E exp(tX) is above v t^2 / 2. The bound is the lower end of 2
K(t) / t^2, which every variance proxy must reach. It is ``None`` if K(t) is infinite. For a class of bounded
distributions the worst distribution near t = 0 is used.

Form ``tail-mass``: an event. The bound is the lower end of its probability.

The body names the noise as the rules ``cumulant`` and ``tail`` do.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.core.claims import SubExponential, SubGaussian, TailBound
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import exact
from dpaudit.kernel.ball import lower_short
from dpaudit.kernel.kernel_t0 import Parameters, shown
from dpaudit.kernel.t2.noise_distribution import read_noise, subject
from dpaudit.kernel.t2.proxies import ratio
from dpaudit.kernel.t2.tail import enclosed_tail, read_tail

__all__ = ["NoiseClaim", "recompute_noise"]

NoiseClaim = SubGaussian | SubExponential | TailBound


def recompute_noise(witness: Witness, claim: NoiseClaim) -> Fraction | None:
    """Return a lower bound on the claim's quantity, ``None`` for an infinite one.

    Raise ``CertificateError`` if the witness is malformed, of another form or about other noise, has a t
    outside the claim's range, or states a larger bound than it gives.
    """
    form = "tail-mass" if isinstance(claim, TailBound) else "tilt"
    if witness.form != form or witness.quantity != claim.quantity:
        raise CertificateError(
            f"a witness against a {claim.type} claim must be of the form {form!r} and bound "
            f"{claim.quantity!r}, got {witness.form!r} and {witness.quantity!r}."
        )
    body = Parameters(witness.body, rule=f"witness ({form})")
    found = _tail_mass(body, claim) if isinstance(claim, TailBound) else _tilt(body, claim)
    body.finish()
    if found is not None and (witness.bound is None or witness.bound > found):
        raise CertificateError(
            f"the witness claims too much: its bound must be at most the recomputed one, {shown(found)}."
        )
    return found


def _tilt(body: Parameters, claim: SubGaussian | SubExponential) -> Fraction | None:
    noise, described = read_noise(body)
    _require_subject(subject(body, described)[0], claim.of)
    t = body.number("t")
    if t == 0 or (isinstance(claim, SubExponential) and abs(t) * exact(claim.scale) > 1):
        raise CertificateError(f"t must be in the claim's range and not 0, got {t}.")
    worst = noise.attained
    return None if worst.infinite_at(t) else lower_short(ratio(worst, t))


def _tail_mass(body: Parameters, claim: TailBound) -> Fraction:
    noise, level, side, strict, described = read_tail(body)
    _require_subject(subject(body, described)[0], claim.event)
    probability = enclosed_tail(noise, level, side=side, strict=strict)
    return probability if isinstance(probability, Fraction) else lower_short(probability)


def _require_subject(words: str, wanted: str) -> None:
    if words != wanted:
        raise CertificateError(
            f"the witness must be about what the claim names, {wanted[:200]!r}, got {words[:200]!r}."
        )
