"""Write entries of recorded steps as exact linear combinations of entries of earlier steps.

An atom is a pair (node, place): the entry at this place, in C order, of a step that is not linear itself.
Entries of steps that never change are dropped. So the change of an entry between the two sides is the same
combination of the changes of its atoms, in real arithmetic.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Any, cast

from dpaudit.kernel.values.info import Constants, Info

__all__ = ["Atom", "combination"]

Atom = tuple[int, int]
#: Entries of operands, with their coefficients.
Sources = Iterator[tuple[Atom, Fraction]]

ONE = Fraction(1)


def combination(nodes: Sequence[Any], infos: Sequence[Info], node: int) -> dict[Atom, Fraction]:
    """Return the coefficients of the atoms of a step that is a single number."""
    found: dict[Atom, Fraction] = {}
    total: dict[Atom, Fraction] = {(node, 0): ONE}
    pending = [(-node, 0)]
    while pending:  # later steps first, so that the coefficient of an entry is complete when it is expanded
        number, place = heapq.heappop(pending)
        atom = (-number, place)
        factor = total.pop(atom)
        if not infos[atom[0]].private or not factor:
            continue
        sources = _sources(nodes, infos, *atom)
        if sources is None:
            found[atom] = factor
            continue
        for source, times in sources:
            if source not in total:
                heapq.heappush(pending, (-source[0], source[1]))
            total[source] = total.get(source, Fraction(0)) + factor * times
    return found


def _sources(nodes: Sequence[Any], infos: Sequence[Info], node: int, place: int) -> Sources | None:
    """Return the entries of which an entry is the sum, or None if the step is not linear."""
    op, ids, params = nodes[node]
    operands = [infos[k] for k in ids]
    shapes = [info.shape for info in (infos[node], *operands)]
    if op not in LINEAR or not all(type(n) is int for shape in shapes for n in shape):
        return None
    return LINEAR[op](infos[node], ids, operands, params, place)


def _sum_of_two(
    info: Info, ids: Any, operands: Any, params: Any, place: int, sign: int = 1
) -> Sources | None:
    if "b" in [one.kind for one in operands]:  # numpy adds Booleans by "or"
        return None
    signs = (ONE, Fraction(sign))
    return iter(
        [((k, _below(info, one, place)), factor) for k, one, factor in zip(ids, operands, signs, strict=True)]
    )


def _difference(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    return _sum_of_two(info, ids, operands, params, place, -1)


def _negative(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    return None if operands[0].kind == "b" else iter([((ids[0], place), -ONE)])


def _cast(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    """A cast to a wider kind keeps the number."""
    kept = "bif".index(operands[0].kind) <= "bif".index(info.kind)
    return iter([((ids[0], place), ONE)]) if kept else None


def _product(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    """Expand a product with a constant."""
    for k, other in ((0, 1), (1, 0)):
        values = _constants(operands[other])
        if values is not None and operands[k].kind != "b":
            factor = _entry(values, _below(info, operands[other], place))
            return iter([((ids[k], _below(info, operands[k], place)), factor)])
    return None


def _quotient(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    values = _constants(operands[1])
    factor = None if values is None else _entry(values, _below(info, operands[1], place))
    if not factor or operands[0].kind == "b":
        return None
    return iter([((ids[0], _below(info, operands[0], place)), 1 / factor)])


def _summed(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    shape, axes = operands[0].shape, params["axes"]
    kept = iter(_position(_extents(info), place))
    start = [0 if axis in axes else next(kept) for axis in range(len(shape))]
    places = [_place(shape, start)]
    for axis in axes:
        step = prod(shape[axis + 1 :])
        places = [one + k * step for one in places for k in range(shape[axis])]
    return iter([((ids[0], one), ONE) for one in places])


def _running(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    return iter([((ids[0], k), ONE) for k in range(place + 1)])


def _same(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    return iter([((ids[0], place), ONE)])


def _rows(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    width = prod(_extents(info)[1:])
    row, rest = divmod(place, width)
    return iter([((ids[0], (params["start"] + row * params["step"]) * width + rest), ONE)])


def _picked(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    places, [operand] = params["places"], operands
    width = prod(operand.shape[operand.records :] if params["inside"] else operand.shape)
    row, chosen = divmod(place, len(places))
    return iter([((ids[0], row * width + places[chosen]), ONE)])


def _stacked(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    part, rest = divmod(place, prod(_extents(info)[1:]))
    return iter([((ids[part], rest), ONE)])


def _matrix(info: Info, ids: Any, operands: Any, params: Any, place: int) -> Sources | None:
    table = operands[0]
    count, width = table.shape
    row, line = (0, place) if params["over"] else divmod(place, 1 if params["vector"] else count)
    line = 0 if params["vector"] else line
    return iter([((ids[1], row * width + k), _entry(table.values, line * width + k)) for k in range(width)])


def _constants(operand: Info) -> Constants | None:
    return None if operand.private else operand.values


def _entry(values: Constants, place: int) -> Fraction:
    return values.number(values.numerators[place])


def _position(shape: Sequence[int], place: int) -> list[int]:
    found = []
    for extent in reversed(shape):
        place, k = divmod(place, extent)
        found.append(k)
    return found[::-1]


def _place(shape: Sequence[int], position: Sequence[int]) -> int:
    found = 0
    for extent, k in zip(shape, position, strict=True):
        found = found * extent + k
    return found


def _below(info: Info, operand: Info, place: int) -> int:
    """Return the place in an operand that numpy's broadcasting uses for a place of the result."""
    shape, whole = _extents(operand), _extents(info)
    position = _position(whole, place)[len(whole) - len(shape) :]
    return _place(shape, [0 if extent == 1 else k for extent, k in zip(shape, position, strict=True)])


def _extents(info: Info) -> tuple[int, ...]:
    """Return the shape of a step, of which ``_sources`` has checked that it is known."""
    return cast("tuple[int, ...]", info.shape)


LINEAR: dict[str, Callable[[Info, Any, Any, Any, int], Sources | None]] = {
    "add": _sum_of_two,
    "sub": _difference,
    "neg": _negative,
    "cast": _cast,
    "mul": _product,
    "div": _quotient,
    "sum": _summed,
    "cumsum": _running,
    "reshape": _same,
    "rows": _rows,
    "pick": _picked,
    "stack": _stacked,
    "matrix": _matrix,
}
