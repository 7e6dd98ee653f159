"""Decide claims about noise: a certificate if the claim holds, an exact counterexample if it does not.

    noise = noise_sum([(Laplace(scale=2), 4)])
    claim = SubExponential(variance_proxy=40, scale=4, of=noise.name)
    evidence = decide_proxy(claim, noise)

Nothing here is trusted. ``smallest_proxy`` searches for the least variance proxy by evaluating 2 K(t) / t^2
at many points. It asks the kernel to prove a proxy slightly above the largest value found. The point of that
value is the counterexample to every smaller proxy. Tails are computed exactly in either case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from dpaudit.certify.proof import Proof, accepted
from dpaudit.core.claims import SubExponential, SubGaussian, TailBound
from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.evidence import Certificate, Witness
from dpaudit.core.exact import ExactLike, exact, exact_str
from dpaudit.distributions import Distribution
from dpaudit.kernel.ball import ball, lower_exact, lower_short, upper_short
from dpaudit.kernel.kernel_t0 import Parameters
from dpaudit.kernel.t2.noise import Noise
from dpaudit.kernel.t2.noise_distribution import read_noise
from dpaudit.kernel.t2.proxies import is_proxy, ratio
from dpaudit.kernel.t2.tail import enclosed_tail, read_tail

__all__ = [
    "NoiseSum",
    "Proxy",
    "TailEvent",
    "bounded_noise",
    "decide_proxy",
    "decide_tail",
    "noise_sum",
    "proxy_proof",
    "smallest_proxy",
]

#: Proxies are tried at a relative distance of 2^-k above the largest value found, smallest first.
_MARGINS = (45, 40, 34, 28, 22, 16, 10)

#: A counterexample must exceed the claim by this factor: twice the margin of a verdict.
_CLEARLY = 1 + Fraction(2, 10**9)


@dataclass(frozen=True)
class NoiseSum:
    """Noise in the form of certificates: JSON parts and a shift. A claim must use its ``name``."""

    parts: tuple[dict[str, Any], ...]
    shift: Fraction

    def to_json(self) -> dict[str, Any]:
        return {"parts": [dict(part) for part in self.parts], "shift": exact_str(self.shift)}

    @property
    def noise(self) -> Noise:
        return read_noise(Parameters(self.to_json(), rule="noise"))[0]

    @property
    def name(self) -> str:
        return read_noise(Parameters(self.to_json(), rule="noise"))[1]

    def centred(self) -> NoiseSum:
        """Return the same noise minus its mean."""
        return NoiseSum(self.parts, self.shift - self.noise.mean)


def noise_sum(terms: Sequence[tuple[Distribution, int]], *, shift: ExactLike = 0) -> NoiseSum:
    """Describe a sum of independent noise.

    Parameters
    ----------
    terms : sequence of (Distribution, int)
        Each distribution with the number of its copies. Supported are Laplace, Gaussian, exponential,
        discrete Laplace, Polya difference, Skellam, discrete Gaussian, Bernoulli, binomial, categorical,
        point masses, and shifts and exact convolutions of these.
    shift : exact number
        A constant that is added (0).

    Raises
    ------
    CertificateError
        A distribution is not supported.
    InvalidParameterError
        A distribution is a batch of copies.
    """
    parts: list[dict[str, Any]] = []
    total = exact(shift, name="shift")
    for distribution, count in terms:
        for part, number, offset in distribution.noise_parts(count):
            total += offset
            if part is not None:
                parts.append({"law": part, "count": str(number)})
    result = NoiseSum(tuple(parts), total)
    read_noise(Parameters(result.to_json(), rule="noise"))  # raises as the kernel would
    return result


def bounded_noise(lower: ExactLike, upper: ExactLike, *, count: int = 1) -> NoiseSum:
    """Describe the sum of ``count`` variables of any distributions on [lower, upper], each minus its mean."""
    distribution = {
        "law": "bounded",
        "lower": exact_str(exact(lower, name="lower")),
        "upper": exact_str(exact(upper, name="upper")),
    }
    return NoiseSum(({"law": distribution, "count": str(count)},), Fraction(0))


@dataclass(frozen=True)
class Proxy:
    """The result of a search for the least variance proxy.

    ``upper`` is a provable upper bound (``None`` if there is none). At ``t``, 2 K(t) / t^2 is at least
    ``lower`` (``None`` if it is infinite).
    """

    upper: Fraction | None
    t: Fraction
    lower: Fraction | None


def smallest_proxy(noise: NoiseSum, *, reach: ExactLike | None = None) -> Proxy:
    """Bound from both sides the least v with log E exp(tX) <= v t^2 / 2 for |t| <= ``reach``.

    If ``reach`` is ``None``, the inequality must hold for all t. Raise ``NotTractableError`` if no proxy
    close to the largest value found could be proved.
    """
    inside, end = noise.noise, None if reach is None else exact(reach, name="reach")
    if end is not None and end <= 0:
        raise InvalidParameterError(f"reach must be greater than 0, got {end}.", code="E-REACH-RANGE")
    if inside.mean != 0:
        sign = 1 if inside.mean > 0 else -1
        t = sign * Fraction(1, 2**64) * (1 if end is None else min(end, Fraction(1)))
        return Proxy(None, t, lower_exact(ratio(inside.attained, t)))
    pole = inside.attained.pole
    if pole is not None and (end is None or end >= pole):
        return Proxy(None, pole, None)
    if inside.growing and end is None and inside.quadratic is None:
        return Proxy(None, Fraction(1), lower_exact(ratio(inside, Fraction(1))))
    t = _largest(inside.attained, end)
    lower = lower_exact(ratio(inside.attained, t))
    return Proxy(_provable(inside, lower, end), t, lower)


def _provable(noise: Noise, lower: Fraction, reach: Fraction | None) -> Fraction:
    for v in _tries(noise, lower):
        if is_proxy(noise, v, reach=reach):
            return v
    raise NotTractableError(
        f"no proxy close to the largest value found, {float(lower):.9g}, could be proved. Shorten the range "
        "of t, or claim a larger proxy.",
        code="E-PROXY-NOT-PROVED",
    )


def _tries(noise: Noise, lower: Fraction) -> Iterator[Fraction]:
    second, _ = noise.second_and_third()
    exact_values = [v for v in (noise.quadratic, second) if isinstance(v, Fraction)]
    yield from (v for v in sorted(exact_values) if lower <= v <= lower * (1 + Fraction(1, 10**6)))
    for bits in _MARGINS:
        yield upper_short(ball(lower * (1 + Fraction(1, 2**bits))))


def _largest(noise: Noise, reach: Fraction | None) -> Fraction:
    """Return a point t near which 2 K(t) / t^2 is largest, by a scan and a refinement.

    Every point gives a valid lower bound.
    """
    if noise.growing and reach is not None:
        return reach
    points = _points(noise, reach)
    best = max(points, key=lambda t: lower_exact(ratio(noise, t)))
    step = Fraction(1, 4)
    while step > Fraction(1, 2**40):
        near = [t for t in (best * (1 - step), best, best * (1 + step)) if reach is None or abs(t) <= reach]
        found = max(near, key=lambda t: lower_exact(ratio(noise, t))).limit_denominator(2**80)
        best, step = (found, step) if found != best else (best, step / 2)
    return best


def _points(noise: Noise, reach: Fraction | None) -> list[Fraction]:
    """Return points on a logarithmic grid of both signs, from 2^-40 of the inverse standard deviation."""
    second, _ = noise.second_and_third()
    unit = 1 / Fraction(max(float(second), 1e-300) ** 0.5).limit_denominator(10**12)
    ends = [unit * Fraction(2) ** -20]
    ends += [unit * Fraction(2) ** (Fraction(k, 1) // 4) * (1 + Fraction(k % 4, 4)) for k in range(-24, 36)]
    ends += [1 / noise.quadratic] if noise.quadratic else []
    inside = [t for t in ends if reach is None or t < reach] + ([reach] if reach is not None else [])
    return [sign * t for t in inside for sign in (1, -1)]


def decide_proxy(claim: SubGaussian | SubExponential, noise: NoiseSum) -> Certificate | Witness:
    """Return evidence for or against the claim that ``noise`` is sub-Gaussian or sub-exponential.

    The certificate states the least provable proxy, or the claimed one if a smaller one is not needed. If the
    claim's ``of`` differs from the noise's ``name``, the certificate assumes that the claim is about this
    noise. Raise ``NotTractableError`` if the claim could not be decided.
    """
    reach = None if isinstance(claim, SubGaussian) else 1 / exact(claim.scale)
    claimed = exact(claim.variance_proxy)
    found = smallest_proxy(noise, reach=reach)
    if found.upper is not None and found.upper <= claimed:
        return proxy_proof(noise, found.upper, reach=reach, stands_for=claim.of).certify(claim)
    if is_proxy(noise.noise, claimed, reach=reach):
        return proxy_proof(noise, claimed, reach=reach, stands_for=claim.of).certify(claim)
    t = _refuting(noise.noise.attained, found, claimed, reach)
    if t is None:
        if found.upper is None:
            raise NotTractableError("no point inside the range decides the claim.", code="E-PROXY-UNDECIDED")
        return proxy_proof(noise, found.upper, reach=reach, stands_for=claim.of).certify(claim)
    return _tilt(claim, noise, t)


def proxy_proof(
    noise: NoiseSum, proxy: ExactLike, *, reach: ExactLike | None = None, stands_for: str = ""
) -> Proof:
    """Return the proof that log E exp(tX) <= proxy t^2 / 2 for |t| <= ``reach``.

    ``stands_for`` is the claim's name of the noise, if it differs from the noise's own name.
    """
    parameters = {
        **_named(noise.to_json(), noise.name, stands_for),
        "proxy": exact_str(exact(proxy, name="proxy")),
        "reach": "all" if reach is None else exact_str(exact(reach, name="reach")),
    }
    return accepted("cumulant", parameters)


def _named(body: dict[str, Any], name: str, stands_for: str) -> dict[str, Any]:
    return body if stands_for in ("", name) else {**body, "stands_for": stands_for}


def _refuting(noise: Noise, found: Proxy, claimed: Fraction, reach: Fraction | None) -> Fraction | None:
    """Return a point at which 2 K(t) / t^2 is clearly above the claim, or ``None``.

    A point strictly inside the range is preferred.
    """
    pole = noise.pole
    candidates = [found.t]
    if pole is not None and (reach is None or reach >= pole):
        candidates = [pole * (1 - Fraction(1, 2**k)) for k in range(1, 200)] + [pole]
    elif found.upper is None:  # a mean needs ever smaller t, a proxy without bound ever larger t
        grow = Fraction(1, 2) if noise.mean != 0 else Fraction(2)
        candidates = [found.t * grow**k for k in range(200)]
    for candidate in candidates:
        for t in (_short(candidate, 3), _short(candidate, 9), candidate):
            allowed = t != 0 and (reach is None or abs(t) <= reach)
            allowed = allowed and (noise.infinite_at(candidate) or not noise.infinite_at(t))
            if allowed and (noise.infinite_at(t) or lower_exact(ratio(noise, t)) > claimed * _CLEARLY):
                return t
    return None


def _short(t: Fraction, bits: int) -> Fraction:
    """Return ``t`` rounded to ``bits`` bits, so that a person can check it by hand."""
    if t == 0:
        return t
    size = Fraction(2) ** (bits - (abs(t).numerator.bit_length() - abs(t).denominator.bit_length()))
    return round(t * size) / size


def _tilt(claim: SubGaussian | SubExponential, noise: NoiseSum, t: Fraction) -> Witness:
    worst = noise.noise.attained
    bound = None if worst.infinite_at(t) else lower_short(ratio(worst, t))
    shown = "infinite" if bound is None else f"{float(bound):.9g}"
    return Witness(
        quantity=claim.quantity,
        bound=bound,
        form="tilt",
        body={**_named(noise.to_json(), noise.name, claim.of), "t": exact_str(t)},
        origin="enumerated",
        description=f"at λ = {float(t):.9g} the proxy of {noise.name} must be at least {shown}",
    )


@dataclass(frozen=True, kw_only=True)
class TailEvent:
    """An event about noise: X > t ("above"), X < -t ("below") or |X| > t ("both"), with >= and <= if not
    ``strict``.

    The level t is ``factor``, or ``factor`` ln(``log_of``), or with ``root`` the square root of it. A claim
    must use the event's ``name``.
    """

    noise: NoiseSum
    factor: ExactLike
    log_of: ExactLike | None = None
    root: bool = False
    side: Literal["above", "below", "both"] = "both"
    strict: bool = True

    def to_json(self) -> dict[str, Any]:
        level = {"factor": exact_str(exact(self.factor, name="factor"))}
        if self.log_of is not None:
            level["log_of"] = exact_str(exact(self.log_of, name="log_of"))
        if self.root:
            level["root"] = "yes"
        strict = "yes" if self.strict else "no"
        return {**self.noise.to_json(), "level": level, "side": self.side, "strict": strict}

    @property
    def name(self) -> str:
        return read_tail(Parameters(self.to_json(), rule="event"))[4]

    def probability(self) -> Any:
        """Return the probability of the event: a ``Fraction`` if it is known exactly, else a ball."""
        noise, level, side, strict, _ = read_tail(Parameters(self.to_json(), rule="event"))
        return enclosed_tail(noise, level, side=side, strict=strict)


def decide_tail(claim: TailBound, event: TailEvent) -> Certificate | Witness:
    """Return evidence for or against the claim that ``event`` has at most the claimed probability."""
    body = _named(event.to_json(), event.name, claim.event)
    probability = event.probability()
    lower = probability if isinstance(probability, Fraction) else lower_exact(probability)
    if lower <= exact(claim.probability):
        return accepted("tail", body).certify(claim)
    return Witness(
        quantity=claim.quantity,
        bound=probability if isinstance(probability, Fraction) else lower_short(probability),
        form="tail-mass",
        body=body,
        origin="enumerated",
        description=f"P({event.name}) is at least {float(lower):.9g}",
    )
