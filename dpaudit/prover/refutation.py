"""Refute claims by outcomes whose privacy loss exceeds them (section F under all conditions of G14).

**Rays.** Let an outcome come from the paths p = 1..k, and let d be a change of the data such that x0, x0 + d,
x0 + 2d, ... are all in the domain, each the neighbour of the next. On path p, let y >= 0 be multipliers of
its comparisons and z multipliers of its shown numbers, with abs(C'y + H'z) <= 1/b for every noise variable.
Then, on its region at x0 + L d, the sum of abs(n)/b is at least L v - const with v = (E'y + G'z) d (weak
duality). So P(outcome at x0 + L d) decays at least like e^(-L v) times a polynomial, if v is the least value
over ALL paths (G14 d). If this probability is positive at x0, then for every number below v, some step of
the ray has a larger privacy loss. A claim below v is therefore refuted. If every path has multipliers with
C'y + H'z = 0 and v > 0, the regions end and the loss of some step is infinite. For shown numbers, the same
holds for densities.

**Straight.** If an outcome comes from one path without comparisons, and its shown numbers determine the noise
in them, the loss is exact. It is attained far out, for bounded data too.

All multipliers are exact. ``Ray.loss`` verifies them independently of the search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from dpaudit.prover.data import Symbols
from dpaudit.prover.explore import Path
from dpaudit.prover.forms import ZERO, Form, symbol
from dpaudit.prover.linear import contradiction, matrix, rounded, solved_exactly

__all__ = ["SEEN", "Ray", "both_inside", "cancelling", "exact_shifts", "outcomes", "refuted"]

Change = dict[str, Fraction]

#: Events that belong to the output.
SEEN = ("show", "form", "release")
#: The largest coordinate of a point that is searched in a region.
FAR = 1e6
#: The largest number of characters of an outcome in a reason.
MAX_TEXT = 80


@dataclass(frozen=True)
class _Program:
    """A path in the form of the theorem: a release is a draw whose sum with the value is shown."""

    rows: tuple[Form, ...]
    shown: tuple[Form, ...]
    scales: dict[str, Fraction]

    @classmethod
    def of(cls, path: Path) -> _Program:
        scales = {draw.symbol: draw.scale for draw in path.draws}
        shown = path.shown_forms()
        for k, (form, _, scale) in enumerate(path.releases()):
            scales[f"m{k}"] = scale
            shown.append(form.plus(symbol(f"m{k}")))
        return cls(tuple(row.form for row in path.comparisons.values()), tuple(shown), scales)


@dataclass(frozen=True)
class Ray:
    """A refutation along a ray of data.

    ``paths`` are the outcome's paths. The first of them is possible at the data ``start`` with the noise
    ``point``. ``change`` is the step of the ray. ``multipliers`` has one pair (of comparisons, of shown
    numbers) for each path. ``infinite`` says whether the multipliers cancel all noise.
    """

    paths: tuple[Path, ...]
    start: Change
    point: Change
    change: Change
    multipliers: tuple[tuple[tuple[Fraction, ...], tuple[Fraction, ...]], ...]
    infinite: bool

    def loss(self, data: Symbols) -> Fraction | float:
        """Return the least loss that the multipliers alone prove for the ray, or 0 if they prove nothing."""
        if not _stays(self.start, self.change, data) or not _possible(self.paths[0], self.point, self.start):
            return 0.0
        values = []
        for path, (on_rows, on_shown) in zip(self.paths, self.multipliers, strict=True):
            value = _value(_Program.of(path), on_rows, on_shown, self.change, infinite=self.infinite)
            if value is None or any(event[0] == "fork" for event in path.events):  # G14 c
                return 0.0
            values.append(value)
        least = min(values)
        return math.inf if self.infinite and least > 0 else 0.0 if self.infinite else least

    def to_json(self) -> dict[str, Any]:
        """Return the witness as plain data with exact strings."""
        return {
            "kind": "ray",
            "outcome": [str(event[1:])[:80] for event in self.paths[0].events if event[0] in SEEN],
            "start": {name: str(value) for name, value in sorted(self.start.items())},
            "change": {name: str(value) for name, value in sorted(self.change.items())},
            "multipliers": [[[str(y) for y in part] for part in both] for both in self.multipliers],
        }


def outcomes(paths: Sequence[Path]) -> list[list[Path]]:
    """Group paths by outcome: the shown constants, and the places at which a number is shown or released.

    Leave out an outcome that another outcome could equal, because it has a constant number at the place of a
    noisy one.
    """
    groups: dict[tuple[Any, ...], list[Path]] = {}
    for path in paths:
        seen = tuple(_constant(event) for event in path.events if event[0] in SEEN)
        groups.setdefault(seen, []).append(path)
    return [group for seen, group in groups.items() if not any(_may_equal(seen, other) for other in groups)]


def _constant(event: Any) -> str | None:
    """Return a shown constant's key, or None if a number is shown (also one computed from outcomes)."""
    return event[1] if event[0] == "show" and not event[1].startswith("public:") else None


