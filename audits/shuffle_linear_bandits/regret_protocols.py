"""Define every regret theorem of the paper: the noise that its protocol accumulates, and the printed rate,
in balls.

``total_std`` is σ of Lemma A.4 at the printed parameters. ``rate`` is the printed expression with constant
1. Logarithms are natural. b and g are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import arb, ball

__all__ = ["PROTOCOLS", "Point", "RegretClaim", "amplified_claim", "binomial_claim"]


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point at which a rate is checked. ``share`` is epsilon as a fraction of the largest one of its
    theorem."""

    horizon: int
    batch_size: int
    dim: int
    share: Fraction
    delta: Fraction
    failure_prob: Fraction

    @property
    def batches(self) -> int:
        """Return M, rounded up."""
        return -(-self.horizon // self.batch_size)

    def __str__(self) -> str:
        named = f"T = {self.horizon}, B = {self.batch_size}, d = {self.dim}, "
        return named + f"ε = {self.share} of the cap, δ = {self.delta}, α = {self.failure_prob}"


Formula = Callable[[Point], Any]
#: A function of a point and its epsilon.
EpsilonFormula = Callable[[Point, Any], Any]
#: A batch size that a corollary prescribes, for T, d and epsilon as floats and delta.
BatchSize = Callable[[int, int, float, float], float]


@dataclass(frozen=True, kw_only=True)
class RegretClaim:
    """One regret theorem.

    ``cap`` is its largest epsilon, ``words`` its rate, and ``batch_size`` the size that it prescribes
    (None: any).
    """

    id: str
    source: str
    title: str
    words: str
    cap: Formula
    std: EpsilonFormula
    printed: EpsilonFormula
    note: str = ""
    batch_size: BatchSize | None = None
    deltas: Sequence[str] = ("2/5", "1/10", "1/1000000")

    def epsilon(self, p: Point) -> Any:
        """Return ε of the point."""
        return ball(p.share) * self.cap(p)

    def total_std(self, p: Point) -> Any:
        """Return σ of Lemma A.4."""
        return self.std(p, self.epsilon(p))

    def rate(self, p: Point) -> Any:
        """Return the printed rate."""
        return self.printed(p, self.epsilon(p))


def _root4(value: Any) -> Any:
    return value.sqrt().sqrt()


def _log_terms(p: Point) -> Any:
    """Return log T log(T/α)."""
    return ln(p.horizon) * ln(p.horizon / p.failure_prob)


def _batches_term(p: Point) -> Any:
    """Return d B log T."""
    return p.dim * p.batch_size * ln(p.horizon)


def _plain_term(p: Point) -> Any:
    """Return d sqrt(T) log(T/α)."""
    return p.dim * arb(p.horizon).sqrt() * ln(p.horizon / p.failure_prob)


def _noisy(p: Point, growth: Any) -> Any:
    """Return d^(3/4) times ``growth``."""
    return _root4(arb(p.dim) ** 3) * growth


def _capped(cap: int) -> Formula:
    return lambda p: arb(cap)


# σ


def _amplified_cap(p: Point) -> Any:
    return (ln(2 / p.delta) / p.batch_size).sqrt()


def _amplified_std(p: Point, epsilon: Any) -> Any:
    logs = 2 * ln(Fraction(5, 2) * p.batch_size / p.delta) * ln(2 / p.delta)
    return 4 * (p.horizon * logs / p.batch_size).sqrt() / epsilon


def _returning_cap(p: Point) -> Any:
    return 2 * ln(2 / p.delta) * arb(2 * p.horizon).sqrt() / p.batch_size


def _returning_std(p: Point, epsilon: Any) -> Any:
    logs = ln(2 / p.delta) * ln(5 * p.horizon / p.delta).sqrt()
    return 16 * logs * p.horizon / (epsilon * p.batch_size)


def _local_std(p: Point, epsilon: Any) -> Any:
    return 4 * (2 * p.horizon * ln(Fraction(5, 2) / p.delta)).sqrt() / epsilon


def _tree_std(p: Point, epsilon: Any) -> Any:
    """Return σ of a tree: all nodes form one Gaussian mechanism, with joint sensitivity sqrt(9/2) on each
    level.

    A prefix has at most as many nodes as there are levels. The paper prints no constant. This calibration
    needs ε <= 1.
    """
    levels = p.batches.bit_length()
    return levels * (9 * ln(Fraction(5, 4) / p.delta)).sqrt() / epsilon


def _binomial_proxy(p: Point, precision: int, trials: Any) -> Any:
    """Return sqrt(M (B + B b/4))/g."""
    return (p.batches * p.batch_size * (1 + (trials + 1) / 4)).sqrt() / precision


def _precision(p: Point) -> int:
    """Return max(2 sqrt(B), d, 4), rounded up."""
    return max(math.isqrt(4 * p.batch_size - 1) + 1, p.dim, 4)


def _binomial_std(p: Point, epsilon: Any) -> Any:
    g, logs = _precision(p), ln(4 * (p.dim**2 + 1) / p.delta)
    return _binomial_proxy(p, g, 240_000 * g**2 * logs**2 / (epsilon**2 * p.batch_size))


def _local_binomial_std(p: Point, epsilon: Any) -> Any:
    g, logs = max(p.dim, 4), ln(4 * (p.dim**2 + 1) / p.delta)
    return _binomial_proxy(p, g, 240_000 * g**2 * logs**2 / epsilon**2)


def _returning_binomial_std(p: Point, epsilon: Any) -> Any:
    g, logs = _precision(p), ln(8 * p.horizon * (p.dim**2 + 1) / (p.batch_size * p.delta))
    trials = 10**7 * ln(2 / p.delta) * g**2 * p.horizon * logs**2 / (epsilon * p.batch_size) ** 2
    return _binomial_proxy(p, g, trials)


# The printed rates


def _rate(growth: EpsilonFormula, factor: Formula = _log_terms) -> EpsilonFormula:
    """Return dB log T + d^(3/4) growth factor."""
    return lambda p, epsilon: _batches_term(p) + _noisy(p, growth(p, epsilon)) * factor(p)


def _shuffled(logs: Formula, factor: Formula = _log_terms) -> EpsilonFormula:
    """Return dB log T + logs d^(3/4) T^(3/4)/(ε^(1/2) B^(1/4)) factor; by default log T log(T/α)."""
    return _rate(
        lambda p, epsilon: logs(p) * _root4(arb(p.horizon) ** 3 / p.batch_size) / epsilon.sqrt(), factor
    )


def _main_text(logs: Formula) -> EpsilonFormula:
    """Return the rate of ``_shuffled`` with log²(T/α)."""
    return _shuffled(logs, lambda p: ln(p.horizon / p.failure_prob) ** 2)


def _returning(logs: Formula) -> EpsilonFormula:
    """Return dB log T + T/sqrt(εB) d^(3/4) logs log T log(T/α)."""
    return _rate(lambda p, epsilon: logs(p) * p.horizon / (epsilon * p.batch_size).sqrt())


def _local(logs: Formula) -> EpsilonFormula:
    """Return dB + d^(3/4) T^(3/4) logs/ε^(1/2), read with log T and log T log(T/α)."""
    return _rate(lambda p, epsilon: logs(p) * _root4(arb(p.horizon) ** 3) / epsilon.sqrt())


def _central(*, participations: int = 1) -> EpsilonFormula:
    """Return dB + sqrt(M_0 T) d^(3/4) log^(1/4)(1/δ)/ε^(1/2), read with log T and log T log(T/α)."""
    return _rate(lambda p, epsilon: _root4(ln(1 / p.delta)) * (participations * p.horizon / epsilon).sqrt())


def _with_plain_term(rate: EpsilonFormula) -> EpsilonFormula:
    """Return the rate and d sqrt(T) log(T/α)."""
    return lambda p, epsilon: rate(p, epsilon) + _plain_term(p)


def amplified_claim(id: str, source: str, printed: EpsilonFormula, words: str) -> RegretClaim:
    """Return a claim about P_Amp with unique users."""
    return RegretClaim(
        id=id,
        source=source,
        title="LinUCB-SDP with P_Amp",
        words=words,
        cap=_amplified_cap,
        std=_amplified_std,
        printed=printed,
    )


def binomial_claim(id: str, source: str, printed: EpsilonFormula, words: str) -> RegretClaim:
    """Return a claim about P_Vec with unique users."""
    return RegretClaim(
        id=id,
        source=source,
        title="LinUCB-SDP with P_Vec",
        words=words,
        cap=_capped(15),
        std=_binomial_std,
        printed=printed,
    )


def _balanced(power: float, logs: Callable[[int, int, float], float]) -> BatchSize:
    """Return d^(-1/4) T^(3/4) ε^(-1/2) log^power, the batch size of Corollaries B.3 and C.3."""
    return lambda horizon, dim, epsilon, delta: (
        dim**-0.25 * horizon**0.75 * epsilon**-0.5 * logs(horizon, dim, delta) ** power
    )


_READ = "the printed O is read as Õ, with the factors log T and log T log(T/α) of Theorem B.1"

PROTOCOLS: tuple[RegretClaim, ...] = (
    amplified_claim(
        "CZ22-B.1r",
        "Theorem B.1",
        _shuffled(lambda p: _root4(ln(p.batch_size / p.delta) * ln(2 / p.delta))),
        "dB log T + log^(1/4)(B/δ) log^(1/4)(2/δ) d^(3/4) T^(3/4)/(ε^(1/2) B^(1/4)) log T log(T/α)",
    ),
    amplified_claim(
        "CZ22-T3.2r",
        "Theorem 3.2",
        _main_text(lambda p: ln(p.batch_size / p.delta).sqrt()),
        "dB log T + log^(1/2)(B/δ) d^(3/4) T^(3/4)/(ε^(1/2) B^(1/4)) log²(T/α)",
    ),
    binomial_claim(
        "CZ22-C.1r",
        "Theorem C.1",
        _shuffled(lambda p: ln(p.dim**2 / p.delta).sqrt()),
        "dB log T + log^(1/2)(d²/δ) d^(3/4) T^(3/4)/(ε^(1/2) B^(1/4)) log T log(T/α)",
    ),
    binomial_claim(
        "CZ22-T3.5r",
        "Theorem 3.5",
        _main_text(lambda p: ln(p.dim**2 / p.delta).sqrt()),
        "dB log T + log^(1/2)(d²/δ) d^(3/4) T^(3/4)/(ε^(1/2) B^(1/4)) log²(T/α)",
    ),
    RegretClaim(
        id="CZ22-E.3r",
        source="Theorems 4.2 and E.3",
        title="LinUCB-SDP with P_Amp, returning users",
        words="dB log T + T d^(3/4)/(εB)^(1/2) log^(1/4)(T/δ) log^(1/2)(2/δ) log T log(T/α)",
        cap=_returning_cap,
        std=_returning_std,
        printed=_returning(lambda p: _root4(ln(p.horizon / p.delta)) * ln(2 / p.delta).sqrt()),
    ),
    RegretClaim(
        id="CZ22-E.5r",
        source="Theorems 4.2 and E.5",
        title="LinUCB-SDP with P_Vec, returning users",
        words="dB log T + T d^(3/4)/(εB)^(1/2) log^(3/4)(d² M/δ) log T log(T/α)",
        cap=_capped(15),
        std=_returning_binomial_std,
        printed=_returning(lambda p: _root4(ln(p.dim**2 * p.batches / p.delta) ** 3)),
    ),
    RegretClaim(
        id="CZ22-B.3/regret",
        source="Corollary B.3",
        title="LDP through P_Amp at B = d^(-1/4) T^(3/4) ε₀^(-1/2) log^(1/4)(1/δ₀)",
        words="d^(3/4) T^(3/4) ε₀^(-1/2) log^(1/4)(1/δ₀)",
        cap=_capped(1),
        std=_local_std,
        printed=_local(lambda p: _root4(ln(1 / p.delta))),
        batch_size=_balanced(0.25, lambda horizon, dim, delta: math.log(1 / delta)),
        note=_READ,
    ),
    RegretClaim(
        id="CZ22-C.3/regret",
        source="Corollary C.3",
        title="LDP through P_Vec at B = d^(-1/4) T^(3/4) ε₀^(-1/2) log^(1/2)(d²/δ₀)",
        words="d^(3/4) T^(3/4) ε₀^(-1/2) log^(1/2)(d²/δ₀)",
        cap=_capped(15),
        std=_local_binomial_std,
        printed=_local(lambda p: ln(p.dim**2 / p.delta).sqrt()),
        batch_size=_balanced(0.5, lambda horizon, dim, delta: math.log(dim**2 / delta)),
        note=_READ,
    ),
    RegretClaim(
        id="CZ22-F.1r",
        source="Proposition F.1",
        title="Batched-Local-LinUCB",
        words="dB + T^(3/4) d^(3/4) log^(1/4)(1/δ₀) ε₀^(-1/2) log(T/α)",
        cap=_capped(1),
        std=_local_std,
        printed=_local(lambda p: _root4(ln(1 / p.delta))),
        note=_READ,
    ),
    RegretClaim(
        id="CZ22-F.3r",
        source="Proposition F.3",
        title="Batched-Central-LinUCB, a tree of Gaussian nodes",
        words="dB + T^(1/2) d^(3/4) log^(1/4)(1/δ) ε^(-1/2) log(T/α)",
        cap=_capped(1),
        std=_tree_std,
        printed=_central(),
        note=f"{_READ}; d sqrt(T) log(T/α) of Lemma A.4 is not printed: the ratio may grow like d^(1/4)",
    ),
    RegretClaim(
        id="CZ22-P4.3r",
        source="Propositions 4.3 and E.7",
        title="User-level central LinUCB, M₀ = 8 rounds a user, a tree of Gaussian nodes",
        words="d T^(1/2) + (M₀ T/ε)^(1/2) d^(3/4) log^(1/4)(1/δ)",
        cap=_capped(1),
        std=lambda p, epsilon: 8 * _tree_std(p, epsilon),
        printed=_with_plain_term(_central(participations=8)),
        note="Õ is read with the factors of Lemma A.4, including its dB log T, the smallest term at B = 1",
    ),
)
