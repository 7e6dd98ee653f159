"""Prove random small programs and compare each bound with the largest loss that an oracle finds.

Run ``python -m tests.prover.fuzz --programs 10000 --seed 0``. A third of the programs are nested comparisons
of random forms. The others are common shapes (sparse vector, noisy maximum, prefix sums, hidden coins,
clamps) with random scales, so that many are private and proved. A bound is false if an event of the oracle,
at corner or random data, has a larger loss.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.core.claims import PureDP
from dpaudit.core.errors import DpauditError
from tests.prover import oracle
from tests.prover.masses import TooWideError
from tests.prover.random_programs import Generated, generate

__all__ = ["Result", "examine", "losses", "main", "on_the_ray", "run"]

#: The largest error of the integration, in ln P.
SLACK = 1e-5
#: Events of smaller probability are ignored.
LEAST = 1e-60
#: The largest mass of integer draws that the oracle leaves out. It is added to the smaller probability.
LEFT_OUT = 1e-11


def neighbours(made: Generated, rng: random.Random, count: int) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield neighbouring inputs: first corners (all far out in one place, or alternating), then random
    data."""
    size, steps = made.size, (Fraction(1), Fraction(1), Fraction(1, 2))
    for turn in range(count):
        if made.unit:
            ends = [0, 1] if made.integers else [0, 1, Fraction(1, 2), Fraction(1, 4)]
            left: list[Any] = [rng.choice(ends) for _ in range(size)]
            right = list(left)
            right[rng.randrange(size)] = rng.choice(ends)
            yield left, right
            continue
        far = rng.choice((0, 0, 1, 3, 12)) if turn else 6
        signs = [rng.choice((-1, 1)) for _ in range(size)]
        if made.one_way:
            change = [rng.choice((0, 1, 1)) for _ in range(size)]
            left = [far * s + (0 if made.integers else rng.choice((0, Fraction(1, 3)))) for s in signs]
        else:
            step = 1 if made.integers else rng.choice(steps)
            change = [s * step * rng.choice((0, 1, 1, 1)) for s in signs]
            left = [far * s + rng.choice((0, 0, 1, -1)) for s in signs]
        yield left, [x + d for x, d in zip(left, change, strict=True)]


def kinds(path: oracle.Path) -> tuple[Any, ...]:
    """Return the kinds of the output of a path, with numbers left open."""
    return tuple(oracle.ANY if isinstance(s, oracle.Form | Fraction) else s for s in path.shown)


def events(found: Sequence[oracle.Path], rng: random.Random) -> Iterator[tuple[Any, ...]]:
    """Yield events: every list of shown things, with its numbers in half lines, intervals and points."""
    patterns: dict[str, tuple[Any, ...]] = {}
    for path in found:
        patterns[repr(kinds(path))] = kinds(path)
    for pattern in itertools.islice(patterns.values(), 40):
        places = [i for i, item in enumerate(pattern) if item is oracle.ANY]
        yield pattern
        for _ in range(4 if places else 0):
            event = list(pattern)
            for i in places:
                event[i] = interval(rng)
            yield tuple(event)
        constants = [
            tuple(s.constant if isinstance(s, oracle.Form) and not s.coefficients else s for s in path.shown)
            for path in found
            if repr(kinds(path)) == repr(pattern)
        ]
        for shown in constants[:3] if places else []:
            yield tuple(
                oracle.Within(s, s) if isinstance(s, Fraction) else a
                for s, a in zip(shown, pattern, strict=True)
            )


def interval(rng: random.Random) -> oracle.Within:
    """Return a half line, or an interval of some width."""
    low = Fraction(rng.randint(-24, 24), 2)
    which = rng.random()
    if which < 0.35:
        return oracle.Within(low=low)
    if which < 0.7:
        return oracle.Within(high=low)
    return oracle.Within(low, low + rng.choice((Fraction(1, 10), 1)))


def losses(made: Generated, rng: random.Random, count: int) -> Iterator[tuple[float, Any]]:
    """Yield lower bounds of the loss with their inputs and event. Events of tiny probability are left out."""
    program = made.program()
    for left, right in neighbours(made, rng, count):
        try:
            one, two = oracle.paths(program, left), oracle.paths(program, right)
            for event in events([*one, *two], rng):
                p, q = oracle.probability(one, event), oracle.probability(two, event)
                yield lost(p, q, made.integers), (left, right, event)
        except (oracle.UnfollowedError, TooWideError):
            return


