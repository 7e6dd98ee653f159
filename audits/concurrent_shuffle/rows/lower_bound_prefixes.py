"""Check the sets of type 3 in the proof of Theorem 4.1: privacy of the inner algorithm M_B given a prefix of
the transcript.

The proof fixes a prefix p of the transcript, until the first batch with more than Big users, and applies the
induction hypothesis to the algorithm M_B that goes on from there. The hypothesis is about (ε, δ)-CSDP
algorithms, so M_B would have to be (ε, δ)-CSDP given p. Only the average over prefixes is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from audits.concurrent_shuffle.exact_tables import Table, bit_table, divergence
from audits.concurrent_shuffle.hard_inputs import big_batch, largest_delta
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import lower
from dpaudit.suite import Chain, Sides, full, inequality, over

__all__ = ["alarm", "glued", "rows"]

rows = Group("Theorem 4.1: privacy given a prefix", kind="structure")

RATIOS = "11/10 3/2 2 5"


def glued(chances: Mapping[str, Fraction], given: Mapping[str, Table]) -> Table:
    """Return the algorithm that outputs a prefix p with probability ``chances[p]``, whatever the data, and
    then the output of ``given[p]``."""
    some = next(iter(given.values()))
    return {
        data: {(p, y): chances[p] * q for p in chances for y, q in given[p][data].items()} for data in some
    }


def alarm(chance: Fraction, users: int = 2) -> tuple[Table, dict[str, Table]]:
    """Return the counterexample as a whole, and its continuation after each prefix.

    The first batch emits "!" with probability ``chance``, whatever the data. After "!" a batch of all
    ``users`` opens at shuffler 2, and shuffler 1 shows every bit. Otherwise nothing is shown.
    """
    data = list(bit_table(users, outcomes=1, seed=0))
    given: dict[str, Table] = {
        "!": {bits: {bits: Fraction(1)} for bits in data},
        ".": {bits: {(): Fraction(1)} for bits in data},
    }
    return glued({"!": chance, ".": 1 - chance}, given), given


def _delta(table: Table, ratio: Fraction) -> Fraction:
    """Return the largest δ of neighbours at e^ε = ``ratio``."""
    pairs = (
        (one, other)
        for one in table
        for other in table
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1
    )
    return max(divergence(table[one], table[other], ratio) for one, other in pairs)


@inequality(
    rows,
    "TKMS23-LBP/given-prefix",
    "proof of Theorem 4.1, sets of type (3)",
    role="step",
    expect="refuted",
    over=over(log2_n=(40, full(60, 80)), epsilon="1/2 1", ratio=RATIOS, share="1/2 99/100"),
)
def given_prefix(log2_n: int, epsilon: Fraction, ratio: Fraction, share: Fraction) -> Chain:
    """Given a prefix p of the transcript, M_B is (ε, δ)-CSDP with the δ of M, so that the induction
    hypothesis (δ < min(ε, 1)/(40 n (k + 1)) at n = Big and k - 1) applies to it

    The algorithm has k = 2 shufflers. The first batch emits "!" with probability d, whatever the data. Only
    then a batch of more than Big users opens, and shuffler 1 shows every bit while it is open. d = share
    min(ε, 1)/(40 n (k + 1)). Compute δ exactly at e^ε = ratio, for the whole algorithm and for each
    continuation. Two users are enough.

    Note: δ of the whole is d at every ε. Given "!", it is 1, and the continuation errs by 0. Conditioning
    on p divides δ by Pr[p]

    Note: this concerns the proof, not Theorem 4.1 itself. The algorithm errs when "!" does not come

    Note: the proof never states that M_B is private. It applies "the induction hypothesis for n = |B| and
    k - 1", whose algorithms are (ε, δ)-CSDP with δ < min(ε, 1)/(40 n (k + 1))
    """
    n, k = 2**log2_n, 2
    chance = share * largest_delta(n, k, epsilon)
    whole, given = alarm(chance)
    inside = max(1, math.floor(lower(big_batch(n, k, epsilon))))
    worst = max(_delta(table, ratio) for table in given.values())
    return {
        "δ of M <= min(ε, 1)/(40 n (k + 1)), its hypothesis": (
            _delta(whole, ratio),
            largest_delta(n, k, epsilon),
        ),
        "δ of M_B given p <= δ of M": (worst, _delta(whole, ratio)),
        "δ of M_B given p <= min(ε, 1)/(40 Big k), the hypothesis for k - 1": (
            worst,
            largest_delta(inside, k - 1, epsilon),
        ),
    }


def _average(chances: Mapping[str, Fraction], given: Mapping[str, Table], ratio: Fraction) -> Fraction:
    """Return the largest Σ Pr[p] δ_p of one pair of neighbours in one direction, minus the δ of this pair."""
    whole, worst = glued(chances, given), Fraction(-1)
    for one in whole:
        for other in whole:
            if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
                each = sum((chances[p] * _one_way(given[p], one, other, ratio) for p in chances), Fraction(0))
                worst = max(worst, each - _one_way(whole, one, other, ratio))
    return worst


def _one_way(table: Table, one: tuple[int, ...], other: tuple[int, ...], ratio: Fraction) -> Fraction:
    zero = Fraction(0)
    return sum((max(zero, p - ratio * table[other].get(y, zero)) for y, p in table[one].items()), zero)


@inequality(
    rows,
    "TKMS23-LBP/average",
    "proof of Theorem 4.1, sets of type (3), on average over the prefixes",
    role="repaired",
    repairs="TKMS23-LBP/given-prefix",
    measure="left - right",
    over=over(seed=(0, 1, 2, full(*range(3, 20))), ratio=RATIOS, chance="1/10 1/2 9/10"),
)
def on_average(seed: int, ratio: Fraction, chance: Fraction) -> Sides:
    """For each fixed pair of neighbours that differ after the prefixes, Σ over p of Pr[p] δ_p is at most the
    δ of M

    Compute both sides exactly for random tables of three bits with three prefixes, and for the
    counterexample of TKMS23-LBP/given-prefix.

    Proof: users of batch B come after p, so Pr[p] is the same for both data sets. Take for each p the event
    B_p that attains δ_p. The union over p of {p} × B_p is one event, and its difference P - e^ε Q is
    Σ Pr[p] δ_p

    Note: by Markov's inequality prefixes with δ_p > s δ have probability 1/s at most, for a fixed pair. The
    induction hypothesis asks for one δ for all pairs, and different pairs may be bad after different
    prefixes. Whether the induction goes through with averages is open here
    """
    rest = 1 - chance
    chances = {"a": chance, "b": rest / 3, "c": rest * 2 / 3}
    tables = {p: bit_table(3, outcomes=4, seed=100 * seed + j) for j, p in enumerate(chances)}
    bad = alarm(chance)[1]
    return max(_average(chances, tables, ratio), _average({"!": chance, ".": rest}, bad, ratio)), 0
