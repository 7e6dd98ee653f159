"""The Gaussian randomiser of linear bandits: joint sensitivity by search, noise as stated, printed levels."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.mechanisms import linear_bandit_noise as levels
from dpaudit.reference.mechanisms.gaussian_randomiser import (
    Symmetrize,
    encode,
    squared_sensitivity,
    squared_shift,
    worst_pair,
)


def clipped(point: np.ndarray, dim: int) -> list[tuple[np.ndarray, float]]:
    """Two users from any numbers: features pulled into the unit ball, rewards into [-1, 1]."""
    users = []
    for part in point.reshape(2, dim + 1):
        length = max(1.0, float(np.linalg.norm(part[:-1])))
        users.append((part[:-1] / length, float(np.clip(part[-1], -1, 1))))
    return users


@pytest.mark.parametrize("symmetrize", ["copy", "average", "none"])
@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_no_pair_moves_more_than_the_sensitivity(dim: int, symmetrize: Symmetrize) -> None:
    """A search from random starts never exceeds 4.5, and comes to it from d = 2 on."""
    rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(dim,)))
    worst = 0.0
    for _ in range(12):
        start = rng.normal(size=2 * (dim + 1))
        found = minimize(lambda point: -squared_shift(*clipped(point, dim), symmetrize), start)
        worst = max(worst, -float(found.fun))
    assert worst <= 4.5 + 1e-9
    # on the line vector and matrix can hardly both move: (2, 0) or so
    assert worst >= (4.499 if dim > 1 else 4.0 - 1e-6)


def test_worst_pair_attains_it() -> None:
    """The named pair is in the domain and at 4.5 but for its margin; each release alone moves less."""
    here, there = worst_pair()
    assert squared_sensitivity() == Fraction(9, 2)
    assert 4.5 * (1 - 1e-11) <= squared_shift(here, there) < 4.5
    assert max(np.linalg.norm(person[0]) for person in (here, there)) < 1
    vector = [encode(*person)[0] for person in (here, there)]
    assert np.sum((vector[0] - vector[1]) ** 2) == pytest.approx(3)


def test_sensitivity_in_other_units() -> None:
    """Features of squared norm 2 and rewards in [0, 1]: 12.5 at most; the arms (u, 1), (-u, 1) are at 12."""
    assert squared_sensitivity(feature_norm_squared=2) == Fraction(25, 2)
    opposite = (np.array([1.0, 0.0, 1.0]), 1.0), (np.array([-1.0, 0.0, 1.0]), 1.0)
    assert squared_shift(*opposite, "average") == pytest.approx(12)
    with pytest.raises(InvalidParameterError, match="reward_bound"):
        squared_sensitivity(feature_norm_squared=1, reward_bound=2)


def test_users_out_of_bounds_are_refused() -> None:
    """Features longer than 1, and a reward above 1."""
    with pytest.raises(InvalidParameterError, match="norm"):
        encode(np.array([1.0, 1.0]), 0.0)
    with pytest.raises(InvalidParameterError, match="reward"):
        encode(np.array([1.0, 0.0]), 1.5)


#: (ε, δ), T = 20000, B = 20: ε₀, cap, P_Amp, local, E.3, its cap, node of the tree.
GOLDEN = [
    ("0.2", "0.1", 0.516765, 0.387023, 27.289047, 50.745450, 6298.852765, 59.9146, 590.220713),
    ("1", "0.1", 2.583827, 0.387023, 5.457809, 10.149090, 1259.770553, 59.9146, 118.044143),
    ("0.2", "1e-6", 0.234818, 0.851723, 101.430314, 108.560771, 41305.360019, 290.1732, 2432.288787),
    ("1", "1e-6", 1.174090, 0.851723, 20.286063, 21.712154, 8261.072004, 290.1732, 486.457757),
]


@pytest.mark.parametrize(
    ("epsilon", "delta", "local", "cap", "amp", "one", "returning", "range_", "node"), GOLDEN
)
def test_printed_levels(
    epsilon: str,
    delta: str,
    local: float,
    cap: float,
    amp: float,
    one: float,
    returning: float,
    range_: float,
    node: float,
) -> None:
    """The formulas give the values that were computed apart from this code, to all printed digits."""
    at = {"epsilon": epsilon, "delta": delta}
    batch = {"delta": delta, "batch_size": 20}
    found = [
        levels.local_budget(epsilon=epsilon, **batch)[0],
        levels.epsilon_cap(**batch),
        levels.amplified_noise(epsilon=epsilon, **batch),
        levels.local_noise(**at),
        levels.returning_noise(epsilon=epsilon, horizon=20_000, **batch),
        levels.returning_cap(horizon=20_000, **batch),
        levels.tree_noise(leaves=20_000, **at),
    ]
    wanted = [local, cap, amp, one, returning, range_, node]
    assert [float(value) for value in found] == pytest.approx(wanted, rel=2e-6)


def test_trees_and_code() -> None:
    """Depths by base 2, Wishart degrees, and the code's deviations against plain floats; bad arguments."""
    assert [levels.tree_levels(n) for n in (1, 2, 3, 4, 5, 20_000)] == [1, 2, 3, 3, 4, 16]
    degrees = 6 + math.ceil(224 * 16 * math.log(8 * 16 / 0.1) * math.log(20))
    assert levels.wishart_degrees(epsilon=1, delta="0.1", leaves=20_000, dim=5) == degrees
    assert float(levels.authors_code("LDP", epsilon=1, delta="0.1")) == pytest.approx(math.sqrt(math.log(25)))
    shuffled = math.sqrt(math.log(500)) / math.sqrt(20)
    assert float(levels.authors_code("SDP-Amp", epsilon=1, delta="0.1")) == pytest.approx(shuffled)
    tree = math.sqrt(math.log(20_000)) * math.log(25)
    assert float(levels.authors_code("JDP", epsilon=1, delta="0.1")) == pytest.approx(tree)
    noise = levels.local_noise(epsilon=1, delta="0.1")
    assert levels.variance_below(noise) < Fraction(float(noise)) ** 2 * (1 + Fraction(1, 10**12))
    assert levels.variance_below(noise) < levels.variance_above(noise)
    with pytest.raises(InvalidParameterError, match="delta"):
        levels.local_noise(epsilon=1, delta=2)
    with pytest.raises(InvalidParameterError, match="batch_size"):
        levels.amplified_noise(epsilon=1, delta="0.1", batch_size=0)
