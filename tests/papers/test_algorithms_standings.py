"""Arms grouped by the size of their arrays give the leader and the stretches of the loop over all arms."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.reference.algorithms.mab.race import leader, rounds_in_lead
from dpaudit.reference.algorithms.mab.standings import Standings


def means_of(rng: np.random.Generator, arms: int, *, kind: str) -> list[float]:
    """Spread out, from few values (many ties), or a few units in the last place apart."""
    if kind == "spread":
        return [float(value) for value in rng.normal(size=arms)]
    if kind == "ties":
        return [float(value) for value in rng.integers(0, 3, size=arms) / 2]
    return [0.5 + int(step) * 2.0**-53 for step in rng.integers(-3, 4, size=arms)]


@pytest.mark.parametrize("kind", ["spread", "ties", "neighbouring floats"])
def test_standings_are_the_loop_over_all_arms(kind: str) -> None:
    """The same leader and the same certain rounds, after every one of many renewals, at near and far t."""
    rng = np.random.default_rng(7)
    several = 0
    for _ in range(40):
        arms, epsilon = int(rng.integers(2, 30)), float(rng.choice([0.1, 1.0, 64.0]))
        standings = Standings(means_of(rng, arms, kind=kind), epsilon=epsilon)
        for _ in range(60):
            t = int(10 ** rng.uniform(0.5, 9))
            arm = standings.leader(t)
            assert arm == leader(standings.means, standings.sizes, t, epsilon)
            limit = int(10 ** rng.uniform(0, 9))
            count = standings.rounds_in_lead(arm, t, limit=limit)
            assert count == rounds_in_lead(arm, standings.means, standings.sizes, t, epsilon, limit=limit)
            several += count > 1
            moved = int(rng.integers(arms))
            [mean] = means_of(rng, 1, kind=kind)
            standings.renew(moved, mean=mean, size=2 * standings.sizes[moved])
    assert several > 200


def test_a_tie_by_rounding_goes_to_the_lower_number() -> None:
    """At t = 10^6 the bonus of a short array swallows the last place of a mean: arm 0 leads, one round."""
    means = [0.5, float(np.nextafter(0.5, 1))]
    standings = Standings(means, epsilon=0.1)
    assert standings.leader(10**6) == leader(means, [1, 1], 10**6, 0.1) == 0
    assert standings.rounds_in_lead(0, 10**6, limit=100) == 1
