"""Tier 0 for programs of Gaussian releases: checks zCDP and GDP of a program, by rational arithmetic alone.

    python gaussian_t0.py certificate.json     (or a report; with claim_t0.py and kernel_t0.py in its folder)

The certificate holds the decision tree of a program over symbolic data, whose only randomness is Gaussian
noise on released values: ["release", form, "gaussian", variance, next], ["fork", question, [next, ...]],
["show", text, next], ["form", form, next], ["end"]. A form is affine in the data ``x0``, ``x1``, ... and in
public values ``p0``, ``p1``, ..., which are computed from earlier outcomes and so are equal on both sides. No
other node is accepted: no comparison of data, no hidden draw, no other noise.

The rule. Fix data x and x + d. Let c be the change of a released value, s^2 its variance, R(v) the largest
sum of c^2 / (2 s^2) over the paths from node v to an end. By induction from the ends, the output after v has
E_Q (P/Q)^a <= exp(a (a - 1) R(v)) for all a > 1, for every earlier output: at an end it is 1; at a question
the outcomes determine one child, the same on both sides; at a release the outcome gives the factor exp(a (a -
1) c^2 / (2 s^2)), and the rest at most a constant. So the program is R(root)-zCDP (Bun, Steinke 2016,
Definition 1.1). A sum of squares is convex in d, so the corners of the boxes of changes suffice.

It is mu-GDP too, with mu^2 = 2 R(root), even if outcomes determine later nodes. Let G_b be the pair
N(sqrt(b), 1), N(0, 1) and H_g(P, Q) the integral of max(0, p - g q). By induction H_g <= H_g(G_b) for all g >
0 and b >= 2 R(v): at an end it is max(0, 1 - g), which is the least; at a release the integral over z of p(z)
H_(g q(z) / p(z))(the rest) is at most the same integral with G_(b - c^2 / s^2) as the rest, for every z: H_g
of two independent Gaussians of means c / s and sqrt(b - c^2 / s^2), so of G_b. (Smith, Thakurta 2022 state
it.)

Assumptions: the tree is the program's; numbers are exact; both sides have the same number of records.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

__all__ = ["Checked", "GaussianProofError", "check", "main"]

#: ``MAX_PRODUCTS`` limits the products of a coefficient and a change over all corners. Beyond it, each
#: release is bounded separately.
MAX_NODES, MAX_NUMBERS, MAX_STEPS, MAX_PRODUCTS = 500_000, 2_000, 5_000_000, 300_000
NUMBER = re.compile(r"-?\d{1,1000}(/[1-9]\d{0,999})?", re.ASCII)
PUBLIC = re.compile(r"p\d{1,9}", re.ASCII)

#: The data part of a form, and the releases that depend on data, each with the variance of its noise.
Terms = tuple[tuple[str, Fraction], ...]
Releases = tuple[tuple[Terms, Fraction], ...]
ZERO = Fraction(0)
Box = dict[str, tuple[Fraction, Fraction]]


class GaussianProofError(Exception):
    """The certificate is malformed or does not prove its statement."""


def need(holds: Any, message: str) -> None:
    """Refuse the certificate with ``message`` unless ``holds``."""
    if not holds:
        raise GaussianProofError(message)


def rational(text: Any) -> Fraction:
    """Read an exact number in its only valid form, reduced: ``"2"``, ``"-3/8"``."""
    number = Fraction(text) if isinstance(text, str) and NUMBER.fullmatch(text) else Fraction()
    need(text == str(number), f"a number must be exact and reduced, got {str(text)[:40]!r}.")
    return number


def positive(text: Any) -> Fraction:
    number = rational(text)
    need(number > 0, f"a variance or step must be positive, got {number}.")
    return number


def entry(record: Any, key: str, kind: type) -> Any:
    """Return a field of exactly this type. A bool is not accepted as an int."""
    need(isinstance(record, dict) and key in record, f"the certificate must have the field {key!r}.")
    need(type(record[key]) is kind, f"{key!r} must be a {kind.__name__}, got {str(record[key])[:40]!r}.")
    return record[key]


def neighbours(data: Any, adjacency: Any) -> tuple[frozenset[str], list[Box]]:
    """Return the symbols of the data, and the boxes of changes that lead to neighbours."""
    size, width, integers = entry(data, "size", int), data.get("width"), entry(data, "integers", bool)
    need(width is None or (type(width) is int and width > 0), "a record's width must be positive.")
    each = width or 1
    need(0 < size * each <= MAX_NUMBERS, f"the data need 1 to {MAX_NUMBERS} numbers, got {size * each}.")
    names = [f"x{i}" for i in range(size * each)]
    low, high = (None if data.get(k) is None else rational(data[k]) for k in ("low", "high"))
    need(low is None or high is None or low < high, "the data need a range.")
    by, kind = positive(adjacency.get("by")), adjacency.get("kind")
    whole = {end.denominator for end in (low, high, by) if end is not None} == {1}
    need(whole or not integers, "integers must have whole ends and change by whole numbers.")
    need(kind in ("each-moves", "one-replaced"), f"unknown adjacency {str(kind)[:40]!r}.")
    if kind == "each-moves":
        one_way = entry(adjacency, "one_way", bool)
        ways = [(-by, ZERO), (ZERO, by)] if one_way else [(-by, by)]
        return frozenset(names), [dict.fromkeys(names, way) for way in ways]
    spans = low is not None and high is not None and by >= high - low
    need(spans or adjacency.get("at_most") is True, "one record's change must span its domain.")
    starts = range(0, len(names), each)
    return frozenset(names), [dict.fromkeys(names[i : i + each], (-by, by)) for i in starts]


def read_form(written: Any, names: frozenset[str]) -> Terms:
    """Return the part of a form that depends on data."""
    need(isinstance(written, dict), "a form must be a table of coefficients.")
    for name in written.keys() - names - {""}:
        need(
            isinstance(name, str) and PUBLIC.fullmatch(name),
            "a form has a symbol that is neither data nor public.",
        )
    numbers = {name: rational(value) for name, value in written.items()}
    return tuple(sorted((name, value) for name, value in numbers.items() if name in names and value))


def every_path(nodes: Any, names: frozenset[str]) -> list[Releases]:
    """Return the releases of each path from the root of the tree. Every node is reached once."""
    need(isinstance(nodes, list) and 0 < len(nodes) <= MAX_NODES, f"a tree has 1 to {MAX_NODES} nodes.")
    sizes = {"release": 5, "fork": 3, "show": 3, "form": 3, "end": 1}
    found: list[Releases] = []
    pending: list[tuple[int, Releases]] = [(0, ())]
    reached, steps = {0}, 0
    while pending:
        at, released = pending.pop()
        node = nodes[at]
        need(isinstance(node, list) and node, "a node must be a list.")
        kind = str(node[0])[:40]
        need(len(node) == sizes.get(kind), f"this kind of proof has no such node: {str(node)[:60]}.")
        steps += 1 + len(released)
        need(steps <= MAX_STEPS, f"more than {MAX_STEPS} steps.")
        if kind == "end":
            found.append(released)
            continue
        following = node[2] if kind == "fork" else [node[-1]]
        need(isinstance(following, list) and following, "a public question must have answers.")
        if kind in ("fork", "show"):
            need(isinstance(node[1], str), "a question or a shown constant must be a text.")
        elif kind == "form":
            need(not read_form(node[1], names), "data are shown without noise.")
        else:
            need(node[2] == "gaussian", f"a release must have Gaussian noise, got {str(node[2])[:40]!r}.")
            terms, variance = read_form(node[1], names), positive(node[3])
            released = (*released, (terms, variance)) if terms else released
        for child in following:
            need(type(child) is int and at < child < len(nodes), "a node must come after the one above it.")
            need(child not in reached, "two paths join, so this is not a tree.")
            reached.add(child)
            pending.append((child, released))
    need(len(reached) == len(nodes), "a node of the tree is on no path.")
    return found


class Costs:
    """The largest sum of change^2 / (2 variance) of a path over a box of changes."""

    def __init__(self, boxes: list[Box]) -> None:
        self.boxes, self.products, self.steps = boxes, MAX_PRODUCTS, 0

    def worst(self, released: Releases) -> Fraction:
        places: dict[str, list[tuple[int, Fraction]]] = {}
        for i, (terms, _) in enumerate(released):
            self.steps += len(terms)
            need(self.steps <= MAX_STEPS, f"the certificate takes more than {MAX_STEPS} steps.")
            for name, factor in terms:
                places.setdefault(name, []).append((i, factor))
        return max((self.over(released, places, box) for box in self.boxes), default=ZERO)

    def over(self, released: Releases, places: Any, box: Box) -> Fraction:
        """Return the largest cost at the corners.

        If there are too many corners, bound each release separately, which is at least as much.
        """
        names = [name for name in box if name in places]
        moved: dict[int, dict[str, Fraction]] = {}
        for name in names:
            for i, factor in places[name]:
                moved.setdefault(i, {})[name] = factor
        each = [(terms, 2 * released[i][1]) for i, terms in moved.items()]
        products = 2 ** min(len(names), 64) * sum(len(terms) for terms, _ in each)
        if products > self.products:
            ends = [[[a * end for end in box[n]] for n, a in terms.items()] for terms, _ in each]
            most = [max(sum(map(max, one)), -sum(map(min, one))) for one in ends]
            return sum((m**2 / v for m, (_, v) in zip(most, each, strict=True)), ZERO)
        self.products -= products
        worst = ZERO
        for corner in product(*(box[name] for name in names)):
            change = dict(zip(names, corner, strict=True))
            sums = [(sum((a * change[n] for n, a in terms.items()), ZERO), v) for terms, v in each]
            worst = max(worst, sum((c**2 / v for c, v in sums), ZERO))
        return worst


@dataclass(frozen=True)
class Checked:
    """The result of a check: ``rho``-zCDP for all data and outcomes, and mu-GDP with mu^2 = 2 rho.

    ``quantity`` ("rho" or "mu") and ``claimed`` are the certificate's claim.
    """

    rho: Fraction
    quantity: str
    claimed: Fraction
    paths: int

    @property
    def mu_squared(self) -> Fraction:
        return 2 * self.rho

    @property
    def holds(self) -> bool:
        return self.rho <= self.claimed if self.quantity == "rho" else self.mu_squared <= self.claimed**2


def check(certificate: Any) -> Checked:
    """Derive rho from a certificate. Raise ``GaussianProofError`` if a step does not follow."""
    try:
        return _check(certificate)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise GaussianProofError(f"the certificate is malformed: {type(error).__name__}.") from error


def _check(certificate: Any) -> Checked:
    need(certificate.get("proof") == "program, Gaussian releases", "the certificate is of another kind.")
    claim = entry(certificate, "claim", dict)
    [(quantity, text)] = claim.items()
    need(quantity in ("rho", "mu"), "the certificate must be asked for rho or for mu.")
    need((claimed := rational(text)) >= 0, "a claim must not be negative.")
    names, boxes = neighbours(entry(certificate, "data", dict), entry(certificate, "adjacency", dict))
    paths = every_path(entry(certificate, "tree", list), names)
    costs = Costs(boxes)
    rho = max(costs.worst(released) for released in sorted(set(paths)))
    return Checked(rho, quantity, claimed, len(paths))


def main(arguments: list[str]) -> int:
    """Check a certificate, or all of this kind in a report (see ``claim_t0.run``)."""
    try:
        from dpaudit.kernel.claim_t0 import GAUSSIAN, run
    except ImportError:  # run as a script, with the other files in its folder
        sys.path.append(str(Path(__file__).parent))
        from claim_t0 import GAUSSIAN, run  # type: ignore[import-not-found,no-redef]
    return run(
        arguments,
        "program, Gaussian releases",
        check,
        lambda found: f"rho {found.rho}, mu^2 {found.mu_squared} from {found.paths} paths",
        types=GAUSSIAN,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
