"""Batched elimination: the plain loop's decisions, horizon and drop-outs, privacy of whole runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks import plain_distributed
from benchmarks.plain_distributed import Run
from dpaudit.coins import Coins, Recording, enumerate_view, fingerprint, record, replay
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import SERVER, View
from dpaudit.reference.algorithms.environment import PotentialOutcomes
from dpaudit.reference.algorithms.mab.batched_elimination import (
    Elimination,
    NoiseTail,
    batch_length,
    confidence_radius,
)
from dpaudit.reference.algorithms.mab.distributed_elimination import (
    NAMES,
    Variant,
    program,
    strategy,
    variant,
)
from dpaudit.reference.algorithms.play import Decisions, play
from dpaudit.reference.mechanisms.secure_aggregation import masked_sum


def made(name: str, *, epsilon: str = "1", p: str = "1/2", s: str = "1") -> Variant:
    return variant(name, epsilon=epsilon, failure_prob=p, scale_factor=s)


def expand(decisions: Decisions) -> list[int]:
    """The arm of every round."""
    return [arm for arm, count in decisions for _ in range(count)]


def table(means: list[float], horizon: int, seed: int, *, steps: int = 8) -> np.ndarray[Any, Any]:
    """Potential outcomes (T, K) on multiples of 1/steps."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.binomial(steps, means, size=(horizon, len(means))) / steps)


def recorded(chosen: Variant, data: Any, seed: int, **options: Any) -> Recording:
    return record(program(chosen, **options), data, rng=np.random.default_rng(seed))


def aggregates(recording: Recording) -> list[int]:
    return [int(site.value) for site in recording.sites if site.site == "aggregate"]


# Against the plain loop.


@pytest.mark.parametrize("growth", [2, 4])
@pytest.mark.parametrize(
    ("name", "epsilon", "s"),
    [
        ("dist_dp_se", "2", "1"),
        ("dist_dp_se", "8", "1"),
        ("dist_rdp_se", "4", "10"),
        ("dist_cdp_se", "1/2", "3"),
    ],
)
@pytest.mark.parametrize("means", [[0.9, 0.1, 0.5], [0.0, 1.0], [0.5, 0.5]])
def test_decisions_are_those_of_the_plain_loop(
    name: str, epsilon: str, s: str, growth: int, means: list[float]
) -> None:
    """Fed the same aggregates, a loop that writes parameters, analyzer, radius and elimination out again
    plays the same arm in every round."""
    horizon = 700
    for seed in range(2 if growth == 2 else 1):
        data = table(means, horizon, seed)
        recording = recorded(made(name, epsilon=epsilon, s=s), data, seed, growth=growth)
        fed: Iterator[int] = iter(aggregates(recording))
        rows = iter(data)
        plain = plain_distributed.distributed_elimination(
            len(means),
            horizon,
            0.5,
            plain_distributed.constants(name, epsilon=float(Fraction(epsilon)), s=float(s)),
            lambda arm, rows=rows: float(next(rows)[arm]),
            lambda rewards, run, fed=fed: next(fed),
            growth=growth,
        )
        assert expand(recording.returned) == plain
        assert next(fed, None) is None
        assert means != [0.0, 1.0] or len(set(plain[-100:])) == 1  # decisions worth comparing were taken


def test_the_plain_loop_finds_the_parameters_of_the_sheets() -> None:
    """g, τ and m of every batch, from floats there and exactly here."""
    for name, s in (("dist_dp_se", "1"), ("dist_rdp_se", "10"), ("dist_cdp_se", "5")):
        chosen, found = made(name, epsilon="1/2", p="1/1000", s=s), []

        def secure(rewards: list[float], run: Run, found: list[Run] = found) -> int:
            found.append(run)
            return 0

        constants = plain_distributed.constants(name, epsilon=0.5, s=float(s))
        plain_distributed.distributed_elimination(2, 4000, 1e-3, constants, lambda arm: 0.0, secure)
        assert len(found) > 10
        for run in found:
            sheet = chosen.sheet(run.n)
            assert (run.g, run.tau, run.m) == (sheet.precision, sheet.noise_margin, sheet.modulus)


