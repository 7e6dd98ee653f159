"""The costs of the small bandits whose mistakes are enumerated, by another route."""

from __future__ import annotations

import itertools
import math

import pytest
from scipy import stats

from audits.concurrent_shuffle.rows.mutants import BANDIT
from audits.shuffle_linear_bandits.rows.binomial_mutants import WHOLE

#: The ones of the first user under both labels: g (1 + φy) and g (1 + φ²), with φ = 1 and y = -1, or φ = 0.
PLAYED, NOTHING = (0, 2), (1, 1)


def delta(coins: tuple[int, ...]) -> float:
    """Return δ at ε = 1 of independent sums of the first user's ones, and so many coins for each label."""
    here, there = ([_ones(n, extra) for n in coins for extra in side] for side in (PLAYED, NOTHING))
    masses = [[math.prod(cell) for cell in itertools.product(*side)] for side in (here, there)]
    return max(
        sum(max(p - math.e * q, 0) for p, q in zip(one, other, strict=True))
        for one, other in (masses, masses[::-1])
    )


def _ones(coins: int, extra: int) -> list[float]:
    """Return the masses of ``extra`` ones and Bin(coins, 1/4) more, from 0 on."""
    return [float(stats.binom.pmf(k - extra, coins, 0.25)) for k in range(coins + 3)]


@pytest.mark.parametrize(("claim", "coins"), [(WHOLE, (2,)), (BANDIT, (1, 2))])
def test_the_claims_are_what_the_messages_of_one_user_cost(claim, coins) -> None:  # type: ignore[no-untyped-def]
    """Actions of later users add nothing: the run costs what the batches of the first user cost, rounded up
    by less than a hundredth."""
    assert delta(coins) <= claim.delta < delta(coins) + 0.01
