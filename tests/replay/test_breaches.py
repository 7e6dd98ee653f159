"""The search for breaches detects broken programs, reports no correct one, and finds the shifted noise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpaudit.coins import Coins
from dpaudit.core.claims import PureDP, RenyiDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import Laplace, Skellam, SumMod
from dpaudit.replay.breaches import Target, over_seeds, search
from dpaudit.replay.shifted_noise import shifted_noise

PAIRS = [Neighbours("one record from 0 to 1", [0.0, 0.5], [1.0, 0.5])]
CLAIM = PureDP(epsilon=1, view=View.of(SERVER))


def noisy(scale: Fraction) -> Any:
    """A sum with Laplace noise."""
    return lambda coins, data: coins.release(sum(data), Laplace(scale=scale), site="aggregate", to=SERVER)


def raw(coins: Coins, data: Sequence[float]) -> None:
    """A sum without noise."""
    coins.reveal(sum(data), site="aggregate", to=SERVER)


@pytest.mark.parametrize(("scale", "loss"), [("1", 1.0), ("1/2", 2.0)])
def test_the_loss_is_the_sensitivity_over_the_scale(scale: str, loss: float) -> None:
    """Forced to its worst outcome, the sum has loss 1/scale, within a budget of 1 or above it."""
    target = Target(program=noisy(Fraction(scale)), epsilon=Fraction(1))
    found = search(target, PAIRS, rng=np.random.default_rng(1))
    assert found.loss == pytest.approx(loss, rel=1e-9)
    assert found.ways == (set() if loss == 1 else {"loss", "accounting"})
    witness = found.witness(CLAIM)
    assert witness is not None
    assert float(witness.bound or 0) == pytest.approx(loss, rel=1e-9)
    assert bool(found.in_words()) == (loss > 1)


def test_a_raw_sum_is_a_leak_also_over_seeds() -> None:
    """A raw output is a leak, also for a notion without a largest loss."""
    target = Target(program=raw, epsilon=Fraction(1), pure=False)
    for found in (
        search(target, PAIRS, rng=np.random.default_rng(1)),
        over_seeds(target, PAIRS, seeds=np.random.SeedSequence(2).spawn(2)),
    ):
        assert found.ways == {"leak"}
        assert found.replays >= 2


def test_a_release_too_many_breaks_the_accounting() -> None:
    """Two releases exceed an accounting that declares one, and fit a declaration of two at twice the cost."""

    def twice(coins: Coins, data: Sequence[float]) -> None:
        noisy(Fraction(1))(coins, data)
        noisy(Fraction(1))(coins, data)

    once = search(Target(program=twice, epsilon=Fraction(1)), PAIRS, rng=np.random.default_rng(1))
    both = Target(program=twice, epsilon=Fraction(2), releases=2)
    assert "accounting" in once.ways
    assert search(both, PAIRS, rng=np.random.default_rng(1)).ways == set()


def summed(shares: int, factor: int = 2) -> Any:
    """Secure sum of two users' values with Skellam shares."""

    def program(coins: Coins, data: Sequence[float]) -> None:
        distributions = [Skellam(variance=3).shift(int(factor * x)) for x in data[:shares]]
        coins.aggregate(distributions, SumMod(101), site="aggregate", to=SERVER)

    return program


def test_moved_noise_is_the_shares_and_the_shift() -> None:
    """Two shares of variance 3 shifted by 2 have signal 4/6 and the divergence of order 2 of plain sums."""
    found = shifted_noise(summed(2), PAIRS[0], seed=0)
    assert found is not None
    assert (found.shift, found.modulus, len(found.shares)) == (2, 101, 2)
    assert found.signal == pytest.approx(4 / 6)
    witness = found.witness(RenyiDP(order=2, epsilon=Fraction(1, 10), view=View.of(SERVER)))
    masses = stats.skellam(3, 3).pmf(np.arange(-40, 43))
    assert float(witness.bound or 0) == pytest.approx(np.log(np.sum(masses[2:] ** 2 / masses[:-2])), rel=1e-6)


def test_nothing_stands_between_inputs_with_other_noise_or_without_a_shift() -> None:
    """A shift of 0, or noise that depends on the data, has no shifted noise."""
    assert shifted_noise(summed(2, factor=0), PAIRS[0], seed=0) is None

    def other(coins: Coins, data: Sequence[float]) -> None:
        distribution = Skellam(variance=3 + int(data[0]))
        coins.aggregate([distribution.shift(int(data[0]))], SumMod(101), site="aggregate", to=SERVER)

    assert shifted_noise(other, PAIRS[0], seed=0) is None
