"""Find the pairs of neighbours with the largest privacy cost on the most expensive path, to aim an attack.

The program is followed again, with candidate pairs instead of random sample data. The released values on both
sides of a pair determine the cost of the pair. These numbers are floats and only rank the pairs. A lower
bound comes only from runs of the function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.core.claims.base import Adjacency
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import BrokenHarnessError, DpauditError
from dpaudit.prover.explore import explore
from dpaudit.prover.symbols import RefusedError
from dpaudit.prover.values.programs import unwrapped_program
from dpaudit.prover.values.prove import PrivacyClaim, _Attempt, _setting
from dpaudit.prover.values.run import Record
from dpaudit.prover.values.samples import Worlds

__all__ = ["Aimed", "aimed"]

Columns = dict[str, Any]
Pair = tuple[Columns, Columns]

#: Limits on paths, candidate pairs, positions of the changed record, and thresholds of the program.
MAX_PATHS, MAX_PAIRS, MAX_PLACES, MAX_NUMBERS = 200, 160, 24, 6


@dataclass(frozen=True)
class Aimed:
    """The pairs of inputs with the largest cost, most expensive first.

    ``line`` is the line of the release with the largest cost. It is empty if no release changes.
    """

    pairs: list[tuple[Any, Any]]
    line: str


def aimed(
    program: Callable[..., Any],
    claim: PrivacyClaim,
    *,
    data: Records | Table,
    pairs: Sequence[tuple[Any, Any]],
    most: int,
    files: Sequence[str] = (),
    seconds: float = 10.0,
) -> Aimed:
    """Return at most ``most`` of the most expensive pairs among ``pairs`` and their variations.

    Parameters
    ----------
    program, claim, data, files
        As for ``prove_values``.
    pairs : sequence of pairs of inputs
        Neighbouring inputs that fit the declaration.
    most : int
        Largest number of pairs to return.
    seconds : float
        Time limit in seconds (10).

    Returns
    -------
    Aimed
        The pairs. There are none if the program cannot be followed up to a value that changes.

    Raises
    ------
    BrokenHarnessError
        The interpreter contradicts numpy or CPython.
    """
    until = time.monotonic() + seconds
    known = [_smaller_first(_columns(data, left), _columns(data, right)) for left, right in pairs]
    candidates = [*known, *_at_other_positions(known, data, claim.adjacency)][:MAX_PAIRS]
    try:
        costs, line, numbers = _costs(program, claim, data, candidates, files, until)
        at_thresholds = list(_at_numbers(known, data, numbers))[:MAX_PAIRS]
        if at_thresholds:
            more, other, _ = _costs(program, claim, data, at_thresholds, files, until)
            line = other if max(more, default=0) > max(costs, default=0) else line
            candidates, costs = [*candidates, *at_thresholds], [*costs, *more]
    except BrokenHarnessError:
        raise
    except DpauditError:
        return Aimed([], "")
    order = sorted(range(len(candidates)), key=lambda k: -costs[k])
    best = [candidates[k] for k in order if costs[k] > 0][:most]
    return Aimed([(data.build(left), data.build(right)) for left, right in best], line if best else "")


def _smaller_first(left: Columns, right: Columns) -> Pair:
    """Return the smaller dataset first, which the rules of add-remove require. The cost is that of both."""
    sizes = [len(next(iter(side.values()))) for side in (left, right)]
    return (left, right) if sizes[0] <= sizes[1] else (right, left)


def _columns(data: Records | Table, built: Any) -> Columns:
    if isinstance(data, Table):
        return dict(built)
    kind: Any = {"b": bool, "i": np.int64, "f": float, "t": object}[data.columns[""].kind]
    return {"": np.asarray(built, dtype=kind)}


def _at_other_positions(pairs: Sequence[Pair], data: Records | Table, adjacency: Adjacency) -> Iterator[Pair]:
    """Yield the same change of the first record at other positions."""
    if adjacency is Adjacency.ADD_REMOVE or data.group > 1:
        return
    for left, right in pairs:
        size = len(next(iter(left.values())))
        for place in dict.fromkeys([size - 1, *range(1, min(size, MAX_PLACES))]):
            if 0 < place < size:
                yield _swapped(left, place), _swapped(right, place)


def _swapped(columns: Columns, place: int) -> Columns:
    order = np.arange(len(next(iter(columns.values()))))
    order[[0, place]] = order[[place, 0]]
    return {name: array[order] for name, array in columns.items()}


def _at_numbers(pairs: Sequence[Pair], data: Records | Table, numbers: Sequence[float]) -> Iterator[Pair]:
    """Yield pairs whose changed record is at a threshold of the program, for records of one number."""
    for left, right in pairs:
        for name, column in data.columns.items():
            if column.width is not None or column.kind == "t" or len(left[name]) != len(right[name]):
                continue
            changed = np.flatnonzero(left[name] != right[name])
            if len(changed) != 1:
                continue
            for number in numbers:
                inside = (column.low is None or number >= column.low) and (
                    column.high is None or number <= column.high
                )
                if inside and (column.kind == "f" or number == int(number)):
                    other = left[name].copy()
                    other[changed[0]] = number
                    if not np.array_equal(other, right[name]):
                        yield {**right, name: other}, right


def _costs(
    program: Callable[..., Any],
    claim: PrivacyClaim,
    data: Records | Table,
    pairs: Sequence[Pair],
    files: Sequence[str],
    until: float,
) -> tuple[list[float], str, list[float]]:
    """Return the cost of each pair, the line of the most expensive release, and thresholds of the program."""
    function, fixed, receiver = unwrapped_program(program)
    followed = frozenset({function.__code__.co_filename, *files})
    setting = _setting(claim, data)()
    attempt = _Attempt(function, receiver, fixed, claim, data, setting, followed, False, True, until, False)
    names = list(data.columns)
    counts = [len(side[names[0]]) for pair in pairs for side in pair]
    attempt.worlds = Worlds(setting, counts)
    attempt.arrays = {name: [side[name] for pair in pairs for side in pair] for name in names}
    tables: list[Sequence[Any]] = []
    try:
        tables = [path.events for path in explore(attempt._once, max_paths=MAX_PATHS).paths]
    except RefusedError:
        if attempt.broken is not None:
            raise attempt.broken from None
    record = attempt.record
    numbers = _numbers(record)
    best, line = [0.0] * len(pairs), ""
    routes = [_releases(record, events) for events in tables] if tables else [_stopped(record)]
    for route in routes:
        totals, most_expensive, place = [0.0] * len(pairs), 0.0, ""
        for node, distribution, scale in route:
            losses = [_loss(record.samples.get(node), k, distribution, scale) for k in range(len(pairs))]
            totals = [a + b for a, b in zip(totals, losses, strict=True)]
            if max(losses, default=0.0) > most_expensive:
                most_expensive, place = max(losses), record.lines[node]
        if max(totals, default=0.0) > max(best, default=0.0):
            line = place
        best = [max(a, b) for a, b in zip(best, totals, strict=True)]
    return best, line, numbers


def _numbers(record: Record) -> list[float]:
    """Return the ends and midpoints of the intervals in which a record affects a value."""
    found: list[float] = []
    for info in record.infos:
        for guard in info.guard or ():
            ends = [float(end) for end in (*guard[1:3], *guard[5]) if end is not None]
            found += [sum(ends) / len(ends), *ends] if ends else []
    return list(dict.fromkeys(found))[:MAX_NUMBERS]


def _releases(record: Record, events: Sequence[Any]) -> list[tuple[int, str, float]]:
    """Return the node, distribution and scale of each release of a path."""
    scales: list[float] = []
    found = []
    for kind, text, *_ in [event for event in events if event[0] == "show"]:
        words = str(text).split()
        if words[:1] == ["draw"] and len(words) == 3:
            written = record.draws[int(words[2])][1]
            scale = written[1] if isinstance(written, list) and written[0] == "number" else 1
            scales.append(float(Fraction(scale)))
        elif kind == "show" and words[:1] == ["release"] and len(words) == 2:
            release = record.releases[int(words[1])]
            draw = release.get("draw")
            factor = abs(float(Fraction(release.get("factor", 1))))
            scale = 1.0 if draw is None else scales[draw] * factor
            found.append((int(release["node"]), str(release["law"]), scale))
    return found


def _stopped(record: Record) -> list[tuple[int, str, float]]:
    """Return the releases of a refused program, or its last computed value if it released nothing."""
    found = [(int(release["node"]), str(release["law"]), 1.0) for release in record.releases]
    last = [(len(record.nodes) - 1, "laplace", 1.0)] if record.nodes else []
    return found or last


def _loss(samples: Any, pair: int, distribution: str, scale: float) -> float:
    if samples is None:
        return 0.0
    try:
        left, right = (np.asarray(samples[2 * pair + side], dtype=float) for side in (0, 1))
    except (TypeError, ValueError):
        return 0.0
    if left.shape != right.shape:
        return 1e9  # the number of values distinguishes the inputs
    change = np.abs(left - right)
    if not np.all(np.isfinite(change)):
        return 0.0
    if distribution == "gaussian":
        return float((change**2).sum()) / (2 * scale * scale)
    if distribution in ("argmax", "choice"):
        return float(np.ptp(left - right)) / scale if change.size else 0.0
    return float(change.sum()) / scale
