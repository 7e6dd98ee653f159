"""Noise levels of private linear bandits, each formula once: standard deviations per entry, as balls.

Chowdhury and Zhou (ICML 2022) for the shuffled and the local randomiser; Shariff and Sheffet (2018) for the
tree; ``authors_code`` is the noise in the public code of Chowdhury and Zhou. Logarithms are natural, except
for the depth of a tree.

``float`` of a ball is a number for simulations. Certificates use ``variance_below`` (less noise than
printed), witnesses ``variance_above`` (more).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import arb, ball, enclose, integer, lower_short, upper_short

__all__ = [
    "Curve",
    "amplified_noise",
    "authors_code",
    "epsilon_cap",
    "local_budget",
    "local_noise",
    "returning_cap",
    "returning_noise",
    "tree_levels",
    "tree_noise",
    "variance_above",
    "variance_below",
    "wishart_degrees",
]

Curve = Literal["LDP", "JDP", "SDP-Amp"]


def _count(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameterError(f"{name} must be an integer from 1 up, got {value!r}.")
    return value


def _budget(epsilon: ExactLike, delta: ExactLike) -> tuple[Fraction, Fraction]:
    e, d = positive(epsilon, name="epsilon"), positive(delta, name="delta")
    if d > 1:
        raise InvalidParameterError(f"delta must be in (0, 1], got {d}.")
    return e, d


def local_noise(*, epsilon: ExactLike, delta: ExactLike) -> arb:
    """Return 4 sqrt(2 log(2.5/δ))/ε: the local randomiser (proof of Theorem B.1, Corollary B.3, Proposition
    F.1).
    """
    e, d = _budget(epsilon, delta)
    return 4 * (2 * ln(Fraction(5, 2) / d)).sqrt() / ball(e)


def amplified_noise(*, epsilon: ExactLike, delta: ExactLike, batch_size: int) -> arb:
    """Return 4 sqrt(2 log(2.5B/δ) log(2/δ))/(ε sqrt B): P_Amp with unique users (Theorem 3.2 = B.1).

    It is ``local_noise`` at ``local_budget``.
    """
    e, d = _budget(epsilon, delta)
    users = _count(batch_size, "batch_size")
    return 4 * (2 * ln(Fraction(5, 2) * users / d) * ln(2 / d)).sqrt() / (ball(e) * ball(users).sqrt())


def local_budget(*, epsilon: ExactLike, delta: ExactLike, batch_size: int) -> tuple[arb, Fraction]:
    """Return (ε₀, δ₀) = (ε sqrt(B/log(2/δ)), δ/B), the local budget of Theorem 3.2."""
    e, d = _budget(epsilon, delta)
    users = _count(batch_size, "batch_size")
    return ball(e) * (users / ln(2 / d)).sqrt(), d / users


def epsilon_cap(*, delta: ExactLike, batch_size: int) -> arb:
    """Return sqrt(log(2/δ)/B), the largest ε of Theorem 3.2, where ε₀ = 1."""
    _, d = _budget(1, delta)
    return (ln(2 / d) / _count(batch_size, "batch_size")).sqrt()


def returning_noise(*, epsilon: ExactLike, delta: ExactLike, batch_size: int, horizon: int) -> arb:
    """Return 16 log(2/δ) sqrt(T log(5T/δ))/(εB): P_Amp with returning users (Theorem E.3)."""
    e, d = _budget(epsilon, delta)
    rounds = _count(horizon, "horizon")
    spread = (rounds * ln(5 * rounds / d)).sqrt()
    return 16 * ln(2 / d) * spread / (ball(e) * _count(batch_size, "batch_size"))


def returning_cap(*, delta: ExactLike, batch_size: int, horizon: int) -> arb:
    """Return (2 log(2/δ)/B) sqrt(2T), the largest ε of Theorem E.3, as reconstructed from the damaged
    print.
    """
    _, d = _budget(1, delta)
    return 2 * ln(2 / d) * ball(2 * _count(horizon, "horizon")).sqrt() / _count(batch_size, "batch_size")


def tree_levels(leaves: int) -> int:
    """Return 1 + ⌈log₂ n⌉: levels of a binary tree over n leaves, and the largest number of nodes of a prefix
    (Shariff, Sheffet).
    """
    return 1 + (_count(leaves, "leaves") - 1).bit_length()


def tree_noise(*, epsilon: ExactLike, delta: ExactLike, leaves: int, norm_squared: ExactLike = 2) -> arb:
    """Return sqrt(16 m L⁴ log(4/δ)²/ε²), with m levels: each entry of Z' at a node.

    The node adds (Z' + Z'ᵀ)/sqrt 2 (Shariff, Sheffet 2018, Gaussian variant; ``norm_squared`` is L² = |x|² +
    y² at most).
    """
    e, d = _budget(epsilon, delta)
    levels = ball(tree_levels(leaves)).sqrt()
    return 4 * levels * ball(positive(norm_squared, name="norm_squared")) * ln(4 / d) / ball(e)


def wishart_degrees(*, epsilon: ExactLike, delta: ExactLike, leaves: int, dim: int) -> int:
    """Return d + 1 + ⌈224 m log(8m/δ) log(2/δ)/ε²⌉: degrees of freedom of a node (Shariff, Sheffet, Wishart
    variant).
    """
    e, d = _budget(epsilon, delta)
    levels = tree_levels(leaves)
    value = enclose(lambda: 224 * levels * ln(8 * levels / d) * ln(2 / d) / ball(e) ** 2)
    return _count(dim, "dim") + 1 + integer(value.ceil())


def authors_code(
    curve: Curve, *, epsilon: ExactLike, delta: ExactLike, horizon: int = 20000, batch_size: int = 20
) -> arb:
    """Return the standard deviation s of each entry of N as coded for Figure 1; the matrix gets (N + Nᵀ)/2.

    LDP: sqrt(log(2.5/δ))/ε. JDP: sqrt(log T) log(2.5/δ)/ε. SDP-Amp: sqrt(log(2.5B/δ))/(ε sqrt B). Raises
    ``InvalidParameterError`` for another curve.
    """
    e, d = _budget(epsilon, delta)
    if curve == "LDP":
        return ln(Fraction(5, 2) / d).sqrt() / ball(e)
    if curve == "JDP":
        return ln(_count(horizon, "horizon")).sqrt() * ln(Fraction(5, 2) / d) / ball(e)
    if curve == "SDP-Amp":
        users = _count(batch_size, "batch_size")
        return ln(Fraction(5, 2) * users / d).sqrt() / (ball(e) * ball(users).sqrt())
    raise InvalidParameterError(f"curve must be LDP, JDP or SDP-Amp, got {curve!r}.")


def variance_below(noise_std: arb) -> Fraction:
    """Return a rational just below σ², for upper bounds: with less noise they can only be larger."""
    return lower_short(noise_std**2)


def variance_above(noise_std: arb) -> Fraction:
    """Return a rational just above σ², for lower bounds."""
    return upper_short(noise_std**2)
