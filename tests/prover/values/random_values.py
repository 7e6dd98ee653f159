"""Random programs over the steps of private values, on random neighbouring data.

Every step of ``dpaudit.kernel.values`` is derived by its rule and computed by numpy on pairs of
neighbouring datasets. ``Fuzz.program`` raises ``WrongRuleError`` if a bound, shape, type, guard or fact of a
rule does not hold on the data, or if random releases cost more on a pair than ``most_expensive`` derives.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import Bound, Poly
from dpaudit.kernel.values.releases import Drawn, cost_of, most_expensive, scale_of
from dpaudit.kernel.values.steps import RULES, derive

__all__ = ["PAIRS", "Fuzz", "Pair", "Value", "WrongRuleError"]

PAIRS = 40
TOLERANCE = 1e-7
#: Larger values are excluded, because rounding would look like a wrong rule.
LARGEST = 1e6
KINDS = {"b": np.dtype(bool), "i": np.dtype(np.int64), "f": np.dtype(np.float64)}


class WrongRuleError(Exception):
    """A rule states a bound that real data violate."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring datasets.

    They have ``sizes``, the positions of the changed records (under add-remove, of the records added in the
    second dataset), and the outcomes, which are equal on both sides.
    """

    number: int
    sizes: tuple[int, int]
    changed: tuple[int, ...]
    outcomes: tuple[Fraction, ...]

    def value(self, expression: Any) -> Fraction:
        """Return the value of a public expression."""
        kind, *parts = expression
        if kind == "number":
            return Fraction(parts[0])
        if kind == "size":
            return Fraction(self.sizes[0])
        if kind == "outcome":
            return self.outcomes[parts[0]]
        a, *rest = (self.value(part) for part in parts)
        if kind == "neg":
            return -a
        if kind == "clip":
            return min(max(a, rest[0]), rest[1])
        [b] = rest
        return {
            "add": lambda: a + b,
            "sub": lambda: a - b,
            "mul": lambda: a * b,
            "div": lambda: a / b,
            "floordiv": lambda: Fraction(a // b),
            "maximum": lambda: max(a, b),
        }[kind]()

    def at(self, bound: Poly, side: int) -> float:
        """Return the value of a polynomial in N and in public expressions."""
        if bound.number is not None:
            return float(bound.number)
        known = {
            name: Fraction(self.sizes[side]) if name == "N" else self.value(json.loads(name.lstrip("?")))
            for name in bound.symbols
        }
        return float(bound.at(known))

    def shape(self, shape: Sequence[Any], side: int) -> tuple[int, ...]:
        return tuple(n if isinstance(n, int) else int(self.at(n, side)) for n in shape)

    def place(self, n: int) -> int:
        """Return a public position among n."""
        return int(abs(self.outcomes[0]) * 8) % n


@dataclass(frozen=True)
class Value:
    """One step: its number, its derived bounds, and its value on both sides of each pair."""

    node: int
    info: Info
    samples: list[tuple[Any, Any]]


# Reference values computed by numpy or Python.


def python_number(*values: Any) -> bool:
    return all(type(value) in (bool, int, float) for value in values)


def _scalar(array: Any) -> Any:
    found = np.asarray(array)
    return found if found.shape else found[()]


def _either(function: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p, pair, side, *values: (own if python_number(*values) else function)(*values)


def _always(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p, pair, side, *values: function(*values)


def _typed(value: Any, p: dict[str, Any]) -> Any:
    if p["python"]:
        return {"b": bool, "i": int, "f": float}[p["kind"]](value)
    return _scalar(np.asarray(value).astype(KINDS[p["kind"]]))


def _rounding(function: Callable[[Any], Any]) -> Callable[..., Any]:
    # Rounding to 9 digits first restores the real number if a float missed it.
    return lambda p, pair, side, a: _typed(function(np.round(np.asarray(a, dtype=float), 9)), p)


def _extreme(name: str) -> Callable[..., Any]:
    def own(a: Any, b: Any) -> Any:
        found = {"minimum": min, "maximum": max}[name](a, b)
        return float(found) if float in (type(a), type(b)) else found

    return _either(getattr(np, name), own)


def _row_function(p: Any, pair: Pair, side: int, a: Any) -> Any:
    weights = np.random.default_rng(p["seed"])
    rows = a.reshape(a.shape[0], math.prod(a.shape[1:])).astype(float)
    inner = math.prod(p["shape"])
    return np.cos(rows @ weights.normal(size=(rows.shape[1], inner)) * 3).reshape(a.shape[0], *p["shape"]) * 2


def _hidden_draw(p: Any, pair: Pair, side: int, a: Any) -> Any:
    """Return a draw for one value of its uniform number, the same for all entries."""
    low, high, u = int(p["low"]), int(p["high"]), (p["number"] * 0.618) % 1
    share = (np.sin(np.asarray(a, dtype=float) * 5) + 1) / 2
    return _scalar(np.floor(low + (high - low + 1) * ((share + u) % 1)).astype(np.int64))


def _sample(p: Any, pair: Pair, side: int) -> Any:
    """Return the Booleans of a sample, the same on both sides."""
    size = pair.sizes[side]
    order = np.random.default_rng(p["number"]).permutation(size)
    return np.isin(np.arange(size), order[: p["count"]])


def _bins(p: Any, pair: Pair, side: int, a: Any) -> Any:
    edges = [float(Fraction(text)) for text in p["edges"]]
    flat = np.asarray(a).ravel()
    found = [np.histogram([one], bins=edges)[0] for one in flat]
    return np.array(found, dtype=np.int64).reshape(*np.shape(a), len(edges) - 1)


def _pick(p: Any, pair: Pair, side: int, a: Any) -> Any:
    lead = np.shape(a)[: p["lead"]]
    found = np.reshape(a, (*lead, math.prod(np.shape(a)[p["lead"] :])))[..., list(p["places"])]
    return _scalar(found.reshape((*lead, *p["shape"])))


def _order(p: Any, pair: Pair, side: int, a: Any) -> Any:
    if p["what"] == "median":
        return np.median(a)
    if p["what"] == "quantile":
        return np.quantile(a, float(Fraction(p["q"])))
    return np.sort(a)[pair.place(len(a))] if p["sorted"] else a[pair.place(len(a))]


def _matrix(p: Any, pair: Pair, side: int, m: Any, v: Any) -> Any:
    found = np.einsum("ij,j->i", m, v) if p["over"] else np.einsum("ij,...j->...i", m, v)
    return _scalar(found[..., 0]) if p["vector"] else found


def _outer(p: Any, pair: Pair, side: int, a: Any, b: Any) -> Any:
    if p.get("records") == 0:
        return np.outer(a, b)
    found = [np.multiply.outer(u, v) for u, v in zip(a, b, strict=True)]
    return np.array(found, dtype=float).reshape(len(a), *a.shape[1:], *b.shape[1:])


def _stack(p: Any, pair: Pair, side: int, *parts: Any) -> Any:
    return np.array([np.asarray(part) for part in parts]).astype(KINDS[p["kind"]])


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p, pair, side, a: function(a, axis=tuple(p["axes"]))


def _norm(p: Any, pair: Pair, side: int, a: Any) -> Any:
    size = np.abs(np.asarray(a, dtype=float))
    keep = {"axis": -1, "keepdims": p["keep"]}
    if p["p"] == "1":
        return size.sum(**keep)
    return np.sqrt((size**2).sum(**keep)) if p["p"] == "2" else size.max(**keep)


def _where(q: Any, a: Any, b: Any, *, python: bool) -> Any:
    found = _scalar(np.where(q, a, b))
    plain = not any(isinstance(one, np.ndarray | np.generic) for one in (a, b))
    return found.item() if python and plain and np.ndim(found) == 0 else found


COMPUTED: dict[str, Callable[..., Any]] = {
    "add": _always(lambda a, b: a + b),
    "sub": _always(lambda a, b: a - b),
    "mul": _always(lambda a, b: a * b),
    "div": _always(lambda a, b: a / b),
    "mod": _always(lambda a, b: a % b),
    "neg": _always(lambda a: -a),
    "square": _always(lambda a: a * a),
    "abs": _always(abs),
    "sign": _always(np.sign),
    **{
        name: _either(getattr(np, name), getattr(math, name))
        for name in ("exp", "log", "sqrt", "tanh", "sin", "cos")
    },
    "arctan": _either(np.arctan, math.atan),
    "minimum": _extreme("minimum"),
    "maximum": _extreme("maximum"),
    "where": lambda p, pair, side, q, a, b: _where(q, a, b, python=p.get("python", False)),
    "and": _either(np.logical_and, lambda a, b: a and b),
    "or": _either(np.logical_or, lambda a, b: a or b),
    "not": _either(np.logical_not, lambda a: not a),
    "lt": _always(lambda a, b: a < b),
    "le": _always(lambda a, b: a <= b),
    "gt": _always(lambda a, b: a > b),
    "ge": _always(lambda a, b: a >= b),
    "eq": _always(lambda a, b: a == b),
    "ne": _always(lambda a, b: a != b),
    "cast": lambda p, pair, side, a: _typed(a, p),
    "floor": _rounding(np.floor),
    "trunc": _rounding(np.trunc),
    "rint": _rounding(np.rint),
    "ones": _always(lambda a: np.ones(len(a), dtype=np.int64)),
    "row_function": _row_function,
    "hidden_draw": _hidden_draw,
    "sample": _sample,
    "sum": _over(np.sum),
    "max": _over(np.max),
    "min": _over(np.min),
    "any": _over(np.any),
    "all": _over(np.all),
    "norm": _norm,
    "reshape": lambda p, pair, side, a: _scalar(np.reshape(a, pair.shape(p["shape"], side))),
    "rows": _always(lambda a: a),  # replaced below: needs its parameters
    "pick": _pick,
    "stack": _stack,
    "columns": _always(lambda *parts: np.concatenate(parts, axis=-1)),
    "matrix": _matrix,
    "outer": _outer,
    "one_hot": lambda p, pair, side, a: np.eye(p["k"], dtype=np.int64)[a],
    "bins": _bins,
    "sort": _always(np.sort),
    "cumsum": _always(np.cumsum),
    "order": _order,
    "row_entry": lambda p, pair, side, a: a[..., pair.place(a.shape[-1])],
    "argbest": lambda p, pair, side, a: (np.argmax if p["largest"] else np.argmin)(a, axis=-1),
    "var": lambda p, pair, side, a: np.var(a, axis=0, ddof=p["ddof"]),
    "softmax": _always(lambda e, total: e / total),
    "gather": _always(lambda place, *rows: np.stack(rows)[place]),
    "of_text": lambda p, pair, side, texts: _of_text(p, texts),
}
COMPUTED["part"] = lambda p, pair, side, a: _part(p, pair, side, a)
COMPUTED["rows"] = lambda p, pair, side, a: a[p["start"] : p["stop"] : p["step"]]


#: Patterns of several steps, which rarely occur by chance.
PATTERNS = (
    "guard",
    "clip",
    "slices",
    "gram",
    "hits",
    "scores",
    "limits",
    "blocks",
    "chosen",
    "choices",
    "counted",
)

#: Operations that are tried separately. The other operations occur along with them. Functions of texts have
#: columns of their own, and are tried when they are in focus.
OTHERS = [op for op in RULES if op not in ("data", "const", "public", "of_text")]


def positions(aligned: Any, rows: int) -> list[int]:
    """Return the record of each row, with leading axes in C order."""
    if len(aligned) == 3 and all(part is None or type(part) is int for part in aligned):
        first, _, by = aligned
        return [first + by * row for row in range(rows)]
    return positions(aligned[0], rows)


def inside(guard: Any, value: float) -> bool:
    _, low, high, low_open, high_open, without = guard
    below = low is None or value > low or (value == low and not low_open)
    above = high is None or value < high or (value == high and not high_open)
    return bool(below and above and value not in without)


def end_at(end: Any, size: int) -> Any:
    """Return an end of a range of records for a number of records."""
    return (end[0] * size + end[1]) // end[2] if isinstance(end, tuple | list) else end


def depends(support: Any, record: int, size: int) -> bool:
    if support is None:
        return True
    ranges = [(end_at(a, size), end_at(b, size), by) for a, b, by in support]
    return any(a <= record and (b is None or record < b) and (record - a) % by == 0 for a, b, by in ranges)


def _of_text(p: Any, texts: Any) -> Any:
    """Compute a function of each text with the methods of ``str``."""
    name, given = p["function"], p["arguments"]
    found = []
    for text in texts:
        for change, *parts in p["changes"]:
            text = getattr(text, change)(*parts)
        if name == "lookup":
            found.append(int({key: Fraction(n) for key, n in given[2]}.get(text, Fraction(given[1]))))
        elif name in ("contains", "equals"):
            found.append(given[0] in text if name == "contains" else text == given[0])
        else:
            found.append(len(text) if name == "len" else getattr(text, name)(*given))
    kind = given[0] if name == "lookup" else "i" if name in ("len", "count") else "b"
    return np.array(found, dtype=KINDS[kind])


def _part(p: Any, pair: Pair, side: int, a: Any) -> Any:
    start, stop = (end_at(p[name], pair.sizes[side]) for name in ("start", "stop"))
    found = np.zeros_like(a)
    found[start:stop] = a[start:stop]
    return found


def _is_column(info: Info) -> bool:
    return info.records == 1 and len(info.shape) == 1


class Fuzz:
    """Random programs from one seed.

    Operations and patterns in ``focus`` are tried more often. The adjacency, the group and the form of the
    data may be fixed.
    """

    def __init__(
        self,
        seed: int,
        focus: Sequence[str] = (),
        *,
        adjacency: str | None = None,
        group: int | None = None,
        form: str | None = None,
    ) -> None:
        self.given = (adjacency, group, form)
        self.r = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.focus = focus
        self.checked: Counter[str] = Counter()
        self.costs: Counter[str] = Counter()
        self._symbols: dict[tuple[str, int], Any] = {}

    # Settings and data.

    def begin(self) -> None:
        r = self.r
        adjacency = self.given[0] or r.choice(["replace-one", "replace-one", "add-remove", "zero-out"])
        group = self.given[1] or (2 if r.random() < 0.2 else 1)
        known = adjacency != "add-remove" and r.random() < 0.7
        size = r.randint(group, 6) if known else None
        least = r.choice([group, max(group, 2), 3])
        self.s = Setting(adjacency=adjacency, size=size, at_least=least, group=group)
        self._symbols.clear()
        self.nodes: list[list[Any]] = []
        self.all: list[Value] = []
        self.pool: list[Value] = []
        self.pairs = []
        for k in range(PAIRS):
            n = size or r.choice([least, least, least + 1, 6])
            some = r.randint(1, group)
            if adjacency == "add-remove":
                changed = tuple(sorted(r.sample(range(n + some), some)))
                sizes = (n, n + some)
            else:
                changed, sizes = tuple(sorted(r.sample(range(n), some))), (n, n)
            outcomes = tuple(Fraction(r.choice([-8, -5, -2, -1, 1, 2, 3, 6, 10, 16]), 4) for _ in range(3))
            self.pairs.append(Pair(k, sizes, changed, outcomes))
        for _ in range(r.choice([1, 1, 2])):
            self.column()

    def column(self) -> None:
        """Return one declared column of the records."""
        r = self.r
        inner: tuple[int, ...] = r.choice([(), (), (), (1,), (2,), (3,), (3,), (2, 2)])
        forms = [
            "interval",
            "interval",
            "integers",
            "bits",
            "truth",
            "ball",
            "ball",
            "one-hot",
            "half",
            "free",
        ]
        form = self.given[2] or r.choice(forms)
        low, high, ball, kind = None, None, None, "f"
        if form in ("interval", "integers"):
            step = 4 if form == "interval" else 1
            kind = "f" if form == "interval" else "i"
            low = Fraction(r.randint(-2 * step, 2 * step), step)
            high = low + Fraction(r.randint(0 if r.random() < 0.1 else 1, 3 * step), step)
        elif form in ("bits", "truth"):
            low, high, kind = Fraction(0), Fraction(1), "i" if form == "bits" else "b"
        elif form == "ball":
            ball = [r.choice("12"), str(r.choice([Fraction(1, 2), Fraction(1), Fraction(2)]))]
            low = Fraction(0) if r.random() < 0.3 else None
        elif form == "one-hot":
            inner, kind, low, high = (r.choice([1, 2, 3]),), "i", Fraction(0), Fraction(1)
            ball = ["one-hot", "1"]
        elif form == "half":
            low, high = r.choice([(Fraction(0), None), (None, Fraction(1)), (Fraction(1, 4), None)])
        count = Poly.symbol("N") if self.s.size is None else self.s.size
        params = {
            "shape": (count, *inner),
            "kind": kind,
            "low": None if low is None else str(low),
            "high": None if high is None else str(high),
            "ball": ball,
        }

        def row() -> Any:
            return self.record(inner, kind, low, high, ball)

        samples = []
        for pair in self.pairs:
            n, m = pair.sizes
            if n != m:
                right = np.array([row() for _ in range(m)])
                left = np.delete(right, pair.changed, axis=0)
            else:
                left = np.array([row() for _ in range(n)])
                if self.s.adjacency == "zero-out" and r.random() < 0.2:
                    left[r.randrange(n)] = 0
                right = left.copy()
                for k in pair.changed:
                    right[k] = 0 if self.s.adjacency == "zero-out" else row()
                if r.random() < 0.5:
                    left, right = right, left
            shapes = [(k, *inner) for k in (n, m)]
            samples.append(
                tuple(a.reshape(q).astype(KINDS[kind]) for a, q in zip((left, right), shapes, strict=True))
            )
        self.keep(self.step("data", [], params, samples))

    def record(self, inner: tuple[int, ...], kind: str, low: Any, high: Any, ball: Any) -> Any:
        r = self.r
        count = math.prod(inner)
        if ball is not None:
            norm, radius = ball[0], float(Fraction(ball[1]))
            if norm == "one-hot":
                return np.eye(count)[r.randrange(count)]
            way = r.choice(["corner", "corner", "zero", "any"])
            v = np.zeros(count)
            if way == "corner":
                v[r.randrange(count)] = r.choice([-1, 1])
            elif way == "any":
                v = self.rng.normal(size=count)
                size = np.abs(v).sum() if norm == "1" else math.sqrt((v * v).sum())
                v = v / size * r.choice([1.0, r.random()])
            v = v * radius
            return (np.abs(v) if low is not None else v).reshape(inner)
        lo = float(low) if low is not None else (-40.0 if high is None else float(high) - 40)
        hi = float(high) if high is not None else lo + 40
        corner = r.random() < 0.4

        def entry() -> float:
            if corner or r.random() < 0.4:
                return r.choice([lo, hi])
            near = min(max(r.choice([0.0, 0.25, 0.5, 1.0, -0.5, -1.0, 2.0]), lo), hi)
            some = near if r.random() < 0.6 else r.uniform(lo, hi)
            return float(round(some)) if kind in "bi" else some

        return np.array([entry() for _ in range(count)]).reshape(inner)

    # Steps.

    def step(
        self, op: str, parts: Sequence[Value], params: dict[str, Any], samples: Any = None
    ) -> Value | None:
        """Derive, compute and compare one step. Return ``None`` if the numbers are too large to compare."""
        ids = [part.node for part in parts]
        info = derive(self.s, op, ids, [part.info for part in parts], params)
        if samples is None:
            samples = []
            with np.errstate(all="ignore"):
                for pair in self.pairs:
                    both = []
                    for side in (0, 1):
                        given = [part.samples[pair.number][side] for part in parts]
                        try:
                            both.append(COMPUTED[op](params, pair, side, *given))
                        except (OverflowError, ZeroDivisionError, ValueError, IndexError, TypeError) as error:
                            if isinstance(error, OverflowError) and op == "exp":
                                return None
                            raise self.wrong(
                                op, ids, params, info, f"{type(error).__name__}: {error}"
                            ) from error
                    samples.append(tuple(both))
        value = Value(len(self.all), info, samples)
        self.nodes.append([op, ids, params])
        self.all.append(value)
        wild = self.check(op, ids, params, value)
        self.checked[op] += 1
        return None if wild else value

    def keep(self, value: Value | None) -> Value | None:
        if value is not None:
            self.pool.append(value)
        return value

    def wrong(self, op: str, ids: Any, params: Any, info: Info, what: str) -> WrongRuleError:
        derived = {name: getattr(info, name) for name in Info.__dataclass_fields__}
        steps = "\n".join(f"  {k}: {node}" for k, node in enumerate(self.nodes))
        s = self.s
        where = f"{s.adjacency} size={s.size} at_least={s.at_least} group={s.group}"
        return WrongRuleError(f"{op} {ids} {params}: {what}\n{where}\n{derived}\n{steps}")

    def check(self, op: str, ids: list[int], params: dict[str, Any], value: Value) -> bool:
        """Raise if the rule does not hold, and return whether a number is too large to compare."""
        info = value.info

        def no(what: str) -> WrongRuleError:
            return self.wrong(op, ids, params, info, what)

        groups: dict[Any, list[int]] = {}
        for pair, both in zip(self.pairs, value.samples, strict=True):
            groups.setdefault((np.shape(both[0]), np.shape(both[1]), pair.sizes), []).append(pair.number)
        found = {(type(one), getattr(one, "dtype", None)) for both in value.samples for one in both}
        for form, dtype in found:
            if (form in (bool, int, float)) != info.python:
                raise no(f"type {form.__name__}")
            if (dtype or np.dtype(form)) != KINDS[info.kind]:
                raise no(f"kind {dtype or form.__name__}")
        stacked = []
        for (left, right, sizes), numbers in groups.items():
            for side, shape in enumerate((left, right)):
                wanted = self.pairs[numbers[0]].shape(info.shape, side)
                if shape != wanted:
                    raise no(f"shape {shape} for {wanted} with {sizes} records")
            both = [np.array([value.samples[k][side] for k in numbers], dtype=float) for side in (0, 1)]
            sizes = np.concatenate([both[0].ravel(), both[1].ravel()])
            if not np.all(np.isfinite(sizes)) and op in ("div", "log", "sqrt", "softmax", "var", "norm"):
                raise no("a number that is not finite")
            if not np.all(np.abs(sizes) <= LARGEST):
                return True
            stacked.append((left != right, [self.pairs[k] for k in numbers], *both))
        for added, pairs, a, b in stacked:
            self._sides(info, pairs, (a, b), no)
            if info.records and added:
                self._added_rows(info, pairs, a, b, no)
            elif info.records:
                self._rows(info, pairs, a, b, no)
            else:
                self._whole(info, pairs, a, b, no)
        if info.guard is not None:
            self._guard(info, value, no)
        self._facts(info, value, no)
        return False

    def limits(self, bound: Bound, pairs: Sequence[Pair], side: int) -> Any:
        """Return the bound for each pair, with slack for rounding, or ``None`` if unbounded."""
        if bound is None:
            return None
        if bound.number is not None:
            number = float(bound.number)
            return np.full(len(pairs), number), TOLERANCE * max(1.0, abs(number))
        every = np.zeros(PAIRS)
        for monomial, factor in bound.terms.items():
            term = np.full(PAIRS, float(factor))
            for name, power in monomial:
                term = term * self.symbol(name, side) ** float(power)
            every += term
        found = every[[pair.number for pair in pairs]]
        return found, TOLERANCE * np.maximum(1, np.abs(found))

    def symbol(self, name: str, side: int) -> Any:
        """Return the values of a symbol in all pairs."""
        if (name, side) not in self._symbols:
            self._symbols[name, side] = np.array([pair.at(Poly.symbol(name), side) for pair in self.pairs])
        return self._symbols[name, side]

    def _above(self, found: Any, bound: Bound, pairs: Sequence[Pair], side: int = 0) -> Any:
        """Return the first number of ``found`` (one per pair) that is above the bound, or None."""
        limit = self.limits(bound, pairs, side)
        if limit is None:
            return None
        over = found > limit[0] + limit[1]
        return (float(found[over][0]), float(limit[0][over][0])) if over.any() else None

    def _sides(self, info: Info, pairs: Sequence[Pair], both: Any, no: Any) -> None:
        for side, array in enumerate(both):
            if not array[0].size:
                continue
            flat = array.reshape(len(pairs), -1)
            for name, found, bound in (
                ("low", -flat.min(axis=1), None if info.low is None else -info.low),
                ("high", flat.max(axis=1), info.high),
            ):
                if over := self._above(found, bound, pairs, side):
                    raise no(f"{name}: {over}")
            lead = math.prod(array.shape[1 : 1 + info.records])
            rows = np.abs(array.reshape(len(pairs), lead, -1))
            for name, found, bound in (
                ("norm1", rows.sum(axis=2).max(axis=1), info.norm1),
                ("norm2", (rows**2).sum(axis=2).max(axis=1), info.norm2),
            ):
                if over := self._above(found, bound, pairs, side):
                    raise no(f"{name}: {over}")
            if info.values is not None and not np.allclose(
                flat, np.array([n / info.values.over for n in info.values.numerators])
            ):
                raise no("values")

    def _moves(self, info: Info, pairs: Sequence[Pair], rows: Any, no: Any) -> None:
        if not rows.size:
            return
        size = np.abs(rows)
        for name, found, bound in (
            ("change", size.max(axis=(1, 2)), info.change),
            ("change1", size.sum(axis=2).max(axis=1), info.change1),
            ("change2", (size**2).sum(axis=2).max(axis=1), info.change2),
        ):
            if over := self._above(found, bound, pairs):
                raise no(f"{name}: {over}")

    def _rows(self, info: Info, pairs: Sequence[Pair], a: Any, b: Any, no: Any) -> None:
        """Require equal rows for unchanged records, and changes within the bounds for the others."""
        lead = math.prod(a.shape[1 : 1 + info.records])
        rows = (b - a).reshape(len(pairs), lead, math.prod(a.shape[1 + info.records :]))
        if not rows.size:
            return
        for place, record in enumerate(positions(info.aligned, lead)):
            still = [
                k
                for k, pair in enumerate(pairs)
                if record not in pair.changed or not depends(info.support, record, pair.sizes[0])
            ]
            if still and np.abs(rows[still, place]).max() > TOLERANCE:
                raise no(f"row {place} of an unchanged record moves")
        self._moves(info, pairs, rows, no)

    def _added_rows(self, info: Info, pairs: Sequence[Pair], a: Any, b: Any, no: Any) -> None:
        """Require equal rows for the records that both sides share."""
        for k, pair in enumerate(pairs):
            left = np.delete(b[k], pair.changed, axis=0)
            if left.shape != a[k].shape or (left.size and np.abs(left - a[k]).max() > TOLERANCE):
                raise no("the row of a record depends on another record")

    def _whole(self, info: Info, pairs: Sequence[Pair], a: Any, b: Any, no: Any) -> None:
        if a.shape != b.shape:
            raise no("the shape differs between the sides")
        rows = (b - a).reshape(len(pairs), 1, math.prod(a.shape[1:]))
        if not rows.size:
            return
        self._moves(info, pairs, rows, no)
        if info.rises and self.s.length_is_private and rows.min() < -TOLERANCE:
            raise no("rises: an entry falls where a record is added")
        if not info.private and np.abs(rows).max() > TOLERANCE:
            raise no("a public value differs between the sides")
        if self.s.length_is_private or not info.private:
            return
        still = [
            k
            for k, pair in enumerate(pairs)
            if not any(depends(info.support, c, pair.sizes[0]) for c in pair.changed)
        ]
        if still and np.abs(rows[still]).max() > TOLERANCE:
            raise no("support: a record that is not in it changes the value")

    def _guard(self, info: Info, value: Value, no: Any) -> None:
        """Require that only records in all guards at once, on the same side, affect the value."""
        guards = info.guard or ()
        for pair in self.pairs:
            left, right = (np.asarray(one, dtype=float) for one in value.samples[pair.number])
            within: list[set[int]] = []
            for side in (0, 1):
                kept: list[set[int]] = []
                for guard in guards:
                    column = self.all[guard[0]]
                    one = column.samples[pair.number][side]
                    at = zip(positions(column.info.aligned, len(one)), map(float, one), strict=True)
                    kept.append({record for record, number in at if inside(guard, number)})
                within.append(set.intersection(*kept))
            if not info.records:
                sides = within[1:] if self.s.length_is_private else within
                hit = any(c in known for c in pair.changed for known in sides)
                if not hit and left.size and np.abs(left - right).max() > TOLERANCE:
                    raise no(f"guard {guards}: the value changes")
                continue
            for array, known in zip((left, right), within, strict=True):
                lead = math.prod(array.shape[: info.records])
                rows = array.reshape(lead, math.prod(array.shape[info.records :]))
                for row, record in zip(rows, positions(info.aligned, lead), strict=True):
                    if np.any(row != 0) and record not in known:
                        raise no(f"guard {guards}: a row is not 0")

    def _facts(self, info: Info, value: Value, no: Any) -> None:
        for key in ("low", "inverse"):
            if key not in info.facts:
                continue
            node, p, k = info.facts[key]
            u = self.all[node]
            for pair in self.pairs:
                for side in (0, 1):
                    a, v = (np.asarray(one.samples[pair.number][side], dtype=float) for one in (u, value))
                    if (info.records > 0) != (u.info.records > 0) or v.shape[: info.records] != a.shape[
                        : info.records
                    ]:
                        continue  # this fact has no consequence to check
                    lead = math.prod(v.shape[: info.records])
                    if not v.size or not a.size:
                        continue
                    size = np.abs(a.reshape(lead, -1))
                    norms = {
                        "1": size.sum(axis=1),
                        "2": np.sqrt((size**2).sum(axis=1)),
                        "inf": size.max(axis=1),
                    }[p]
                    own, limit = v.reshape(lead, -1), pair.at(k, side)
                    slack = TOLERANCE * (1 + np.abs(norms))
                    if key == "low" and np.any(own.min(axis=1) < limit * norms - slack):
                        raise no(f"fact low {info.facts[key]}")
                    if key == "inverse" and (
                        own.min() < 0 or np.any(own.max(axis=1) * norms > limit + slack)
                    ):
                        raise no(f"fact inverse {info.facts[key]}")
        if "exactly" in info.facts:
            node, op, number = info.facts["exactly"]
            compared = COMPUTED[op]
            self._equal(value, self.all[node], lambda a: compared({}, None, 0, a, float(number)), no, op)
        if info.facts.get("moved") is not None and not (info.records and self.s.length_is_private):
            for pair in self.pairs:
                left, right = (np.asarray(one, dtype=float) for one in value.samples[pair.number])
                moved = (left != right).sum(axis=tuple(range(info.records, left.ndim)))
                if moved.size and moved.max() > pair.at(info.facts["moved"], 0):
                    raise no("fact moved")
        if info.facts.get("sides") is not None:
            for pair in self.pairs:
                left, right = (np.asarray(one, dtype=float) for one in value.samples[pair.number])
                moved = (right - left).ravel()
                most = max(np.maximum(moved, 0).sum(), np.maximum(-moved, 0).sum())
                if most > pair.at(info.facts["sides"], 0) + TOLERANCE:
                    raise no("fact sides")
        if "entry" in info.facts:
            node, place = info.facts["entry"]
            self._equal(value, self.all[node], lambda a: np.ravel(a)[place], no, "entry")
        if "exp" in info.facts:
            self._equal(value, self.all[info.facts["exp"]], np.exp, no, "exp")
        if "sum_of" in info.facts:
            self._equal(value, self.all[info.facts["sum_of"]], np.sum, no, "sum_of")
        if "whole" in info.facts:
            for one in (one for sides in value.samples for one in sides):
                if not np.array_equal(np.rint(one), one):
                    raise no("fact whole")
        if info.facts.get("centred") is not None and not info.records:
            for pair in self.pairs:
                left, right = (np.asarray(one, dtype=float) for one in value.samples[pair.number])
                moved = right - left
                if (
                    moved.size
                    and (moved.max() - moved.min()) / 2 > pair.at(info.facts["centred"], 0) + TOLERANCE
                ):
                    raise no("fact centred")

    def _equal(self, value: Value, other: Value, function: Any, no: Any, name: str) -> None:
        for mine, theirs in zip(value.samples, other.samples, strict=True):
            for side in (0, 1):
                known = function(np.asarray(theirs[side], dtype=float))
                if not np.allclose(np.ravel(mine[side]).astype(float), np.ravel(known)):  # a reshape keeps it
                    raise no(f"fact {name}")

    # Programs.

    def some(self, holds: Callable[[Info], bool] = lambda info: True) -> Value:
        """Return a value of the pool, with a preference for late ones."""
        fits = [value for value in self.pool if holds(value.info)]
        if not fits:
            raise RefusedStepError("no such value")
        return self.r.choice(fits[-4:] if self.r.random() < 0.6 else fits)

    def constant(self, values: Any, *, kind: str | None = None, python: bool = False) -> Value:
        array = np.asarray(values)
        kind = kind or array.dtype.kind
        params = {
            "values": [str(Fraction(v)) for v in array.ravel().tolist()],
            "shape": array.shape,
            "kind": kind,
            "python": python,
        }
        real = array.item() if python else _scalar(array.astype(KINDS[kind]))
        found = self.step("const", [], params, [(real, real)] * PAIRS)
        assert found is not None
        return found

    def number(self) -> Value:
        r = self.r
        value: Any = r.choice([0.5, -1.0, 2.0, 0.25, 0.0, 1.0, 3.0, 1, 2, -1, 0, 3])
        if r.random() < 0.05:
            value = r.random() < 0.5
        return self.constant(value, python=r.random() < 0.8)

    def expression(self, depth: int = 0) -> list[Any]:
        r = self.r
        whole = ["number", str(Fraction(r.choice([1, 2, 3, 4, 6]), 4))]
        kind = r.choice(
            ["outcome", "maximum", "clip", "maximum", "size", "arith", "arith"]
            if depth < 2
            else ["outcome", "number"]
        )
        if kind == "outcome":
            return ["outcome", r.randrange(3)]
        if kind == "number" or (kind == "size" and self.s.length_is_private):
            return whole
        if kind == "size" and r.random() < 0.4:
            return ["floordiv", r.choice([["size"], ["mul", ["size"], ["number", "2"]]]), ["number", "3"]]
        if kind == "size":
            return ["size"]
        if kind == "maximum":
            return ["maximum", ["outcome", r.randrange(3)], whole]
        if kind == "clip":
            return ["clip", ["outcome", r.randrange(3)], ["number", "1/4"], ["number", "3/2"]]
        op = r.choice(["add", "sub", "mul", "neg", "div"])
        if op == "neg":
            return ["neg", self.expression(depth + 1)]
        divisor = r.choice([["size"], whole, ["maximum", ["outcome", 1], whole], ["outcome", 2]])
        if op == "div":
            divisor = whole if self.s.length_is_private and divisor == ["size"] else divisor
            return ["div", self.expression(depth + 1), divisor]
        return [op, self.expression(depth + 1), self.expression(depth + 1)]

    def public(self) -> Value:
        """Return a public number, or an unknown public vector."""
        r = self.r
        if r.random() < 0.25:
            k = r.randint(1, 3)
            params = {
                "expression": ["function", "vector", len(self.all)],
                "shape": (k,),
                "kind": "f",
                "python": False,
            }
            vectors = [np.round(self.rng.normal(size=k) * 8) / 4 for _ in self.pairs]
            found = self.step("public", [], params, [(v, v) for v in vectors])
        else:
            python = r.random() < 0.7
            params = {"expression": self.expression(), "shape": (), "kind": "f", "python": python}
            numbers = [float(pair.value(params["expression"])) for pair in self.pairs]
            own = numbers if python else [np.float64(v) for v in numbers]
            found = self.step("public", [], params, [(v, v) for v in own])
        if found is None:
            raise RefusedStepError("too large")
        return found

    def fitting(self, a: Value) -> Value:
        """Return a second operand for an elementwise operation."""
        r = self.r
        way = r.random()
        if way < 0.35:
            return self.number()
        if way < 0.5:
            return self.public()
        shape = a.info.shape
        if way < 0.65 and shape:
            tail = shape[r.randrange(len(shape)) :]
            if r.random() < 0.2:
                tail = tuple(1 if r.random() < 0.5 else n for n in tail)
            if all(isinstance(n, int) for n in tail):
                count = math.prod(tail)
                whole = r.random() < 0.3
                values = (
                    [r.randint(-2, 3) for _ in range(count)]
                    if whole
                    else [r.choice([-1.0, 0.5, 2.0, 0.0, 1.0]) for _ in range(count)]
                )
                return self.constant(np.array(values, dtype=np.int64 if whole else float).reshape(tail))
        return self.some()

    def axes(self, info: Info) -> tuple[int, ...]:
        every = list(range(len(info.shape)))
        if self.r.random() < 0.4:
            return tuple(every)
        return tuple(sorted(self.r.sample(every, self.r.randint(min(1, len(every)), len(every)))))

    def attempt(self, op: str) -> Value | None:
        """Apply the operation to random operands. Raises ``RefusedStepError`` if the rule refuses."""
        r = self.r
        if op == "data":
            self.column()
            return None
        if op == "const":
            return self.fitting(self.some())
        if op == "public":
            return self.public()
        if op in ("log", "sqrt"):
            a = self.some(lambda info: info.kind != "b")
            if r.random() < 0.8:
                least = self.constant(r.choice([0.25, 0.5, 2.0]), python=True)
                a = (
                    self.ready("maximum", [a, least], {})
                    if r.random() < 0.7
                    else self.ready("add", [self.ready("square", [a], {}), least], {})
                )
            return self.step(op, [a], {})
        if op == "mod":
            return self.step(op, [self.some(), self.constant(r.choice([0.5, 1.0, 2, 3]), python=True)], {})
        if op in ("add", "sub", "mul", "div", "minimum", "maximum", "lt", "le", "gt", "ge", "eq", "ne"):
            a = self.some()
            b = (
                self.constant(np.array([0.0, 0.5, 1.0]) if r.random() < 0.5 else np.array([0, 1, 2]))
                if op == "eq" and r.random() < 0.3
                else self.fitting(a)
            )
            if op == "eq" and r.random() < 0.3 and len(a.info.shape) == 1 and a.info.records:
                a = self.ready("reshape", [a], {"shape": (*a.info.shape, 1), "records": 1})
            return self.step(op, [a, b] if r.random() < 0.7 else [b, a], {})
        if op in ("and", "or"):
            return self.step(op, [self.some(_is_truth), self.some(_is_truth)], {})
        if op == "not":
            return self.step(op, [self.some(_is_truth)], {})
        if op == "where":
            a = self.some()
            b = self.constant(r.choice([0.0, 0, 1.0]), python=True) if r.random() < 0.5 else self.fitting(a)
            way = r.random()
            q = self.some(_is_truth) if way < 0.7 else self.constant(way < 0.8)
            last = a.info.shape[-1] if a.info.shape else 0
            if way > 0.85 and isinstance(last, int) and last > 0:
                q = self.constant(np.array([r.random() < 0.5 for _ in range(last)]))
            params = {"python": True} if r.random() < 0.3 else {}
            return self.step(op, [q, a, b] if r.random() < 0.75 else [q, b, a], params)
        if op in ("cast", "floor", "trunc", "rint"):
            a = self.some()
            python = a.info.shape == () and not a.info.records and r.random() < 0.6
            return self.step(op, [a], {"kind": r.choice("if"), "python": python})
        if op in ("sum", "max", "min", "any", "all"):
            a = self.some(lambda info: bool(info.shape)) if r.random() < 0.9 else self.some()
            if a.info.python:
                raise RefusedStepError("a Python number")
            return self.step(op, [a], {"axes": self.axes(a.info)})
        if op == "norm":
            a = self.some(lambda info: len(info.shape) == info.records + 1)
            return self.step(op, [a], {"p": r.choice(["1", "2", "inf"]), "keep": r.random() < 0.6})
        if op == "reshape":
            return self.reshape(self.some())
        if op == "rows":
            return self.rows(self.some(lambda info: info.records == 1))
        if op == "part":
            ends = [(r.randint(0, 2), r.randint(-2, 2), r.randint(1, 4)) for _ in range(2)]
            stop = r.choice([None, ends[1], ends[1]])
            return self.step(
                op, [self.some(lambda info: info.records == 1)], {"start": ends[0], "stop": stop}
            )
        if op == "pick":
            return self.pick(self.some(lambda info: bool(info.shape)))
        if op == "stack":
            a = self.some()
            alike = [v for v in self.pool if v.info.shape == a.info.shape]
            parts = [a, *r.choices(alike, k=r.randint(0, 2))]
            if any(part.info.kind == "f" for part in parts):
                return self.step(op, parts, {"kind": "f"})
            return self.step(op, parts, {"kind": r.choice("if")})
        if op == "columns":
            if r.random() < 0.3:
                vectors = [self.some(lambda info: not info.records and len(info.shape) == 1) for _ in (0, 1)]
                return self.step(op, vectors, {})
            a = self.some(lambda info: info.records == 1 and len(info.shape) == 2)
            parts = [
                a,
                *(
                    self.some(lambda info: info.records == 1 and len(info.shape) == 2)
                    for _ in range(r.randint(0, 1))
                ),
            ]
            return self.step(op, parts, {})
        if op == "matrix":
            return self.matrix()
        if op == "outer" and r.random() < 0.3:
            a = self.some(lambda info: not info.records and len(info.shape) == 1 and info.kind == "f")
            b = a if r.random() < 0.5 else self.some(lambda info: not info.records and len(info.shape) == 1)
            return self.step(op, [a, b], {"records": 0})
        if op == "outer":
            a = self.some(lambda info: info.records == 1 and info.kind == "f")
            return self.step(
                op, [a, a if r.random() < 0.5 else self.some(lambda info: info.records == 1)], {}
            )
        if op == "one_hot":
            if r.random() < 0.5:
                a = self.some(lambda info: info.records == len(info.shape) and info.kind != "b")
                a = self.clipped(a, 0.0, r.choice([1.0, 2.0, 2.5]))
                a = self.ready(r.choice(["floor", "trunc", "rint"]), [a], {"kind": "i", "python": False})
            else:
                a = self.some(lambda info: info.kind == "i" and info.records > 0)
            return self.step(op, [a], {"k": r.randint(2, 4)})
        if op == "gather":
            return self.gather()
        if op == "of_text":
            return self.of_text()
        if op == "bins":
            edges = sorted(r.sample([-2, -1, 0, 1, 2, 3], r.randint(2, 4)))
            a = self.some(lambda info: info.records == len(info.shape) and info.kind != "b")
            return self.step(op, [a], {"edges": [str(Fraction(e, 2)) for e in edges]})
        if op in ("sort", "cumsum"):
            return self.step(op, [self.some(lambda info: len(info.shape) == 1)], {})
        if op == "order":
            a = self.some(lambda info: len(info.shape) == 1)
            what = r.choice(["median", "quantile", "entry"])
            return self.step(op, [a], {"what": what, "q": r.choice(["1/4", "3/10", "1"]), "sorted": False})
        if op == "row_entry":
            return self.step(op, [self.some(lambda info: info.records > 0)], {"at": ["outcome", 0]})
        if op == "argbest":
            return self.step(
                op,
                [self.some(lambda info: len(info.shape) == info.records + 1)],
                {"largest": r.random() < 0.5},
            )
        if op == "var":
            a = self.some(lambda info: info.records == 1 and len(info.shape) <= 2 and info.kind == "f")
            a = self.clipped(a, r.choice([-1.0, 0.0]), 1.0) if r.random() < 0.5 else a
            return self.step(op, [a], {"ddof": r.randint(0, 1)})
        if op == "row_function":
            a = self.some(lambda info: info.records == 1)
            return self.step(op, [a], {"seed": r.randrange(99), "shape": r.choice([(), (2,)])})
        if op == "hidden_draw":
            low = r.randint(-2, 1)
            params = {"low": str(low), "high": str(low + r.randint(0, 3)), "number": r.randrange(99)}
            return self.step(op, [self.some()], {**params, "kind": "i", "python": False})
        if op == "sample":
            least = self.s.at_least if self.s.size is None else self.s.size
            mask = self.step(op, [], {"count": r.randint(1, least), "number": r.randrange(99)})
            rows = self.some(lambda info: info.records == 1 and len(info.shape) == 1)
            zeroed = self.ready("where", [mask, rows, self.constant(0.0)], {})
            return self.step("sum", [zeroed], {"axes": (0,)})
        if op == "ones":
            return self.step(op, [self.some(lambda info: info.records > 0)], {})
        if op == "softmax":
            a = self.some(lambda info: len(info.shape) == 1 and not info.records and info.kind == "f")
            e = self.ready("exp", [a], {})
            return self.step(op, [e, self.ready("sum", [e], {"axes": (0,)})], {})
        return self.step(op, [self.some()], {})  # one operand, no parameters

    def ready(self, op: str, parts: Sequence[Value], params: dict[str, Any]) -> Value:
        found = self.step(op, parts, params)
        if found is None:
            raise RefusedStepError("too large")
        self.pool.append(found)
        return found

    def clipped(self, a: Value, low: float, high: float) -> Value:
        above = self.ready("maximum", [a, self.constant(low, python=True)], {})
        return self.ready("minimum", [above, self.constant(high, python=True)], {})

    def gather(self) -> Value | None:
        """Select rows of a constant table for each record, or a row of any table by one private place."""
        r, k = self.r, self.r.randint(1, 4)
        a = self.some(lambda info: info.records == len(info.shape) and info.kind != "b")
        a = self.clipped(a, 0.0, k - r.choice([0.0, 0.5, 1.0, 1.0]))
        place = self.ready(r.choice(["floor", "trunc", "rint"]), [a], {"kind": "i", "python": False})
        if r.random() < 0.3:
            place = self.constant(r.randrange(k))
        if place.info.records or r.random() < 0.3:
            table = [[r.choice([-2.0, -1.0, 0.0, 0.5, 3.0]) for _ in range(2)] for _ in range(k)]
            return self.step("gather", [place, *(self.constant(row) for row in table)], {})
        first = self.some(lambda info: not info.records and (info.private or r.random() < 0.5))
        alike = [v for v in self.pool if (v.info.shape, v.info.kind) == (first.info.shape, first.info.kind)]
        return self.step("gather", [place, first, *r.choices(alike, k=k - 1)], {})

    def of_text(self) -> Value | None:
        """Apply a function to a new column of short texts, whose length may change with their case."""
        r, longest = self.r, self.r.choice([0, 1, 2, 3, None])
        count = Poly.symbol("N") if self.s.size is None else self.s.size
        high = None if longest is None else str(longest)
        declared = {"shape": (count,), "kind": "t", "low": None, "high": high, "ball": None}

        def text() -> str:
            length = r.choice([longest, r.randint(0, longest)]) if longest is not None else r.randint(0, 5)
            return "".join(r.choices("aabx\u0130\u0390" if r.random() < 0.5 else "a", k=length))

        samples = []
        for pair in self.pairs:
            right = [text() for _ in range(pair.sizes[1])]
            if pair.sizes[0] != pair.sizes[1]:
                left = [one for k, one in enumerate(right) if k not in pair.changed]
            else:
                null = self.s.adjacency == "zero-out"
                left = [("" if null else text()) if k in pair.changed else one for k, one in enumerate(right)]
            samples.append(tuple(np.array(side, dtype=object) for side in (left, right)))
        column = Value(len(self.all), derive(self.s, "data", [], [], declared), samples)
        self.nodes.append(["data", [], declared])
        self.all.append(column)
        table = [[key, str(r.randint(-2, 2))] for key in ("", "a", "aa", "ab")]
        default = str(r.randint(-4, 4))
        functions: list[tuple[str, list[Any]]] = [
            ("len", []), ("count", [r.choice(["", "a", "aa"])]), ("contains", ["a"]),
            ("lookup", ["i", default, table]), ("equals", ["a"]), ("startswith", ["a"]), ("isupper", []),
        ]  # fmt: skip
        name, given = r.choice(functions)
        changes = [["upper"], ["lower"], ["strip", "a"], ["replace", "a", "bb"], ["replace", "", "x"]]
        chain = r.choices(changes, k=r.choice([0, 0, 1, 2]))
        return self.step("of_text", [column], {"function": name, "arguments": given, "changes": chain})

    def reshape(self, a: Value) -> Value | None:
        r, shape = self.r, a.info.shape
        lead = a.info.records if r.random() < 0.6 else 0
        inner = shape[lead:]
        if any(not isinstance(n, int) for n in inner):
            new: tuple[Any, ...] = r.choice([(*inner, 1), (1, *inner), inner])
        else:
            new = r.choice(_splits(math.prod(inner)))  # type: ignore[arg-type]
        front = shape[:lead]
        if lead and all(isinstance(n, int) for n in front) and r.random() < 0.4:
            front = r.choice([split for split in _splits(math.prod(front)) if split])  # type: ignore[arg-type]
        return self.step("reshape", [a], {"shape": (*front, *new), "records": len(front)})

    def rows(self, a: Value) -> Value | None:
        r, n = self.r, a.info.shape[0]
        if isinstance(n, int):
            if r.random() < 0.5:
                start, stop, step = slice(
                    r.choice([None, 0, 1, 2]), r.choice([None, 2, 3, -1]), r.choice([None, 2])
                ).indices(n)
            else:
                start, stop, step = slice(None, r.choice([None, 0, 1]), r.choice([-1, -2])).indices(n)
            return self.step("rows", [a], {"start": start, "stop": None if stop < 0 else stop, "step": step})
        return self.step(
            "rows", [a], {"start": r.randint(0, 2), "stop": r.choice([None, None, 1, 2, 3]), "step": 1}
        )

    def pick(self, a: Value) -> Value | None:
        r, info = self.r, a.info
        within = bool(info.records) and r.random() < 0.7
        count = info.entries if within else math.prod((Poly.of(n) for n in info.shape), start=Poly.of(1))
        if count.number is None or count.number == 0:
            raise RefusedStepError("no entry")
        places = r.sample(range(int(count.number)), r.randint(1, int(count.number)))
        inner: tuple[int, ...] = () if len(places) == 1 and r.random() < 0.8 else (len(places),)
        lead = info.records if within else 0
        return self.step("pick", [a], {"inside": within, "places": places, "shape": inner, "lead": lead})

    def matrix(self) -> Value | None:
        r = self.r
        over = r.random() < 0.4
        if over:
            v = self.some(lambda info: info.records == 1 and len(info.shape) == 1)
        else:
            v = self.some(lambda info: len(info.shape) == info.records + 1)
        k = v.info.shape[-1]
        if not isinstance(k, int):
            raise RefusedStepError("a width that is no number")
        vector = r.random() < 0.3
        lines = 1 if vector else r.randint(1, 3)
        entries = [r.choice([0.0, 1.0, -1.0, 0.5, 2.0]) for _ in range(lines * k)]
        if r.random() < 0.3:
            entries = [abs(entry) for entry in entries]
        m = self.constant(np.array(entries).reshape(lines, k))
        return self.step("matrix", [m, v], {"over": over, "vector": vector})

    # Patterns of several steps, which rarely occur by chance.

    def pattern(self) -> None:
        getattr(self, f"p_{self.r.choice(PATTERNS)}")()

    def p_guard(self) -> None:
        """Sum rows that are 0 unless a column is in an interval."""
        r = self.r
        column = self.some(_is_column)
        for _ in range(r.randint(1, 3)):
            k = self.constant(r.choice([0.0, 0.25, 0.5, 1.0, 1, 0]), python=True)
            mask = self.ready(r.choice(["lt", "le", "gt", "ge", "eq", "ne"]), [column, k], {})
            if r.random() < 0.4:
                other = self.constant(r.choice([0.0, 0.5, 1.0]), python=True)
                beside = column if r.random() < 0.6 else self.some(_is_column)
                more = self.ready(r.choice(["lt", "ge", "ne"]), [beside, other], {})
                mask = self.ready(r.choice(["and", "and", "or"]), [mask, more], {})
            if r.random() < 0.4:
                self.ready("sum", [mask], {"axes": (0,)})
                mask = self.ready("not", [mask], {})
            if r.random() < 0.5:
                a = self.some(lambda info: info.records == 1 and info.kind != "b")
                zero = self.constant(0.0, python=True)
                if len(a.info.shape) == 2:
                    mask = self.ready("reshape", [mask], {"shape": (*mask.info.shape, 1), "records": 1})
                mask = self.ready("where", [mask, a, zero], {})
            self.ready("sum", [mask], {"axes": (0,)})

    def p_chosen(self) -> None:
        """Choose between a value and another one, by comparisons of the value."""
        r = self.r
        u = self.some(lambda info: info.kind != "b")
        numbers = [0.0, 0.25, 0.5, 1.0, 1, 0, -1.0]
        asked = u if r.random() < 0.8 else self.fitting(u)
        tests = []
        for _ in range(r.randint(1, 2)):
            k = self.constant(r.choice(numbers), python=True)
            tests.append(self.ready(r.choice(["lt", "le", "gt", "ge", "eq"]), [asked, k], {}))
        if r.random() < 0.3:
            tests = [tests[0], self.some(_is_truth)]  # what fails need not be the comparison
        test = tests[0] if len(tests) == 1 else self.ready(r.choice(["and", "and", "or"]), tests, {})
        if r.random() < 0.2:
            test = self.ready("not", [test], {})
        other = self.constant(r.choice(numbers), python=True) if r.random() < 0.6 else self.fitting(u)
        parts = [u, other] if r.random() < 0.5 else [other, u]
        self.keep(self.ready("where", [test, *parts], {}))

    def p_choices(self) -> None:
        """Choose one of two constants for each entry of a row."""
        r = self.r
        rows = self.some(lambda info: info.kind in "bi" and len(info.shape) == 2)
        test = rows if rows.info.kind == "b" else self.ready("ge", [rows, self.constant(1, python=True)], {})
        ends = [self.constant(r.choice([-1.0, 0.25, 0.5, 2.0]), python=True) for _ in range(2)]
        self.keep(self.ready("where", [test, *ends], {}))

    def p_clip(self) -> None:
        """Scale rows into a ball."""
        r = self.r
        u = self.some(lambda info: len(info.shape) == info.records + 1)
        p, keep = r.choice(["1", "2", "inf"]), bool(u.info.records)
        norm = self.ready("norm", [u], {"p": p, "keep": keep})
        if r.random() < 0.25:  # the norm of other rows
            u = self.some(
                lambda info: info.records == u.info.records and len(info.shape) == len(u.info.shape)
            )
        c = self.constant(r.choice([0.5, 1.0, 2.0]), python=True)
        if r.random() < 0.5:
            scaled = self.ready("div", [norm, c], {}) if r.random() < 0.5 else norm
            clipped = self.ready("div", [u, self.ready("maximum", [scaled, c], {})], {})
        else:
            safe = self.ready(r.choice(["add", "maximum"]), [norm, self.constant(0.5, python=True)], {})
            inverse = self.ready(
                "minimum", [self.ready("div", [c, safe], {}), self.constant(1.0, python=True)], {}
            )
            clipped = self.ready("mul", [u, inverse] if r.random() < 0.5 else [inverse, u], {})
        if clipped.info.records:
            self.ready("sum", [clipped], {"axes": tuple(range(clipped.info.records))})

    def parts(self, a: Value) -> None:
        """Sum adjacent parts of the records, and combine the sums."""
        end = (1, self.r.randint(0, 1), self.r.randint(2, 3))
        stop, start = self.r.choice([(end, end), (end, (1, 1, 2)), ((1, 0, 1), (0, 1, 1))])
        ends = [((0, 0, 1), stop), (start, None)]
        some = [self.ready("part", [a], {"start": b, "stop": e}) for b, e in ends]
        sums = [self.ready("sum", [part], {"axes": (0,)}) for part in some]
        self.ready(self.r.choice(["add", "sub", "mul"]), sums, {})

    def p_slices(self) -> None:
        a = self.some(lambda info: info.records == 1)
        if not isinstance(a.info.shape[0], int) and self.r.random() < 0.7:
            self.parts(a)
            return
        if (
            self.r.random() < 0.3
            and isinstance(a.info.shape[0], int)
            and a.info.shape[0] > 1
            and a.info.kind != "b"
        ):
            k = self.r.randint(1, a.info.shape[0] - 1)
            parts = [
                self.ready("rows", [a], {"start": b, "stop": e, "step": 1})
                for b, e in ((0, k), (k, a.info.shape[0]))
            ]
            sums = [self.ready("sum", [part], {"axes": (0,)}) for part in parts]
            self.ready(self.r.choice(["add", "sub", "mul"]), sums, {})
            return
        for _ in range(self.r.randint(1, 3)):
            part = self.rows(a)
            if part is not None:
                self.pool.append(part)
                self.ready("sum", [part], {"axes": (0,)})

    def p_gram(self) -> None:
        a = self.some(lambda info: info.records == 1 and info.kind == "f")
        b = a if self.r.random() < 0.6 else self.some(lambda info: info.records == 1 and info.kind == "f")
        self.ready("sum", [self.ready("outer", [a, b], {})], {"axes": (0,)})

    def p_hits(self) -> None:
        a = self.some(lambda info: info.records == 1 and len(info.shape) == 1 and info.kind != "b")
        if a.info.kind == "i" and self.r.random() < 0.6:
            hits = self.ready("one_hot", [a], {"k": self.r.randint(2, 4)})
        else:
            hits = self.ready("bins", [a], {"edges": ["-1", "0", "1/2", "1", "3"]})
        self.ready("sum", [hits], {"axes": (0,)})

    def p_counted(self) -> None:
        """Multiply a matrix by a sum of rows, such as a histogram."""
        r = self.r
        if r.random() < 0.7:
            self.p_hits()
            v = self.all[-1]
        else:
            rows = self.some(lambda info: info.records == 1 and len(info.shape) == 2 and info.kind != "b")
            v = self.ready("sum", [rows], {"axes": (0,)})
        k, lines = int(v.info.shape[0]), r.randint(1, 3)  # type: ignore[arg-type]
        whole = [r.choice([-1, 0, 1, 1, 2]) for _ in range(lines * k)]
        m = self.constant(np.array(whole, dtype=np.int64 if r.random() < 0.5 else float).reshape(lines, k))
        self.keep(self.step("matrix", [m, v], {"over": False, "vector": False}))

    def p_scores(self) -> None:
        """Use scores, possibly minus a common number, for a choice."""
        if self.r.random() < 0.5:
            self.p_hits()
        a = self.some(lambda info: len(info.shape) == 1 and not info.records)
        if self.r.random() < 0.6:
            a = self.ready("sub", [a, self.ready("max", [a], {"axes": (0,)})], {})
            if self.r.random() < 0.5:
                a = self.ready("mul", [a, self.number()], {})
        e = self.ready("exp", [a], {})
        self.ready("softmax", [e, self.ready("sum", [e], {"axes": (0,)})], {})

    def p_limits(self) -> None:
        """Clip a value at public numbers."""
        a = self.some(lambda info: info.kind != "b")
        low, high = self.public(), self.public()
        b = self.ready("maximum", [a, low], {}) if self.r.random() < 0.7 else a
        self.ready("minimum", [b, high], {})

    def p_blocks(self) -> None:
        a = self.some(lambda info: info.records == 1 and isinstance(info.shape[0], int) and info.shape[0] > 3)
        n = int(a.info.shape[0])  # type: ignore[arg-type]
        first = self.r.choice([k for k in range(1, n + 1) if n % k == 0])
        shape = (first, n // first, *a.info.shape[1:])
        blocks = self.ready("reshape", [a], {"shape": shape, "records": 2})
        self.ready("sum", [blocks], {"axes": (self.r.randint(0, 1),)})

    def program(self, steps: int = 12) -> None:
        """Run one random program, and compare every step and the cost of random releases."""
        r = self.r
        self.begin()
        for _ in range(4 * steps):
            if len(self.pool) >= steps:
                break
            try:
                op = r.choice(self.focus) if self.focus and r.random() < 0.5 else r.choice(OTHERS)
                if op in PATTERNS:
                    getattr(self, f"p_{op}")()
                    continue
                if r.random() < 0.15:
                    self.pattern()
                    continue
                self.keep(self.attempt(op))
            except RefusedStepError:
                continue
        for _ in range(2):
            self.release()

    # Releases.

    def scale(self) -> Poly:
        r = self.r
        number = ["number", r.choice(["1/2", "1", "2", "3"])]
        ways: list[Any] = [number, number, ["maximum", ["outcome", 0], number]]
        if not self.s.length_is_private:
            ways += [["div", number, ["size"]], ["add", number, ["size"]]]
        return scale_of(self.s, r.choice(ways))

    def release(self) -> None:
        """Compare the cost of random releases with the largest cost over the pairs."""
        r = self.r
        releases: list[dict[str, Any]] = []
        draws: list[Drawn] = []
        losses: list[Callable[[Pair], tuple[float, float]]] = []
        useful = [v for v in self.pool if v.info.private and (v.info.change is not None or v.info.facts)]
        for value in r.sample(useful, min(len(useful), r.randint(1, 4))):
            try:
                for release, drawn, loss in self.one(value, len(draws)):
                    now = [*draws, drawn] if drawn is not None else draws
                    cost_of(self.s, self.infos(), [release], now)
                    releases.append(release)
                    draws = now
                    losses.append(loss)
                    self.costs[release["law"]] += 1
            except RefusedStepError:
                continue
        if not releases:
            return
        front = [
            (float(e), float(q))
            for e, q, *_ in most_expensive(self.s, cost_of(self.s, self.infos(), releases, draws))
        ]
        for pair in self.pairs:
            found = [loss(pair) for loss in losses]
            epsilon, rho = sum(f[0] for f in found), sum(f[1] for f in found)
            slack = 1 + TOLERANCE
            if not any(epsilon <= e * slack + TOLERANCE and rho <= q * slack + TOLERANCE for e, q in front):
                steps = "\n".join(f"  {k}: {node}" for k, node in enumerate(self.nodes))
                s = self.s
                where = f"{s.adjacency} size={s.size} at_least={s.at_least} group={s.group}"
                raise WrongRuleError(
                    f"cost {epsilon, rho} above {front}: {releases} {draws}\n{where} {pair}\n{steps}"
                )
        self.costs["totals"] += 1

    def infos(self) -> list[Info]:
        return [value.info for value in self.all]

    def one(
        self, value: Value, number: int
    ) -> list[tuple[dict[str, Any], Drawn | None, Callable[[Pair], tuple[float, float]]]]:
        """Return releases of one value: all of it, single entries, largest entries, or randomised answers."""
        r, info = self.r, value.info
        if "softmax" in info.facts:
            scores = self.all[info.facts["softmax"]]
            return [
                (
                    {"law": "choice", "node": value.node, "count": 1},
                    None,
                    lambda pair: (_chosen(scores, pair, 1.0, 1), 0.0),
                )
            ]
        ways = ["noise", "noise"]
        if len(info.shape) == 1 and isinstance(info.shape[0], int) and not info.records and info.shape[0] > 0:
            ways += ["entries", "entries", "largest"]
        if info.records < 2 and info.kind in "bi":
            ways += ["answers", "answers"]
        way = r.choice(ways)
        if way == "answers":
            among = r.choice([None, 3, 4])
            keep = r.choice(["3/4", "1/4", "9/10"])
            release = {"law": "response", "node": value.node, "keep": keep, "among": among}
            return [(release, None, lambda pair: (_answered(value, pair, float(Fraction(keep)), among), 0.0))]
        scale = self.scale()
        factor = Fraction(r.choice([1, 1, 2, -1]))
        if way == "largest":
            distribution = r.choice(["gumbel", "laplace", "exponential", "gaussian"])
            count = r.randint(1, min(2, int(info.shape[0])))  # type: ignore[arg-type]
            release = {
                "law": "argmax",
                "node": value.node,
                "draw": number,
                "entry": None,
                "factor": str(factor),
                "count": count,
            }
            drawn = Drawn(distribution, scale, info.shape)

            def lost(pair: Pair) -> tuple[float, float]:
                b = pair.at(scale, 0) * abs(float(factor))
                if distribution == "gumbel":
                    return _chosen(value, pair, b, count), 0.0
                if distribution == "gaussian":
                    return 0.0, _renyi_of_largest(value, pair, b)
                return _larger_of_two(value, pair, b, distribution), 0.0

            return [(release, drawn, lost)]
        distribution = r.choice(["laplace", "gaussian", "discrete-laplace"])
        if distribution == "discrete-laplace":
            factor = Fraction(1)
        if way == "noise":
            release = {
                "law": distribution,
                "node": value.node,
                "draw": number,
                "entry": None,
                "factor": str(factor),
            }
            return [
                (
                    release,
                    Drawn(distribution, scale, info.shape),
                    _noise_loss(value, distribution, scale, factor),
                )
            ]
        found = []
        for k in r.sample(range(int(info.shape[0])), r.randint(1, int(info.shape[0]))):  # type: ignore[arg-type]
            part = self.step("pick", [value], {"inside": False, "places": [k], "shape": (), "lead": 0})
            if part is None:
                continue
            if r.random() < 0.5:
                scale = self.scale()
            release = {
                "law": distribution,
                "node": part.node,
                "draw": number + len(found),
                "entry": None,
                "factor": str(factor),
            }
            found.append(
                (release, Drawn(distribution, scale, ()), _noise_loss(part, distribution, scale, factor))
            )
        return found  # type: ignore[return-value]


def _is_truth(info: Info) -> bool:
    return info.kind == "b"


def _splits(count: int) -> list[tuple[int, ...]]:
    found = [(count,), (1, count), (count, 1)] + [(a, count // a) for a in range(2, count) if count % a == 0]
    return [*found, ()] if count == 1 else found


def _delta(value: Value, pair: Pair) -> Any:
    left, right = value.samples[pair.number]
    if np.shape(left) != np.shape(right):
        raise WrongRuleError(
            f"a value of the shapes {np.shape(left)} and {np.shape(right)} is released: {value.info}"
        )
    return np.asarray(right, dtype=float) - np.asarray(left, dtype=float)


def _noise_loss(
    value: Value, distribution: str, scale: Poly, factor: Fraction
) -> Callable[[Pair], tuple[float, float]]:
    def lost(pair: Pair) -> tuple[float, float]:
        b, moved = pair.at(scale, 0) * abs(float(factor)), _delta(value, pair)
        if distribution == "gaussian":
            return 0.0, float((moved**2).sum()) / (2 * b * b)
        return float(np.abs(moved).sum()) / b, 0.0

    return lost


def _chosen(value: Value, pair: Pair, b: float, count: int) -> float:
    """Return the largest log ratio of the ``count`` largest positions, for Gumbel noise of scale b."""
    tables = []
    for one in value.samples[pair.number]:
        scores = np.asarray(one, dtype=float) / b
        log: dict[Any, float] = {}
        for order in permutations(range(len(scores)), count):
            left, found = list(range(len(scores))), 0.0
            for k in order:
                found += scores[k] - np.logaddexp.reduce(scores[left])
                left.remove(k)
            log[order] = found
        tables.append(log)
    return max(abs(tables[0][order] - tables[1][order]) for order in tables[0])


def _larger_of_two(value: Value, pair: Pair, b: float, distribution: str) -> float:
    """Return the largest log ratio for the larger of two scores, or 0 for more scores (not computed)."""
    logs = []
    for one in value.samples[pair.number]:
        scores = np.asarray(one, dtype=float) / b
        if len(scores) != 2:
            return 0.0
        t = abs(scores[0] - scores[1])
        small = -t + math.log((2 + t) / 4) if distribution == "laplace" else -t - math.log(2)
        large = math.log1p(-math.exp(small))
        logs.append((large, small) if scores[0] >= scores[1] else (small, large))
    return max(abs(logs[0][k] - logs[1][k]) for k in (0, 1))


def _renyi_of_largest(value: Value, pair: Pair, b: float) -> float:
    """Return a rho that the position of the largest score with Gaussian noise exceeds on this pair."""
    z = np.linspace(-9, 9, 601)
    density = np.exp(-z * z / 2) * (z[1] - z[0]) / math.sqrt(2 * math.pi)
    tables = []
    for one in value.samples[pair.number]:
        scores = np.asarray(one, dtype=float) / b
        below = [[ndtr(z + own - other) for other in np.delete(scores, k)] for k, own in enumerate(scores)]
        tables.append([float((density * np.prod(rows, axis=0)).sum()) for rows in below])
    if min(map(min, tables)) < 1e-6:
        return 0.0
    return max(
        math.log(sum(p**a * q ** (1 - a) for p, q in zip(*two, strict=True))) / (a - 1) / a
        for two in (tables, tables[::-1])
        for a in (1.01, 2.0, 4.0, 8.0)
    )


def _answered(value: Value, pair: Pair, p: float, among: int | None) -> float:
    moved = int(np.count_nonzero(_delta(value, pair)))
    other = 1 - p if among is None else (1 - p) / among
    same = p if among is None else p + other
    return moved * abs(math.log(same / other))
