"""Follow ``distributions[x]`` for a private integer x: a list of distributions that differ in one number.

The number becomes a private value itself, the entry of a constant table at the place x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit import distributions
from dpaudit.prover.values.gather import gathered
from dpaudit.prover.values.numpy_rules import python_number_rule
from dpaudit.prover.values.operations import content
from dpaudit.prover.values.randomness import Distribution, Moved
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.tabulated import Tabulated
from dpaudit.prover.values.values import Array, Private

__all__ = ["chosen_distribution"]


def chosen_distribution(
    run: Run, items: Sequence[Any], key: Any, index: Callable[[Run, Any, Any], Any]
) -> Any:
    """Return ``items[key]``, or None unless this is a list of distributions and a private integer."""
    place = content(key)
    if not isinstance(place, Private) or place.info.kind != "i" or place.shape != () or not items:
        return None
    if all(isinstance(item, Tabulated) for item in items):
        return _response(run, items, key, index)
    if all(isinstance(item, Distribution | Moved) for item in items):
        return _shifted(run, items, key, index)
    return None


def _response(run: Run, items: Sequence[Any], key: Any, index: Any) -> Tabulated:
    first = items[0]
    if any(item.kind is not distributions.RandomisedResponse for item in items):
        run.refuse("a private integer can only choose among randomised responses, or shifts of one noise")
    reals = [_constant(run, item) for item in items]
    if len({(real.symbols, real.epsilon, real.keep) for real in reals}) > 1:
        run.refuse("randomised responses that a private integer chooses may differ in their truth only")
    truth = _entry(run, [real.truth for real in reals], key, index)
    return Tabulated(first.kind, {**first.given, "truth": truth})


def _constant(run: Run, item: Tabulated) -> Any:
    if any(isinstance(value, Private | list) for value in item.given.values()):
        run.refuse("distributions that a private integer chooses must be constants")
    return run.plain(item.kind, **item.given)


def _shifted(run: Run, items: Sequence[Any], key: Any, index: Any) -> Moved:
    noises = [item.noise if isinstance(item, Moved) else item for item in items]
    first = noises[0]
    same = all(noise.equals(first) for noise in noises)
    offsets = [content(item.offset) if isinstance(item, Moved) else 0 for item in items]
    whole = all(type(offset) in (int, np.int64) for offset in offsets)
    if not same or not whole or first.distribution == "bernoulli":
        run.refuse("a private integer can only choose among shifts of one constant noise by integers")
    return Moved(first, _entry(run, offsets, key, index))


def _entry(run: Run, numbers: Sequence[int | Fraction], key: Any, index: Any) -> Any:
    table = Array(np.array([int(number) for number in numbers], dtype=np.int64))
    found = python_number_rule("i")(run, gathered(run, table, [key], index))
    return content(found)
