"""Known bounds of programs on which a proof is tried: one table for tests, rows and the benchmark.

Bounds are the optima of the alignment, for all data of the stated size. They equal the program's epsilon if
it is right and its data are unbounded. Sources: the programs' papers; LightDP (Zhang and Kifer 2017) and
CheckDP (Wang, Ding, Kifer and Zhang 2020) for the set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpaudit.coins.base import Program
from dpaudit.distributions import DiscreteLaplace, Exponential
from dpaudit.prover.data import Adjacent, EachMoves, OneReplaced, Symbols
from dpaudit.reference.mechanisms.lazy_bandit_programs import lazy_ucb
from dpaudit.reference.mechanisms.noisy_max_programs import gap_noisy_max, noisy_max
from dpaudit.reference.mechanisms.prefix_sum_programs import (
    partial_sum,
    prefix_sums,
    released_prefixes,
    sequential_test,
    smart_sums,
)
from dpaudit.reference.mechanisms.sparse_vector_programs import (
    adaptive_sparse_vector,
    numeric_sparse_vector,
    sparse_vector,
    sparse_vector_showing,
    sparse_vector_without_cut_off,
    sparse_vector_without_query_noise,
)

__all__ = [
    "BANDITS",
    "NOISY_MAXIMA",
    "PROVED_AT_EIGHT",
    "PROVED_LARGE",
    "PROVED_PROGRAMS",
    "SPARSE_VECTORS",
    "SUMS",
    "ProvedProgram",
]

ANY = EachMoves(by=1)
ONE_WAY = EachMoves(by=1, one_way=True)


@dataclass(frozen=True, kw_only=True)
class ProvedProgram:
    """A program with its data, and the expected result of a proof of ``claim``: the verdict and the bound.

    ``right`` states whether the program satisfies the claim. A wrong program must not be verified: the prover
    returns "refuted" if its data leave room for a witness, else "inconclusive".
    """

    name: str
    program: Program
    data: Symbols
    bound: Fraction | float
    adjacency: Adjacent = field(default_factory=lambda: ANY)
    claim: Fraction = Fraction(1)
    wrong_verdict: str = "refuted"

    @property
    def right(self) -> bool:
        return self.bound <= self.claim

    @property
    def verdict(self) -> str:
        return "verified" if self.right else self.wrong_verdict


def row(
    name: str, program: Program, bound: Fraction | float | str, n: int = 4, adjacency: Adjacent = ANY
) -> ProvedProgram:
    """Build a case on ``n`` queries, each any number."""
    value = Fraction(bound) if isinstance(bound, str) else bound
    return ProvedProgram(name=name, program=program, data=Symbols(n), bound=value, adjacency=adjacency)


def stream(
    name: str, program: Program, bound: Fraction | float | str, n: int = 4, verdict: str = "refuted"
) -> ProvedProgram:
    """Build a case on ``n`` records in [0, 1], one of which is replaced."""
    value = Fraction(bound) if isinstance(bound, str) else bound
    return ProvedProgram(
        name=name,
        program=program,
        data=Symbols(n, low=0, high=1),
        bound=value,
        adjacency=OneReplaced(),
        wrong_verdict=verdict,
    )


def bandit(name: str, program: Program, bound: str, rounds: int, arms: int = 2) -> ProvedProgram:
    """Build a case of a bandit with these rounds and arms; one round's rewards are replaced."""
    return ProvedProgram(
        name=name,
        program=program,
        data=Symbols(rounds, low=0, high=1, width=arms),
        bound=Fraction(bound),
        adjacency=OneReplaced(),
    )


SPARSE_VECTORS = (
    row("SVT", sparse_vector(threshold=2, query=4), "1"),
    row("SVT, 8 queries", sparse_vector(threshold=2, query=4), "1", 8),
    row("SVT, second answer", sparse_vector(threshold=2, query=8, cut_off=2), "1/2"),
    row("SVT, one way", sparse_vector(threshold=2, query=2), "1", 4, ONE_WAY),
    row("SVT, threshold redrawn", sparse_vector(threshold=4, query=8, cut_off=2, redrawn=True), "1/2"),
    row("SVT, exponential noise", sparse_vector(threshold=2, query=4, distribution=Exponential), "1"),
    row("NumSVT", numeric_sparse_vector(threshold=3, query=6, value=3), "1"),
    row("GapSVT", sparse_vector_showing("gap", threshold=2, query=4), "1"),
    row("adaptive SVT", adaptive_sparse_vector(answers=1), "1"),
    row("adaptive SVT, two answers", adaptive_sparse_vector(answers=2), "11/16"),
    row("SVT, scales 4 and 4/3", sparse_vector(threshold=4, query="4/3"), "7/4"),
    row("SVT, scales 4 and 4/3, second answer", sparse_vector(threshold=4, query="4/3", cut_off=2), "3"),
    row("SVT without query noise", sparse_vector_without_query_noise(threshold=2), math.inf),
    row("SVT without cut-off", sparse_vector_without_cut_off(threshold=2, query=2), "2"),
    row("SVT showing the query", sparse_vector_showing("query", threshold=2, query=4), "2", 8),
    row("adaptive SVT showing the query", adaptive_sparse_vector(answers=1, showing="query"), "3/2"),
)

