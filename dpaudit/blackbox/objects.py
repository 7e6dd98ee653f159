"""List the parts of an object in an output that an adversary can read.

They are the fields of data classes, attributes, parameters and fitted properties of estimators in the style
of scikit-learn (recognised by ``get_params``), and for any other object, the state that pickle would save.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

__all__ = ["are_alike", "is_missing", "parts_of_object"]

#: Types whose content cannot be compared as numbers and text.
_CLOSED = (
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    ModuleType,
    Iterator,
    logging.Logger,
    random.Random,
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
)
Parts = list[tuple[str, Any]]


def are_alike(outputs: Any, *, least: int) -> bool:
    """Return whether this is a list of plain arrays of one dtype and shape, of ``least`` numbers or more."""
    first = outputs[0] if type(outputs) is list else None
    if type(first) is not np.ndarray or first.dtype.kind not in "biuf" or first.size < least:
        return False
    return all(
        type(item) is np.ndarray and item.dtype == first.dtype and item.shape == first.shape
        for item in outputs
    )


def is_missing(part: Any) -> bool:
    """Return whether this is the missing value of pandas, which must not be compared."""
    return type(part).__name__ in ("NAType", "NaTType")


def parts_of_object(output: Any) -> Parts | None:
    """Return the parts of an object that is not a container, with the expressions that access them.

    A data class may have no parts. The result is None for objects that cannot be read, such as functions,
    iterators and random number generators.
    """
    if isinstance(output, _CLOSED):
        return None
    if is_dataclass(output) and not isinstance(output, type):
        return [(f".{item.name}", getattr(output, item.name)) for item in fields(output)]
    held = dict(getattr(output, "__dict__", {})) | _fitted(output)
    if held:
        return [(f".{key}", part) for key, part in sorted(held.items())]
    return _saved(output) or None


def _fitted(output: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, and its readable properties that end in ``_``."""
    if isinstance(output, type) or not callable(getattr(output, "get_params", None)):
        return {}
    held: dict[str, Any] = {}
    try:
        held |= output.get_params(deep=False)
    except Exception:  # an unrelated get_params: the attributes are read without it
        held = {}
    for name in _fitted_properties(output.__class__):
        try:
            held[name] = getattr(output, name)
        except Exception:  # not fitted, or undefined for these parameters
            continue
    return held


@lru_cache(maxsize=64)
def _fitted_properties(kind: type) -> tuple[str, ...]:
    names = {name for base in kind.__mro__ for name, item in vars(base).items() if isinstance(item, property)}
    return tuple(sorted(name for name in names if name.endswith("_") and not name.startswith("_")))


def _saved(output: Any) -> Parts:
    """Return the state that pickle would save of an object without attributes, such as one with slots."""
    try:
        made = output.__reduce_ex__(2)
    except Exception:  # an object that cannot be saved cannot be read either
        return []
    if not isinstance(made, tuple):
        return []
    arguments = [part for part in made[1] if not isinstance(part, type)]
    state = made[2] if len(made) > 2 else None
    places = [(f" (argument {k + 1})", part) for k, part in enumerate(arguments)]
    for group in state if isinstance(state, tuple) else (state,):
        if isinstance(group, dict):
            places += [(f".{key}", part) for key, part in sorted(group.items(), key=repr)]
        elif group is not None:
            places.append((" (its state)", group))
    return places
