"""The black-box check refutes what is wrong within a stated number of runs, never what is right, and its
bounds hold.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpaudit.blackbox.check import check
from dpaudit.blackbox.experts import Experts
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.pair import PairAttack
from dpaudit.blackbox.statistics.cells import CellBlock
from dpaudit.core.claims import ApproxDP, Model, PureDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.verdicts import VerdictKind
from tests.blackbox.black_boxes import (
    HALVES,
    laplace,
    naive_float_laplace,
    noisy_maximum,
    patterns,
    prefix_sums,
    sparse_vector,
)
from tests.rates import FALSE_FAILURE_RATE

ONE = PureDP(epsilon=1)
UNITS = [(0.0, 1.0)]
FIVE = [Neighbours("one record moves five answers", np.ones(5), np.zeros(5))]


#: Medians of few runs, and (slow) of more.
FEW = pytest.mark.parametrize("repeats", [3, pytest.param(11, marks=pytest.mark.slow)])


def runs_to_refute(mechanism, claim, neighbours, *, repeats: int, max_samples: int) -> float:
    """The median number of runs over ``repeats`` seeds; every one of them must refute."""
    results = [
        check(mechanism, claim, neighbours=neighbours, batch=True, seed=seed, max_samples=max_samples)
        for seed in range(repeats)
    ]
    assert all(result.verdict is VerdictKind.REFUTED for result in results)
    return float(np.median([result.samples for result in results]))


@FEW
def test_half_the_noise(repeats: int) -> None:
    """Laplace noise of half the scale, claim 1: a median of at most 600 runs (two times the oracle's 138 in
    one direction, doubled).
    """
    assert runs_to_refute(laplace(0.5), ONE, UNITS, repeats=repeats, max_samples=5000) <= 600


@FEW
def test_the_value_of_the_maximum(repeats: int) -> None:
    """Reporting the noisy maximum itself, claim 1: a median of at most 2000 runs."""
    assert (
        runs_to_refute(noisy_maximum(1.0, value=True), ONE, FIVE, repeats=repeats, max_samples=10_000) <= 2000
    )


@FEW
def test_sparse_vector_with_unscaled_noise(repeats: int) -> None:
    """Algorithm 4 of Lyu et al. at epsilon 1, claim 1: a median of at most 9000 runs."""
    wrong = sparse_vector(1.0, threshold_scale=4, query_scale=4 / 3)
    assert runs_to_refute(wrong, ONE, [HALVES], repeats=repeats, max_samples=30_000) <= 9000


def test_search_over_pairs_finds_the_bad_one() -> None:
    """Among eight patterns, in the order of the literature, the violation costs at most 12000 runs in the
    median.
    """
    wrong = noisy_maximum(1.0, value=True)
    assert runs_to_refute(wrong, ONE, patterns(5), repeats=3, max_samples=40_000) <= 12_000


def test_partial_sums_need_a_learned_score() -> None:
    """Ten partial sums of noisy entries at epsilon 0.1, all entries changed: the learned score sees it
    within 10000 runs.
    """
    pair = [Neighbours("one record moves ten entries", np.ones(10), np.zeros(10))]
    assert (
        runs_to_refute(prefix_sums(0.1), PureDP(epsilon="0.1"), pair, repeats=3, max_samples=20_000) <= 10_000
    )


def test_floats_betray_the_naive_sampler_only_where_bits_count() -> None:
    """As it runs the naive Laplace sampler is refuted by the lowest bits; over the reals the same claim
    stands.
    """
    as_run, ideal = (PureDP(epsilon="0.1", model=model) for model in (Model.AS_RUN, Model.IDEAL))
    assert runs_to_refute(naive_float_laplace, as_run, UNITS, repeats=5, max_samples=6000) <= 2500
    result = check(naive_float_laplace, ideal, neighbours=UNITS, batch=True, max_samples=6000)
    assert result.verdict is VerdictKind.INCONCLUSIVE


NULLS = {
    "laplace": (laplace(1.0), UNITS),
    "noisy maximum": (noisy_maximum(1.0, value=False), patterns(5)[:3]),
    "sparse vector": (sparse_vector(1.0, threshold_scale=2, query_scale=4), [HALVES]),
}


@pytest.mark.sample(1, each=("seeds",))
@pytest.mark.parametrize("seeds", [10, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NULLS)
def test_no_false_refutation(name: str, seeds: int) -> None:
    """A correct mechanism at its exact epsilon, stopped at the worst time: false refutations stay
    compatible with alpha.
    """
    mechanism, neighbours = NULLS[name]
    refuted = sum(
        check(mechanism, ONE, neighbours=neighbours, batch=True, seed=seed, max_samples=2000).verdict
        is VerdictKind.REFUTED
        for seed in range(seeds)
    )
    assert stats.binom.sf(refuted - 1, seeds, 0.05) > FALSE_FAILURE_RATE


class PeekingAttack(PairAttack):
    """Learns its cells and counts from a block before it bets on that block."""

    def play(self, first, second):
        self._past[0].append(first)
        self._past[1].append(second)
        self.pairs += len(first.keys)
        self._refit()
        block = CellBlock(self.known, np.stack([self.experts.counts(first), self.experts.counts(second)]))
        self.blocks.append(block)
        return block


def test_an_attack_that_peeks_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: on outputs that do not depend on the input at all, learning from the block that is
    bet on refutes in every run, and the test above would say so.
    """
    monkeypatch.setattr("dpaudit.blackbox.search.PairAttack", PeekingAttack)
    blind = [Neighbours("twenty answers", np.zeros(20), np.full(20, 1e-9))]
    mechanism, claim = noisy_maximum(1.0, value=False), PureDP(epsilon="0.1")
    refuted = sum(
        check(mechanism, claim, neighbours=blind, batch=True, seed=seed, max_samples=2000).verdict
        is VerdictKind.REFUTED
        for seed in range(6)
    )
    assert stats.binom.sf(refuted - 1, 6, 0.05) < FALSE_FAILURE_RATE


