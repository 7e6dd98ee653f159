"""Ridge, radius and regret bound of linear UCB with concurrent shufflers, in balls.

Tenenbaum, Kaplan, Mansour and Stemmer (ICML 2023), Theorem C.3 (Algorithm 4), and Theorem C.2, which they
quote from Shariff and Sheffet (2018). ``entry_error_bound`` is their σ-tilde, ``reward_noise_std`` their σ.
Logarithms are natural.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import arb, ball

__all__ = [
    "Regular",
    "concurrent_radius",
    "entry_error_bound",
    "printed_ridge",
    "quoted_radius",
    "quoted_regret",
    "regular_by_ridge",
]


def entry_error_bound(proxy: arb, *, horizon: int, dim: int, blind: int) -> arb:
    """Return σ-tilde with its constants.

    With probability 1 - 1/(2n²(d² + d)), no error of one entry exceeds it at any time. ``proxy`` bounds the
    sub-Gaussian proxy of the noise of a prefix, and a union covers n times and both signs. At most ``blind``
    users are not reported yet, and each changes the entry by 1 at most.
    """
    failing = 2 * horizon**2 * (dim**2 + dim)
    spread: arb = (2 * proxy * ln(2 * horizon * failing)).sqrt()
    return spread + blind


def printed_ridge(error_bound: arb, *, dim: int) -> arb:
    """Return λ = 2 σ-tilde sqrt(d)."""
    return 2 * error_bound * arb(dim).sqrt()


def concurrent_radius(
    time: int, *, dim: int, ridge: arb, reward_noise_std: Fraction, confidence_alpha: Fraction
) -> arb:
    """Return β_t of Theorem C.3: σ sqrt(2 log(2/α) + d log(3 + 2t/(dλ))) + sqrt(3λ/2) + sqrt(λ/2)."""
    growth = dim * (3 + 2 * time / (dim * ridge)).log()
    width = (2 * ln(2 / confidence_alpha) + growth).sqrt()
    return ball(reward_noise_std) * width + (3 * ridge / 2).sqrt() + (ridge / 2).sqrt()


@dataclass(frozen=True, kw_only=True)
class Regular:
    """The regularity min_eig <= H_t <= max_eig and ‖h_t‖ in H_t^-1 <= vec_noise_bound, at all times."""

    min_eig: arb
    max_eig: arb
    vec_noise_bound: arb


def regular_by_ridge(ridge: arb) -> Regular:
    """Return the regularity that ‖H'_t‖ <= λ/2 and ‖h_t‖ <= λ/2 imply: λ/2, 3λ/2, and (λ/2)/sqrt(λ/2)."""
    half = ridge / 2
    return Regular(min_eig=half, max_eig=3 * half, vec_noise_bound=half / half.sqrt())


def _growth(time: int, *, dim: int, regular: Regular, start: arb, feature_norm: Fraction) -> arb:
    """Return d log(start + t L²/(d min_eig))."""
    result: arb = dim * (start + time * ball(feature_norm) ** 2 / (dim * regular.min_eig)).log()
    return result


def quoted_radius(
    time: int,
    *,
    dim: int,
    regular: Regular,
    reward_noise_std: Fraction,
    confidence_alpha: Fraction,
    theta_norm: Fraction = Fraction(1),
    feature_norm: Fraction = Fraction(1),
) -> arb:
    """Return β_t of Theorem C.2: σ sqrt(2 log(2/α) + d log(ρ_max/ρ_min + t L²/(d ρ_min))) + S sqrt(ρ_max)
    + γ.
    """
    start = regular.max_eig / regular.min_eig
    growth = _growth(time, dim=dim, regular=regular, start=start, feature_norm=feature_norm)
    width: arb = (2 * ln(2 / confidence_alpha) + growth).sqrt()
    bias = ball(theta_norm) * regular.max_eig.sqrt() + regular.vec_noise_bound
    return ball(reward_noise_std) * width + bias


def quoted_regret(
    horizon: int,
    *,
    dim: int,
    regular: Regular,
    reward_noise_std: Fraction,
    confidence_alpha: Fraction,
    theta_norm: Fraction = Fraction(1),
    feature_norm: Fraction = Fraction(1),
    reward_bound: Fraction = Fraction(1),
) -> arb:
    """Return the regret bound of Theorem C.2 with the constant B sqrt(8n).

    The constant is a reading; the text at hand does not print it. The bound is B sqrt(8n) [σ (2 log(2/α) + d
    log(ρ_max/ρ_min + nL²/(dρ_min))) + (S sqrt(ρ_max) + γ) sqrt(d log(1 + nL²/(dρ_min)))].

    For B = 1 the constant follows. On the event θ is in every set, so a round costs 2 min(1, β ‖x‖) in the
    norm of V^-1 <= (Σxxᵀ + ρ_min)^-1, and Σ min(1, ‖x‖²) <= 2 d log(1 + nL²/(dρ_min)). The bound is β_n times
    the root of that sum, and sqrt(2 log(2/α) + D) sqrt(D') <= 2 log(2/α) + D for D' <= D.
    """
    start = regular.max_eig / regular.min_eig
    wide = _growth(horizon, dim=dim, regular=regular, start=start, feature_norm=feature_norm)
    plain = _growth(horizon, dim=dim, regular=regular, start=arb(1), feature_norm=feature_norm)
    bias = ball(theta_norm) * regular.max_eig.sqrt() + regular.vec_noise_bound
    inside = ball(reward_noise_std) * (2 * ln(2 / confidence_alpha) + wide) + bias * plain.sqrt()
    return ball(reward_bound) * arb(8 * horizon).sqrt() * inside
