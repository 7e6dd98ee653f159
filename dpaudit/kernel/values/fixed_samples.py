"""Bound Gaussian noise on a sum over a hidden sample of a fixed number of records.

The step ``sample`` holds Booleans, of which ``count`` are true, at positions that are drawn uniformly without
replacement, independently of the data and of all other randomness. ``number`` tells samples apart. Nobody
sees a sample. A step that uses it is bounded like any other, as it is the same sample on both sides
(``hidden_draw``). So noise on its sum costs as much as without a sample.

Amplification. A Gaussian release with ``sampled`` costs less: that of rule ``poisson-subsampled-gaussian``
under replace-one, with the rate m/n of a sample of m of n records. The proof is in
``t2/subsampled_gaussian.py``, *Samples of a fixed size*. Its conditions are these:

* The released value is c times a sum over the sample of one row for each record, and row i is a function of
  record i and of earlier outcomes (``sampled_facts``). All rows are in one ball of radius r, so that the rows
  times c are in a ball of radius D = abs(c) r. The number n is public and at least m + 1.
* The sample has no other use on the path (``require_single_use``). So all that happened before the release is
  independent of the sample, all rows are fixed given what happened, and nothing afterwards uses the sample.

Proof of the radius. A row of d entries from a to b is at most sqrt(d) (b - a) / 2 away from the vector with
all entries (a + b) / 2. A row of norm at most R is at most R away from 0. A public number of rows is summed,
so a centre z only adds the public vector c m z to the sum, and the proof applies to the rows minus z. QED
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.costs import Cost, mechanism
from dpaudit.kernel.values.elementwise import Rule
from dpaudit.kernel.values.info import Info, Setting, Support, fit, magnitude, need
from dpaudit.kernel.values.polynomials import ONE, ZERO, Poly, upper_root

__all__ = ["SAMPLES", "require_single_use", "sampled_cost", "sampled_facts"]

#: Facts: (number, m) of a sample, and (number, m, r, the step of the rows) of the rows that are 0 outside of
#: it, and of a multiple of their sum.
OF_SAMPLES = ("sample", "sampled", "sampled_sum")


def _records(s: Setting) -> int | Poly:
    return Poly.symbol("N") if s.size is None else s.size


def sample(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound the Booleans of a hidden sample, which are the same on both sides."""
    need(not s.length_is_private, "a sample of a fixed size requires a public number of records")
    count = p["count"]
    need(type(p["number"]) is int, "a sample requires a number")
    need(type(count) is int and 1 <= count <= _fewest(s), "a sample must have from 1 to all records")
    found = Info(shape=(_records(s),), kind="b", low=ZERO, high=ONE, records=1, aligned=(0, None, 1))
    return fit(s, found)


SAMPLES: dict[str, Rule] = {"sample": sample}


def _fewest(s: Setting) -> int:
    return s.at_least if s.size is None else s.size


def sampled_facts(
    s: Setting, op: str, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any], found: Info
) -> Info:
    """Return the bounds of a step with its own facts about samples, not those of its operands."""
    if op != "sample" and not any(name in info.facts for info in infos for name in OF_SAMPLES):
        return found
    facts = {name: fact for name, fact in found.facts.items() if name not in OF_SAMPLES}
    return replace(found, facts={**facts, **_facts(s, op, ids, infos, p, found)})


def _facts(
    s: Setting, op: str, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any], found: Info
) -> dict[str, Any]:
    if op == "sample":
        return {"sample": (p["number"], p["count"])}
    first = infos[0].facts
    if op == "cast":  # no value changes
        return {name: first[name] for name in ("sampled", "sampled_sum") if name in first}
    if op == "reshape" and "sample" in first and _one_for_each(s, found) and found.entries == 1:
        return {"sample": first["sample"]}
    if op == "where" and "sample" in first:
        return _rows(s, ids, infos, found)
    if op == "sum" and "sampled" in first and tuple(p["axes"]) == (0,):
        return {"sampled_sum": first["sampled"]}
    return _multiple(op, infos, found) if op in ("mul", "div") else {}


def _one_for_each(s: Setting, info: Info) -> bool:
    """Return whether the value has exactly one row for each record, in order."""
    return info.records == 1 and info.shape[:1] == (_records(s),) and info.aligned == (0, None, 1)


