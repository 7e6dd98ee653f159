"""Check that callers cannot change cached results of distributions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.distributions import (
    CountVector,
    Gaussian,
    PolyaDifference,
    RandomisedResponse,
    ShuffledMultiset,
    SubsampledGaussianSum,
    Sum,
    SumMod,
    WrappedMod,
)
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.scalar import ScalarDistribution
from dpaudit.kernel.t2.shuffle import exact_response_delta
from tests.distributions.catalogue import CASES, INTEGER_CASES

LEVELS = np.array([0.1, 0.5, 0.9])
BITS = [RandomisedResponse(symbols=3, truth=bit, epsilon=1) for bit in (0, 1, 2)]

COMPOSED: dict[str, Distribution] = {
    "counts": CountVector([*BITS, BITS[0]], outcomes=3),
    "counts of equal users": CountVector([BITS[0]] * 4, outcomes=3),
    "multiset": ShuffledMultiset(BITS),
    "polya difference": PolyaDifference(shape="1/2", log_ratio="1/2"),
    "subsampled": SubsampledGaussianSum([1, "1/2"], rate="1/4", sigma=2),
    "shuffled gaussian": ShuffledMultiset([Gaussian(sigma=1).shift(k) for k in (0, 1, 1)]),
    "sum of bits modulo": SumMod(7).image_distribution(BITS),
}


def spoil(answer: Any) -> None:
    """Overwrite a result, if it is writable."""
    if isinstance(answer, np.ndarray) and answer.flags.writeable and answer.size:
        answer.fill(-7)
    elif isinstance(answer, list):
        answer.clear()


def answers(distribution: Distribution, at: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"logp": distribution.logp(at)}
    if isinstance(distribution, ScalarDistribution):
        found |= {"cdf": distribution.cdf(at), "sf": distribution.sf(at), "ppf": distribution.ppf(LEVELS)}
    return found


@pytest.mark.parametrize("distribution", [case.distribution for case in CASES], ids=repr)
def test_densities_tails_and_quantiles_are_the_callers_own(distribution: ScalarDistribution) -> None:
    """Overwriting a result changes neither the next result nor the argument."""
    at = np.asarray(distribution.ppf(LEVELS))
    asked, levels = at.copy(), LEVELS.copy()
    kept = {name: np.copy(value) for name, value in answers(distribution, at).items()}
    for value in answers(distribution, at).values():
        spoil(value)
    for name, value in answers(distribution, at).items():
        np.testing.assert_array_equal(value, kept[name], err_msg=name)
    np.testing.assert_array_equal(at, asked)
    np.testing.assert_array_equal(LEVELS, levels)


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_distributions_keep_their_tables(name: str) -> None:
    """Overwriting a result changes no table of a distribution of many users."""
    distribution = COMPOSED[name]
    at = distribution.sample(np.random.default_rng(1))
    kept = np.copy(distribution.logp(at))
    spoil(distribution.logp(at))
    spoil(distribution.sample(np.random.default_rng(1)))
    np.testing.assert_array_equal(distribution.logp(at), kept)
    np.testing.assert_array_equal(distribution.sample(np.random.default_rng(1)), at)


ATOMIC: list[Distribution] = [
    *(case.distribution for case in INTEGER_CASES if case.distribution.support.finite),
    *(COMPOSED[name] for name in ("counts", "counts of equal users", "multiset", "sum of bits modulo")),
    WrappedMod(INTEGER_CASES[0].distribution, modulus=5),
]


@pytest.mark.parametrize("distribution", ATOMIC, ids=repr)
def test_remembered_atoms_are_the_callers_own(distribution: Distribution) -> None:
    """Overwriting atoms or emptying their list does not change the next atoms."""
    kept = [(np.copy(value), float(p)) for value, p in distribution.atoms()]
    atoms = list(distribution.atoms())
    for value, _ in atoms:
        spoil(value)
    spoil(atoms)
    again = [(np.copy(value), float(p)) for value, p in distribution.atoms()]
    assert len(again) == len(kept) > 0
    for (value, p), (before, chance) in zip(again, kept, strict=True):
        np.testing.assert_array_equal(value, before)
        assert p == chance


def test_a_sum_that_is_remembered_follows_the_list_of_its_users() -> None:
    """Changing the summed list in place gives another sum, and does not change the old one."""
    users: list[Distribution] = [RandomisedResponse(symbols=2, truth=0, epsilon=1) for _ in range(3)]
    first = Sum().image_distribution(users)
    before = first.logp(np.arange(4))
    users[0] = RandomisedResponse(symbols=2, truth=1, epsilon=1)
    second = Sum().image_distribution(users).logp(np.arange(4))
    np.testing.assert_array_equal(first.logp(np.arange(4)), before)
    chances = np.exp(second)
    q = 1 / (1 + np.exp(-1.0))
    plain = np.convolve(np.convolve([q, 1 - q], [q, 1 - q]), [1 - q, q])
    np.testing.assert_allclose(chances, plain, rtol=1e-12)
    assert not np.allclose(np.exp(before), plain)


def test_a_delta_that_is_remembered_is_a_number_of_its_own() -> None:
    """Arithmetic in place on a cached ball makes another ball."""

    def delta() -> Any:
        return exact_response_delta(users=4, local=Fraction(1), epsilon=Fraction(1, 2))

    before = float(delta())
    value = delta()
    value += 1
    value *= 3
    assert float(delta()) == before
