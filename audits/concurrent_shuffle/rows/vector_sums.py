"""Check M_sum_vec: the quoted claim on private sums of vectors and matrices in the batch of a node."""

from __future__ import annotations

from fractions import Fraction

from dpaudit.core.claims import ApproxDP
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.kernel.ball import ball
from dpaudit.reference.mechanisms.binomial_vectors import CONSTANT, printed_sheet
from dpaudit.reference.mechanisms.binomial_witness import one_entry
from dpaudit.suite import Sides, Step, evidence, full, integers, on, over, reals, step, steps

__all__ = ["rows"]

rows = Group("Sums of vectors and matrices in a node", kind="utility")

GRID = over(
    d=(2, full(5)),
    batch=(2, 20, full(400, 2**14)),
    epsilon=("1/10 1", full("149/10")),
    delta=("1/10 1/1000000", full("49/100")),
)


def as_quoted(d: int, batch: int, epsilon: Fraction, delta: Fraction) -> ApproxDP:
    view = View.of(SHUFFLER_OUTPUT)
    return ApproxDP(epsilon=epsilon, delta=delta, view=view, domain="a vector and a matrix of norm 1 at most")


@evidence(
    rows, "TKMS23-MVEC", "Section 2.2, quoting Chowdhury and Zhou, Appendix C", claim=as_quoted, over=GRID
)
def private(run: Run, d: int, batch: int, epsilon: Fraction, delta: Fraction) -> list[Evidence]:
    """M_sum_vec of one batch, for the pair of vector and matrix, is (ε, δ)-SDP for ε < 15 and δ < 1/2

    g, b and p are those of the quoted appendix at the batch's size. A node of the tree has (ε/k, δ/k),
    which is another point of the same grid.
    """
    claim = as_quoted(d, batch, epsilon, delta)
    sheet = printed_sheet(dim=d, batch_size=batch, epsilon=epsilon, delta=delta)
    certificate = sheet.statistic().proof(epsilon=epsilon, delta=delta).certify(claim)
    entry = one_entry(sheet)
    witness = None if entry is None else entry.witness(claim)
    return [certificate] if witness is None else [certificate, witness]


SIZES = {"d": (1, 2, 5, full(10**6)), "delta": "1/1000000 1/10 49/100"}
DIMENSIONS, DELTAS = integers(1, None), reals(0, "1/2", "()")


@step("noise", over=over(**SIZES), prove=on(d=DIMENSIONS, delta=DELTAS))
def _noise(d: int, delta: Fraction) -> Sides:
    """log(4(d²+1)/δ) <= (81/20) log(d/δ)"""
    return ln(4 * (d**2 + 1) / delta), 81 * ln(d / delta) / 20


@step(
    "rounding",
    over=over(**SIZES, epsilon="1/10 1 149/10"),
    prove=on(d=DIMENSIONS, delta=DELTAS, epsilon=reals(0, 15, "(]")),
)
def _rounding(d: int, delta: Fraction, epsilon: Fraction) -> Sides:
    """5/16 <= 15000 log(d/δ)²/ε²"""
    return 5 * ball(epsilon) ** 2 / 16, 15000 * ln(d / delta) ** 2


@step("constant", prove=on())
def _constant() -> Sides:
    """6·10⁴ (81/20)² + 15000 <= 10⁶"""
    return CONSTANT * Fraction(81, 20) ** 2 / 4 + 15000, 10**6


@steps(rows, "TKMS23-MVEC/variance", "Section 2.2")
def variance() -> list[Step]:
    """The error of one entry has the proxy V <= C log(d/δ)²/ε² with one C = 10⁶: O(log(d/δ)²/ε²), any batch

    The proxy of rounding and noise is (n + n b/4)/g² for a batch of n. CZ22-UNB shows that the error is
    unbiased. As g >= 2 √n, and b is 24·10⁴ g² log(4(d²+1)/δ)²/(ε² n) plus less than 1, V is at most 5/16 +
    6·10⁴ log(4(d²+1)/δ)²/ε². The steps bound both terms, and add them. ε <= 15, δ < 1/2.

    Note: the claim is about one entry at a time, as in the text; at d = 2, ε = 1 and δ = 1e-6 the standard
    deviation is about 4100, for sums of at most n numbers in [-1, 1]
    """
    return [_noise, _rounding, _constant]
