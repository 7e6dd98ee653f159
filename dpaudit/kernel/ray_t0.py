"""Tier 0 for refutations of programs: checks an unbounded-loss certificate, by rational arithmetic alone.

    python ray_t0.py certificate.json        (with program_t0.py, claim_t0.py and kernel_t0.py in its folder)

The certificate holds the decision tree of a program, in the format of ``program_t0``, data x0 and a change d,
and for each path of one outcome multipliers y >= 0 of its comparisons and z of its shown numbers. If no
hidden noise of scale b has a coefficient above 1/b in y C + z H, then P(outcome at x0 + L d) falls at least
like e^(-L v) times a polynomial in L, where v is the least (y E + z G) d over ALL paths of the outcome (for
densities, if numbers are shown). The outcome is possible at x0, so that the loss of some step along the ray
exceeds every number below v. If all noise cancels and v > 0, the outcome becomes impossible, and the loss is
infinite.

This file finds the outcome's paths itself, and refuses an outcome that could be confused with another one.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

try:
    from dpaudit.kernel.program_t0 import (
        CONTINUOUS,
        ZERO,
        Data,
        Form,
        ProgramProofError,
        Route,
        Tree,
        change,
        entry,
        make,
        need,
        positive,
        rational,
        total,
        unit,
    )
except ImportError:  # run as a script, with the other files in its folder
    sys.path.append(str(Path(__file__).parent))
    from program_t0 import (  # type: ignore[import-not-found,no-redef]
        CONTINUOUS,
        ZERO,
        Data,
        Form,
        ProgramProofError,
        Route,
        Tree,
        change,
        entry,
        make,
        need,
        positive,
        rational,
        total,
        unit,
    )

__all__ = ["check", "main"]

Change = dict[str, Fraction]
Output = tuple[str | None, ...]


def output_of(route: Route) -> Output:
    """Return the output of a path: its constants, and ``None`` for each number."""
    shown = [event for event in route.events if event[0] in ("show", "form", "release")]
    return tuple(e[1] if e[0] == "show" and not e[1].startswith("public:") else None for e in shown)


def alike(one: Output, other: Output) -> bool:
    """Return whether two outputs could be equal. An unknown number may equal any constant number."""

    def number(item: str | None) -> bool:
        return item is None or item.split(":")[0] in ("int", "float", "Fraction")

    same = (a == b or (None in (a, b) and number(a) and number(b)) for a, b in zip(one, other, strict=False))
    return len(one) == len(other) and all(same)


def numbers(written: Any, known: Any) -> Change:
    need(isinstance(written, dict) and written.keys() <= set(known), "a number has an unknown name.")
    return {name: rational(value) for name, value in written.items()}


def neighbouring(data: Data, start: Change, moved: Change) -> None:
    """Require that d leads to a neighbour, and that x0, x0 + d, x0 + 2d, ... are all in the domain (G14 a,
    b).
    """
    inside = any(
        all(
            box.get(n, (ZERO, ZERO))[0] <= moved.get(n, ZERO) <= box.get(n, (ZERO, ZERO))[1]
            for n in data.names
        )
        for box in data.boxes
    )
    need(inside, "the change does not lead to a neighbour.")
    for form, _ in data.rows.values():
        need(form[1] + change(form, start) <= 0 and change(form, moved) <= 0, "the ray leaves the domain.")
    whole = all(number.denominator == 1 for number in (*start.values(), *moved.values()))
    need(whole or not data.integers, "integers must stay integers.")


def possible(route: Route, start: Change, point: Change) -> None:
    """Require positive probability at x0: ``point`` is inside, strictly for rows with continuous noise."""
    distributions = {f"n{i}": distribution for i, (distribution, _) in enumerate(route.draws)}
    blurring = {name for name, distribution in distributions.items() if distribution in CONTINUOUS}
    for form, strict in route.rows.values():
        value = form[1] + change(form, {**start, **point})
        need(
            value < 0 or (value == 0 and not strict and not blurring & {n for n, _ in form[0]}),
            "the point must be inside the path's region.",
        )
    need(
        all(distributions[n] in CONTINUOUS or point[n].denominator == 1 for n in point),
        "discrete noise must be an integer.",
    )
    need(
        all(distributions[n] in CONTINUOUS or n in point for n in distributions),
        "each discrete draw needs a value.",
    )


def rate(route: Route, multipliers: Any, moved: Change, *, infinite: bool) -> Fraction:
    """Return v of one path, if its multipliers satisfy the conditions of the argument."""
    need(route.forks == 0, "a public question is on the path (G14 c).")
    scales = {f"n{i}": scale for i, (_, scale) in enumerate(route.draws)}
    shown: list[Form] = list(route.forms)
    for k, (form, _, scale) in enumerate(route.releases):
        scales[f"m{k}"] = scale
        shown.append(total([(Fraction(1), form), (Fraction(1), unit(f"m{k}"))]))
    on_rows, on_shown = ([rational(y) for y in part] for part in multipliers)
    kept = [form for form, _ in route.kept.values()]
    need(
        len(on_rows) == len(kept) and len(on_shown) == len(shown), "a path has another number of multipliers."
    )
    need(all(y >= 0 for y in on_rows), "a multiplier of a comparison is negative.")
    terms, _ = total(zip((*on_rows, *on_shown), (*kept, *shown), strict=True))
    left = dict(terms)
    for name, scale in scales.items():
        need(
            abs(left.get(name, ZERO)) * scale <= (0 if infinite else 1),
            "the multipliers leave too much noise.",
        )
    return change(make(left, ZERO), moved)


def check(certificate: Any) -> Fraction | float:
    """Return the loss that the ray forces. Raise ``ProgramProofError`` if a step does not follow."""
    try:
        return _check(certificate)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ProgramProofError(f"the certificate is malformed: {type(error).__name__}.") from error


def _check(certificate: Any) -> Fraction | float:
    need(certificate.get("proof") == "program, ray", "the certificate is of another kind.")
    data = Data.read(entry(certificate, "data", dict), entry(certificate, "adjacency", dict))
    paths = Tree(entry(certificate, "tree", list), data).paths()
    ray = entry(certificate, "ray", dict)
    members, infinite = entry(ray, "paths", list), entry(ray, "infinite", bool)
    need(
        members and all(type(i) is int and 0 <= i < len(paths) for i in members),
        "a path must be named by its number.",
    )
    outcome = output_of(paths[members[0]])
    need(len(set(members)) == len(members), "a path is listed twice.")
    for i, route in enumerate(paths):
        same = output_of(route) == outcome
        need(same or not alike(output_of(route), outcome), "another outcome could be confused with this one.")
        need(same == (i in members), "all paths of the outcome must be listed, and no others (G14 d).")
    start, moved = (numbers(entry(ray, key, dict), data.names) for key in ("start", "change"))
    first = paths[members[0]]
    neighbouring(data, {name: start.get(name, ZERO) for name in data.names}, moved)
    possible(first, start, numbers(entry(ray, "point", dict), [f"n{i}" for i in range(len(first.draws))]))
    pairs = zip(members, entry(ray, "multipliers", list), strict=True)
    least = min(rate(paths[i], multipliers, moved, infinite=infinite) for i, multipliers in pairs)
    return math.inf if infinite and least > 0 else Fraction(0) if infinite else least


def main(arguments: list[str]) -> int:
    """Check a certificate (see ``claim_t0.run``). Return 0 if it refutes its claim."""
    try:
        from dpaudit.kernel.claim_t0 import run
    except ImportError:  # run as a script, with the other files in its folder
        sys.path.append(str(Path(__file__).parent))
        from claim_t0 import run  # type: ignore[import-not-found,no-redef]
    return run(
        arguments, "program, ray", _checked, lambda found: f"the loss reaches {found.loss}", does="refute"
    )


@dataclass(frozen=True)
class _Refuted:
    loss: Fraction | float
    claimed: Fraction

    @property
    def holds(self) -> bool:
        return self.loss > self.claimed


def _checked(certificate: Any) -> _Refuted:
    return _Refuted(check(certificate), positive(entry(certificate["claim"], "epsilon", str)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
