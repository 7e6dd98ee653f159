"""Search a proof that left <= right on a range: split boxes until each is certain by a method of the kernel.

Nothing here has to be trusted: ``check_inequality`` carries out every leaf again. What the search says of a
point at which the inequality is false is certain by itself: exact numbers, both sides in intervals.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpaudit.kernel.ball import precision
from dpaudit.kernel.inequalities.check import PRECISIONS, Traced, parts, ways
from dpaudit.kernel.inequalities.domain import Integers, Parameter, Piece
from dpaudit.kernel.inequalities.evaluate import Box, Ends, Gradient, values
from dpaudit.kernel.inequalities.leaf import Part

__all__ = ["Budget", "SideFound", "prove_side"]

#: A box narrower than this is not split again, and an unbounded one beyond this start neither.
NARROWEST = Fraction(1, 2**60)
FARTHEST = 2**64
MOST_DEPTH = 200
POINT_BITS = 128


class Budget:
    """Limits of a search: ``boxes`` for each piece of the range, ``seconds`` of this process for all.

    Only ``boxes`` decides what is tried, so that a slow machine finds the same proof. ``seconds`` ends it.
    """

    def __init__(self, *, seconds: float, boxes: int) -> None:
        self.boxes, self._end = boxes, time.process_time() + seconds

    def share(self, parts: int) -> Budget:
        """Return a budget of one of ``parts`` parts of the boxes, which ends when this one does."""
        made = Budget(seconds=0.0, boxes=self.boxes // parts)
        made._end = self._end
        return made

    def spent(self, boxes: int) -> bool:
        """Whether nothing is left after ``boxes`` boxes of a piece."""
        return boxes > self.boxes or time.process_time() > self._end


@dataclass
class SideFound:
    """The result for one inequality of one path.

    ``trees`` are the proofs by piece, if all are proved. ``at`` are exact values of the real parameters at
    which it is false. ``stuck`` is a box that is left, by parameter.
    """

    near: bool = False
    trees: list[Any] | None = None
    at: Mapping[str, Fraction] | None = None
    stuck: Mapping[str, str] = field(default_factory=dict)
    boxes: int = 0


@dataclass
class _Piece:
    """The result for one product of pieces: a tree, a point, or a box that is left."""

    tree: Any = None
    point: list[Fraction] | None = None
    left_over: Box = ()
    boxes: int = 0


def prove_side(traced: Traced, name: str, ranges: Mapping[str, Parameter], budget: Budget) -> SideFound:
    """Search with open ends at infinity, then at 0, until every piece is proved."""
    best = SideFound()
    for near in (False, True):
        trees: list[Any] = []
        for product in parts(traced, ranges, near=near):
            middle = _Middle(product, [isinstance(ranges[each], Integers) for each in traced.real])
            found = _prove_piece(ways(traced, name, product, near=near), middle, budget)
            best.boxes += found.boxes
            if found.point is not None:
                best.at = _in_parameters(traced, product, found.point)
                return best
            if found.tree is None:
                best.stuck = _in_words(traced, product, found.left_over)
                break
            trees.append(found.tree)
        else:
            best.near, best.trees = near, trees
            return best
    return best


@dataclass(frozen=True)
class _Middle:
    """Finds a point in a box at which the inequality may be false. Parameters that are ``whole`` are
    integers.
    """

    product: Sequence[Piece]
    whole: Sequence[bool]

    def of(self, box: Box) -> list[Fraction] | None:
        """Return a point near the middle of a box, None if there is no integer in it."""
        found = [
            _whole_middle(piece, ends) if whole else _middle(ends)
            for piece, whole, ends in zip(self.product, self.whole, box, strict=True)
        ]
        return [x for x in found if x is not None] if None not in found else None


def _middle(ends: Ends) -> Fraction:
    lo, hi = ends
    return (lo + hi) / 2 if hi is not None else 2 * lo + 1


def _whole_middle(piece: Piece, ends: Ends) -> Fraction | None:
    lo, hi = ends
    value = piece.value(_middle(ends))
    for integer in (math.floor(value), math.ceil(value)):
        away = piece.sign * (integer - piece.shift)
        if away or not piece.inverse:
            x = 1 / away if piece.inverse else away
            if lo <= x and (hi is None or x <= hi):
                return x
    return None


def _prove_piece(about: Sequence[Part], middle: _Middle, budget: Budget) -> _Piece:
    """Search by each way alone, then with all ways for each box."""
    everything = dict(enumerate(about))
    tried = [({k: each}, budget.share(8)) for k, each in everything.items()]
    used, found = 0, _Piece()
    for some, limits in [*tried, (everything, budget)]:
        found = _Search(some, middle, limits).run()
        used += found.boxes
        if found.tree is not None or found.point is not None:
            break
    found.boxes = used
    return found


def _in_parameters(
    traced: Traced, product: Sequence[Piece], point: Sequence[Fraction]
) -> dict[str, Fraction]:
    return {name: piece.value(x) for name, piece, x in zip(traced.real, product, point, strict=True)}


def _in_words(traced: Traced, product: Sequence[Piece], box: Box) -> dict[str, str]:
    """Return the ends of a box in the parameters, as text."""
    found = {}
    for name, piece, (lo, hi) in zip(traced.real, product, box, strict=True):
        ends = [_end_in_words(piece, lo), _end_in_words(piece, hi)]
        rising = (piece.sign > 0) is not piece.inverse
        found[name] = " to ".join(ends if rising else ends[::-1])
    return found


def _end_in_words(piece: Piece, x: Fraction | None) -> str:
    if x is None:
        return str(piece.shift) if piece.inverse else ("∞" if piece.sign > 0 else "-∞")
    if piece.inverse and x == 0:
        return "∞" if piece.sign > 0 else "-∞"
    value = piece.value(x)
    return str(value) if len(str(value)) < 20 else f"{float(value):.6g}"


class _Search:
    """Depth first, the lower half of a box first. ``about`` are the ways that are tried, by number."""

    def __init__(self, about: Mapping[int, Part], middle: _Middle, budget: Budget) -> None:
        self.about, self.middle, self.budget, self.boxes = about, middle, budget, 0
        self.first = next(iter(about.values()))

    def run(self) -> _Piece:
        root: list[Any] = [None]
        todo: list[tuple[list[Any], int, list[Ends], int]] = [(root, 0, list(self.first.ends), 0)]
        while todo:
            holder, place, box, depth = todo.pop()
            self.boxes += 1
            leaf, slopes = self._leaf(box, depth)
            if leaf is not None:
                holder[place] = leaf
                continue
            point = self._false_at(box)
            if point is not None:
                return _Piece(point=point, boxes=self.boxes)
            split = None if self.budget.spent(self.boxes) or depth >= MOST_DEPTH else _split(box, slopes)
            if split is None:
                return _Piece(left_over=box, boxes=self.boxes)
            s, middle = split
            lo, hi = box[s]
            node = [s, str(middle), None, None]
            holder[place] = node
            todo.append((node, 3, [*box[:s], (middle, hi), *box[s + 1 :]], depth + 1))
            todo.append((node, 2, [*box[:s], (lo, middle), *box[s + 1 :]], depth + 1))
        return _Piece(tree=root[0], boxes=self.boxes)

    def _leaf(self, box: list[Ends], depth: int) -> tuple[str | None, Gradient]:
        """Return the method by which a box is certain, or None, and derivatives for the split."""
        bits = PRECISIONS[0]
        slopes: Gradient = {}
        unbounded = any(hi is None for _, hi in box)
        with precision(bits):
            for k, each in self.about.items():
                method, here = (each.holds(box), {}) if unbounded else each.looked(box)
                if method:
                    return f"{k} {bits}", slopes
                slopes = slopes or here
        if unbounded:
            return None, slopes
        return self._at_a_point(box) or (self._by_series(box) if depth >= 2 else None), slopes

    def _at_a_point(self, box: list[Ends]) -> str | None:
        if any(lo != hi for lo, hi in box):
            return None
        for bits in PRECISIONS[1:]:
            with precision(bits):
                for k, each in self.about.items():
                    if each.holds(box):
                        return f"{k} {bits}"
        return None

    def _by_series(self, box: list[Ends]) -> str | None:
        """Return the series about an end of the range that decides a box beside it."""
        for s, (lo, hi) in enumerate(box):
            least, most = self.first.ends[s]
            if lo == hi:
                continue
            for k, each in self.about.items():
                if lo == least and each.by_series(box, s, lower=True):
                    return f"{k} lower {s}"
                if hi == most and each.by_series(box, s, lower=False):
                    return f"{k} upper {s}"
        return None

    def _false_at(self, box: list[Ends]) -> list[Fraction] | None:
        """Return a point of a box, if the inequality is certainly false and the path certainly taken."""
        point = self.middle.of(box)
        if point is None:
            return None
        about = self.first
        with precision(POINT_BITS):
            value = values(about.table, [(x, x) for x in point], about.known, about.need)
        taken = all(
            value[each.a] < value[each.b] if each.wanted else value[each.b] < value[each.a]
            for each in about.conditions
        )
        return point if taken and value[about.right] < value[about.left] else None


def _split(box: Sequence[Ends], slopes: Gradient) -> tuple[int, Fraction] | None:
    """Return the variable that matters most and where to split it, None if no side can be split."""
    wide = [s for s, (lo, hi) in enumerate(box) if hi is None or hi - lo > NARROWEST]
    if not wide:
        return None
    s = max(wide, key=lambda k: _weight(box, k, slopes))
    lo, hi = box[s]
    if hi is None:
        return None if lo >= FARTHEST else (s, Fraction(2) if lo < 2 else lo * lo)
    if lo > 0 and hi > 4 * lo and lo * hi > Fraction(1, 2**40):
        return s, Fraction(math.isqrt(int(lo * hi * 2**80)), 2**40)
    return s, (lo + hi) / 2


def _weight(box: Sequence[Ends], s: int, slopes: Gradient) -> float:
    lo, hi = box[s]
    if hi is None:
        return math.inf if lo < 2 else 4 / math.log2(lo)
    relative = float((hi - lo) / max(abs(lo), abs(hi), Fraction(1, 10**9)))
    if any(each is None for _, each in box) or not slopes:
        return relative
    slope = slopes.get(s)
    if slope is not None and slope.finite:
        return float(abs(slope).hi) * float(hi - lo)
    return 0.0 if all(each.finite for each in slopes.values()) else relative