@pytest.mark.parametrize("name", NAMES)
def test_every_variant_finds_the_best_of_two_arms(name: str) -> None:
    """With little noise and a gap of 1 the good arm is played at the end."""
    chosen = made(name, epsilon="64", p="1/1000")
    data = table([1.0, 0.0], 1000, 1)
    assert expand(recorded(chosen, data, 1, grid=1).returned)[-500:] == [0] * 500


# Horizon, drop-outs, structure.


def test_what_the_horizon_cuts_is_never_aggregated() -> None:
    """Two arms, batches of 2, 4, 8: after T rounds exactly the completed (arm, batch) pairs were shown."""
    chosen = made("dist_dp_se", epsilon="1/100")  # too noisy to eliminate anything
    ends = np.cumsum([2, 2, 4, 4, 8, 8])
    for horizon in range(1, 29):
        recording = recorded(chosen, np.zeros((horizon, 2)), 3, grid=1)
        assert len(aggregates(recording)) == int((ends < horizon).sum())
        assert sum(count for _, count in recording.returned) == horizon


def test_a_longer_horizon_continues_the_same_run() -> None:
    """A shorter run is a prefix of a longer one with the same coins."""
    chosen, data = made("dist_dp_se", epsilon="8"), table([0.9, 0.2], 400, 5)
    long = expand(recorded(chosen, data, 2).returned)
    for horizon in (1, 2, 3, 50, 399):
        assert expand(recorded(chosen, data[:horizon], 2).returned) == long[:horizon]


def test_users_who_drop_out_send_nothing() -> None:
    """Their rewards do not matter, the noise shrinks with them, and an arm that nobody reports stays."""
    participation = [t % 2 == 0 for t in range(40)]
    data = table([0.75, 0.25], 40, 1, steps=1)
    other = data.copy()
    other[1::2] = 1 - other[1::2]
    chosen = made("dist_dp_se")
    shown = program(chosen, participation=participation, grid=1)
    recording = record(shown, data, rng=np.random.default_rng(1))
    result = replay(shown, other, recording)
    assert not result.leaks
    assert not any(item.moved for item in result.losses)
    distribution = next(site.distribution for site in recording.sites if site.site == "aggregate")
    assert distribution == chosen.sheet(2).aggregate_distribution(
        int(data[0, 0]) * chosen.sheet(2).precision, present=1
    )
    nobody = record(program(chosen, participation=[False] * 40, grid=1), data, rng=np.random.default_rng(1))
    assert aggregates(nobody) == []
    assert {arm for arm, _ in nobody.returned} == {0, 1}


def test_an_arm_without_a_mean_neither_goes_nor_sends() -> None:
    """NaN in a batch: the arm stays active, and the others are compared among themselves."""
    state = Elimination((3,), failure_prob="1/2", tail=lambda length: NoiseTail(0.0, 0.0), growth=1000)
    state.update([0.9, np.nan, 0.1])
    assert state.active.tolist() == [True, True, False]
    state.update([np.nan, np.nan, 5.0])  # the third is out: its mean is not looked at
    assert state.active.tolist() == [True, True, False]


def test_runs_in_step_are_eliminated_each_by_itself() -> None:
    """Rows of (R, K) are independent: each equals a state of its own."""
    tail, rng = (lambda length: NoiseTail(0.1, 0.1)), np.random.default_rng(4)
    together = Elimination((50, 4), failure_prob="1/10", tail=tail, growth=6)
    alone = [Elimination((4,), failure_prob="1/10", tail=tail, growth=6) for _ in range(50)]
    for _ in range(4):
        means = rng.random((50, 4))
        together.update(means)
        for state, row in zip(alone, means, strict=True):
            state.update(row)
        assert together.active.tolist() == [state.active.tolist() for state in alone]
    assert 50 < together.active.sum() < 200


def test_the_radius_is_equation_2() -> None:
    """β(3) for five arms and eight users at p = 0.1, by hand."""
    squares = 5 * 9 / 0.1
    by_hand = (
        math.sqrt(math.log(4 * squares) / 16)
        + 2.0 * math.sqrt(math.log(2 * squares)) / 8
        + 0.5 * math.log(2 * squares) / 8
    )
    found = confidence_radius(3, 5, 8, failure_prob=0.1, tail=NoiseTail(2.0, 0.5))
    assert float(found) == pytest.approx(by_hand, rel=1e-14)


