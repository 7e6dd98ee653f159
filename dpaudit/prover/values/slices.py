"""Follow slices of records whose ends depend on the number of records, such as ``data[: len(data) // 2]``.

The slice is a filtered array of public length. Its mask is the recorded step ``part`` of a column of ones.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.info import at_or_before
from dpaudit.prover.values.operations import binary, content, shape_of
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.values import Array, Filtered, Private, Public

__all__ = ["is_by_size", "length_of_slice", "part_of", "sliced"]

End = tuple[int, int, int]
#: The remedy for ends that are not understood.
REMEDY = "the ends of a slice must be constants or quotients of the number of records, such as n // 2"


def is_by_size(run: Run, inner: Private, keys: tuple[Any, ...]) -> bool:
    """Return whether an index is a slice of records with a public end that is not constant."""
    ends = (keys[0].start, keys[0].stop) if isinstance(keys[0], slice) else ()
    return (
        inner.info.records == 1
        and not isinstance(inner.shape[0], int)
        and not run.s.length_is_private
        and any(isinstance(content(end), Public) for end in ends)
    )


def sliced(run: Run, inner: Private, keys: tuple[Any, ...]) -> Any:
    """Return ``inner[start:stop]`` as a filtered array."""
    key = keys[0]
    if len(keys) != 1 or key.step not in (None, 1):
        run.refuse("a slice that depends on the number of records requires step 1 and no other index")
    start, stop = (_end(run, end) for end in (0 if key.start is None else key.start, key.stop))
    whole = run.step("cast", [run.step("ones", [inner])], {"kind": "f", "python": False})
    mask = run.step("part", [run.step("gt", [whole, 0.0])], {"start": start, "stop": stop})
    run.record.slices[mask.node] = {"start": start, "stop": stop}
    found = Array(Filtered(inner, mask))
    return run.verify(found, lambda array, a, b: array[a:b], Array(inner), key.start, key.stop)


def part_of(run: Run, mask: Private) -> dict[str, Any] | None:
    """Return the ends of the slice that a mask selects, or None if the mask is no slice."""
    return run.record.slices.get(mask.node)


def length_of_slice(run: Run, params: dict[str, Any]) -> Any:
    """Return the length of a slice, which is public."""
    first, last = params["start"], (1, 0, 1) if params["stop"] is None else params["stop"]
    if not (at_or_before(first, last) and at_or_before(last, (1, 0, 1))):
        run.refuse("the length of a slice requires ends that are in order and at most the number of records")
    low, high = _position(run, first), _position(run, last)
    return high if first == (0, 0, 1) else binary(run, "sub", high, low)


def _position(run: Run, end: End) -> Any:
    """Return an end as a program value."""
    a, b, c = end
    samples = list(run.worlds.sizes)
    found: Any = Public(["size"], (), "i", samples, python=True)
    found = found if a == 1 else binary(run, "mul", a, found)
    found = found if b == 0 else binary(run, "add", found, b)
    return found if c == 1 else binary(run, "floordiv", found, c)


def _end(run: Run, value: Any) -> End | None:
    """Return an end of a slice as (a, b, c), the largest integer at most (a N + b) / c."""
    inner = content(value)
    if inner is None:
        return None
    whole = type(inner) is int or (isinstance(inner, Public) and inner.kind == "i" and shape_of(inner) == ())
    found = None
    if whole:
        found = _affine(["number", str(inner)] if type(inner) is int else inner.expression)
    if found is None:
        return run.refuse(REMEDY)
    if not at_or_before(0, found):
        run.refuse("an end of a slice may be negative for few records, and would count from the last record")
    return found


def _affine(expression: Any) -> End | None:
    """Return an integer expression of N as (a, b, c), or None if it has another form.

    With whole numbers x, k and r: -floor(x / c) = floor((c - 1 - x) / c),
    floor(x / c) + k = floor((x + c k) / c), and floor(floor(x / c) / r) = floor(x / (c r)) for r > 0.
    """
    kind, *parts = expression
    if kind == "size":
        return 1, 0, 1
    if kind == "number":
        number = Fraction(parts[0])
        return (0, int(number), 1) if number.denominator == 1 else None
    if kind not in ("add", "sub", "mul", "floordiv", "neg"):
        return None
    ends = [_affine(part) for part in parts]
    if any(end is None for end in ends):
        return None
    (a, b, c), *rest = [end for end in ends if end is not None]
    if kind == "neg":
        return _negative((a, b, c))
    [(u, v, w)] = rest
    if kind == "floordiv":
        return (a, b, c * v) if u == 0 and w == 1 and v > 0 else None
    if kind == "mul":
        if c != 1 or w != 1 or (a != 0 and u != 0):
            return None
        return (a * v, b * v, 1) if u == 0 else (u * b, v * b, 1)
    if kind == "sub":
        u, v, w = _negative((u, v, w))
    if c == 1:
        (a, b, c), (u, v, w) = (u, v, w), (a, b, c)
    return (a + c * u, b + c * v, c) if w == 1 else None


def _negative(end: End) -> End:
    a, b, c = end
    return -a, c - 1 - b, c