def test_lower_bound_stays_below_the_truth_and_comes_near() -> None:
    """With all runs spent, the bound on Laplace noise of half the scale lies between 1.7 and the true 2."""
    result = check(laplace(0.5), ONE, neighbours=UNITS, batch=True, max_samples=20_000, stop_early=False)
    assert 1.7 < result.evidence.lower <= 2.0


def test_stopping_early_gives_the_same_verdict_with_fewer_runs() -> None:
    """An early stop refutes with a bound above the claim; spending all runs refutes too, with a better
    bound.
    """
    early = check(laplace(0.5), ONE, neighbours=UNITS, batch=True, max_samples=5000)
    late = check(laplace(0.5), ONE, neighbours=UNITS, batch=True, max_samples=5000, stop_early=False)
    assert early.verdict is late.verdict is VerdictKind.REFUTED
    assert early.samples < late.samples <= 5000
    assert 1.0 < early.evidence.lower < late.evidence.lower


def leaky(probability: float):
    """Coin of epsilon 1, and with some probability the input itself."""

    def run(x, rng, size):
        coin = (rng.random(size) < 1 / (1 + math.e)) ^ (x > 0)
        return np.where(rng.random(size) < probability, 7 + x, coin * 1.0)

    return run


def test_delta_is_bounded_from_below_and_never_above_the_truth() -> None:
    """A leak of probability 0.02: delta 0.005 is refuted, 0.02 is not, and the bound is between 0.01 and
    0.02.
    """
    small, exact = ApproxDP(epsilon=1, delta="0.005"), ApproxDP(epsilon=1, delta="0.02")
    refuted = check(leaky(0.02), small, neighbours=UNITS, batch=True, max_samples=10_000, stop_early=False)
    standing = check(leaky(0.02), exact, neighbours=UNITS, batch=True, max_samples=20_000)
    assert refuted.verdict is VerdictKind.REFUTED
    assert 0.01 < refuted.evidence.lower <= 0.02
    assert refuted.evidence.quantity == "delta"
    assert standing.verdict is VerdictKind.INCONCLUSIVE


@pytest.mark.parametrize("seeds", [6, pytest.param(12, marks=pytest.mark.slow)])
def test_power_statement_is_what_it_says(seeds: int) -> None:
    """The violation that a run names is refuted by at least a quarter of equal runs, a third of it by at most
    half of them.
    """
    quiet = check(laplace(1.0), ONE, neighbours=UNITS, batch=True, max_samples=2000)
    entry = quiet.evidence.details["power"]["events"][1]
    share, epsilon = entry["probability"], entry["epsilon"]

    def refutations(true_epsilon: float) -> int:
        def event(x, rng, size):
            chance = share if x == 0 else share * math.exp(-true_epsilon)
            return (rng.random(size) < chance) * 1.0

        results = [
            check(event, ONE, neighbours=UNITS, batch=True, seed=seed, max_samples=2000)
            for seed in range(seeds)
        ]
        return sum(result.verdict is VerdictKind.REFUTED for result in results)

    assert refutations(epsilon) >= seeds / 4
    assert refutations(1 + (epsilon - 1) / 3) <= seeds / 2


def test_large_epsilons_are_tractable() -> None:
    """Laplace noise of scale 1/8: claim 3 is refuted, claim 8 and claim 30 stand, without a warning."""
    verdicts = [
        check(laplace(1 / 8), PureDP(epsilon=e), neighbours=UNITS, batch=True, max_samples=20_000).verdict
        for e in (3, 8, 30)
    ]
    assert verdicts == [VerdictKind.REFUTED, VerdictKind.INCONCLUSIVE, VerdictKind.INCONCLUSIVE]


def test_experts_count_every_output_once() -> None:
    """The cells of every expert are a partition: each expert's counts sum to the number of outputs."""
    rng = np.random.default_rng(1)
    encoder = OutcomeEncoder()
    past = tuple(encoder.encode(rng.normal(shift, 1, (50, 3))) for shift in (0, 1))
    experts = Experts(past, epsilon=1.0, bits=True, reader=encoder)
    assert np.all(experts.fit(past).sum(axis=-1) == 50)
    odd = encoder.encode([np.array([np.nan, 1.0, 2.0]), None, np.zeros(5), np.array([np.inf, -np.inf, 0.0])])
    assert np.all(experts.counts(odd).sum(axis=-1) == 4)
    assert sum(experts.weights) + experts.follow == pytest.approx(1.0)
