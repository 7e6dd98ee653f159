"""Write a refutation as the witness that ``dpaudit/certify/witnesses/program_event.py`` recomputes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpaudit.core.views import PUBLIC, View
from dpaudit.prover.explore import Path
from dpaudit.prover.refutation import Ray, cancelling, exact_shifts

__all__ = ["event_body"]


def event_body(
    fields: Mapping[str, Any],
    paths: Sequence[Path],
    group: Sequence[Path],
    found: Mapping[str, Any],
    ray: Ray | None,
) -> dict[str, Any] | None:
    """Return the body of a witness, or None if neither shifts nor multipliers are found for it.

    ``fields`` are the fields of the certificate. ``found`` is the witness that ``refuted`` returned.
    """
    places = {id(path): i for i, path in enumerate(paths)}
    body: dict[str, Any] = {
        "view": View.of(PUBLIC).to_json(),
        **{name: fields[name] for name in ("data", "adjacency", "tree")},
        "start": dict(found["start"]),
        "change": dict(found["change"]),
    }
    if ray is None:
        moved = {name: Fraction(step) for name, step in found["change"].items()}
        shifts = exact_shifts(group[0], moved)
        if shifts is None:
            bare = {"kind": "shown", "paths": [places[id(group[0])]], "point": {}, "infinite": True}
            left = cancelling(group[0], moved)
            return None if left is None else {**body, **bare, "weights": [str(weight) for weight in left]}
        straight = {"kind": "straight", "paths": [places[id(group[0])]], "point": {}, "infinite": False}
        return {**body, **straight, "weights": _written(shifts)}
    weights = [
        [_written(dict(zip(path.comparisons, on_rows, strict=True))), [str(weight) for weight in on_shown]]
        for path, (on_rows, on_shown) in zip(ray.paths, ray.multipliers, strict=True)
    ]
    return {
        **body,
        "kind": "ray",
        "paths": [places[id(path)] for path in ray.paths],
        "point": _written(ray.point),
        "weights": weights,
        "infinite": ray.infinite,
    }


def _written(numbers: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: str(number) for name, number in numbers.items()}
