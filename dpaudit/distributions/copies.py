"""Handle independent copies: read outcomes of distributions with a batch shape, and combine their atoms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions.base import Distribution

__all__ = ["joint_atoms", "one_whole", "trailing"]


def trailing(x: Any, batch_shape: tuple[int, ...]) -> NDArray[Any]:
    """Return ``x`` as an array. Raise ``InvalidParameterError`` unless its last axes are ``batch_shape``."""
    array = np.asarray(x)
    if array.shape[max(array.ndim - len(batch_shape), 0) :] != batch_shape:
        raise InvalidParameterError(
            f"outcomes of this distribution must have shape (..., *{batch_shape}), got {array.shape}.",
            code="E-OUTCOME-SHAPE",
        )
    return array


def one_whole(x: Any, batch_shape: tuple[int, ...]) -> list[Any]:
    """Return the entries of one outcome of exactly ``batch_shape``, in C order, as Python numbers."""
    array = np.asarray(x)
    if array.shape != batch_shape:
        raise InvalidParameterError(
            f"one outcome must have shape {batch_shape}, got {array.shape}.", code="E-OUTCOME-SHAPE"
        )
    return list(array.ravel().tolist())


def joint_atoms(
    distributions: Sequence[Distribution], shape: tuple[int, ...], tail: float
) -> Iterator[tuple[NDArray[Any], arb]]:
    """Return the joint outcomes of independent distributions, arrays of ``shape``, and their probabilities.

    Each coordinate leaves out at most tail / len(distributions), so that the union bound gives ``tail`` in
    total.
    """
    parts = [
        list(distribution.atoms(tail=tail / max(len(distributions), 1))) for distribution in distributions
    ]

    def combine() -> Iterator[tuple[NDArray[Any], arb]]:
        for choice in itertools.product(*parts):
            probability = arb(1)
            for _, factor in choice:
                probability *= factor
            yield np.array([value for value, _ in choice]).reshape(shape), probability

    return combine()
