"""Check the proof of Theorem 4.1 around its lemmas: the algebra of its scales, the base case, the
induction, and tightness in n."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from audits.concurrent_shuffle.hard_inputs import HardInputs
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Sides, Step, full, inequality, integers, on, over, reals, step, steps

__all__ = ["rows", "same_blocks", "smallest_chance"]

rows = Group("Theorem 4.1: algebra, base case and induction")

# Algebra


#: a + b k, as (a, b).
Linear = tuple[int, int]

WHOLE: Linear = (1, 2)  # 2k + 1
#: Exponents of n and of c, times 2k + 1, in 2 rep(n, k) and in Big.
REP: tuple[Linear, Linear] = (1, 0), (0, 2)
BIG: tuple[Linear, Linear] = (-1, 2), (2, 0)
#: The same in 2 rep(n, k - 1), times BELOW = 2k - 1.
INNER: tuple[Linear, Linear] = (1, 0), (-2, 2)
BELOW: Linear = (-1, 2)


def _times(first: Linear, second: Linear) -> tuple[int, int, int]:
    """Return the coefficients of 1, k and k² in a product."""
    (a, b), (c, d) = first, second
    return a * c, a * d + b * c, b * d


def _plus(*terms: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sum(each) for each in zip(*terms, strict=True))


def _equal(name: str, left: int | Fraction, right: int | Fraction) -> dict[str, Sides]:
    """Return an equality as two inequalities."""
    return {f"{name}: at most": (left, right), f"{name}: at least": (right, left)}


@inequality(rows, "TKMS23-ID", "Section 4, proof of Theorem 4.1", role="step", measure="left - right")
def identities() -> dict[str, Sides]:
    """rep(n, k) = rep(Big, k - 1), and c √(n/Big) = 2 rep(n, k) (printed as Ω only)

    Compare the exponents of n and c exactly, for every k >= 1: multiplied by 2k + 1, and in the first
    identity also by 2k - 1, they are polynomials in k with equal coefficients. In the first identity both
    sides have the factor 1/2 of rep. rep and Big are real numbers.
    """
    (rep_n, rep_c), (big_n, big_c), (inner_n, inner_c) = REP, BIG, INNER
    double, minus = (2, 0), (-1, 0)
    pairs = {
        "rep(Big, k - 1), exponent of n": (_times(inner_n, big_n), _times(rep_n, BELOW)),
        "rep(Big, k - 1), exponent of c": (
            _plus(_times(inner_n, big_c), _times(inner_c, WHOLE)),
            _times(rep_c, BELOW),
        ),
        "n/Big and 4 rep², exponent of n": (
            _plus(WHOLE, _times(minus, big_n)[:2]),
            _times(double, rep_n)[:2],
        ),
        "c² n/Big and 4 rep², exponent of c": (
            _plus(_times(double, WHOLE)[:2], _times(minus, big_c)[:2]),
            _times(double, rep_c)[:2],
        ),
    }
    return {
        f"{name}, coefficient of k^{j}: distance": (abs(one - other), Fraction(0))
        for name, sides in pairs.items()
        for j, (one, other) in enumerate(zip(*sides, strict=True))
    }


@inequality(
    rows,
    "TKMS23-TIGHT",
    "after Theorem 4.1; introduction",
    over=over(k=(1, 2, 3, 5, 10, 50)),
    measure="left - right",
    prove=on(k=integers(1, None)),
)
def tight(k: int) -> dict[str, Sides]:
    """Corollary 3.5's error and Theorem 4.1's bound have the same power of n at fixed k: 1/(2k + 1)

    Upper side: √|V_t| with |V_t| = k (d - 1) and d = n^{2/(2k+1)}, and d_low - 1 blind users, d_low =
    n/d^k. Lower side: c √(n/Big)/2 with its Big. The exponents, times 2k + 1, are exact.

    Note: this is about n only, up to polylogarithms, not about ε, δ or k; measured constants differ by
    factors of 20 and more (TKMS23-T4.1, T4.1/small)

    Note: the text after the theorem says "tight for any k". At a given n Theorem 4.1 covers only k below
    log2(n)/17.2: TKMS23-TIGHT/range
    """
    degree, below = 2, Fraction(2 * k + 1 - (BIG[0][0] + BIG[0][1] * k)) / 2
    return {
        **_equal("noise, exponent of n", Fraction(degree, 2), below),
        **_equal("blind users, exponent of n", 2 * k + 1 - k * degree, below),
        **_equal("1/(2k + 1)", 1, below),
    }


def _least_exponent(k: int, epsilon: Fraction) -> arb:
    """Return the logarithm of 200^{2k+1}/c_ε^{2k}, 1/c_ε = e^ε (1 + e^{-2ε})."""
    inverse = ball(epsilon) + (1 + (-2 * ball(epsilon)).exp()).log()
    result: arb = 2 * k * (ln(200) + inverse) + ln(200)
    return result


@step(
    "every ε",
    over=over(k=(1, 2, 3, 5, 10, 50, 1000), epsilon="1/1000000 1/10 1/2 1 2"),
    prove=on(k=integers(1, None), epsilon=reals(0, None, "()")),
)
def _any_epsilon(k: int, epsilon: Fraction) -> Sides:
    """17.2 k <= log2 n"""
    return ball(Fraction(172, 10) * k) * ln(2), _least_exponent(k, epsilon)


@step(
    "ε >= 1",
    over=over(k=(1, 2, 3, 5, 10, 50, 1000), epsilon="1 2"),
    prove=on(k=integers(1, None), epsilon=reals(1, None)),
)
def _from_one(k: int, epsilon: Fraction) -> Sides:
    """18.5 k <= log2 n"""
    return ball(Fraction(185, 10) * k) * ln(2), _least_exponent(k, epsilon)


@steps(
    rows,
    "TKMS23-TIGHT/range",
    "Theorem 4.1, 'large enough n', against 'tight for any k'",
    role="sharper",
    kind="lower-bound",
)
def covered_shufflers() -> list[Step]:
    """Theorem 4.1 says nothing for k >= log2(n)/17.2 shufflers: its hypothesis n c_ε²/Big > 200² needs log2 n
    > 17.2 k for every ε, and log2 n > 18.5 k from ε = 1 on

    The hypothesis is n > 200^{2k+1}/c_ε^{2k}, and 1/c_ε = e^ε (1 + e^{-2ε}). Compare logarithms with
    multiples of k.

    Proof: c_ε <= 1/2, so log2 n > log2 200 + 2k log2 400 > 17.28 k. At ε >= 1, c_ε <= 0.3241, so that 2
    log2(200/c_ε) > 18.53

    Note: so at n = 2^40 it covers no more than one shuffler, and it never covers the log n shufflers of
    Algorithm 2. Upper and lower bound agree in the power of n at each fixed k, as n grows
    """
    return [_any_epsilon, _from_one]


# The base case


def smallest_chance(member: HardInputs) -> Fraction:
    """Return the least probability, over all deterministic answers at the last time, of an error of n/4 - 1
    or more."""
    n = member.horizon
    fair = np.array(list(np.ndindex(*(2,) * member.bits)))
    sums = sorted(member.values(fair).sum(axis=1).tolist())
    reach = Fraction(n, 2) - 2  # one answer can be near values within an open interval of this length
    near = max(sum(1 for s in sums if first <= s < first + reach) for first in sums)
    return 1 - Fraction(near, len(sums))


@inequality(
    rows,
    "TKMS23-LB0",
    "proof of Theorem 4.1, k = 0",
    kind="lower-bound",
    role="step",
    over=over(n=(8, 9, 16, 33, 64, full(255, 4096))),
)
def base_case(n: int) -> Sides:
    """Without shufflers, k = 0, every deterministic answer errs by n/4 - 1 or more with probability 1/2, on
    every member of D(n, 0)

    Check all prefixes of at most n/2 equal bits. Find the best of all answers at the last time by
    enumerating the sums.

    Proof: the last n/2 - 1 or more users hold one fair bit, so that the sums for its two values are n/2 - 2
    or more apart
    """
    members = [
        HardInputs(horizon=n, copies=n // 2, prefix_len=p) for p in range(0, n // 2 + 1, max(1, n // 64))
    ]
    return Fraction(1, 2), min(map(smallest_chance, members))


# The induction


SHUFFLERS, SHARES, PARTS = integers(1, None), reals(0, 1, "()"), reals(0, 1, "(]")
_GRID = {"k": (1, 2, 3, 8), "share": "99/100 1/2"}


def _bad(k: int, share: Fraction) -> Fraction:
    """Return a = 2nδ/min(ε, 1), δ = share min(ε, 1)/(40 n (k + 1))."""
    return share / (20 * (k + 1))


@step(
    "Big <= n",
    over=over(n=(2**12, 2**40, 2**80), epsilon="1/10 1/2 1 2"),
    prove=on(n=integers(1, None), epsilon=reals(0, None, "()")),
)
def _big_in_n(n: int, epsilon: Fraction) -> Sides:
    """log c_ε <= log n, and log n - log Big is 2/(2k + 1) of the difference"""
    return -ball(epsilon) - (1 + (-2 * ball(epsilon)).exp()).log(), ln(n)


@step(
    "hypothesis on δ",
    over=over(**_GRID, part="1/1000000 1/2 1"),
    prove=on(k=SHUFFLERS, share=SHARES, part=PARTS),
)
def _small_delta(k: int, share: Fraction, part: Fraction) -> Sides:
    """δ <= min(ε, 1)/(40 Big k)"""
    return share * part * k, k + 1


@step("P(n, k) <= P(n, k - 1)(1 - a)", over=over(**_GRID), prove=on(k=SHUFFLERS, share=SHARES))
def _one_shuffler_less(k: int, share: Fraction) -> Sides:
    """1 - ak <= (1 - a(k - 1))(1 - a), multiplied out"""
    a = _bad(k, share)
    return 1 - a * k, 1 - a * k + a**2 * (k - 1)


@step(
    "P(n, k - 1) <= P(Big, k - 1)",
    over=over(k=(1, 2, 3, 8), part="1/1000000 1/2 1"),
    prove=on(k=SHUFFLERS, part=PARTS),
)
def _fewer_users(k: int, part: Fraction) -> Sides:
    """a (k - 1) Big/n <= a (k - 1), without a"""
    return part * (k - 1), k - 1


@step("case 2", over=over(k=(1, 2, 3, 8)), prove=on(k=SHUFFLERS))
def _case_2(k: int) -> Sides:
    """P(n, k) <= (β₀/2)(1 - a), that is a <= ak, without a"""
    return 1, k


@steps(
    rows,
    "TKMS23-LBP",
    "proof of Theorem 4.1, the induction",
    kind="lower-bound",
    role="step",
    measure="left - right",
)
def chain() -> list[Step]:
    """P(Big, k - 1)(1 - 2nδ/min(ε, 1)) >= P(n, k), and Big users with k - 1 shufflers meet the hypotheses

    P(n, k) = (β₀/2)(1 - 2nδk/min(ε, 1)), δ = share min(ε, 1)/(40 n (k + 1)), a = 2nδ/min(ε, 1), part = Big/n.
    The part of Lemma B.6 is β₀/2 times the probability of E′. rep(Big, k - 1) = rep(n, k) is TKMS23-ID.

    Note: this is the algebra of the probabilities. That the induction hypothesis applies given a prefix is
    another step, and false: TKMS23-LBP/given-prefix

    Note: Big is a real number: with whole users rep(⌊Big⌋, k - 1) may be below 100 if rep(n, k) is just
    above

    Proof: (1 - a(k - 1))(1 - a) >= 1 - ak for a >= 0, and Big <= n; for all parameters
    """
    return [_big_in_n, _small_delta, _one_shuffler_less, _fewer_users, _case_2]


@inequality(
    rows,
    "TKMS23-LBP/cut",
    "proof of Theorem 4.1, case 3: D_B",
    role="step",
    over=over(n=(40, full(400)), copies=(1, 2, 5), prefix_len=(0, 1)),
    measure="left - right",
)
def cuts(n: int, copies: int, prefix_len: int) -> Sides:
    """The inputs of the users of a batch, given the users before, form a member again: a prefix of at most
    rep equal bits, then single bits and runs

    For every cut of every length, compare the blocks of equal bits of the cut with the blocks of the
    expected member.

    Note: copies are whole numbers, the same before and after the cut, since rep(Big, k - 1) = rep(n, k)

    Note: a cut at the beginning of a run is the mixture of the two members whose prefix is that run
    """
    member = HardInputs(horizon=n, copies=copies, prefix_len=min(prefix_len, copies))
    wrong = sum(
        not same_blocks(member, start, size) for start in range(1, n + 1) for size in range(1, n - start + 2)
    )
    return wrong, 0


def same_blocks(member: HardInputs, start: int, size: int) -> bool:
    """Return whether the blocks of the cut equal the blocks of the users that it takes. The prefix may be a
    block."""
    named = member.cut(start, size)
    if named.prefix_len > member.copies:
        return False
    held = member.blocks[start - 1 : start - 1 + size]
    edges: Callable[[Any], list[int]] = lambda blocks: np.flatnonzero(np.diff(blocks)).tolist()  # noqa: E731
    first_is_single = named.prefix_len == 0
    return edges(held) == edges(named.blocks) and first_is_single == bool(held[0] >= 0 and held[0] % 2 == 0)
