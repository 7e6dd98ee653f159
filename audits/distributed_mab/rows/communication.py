"""CZ23-COMM: the bits that one user sends, measured and by formula, and the paper's rates."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from audits.distributed_mab.communication import TAIL, bits, log_size_bound, sheet_of
from dpaudit.core.claims import MessageSize
from dpaudit.core.exact_functions import larger, log2
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.distributions import PolyaDifference
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.mab.distributed_elimination import DESIGNS
from dpaudit.reference.mechanisms.sent_bits import carried_bits, sent_over_the_wire
from dpaudit.reference.mechanisms.wire import bits_per_residue, integer_bits, read_integers
from dpaudit.suite import Measured, Sides, Step, evidence, full, inequality, listed, over, step, steps

__all__ = ["rows"]

rows = Group("Communication: bits per user", kind="utility")

#: The shuffled variant's modulus is the same as printed and as repaired.
SCALED = ("dist_rdp_se", "dist_cdp_se")
VARIANTS = ("dist_dp_se", *SCALED, "shuffle_dp_se/repaired", "cdp_se", "ldp_se")
BATCHES = (2, 2**4, 2**10, 2**20, full(*(2**b for b in range(2, 20) if b not in (4, 10))))
BUDGETS = "1/100 1/2 1 10"


@inequality(
    rows,
    "CZ23-COMM",
    "Section 4.1 and App. B",
    over=over(variant=VARIANTS, n=BATCHES, epsilon=BUDGETS, s=1)
    + over(variant=SCALED, n=BATCHES, epsilon=BUDGETS, s=10),
)
def logarithmic(variant: str, n: int, epsilon: Fraction, s: int) -> Sides:
    """Bits per user grow logarithmically with the batch: ⌈log₂ m⌉ <= (3/2) log₂ n + log₂ C + 1, p = 2^-20

    Compare the modulus of every variant's own sheet with a bound that is proved from g and τ for all n: C =
    (sε + 1)(1 + 2 margin) + 2 rest + 3. Margin and rest depend only on ε and log(2/p).

    Note: m grows like n^{3/2}: g = ⌈sε sqrt n⌉ grows with the batch, not only n. T enters as log log T
    """
    return bits(variant, n, epsilon, s=s), log_size_bound(variant, n, epsilon, s=s, p=TAIL)


# Measured


@evidence(
    rows,
    "CZ23-COMM/measured",
    "Section 4, App. B; Theorem 3 with CarrySum",
    claim=MessageSize(
        text="n users send ⌈n ⌈log₂ m⌉ / 8⌉ bytes, which unpack to the same sum; CarrySum's add up modulo m",
        quantity_name="bytes beyond ⌈n ⌈log₂ m⌉ / 8⌉, and messages and sums that do not survive",
        claimed=0,
    ),
)
def on_the_wire(run: Run) -> Measured:
    """A user's message takes ⌈log₂ m⌉ bits, measured in all variants, and CarrySum's messages survive packing

    Run each variant's protocol on mixed rewards, pack the users' messages, count the bytes, unpack and decode
    them. The count includes the padding of a batch's last byte. CarrySum's messages are y_i + m W_i, and
    their sum is Σ y_i modulo m for all carries.
    """
    rng, surplus, broken = run.rng("wire"), 0, 0
    shown: list[list[Any]] = []
    for name, n in itertools.product(VARIANTS, run.choose(quick=(2, 16), full=(2, 16, 64, 256))):
        sheet = sheet_of(name, n, Fraction(1, 2), p=Fraction(1, 1000))
        rewards = np.linspace(0, 1, n) if name != "dist_cdp_se" else np.ones(n)
        packed, same = sent_over_the_wire(sheet, rewards.tolist(), rng)
        width = bits_per_residue(sheet.modulus)
        surplus = max(surplus, abs(len(packed) - -(-n * width // 8)))
        broken += not same
        shown.append([DESIGNS[name].title, n, sheet.modulus, 8 * len(packed) / n, width, None])
    for n in (2, 16, 64):
        sheet = sheet_of("shuffle_dp_se/repaired", n, Fraction(1))
        carries = PolyaDifference(shape=Fraction(1, n), log_ratio=Fraction(1, 4 * n)).sample(rng, (n,))
        encoded = sheet.precision * rng.integers(0, 2, n)
        residues = (sheet.share.sample(rng, (n,)) + encoded) % sheet.modulus
        sent = (residues + sheet.modulus * carries).tolist()
        stream = "".join(integer_bits(int(z)) for z in sent)
        received = read_integers(stream)
        broken += sum(a != b for a, b in zip(sent, received, strict=True))
        broken += sum(received) % sheet.modulus != int(residues.sum()) % sheet.modulus
        most = carried_bits(sheet, Fraction(1, 4))
        width = bits_per_residue(sheet.modulus)
        shown.append(["CarrySum", n, sheet.modulus, len(stream) / n, width, most])
    columns = ["sender", "n", "m", "bits per user", "⌈log₂ m⌉", "bound on the mean"]
    return Measured(
        low=surplus + broken,
        high=surplus + broken,
        samples=len(shown),
        method="bytes or bits of real messages, packed, unpacked and decoded",
        scope=f"{len(shown)} batches: of each variant, ε = 1/2, p = 1/1000; of CarrySum, ε = 1, p = 2^-20",
        plots=[table(title="Measured message sizes", columns=columns, rows=shown)],
    )


@inequality(
    rows,
    "CZ23-COMM/shuffle",
    "Theorem 3: communication before S",
    role="what-if",
    over=over(n=(2, 16, full(64)), epsilon="1/2 1 10"),
)
def carried(n: int, epsilon: Fraction) -> Sides:
    """Theorem 3: in CarrySum ⌈log₂ m⌉ bits before S become 2 ⌈log₂ m⌉ + 3 + 2 log₂(1 + 8/ε) at most

    The theorem counts bits before S. This row adds the bits of S = CarrySum: the mean length of the integer y
    + m W that a user sends, in Elias' code, for every y in Z_m, from the exact distribution of W, p = 2^-20.

    Note: for all n: length <= 2 log₂(2m (|W| + 1)) + 1 and E|W| <= 8/ε, with Jensen's inequality

    Note: Cheu and Yan's bit-vector construction sends far more. The paper refers to them for its size
    """
    sheet = sheet_of("shuffle_dp_se/repaired", n, epsilon)
    most = 2 * bits_per_residue(sheet.modulus) + 3 + 2 * log2(1 + 8 / epsilon)
    return Fraction(carried_bits(sheet, epsilon / 4)), most


# Appendix B, on Dist-RDP-SE

SIZES = (2, 4, 2**5, 2**10, 2**20)


@inequality(
    rows,
    "CZ23-COMM/rate/large-budget",
    "App. B",
    role="what-if",
    expect="refuted",
    over=over(n=SIZES, epsilon=Fraction(10**6), s=1),
    case="ε = 10^6, s = 1",
)
@inequality(
    rows,
    "CZ23-COMM/rate",
    "App. B",
    over=over(n=SIZES, epsilon="1/100 1/2 1", s=(1, 10, 1000)),
    case="ε <= 1, s <= 1000",
)
def rate(n: int, epsilon: Fraction, s: int) -> Sides:
    """Dist-RDP-SE sends at most 5 log₂(n + s/ε) bits, {case}, p = 2^-20

    Compare App. B's O(log(n + s/ε)), with the constant 5, with the modulus of the sheet.

    Note: T is fixed, because the rate hides log log T. As ε grows, n g grows while s/ε falls, so the rate is
    valid for ε of order 1 and below
    """
    return bits("dist_rdp_se", n, epsilon, s=s), 5 * log2(ball(n + s / epsilon))


FOUR = (2, 16, 2**10, 2**20)


@step(
    "ε from 1/10 to 10",
    over=over(n=FOUR, budgets=((Fraction(1, 10), Fraction(1)), (Fraction(1), Fraction(10)))),
    expect="refuted",
)
def _at_usual_budgets(n: int, budgets: tuple[Fraction, Fraction]) -> Sides:
    """⌈log₂ m⌉ at the larger of two budgets is at most that at the smaller, s = 1, p = 2^-20"""
    return bits("dist_rdp_se", n, budgets[1]), bits("dist_rdp_se", n, budgets[0])


@step("ε = 1/(kn), where sε sqrt n <= 1", over=over(n=FOUR, k=((1000, 100), (100, 10), (10, 1))))
def _at_small_budgets(n: int, k: tuple[int, int]) -> Sides:
    """⌈log₂ m⌉ at the larger of two budgets 1/(kn) is at most that at the smaller, s = 1, p = 2^-20"""
    return bits("dist_rdp_se", n, Fraction(1, k[1] * n)), bits("dist_rdp_se", n, Fraction(1, k[0] * n))


@steps(
    rows,
    "CZ23-COMM/inverse",
    'App. B: "the current communication cost is inverse with respect to ε"',
    expect="refuted",
    cells=True,
)
def inverse() -> list[Step]:
    """Dist-RDP-SE: the larger ε, the fewer bits

    Compare the message sizes of one sheet at growing ε.

    Refuted: n g = n ⌈sε sqrt n⌉ grows with ε, so more privacy means a coarser encoding and fewer bits. App.
    B's rate log(n + s/ε) still falls

    Note: while sε sqrt n <= 1 the statement holds: g = 1 for every such ε, and τ ~ 1/ε determines the size
    """
    return [_at_usual_budgets, _at_small_budgets]


# Comparison with the lower bound

COLUMN = tuple(2**b for b in (1, 2, 4, 8, 12, 16, 20))


def _from_the_root_up(n: int) -> list[Fraction]:
    """Return 1/sqrt n, rounded up, and usual budgets above it."""
    floor = Fraction(1, isqrt(n))
    return [floor, *(e for e in (Fraction(1, 10), Fraction(1), Fraction(10), Fraction(10**6)) if e > floor)]


USUAL = listed("n epsilon", *((n, e) for n in COLUMN for e in _from_the_root_up(n)))
TINY = listed("n epsilon", *((n, e) for n in COLUMN for e in (Fraction(1, n), Fraction(1, n**2))))


def _least(n: int, epsilon: Fraction) -> Any:
    """max(log₂(n² ε²), 1)."""
    return larger(log2(ball(n**2 * epsilon**2)), arb(1))


@step("ε from 1/sqrt n on, from above", over=USUAL)
def _above(n: int, epsilon: Fraction) -> Sides:
    """⌈log₂ m⌉ <= 7 max(log₂(n²ε²), 1)"""
    return bits("dist_dp_se", n, epsilon), 7 * _least(n, epsilon)


@step("ε from 1/sqrt n on, from below", over=USUAL)
def _below(n: int, epsilon: Fraction) -> Sides:
    """(1/2) max(log₂(n²ε²), 1) <= ⌈log₂ m⌉"""
    return _least(n, epsilon) / 2, bits("dist_dp_se", n, epsilon)


@step("ε = 1/n, 1/n²: no constant suffices", over=TINY)
def _gap(n: int, epsilon: Fraction) -> Sides:
    """log₂(1/ε) max(log₂(n²ε²), 1) <= ⌈log₂ m⌉"""
    return log2(1 / ball(epsilon)) * _least(n, epsilon), bits("dist_dp_se", n, epsilon)


@steps(
    rows,
    "CZ23-COMM/optimal",
    "App. B, next to the lower bound of Chen et al. (2022)",
    role="sharper",
    cells=True,
)
def optimal() -> list[Step]:
    """Dist-DP-SE's bits are within constants of max(log₂(n²ε²), 1) for ε >= 1/sqrt n, and not for ε = 1/n

    The paper aims at messages as short as this known bound allows. If ε >= 1/sqrt n, they are, up to
    constants in both directions. The paper says that a smaller ε should need fewer bits, and that its own
    cost grows instead. For n²ε² <= 1 the bound is constant, and τ ~ log(2/p)/ε takes log₂(1/ε) bits. p =
    2^-20.

    Note: this row only compares two formulas. The lower bound itself is another paper's and is not checked
    here

    Note: for all n and ε < 1: m > 2τ >= 2 log(2/p)/ε, as g >= 1
    """
    return [_above, _below, _gap]
