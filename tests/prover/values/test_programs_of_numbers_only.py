"""Right programs that treat symbols unlike numbers, keep state, or never end without numbers.

The search for events runs the unmodified program with symbols in place of noise. None of these programs may
be refuted, changed or left running.
"""

import functools
import sys
import time
import types

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpaudit import Interval, PureDP, Records, audit
from dpaudit.core.verdicts import VerdictKind
from dpaudit.distributions import Laplace

ONE = PureDP(epsilon=1)
DATA = Records(Interval(0, 1), size=6)
PLACE = types.SimpleNamespace(z=None)
STORE: dict[str, float] = {}


def total(data):
    """The sum, in words that a proof does not follow."""
    return sorted([float(np.clip(data, 0, 1).sum()), 0.0])[1]


def scipy_noise(data, rng):
    return float(np.clip(data, 0, 1).sum()) + stats.laplace.rvs(scale=1)


def global_noise(data, rng):
    return total(data) + np.random.laplace(scale=1.0)  # noqa: NPY002


def two_sources(data, rng):
    return total(data) + np.random.laplace(scale=1.0) + 0.0 * rng.laplace(scale=1.0)  # noqa: NPY002


def sampled_row(data, rng):
    return float(pd.Series(np.clip(data, 0, 1)).sample(1).iloc[0]) + rng.laplace(scale=1.0)


def alarms(data, rng):
    one, other = (data.sum() + rng.laplace(scale=1.0) for _ in range(2))
    return int((one < -3) + (other < -3))  # numpy adds truth values by "or"


def unlike_float(data, rng):
    z = total(data) + rng.laplace(scale=1.0)
    return total(data) * 1000 if z > 9 and not isinstance(z, float) else z


def unlike_array(data, rng):
    z = total(data) + rng.laplace(scale=1.0)
    return total(data) * 1000 if z > 9 and np.asarray(z).dtype.kind != "f" else z


def not_hashed(data, rng):
    z = total(data) + rng.laplace(scale=1.0)
    if z > 9:
        try:
            return {}[z]
        except TypeError:
            return total(data) * 1000
        except KeyError:
            return z
    return z


def in_coins(coins, data):
    z = total(data) + coins.draw(Laplace(scale=1), site="noise")
    return total(data) * 1000 if z > 9 and not isinstance(z, float) else z


def own_attribute(data, rng):
    if not hasattr(own_attribute, "noise"):
        own_attribute.noise = rng.laplace(scale=1.0)
    return total(data) + own_attribute.noise


@functools.lru_cache
def kept_noise():
    return np.random.default_rng().laplace(scale=1.0)


def cached(data):
    return total(data) - kept_noise() + np.random.default_rng().laplace(scale=1.0)


def in_a_namespace(data, rng):
    if PLACE.z is None:
        PLACE.z = rng.laplace()
    return total(data) + rng.laplace()


def in_a_global(data, rng):
    if "z" not in STORE:
        STORE["z"] = rng.laplace()
    return data.sum() + STORE["z"]


def in_a_default(data, rng, kept=[]):  # noqa: B006  the default is what the test is about
    kept.append(rng.laplace())
    return data.sum() + kept[0]


def leaving(data, rng):
    z = total(data) + rng.laplace(scale=1.0)
    if z < -1000:
        sys.exit(3)
    return z


def too_large(data, rng):
    return total(data) * 1e308 + rng.laplace(scale=1e308)


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("function", "claim"),
    [
        (scipy_noise, ONE),
        (global_noise, ONE),
        (two_sources, ONE),
        (sampled_row, PureDP(epsilon="1/2")),
        (alarms, PureDP(epsilon="101/100")),
        (unlike_float, ONE),
        (unlike_array, ONE),
        (not_hashed, ONE),
        (in_coins, ONE),
        (own_attribute, ONE),
        (cached, ONE),
        (in_a_namespace, ONE),
        (in_a_global, ONE),
        (in_a_default, ONE),
        (leaving, ONE),
        (too_large, ONE),
    ],
)
def test_a_right_program_is_not_refuted(function, claim):
    """Nor is one that keeps its noise, whose law no single run shows. All objects still hold numbers."""
    found = audit(function, claim, data=DATA, max_samples=200, seconds=3)
    assert found.verdict is VerdictKind.INCONCLUSIVE
    kept = (PLACE.z, *STORE.values(), getattr(own_attribute, "noise", None), *in_a_default.__defaults__[0])
    assert {type(value) for value in kept} <= {float, type(None)}
    assert type(kept_noise()) is float


def retrying(data, rng):
    while True:
        try:
            value = float(rng.laplace(scale=1.0))
            break
        except Exception:
            continue
    return total(data) + value


def stubborn(data, rng):
    while True:
        try:
            value = float(rng.laplace(scale=1.0))
            break
        except BaseException:
            continue
    return total(data) + value


@pytest.mark.parametrize("function", [retrying, pytest.param(stubborn, marks=pytest.mark.slow)])
def test_a_program_that_tries_again_until_it_has_a_number_ends(function):
    """The search ends at its time limit, though the program catches every error."""
    start = time.monotonic()
    found = audit(function, ONE, data=DATA, max_samples=200, seconds=3)
    assert found.verdict is VerdictKind.INCONCLUSIVE
    assert time.monotonic() - start < 100
