"""Check the regret of Algorithm 4 as exponents: from the error of prefixes to the rate, k = log n, and
others' rates.

Symbols: n users, k shufflers, d dimensions, e for 1/ε. All are at least 1. Polylogarithms and constants are
free, as in Õ. Logarithms of n are binary here.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Chain, Sides, Step, full, inequality, integers, on, over, reals, step, steps

__all__ = ["rows"]

rows = Group("Regret: exponents and orderings", kind="regret")

HALF = Fraction(1, 2)
#: The exponent of n in the batch size of Chowdhury and Zhou.
BEST = Fraction(3, 5)


@inequality(
    rows,
    "TKMS23-T5.1/exponents",
    "Theorem C.3 from Theorem C.2 and Corollary 3.5",
    role="step",
    over=over(k=(1, 2, 3, 4, 10)),
    measure="left - right",
    prove=on(k=integers(1, None)),
)
def from_errors_to_regret(k: int) -> dict[str, Sides]:
    """√(n ρ_max) with ρ_max of Corollary 3.5 is k^(3/4) n^((k+1)/(2k+1)) ε^(-1/2); with another factor √d
    the power of d is at most 1, under both bounds on the matrices

    The exponents are exact. √ρ_max √d with ρ_max = σ̃ √d (independent entries) gives d^(3/4). With σ̃ d
    (entries alone) it gives d.

    Note: so Theorem 5.1's rate still holds with λ = 2 σ̃ d, which needs no independence
    """
    chain: dict[str, Sides] = {}
    for name, found, printed in (
        ("n, times 2k + 1", Fraction(2 * k + 1 + 1) / 2, k + 1),
        ("k", Fraction(3, 2) / 2, Fraction(3, 4)),
        ("1/ε", Fraction(1) / 2, HALF),
    ):
        chain |= {f"exponent of {name}, at most": (found, printed)}
        chain |= {f"exponent of {name}, at least": (printed, found)}
    for name, norm in (("independent entries", HALF), ("entries alone", Fraction(1))):
        chain |= {f"exponent of d, {name}": ((norm + 1) / 2, Fraction(1))}
    return chain


@inequality(
    rows,
    "TKMS23-C5.2",
    "Corollary 5.2, footnote 8",
    over=over(log2_n=(4, 8, 16, 64, full(256, 4096))),
    prove=on(log2_n=integers(2, None)),
)
def many_shufflers(log2_n: int) -> Chain:
    """With k = log n shufflers n^((k+1)/(2k+1)) is at most 2^(1/4) √n, so that the rate is Õ(√n/√ε (σ + d))

    The row also checks both readings of footnote 8: k = (log n)/2 leaves at most √2 √n, k = log n/(2 log
    log n) at most √(log n) √n. n^((k+1)/(2k+1)) is √n times 2^(log n/(4k + 2)). Compare this exponent's
    inverse, times log n, with 4k + 2. n >= 4.

    Note: k^(3/4) = log^(3/4) n is a polylogarithm; √n is the usual optimum without privacy

    Proof: n^(1/(2(2k+1))) = 2^(log n/(4k+2)), the exponent being at most 1/4, 1/2 and (log log n)/2
    """
    levels = ball(log2_n)
    fewer = levels / (levels.log() / ln(2))  # log n/(log log n)

    def exponent(most: arb, k: arb) -> Sides:
        """Return both sides for 2^(log n/(4k + 2)) <= 2^(log n/most)."""
        return most, 4 * k + 2

    return {
        "k = log n": exponent(4 * levels, levels),
        "k = (log n)/2": exponent(2 * levels, levels / 2),
        "k = log n/(2 log log n)": exponent(2 * fewer, fewer / 2),
    }


def _noisy(rho: Fraction) -> Fraction:
    """Return the exponent of n in √(n ρ), for that in ρ."""
    return (1 + rho) / 2


@step("exponents", prove=on())
def _exponents() -> dict[str, Sides]:
    """1/2 (central, and k = log n), 3/5 and 3/4 are the exponents, in this order"""
    central, local, best = _noisy(Fraction(0)), _noisy(HALF), _noisy((1 - BEST) / 2)
    return {
        "distance of the central exponent from 1/2": (abs(central - HALF), Fraction(0)),
        "distance of the local exponent from 3/4": (abs(local - Fraction(3, 4)), Fraction(0)),
        "distance of the exponent of the noise at B = n^(3/5) from 3/5": (abs(best - BEST), Fraction(0)),
        "k = log n - batches": (central, best),
        "batches - local": (best, local),
    }


@step("smaller batches", over=over(b=tuple(Fraction(i, 20) for i in range(13))), prove=on(b=reals(0, BEST)))
def _smaller(b: Fraction) -> Sides:
    """at B = n^b, b <= 3/5, the noise has an exponent of 3/5 or more"""
    return BEST, _noisy((1 - b) / 2)


@step(
    "larger batches", over=over(b=tuple(Fraction(i, 20) for i in range(12, 21))), prove=on(b=reals(BEST, 1))
)
def _larger(b: Fraction) -> Sides:
    """at B = n^b, b >= 3/5, B itself has"""
    return BEST, b


@steps(rows, "TKMS23-ORD2", "Section 5", measure="left - right")
def between() -> list[Step]:
    """√(n ρ_max) gives exponents 1/2 (central, and k = log n), 3/5 (Chowdhury and Zhou's batches,
    sequential) and 3/4 (local) of n; B = n^(3/5) minimises B + n^(3/4)/B^(1/4)

    Use ρ_max = 1, √n and √(n/B) exactly, and the larger exponent of the two terms at B = n^b.

    Note: upper bounds are compared at fixed ε, d, δ; no separation is claimed

    Note: k = log n only, where n^(1/(2k+1)) is a polylogarithm (TKMS23-C5.2)
    """
    return [_exponents, _smaller, _larger]
