"""Check that malformed files of distributions, images and kernels raise an error of dpaudit."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from dpaudit.core.errors import DpauditError
from dpaudit.distributions import (
    AboveThreshold,
    Bernoulli,
    BinaryTree,
    ConvolvedIntegers,
    Counts,
    CountVector,
    Laplace,
    NoisyArgmax,
    PolyaDifference,
    Shuffle,
    ShuffledMultiset,
    SumMod,
    ValuesAboveThreshold,
    WrappedMod,
    distribution_from_json,
    image_from_json,
    kernel_from_json,
)

COINS = [Bernoulli(p="1/3"), Bernoulli(p="1/2")]
FILES = [
    (distribution_from_json, NoisyArgmax([0, 1], Laplace(scale=1))),
    (distribution_from_json, ConvolvedIntegers(COINS)),
    (distribution_from_json, CountVector(COINS, outcomes=2)),
    (distribution_from_json, ShuffledMultiset(COINS)),
    (distribution_from_json, WrappedMod(COINS[0], modulus=5, offset=np.array([1, 2]))),
    (distribution_from_json, PolyaDifference(shape="1/3", log_ratio=1)),
    (kernel_from_json, AboveThreshold(threshold=0, threshold_noise=Laplace(scale=1), query_noise=None)),
    (
        kernel_from_json,
        ValuesAboveThreshold(threshold=0, threshold_noise=Laplace(scale=1), query_noise=Laplace(scale=1)),
    ),
    (kernel_from_json, BinaryTree(leaves=3, noise=Laplace(scale=1))),
    (image_from_json, SumMod(5)),
    (image_from_json, Counts(2)),
    (image_from_json, Shuffle(row_ndim=1)),
]


@pytest.mark.parametrize(("read", "value"), FILES, ids=[type(value).__name__ for _, value in FILES])
def test_every_field_is_checked(read, value):
    """Dropping, adding or replacing any field raises a dpaudit error, and the file itself is read back
    equal."""
    data = value.to_json()
    assert read(copy.deepcopy(data)) == value
    for key in data:
        dropped = {k: v for k, v in data.items() if k != key}
        if (key, type(value)) != ("row_ndim", Shuffle):  # None is its default
            with pytest.raises(DpauditError):
                read(dropped)
        for absurd in ("x", -7, [[]], {"law": "none"}, {"float": "nan"}, 2.5):
            if (key, absurd) == ("threshold", -7):
                continue  # a threshold like any other
            with pytest.raises(DpauditError):
                read({**copy.deepcopy(data), key: absurd})
    with pytest.raises(DpauditError):
        read({**data, "extra": 1})
    for absurd in (None, [], "law", 3):
        with pytest.raises(DpauditError):
            read(absurd)
