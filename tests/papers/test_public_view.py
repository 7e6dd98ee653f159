"""Definition 1 (HHM-D1): the public sees the decision sequence of every algorithm, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.coins import Coins, Program, Recording, record
from dpaudit.core.views import PUBLIC, SERVER
from dpaudit.reference.algorithms.mab import hybrid_ucb, lazy_ucb, successive_elimination
from dpaudit.reference.algorithms.online import ftnl

PROGRAMS: dict[str, Program] = {
    "Anytime-Lazy-UCB": lazy_ucb.program(epsilon=1),
    "Hybrid-UCB": hybrid_ucb.program(epsilon=1, variant="printed"),
    "FTNL": ftnl.program(epsilon=1, variant="printed"),
    "naive FTNL": ftnl.naive_program(epsilon=1),
    "DP-SE": successive_elimination.program(epsilon=1, failure_probability="1/2"),
}


def difference(recording: Recording) -> int:
    """Public sites that are neither a pull, a leader nor the return value, plus rounds in which shown and
    returned arms differ."""
    public = [site for site in recording.sites if PUBLIC in site.to]
    strange = sum(site.site not in ("pull", "leader", "return") for site in public)
    shown = [arm for site in public if site.site == "pull" for arm in [site.value[0]] * site.value[1]]
    returned = [arm for arm, count in recording.returned for _ in range(count)]
    differing = sum(a != b for a, b in zip(shown, returned, strict=False))
    return strange + abs(len(shown) - len(returned)) + differing


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_public_view_is_the_decision_sequence(name: str) -> None:
    """On random data of 127 rounds and 3 arms, as one arm a round."""
    rng = np.random.default_rng(17)
    for _ in range(5):
        data = rng.integers(0, 2, size=(127, 3)).astype(float)
        assert difference(record(PROGRAMS[name], data, rng=rng)) == 0


@pytest.mark.parametrize("shown", [PUBLIC, SERVER])
def test_a_mean_that_is_shown_is_no_decision(shown: object) -> None:
    """Negative control: what the server keeps may be anything, what the public sees may not."""

    def talkative(coins: Coins, data: np.ndarray) -> object:
        coins.reveal(0.5, site="mean", to=shown)  # type: ignore[arg-type]
        return PROGRAMS["FTNL"](coins, data)

    data = np.ones((7, 2))
    found = difference(record(talkative, data, rng=np.random.default_rng(1)))
    assert found == (1 if shown is PUBLIC else 0)
