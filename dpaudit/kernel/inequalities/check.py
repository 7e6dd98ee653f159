"""Check a proof that left <= right on a range, from its evidence alone.

The evidence has the range, a table of nodes for each combination of single values, the paths of the function
with their conditions, and for each path and side a tree of splits for every piece of the range. Here the
pieces are computed from the range, and the boxes from the splits. Each leaf names its method, which is
carried out again.

That the nodes are those of a function is no part of this check. Whoever has the function traces it again and
compares. Without it, the words of the expression say what is proved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.kernel.ball import precision
from dpaudit.kernel.inequalities.domain import (
    REAL,
    Parameter,
    Piece,
    combinations,
    pieces,
    read_parameter,
    real_range,
)
from dpaudit.kernel.inequalities.evaluate import Ends
from dpaudit.kernel.inequalities.expression import Table, read_number
from dpaudit.kernel.inequalities.leaf import Condition, Part, parts_of
from dpaudit.kernel.kernel_t0 import CertificateError

__all__ = [
    "FORMAT",
    "PRECISIONS",
    "PROOF",
    "Checked",
    "Traced",
    "check_inequality",
    "parts",
    "read_ranges",
    "read_traced",
    "ways",
]

#: The name of this kind of proof in evidence.
PROOF = "inequality"
FORMAT = 1

MOST_LEAVES = 1_000_000
MOST_DEPTH = 400
MOST_PARAMETERS = 12
MOST_PATHS = 4096
PRECISIONS = (64, 128, 512, 2048)


@dataclass(frozen=True)
class Checked:
    """What a proof says: the range, the names of the inequalities, and the number of boxes."""

    ranges: Mapping[str, Parameter]
    names: tuple[str, ...]
    boxes: int


@dataclass(frozen=True)
class Traced:
    """One path of a function: its inequalities by name, where the conditions hold."""

    table: Table
    real: tuple[str, ...]
    conditions: tuple[Condition, ...]
    sides: Mapping[str, tuple[int, int]]


def check_inequality(evidence: Any) -> Checked:
    """Check a proof.

    Raises
    ------
    CertificateError
        The evidence is malformed or too large, a piece of the range, a path or an inequality is missing, or a
        box is not certain by its method.
    """
    try:
        return _checked(evidence)
    except (ArithmeticError, ValueError, RecursionError) as error:
        raise CertificateError(f"the inequality could not be checked: {type(error).__name__}.") from error


def _checked(evidence: Any) -> Checked:
    data = _fields(
        evidence, {"proof", "format", "range", "combinations"}, "a proof of an inequality", {"source"}
    )
    if data["proof"] != PROOF or data["format"] != FORMAT:
        raise CertificateError(f"a proof of an inequality must have format {FORMAT}, got {data['format']!r}.")
    ranges = read_ranges(data["range"])
    wanted = combinations(ranges)
    found = data["combinations"]
    if not isinstance(found, list) or len(found) != len(wanted):
        raise CertificateError(f"there must be {len(wanted)} combinations of values.")
    budget = _Budget()
    names: set[str] | None = None
    for each, values in zip(found, wanted, strict=True):
        here = _check_combination(each, values, ranges, budget)
        if names is not None and here != names:
            raise CertificateError(f"each combination must have the inequalities {sorted(names)}.")
        names = here
    return Checked(ranges, tuple(sorted(names or ())), budget.used)


class _Budget:
    used = 0

    def take(self) -> None:
        self.used += 1
        if self.used > MOST_LEAVES:
            raise CertificateError(f"a proof must have at most {MOST_LEAVES} boxes.")


def _fields(data: Any, names: set[str], what: str, optional: Iterable[str] = ()) -> Mapping[str, Any]:
    if not isinstance(data, dict) or not names <= set(data) <= names.union(optional):
        raise CertificateError(f"{what} must have the fields {sorted(names)}.")
    return data


def read_ranges(data: Any) -> dict[str, Parameter]:
    """Return the range of each parameter. Raises ``CertificateError`` if it is malformed."""
    if (
        not isinstance(data, dict)
        or not len(data) <= MOST_PARAMETERS
        or not all(type(k) is str for k in data)
    ):
        raise CertificateError(f"a range must have at most {MOST_PARAMETERS} parameters.")
    return {name: read_parameter(each) for name, each in data.items()}


def read_traced(data: Any, values: Mapping[str, str]) -> list[tuple[Traced, Any]]:
    """Return the paths of one combination, each with its proofs.

    Raises ``CertificateError`` if they are malformed, or if their conditions do not cover every case.
    """
    fields = _fields(data, {"values", "nodes", "given", "paths"}, "a combination")
    if fields["values"] != dict(values):
        raise CertificateError(f"a combination must have the values {dict(values)}.")
    real = tuple(name for name, value in values.items() if value == REAL)
    table, where = Table.read(fields["nodes"], n_variables=len(real))
    given = [_condition([*_list(each, 3), True], where) for each in _list(fields["given"])]
    found: list[tuple[Traced, Any]] = []
    for path in _list(fields["paths"]):
        one = _fields(path, {"conditions", "sides"}, "a path")
        conditions = [_condition(each, where) for each in _list(one["conditions"])]
        sides, proofs = _sides(one["sides"], where)
        found.append((Traced(table, real, (*given, *conditions), sides), proofs))
    _require_every_case([traced.conditions[len(given) :] for traced, _ in found])
    return found


def _require_every_case(paths: Sequence[Sequence[Condition]]) -> None:
    """Require that the conditions of the paths form a full binary tree: then every point is on a path."""
    if not 0 < len(paths) <= MOST_PATHS:
        raise CertificateError(f"there must be between 1 and {MOST_PATHS} paths, got {len(paths)}.")
    if len(paths) == 1 and not paths[0]:
        return
    if not all(paths) or len({(c.a, c.b, c.strict) for c, *_ in paths}) != 1:
        raise CertificateError("the paths must branch on the same condition.")
    for wanted in (True, False):
        _require_every_case([rest for first, *rest in paths if first.wanted is wanted])


def _condition(data: Any, where: Sequence[int]) -> Condition:
    a, b, strict, wanted = _list(data, 4)
    if type(strict) is not bool or type(wanted) is not bool:
        raise CertificateError("a condition must say whether it is strict and wanted.")
    return Condition(_node(a, where), _node(b, where), strict, wanted)


def _node(i: Any, where: Sequence[int]) -> int:
    if type(i) is not int or not 0 <= i < len(where):
        raise CertificateError(f"there is no node {i!r}.")
    return where[i]


def _list(data: Any, length: int | None = None) -> list[Any]:
    if not isinstance(data, list) or (length is not None and len(data) != length):
        raise CertificateError(
            f"expected a list{'' if length is None else f' of {length}'}, got {str(data)[:80]}."
        )
    return data


def _sides(data: Any, where: Sequence[int]) -> tuple[dict[str, tuple[int, int]], dict[str, Any]]:
    sides: dict[str, tuple[int, int]] = {}
    proofs: dict[str, Any] = {}
    for each in _list(data):
        one = _fields(each, {"name", "left", "right", "near", "trees"}, "an inequality")
        name = one["name"]
        if type(name) is not str or name in sides:
            raise CertificateError("an inequality must have a name of its own.")
        sides[name] = (_node(one["left"], where), _node(one["right"], where))
        proofs[name] = one
    if not sides:
        raise CertificateError("a path must have an inequality.")
    return sides, proofs


def parts(traced: Traced, ranges: Mapping[str, Parameter], *, near: bool) -> list[tuple[Piece, ...]]:
    """Return the products of pieces of the real parameters of a path."""
    each = [pieces(real_range(ranges[name]), near=near) for name in traced.real]
    found = list(itertools.islice(itertools.product(*each), MOST_PATHS + 1))
    if len(found) > MOST_PATHS:
        raise CertificateError(f"a range must have at most {MOST_PATHS} pieces.")
    return found


def ways(traced: Traced, name: str, product: Sequence[Piece], *, near: bool) -> list[Part]:
    """Return the ways to decide one inequality of a path on a product of pieces."""
    outs = [*traced.sides[name], *(i for each in traced.conditions for i in (each.a, each.b))]
    variables = [piece.parameter(k) for k, piece in enumerate(product)]
    table, (left, right, *others) = traced.table.with_variables(outs, variables)
    conditions = [
        Condition(others[2 * k], others[2 * k + 1], each.strict, each.wanted)
        for k, each in enumerate(traced.conditions)
    ]
    return parts_of(
        table,
        ends=[piece.ends for piece in product],
        left=left,
        right=right,
        conditions=conditions,
        open_ends=frozenset(k for k, piece in enumerate(product) if piece.open_lo),
        cleared=near,
    )


def _check_combination(
    data: Any, values: Mapping[str, str], ranges: Mapping[str, Parameter], budget: _Budget
) -> set[str]:
    names: set[str] | None = None
    for traced, proofs in read_traced(data, values):
        if names is not None and set(traced.sides) != names:
            raise CertificateError("each path must have the same inequalities.")
        names = set(traced.sides)
        for name, proof in proofs.items():
            _check_side(traced, name, proof, ranges, budget)
    assert names is not None
    return names


def _check_side(
    traced: Traced, name: str, proof: Mapping[str, Any], ranges: Mapping[str, Parameter], budget: _Budget
) -> None:
    near = proof["near"]
    if type(near) is not bool:
        raise CertificateError("near must be true or false.")
    products = parts(traced, ranges, near=near)
    for product, tree in zip(products, _list(proof["trees"], len(products)), strict=True):
        _check_tree(ways(traced, name, product, near=near), tree, budget)


def _check_tree(about: Sequence[Part], tree: Any, budget: _Budget) -> None:
    todo: list[tuple[Any, list[Ends], int]] = [(tree, list(about[0].ends), 0)]
    while todo:
        node, box, depth = todo.pop()
        if isinstance(node, list):
            if depth >= MOST_DEPTH:
                raise CertificateError(f"a tree must have at most {MOST_DEPTH} levels.")
            s, at, first, second = _list(node, 4)
            low, high = _split(box, s, at)
            todo += [(second, high, depth + 1), (first, low, depth + 1)]
        else:
            budget.take()
            _check_leaf(about, box, node)


def _split(box: list[Ends], s: Any, at: Any) -> tuple[list[Ends], list[Ends]]:
    if type(s) is not int or not 0 <= s < len(box):
        raise CertificateError(f"a split must be of one of {len(box)} variables, got {s!r}.")
    middle = read_number(at)
    lo, hi = box[s]
    if not (lo < middle and (hi is None or middle < hi)):
        raise CertificateError(f"a split must be inside the box, got {middle} for {lo} to {hi}.")
    return [*box[:s], (lo, middle), *box[s + 1 :]], [*box[:s], (middle, hi), *box[s + 1 :]]


def _check_leaf(about: Sequence[Part], box: list[Ends], leaf: Any) -> None:
    """Carry out a leaf's method: ``w bits``, or ``w lower s`` or ``w upper s`` for a series, by way ``w``."""
    match leaf.split(" ") if type(leaf) is str else []:
        case [way, bits] if way in _numbers(about) and bits in map(str, PRECISIONS):
            with precision(int(bits)):
                certain = about[int(way)].holds(box) is not None
        case [way, "lower" | "upper" as end, s] if way in _numbers(about) and s in _numbers(box):
            certain = about[int(way)].by_series(box, int(s), lower=end == "lower")
        case _:
            raise CertificateError(f"{str(leaf)[:40]!r} is no method for a box.")
    if not certain:
        raise CertificateError(f"the box {_shown(box)} is not certain by {leaf!r}.")


def _numbers(items: Sequence[Any]) -> list[str]:
    return [str(k) for k in range(len(items))]


def _shown(box: Sequence[tuple[Fraction, Fraction | None]]) -> str:
    return ", ".join(f"[{lo}, {'oo' if hi is None else hi}]" for lo, hi in box)[:200]
