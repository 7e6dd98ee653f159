"""Proves that environments, noise, policies, noise levels and radii of linear bandits refuse what they cannot
mean."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual import linear_policy, noise_levels, radius
from dpaudit.reference.algorithms.contextual.aggregate_noise import (
    BinomialNoise,
    GaussianNoise,
    TreeNoise,
    WishartTreeNoise,
)
from dpaudit.reference.algorithms.contextual.environments import (
    FixedArms,
    FreshContexts,
    coded_arms,
    sphere_arms,
)
from dpaudit.reference.algorithms.contextual.linear_policy import BatchedPolicy

NAN, INF = math.nan, math.inf
EPS = {"epsilon": 1.0, "delta": 0.01}


def policy(ridge: float = 1.0, beta: float = 1.0, size: object = 1) -> object:
    built = BatchedPolicy(batch_size=size, ridge=lambda t: ridge, radius=lambda t: beta)  # type: ignore[arg-type]
    return linear_policy.init(built, 2, 3)


def gaussian(**changed: object) -> object:
    return GaussianNoise(**{"std_vec": 1.0, "std_mat": 1.0, **changed})  # type: ignore[arg-type]


def binomial(**changed: object) -> object:
    return BinomialNoise(**{"precision": 4, "trials": 10, **changed})  # type: ignore[arg-type]


def arms(build: Callable[..., object], **changed: int) -> object:
    return build(**{"replicates": 2, "n_arms": 3, "dim": 3, **changed}, rng=np.random.default_rng(0))


CASES: list[tuple[str, str, Callable[[], object]]] = [
    ("means NaN", "mean rewards", lambda: FixedArms(np.full((1, 2, 2), NAN), np.ones((1, 2)))),
    ("no arms", "n_arms", lambda: FixedArms(np.ones((1, 0, 2)), np.ones((1, 2)))),
    ("theta flat", "theta", lambda: FreshContexts(np.ones(3), 4)),
    ("theta NaN", "mean rewards", lambda: FreshContexts(np.full((1, 3), NAN), 4)),
    ("no contexts", "n_arms", lambda: FreshContexts(np.array([[0.5, 0.5]]), 0)),
    ("sphere without arms", "n_arms", lambda: arms(sphere_arms, n_arms=0)),
    ("code without replicates", "replicates", lambda: arms(coded_arms, replicates=0)),
    *[(f"std {bad}", "std_vec", lambda bad=bad: gaussian(std_vec=bad)) for bad in (NAN, INF, -1.0, "x")],
    ("one std NaN", "std_mat", lambda: gaussian(std_mat=np.array([1.0, NAN]))),
    ("symmetry", "symmetry", lambda: gaussian(symmetry="both")),
    *[(f"precision {bad}", "precision", lambda bad=bad: binomial(precision=bad)) for bad in (0, NAN, -4)],
    *[(f"trials {bad}", "trials", lambda bad=bad: binomial(trials=bad)) for bad in (-1, 2.5, True)],
    *[(f"prob {bad}", "prob", lambda bad=bad: binomial(prob=bad)) for bad in (0, 1.5, NAN)],
    ("scale", "scale", lambda: binomial(scale=0)),
    ("tree", "n_batches", lambda: TreeNoise(std_vec=1, std_mat=1, n_batches=0)),
    ("half a batch", "n_batches", lambda: TreeNoise(std_vec=1, std_mat=1, n_batches=1.5)),  # type: ignore[arg-type]
    ("wishart", "scale", lambda: WishartTreeNoise(scale=-1, freedom=9, n_batches=2)),
    *[(f"size {bad}", "batch_size", lambda bad=bad: policy(size=bad)) for bad in (0, 2.0, True, "2")],
    *[(f"ridge {bad}", "ridge(0)", lambda bad=bad: policy(ridge=bad)) for bad in (0.0, -1.0, NAN)],
    *[(f"beta {bad}", "radius(0)", lambda bad=bad: policy(beta=bad)) for bad in (-1.0, NAN, INF)],
    *[
        (f"delta {bad}", "delta", lambda bad=bad: noise_levels.local_std(epsilon=1, delta=bad))
        for bad in (0, 2, NAN)
    ],
    *[
        (f"eps {bad}", "epsilon", lambda bad=bad: noise_levels.local_std(epsilon=bad, delta=0.1))
        for bad in (0, NAN)
    ],
    ("cap", "batch_size", lambda: noise_levels.epsilon_cap(batch_size=0, delta=0.1)),
    ("amp", "batch_size", lambda: noise_levels.amplified_std(**EPS, batch_size=0)),
    ("returning", "horizon", lambda: noise_levels.returning_amplified_std(**EPS, horizon=0, batch_size=1)),
    ("level", "dim", lambda: noise_levels.binomial_level(**EPS, batch_size=1, dim=0)),
    (
        "level returning",
        "horizon",
        lambda: noise_levels.returning_binomial_level(**EPS, horizon=0, batch_size=1, dim=2),
    ),
    ("leaves", "leaves", lambda: noise_levels.tree_std(**EPS, leaves=0)),
    ("freedom", "leaves", lambda: noise_levels.wishart_freedom(**EPS, leaves=0, dim=2)),
    ("regularity", "mat_bound", lambda: radius.regularity(vec_bound=1, mat_bound=NAN)),
    ("radius", "ridge", lambda: radius.printed_radius(1.0, dim=2, ridge=0.0, failure_prob=0.1)),
    ("failure", "failure_prob", lambda: radius.self_normalised_radius(1.0, dim=2, ridge=1, failure_prob=0)),
    ("time", "time", lambda: radius.self_normalised_radius(-1.0, dim=2, ridge=1, failure_prob=0.1)),
    ("coded", "ridge", lambda: radius.coded_radius(horizon=9, dim=2, gamma=0, feature_norm=1)),
    (
        "shariff",
        "epsilon",
        lambda: radius.private_tree_regularity(epsilon=0, delta=0.1, horizon=4, dim=2, failure_prob=0.1),
    ),
    ("zheng", "std", lambda: radius.sequential_local_radius(1.0, std=0, dim=2, horizon=4, failure_prob=0.1)),
]


@pytest.mark.parametrize(("name", "build"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_has_no_meaning_is_refused(name: str, build: Callable[[], object]) -> None:
    """The message begins with the name, says what must hold and what came."""
    with pytest.raises(InvalidParameterError) as caught:
        build()
    assert str(caught.value).startswith(name)
    assert " must " in str(caught.value)
    assert ", got " in str(caught.value)


def test_the_ends_of_the_ranges_are_accepted() -> None:
    """No noise, no exploration, one batch of one user: each at the end of its range."""
    assert gaussian(std_vec=0.0, std_mat=np.array([0.0, 1.0]))
    assert binomial(trials=0, prob=1)
    assert policy(beta=0.0, size=np.int64(1))
    assert noise_levels.local_std(epsilon=1e-9, delta=1) > 0
