"""Known bounds of programs on which a proof for EVERY number of records is tried.

These are the programs of ``mechanisms/proved_programs.py``, for data of any length. The bounds also cover an
epsilon that grows with the data, which a bounded size cannot show. ``math.inf`` means that no bound for every
size is derived. No bound is derived for any noisy maximum, although each has one: a running maximum that
stays hidden needs two runs in different branches side by side, and the generic step does not follow these.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpaudit.coins.base import Program
from dpaudit.prover.data import EVERY, Adjacent, OneReplaced, Symbols
from dpaudit.reference.mechanisms.lazy_bandit_programs import lazy_ucb
from dpaudit.reference.mechanisms.noisy_max_programs import noisy_max
from dpaudit.reference.mechanisms.online_learning_programs import follow_noisy_leader
from dpaudit.reference.mechanisms.prefix_sum_programs import (
    partial_sum,
    prefix_sums,
    released_prefixes,
    sequential_test,
    smart_sums,
)
from dpaudit.reference.mechanisms.proved_programs import ANY, ONE_WAY, ProvedProgram
from dpaudit.reference.mechanisms.sparse_vector_programs import (
    adaptive_sparse_vector,
    numeric_sparse_vector,
    sparse_vector,
    sparse_vector_showing,
    sparse_vector_without_cut_off,
    sparse_vector_without_query_noise,
)

__all__ = ["NOT_PROVED_AT_EVERY_SIZE", "PROVED_AT_EVERY_SIZE"]


def row(
    name: str, program: Program, bound: Fraction | float | str, adjacency: Adjacent = ANY
) -> ProvedProgram:
    """Build a case on any number of queries, each any number."""
    return ProvedProgram(
        name=name,
        program=program,
        data=Symbols(EVERY),
        bound=Fraction(bound) if isinstance(bound, str) else bound,
        adjacency=adjacency,
        wrong_verdict="inconclusive",
    )


def stream(
    name: str, program: Program, bound: Fraction | float | str, width: int | None = None
) -> ProvedProgram:
    """Build a case on any number of records in [0, 1], one of which is replaced."""
    return ProvedProgram(
        name=name,
        program=program,
        data=Symbols(EVERY, low=0, high=1, width=width),
        bound=Fraction(bound) if isinstance(bound, str) else bound,
        adjacency=OneReplaced(),
        wrong_verdict="inconclusive",
    )


#: Right programs first, then programs that have no bound or a larger one.
PROVED_AT_EVERY_SIZE: tuple[ProvedProgram, ...] = (
    row("SVT", sparse_vector(threshold=2, query=4), "1"),
    row("SVT, second answer", sparse_vector(threshold=2, query=8, cut_off=2), "1"),
    row("SVT, fifth answer", sparse_vector(threshold=2, query=20, cut_off=5), "1"),
    row("SVT, threshold redrawn", sparse_vector(threshold=4, query=8, cut_off=2, redrawn=True), "1"),
    row("SVT, one way", sparse_vector(threshold=2, query=2), "1", ONE_WAY),
    row("NumSVT", numeric_sparse_vector(threshold=3, query=6, value=3), "1"),
    row("GapSVT", sparse_vector_showing("gap", threshold=2, query=4), "1"),
    row("adaptive SVT", adaptive_sparse_vector(answers=1), "1"),
    row("adaptive SVT, two answers", adaptive_sparse_vector(answers=2), "1"),
    row("adaptive SVT, three answers", adaptive_sparse_vector(answers=3), "1"),
    stream("partial sum", partial_sum(scale=1), "1"),
    stream("prefix sums", prefix_sums(scale=1), "1"),
    stream("smart sums", smart_sums(scale=2, block=2), "1"),
    stream("smart sums, blocks of 1000", smart_sums(scale=2, block=1000), "1"),
    stream("sequential test", sequential_test(boundary=2, step=4), "1"),
    stream("lazy UCB, two arms", lazy_ucb(arms=2, scale=1), "1", 2),
    stream("lazy UCB, three arms", lazy_ucb(arms=3, scale=1), "1", 3),
    stream("lazy UCB, four arms", lazy_ucb(arms=4, scale=1), "1", 4),
    stream("FTNL, repaired", follow_noisy_leader(actions=2, scale=2), "1", 2),
    row("SVT, scales 4 and 4/3", sparse_vector(threshold=4, query="4/3"), "7/4"),
    row("SVT, scales 4 and 4/3, second answer", sparse_vector(threshold=4, query="4/3", cut_off=2), "13/4"),
    row("SVT without query noise", sparse_vector_without_query_noise(threshold=2), math.inf),
    row("SVT without cut-off", sparse_vector_without_cut_off(threshold=2, query=2), math.inf),
    row("SVT showing the query", sparse_vector_showing("query", threshold=2, query=4), math.inf),
    row("adaptive SVT showing the query", adaptive_sparse_vector(answers=1, showing="query"), math.inf),
    stream("released prefixes", released_prefixes(scale=1), math.inf),
    stream("smart sums that keep their blocks", smart_sums(scale=2, block=2, restarts=False), math.inf),
    stream("sequential test, half the noise", sequential_test(boundary=2, step=2), "3/2"),
    stream("FTNL, printed", follow_noisy_leader(actions=2, scale=1), "2", 2),
    stream("lazy UCB that keeps its sums", lazy_ucb(arms=2, scale=1, forgets=False), math.inf, 2),
)

#: Right for every size according to their papers, but not proved here: no bound is derived.
NOT_PROVED_AT_EVERY_SIZE: tuple[ProvedProgram, ...] = (
    row("noisy max", noisy_max(scale=2), math.inf),
    row("noisy max, one way", noisy_max(scale=1), math.inf, ONE_WAY),
    row("noisy max, scale 1", noisy_max(scale=1), math.inf),
)
