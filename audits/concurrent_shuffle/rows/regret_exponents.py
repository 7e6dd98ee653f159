"""Check the regret of Algorithm 4 as exponents: from the error of prefixes to the rate, k = log n, and
others' rates.

Symbols: n users, k shufflers, d dimensions, e for 1/ε. All are at least 1. Polylogarithms and constants are
free, as in Õ. Logarithms of n are binary here.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb
from dpaudit.reference.algorithms.contextual.exponents import Monomial, excess, monomial
from dpaudit.suite import Chain, Sides, full, inequality, over

__all__ = ["rows"]

rows = Group("Regret: exponents and orderings", kind="regret")

HALF = Fraction(1, 2)


def _rho(k: int) -> Monomial:
    """Return ρ_max = (k^{3/2}/ε) n^{1/(2k+1)}, the error of Corollary 3.5."""
    return monomial(f"k^3/2 e n^{Fraction(1, 2 * k + 1)}")


def _noisy(rho: Monomial) -> Monomial:
    """Return √(n ρ)."""
    return (monomial("n") * rho) ** HALF


@inequality(
    rows,
    "TKMS23-T5.1/exponents",
    "Theorem C.3 from Theorem C.2 and Corollary 3.5",
    role="step",
    over=over(k=(1, 2, 3, 4, 10)),
    measure="left - right",
)
def from_errors_to_regret(k: int) -> dict[str, Sides]:
    """√(n ρ_max) with ρ_max of Corollary 3.5 is k^(3/4) n^((k+1)/(2k+1)) ε^(-1/2); with another factor √d
    the power of d is at most 1, under both bounds on the matrices

    The exponents are exact. √ρ_max √d with ρ_max = σ̃ √d (independent entries) gives d^(3/4). With σ̃ d
    (entries alone) it gives d.

    Note: so Theorem 5.1's rate still holds with λ = 2 σ̃ d, which needs no independence
    """
    printed = monomial(f"k^3/4 e^1/2 n^{Fraction(k + 1, 2 * k + 1)}")
    chain: dict[str, Sides] = {
        f"exponent of {s}, distance": (abs(found - wanted), Fraction(0))
        for s, (found, wanted) in excess([_noisy(_rho(k))], printed).items()
    }
    for name, norm in (("independent entries", "d^1/2"), ("entries alone", "d")):
        dims = (monomial(norm) * monomial("d")) ** HALF
        chain[f"exponent of d, {name}"] = (dims.exponent("d"), Fraction(1))
    return chain


@inequality(
    rows,
    "TKMS23-C5.2",
    "Corollary 5.2, footnote 8",
    over=over(log2_n=(4, 8, 16, 64, full(256, 4096))),
)
def many_shufflers(log2_n: int) -> Chain:
    """With k = log n shufflers n^((k+1)/(2k+1)) is at most 2^(1/4) √n, so that the rate is Õ(√n/√ε (σ + d))

    The row also checks both readings of footnote 8: k = (log n)/2 leaves at most √2 √n, k = log n/(2 log
    log n) at most √(log n) √n.

    Note: k^(3/4) = log^(3/4) n is a polylogarithm; √n is the usual optimum without privacy

    Proof: n^(1/(2(2k+1))) = 2^(log n/(4k+2)), the exponent being at most 1/4, 1/2 and (log log n)/2
    """
    levels = ln(2**log2_n) / ln(2)
    logs = levels.log() / ln(2)

    def above_root(k: arb) -> arb:
        """Return n^{(k+1)/(2k+1)}/sqrt(n)."""
        result: arb = (levels * ln(2) * ((k + 1) / (2 * k + 1) - arb(1) / 2)).exp()
        return result

    return {
        "k = log n": (above_root(levels), arb(2).sqrt().sqrt()),
        "k = (log n)/2": (above_root(levels / 2), arb(2).sqrt()),
        "k = log n/(2 log log n)": (above_root(levels / (2 * logs)), levels.sqrt()),
    }


@inequality(rows, "TKMS23-ORD2", "Section 5", measure="left - right")
def between() -> dict[str, Sides]:
    """√(n ρ_max) gives exponents 1/2 (central, and k = log n), 3/5 (Chowdhury and Zhou's batches,
    sequential) and 3/4 (local) of n; B = n^(3/5) minimises B + n^(3/4)/B^(1/4)

    Use ρ_max = 1, √n and √(n/B) exactly, and the largest exponent of the two terms at B = n^b for b = 0,
    1/20, ..., 1.

    Note: upper bounds are compared at fixed ε, d, δ; no separation is claimed

    Note: k = log n only, where n^(1/(2k+1)) is a polylogarithm (TKMS23-C5.2)
    """
    root, batched = monomial("n^1/2"), (monomial("n") / monomial("B")) ** HALF
    power = {
        "central": _noisy(monomial("")).exponent("n"),
        "local": _noisy(root).exponent("n"),
    }

    def batches(b: Fraction) -> Fraction:
        size = monomial("n") ** b
        return max(b, _noisy(batched).at(B=size).exponent("n"))

    best = batches(Fraction(3, 5))
    others = min(batches(Fraction(i, 20)) for i in range(21))
    return {
        "distance of the central exponent from 1/2": (abs(power["central"] - HALF), Fraction(0)),
        "distance of the local exponent from 3/4": (abs(power["local"] - Fraction(3, 4)), Fraction(0)),
        "distance of the exponent at B = n^(3/5) from 3/5": (abs(best - Fraction(3, 5)), Fraction(0)),
        "at n^(3/5) - at any other B": (best, others),
        "k = log n - batches": (power["central"], best),
        "batches - local": (best, power["local"]),
    }