def _rows(s: Setting, ids: Sequence[int], infos: Sequence[Info], found: Info) -> dict[str, Any]:
    """Return the fact of rows that are 0 outside of the sample."""
    mask, rows, zero = infos
    fits = _one_for_each(s, rows) and _one_for_each(s, mask) and found.shape == rows.shape
    fits = fits and mask.entries == 1 and len(mask.shape) == len(rows.shape)  # one Boolean for each row
    nothing = zero.constant is not None and zero.constant == ZERO and not zero.records
    radius = _radius(s, rows)
    if not fits or not nothing or len(rows.shape) > 2 or radius is None:
        return {}
    return {"sampled": (*mask.facts["sample"], radius, ids[1])}


def _radius(s: Setting, rows: Info) -> Fraction | None:
    """Return the radius of a ball that has every row of either side in it."""
    squared, most, entries = s.largest(rows.norm2), s.largest(magnitude(s, rows)), rows.entries.number
    bounds = [] if squared is None else [upper_root(squared)]
    width = None if rows.low is None or rows.high is None else s.largest(rows.high - rows.low)
    if entries is not None:
        whole = upper_root(entries)
        bounds += [whole * one for one in (most, width and width / 2) if one is not None]
    return min(bounds, default=None)


def _multiple(op: str, infos: Sequence[Info], found: Info) -> dict[str, Any]:
    """Return the fact of a sum times a constant, or divided by one."""
    places = (0, 1) if op == "mul" else (0,)
    for place in places:
        other = infos[1 - place].constant
        number = None if other is None else other.number
        same = found.shape == infos[place].shape  # no entry is repeated
        if "sampled_sum" in infos[place].facts and number and same:
            name, count, radius, rows = infos[place].facts["sampled_sum"]
            factor = abs(number) if op == "mul" else 1 / abs(number)
            return {"sampled_sum": (name, count, radius * factor, rows)}
    return {}


def sampled_cost(s: Setting, info: Info, distribution: str, scale: Poly) -> tuple[Cost, Support]:
    """Return the cost of Gaussian noise of ``scale`` on a multiple of a sum over a sample."""
    need(distribution == "gaussian", "a sum over a hidden sample requires Gaussian noise")
    need(
        s.adjacency == "replace-one" and s.group == 1,
        "a sum over a sample of a fixed size requires adjacency='replace-one' of one record",
    )
    need("sampled_sum" in info.facts, "the released value is not a sum over a hidden sample")
    _, count, radius, _ = info.facts["sampled_sum"]
    rate, sigma = Fraction(count, _fewest(s)), scale.number
    need(rate < 1, "a sample of all records hides nothing")
    need(sigma is not None, "noise on a sum over a hidden sample requires a constant scale")
    if not radius or sigma is None:
        return Cost(), info.support
    parameters = {"sensitivity": str(radius), "rate": str(rate), "variance": str(sigma * sigma)}
    return Cost(mechanisms=(mechanism("poisson-subsampled-gaussian", parameters),)), info.support


def require_single_use(
    nodes: Sequence[Any], infos: Sequence[Info], releases: Sequence[dict[str, Any]], others: Iterable[int]
) -> None:
    """Require that the sample of each release with ``sampled`` has no other use.

    ``releases`` are all of one path, and ``others`` the steps that it uses in any other way.
    """
    sampled = [release for release in releases if "sampled" in release]
    if not sampled:
        return
    behind = _samples_behind(nodes)
    used = [node for release in releases for node in _steps_in(release)] + list(others)
    for release in sampled:
        number, _, _, rows = infos[release["node"]].facts["sampled_sum"]
        need(
            sum(number in behind[node] for node in used) == 1 and not behind[rows],
            "a hidden sample is used twice (draw a new sample for each release)",
        )


def _samples_behind(nodes: Sequence[Any]) -> list[frozenset[int]]:
    """Return the numbers of the samples that each step depends on."""
    found: list[frozenset[int]] = []
    for op, ids, params in nodes:
        own = frozenset({params["number"]}) if op == "sample" else frozenset[int]()
        found.append(own.union(*(found[k] for k in ids)))
    return found


def _steps_in(release: Any) -> list[int]:
    """Return all steps that a release names."""
    if not isinstance(release, dict):
        return []
    found = [release[key] for key in ("node", "by") if key in release] + list(release.get("nodes", ()))
    return found + [node for value in release.values() for node in _steps_in(value)]
