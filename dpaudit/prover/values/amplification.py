"""Follow shuffled messages, and sums over a Poisson subsample.

``coins.aggregate([RandomisedResponse(...) for x in values], Counts(k), ...)`` shows how often each message
was sent. ``Shuffle()`` shows the sorted messages, and ``Sum()`` and ``SumMod(m)`` their sum. All are
functions of the multiset of the messages. The outcome of ``SubsampledGaussianSum(rows, rate=..., sigma=...)``
is a noisy sum over a hidden sample. The kernel bounds both (``kernel.values.amplified``).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit import distributions
from dpaudit.prover.values.functions import unwrapped
from dpaudit.prover.values.operations import content, is_plain
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.tabulated import Tabulated, randomiser
from dpaudit.prover.values.values import Array, Private, Symbol

__all__ = ["Subsample", "make_subsample", "shuffled", "subsampled_sum"]

_SUBSAMPLE = inspect.signature(lambda records, *, rate, sigma=None, variance=None, dimension=None: None)


@dataclass(frozen=True, eq=False)
class Subsample(Symbol):
    """A ``SubsampledGaussianSum`` of ``records``, as the program constructed it."""

    records: Any
    options: dict[str, Any]

    def real(self) -> Any:
        """Return the distribution itself, for a run on real data."""
        return distributions.SubsampledGaussianSum(self.records, **self.options)


def make_subsample(run: Run, arguments: list[Any], options: dict[str, Any]) -> Subsample:
    """Construct ``SubsampledGaussianSum(rows, rate=..., sigma=...)`` with constant parameters."""
    try:
        given = dict(_SUBSAMPLE.bind(*arguments, **options).arguments)
    except TypeError as error:
        run.refuse(f"SubsampledGaussianSum: {error}")
    records = given.pop("records")
    if not is_plain(given):
        run.refuse("the rate and the noise of SubsampledGaussianSum must be constants")
    if isinstance(records, Array):  # the distribution copies it, but an alias is not followed
        records.shared = True
    inner = content(records)
    if not isinstance(inner, Private | np.ndarray):
        run.refuse("SubsampledGaussianSum requires an array with one row for each record")
    return Subsample(inner, {name: unwrapped(value) for name, value in given.items()})


def subsampled_sum(run: Run, found: Subsample) -> Any:
    """Publish the noisy sum over a hidden sample of the records."""
    rows = found.records
    if not isinstance(rows, Private) or rows.info.records != 1 or rows.info.kind != "f":
        return run.refuse("SubsampledGaussianSum requires floats, one row for each record")
    width: Any = tuple(rows.shape[1:])
    if len(width) > 1 or not all(type(extent) is int and extent for extent in width):
        run.refuse("SubsampledGaussianSum requires a number or a vector of fixed length for each record")
    real = run.plain(distributions.SubsampledGaussianSum, np.zeros((0, *width)), **found.options)
    if real.dimension != (width[0] if width else 0):
        run.refuse(f"the program raises an error: the records have the shape {width}, not {real.dimension}")
    release = {
        "law": "subsampled-gaussian",
        "node": rows.node,
        "rate": str(real.rate),
        "variance": str(real.sigma2),
    }
    drawn = [run.rng.normal(size=width) if width else float(run.rng.normal()) for _ in run.worlds.sides]
    shown = run.released(release, rows.info, shape=width, kind="f", samples=drawn, python=not width)
    return Array(shown) if width else shown


def shuffled(run: Run, parts: Sequence[Any], image: Any) -> Any:
    """Publish a function of the multiset of messages that are drawn by one randomiser."""
    if not all(isinstance(part, Tabulated) for part in parts):
        run.refuse("coins.aggregate requires the same kind of distribution for each user")
    found = [randomiser(run, part) for part in parts]
    first, messages = found[0][1:]
    if any(one[1:] != (first, messages) for one in found):
        run.refuse("all users must apply the same randomiser, each to one private integer")
    if isinstance(image, distributions.Counts) and image.outcomes < messages:
        run.refuse(f"the program may raise an error: Counts({image.outcomes}) of {messages} messages")
    nodes = [node for node, _, _ in found]
    release = {"law": "shuffled", "node": nodes[0], "nodes": nodes, **first}

    def applied(*symbols: Any) -> Any:
        value = image.apply([int(symbol) for symbol in symbols])
        return value if np.ndim(value) else int(value)

    samples = [apply(applied, *[run.samples[node][side] for node in nodes]) for side in run.worlds.sides]
    shape = (
        (image.outcomes,)
        if isinstance(image, distributions.Counts)
        else (len(nodes),)
        if isinstance(image, distributions.Shuffle)
        else ()
    )
    info = run.record.infos[nodes[0]]
    shown = run.released(release, info, shape=shape, kind="i", samples=samples, python=not shape)
    return Array(shown) if shape else shown