def test_batches_grow_as_declared() -> None:
    """ceil(η^b), for whole and fractional growth; growth 1 is refused."""
    assert [batch_length(b) for b in (1, 2, 10)] == [2, 4, 1024]
    assert [batch_length(b, growth="3/2") for b in (1, 2, 3, 4)] == [2, 3, 4, 6]
    with pytest.raises(InvalidParameterError, match="growth must be greater than 1"):
        batch_length(1, growth=1)
    with pytest.raises(InvalidParameterError, match="failure_prob must be greater than 0"):
        Elimination((2,), failure_prob=0, tail=lambda length: NoiseTail(0, 0))
    with pytest.raises(InvalidParameterError, match="name must be one of"):
        variant("dist_dp", epsilon=1, failure_prob="1/2")


# Privacy of whole runs.


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_runs(name: str) -> None:
    """All randomness is in the coins: transcripts agree in every bit, with fractional rewards."""
    data = table([0.7, 0.3], 40, 2)
    prints = {fingerprint(recorded(made(name), data, 9)) for _ in range(2)}
    assert len(prints) == 1
    assert fingerprint(recorded(made(name), data, 10)) not in prints


def test_hidden_coins_are_the_same_in_number_on_every_input() -> None:
    """Rounding draws follow the public schedule, not the rewards: no hidden site appears or vanishes."""
    chosen = made("dist_dp_se", epsilon="1/4")
    data, other = np.full((28, 2), 0.3), np.full((28, 2), 0.3)
    other[0] = 1.0
    result = replay(program(chosen), other, recorded(chosen, data, 1))
    assert not result.leaks
    moved = [item.record.site for item in result.losses if item.moved]
    assert moved == ["aggregate"]


def test_one_reward_moves_one_aggregate_by_at_most_epsilon() -> None:
    """Dist-DP-SE on all pairs of corner inputs, whole view: one site, loss at most ε, nearly ε somewhere."""
    chosen, largest = made("dist_dp_se"), 0.0
    for seed in range(20):
        for base in (np.zeros((12, 2)), np.ones((12, 2))):
            for t in (0, 3, 7):
                other = base.copy()
                other[t] = 1 - other[t]
                result = replay(program(chosen, grid=1), other, recorded(chosen, base, seed, grid=1))
                assert not result.leaks
                assert sum(item.moved for item in result.losses) <= 1
                largest = max(largest, abs(float(result.loss(View.of(SERVER)))))
    assert 0.99 < largest <= 1 + 1e-9


def test_a_whole_small_run_by_enumeration() -> None:
    """Six rounds, two arms, decisions included: the exact log-ratio of the server's view is at most ε for
    every reward changed, and masking the messages changes nothing in the distribution of the decisions."""
    chosen = made("dist_dp_se", p="1")
    run = program(chosen, grid=1)
    data = np.zeros((6, 2))
    distributions = {}
    for t in (None, 0, 2):
        other = data.copy()
        if t is not None:
            other[t] = 1.0
        distributions[t] = enumerate_view(run, other, view=View.of(SERVER))
    for t in (0, 2):
        ratios = [
            abs((p / distributions[t].probabilities[key]).log())
            for key, p in distributions[None].probabilities.items()
        ]
        assert max(ratios) <= 1
        assert max(ratios) > 0.9


def test_masked_runs_end_like_perfect_ones() -> None:
    """The masked protocol inside the algorithm: one batch of two users, exact distribution of ŷ as
    returned."""
    chosen = made("dist_dp_se", p="1", epsilon="2")

    def total(coins: Coins, data: Any, options: dict[str, Any]) -> Any:
        return play(strategy(chosen, grid=1, **options), coins, PotentialOutcomes(data))

    data = np.array([[1.0], [0.0], [1.0]])
    for options in ({}, {"aggregator": masked_sum}):
        found = enumerate_view(lambda c, x, o=options: total(c, x, o), data, view=View(frozenset()))
        assert [seen[-1] for seen in found.transcripts.values()] == [((0, 3),)]