NOISY_MAXIMA = (
    row("noisy max", noisy_max(scale=2), "1"),
    row("noisy max, one way", noisy_max(scale=1), "1", 4, ONE_WAY),
    row("noisy max, exponential noise", noisy_max(scale=2, distribution=Exponential), "1"),
    ProvedProgram(
        name="noisy max, discrete noise",
        program=noisy_max(scale=2, distribution=DiscreteLaplace),
        data=Symbols(3, integers=True),
        bound=Fraction(1),
    ),
    row("GapNoisyMax", gap_noisy_max(scale=2), "1", 3),
    row("noisy max, scale 1", noisy_max(scale=1), "2"),
    row("noisy max with its value", noisy_max(scale=2, with_value=True), "2"),
    row("noisy max, exponential noise, scale 1", noisy_max(scale=1, distribution=Exponential), "2"),
    row("GapNoisyMax, scale 1", gap_noisy_max(scale=1), "2", 3),
)

SUMS = (
    stream("partial sum", partial_sum(scale=1), "1"),
    stream("prefix sums", prefix_sums(scale=1), "1"),
    stream("smart sums", smart_sums(scale=2, block=2), "1"),
    stream("sequential test", sequential_test(boundary=2, step=4), "1"),
    stream("partial sum, half the noise", partial_sum(scale="1/2"), "2"),
    stream("released prefixes", released_prefixes(scale=1), "4"),
    stream("smart sums that keep their blocks", smart_sums(scale=2, block=2, restarts=False), "3/2"),
    stream("smart sums with bare blocks", smart_sums(scale=2, block=2, noisy_blocks=False), math.inf),
    stream(
        "sequential test, half the noise", sequential_test(boundary=2, step=2), "3/2", verdict="inconclusive"
    ),
)

BANDITS = (
    bandit("lazy UCB", lazy_ucb(arms=2, scale=1), "1", 6),
    bandit("lazy UCB, 9 rounds", lazy_ucb(arms=2, scale=1), "1", 9),
    bandit("lazy UCB that keeps its sums", lazy_ucb(arms=2, scale=1, forgets=False), "2", 6),
)

#: Every program, the right programs of each family first.
PROVED_PROGRAMS: tuple[ProvedProgram, ...] = (*SPARSE_VECTORS, *NOISY_MAXIMA, *SUMS, *BANDITS)


def at_eight() -> Iterator[ProvedProgram]:
    """Yield each program on eight records (queries, scores, rounds).

    ``grown`` holds the bounds that differ from the bound at the program's own size.
    """
    grown = {
        "SVT, second answer": "1",
        "SVT, threshold redrawn": "1",
        "adaptive SVT, two answers": "1",
        "SVT, scales 4 and 4/3, second answer": "13/4",
        "SVT without cut-off": "4",
        "adaptive SVT showing the query": "3",
        "noisy max with its value": "4",
        "released prefixes": "8",
        "smart sums that keep their blocks": "5/2",
        "lazy UCB that keeps its sums": "3",
    }
    for one in PROVED_PROGRAMS:
        if one.name not in {"SVT, 8 queries", "lazy UCB, 9 rounds"}:
            bound = Fraction(grown[one.name]) if one.name in grown else one.bound
            given = {name: getattr(one.data, name) for name in ("low", "high", "width", "integers")}
            yield replace(one, data=Symbols(8, **given), bound=bound)


#: All programs at one larger size.
PROVED_AT_EIGHT: tuple[ProvedProgram, ...] = tuple(at_eight())

#: Single programs at a size at which the number of paths begins to matter.
PROVED_LARGE: tuple[ProvedProgram, ...] = (
    row("SVT, 50 queries", sparse_vector(threshold=2, query=4), "1", 50),
    row("noisy max, 10 scores", noisy_max(scale=2), "1", 10),
)
