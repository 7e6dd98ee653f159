"""The position of the largest noisy score as a distribution, in proofs of numpy functions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit import PureDP
from dpaudit.core.data import Interval, Records, sample_pair
from dpaudit.distributions import Exponential, Gumbel, Laplace, NoisyArgmax
from dpaudit.prover.values.prove import prove_values

DATA = Records(Interval(0, 1), width=3)
DISTRIBUTIONS = {"laplace": Laplace, "gumbel": Gumbel, "exponential": Exponential}


def by_distribution(noise: Any) -> Any:
    def program(coins: Any, data: Any) -> Any:
        return coins.observe(NoisyArgmax(data.sum(axis=0), noise), site="place")

    return program


def laplace(data: Any, rng: Any) -> Any:
    return np.argmax(data.sum(axis=0) + rng.laplace(scale=3, size=3))


def gumbel(data: Any, rng: Any) -> Any:
    return np.argmax(data.sum(axis=0) + rng.gumbel(scale=3, size=3))


def exponential(data: Any, rng: Any) -> Any:
    return np.argmax(data.sum(axis=0) + rng.exponential(scale=3, size=3))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove", "zero-out"])
@pytest.mark.parametrize("by_numpy", [laplace, gumbel, exponential])
def test_the_distribution_costs_what_the_argmax_of_noisy_scores_costs(by_numpy: Any, adjacency: str) -> None:
    """Two versions of the same mechanism have the same bound."""
    claim: Any = PureDP(epsilon=1, adjacency=adjacency)
    distribution = by_distribution(DISTRIBUTIONS[by_numpy.__name__](scale=3))
    found = [prove_values(program, claim, data=DATA) for program in (distribution, by_numpy)]
    assert [one.verdict for one in found] == ["verified", "verified"]
    assert found[0].bound == found[1].bound
    assert found[0].bound in (Fraction(1, 3), Fraction(2, 3))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("family", DISTRIBUTIONS)
def test_the_exact_distribution_of_random_neighbours_is_within_the_bound(family: str, adjacency: str) -> None:
    """Exact log ratios of the distribution on random pairs do not exceed the proved bound."""
    noise, claim = DISTRIBUTIONS[family](scale=Fraction(1, 2)), PureDP(epsilon=9, adjacency=adjacency)  # type: ignore[arg-type]
    bound = prove_values(by_distribution(noise), claim, data=DATA).bound
    assert bound is not None
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(60):
        size = int(rng.integers(1, 6))
        left, right = sample_pair(DATA, adjacency=claim.adjacency, size=size, rng=rng)
        pair = [NoisyArgmax(one[""].sum(axis=0), noise) for one in (left, right)]
        logs = [np.array([float(distribution.logp(k)) for k in range(3)]) for distribution in pair]
        worst = max(worst, float(np.abs(logs[0] - logs[1]).max()))
    assert float(bound) / 4 < worst <= float(bound) + 1e-9
