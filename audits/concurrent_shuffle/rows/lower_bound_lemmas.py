"""Check the lemmas behind Theorem 4.1 (Appendix B), by exact tables of probabilities and exact tails.

Tables are random but fixed: weights come from seeds and are fractions. Privacy parameters of tables are
exact hockey-stick divergences at rational e^ε.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from audits.concurrent_shuffle.exact_tables import (
    Batch,
    Joint,
    NextBatch,
    Table,
    bit_table,
    dependence,
    divergence,
    likelihood_ratios,
    mixed,
    outside,
    public_protocol,
    released_with,
    small_transcripts,
    sum_table,
)
from audits.concurrent_shuffle.hard_inputs import HardInputs, big_batch, marked_bits, repeat_len
from audits.concurrent_shuffle.interval_escape import Sum, holds_on
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball, lower, upper
from dpaudit.suite import Sides, Step, full, inequality, on, over, reals, step, steps

__all__ = ["rows"]

rows = Group("Theorem 4.1: the lemmas of its proof")

#: Values of e^ε, rational so that likelihood ratios are exact.
RATIOS = "11/10 3/2 2 5"


# Lemma B.1


@inequality(
    rows,
    "TKMS23-LB.1",
    "Lemma B.1 (after Chan, Shi and Song 2012)",
    over=over(n=(3, full(5)), rounds=(3, full(5)), seed=(0, 1, 2, 3)),
    measure="left - right",
)
def stays_independent(n: int, rounds: int, seed: int) -> Sides:
    """Independent inputs stay independent given all messages of a public protocol with private coins

    Enumerate random protocols of n parties. The history determines the speaker. The message depends on the
    speaker's bit, its private coin and the history. The largest |P(x | messages) - Π P(x_i | messages)| is
    0, exactly.
    """
    return dependence(public_protocol(n, rounds=rounds, seed=seed)), Fraction(0)


@inequality(
    rows,
    "TKMS23-LB.1/excluded",
    "Lemma B.1, cases outside its hypotheses",
    role="what-if",
    over=over(seed=(0, 1, 2, 3)),
    measure="left - right",
    case="with one coin for all parties",
    shared_coin=True,
    correlated=False,
    expect="refuted",
)
@inequality(
    rows,
    "TKMS23-LB.1/correlated",
    "Lemma B.1, cases outside its hypotheses",
    role="what-if",
    over=over(seed=(0, 1, 2, 3)),
    measure="left - right",
    case="with correlated inputs",
    shared_coin=False,
    correlated=True,
    expect="refuted",
)
def excluded(seed: int, shared_coin: bool, correlated: bool) -> Sides:
    """Inputs stay independent given all messages {case}

    Three parties, three rounds, the protocols of TKMS23-LB.1.

    Note: the lemma does not claim this: the row shows that the computation finds dependence if there is any
    """
    joint = public_protocol(3, rounds=3, seed=seed, shared_coin=shared_coin, correlated=correlated)
    return dependence(joint), Fraction(0)


# Lemmas B.2 and B.3


@step("ε <= 1", over=over(epsilon="1/1000000 1/100 1/10 1/2 3/4 99/100 1"), prove=on(epsilon=reals(0, 1)))
def _small_epsilon(epsilon: Fraction) -> Sides:
    """(1 + e^{-2ε}) ε <= 2 (1 - e^{-ε})"""
    decay = (-ball(epsilon)).exp()
    return (1 + decay**2) * ball(epsilon), 2 * (1 - decay)


@step("ε >= 1", over=over(epsilon="1 101/100 2 10 100"), prove=on(epsilon=reals(1, None)))
def _large_epsilon(epsilon: Fraction) -> Sides:
    """1 + e^{-2ε} <= 2 (1 - e^{-ε})"""
    decay = (-ball(epsilon)).exp()
    return 1 + decay**2, 2 * (1 - decay)


@steps(rows, "TKMS23-LB.3/step", "proof of Lemma B.3", role="step")
def step_of_the_proof() -> list[Step]:
    """δ (1 + e^{-2ε})/(1 - e^{-ε}) <= 2δ/min(ε, 1)

    Both sides are multiplied by their denominators.

    Proof: for ε >= 1 the left side falls and is 1.80 δ at 1. For ε <= 1, f = 2(1 - e^{-ε}) - ε(1 + e^{-2ε})
    has the derivative 2ε e^{-2ε} - (1 - e^{-ε})². It is positive if e^ε - 1 < √(2ε), a convex function
    below a concave one, so it is positive up to one point and negative after it; f(0) = 0 and f(1) > 0
    """
    return [_small_epsilon, _large_epsilon]


def _tables(kind: str) -> Table:
    """Return mechanisms on two or three bits."""
    if kind == "sum":
        return sum_table(2, trials=6)
    if kind == "wide sum":
        return sum_table(1, trials=50)
    if kind == "leaky":
        return bit_table(2, outcomes=4, seed=5)
    return bit_table(3, outcomes=5, seed=7, floor=5)


def _neighbours(table: Table) -> Iterable[tuple[tuple[int, ...], tuple[int, ...], int]]:
    for data in table:
        for i, bit in enumerate(data):
            if not bit:
                yield data, (*data[:i], 1, *data[i + 1 :]), i


def _delta(table: Table, ratio: Fraction) -> Fraction:
    return max(divergence(table[one], table[other], ratio) for one, other, _ in _neighbours(table))


@inequality(
    rows,
    "TKMS23-LB.2-B.3",
    "Lemmas B.2 and B.3",
    over=over(kind=("sum", "leaky", "random", full("wide sum")), ratio=RATIOS),
    measure="left - right",
)
def few_outside(kind: str, ratio: Fraction) -> dict[str, Sides]:
    """For (ε, δ)-DP, likelihood ratios outside [e^{-2ε}, e^{2ε}] have probability at most 2δ/min(ε, 1), for
    any distribution A of the other data

    Check shuffled sums, a table with zeros and a table without. δ is the exact value at e^ε = ratio. The
    check covers every index and three distributions A: a point mass (Lemma B.2), uniform, and one that
    correlates the entries. Probabilities are computed under both values of the entry.

    Note: the statement of Lemma B.2 is missing from our text, which has only O(δ/ε); the row uses B.3's
    constant
    """
    table = _tables(kind)
    data = list(table)
    count = len(data)
    tied = {d: Fraction(1 + 3 * (sum(d) % 2 == 0) + i, 1) for i, d in enumerate(data)}
    total = sum(tied.values(), Fraction(0))
    distributions = [{d: Fraction(1)} for d in data]
    distributions += [{d: Fraction(1, count) for d in data}, {d: w / total for d, w in tied.items()}]
    worst = max(
        outside(
            mixed(table, distribution, index=i, value=0), mixed(table, distribution, index=i, value=1), ratio
        )
        for distribution in distributions
        for i in range(len(data[0]))
    )
    limit = 2 * _delta(table, ratio)
    return {"P(outside) min(ε, 1) <= 2δ": (ball(worst) * ln(ratio).min(arb(1)), ball(limit))}


# Lemma B.4


@inequality(
    rows,
    "TKMS23-LB.4",
    "Lemma B.4 (quoted from Matoušek 2001)",
    kind="tail",
    over=over(
        distribution=((160000, "1/2"), full((444445, "1/10")), full((381120, "1/8"))),
        abc=(("1/4", 1, 1), ("1/10", 1, "3/2")),
        j=range(17),
    ),
)
def no_short_interval(distribution: tuple[int, str], abc: tuple[str, int, str], j: int) -> Sides:
    """Sums of bits of variance 200² or more miss every interval of length c √(Var log(a/β)) with
    probability β, for all a >= β >= 2^{-b Var}, at (a, b, c) = (1/4, 1, 1) and (1/10, 1, 3/2)

    Check binomial distributions (n, p) for all β at once. The range of β is split into pieces
    [a/2^{2^{j+1}}, a/2^{2^j}] and [a/2, a], up to the j with 2^{2^j} past 2^{b Var}. On each piece the
    largest β is compared with the longest interval. Tails are summed in balls.

    Note: the lemma claims existence; these constants are ours, and the sums tested are binomial
    """
    (n, p), (a, _, c) = distribution, map(Fraction, abc)
    start = 0 if j == 0 else 2 ** (j - 1)
    stop = 1 if j == 0 else 2**j
    return holds_on(Sum(n, Fraction(p)), a=a, c=c, low=a / 2**stop, high=a / 2**start)


# Lemma B.5


@inequality(
    rows,
    "TKMS23-LB.5",
    "Lemma B.5",
    over=over(kind=("sum", "leaky", "random"), ratio=RATIOS),
    measure="left - right",
)
def beside_data(kind: str, ratio: Fraction) -> Sides:
    """Releasing (M(D), D_I), I fixed in advance, costs neighbours outside I nothing: δ(ε) is at most M's

    Check the tables of TKMS23-LB.2-B.3, all I, and all pairs that differ outside I, exactly.
    """
    table = _tables(kind)
    n = len(next(iter(table)))
    worst = max(
        divergence(released[one], released[other], ratio)
        for size in range(n)
        for fixed in itertools.combinations(range(n), size)
        for released in [released_with(table, lambda y, fixed=fixed: fixed)]
        for one, other, i in _neighbours(table)
        if i not in fixed
    )
    return worst, _delta(table, ratio)


@inequality(
    rows,
    "TKMS23-LB.5/chosen",
    "Lemma B.5, with I chosen from the output",
    role="what-if",
    over=over(ratio="2"),
    measure="left - right",
    expect="refuted",
)
def chosen_from_output(ratio: Fraction) -> Sides:
    """Releasing D_I for an I that depends on the output costs nothing

    The mechanism is the shuffled sum of two bits. It also releases the first bit if the sum is even.

    Note: the lemma does not claim this; it fixes I in advance
    """
    table = sum_table(2, trials=6)
    released = released_with(table, lambda y: () if int(str(y)) % 2 else (0,))
    return max(divergence(released[a], released[b], ratio) for a, b, _ in _neighbours(table)), _delta(
        table, ratio
    )


# Lemma B.6


def _in_turn(noises: tuple[int, ...], size: int, n: int) -> NextBatch:
    """Return batches of ``size`` one after the other. The noise of each depends on the output before."""

    def next_batch(history: tuple[int, ...]) -> Batch | None:
        start = len(history) * size + 1
        trials = noises[history[-1] % len(noises)] if history else noises[0]
        return Batch(start, start + size - 1, trials) if start <= n else None

    return next_batch


def _overlapping(sizes: tuple[int, int], n: int) -> NextBatch:
    """Return the batches of two concurrent shufflers in the order in which they close.

    The batches have two sizes and half as many fair bits.
    """
    batches = [Batch(s, s + size - 1, size // 2) for size in sizes for s in range(1, n - size + 2, size)]
    batches.sort(key=lambda batch: (batch.stop, -batch.start))
    return lambda history: batches[len(history)] if len(history) < len(batches) else None


@lru_cache(maxsize=4)
def _toy(kind: str) -> tuple[int, Joint]:
    """Return the number of marked bits, and the joint distribution of these and the transcript."""
    n, copies, distance = (16, 3, 2) if kind == "long runs" else (8, 1, 4 if kind == "two shufflers" else 2)
    member = HardInputs(horizon=n, copies=copies, prefix_len=int(kind == "long runs"), prefix_bit=1)
    batches = _overlapping((2, 4), n) if kind == "two shufflers" else _in_turn((2, 3), 2, n)
    marked = marked_bits(member, distance=distance)
    return len(marked), small_transcripts(member, marked, batches)


@inequality(
    rows,
    "TKMS23-LB.6",
    "proof of Lemma B.6, steps (a) and (b)",
    role="step",
    over=over(kind=("in turn", "two shufflers", full("long runs")), ratio="3/2 2"),
    measure="left - right",
)
def given_a_transcript(kind: str, ratio: Fraction) -> dict[str, Sides]:
    """Given a transcript t′ of M′ with small batches the marked bits are (a) independent and, in E′, (b) of
    variance c_ε² or more each

    Compute the exact joint distribution of marked bits and t′ = (outputs, all other bits) on hard inputs of
    8 users (16 in the full profile). The algorithms are shuffled bits in batches of 2 whose noise depends
    on the output before, and two overlapping shufflers.

    Note: δ of these examples is above the lemma's limit, which (a) and (b) do not use
    """
    _, joint = _toy(kind)
    spread = (ratio / (ratio**2 + 1)) ** 2
    least = Fraction(1, 4)
    for weights in joint.values():
        pairs = likelihood_ratios(weights)
        inside = all(max(pair) <= ratio**2 * min(pair) for pair in pairs)
        if inside:
            least = min(least, *(Fraction(one * zero, (one + zero) ** 2) for one, zero in pairs))
    return {
        "(a) dependence of the marked bits given t′": (dependence(joint), Fraction(0)),
        "(b) c_ε² <= their variance given t′ in E′": (spread, least),
    }


MANY = over(k=(1, 2), log10_n=(8, 14, full(10, 18)), epsilon="1/2 1")


def _marks(k: int, log10_n: int, epsilon: Fraction) -> tuple[int, int, arb]:
    """Return n, the most marked bits that are Big or more apart, over both roundings of rep, and Big."""
    n = 10**log10_n
    big, rep = big_batch(n, k, epsilon), lower(repeat_len(n, k, epsilon))
    apart = math.ceil(upper(big))
    periods = [max(1, copies) + 1 for copies in (math.floor(rep), math.ceil(rep))]
    return n, max((n - 1) // (-(-apart // period) * period) + 1 for period in periods), big


@inequality(
    rows,
    "TKMS23-LB.6/count",
    "Appendix B, before the proof of Theorem 4.1: the number of bits in Bits_{n,k}",
    role="step",
    over=MANY,
    expect="refuted",
)
def printed_count(k: int, log10_n: int, epsilon: Fraction) -> Sides:
    """The number m of single bits that are Big apart, no two in a batch of at most Big users, is at least
    n/Big - 1

    Single bits are rep + 1 users apart, so marked bits are apart by a multiple of rep + 1 that is Big or
    more. The count is for the member without a prefix, which has the most, and for the better of both
    roundings of rep.

    Note: at n = 10⁸, k = 1, ε = 1 there are rep = 109 copies and Big = 218.97: marked bits are 220 apart and
    m = 454546, but n/Big - 1 is more than 456679. The loss is a factor 1 + (rep + 1)/Big at most, and the
    proof goes through with it: TKMS23-LB.6/repaired
    """
    n, marked, big = _marks(k, log10_n, epsilon)
    return n / big - 1, ball(marked)


@inequality(
    rows,
    "TKMS23-LB.6/repaired",
    "Appendix B, the number of bits in Bits_{n,k}, with the distance of single bits",
    role="repaired",
    repairs="TKMS23-LB.6/count",
    over=MANY,
)
def repaired_count(k: int, log10_n: int, epsilon: Fraction) -> Sides:
    """There are m >= n/(Big + rep + 2) - 1 single bits that are Big or more apart

    Count them as in TKMS23-LB.6/count, with rep rounded to the next integer.

    Proof: the next multiple of rep + 1 above Big is below Big + rep + 1, and rounding rep adds at most 1. The
    first single bit comes after at most rep users
    """
    n, marked, big = _marks(k, log10_n, epsilon)
    return n / (big + repeat_len(n, k, epsilon) + 2) - 1, ball(marked)
