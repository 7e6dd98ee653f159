"""Witness of a program: an outcome of its tree of decisions whose loss exceeds the claim on some data.

Kind ``ray`` (an unbounded-loss certificate): data x0, x0 + d, x0 + 2d, ..., all in the domain, each the
neighbour of the next. On every path of the outcome, multipliers y >= 0 of its comparisons and z of its shown
numbers leave at most 1/scale of each noise, and increase by v when the data change by d. So the outcome's
probability (or density) at x0 + L d is at most e^(-L v) times a polynomial in L, with v the least increase
over ALL its paths. It is positive at x0, where a point lies inside the first path's region. Then some step
along the ray has a loss above any number below v. If the multipliers leave no noise at all, the regions end,
and some step has an infinite loss.

Kind ``straight``: the outcome has one path without comparisons, whose shown numbers determine all noise in
them. Data x0 and x0 + d give the same output if the noise changes by the unique solution s. If all noise is
far out on the side of its s, the loss is the sum of abs(s) / scale.

Kind ``shown``: the same, but multipliers of the shown numbers leave no noise and a difference, which is
therefore visible without noise.

As with a proof, the file cannot show that the tree is the program's. ``dpaudit verify --suite`` explores the
program again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpaudit.kernel import program_t0
from dpaudit.kernel.claim_t0 import require_claim
from dpaudit.kernel.kernel_t0 import CertificateError
from dpaudit.kernel.program_t0 import CONTINUOUS, ZERO, Form, Route, change, make, rational, total

__all__ = ["program_event_bound"]

#: Factor from the supremum of the losses along a ray to a loss that one of its steps attains.
BELOW = 1 - Fraction(1, 2**40)

FIELDS = {
    *("view", "data", "adjacency", "tree", "kind", "paths"),
    *("start", "change", "point", "weights", "infinite"),
}

Numbers = dict[str, Fraction]


def program_event_bound(body: Mapping[str, Any], claim: Any) -> Fraction | None:
    """Return a lower bound on epsilon, ``None`` for an infinite one.

    Raise ``CertificateError`` for a body that is not one of the events above, and for a claim that is not
    about the witness's data and neighbours.
    """
    try:
        _need(body.keys() == FIELDS, "does not have the fields of a witness of a program")
        require_claim(claim, body["data"], body["adjacency"], whole=True)
        data = program_t0.Data.read(body["data"], body["adjacency"])
        routes = program_t0.Tree(body["tree"], data).paths()
        group = [routes[i] for i in _indices(body["paths"], len(routes))]
        _require_outcome(group, routes)
        start, moved, point = (_numbers(body[name]) for name in ("start", "change", "point"))
        _require_neighbours(data, start, moved)
        if body["kind"] == "straight":
            return _straight(group, moved, _numbers(body["weights"]))
        if body["kind"] == "shown":
            _shown(group, moved, body["weights"])
            return None
        _need(body["kind"] == "ray", "has an unknown kind")
        noise = {f"n{i}" for i in range(len(group[0].draws))}
        _need(point.keys() <= noise, "has a value at the start for something other than noise")
        return _ray(data, group, start, moved, point, body["weights"], body["infinite"])
    except program_t0.ProgramProofError as error:
        raise CertificateError(f"the witness of the program does not hold: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CertificateError(f"the witness of the program is malformed: {type(error).__name__}.") from error


def _need(holds: Any, what: str) -> None:
    program_t0.need(holds, f"it {what}.")


def _numbers(written: Any) -> Numbers:
    _need(isinstance(written, dict), "has something other than a table of numbers")
    return {name: rational(value) for name, value in written.items()}


def _indices(written: Any, count: int) -> list[int]:
    _need(isinstance(written, list) and written, "names no path")
    _need(all(type(i) is int and 0 <= i < count for i in written), "names an unknown path")
    _need(len(set(written)) == len(written), "names a path twice")
    return list(written)


def _output(route: Route) -> tuple[str | None, ...]:
    """Return the output of a path: the text of each constant, ``None`` for each number."""
    events = [event for event in route.events if event[0] in ("show", "form", "release")]
    return tuple(
        event[1] if event[0] == "show" and not event[1].startswith("public:") else None for event in events
    )


def _require_outcome(group: Sequence[Route], routes: Sequence[Route]) -> None:
    """Require all paths of one outcome that differs from all others, and no public question on them."""
    output = _output(group[0])
    _need(all(_output(route) == output for route in group), "joins paths of two outcomes")
    _need(sum(_output(route) == output for route in routes) == len(group), "leaves out a path of the outcome")
    _need(not any(route.forks for route in group), "has a public question on its path")
    for route in routes:
        other = _output(route)
        alike = len(other) == len(output) and all(
            a == b or (None in (a, b) and _number(a) and _number(b))
            for a, b in zip(output, other, strict=True)
        )
        _need(other == output or not alike, "has an outcome that could be confused with another one")


def _number(text: str | None) -> bool:
    return text is None or text.split(":")[0] in ("int", "float", "Fraction")


def _require_neighbours(data: program_t0.Data, start: Numbers, moved: Numbers) -> None:
    _need({*start, *moved} <= set(data.names), "names unknown data")
    boxes = [
        all(name in box and box[name][0] <= step <= box[name][1] for name, step in moved.items() if step)
        for box in data.boxes
    ]
    _need(any(boxes), "has a change that does not lead to a neighbour")
    whole = all(number.denominator == 1 for number in (*start.values(), *moved.values()))
    _need(whole or not data.integers, "has data that are not integers")
    after = {name: start.get(name, ZERO) + moved.get(name, ZERO) for name in data.names}
    for at in (start, after):
        _need(all(_value(form, at) <= 0 for form, _ in data.rows.values()), "has data outside the domain")


def _value(form: Form, at: Numbers) -> Fraction:
    return form[1] + change(form, at)


def _noise(route: Route) -> tuple[Numbers, list[Form]]:
    """Return the scales of all noise by symbol, and all shown forms.

    A release counts as a draw ``m0``, ``m1``, ... that is shown.
    """
    scales = {f"n{i}": scale for i, (_, scale) in enumerate(route.draws)}
    forms = list(route.forms)
    for k, (form, _, scale) in enumerate(route.releases):
        scales[f"m{k}"] = scale
        forms.append(total([(Fraction(1), form), (Fraction(1), make({f"m{k}": Fraction(1)}, ZERO))]))
    return scales, forms


def _ray(
    data: program_t0.Data,
    group: Sequence[Route],
    start: Numbers,
    moved: Numbers,
    point: Numbers,
    weights: Any,
    infinite: Any,
) -> Fraction | None:
    _need(type(infinite) is bool, "has a field infinite that is not a boolean")
    _need(all(change(form, moved) <= 0 for form, _ in data.rows.values()), "has a ray that leaves the domain")
    _need(_possible(group[0], {**point, **start}), "has an outcome that may be impossible at the start")
    _need(isinstance(weights, list) and len(weights) == len(group), "has no multipliers for some path")
    each = zip(group, weights, strict=True)
    least = min(_increase(route, moved, *one, infinite=infinite) for route, one in each)
    _need(least > 0, "has no increase on some path")
    return None if infinite else least * BELOW


def _possible(route: Route, at: Numbers) -> bool:
    """Return whether a path has positive probability.

    The point must be strictly inside every comparison with continuous noise.
    """
    blurring = {f"n{i}" for i, (distribution, _) in enumerate(route.draws) if distribution in CONTINUOUS}
    for form, strict in route.rows.values():
        value = _value(form, at)
        if value > 0 or (value == 0 and (strict or blurring & {name for name, _ in form[0]})):
            return False
    discrete = [f"n{i}" for i, (distribution, _) in enumerate(route.draws) if distribution not in CONTINUOUS]
    return all(at.get(name, ZERO).denominator == 1 for name in discrete)


def _increase(route: Route, moved: Numbers, on_rows: Any, on_shown: Any, *, infinite: bool) -> Fraction:
    """Return v of one path from its multipliers: of rows by name, of shown numbers in order."""
    scales, forms = _noise(route)
    rows = _numbers(on_rows)
    _need(rows.keys() <= route.kept.keys(), "has a multiplier of an unknown comparison")
    _need(all(weight >= 0 for weight in rows.values()), "has a negative multiplier")
    _need(isinstance(on_shown, list) and len(on_shown) == len(forms), "has too few multipliers")
    parts = [(weight, route.kept[name][0]) for name, weight in rows.items()]
    whole = total([*parts, *zip(map(rational, on_shown), forms, strict=True)])
    left = dict(whole[0])
    for name, scale in scales.items():
        most = ZERO if infinite else 1 / scale
        _need(abs(left.get(name, ZERO)) <= most, "leaves more noise than its scale allows")
    return change(whole, moved)


def _straight(group: Sequence[Route], moved: Numbers, shifts: Numbers) -> Fraction:
    route = group[0]
    _need(len(group) == 1 and not route.kept, "has more than one path, or a comparison")
    scales, forms = _noise(route)
    used = [name for name in scales if any(name in dict(form[0]) for form in forms)]
    _need(shifts.keys() <= set(used), "changes noise that is not shown")
    distributions = {f"n{i}": distribution for i, (distribution, _) in enumerate(route.draws)}
    _need(all(distributions.get(name) != "exponential" for name in used), "has one-sided noise")
    _need(all(change(form, {**moved, **shifts}) == 0 for form in forms), "shows different numbers")
    lines = [[dict(form[0]).get(name, ZERO) for name in used] for form in forms]
    _need(_rank(lines) == len(used), "hides noise")
    return sum((abs(shift) / scales[name] for name, shift in shifts.items()), ZERO)


def _shown(group: Sequence[Route], moved: Numbers, weights: Any) -> None:
    _need(len(group) == 1 and not group[0].kept, "has more than one path, or a comparison")
    _need(_increase(group[0], moved, {}, weights, infinite=True) != 0, "shows no difference")


def _rank(lines: list[list[Fraction]]) -> int:
    rank, left = 0, [line for line in lines if any(line)]
    while left:
        pivot = left.pop()
        at = next(i for i, value in enumerate(pivot) if value)
        reduced = [[b - line[at] / pivot[at] * a for a, b in zip(pivot, line, strict=True)] for line in left]
        left = [line for line in reduced if any(line)]
        rank += 1
    return rank
