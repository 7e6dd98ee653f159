"""Betting on cells: every bet is placed before its block is seen, and pays what the formula says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.blackbox.statistics import CellBetting, CellBlock, cell_stakes
from dpaudit.blackbox.statistics.cells import log_gains

#: Two experts with three cells each: the first one's cells tell the inputs apart, the second one's do not.
KNOWN = np.array([[[90, 5, 5], [34, 33, 33]], [[5, 5, 90], [33, 33, 34]]])
APART = CellBlock(KNOWN, np.array([[[18, 1, 1], [7, 7, 6]], [[1, 1, 18], [6, 7, 7]]]))
EPSILONS = np.array([1.0])


def played(*blocks: CellBlock) -> float:
    betting = CellBetting(EPSILONS, deltas=0.0, weights=[0.5, 0.3], follow=0.2)
    wealth = 0.0
    for block in blocks:
        wealth = float(betting.update(block)[0])
    return wealth


def test_the_follower_copies_who_was_richest_before_the_block() -> None:
    """Nobody is ahead before the first block, so the follower sits it out; in the second one she copies the
    expert who won the first, also where that expert loses.
    """
    gain, other = log_gains(APART, EPSILONS, np.zeros(1))[0]
    assert gain > 1 > abs(other)
    assert played(APART) == pytest.approx(math.log(0.5 * math.exp(gain) + 0.3 * math.exp(other) + 0.2))
    turned = CellBlock(KNOWN, APART.seen[::-1])
    loss, same = log_gains(turned, EPSILONS, np.zeros(1))[0]
    assert loss < same
    parts = [0.5 * math.exp(gain + loss), 0.3 * math.exp(other + same), 0.2 * math.exp(loss)]
    assert played(APART, turned) == pytest.approx(math.log(sum(parts)))


def test_a_block_pays_the_product_over_its_pairs() -> None:
    """The gain of a block is the sum of the logs of both factors of every pair, at the stakes of the past."""
    for delta in (0.0, 0.05):
        deltas = np.array([delta])
        first, second, fee = (part[0, 0] for part in cell_stakes(KNOWN, EPSILONS, deltas))
        assert fee == pytest.approx(delta * (max(first) + max(second)) / 2)
        assert first[0] > 0.1 < second[2]
        assert first[1] == first[2] == second[0] == second[1] == 0
        odds = math.e
        gain = sum(APART.seen[0, 0] * np.log(1 + first - odds * second - fee))
        gain += sum(APART.seen[1, 0] * np.log(1 + second - odds * first - fee))
        assert log_gains(APART, EPSILONS, deltas)[0, 0] == pytest.approx(gain)
    assert APART.pairs == 20


def test_stakes_rise_with_the_evidence_and_fall_with_the_claim() -> None:
    """No outputs, or what the claim allows, make no bet; more of the same evidence makes a larger one, up to
    the limit.
    """

    def stake(known: list[list[int]], epsilon: float) -> float:
        counts = np.array(known)[:, None, :]
        return float(cell_stakes(counts, np.array([epsilon]), np.zeros(1))[0][0, 0, 0])

    assert stake([[0, 0], [0, 0]], 1.0) == 0.0
    assert stake([[20, 80], [10, 90]], math.log(2)) == pytest.approx(0.0, abs=1e-12)
    few, many = stake([[9, 1], [1, 9]], 1.0), stake([[90, 10], [10, 90]], 1.0)
    assert 0 < few < many < 0.98 / math.e
    assert many > stake([[90, 10], [10, 90]], 1.5) > 0
    assert stake([[10**9, 0], [0, 1]], 0.0) == pytest.approx(0.98)


def test_a_stake_is_the_kelly_share_times_the_odds_that_the_cell_is_beyond_the_claim() -> None:
    """The formula written out: the share shrunk to the boundary by twelve outputs, the Bayes factor with an
    Occam factor at sixty.
    """
    epsilon, wins, losses = 0.7, 55, 12
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    q = (wins + 12 * p) / (wins + losses + 12)
    kelly = (q - p) / p
    divergence = q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p))
    evidence = (wins + losses) * divergence - 0.5 * math.log1p((wins + losses) / 60)
    known = np.array([[[wins, 1]], [[losses, 1]]])
    first, second, fee = cell_stakes(known, np.array([epsilon]), np.zeros(1))
    assert first[0, 0, 0] == pytest.approx(kelly / (1 + math.exp(-evidence)), rel=1e-12)
    assert 0 < first[0, 0, 0] < 0.98 / math.exp(epsilon)
    assert (second[0, 0, 0], fee[0, 0]) == (0.0, 0.0)


def test_a_bold_stake_is_the_kelly_share_shrunk_by_one_output() -> None:
    """Of two experts with the same counts the bold one stakes (q - p)/p with one output at the boundary
    added, at once; the other one hardly anything.
    """
    known = np.array([[[3, 9], [3, 9]], [[0, 9], [0, 9]]])
    bold = np.array([True, False])
    first = cell_stakes(known, np.array([0.1]), np.zeros(1), bold=bold)[0][0]
    p = math.exp(0.1) / (1 + math.exp(0.1))
    assert first[0, 0] == pytest.approx(((3 + p) / 4 - p) / p)
    assert first[1, 0] < first[0, 0] / 4
    assert first[0, 1] == 0.0


def test_with_delta_the_cap_is_the_one_under_which_the_past_would_have_gained_most() -> None:
    """Of no bet and the caps tried, in the units of the limit, none would have gained more."""
    epsilons, deltas = np.array([0.2]), np.array([0.02])
    first, second, fee = cell_stakes(KNOWN, epsilons, deltas)
    free_first, free_second, _ = cell_stakes(KNOWN, epsilons, np.zeros(1))
    limit = 0.98 / (math.exp(0.2) + 0.02)

    def past_gain(one: np.ndarray, two: np.ndarray) -> float:
        cost = 0.01 * (one.max() + two.max())
        odds = math.exp(0.2)
        gain = (KNOWN[0, 0] + 0.25) @ np.log1p(one - odds * two - cost)
        return float(gain + (KNOWN[1, 0] + 0.25) @ np.log1p(two - odds * one - cost))

    tried = [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0]
    best = max(
        past_gain(*(np.minimum(part[0, 0], cap * limit) for part in (free_first, free_second)))
        for cap in tried
    )
    assert best > 0
    assert past_gain(first[0, 0], second[0, 0]) == pytest.approx(best)
    assert fee[0, 0] == pytest.approx(0.01 * (first[0, 0].max() + second[0, 0].max()))


def test_with_delta_no_bet_is_placed_where_the_past_would_have_lost() -> None:
    """The fee of a bet is paid on every pair: evidence that does not cover it gives no bet at all."""
    known = np.array([[[60, 40]], [[40, 60]]])
    for delta, bets in ((0.0, True), (0.3, False)):
        first, second, fee = cell_stakes(known, np.array([0.1]), np.array([delta]))
        assert bool(first.any() or second.any()) == bets
        assert bool(fee.any()) == (bets and delta > 0)


def test_the_weights_of_the_experts_are_shares_of_the_capital() -> None:
    """With equal experts the follower's share is a share like any other: all wealth is the expert's."""
    alike = CellBlock(KNOWN[:, :1].repeat(2, axis=1), APART.seen[:, :1].repeat(2, axis=1))
    gain = log_gains(alike, EPSILONS, np.zeros(1))[0, 0]
    assert played(alike) == pytest.approx(math.log(0.8 * math.exp(gain) + 0.2))
