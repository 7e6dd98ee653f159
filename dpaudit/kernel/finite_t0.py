"""Tier 0 for programs of finite data and finite draws: exact distributions, by rational arithmetic alone.

    python finite_t0.py certificate.json     (or a report; with claim_t0.py and kernel_t0.py beside it)

The certificate holds one tree for each data set, in the order of ``itertools.product``: what the program
draws, with exact rational probabilities, and what it shows. This file walks the trees, adds up the
distribution of
what each data set shows, enumerates all neighbours itself and takes the largest ratio R of two
probabilities. The stated ``bound`` is proved if R is at most a partial sum of e^bound; the claim is refuted
if R is above e^epsilon, enclosed from above.

What is assumed: the trees are the program's; numbers are exact; both sides have the same number of records.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any

__all__ = ["Checked", "FiniteProofError", "check", "main", "ratio_of"]

MAX_DATA_SETS, MAX_STEPS, MAX_PAIRS, LARGEST = 10_000, 5_000_000, 1_000_000, 500
NUMBER = re.compile(r"-?\d{1,1000}(/[1-9]\d{0,999})?", re.ASCII)

FIELDS = {"data": dict, "adjacency": dict, "trees": list}

Data = tuple[int, ...]
Shown = tuple[str, ...]
Distribution = dict[Shown, Fraction]


class FiniteProofError(Exception):
    """The certificate is malformed or does not prove what it says."""


def need(holds: Any, message: str) -> None:
    """Refuse the certificate with ``message`` unless ``holds``."""
    if not holds:
        raise FiniteProofError(message)


def rational(text: Any) -> Fraction:
    """An exact number in its one form, reduced: ``"2"``, ``"-3/8"``."""
    number = Fraction(text) if isinstance(text, str) and NUMBER.fullmatch(text) else Fraction()
    need(text == str(number), f"a number must be exact and reduced, got {str(text)[:40]!r}.")
    return number


def entry(record: Any, key: str, kind: type) -> Any:
    """A field of exactly this type: True is no number here."""
    need(isinstance(record, dict) and key in record, f"the certificate has no {key!r} where one is needed.")
    need(type(record[key]) is kind, f"{key!r} must be a {kind.__name__}, got {str(record[key])[:40]!r}.")
    return record[key]


@dataclass(frozen=True)
class Sets:
    """All data sets: ``count`` integers from ``low`` to ``high``, and the changes that are neighbours: each
    box has for every number the least and the largest change."""

    count: int
    low: int
    high: int
    boxes: tuple[tuple[tuple[int, int], ...], ...]

    @classmethod
    def read(cls, data: Any, adjacency: Any) -> Sets:
        size, width = entry(data, "size", int), data.get("width")
        need(width is None or (type(width) is int and width > 0), "a record's width must be positive.")
        need(data.get("integers") is True, "exact distributions are of integers.")
        ends = [rational(entry(data, key, str)) for key in ("low", "high")]
        by, kind, count = rational(adjacency.get("by")), adjacency.get("kind"), size * (width or 1)
        need(all(n.denominator == 1 for n in (*ends, by)), "bounds and changes of integers must be integers.")
        low, high, step = (int(n) for n in (*ends, by))
        need(size > 0 and step > 0 and low < high, "data need a record, a range and a change.")
        need(
            count <= MAX_DATA_SETS and (high - low + 1) ** count <= MAX_DATA_SETS,
            f"more than {MAX_DATA_SETS} data sets.",
        )
        need(kind in ("each-moves", "one-replaced"), f"unknown adjacency {str(kind)[:40]!r}.")
        if kind == "each-moves":
            one_way = entry(adjacency, "one_way", bool)
            ways = [(-step, 0), (0, step)] if one_way else [(-step, step)]
            return cls(count, low, high, tuple((way,) * count for way in ways))
        need(
            step >= high - low or adjacency.get("at_most") is True,
            "one record's change must span its domain.",
        )
        boxes = []
        for start in range(0, count, width or 1):
            record = range(start, start + (width or 1))
            boxes.append(tuple((-step, step) if i in record else (0, 0) for i in range(count)))
        return cls(count, low, high, tuple(boxes))

    def all(self) -> list[Data]:
        return list(product(range(self.low, self.high + 1), repeat=self.count))

    def neighbours(self, one: Data) -> Iterator[Data]:
        """Every data set that ``one`` may change into."""
        for box in self.boxes:
            ends = zip(one, box, strict=True)
            steps = [range(max(self.low, x + a), min(self.high, x + b) + 1) for x, (a, b) in ends]
            yield from product(*steps)


class Distributions:
    """The distributions of all trees; ``steps`` over all of them are limited."""

    def __init__(self) -> None:
        self.steps = 0

    def distribution(self, nodes: Any) -> Distribution:
        """What one tree shows, with what probability."""
        need(isinstance(nodes, list) and nodes, "a tree must be a list of nodes.")
        distribution: Distribution = {}
        pending: list[tuple[int, Fraction, Shown]] = [(0, Fraction(1), ())]
        while pending:
            at, chance, shown = pending.pop()
            self.steps += 1
            need(self.steps <= MAX_STEPS, f"the certificate takes more than {MAX_STEPS} steps.")
            need(at < len(nodes) and isinstance(nodes[at], list) and nodes[at], "a node is missing.")
            kind, *rest = nodes[at]
            if kind == "end":
                need(not rest, "an end has nothing after it.")
                distribution[shown] = distribution.get(shown, Fraction(0)) + chance
                continue
            need(
                len(rest) == 2 and kind in ("show", "finite"), f"a node is malformed: {str(nodes[at])[:60]}."
            )
            what, after = rest
            if kind == "show":
                need(isinstance(what, str), "a shown constant must be a text.")
                pending.append((self.following(at, after), chance, (*shown, what)))
                continue
            weights = [rational(weight) for weight in what]
            need(sum(weights) == 1 and min(weights) >= 0, "the probabilities of a draw must sum to 1.")
            for weight, child in zip(weights, after, strict=True):
                if weight:
                    pending.append((self.following(at, child), chance * weight, shown))
        return distribution

    def following(self, at: int, child: Any) -> int:
        """The child's number; nodes are numbered downwards, so that no tree runs in a circle."""
        need(type(child) is int and child > at, "a node must come after the one above it.")
        return int(child)