def on_the_ray(made: Generated, witness: dict[str, Any], rng: random.Random, claim: float) -> float:
    """Return the largest loss found along a refutation's data, up to the first loss above the claim."""
    start, change = (
        [Fraction(witness[key].get(f"x{i}", "0")) for i in range(made.size)] for key in ("start", "change")
    )
    program, worst = made.program(), -math.inf
    for step in (20, 19, 0, 21, 5, 39, 40, 1, 2, 3, 4, 6, 7, 8):  # outcomes end early
        left = [x + step * d for x, d in zip(start, change, strict=True)]
        right = [x + d for x, d in zip(left, change, strict=True)]
        one, two = oracle.paths(program, left), oracle.paths(program, right)
        for event in itertools.chain.from_iterable(events([*one, *two], rng) for _ in range(3)):
            worst = max(
                worst, lost(oracle.probability(one, event), oracle.probability(two, event), made.integers)
            )
        if worst > claim or witness["kind"] != "ray":
            break
    return worst


def lost(p: float, q: float, integers: bool) -> float:
    """Return the larger ln ratio of two probabilities, reduced by the mass that the oracle may leave out."""
    more, less = max(p, q), min(p, q) + (LEFT_OUT if integers else 0)
    if more <= LEAST:
        return -math.inf
    return math.log(more / less) if less > 0 else math.inf


@dataclass(frozen=True)
class Result:
    """The verdict and bound of one program, and the largest loss that was found, with its event."""

    verdict: str
    bound: Any
    loss: float
    where: Any
    reason: str

    @property
    def false(self) -> bool:
        return self.bound is not None and self.loss > float(self.bound) * (1 + SLACK) + SLACK


def proof_of(made: Generated, claim: str) -> Any:
    import dpaudit.prover as prover

    ends = {"low": 0, "high": 1} if made.unit else {}
    data = prover.Symbols(made.size, integers=made.integers, **ends)
    adjacency = prover.OneReplaced() if made.unit else prover.EachMoves(by=1, one_way=made.one_way)
    return prover.prove(made.program(), PureDP(epsilon=claim), data=data, adjacency=adjacency)


def examine(seed: int, *, pairs: int = 4, claim: str = "1") -> Result:
    """Prove program ``seed`` and search for a larger loss."""
    made = generate(seed)
    try:
        proof = proof_of(made, claim)
    except DpauditError as error:
        return Result("refusal", None, 0.0, None, str(error))
    if proof.bound is None or proof.bound == math.inf:
        return Result(proof.verdict, None, 0.0, None, proof.reason)
    worst: tuple[float, Any] = (-math.inf, None)
    for found in losses(made, random.Random(seed + 1), pairs):
        worst = max(worst, found, key=lambda pair: pair[0])
    return Result(proof.verdict, proof.bound, *worst, proof.reason)


def run(programs: int, seed: int) -> tuple[Counter[str], list[int]]:
    """Return counts by verdict, and the seeds of programs with a false bound."""
    counts: Counter[str] = Counter()
    false = []
    for number in range(seed * 1_000_000, seed * 1_000_000 + programs):
        result = examine(number)
        counts[result.verdict] += 1
        counts["with a bound"] += result.bound is not None
        counts["bound attained within 10%"] += result.bound is not None and result.loss > 0.9 * float(
            result.bound
        )
        if result.false:
            false.append(number)
            text = f"bound {result.bound}, loss {result.loss} at {result.where}"
            sys.stdout.write(f"FALSE: program {number}: {text}\n{generate(number).source}\n")
    return counts, false


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit with 1 if a bound is false."""
    parser = argparse.ArgumentParser(prog="python -m tests.prover.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    np.seterr(all="ignore")
    begun = time.perf_counter()
    counts, false = run(options.programs, options.seed)
    sys.stdout.write(
        f"{options.programs} programs, {time.perf_counter() - begun:.0f} s: {dict(counts)}; "
        f"false: {len(false)}\n"
    )
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