def _may_equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    if one == other or len(one) != len(other):
        return False
    pairs = zip(one, other, strict=True)
    return all(a == b or (None in (a, b) and _is_number(a) and _is_number(b)) for a, b in pairs)


def _is_number(seen: str | None) -> bool:
    """Return whether a noisy number may equal this: any number, but not a truth value or text."""
    return seen is None or seen.split(":")[0] in ("int", "float", "Fraction")


def refuted(
    group: Sequence[Path], changes: Sequence[Change], data: Symbols, above: Fraction
) -> tuple[dict[str, Any], Ray | None] | None:
    """Return a witness that the outcome of ``group`` has a privacy loss above ``above``, or None.

    The witness is plain data with a ``reason``. The second item is its ray, if it has one.
    """
    for change in changes:
        found = straight_loss(group, change, data)
        if found is not None and found[0] > above:
            start = {name: str(value) for name, value in found[1].items()}
            moved = {name: str(value) for name, value in change.items()}
            here, there = f"the data {data_text(found[1])}", f"the neighbour with {_change_text(change)}"
            reason = (
                f"the output distinguishes {here} from {there} with certainty."
                if found[0] == math.inf
                else f"the privacy loss of large shown numbers is {found[0]} between {here} and {there}."
            )
            witness = {"kind": "straight", "loss": str(found[0]), "start": start, "change": moved}
            return {**witness, "reason": reason}, None
    ray = rays(group, changes, data, above)
    if ray is None:
        return None
    written = ray.to_json()
    loss = ray.loss(data)
    limit = "infinity" if loss == math.inf else f"{loss} in the limit"
    reason = (
        f"the privacy loss of the output {_outcome_text(ray.paths[0])} reaches {limit}, starting at the data "
        f"{data_text(ray.start)}, with {_change_text(ray.change)} in every step."
    )
    return {**written, "loss": str(loss), "reason": reason}, ray


def data_text(data: Change) -> str:
    """Return the numbers of the data by name, as text."""
    return ", ".join(f"{name} = {value}" for name, value in sorted(data.items()))


def _change_text(change: Change) -> str:
    return " and ".join(f"{name} changed by {value}" for name, value in sorted(change.items()) if value)


def _outcome_text(path: Path) -> str:
    """Return the shown values in order, as text: constants as they are, and "a number" for noisy values."""
    constants = [_constant(event) for event in path.events if event[0] in SEEN]
    parts = ["a number" if key is None else key.partition(":")[2] or key for key in constants]
    text = ", ".join(part for part in parts if not part.startswith("list of"))
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} ..."


def rays(group: Sequence[Path], changes: Iterable[Change], data: Symbols, above: Fraction) -> Ray | None:
    """Return an exactly checked ray on which the loss of ``group``'s outcome exceeds ``above``, or None."""
    if any(event[0] == "fork" for path in group for event in path.events):
        return None
    programs = [_Program.of(path) for path in group]
    for change in changes:
        for infinite in (True, False):
            found = []
            for program in programs:
                best = _multipliers(program, change, infinite=infinite)
                if best is None or _value(program, *best, change, infinite=infinite) in (None, ZERO):
                    break
                found.append(best)
            if len(found) < len(group):
                continue
            for i in range(len(group)):
                order = [i, *(j for j in range(len(group)) if j != i)]
                place = _interior(group[i], change, data)
                if place is None:
                    continue
                paths, multipliers = tuple(group[j] for j in order), tuple(found[j] for j in order)
                ray = Ray(paths, place[1], place[0], change, multipliers, infinite)
                if ray.loss(data) > above:
                    return ray
                break
    return None