def largest(distributions: dict[Data, Distribution], sets: Sets) -> Fraction | None:
    """The largest ratio of the probabilities that neighbours show the same, in both orders; None where one
    shows what the other cannot."""
    worst, pairs = Fraction(1), 0
    for one in distributions:
        for other in sets.neighbours(one):
            pairs += 1
            need(pairs <= MAX_PAIRS, f"more than {MAX_PAIRS} pairs of neighbours.")
            for over, under in (
                (distributions[one], distributions[other]),
                (distributions[other], distributions[one]),
            ):
                if not over.keys() <= under.keys():
                    return None
                worst = max(worst, *(chance / under[shown] for shown, chance in over.items()))
    return worst


def exponential(power: Fraction, *, above: bool) -> Fraction:
    """A number just below e^power, or just above: a partial sum, and what it may lack. ``power`` >= 0."""
    need(0 <= power <= LARGEST, f"epsilon must be from 0 to {LARGEST}, got {float(power):.6g}.")
    term = total = Fraction(1)
    for k in range(1, 80 + 4 * ceil(power)):
        term = term * power / k
        total += term
    return total + term if above else total  # each further term is less than half the one before it


@dataclass(frozen=True)
class Checked:
    """What the certificate proves: ``epsilon`` for all data and outcomes, ``ratio`` being attained."""

    ratio: Fraction
    epsilon: Fraction
    claimed: Fraction
    paths: int

    @property
    def holds(self) -> bool:
        return self.epsilon <= self.claimed

    @property
    def refutes(self) -> bool:
        return self.ratio > exponential(self.claimed, above=True)


def check(certificate: Any) -> Checked:
    """Derive epsilon from a certificate. Raises ``FiniteProofError`` where a step does not follow."""
    try:
        return _check(certificate)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise FiniteProofError(f"the certificate is malformed: {type(error).__name__}.") from error


def _check(certificate: Any) -> Checked:
    need(certificate.get("proof") == "program, exact distributions", "the certificate is of another kind.")
    claimed = rational(entry(certificate, "claim", dict).get("epsilon"))
    bound = rational(certificate.get("bound"))
    need(claimed > 0 and bound >= 0, "the claim must be positive, and the bound not negative.")
    found, sets = _distributions(*(entry(certificate, key, kind) for key, kind in FIELDS.items()))
    ratio = largest(found, sets)
    if ratio is None:
        raise FiniteProofError("a data set shows what a neighbour cannot: no bound.")
    need(ratio <= exponential(bound, above=False), f"the ratio {ratio} is above e^{bound}.")
    return Checked(ratio, bound, claimed, sum(len(distribution) for distribution in found.values()))


def _distributions(data: Any, adjacency: Any, trees: Any) -> tuple[dict[Data, Distribution], Sets]:
    sets = Sets.read(data, adjacency)
    every, distributions = sets.all(), Distributions()
    need(isinstance(trees, list) and len(trees) == len(every), f"there must be {len(every)} trees.")
    return {one: distributions.distribution(nodes) for one, nodes in zip(every, trees, strict=True)}, sets


def ratio_of(data: Any, adjacency: Any, trees: Any) -> Fraction | None:
    """The largest ratio of two neighbours' probabilities, 1 or more; None where one is 0 alone. Raises
    ``FiniteProofError`` and the errors of malformed tables."""
    return largest(*_distributions(data, adjacency, trees))


def main(arguments: list[str]) -> int:
    """Check a certificate, or all of this kind in a report, as ``claim_t0.run`` says."""
    try:
        from dpaudit.kernel.claim_t0 import run
    except ImportError:  # run alone, the other files beside it
        sys.path.append(str(Path(__file__).parent))
        from claim_t0 import run  # type: ignore[import-not-found,no-redef]
    return run(arguments, "program, exact distributions", check, _derived)


def _derived(found: Checked) -> str:
    words = f"largest ratio {found.ratio}, derived {found.epsilon} from {found.paths} probabilities"
    return words + (", which refutes it" if found.refutes else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
