"""Tier 0 for programs that branch on their data and release with noise: by rational arithmetic alone.

    python branches_t0.py certificate.json        (with program_t0.py, claim_t0.py and kernel_t0.py in its
    folder)

The certificate holds the decision tree of a program, in the format of ``program_t0``: comparisons of data,
public questions, shown constants and releases, with Laplace noise only or Gaussian noise only. There are no
hidden draws.

The rule (G11). Fix data x, a neighbour x + d and all outcomes. Then x follows one path p, and x + d one path
q. For each pair of paths and each box of changes the certificate has one of two arguments. Either no x
follows p while x + d follows q: both reach one public question, whose answer the outcomes determine, and
answer it differently, or multipliers contradict the joint constraints. Or there are multipliers for each
release that bound how far its value on q at x + d is from its value on p at x. Then p and q must show and
release alike: equal constants, distributions and scales in the same order. So both sides show the same for
equal outcomes. The loss is at most the largest sum of distance / scale (Laplace: the ratio of densities,
outcome by outcome). For Gaussian noise, rho is at most the largest sum of distance^2 / (2 variance), and mu^2
= 2 rho (by induction from the ends, as in ``gaussian_t0``, over pairs of nodes: the change of one release is
the same for every later outcome).

Assumptions: the tree is the program's, and equal texts in it are equal questions about the outcomes,
identified by their numbers; numbers are exact; both sides have the same number of records.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

try:
    from dpaudit.kernel.program_t0 import (
        CONSTANT,
        ONE,
        ZERO,
        Data,
        Form,
        Interval,
        ProgramProofError,
        Route,
        Row,
        Tree,
        entry,
        need,
        positive,
        primed,
        primed_rows,
        rational,
        total,
        unit,
    )
except ImportError:  # run as a script, with the other files in its folder
    sys.path.append(str(Path(__file__).parent))
    from program_t0 import (  # type: ignore[import-not-found,no-redef]
        CONSTANT,
        ONE,
        ZERO,
        Data,
        Form,
        Interval,
        ProgramProofError,
        Route,
        Row,
        Tree,
        entry,
        need,
        positive,
        primed,
        primed_rows,
        rational,
        total,
        unit,
    )

__all__ = ["DISTRIBUTION", "Checked", "check", "excluded", "joint", "main", "moves", "routes", "same_shown"]

MAX_PAIRS = 50_000

#: The noise that a proof of each quantity requires.
DISTRIBUTION = {"epsilon": "laplace", "rho": "gaussian", "mu": "gaussian"}


def routes(tree: Tree, distribution: str) -> list[Route]:
    """Return all paths of a tree without hidden draws, whose releases have this distribution."""
    found, pending = [], [Route(0, dict(tree.data.rows))]
    while pending:
        route = pending.pop()
        node = tree.node(route)
        if node[0] == "end":
            found.append(route)
        elif node[0] == "empty":
            tree.contradicts(node[1], route.rows, ())
        elif node[0] == "compare":
            pending.extend(reversed(tree.answers(route, node)))
        elif node[0] == "fork":
            need(isinstance(node[2], list) and node[2], "a public question must have answers.")
            need(isinstance(node[1], str), "a public question must be a text.")
            asked = [route.to(child, ("fork", node[1], i)) for i, child in enumerate(node[2])]
            pending.extend(reversed(asked))
        elif node[0] == "release":
            need(
                node[2] == distribution,
                f"all releases must have the distribution {distribution!r}, got {str(node[2])[:40]!r}.",
            )
            form, spread = tree.form(node[1], route), positive(node[3])
            event, released = ("release", spread), (*route.releases, (form, distribution, spread))
            pending.append(route.to(node[4], event, releases=released))
        else:
            need(node[0] in ("show", "form"), f"a node {str(node[0])[:40]!r} cannot follow releases.")
            pending.append(tree.straight(route, node))
            need(not any(form[0] for form in pending[-1].forms), "data are shown without noise.")
    need(len({route.node for route in found}) == len(found), "two paths join, so this is not a tree.")
    return found


def excluded(p: Route, q: Route) -> bool:
    """Return whether the paths answer one public question differently, which is impossible for equal
    outcomes.
    """
    answers = {event[1]: event[2] for event in p.events if event[0] == "fork"}
    return any(event[0] == "fork" and answers.get(event[1], event[2]) != event[2] for event in q.events)


def same_shown(p: Route, q: Route) -> bool:
    """Return whether both paths have the same output, apart from the outcomes of releases."""
    one, two = ([event for event in route.events if event[0] != "fork"] for route in (p, q))
    return one == two


def joint(data: Data, box: dict[str, Interval], p: Route, q: Route) -> dict[str, Row]:
    """Return the constraints of data x on path p, x + d on path q, and d in the box. Each form is at most
    0.
    """
    rows = {**data.rows, **{f"{name}'": row for name, row in primed_rows(data.rows, box).items()}}
    for name, (low, high) in box.items():
        rows[f"d{name}>"] = total([(-ONE, unit(f"d{name}")), (low, CONSTANT)]), False
        rows[f"d{name}<"] = total([(ONE, unit(f"d{name}")), (-high, CONSTANT)]), False
    rows |= {f"p{name}": row for name, row in p.kept.items()}
    return rows | {f"q{name}": row for name, row in primed_rows(q.kept, box).items()}


def moves(box: dict[str, Interval], p: Route, q: Route) -> Iterator[tuple[Form, Fraction]]:
    """Yield the change of each release from p at x to q at x + d, with its scale or variance."""
    for (here, _, spread), (there, _, _) in zip(p.releases, q.releases, strict=True):
        yield total([(ONE, primed(there, box)), (-ONE, here)]), spread


def distance(tree: Tree, written: Any, form: Form, rows: dict[str, Row]) -> Fraction:
    """Return a bound on the absolute value of ``form``: it is a constant plus a sum of rows, each at most
    0.
    """
    need(isinstance(written, list) and len(written) == 2, "a release needs multipliers for both signs.")
    ends = []
    for sign, weights in zip((ONE, -ONE), written, strict=True):
        terms, end = total([(sign, form), (-ONE, tree.combined(weights, rows))])
        need(not terms, "the multipliers of a release leave a symbol.")
        ends.append(Fraction(end))
    return max(*ends, Fraction(0))


@dataclass(frozen=True)
class Checked:
    """The result of a check: for all data and outcomes, the most expensive pair of paths has the ``cost``.

    The cost is an epsilon or a rho. ``quantity`` ("epsilon", "rho" or "mu") and ``claimed`` are the
    certificate's claim.
    """

    quantity: str
    cost: Fraction
    claimed: Fraction
    paths: int

    @property
    def epsilon(self) -> Fraction | None:
        return self.cost if self.quantity == "epsilon" else None

    @property
    def rho(self) -> Fraction | None:
        return None if self.quantity == "epsilon" else self.cost

    @property
    def mu_squared(self) -> Fraction | None:
        return None if self.rho is None else 2 * self.rho

    @property
    def holds(self) -> bool:
        return 2 * self.cost <= self.claimed**2 if self.quantity == "mu" else self.cost <= self.claimed


def check(certificate: Any) -> Checked:
    """Derive the bound from a certificate. Raise ``ProgramProofError`` if a step does not follow."""
    try:
        return _check(certificate)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ProgramProofError(f"the certificate is malformed: {type(error).__name__}.") from error


def _check(certificate: Any) -> Checked:
    need(certificate.get("proof") == "program, data branches", "the certificate is of another kind.")
    [(quantity, text)] = entry(certificate, "claim", dict).items()
    need(quantity in DISTRIBUTION, "the certificate must be asked for epsilon, rho or mu.")
    need((claimed := rational(text)) >= 0, "a claim must not be negative.")
    data = Data.read(entry(certificate, "data", dict), entry(certificate, "adjacency", dict))
    tree = Tree(entry(certificate, "tree", list), data)
    paths, written = routes(tree, DISTRIBUTION[quantity]), entry(certificate, "pairs", dict)
    need(len(data.boxes) * len(paths) ** 2 <= MAX_PAIRS, f"more than {MAX_PAIRS} pairs of paths.")
    worst = Fraction(0)
    for k, box in enumerate(data.boxes):
        for i, p in enumerate(paths):
            for j, q in enumerate(paths):
                if not excluded(p, q):
                    worst = max(worst, _cost(tree, quantity, written[f"{k}.{i}.{j}"], box, p, q))
    return Checked(quantity, worst, claimed, len(paths))


def _cost(tree: Tree, quantity: str, written: Any, box: dict[str, Interval], p: Route, q: Route) -> Fraction:
    """Return the cost of one pair of paths, which is 0 if no data follow both."""
    rows = joint(tree.data, box, p, q)
    if isinstance(written, dict):
        tree.contradicts(written, rows, ())
        return Fraction(0)
    need(same_shown(p, q), "two paths that neighbours may follow have different outputs.")
    need(isinstance(written, list) and len(written) == len(p.releases), "each release needs multipliers.")
    cost = ZERO
    for one, (form, spread) in zip(written, moves(box, p, q), strict=True):
        c = distance(tree, one, form, rows)
        cost += c / spread if quantity == "epsilon" else c**2 / (2 * spread)
    return Fraction(cost)


def main(arguments: list[str]) -> int:
    """Check a certificate, or all of this kind in a report (see ``claim_t0.run``)."""
    try:
        from dpaudit.kernel.claim_t0 import BRANCHING, run
    except ImportError:  # run as a script, with the other files in its folder
        sys.path.append(str(Path(__file__).parent))
        from claim_t0 import BRANCHING, run  # type: ignore[import-not-found,no-redef]

    def derived(found: Checked) -> str:
        return f"{'epsilon' if found.rho is None else 'rho'} {found.cost} from {found.paths} paths"

    return run(arguments, "program, data branches", check, derived, types=BRANCHING)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