def _value(
    program: _Program,
    on_rows: Sequence[Fraction],
    on_shown: Sequence[Fraction],
    change: Change,
    *,
    infinite: bool,
) -> Fraction | None:
    """Return v of the module docstring, or None if the multipliers violate the theorem's conditions."""
    if (
        len(on_rows) != len(program.rows)
        or len(on_shown) != len(program.shown)
        or any(y < 0 for y in on_rows)
    ):
        return None
    total = Form({})
    for weight, form in zip((*on_rows, *on_shown), (*program.rows, *program.shown), strict=True):
        total = total.plus(form, weight)
    for name, scale in program.scales.items():
        size = abs(total.terms.get(name, ZERO))
        if size > (0 if infinite else 1 / scale):
            return None
    return total.change(change)


def _multipliers(
    program: _Program, change: Change, *, infinite: bool
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None:
    """Return the solver's best multipliers, made exact: rounded, and scaled down until they are allowed."""
    forms = [*program.rows, *program.shown]
    if not forms:
        return None
    rows, names = len(program.rows), list(program.scales)
    gains = np.array([float(form.change(change)) for form in forms])
    if infinite:
        return _cancelling(program, change)
    only = [Form({name: form.terms.get(name, ZERO) for name in names}) for form in forms]
    table = matrix(only, names)[:, :-1].T
    limits = np.array([float(1 / scale) for scale in program.scales.values()])
    bounds = [(0, None)] * rows + [(None, None)] * len(program.shown)
    found = linprog(
        -gains,
        A_ub=np.vstack([table, -table]) if names else None,
        b_ub=np.concatenate([limits, limits]) if names else None,
        bounds=bounds,
        method="highs",
    )
    if found.x is None:
        return None
    exact = [rounded(v) for v in np.asarray(found.x)]
    exact = [max(v, ZERO) if i < rows else v for i, v in enumerate(exact)]
    total = Form({})
    for weight, form in zip(exact, only, strict=True):
        total = total.plus(form, weight)
    excess = max((abs(total.terms.get(n, ZERO)) * scale for n, scale in program.scales.items()), default=ZERO)
    if excess > 1:
        exact = [v / excess for v in exact]
    return tuple(exact[:rows]), tuple(exact[rows:])


def _cancelling(
    program: _Program, change: Change
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None:
    """Return multipliers that cancel all noise and leave a positive gain, by a contradiction, or None."""
    noise = set(program.scales)
    forms: dict[str, Form] = {}
    for i, form in enumerate(program.rows):
        forms[f"{i}"] = Form({n: v for n, v in form.terms.items() if n in noise}, form.change(change))
    for i, form in enumerate(program.shown):
        moved = Form({n: v for n, v in form.terms.items() if n in noise}, form.change(change))
        forms[f"+{i}"], forms[f"-{i}"] = moved, moved.times(Fraction(-1))
    weights = contradiction(forms, set())
    if weights is None:
        return None
    on_shown = [weights.get(f"+{i}", ZERO) - weights.get(f"-{i}", ZERO) for i in range(len(program.shown))]
    return tuple(weights.get(str(i), ZERO) for i in range(len(program.rows))), tuple(on_shown)


def _stays(start: Mapping[str, Fraction], change: Change, data: Symbols) -> bool:
    """Return whether the whole ray is in the domain (G14 a: never true if bounded records change)."""
    for name in data.names:
        at, step = start.get(name, ZERO), change.get(name, ZERO)
        if data.low is not None and (at < data.low or step < 0):
            return False
        if data.high is not None and (at > data.high or step > 0):
            return False
        if data.integers and (at.denominator != 1 or step.denominator != 1):
            return False
    return True


def _possible(path: Path, point: Change, start: Change) -> bool:
    """Return whether the path has positive probability at ``start``.

    ``point`` must be strictly inside all constraints on noise with a density, so that a neighbourhood of it
    is inside too.
    """
    both = {**point, **start}
    continuous = {draw.symbol for draw in path.draws if draw.continuous}
    for name, row in path.rows.items():
        value = row.form.constant + row.form.change(both)
        blurred = not continuous.isdisjoint(row.form.terms)
        if name.startswith("n") and not blurred:
            continue
        if value > 0 or (value == 0 and (row.strict or blurred)):
            return False
    discrete = [draw.symbol for draw in path.draws if not draw.continuous]
    return all(point.get(name, ZERO).denominator == 1 for name in discrete)


def _interior(path: Path, change: Change, data: Symbols) -> tuple[Change, Change] | None:
    """Return exact noise and data inside the path's region, or None if none are found."""
    rows = list(path.rows.values())
    names = sorted({s for row in rows for s in row.form.terms})
    if not names:
        return {}, {}
    table = matrix([row.form for row in rows], names)
    room = np.abs(table[:, :-1]).sum(axis=1)
    noisy = np.array([any(s.startswith("n") for s in row.form.terms) or row.strict for row in rows])
    upper = np.hstack([table[:, :-1], -table[:, :-1], (room * noisy)[:, None]])
    # Maximise the room first, up to 1. Then prefer little noise, which is likely, and small data.
    cost = [1.0 if name.startswith("n") else 0.1 for name in names]
    goal = np.array([*cost, *cost, -1000.0])
    bounds = [(0.0, FAR)] * (2 * len(names)) + [(0.0, 1.0)]
    found = linprog(goal, A_ub=upper, b_ub=-table[:, -1], bounds=bounds, method="highs")
    if found.x is None:
        return None
    at = np.asarray(found.x)[: len(names)] - np.asarray(found.x)[len(names) : 2 * len(names)]
    whole = path.integers
    values = {
        name: Fraction(round(v)) if name in whole else rounded(round(float(v), 6))
        for name, v in zip(names, at, strict=True)
    }
    point = {name: value for name, value in values.items() if name.startswith("n")}
    start = {name: value for name, value in values.items() if name.startswith("x")}
    good = _possible(path, point, start) and _stays(start, change, data)
    return (point, start) if good else None


def straight_loss(
    group: Sequence[Path], change: Change, data: Symbols
) -> tuple[Fraction | float, Change] | None:
    """Return the exact loss of a straight outcome and data x such that x + change is in the domain too.

    The outcome must come from one path without comparisons whose shown numbers determine all noise in them.
    Return None for any other outcome. The noise that shows the same at x + change moves by the unique
    solution s of H s = -G d. The loss is the sum of abs(s)/b if all noise is far out on the side of its s,
    and infinite if there is no solution.
    """
    path = group[0]
    if len(group) > 1 or path.comparisons or any(event[0] == "fork" for event in path.events):
        return None
    program = _Program.of(path)
    names = [name for name in program.scales if any(name in form.terms for form in program.shown)]
    one_sided = {draw.symbol for draw in path.draws if draw.distribution == "exponential"}
    lines = [[form.terms.get(name, ZERO) for name in names] for form in program.shown]
    right = [-form.change(change) for form in program.shown]
    start = both_inside(change, data)
    if start is None or not one_sided.isdisjoint(names):
        return None
    first = solved_exactly(lines, right, [0.0] * len(names))
    if first is None:
        return math.inf, start
    if first != solved_exactly(lines, right, [float(i + 1) for i in range(len(names))]):
        return None  # some noise is not determined, so the loss is that of a convolution
    return sum((abs(s) / program.scales[n] for n, s in zip(names, first, strict=True)), ZERO), start


def exact_shifts(path: Path, change: Change) -> Change | None:
    """Return the shifts of the noise of a path without comparisons that keep the shown numbers, or None."""
    program = _Program.of(path)
    names = [name for name in program.scales if any(name in form.terms for form in program.shown)]
    lines = [[form.terms.get(name, ZERO) for name in names] for form in program.shown]
    found = solved_exactly(lines, [-form.change(change) for form in program.shown], [0.0] * len(names))
    return None if found is None else dict(zip(names, found, strict=True))


def cancelling(path: Path, change: Change) -> tuple[Fraction, ...] | None:
    """Return multipliers of the shown numbers of a path without comparisons, or None.

    Their sum of the shown numbers contains no noise and changes with the data.
    """
    found = _cancelling(_Program.of(path), change)
    return None if found is None else found[1]


def both_inside(change: Change, data: Symbols) -> Change | None:
    """Return data that are in the domain with their neighbour, or None if there are none."""
    start = {}
    for name in data.names:
        step = change.get(name, ZERO)
        if data.low is not None:
            at = data.low - min(step, ZERO)
        elif data.high is not None:
            at = data.high - max(step, ZERO)
        else:
            at = ZERO
        if data.high is not None and max(at, at + step) > data.high:
            return None
        start[name] = at
    return start
