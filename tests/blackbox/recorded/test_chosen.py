"""What a pair costs where the output is one draw by probabilities that the data move."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpaudit import PureDP, record_draws

AGES = ([0, 1, 2], [1, 1, 2])


def probabilities(data, strength=1.0):
    weights = np.exp(strength * np.bincount(data, minlength=3))
    return weights / weights.sum()


def loudest(data, rng):
    return int(rng.choice(3, p=probabilities(data)))


def named(data, rng):
    return {"winner": str(rng.choice(["a", "b", "b"], p=probabilities(data)))}


def test_a_choice_costs_its_largest_log_ratio() -> None:
    """Equal to the enumeration of both distributions, values that are listed twice taken together."""
    one, two = map(probabilities, AGES)
    cost = record_draws(loudest, AGES).cost
    assert cost.epsilon == pytest.approx(np.abs(np.log(one / two)).max(), rel=1e-12)
    joined = [np.array([p[0], p[1] + p[2]]) for p in (one, two)]
    cost = record_draws(named, AGES).cost
    assert cost.epsilon == pytest.approx(np.abs(np.log(joined[0] / joined[1])).max(), rel=1e-12)


@pytest.mark.parametrize(("trials", "one", "two"), [(1, 0.9, 0.1), (12, 0.5, 0.75), (3, 0.25, 0.5)])
def test_a_binomial_costs_its_loss_at_one_end(trials, one, two) -> None:
    """Equal to the largest log-ratio over all of its atoms, by SciPy."""
    cost = record_draws(lambda bit, rng: int(rng.binomial(trials, two if bit else one)), (0, 1)).cost
    atoms = [stats.binom(trials, p).logpmf(np.arange(trials + 1)) for p in (one, two)]
    losses = np.abs(atoms[0] - atoms[1])
    assert cost.epsilon == pytest.approx(float(max(losses)), rel=1e-9)


def test_what_only_one_input_can_give_has_no_end() -> None:
    """A probability of 0 on one side costs infinity; the loss of large counts does not underflow."""
    assert (
        record_draws(lambda bit, rng: int(rng.choice(2, p=[1 - bit / 2, bit / 2])), (0, 1)).cost.epsilon
        == math.inf
    )
    cost = record_draws(lambda bit, rng: int(rng.binomial(10**6, 0.5 if bit else 0.25)), (0, 1)).cost
    assert cost.epsilon == pytest.approx(10**6 * math.log(2), rel=1e-9)


def test_a_choice_above_the_claim_is_something_to_look_at() -> None:
    """And one within the claim is not."""
    found = record_draws(loudest, AGES, claim=PureDP(epsilon=1)).findings
    assert len(found) == 1
    assert found[0].startswith("the output is choice in")
    assert found[0].endswith("this pair has epsilon 1.309, above the claimed 1")
    assert record_draws(loudest, AGES, claim=PureDP(epsilon="1.31")).findings == []


@pytest.mark.parametrize(
    "function",
    [
        lambda data, rng: ["x", "y", "z"][int(rng.choice(3, p=probabilities(data)))],
        lambda data, rng: [int(rng.choice(3, p=probabilities(data))), len(data)],
        lambda data, rng: int(rng.choice(3, p=probabilities(data))) + int(rng.binomial(1, 0.5)),
        lambda data, rng: int(rng.choice(3)),
        lambda data, rng: min(int(rng.choice(3, p=probabilities(data))), 1),
        lambda data, rng: rng.choice(3, p=probabilities(data), size=2),
    ],
    ids=["renamed", "with more", "with noise", "the same distribution", "clipped", "twice"],
)
def test_what_is_not_the_draw_itself_has_no_such_cost(function) -> None:
    """What is done to a choice may hide it: then the recording does not say what it costs."""
    assert record_draws(function, AGES).cost is None
