"""Tier 0 for programs with finite data and finite draws: exact distributions, by rational arithmetic alone.

    python finite_t0.py certificate.json     (or a report; with claim_t0.py and kernel_t0.py in its folder)

The certificate holds one tree for each dataset, in the order of ``itertools.product``: the program's draws,
with exact rational probabilities, and its output. This file walks the trees, adds up the output distribution
of each dataset, enumerates all neighbours itself and takes the largest ratio R of two probabilities. The
stated ``bound`` is proved if R is at most a partial sum of e^bound. The claim is refuted if R is above
e^epsilon, enclosed from above.

Assumptions: the trees are the program's; numbers are exact; both sides have the same number of records.
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
    """The certificate is malformed or does not prove its statement."""


def need(holds: Any, message: str) -> None:
    """Refuse the certificate with ``message`` unless ``holds``."""
    if not holds:
        raise FiniteProofError(message)


def rational(text: Any) -> Fraction:
    """Read an exact number in its only valid form, reduced: ``"2"``, ``"-3/8"``."""
    number = Fraction(text) if isinstance(text, str) and NUMBER.fullmatch(text) else Fraction()
    need(text == str(number), f"a number must be exact and reduced, got {str(text)[:40]!r}.")
    return number


def entry(record: Any, key: str, kind: type) -> Any:
    """Return a field of exactly this type. A bool is not accepted as an int."""
    need(isinstance(record, dict) and key in record, f"the certificate must have the field {key!r}.")
    need(type(record[key]) is kind, f"{key!r} must be a {kind.__name__}, got {str(record[key])[:40]!r}.")
    return record[key]


@dataclass(frozen=True)
class Sets:
    """All datasets: ``count`` integers from ``low`` to ``high``, and the changes that lead to neighbours.

    Each box has the least and the largest change of every number.
    """

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
            f"more than {MAX_DATA_SETS} datasets.",
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
        """Yield every dataset that ``one`` may change into."""
        for box in self.boxes:
            ends = zip(one, box, strict=True)
            steps = [range(max(self.low, x + a), min(self.high, x + b) + 1) for x, (a, b) in ends]
            yield from product(*steps)


class Distributions:
    """The distributions of all trees, with a limit on the total number of ``steps``."""

    def __init__(self) -> None:
        self.steps = 0

    def distribution(self, nodes: Any) -> Distribution:
        """Return the output distribution of one tree."""
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
                need(not rest, "an end must not have a next node.")
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
        """Return the child's number. Numbers grow downwards, so that no tree has a cycle."""
        need(type(child) is int and child > at, "a node must come after the one above it.")
        return int(child)


def largest(distributions: dict[Data, Distribution], sets: Sets) -> Fraction | None:
    """Return the largest ratio of the probabilities of one output on two neighbours, in both orders.

    Return ``None`` if a dataset has an output that its neighbour cannot have.
    """
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
    """Return a number just below e^power, or just above: a partial sum, with a bound on the rest.
    ``power`` >= 0.
    """
    need(0 <= power <= LARGEST, f"epsilon must be from 0 to {LARGEST}, got {float(power):.6g}.")
    term = total = Fraction(1)
    for k in range(1, 80 + 4 * ceil(power)):
        term = term * power / k
        total += term
    return total + term if above else total  # each further term is less than half the one before it


@dataclass(frozen=True)
class Checked:
    """The result of a check: ``epsilon`` holds for all data and outcomes, and ``ratio`` is attained."""

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
    """Derive epsilon from a certificate. Raise ``FiniteProofError`` if a step does not follow."""
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
        raise FiniteProofError("a dataset has an output that a neighbour cannot have, so there is no bound.")
    need(ratio <= exponential(bound, above=False), f"the ratio {ratio} is above e^{bound}.")
    return Checked(ratio, bound, claimed, sum(len(distribution) for distribution in found.values()))


def _distributions(data: Any, adjacency: Any, trees: Any) -> tuple[dict[Data, Distribution], Sets]:
    sets = Sets.read(data, adjacency)
    every, distributions = sets.all(), Distributions()
    need(isinstance(trees, list) and len(trees) == len(every), f"there must be {len(every)} trees.")
    return {one: distributions.distribution(nodes) for one, nodes in zip(every, trees, strict=True)}, sets


def ratio_of(data: Any, adjacency: Any, trees: Any) -> Fraction | None:
    """Return the largest ratio of two neighbours' probabilities, at least 1, or ``None`` if only one of them
    is 0.

    Raise ``FiniteProofError`` and the errors of malformed tables.
    """
    return largest(*_distributions(data, adjacency, trees))


def main(arguments: list[str]) -> int:
    """Check a certificate, or all of this kind in a report (see ``claim_t0.run``)."""
    try:
        from dpaudit.kernel.claim_t0 import run
    except ImportError:  # run as a script, with the other files in its folder
        sys.path.append(str(Path(__file__).parent))
        from claim_t0 import run  # type: ignore[import-not-found,no-redef]
    return run(arguments, "program, exact distributions", check, _derived)


def _derived(found: Checked) -> str:
    words = f"largest ratio {found.ratio}, derived {found.epsilon} from {found.paths} probabilities"
    return words + (", which refutes it" if found.refutes else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
