"""Follow hidden samples of a fixed number of records, drawn without replacement.

``rng.choice(n, m, replace=False)`` and ``rng.permutation(n)[:m]`` are positions of records. The value of
``data[positions]`` is recorded as the rows for which a hidden Boolean is true. The kernel bounds Gaussian
noise on their sum (``kernel.values.fixed_samples``). Every other use of the positions shows them.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from dpaudit.kernel.values.polynomials import Poly
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.values import Array, Draw, Filtered, Private, Sample

__all__ = ["first_of", "hides_sample", "new_sample", "sample_size", "sampled_rows"]


def new_sample(run: Run, population: tuple[Any, ...], count: int | None) -> Sample | None:
    """Return positions of ``count`` records, or of all in random order, or None if they must be shown."""
    s = run.s
    everybody = Poly.symbol("N") if s.size is None else s.size
    fewest = s.at_least if s.size is None else s.size
    if population != (everybody,) or s.adjacency != "replace-one" or run.on_plain_data or run.repeating:
        return None
    if count is not None and not 1 <= count <= fewest:
        run.refuse(f"the program may raise an error: a sample of {count} of {fewest} records is drawn")
    run.uniforms += 1
    samples: list[Any] = []
    for side in run.worlds.sides:
        [size] = run.worlds.shape((everybody,), side)
        drawn = run.rng.permutation(size) if side % 2 == 0 else samples[-1]
        samples.append(drawn if count is None or side % 2 else np.sort(drawn[:count]))
    return Sample(run.uniforms, count, (everybody if count is None else count,), samples)


def first_of(run: Run, order: Sample, key: Any) -> Array | None:
    """Return the first ``m`` positions of a permutation, or None for other parts, which show it."""
    plain = isinstance(key, slice) and key.start in (None, 0) and key.step in (None, 1)
    if order.count is not None or order.published is not None or not plain or type(key.stop) is not int:
        return None
    fewest = run.s.at_least if run.s.size is None else run.s.size
    if not 1 <= key.stop <= fewest:
        run.refuse(f"the first {key.stop} of {fewest} positions are not a sample")
    if order.used:
        run.refuse("one random draw is used twice")
    order.used = True
    samples = [apply(lambda one: np.sort(one[: key.stop]), one) for one in order.samples]
    return Array(Sample(order.number, key.stop, (key.stop,), samples))


def sampled_rows(run: Run, value: Any, rows: Private, chosen: Sample, key: Any) -> Array | None:
    """Return the rows of a hidden sample, or None if the positions must be shown."""
    whole = rows.info.records == 1 and rows.shape[:1] == (
        Poly.symbol("N") if run.s.size is None else run.s.size,
    )
    if chosen.published is not None or chosen.count is None or not whole or run.s.adjacency != "replace-one":
        return None
    chosen.used = True
    masks = [
        np.isin(np.arange(size), one) for size, one in zip(run.worlds.sizes, chosen.samples, strict=True)
    ]
    params = {"count": chosen.count, "number": chosen.number}
    found = Array(Filtered(rows, run.step("sample", [], params, masks)))
    return run.verify(found, operator.getitem, value, key)  # type: ignore[no-any-return]


def sample_size(run: Run, mask: Private) -> int | None:
    """Return how many records a mask selects if it is a hidden sample."""
    op, _, params = run.record.nodes[mask.node]
    return int(params["count"]) if op == "sample" else None


def hides_sample(run: Run, base: Private, draw: Draw) -> bool:
    """Return whether a noisy value costs less because it is a sum over a hidden sample."""
    fact = base.info.facts.get("sampled_sum")
    if fact is None or draw.distribution != "gaussian" or draw.positive.number is None:
        return False
    return bool(run.s.group == 1 and fact[1] < (run.s.at_least if run.s.size is None else run.s.size))
