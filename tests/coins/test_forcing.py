"""Check chosen histories, in which hidden draws and answers of channels are chosen like other outcomes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpaudit.coins import Coins, force, record, replay
from dpaudit.coins.forcer import ImpossibleHistoryError
from dpaudit.coins.levels import uniform_of
from dpaudit.core.neighbours import Neighbours
from dpaudit.distributions import AboveThreshold, Bernoulli, BinaryTree, DiscreteLaplace, Exponential, Laplace
from dpaudit.distributions.base import Distribution
from dpaudit.replay.histories import far_out, worst_history
from tests.errors import raises

DATA = np.array([0.0, 1.0, 0.0, 1.0])


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def draws(coins: Coins, data: Any) -> list[float]:
    return [float(coins.draw(Laplace(scale=1), site="noise")) for _ in data]


def test_a_hidden_draw_is_chosen_by_site_and_occurrence() -> None:
    """The third draw is in a small box at 7, and the others equal those of the run without a choice."""

    def third(site: str, occurrence: int, distribution: Distribution) -> float | None:
        assert site == "noise"
        return 7.0 if occurrence == 2 else None

    free, forced = (force(draws, DATA, choice, rng=rng()) for choice in (lambda *_: None, third))
    assert forced.returned[2] == pytest.approx(7.0, abs=1e-5)
    assert [site.forced for site in forced.sites[:-1]] == [False, False, True, False]
    assert forced.returned[:2] == free.returned[:2]
    assert (forced.forced, free.forced) == (True, False)


def test_a_chosen_draw_keeps_its_quantile_on_the_neighbour() -> None:
    """A chosen draw is replayed at the same quantile of the neighbour's distribution."""

    def program(coins: Coins, data: Any) -> None:
        value = coins.draw(Laplace(scale=1).shift(float(data.sum())), site="noise")
        coins.release(float(value), Laplace(scale=1), site="sum")

    recording = force(program, DATA, lambda site, *_: 5.0 if site == "noise" else None, rng=rng())
    result = replay(program, DATA + 1, recording)
    assert result.choices[0].value - recording.sites[0].value == pytest.approx(4.0, abs=1e-9)


@pytest.mark.parametrize("distribution", [Bernoulli(p="1/3"), DiscreteLaplace(scale=2), Laplace(scale=2)])
def test_the_uniform_of_an_outcome_gives_it_back(distribution: Distribution) -> None:
    """The distribution's ``ppf`` inverts ``uniform_of``."""
    for value in (0, 1):
        assert distribution.ppf(uniform_of(distribution, value)) == pytest.approx(value, abs=1e-12)


def test_an_impossible_draw_is_refused() -> None:
    """A negative outcome of exponential noise is an impossible history."""

    def program(coins: Coins, data: Any) -> float:
        return float(coins.draw(Exponential(scale=1), site="noise"))

    with raises(ImpossibleHistoryError, code="E-HISTORY-IMPOSSIBLE"):
        force(program, DATA, lambda *_: -1.0, rng=rng())


SPARSE = AboveThreshold(
    threshold=3, threshold_noise=Laplace(scale=1), query_noise=Laplace(scale=2), max_positives=2
)
ONE_NOISE = AboveThreshold(
    threshold=3, threshold_noise=Laplace(scale=1), query_noise=None, max_positives=None
)


def queried(kernel: Any) -> Any:
    def program(coins: Coins, data: Any) -> list[bool]:
        session, found = coins.channel(kernel, site="above"), []
        for query in data:
            found.append(bool(session.ask(float(query))))
            if kernel.max_positives is not None and sum(found) == kernel.max_positives:
                break
        return found

    return program


def test_answers_of_a_sparse_vector_are_chosen_and_close_the_channel() -> None:
    """Two chosen positives close the channel, and the joint distribution gives their small probability."""
    recording = force(queried(SPARSE), DATA, lambda site, occurrence, _: occurrence in (0, 2), rng=rng())
    assert recording.returned == [True, False, True]
    queries, answers = ([getattr(site, name) for site in recording.sites[:-1]] for name in ("query", "value"))
    assert -20 < float(SPARSE.log_joint(queries, answers)) < -3


def test_answers_after_a_chosen_one_are_drawn_given_it() -> None:
    """With noise on the threshold only, all larger queries are answered True after a chosen True at 0."""
    data = np.array([0.0, 0.5, 1.0, 5.0])

    def first(site: str, occurrence: int, distribution: Any) -> bool | None:
        return True if occurrence == 0 else None

    for seed in range(20):
        recording = force(queried(ONE_NOISE), data, first, rng=np.random.default_rng(seed))
        assert recording.returned == [True] * 4


def test_conditional_answers_have_their_conditional_distribution() -> None:
    """The share of True after a chosen False is the ratio of two joint probabilities."""
    data = np.array([3.0, 3.0])
    runs = [
        force(
            queried(SPARSE), data, lambda _, k, __: False if k == 0 else None, rng=np.random.default_rng(seed)
        )
        for seed in range(600)
    ]
    share = np.mean([run.returned[1] for run in runs])
    exact = math.exp(float(SPARSE.log_joint([3.0, 3.0], [False, True]) - SPARSE.log_joint([3.0], [False])))
    assert share == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 600))


def test_an_impossible_answer_is_refused() -> None:
    """Without query noise, a larger query cannot be answered False after a smaller one was answered True."""
    with raises(ImpossibleHistoryError, code="E-HISTORY-IMPOSSIBLE"):
        force(queried(ONE_NOISE), np.array([0.0, 1.0]), lambda _, k, __: k == 0, rng=rng())


TREE = BinaryTree(leaves=4, noise=Laplace(scale=2))


def counted(coins: Coins, data: Any) -> list[float]:
    session = coins.channel(TREE, site="tree")
    return [float(session.ask(float(leaf))) for leaf in data]


def test_nodes_of_a_tree_are_chosen_far_out() -> None:
    """At large nodes, the joint density is the product of four Laplace densities, one per node."""
    recording = force(counted, DATA, far_out(1), rng=rng())
    assert min(recording.returned) > 1e8
    sums = [0.0, 1.0, 0.0, 2.0]  # blocks that end at leaves 1 to 4: {1}, {1, 2}, {3}, {1, 2, 3, 4}
    expected = sum(-math.log(4) - (value - s) / 2 for value, s in zip(recording.returned, sums, strict=True))
    assert float(TREE.log_joint(DATA.tolist(), recording.returned)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("leaf", range(4))
def test_the_search_attains_what_a_leaf_costs(leaf: int) -> None:
    """The worst history attains the closed form: each node above the leaf costs 1/2."""
    other = DATA.copy()
    other[leaf] = 1 - other[leaf]
    found = worst_history(counted, Neighbours("one leaf", DATA, other), rng=rng())
    nodes = len(BinaryTree.nodes_of_leaf(leaf + 1, 4))
    assert max(float(result.loss()) for result in found) == pytest.approx(nodes / 2, rel=1e-9)


def test_the_search_chooses_answers_of_a_sparse_vector() -> None:
    """The worst transcript has a larger loss than fifty sampled ones, and at most the mechanism's epsilon."""
    pair = Neighbours("all queries by one", np.zeros(4), np.ones(4))
    program = queried(SPARSE)
    worst = max(float(item.loss()) for item in worst_history(program, pair, rng=rng()))
    drawn = [
        float(replay(program, pair.right, record(program, pair.left, rng=np.random.default_rng(seed))).loss())
        for seed in range(50)
    ]
    assert max(drawn) <= worst <= 1 / 1 + 2 * 2 / 2
