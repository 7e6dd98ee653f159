"""Check P_Vec with returning users: Theorem 4.2 = E.5 over all batches of one user, its proof step, and its
privacy cost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from audits.shuffle_linear_bandits.binomial_privacy import cost, cost_of, evidence_for, stated
from dpaudit.core.claims import ApproxDP, Unit
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import ball
from dpaudit.reference.mechanisms.binomial_vectors import (
    CONSTANT,
    RETURNING_CONSTANT,
    LogReading,
    VectorSheet,
    returning_sheet,
)
from dpaudit.suite import Measured, Sides, evidence, full, inequality, integers, listed, on, over, reals

__all__ = ["rows"]

rows = Group("Binomial vector sums: returning users")

READINGS: tuple[LogReading, ...] = ("substituted", "without B")

GRID = over(
    M=(1, 10, 1000),
    B=(20, full(1, 400)),
    epsilon=("1/2 15", full("1 5")),
    delta=("49/100 1/1000000", full("1/20")),
)


def _sheet(M: int, B: int, epsilon: Fraction, delta: Fraction, reading: LogReading) -> VectorSheet:
    return returning_sheet(dim=2, batch_size=B, batches=M, epsilon=epsilon, delta=delta, reading=reading)


def by_user(M: int, B: int, epsilon: Fraction, delta: Fraction, **_: Any) -> ApproxDP:
    return stated(epsilon, delta, unit=Unit.USER)


@evidence(
    rows,
    "CZ22-T4.2ii/reading",
    "Theorem E.5, the logarithm of 8T(d²+1)/δ",
    claim=by_user,
    over=GRID,
    reading="without B",
    case="8T(d²+1)/δ",
)
@evidence(
    rows,
    "CZ22-T4.2ii",
    "Theorems 4.2 and E.5, the logarithm of 8T(d²+1)/(Bδ)",
    claim=by_user,
    over=GRID,
    reading="substituted",
    case="8T(d²+1)/(Bδ)",
)
def returning(
    run: Run, M: int, B: int, epsilon: Fraction, delta: Fraction, reading: LogReading
) -> list[Evidence]:
    """With b of Theorem E.5 and log({case}) in it, the composition of all M batches of P_Vec is (ε, δ)-SDP
    at d = 2

    A user takes part once in each batch, and all of the user's data change. The M adaptive releases of
    vector and matrix are composed by their Rényi divergences. The theorem's own proof composes by E.2,
    which is stated for ε below 1. The certificate needs no such condition.

    Note: inside the logarithm only "8 T (d²+1)" is legible in our copy; the other row has the other reading
    """
    claim = stated(epsilon, delta, unit=Unit.USER)
    return evidence_for(claim, _sheet(M, B, epsilon, delta, reading), batches=M)


def in_one_line(M: int, B: int, epsilon: Fraction, delta: Fraction) -> str:
    found = cost(_sheet(M, B, epsilon, delta, "substituted"), delta, batches=M)
    return f"M = {M}, B = {B}, d = 2, printed for ε = {epsilon}, δ = {float(delta):g}: {found}"


@evidence(
    rows,
    "CZ22-T4.2ii/cost",
    "Theorem E.5, in numbers",
    at_most="1/100",
    quantity="least ε at δ / stated ε",
    role="sharper",
    over=listed("M B epsilon delta", (10, 20, "1", "1/1000000"), (10, 400, "15", "1/1000000")),
    name=in_one_line,
)
def returning_cost(run: Run, M: int, B: int, epsilon: Fraction, delta: Fraction) -> Measured:
    """P_Vec with the noise printed for (ε, δ) over M batches costs less than ε/100 at the same δ"""
    return cost_of(_sheet(M, B, epsilon, delta, "substituted"), epsilon, delta, batches=M)


@inequality(
    rows,
    "CZ22-E.5s",
    "the proof of Theorem E.5",
    role="step",
    kind="structure",
    over=over(d=(2, full(5, 15)), M=(1, 10, 1000), B=(1, 20, full(400)), delta="49/100 1/1000000"),
    prove=on(d=integers(1, None), M=integers(1, None), B=integers(1, None), delta=reals(0, "1/2", "()")),
)
def substituted(d: int, M: int, B: int, delta: Fraction) -> Sides:
    """C.1's b at (ε_m, δ_m) = (ε/(2 sqrt(2M log(2/δ))), δ/(2M)) is at most E.5's b

    Theorem C.1 prints 24·10⁴ g² log(4(d²+1)/δ)²/(ε² B), Theorem E.5 10⁷ log(2/δ) g² T log(8T(d²+1)/(Bδ))²/(ε²
    B²), or with log(8T(d²+1)/δ). T = M B. Compare square roots without the factor log(2/δ) g² M/(ε² B), so
    that ε is any. Both readings are covered: B = 1 has the logarithm of the first.

    Proof: 24·10⁴ · 8 = 192·10⁴ <= 10⁷, and log(4(d²+1)·2M/δ) = log(8T(d²+1)/(Bδ)). The ratio is 0.192, or
    less with the other reading: the theorem has more noise than the substitution requires, which is
    allowed. Rounding E.5's b up adds to it

    Note: the substitution rests on E.2, quoted for ε' in (0, 1) only, while E.5 claims ε up to 15:
    CZ22-E.2/use. The claim itself holds on the grid of CZ22-T4.2ii
    """
    inside = 8 * M * (d**2 + 1)
    wanted, printed = ball(8 * CONSTANT).sqrt(), ball(RETURNING_CONSTANT).sqrt()
    return wanted * ln(inside / delta), printed * ln(inside * B / delta)
