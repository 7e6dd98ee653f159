"""The online learners of Hu, Huang and Mehta (arXiv 2102.07929), round by round, for proofs of programs.

A record is one round's rewards, one for each action, in [0, 1]. The algorithms are also in
``algorithms.online.ftnl`` and ``algorithms.mab.hybrid_ucb``, which play many rounds in one step and keep the
noise of a noisy maximum inside its distribution. Here every round is a step of the loop, hidden noise is
drawn explicitly, and every output of the server is public.
"""

from __future__ import annotations

import math
from typing import Any

from dpaudit.coins.base import Coins, Program
from dpaudit.core.exact import ExactLike, exact
from dpaudit.distributions import Laplace

__all__ = ["follow_noisy_leader", "hybrid_counter", "hybrid_ucb"]


def follow_noisy_leader(*, actions: int, scale: ExactLike) -> Program:
    """Play Algorithm 2: epochs of 1, 2, 4, ... rounds, each with the noisy leader of exactly the previous
    epoch.

    ``scale`` of the noise of one score is 1/epsilon as printed, 2/epsilon repaired.
    """
    noise = Laplace(scale=exact(scale, name="scale"))

    def program(coins: Coins, data: Any) -> None:
        leader, length, played = 0, 1, 0
        sums: list[Any] = [0] * actions
        for rewards in data:
            coins.reveal(leader, site="action")
            for action in range(actions):
                sums[action] = sums[action] + rewards[action]
            played += 1
            if played == length:
                best = sums[0] + coins.draw(noise, site="score")
                leader = 0
                for action in range(1, actions):
                    score = sums[action] + coins.draw(noise, site="score")
                    if score > best:
                        best = score
                        leader = action
                sums = [0] * actions
                length *= 2
                played = 0
        coins.reveal(leader, site="action")

    return program


def hybrid_counter(
    *, array: ExactLike, node: ExactLike, wider: bool = False, promoted: bool = False
) -> Program:
    """Release all prefix sums of a stream of numbers in [0, 1] by eqs. (32)-(34).

    Arrays for blocks of 1, 2, 4, ... observations have noise of scale ``array``. Each block of 2^r has a tree
    whose nodes have the scale ``node`` * r (``wider``: r + 1). ``promoted`` reads a full block from its
    array, never from its root.
    """
    at_array, at_node, one_more = (
        Laplace(scale=exact(array, name="array")),
        exact(node, name="node"),
        int(wider),
    )

    def program(coins: Coins, data: Any) -> None:
        level, leaves = 0, 0
        block: Any = 0
        nodes: list[Any] = [0]
        for value in data:
            block = block + value
            leaves += 1
            full = leaves == 2**level
            if level > 0 and not (promoted and full):
                rank = 0
                while leaves % 2 ** (rank + 1) == 0:
                    rank += 1
                covered = value
                for lower in range(rank):
                    covered = covered + nodes[lower]
                    nodes[lower] = 0
                nodes[rank] = covered
                coins.release(covered, Laplace(scale=at_node * (level + one_more)), site="node-" + str(level))
            if full:
                coins.release(block, at_array, site="array")
                level += 1
                leaves = 0
                block = 0
                nodes = [0] * (level + 1)

    return program


def hybrid_ucb(
    *, arms: int, array: ExactLike, node: ExactLike, epsilon: ExactLike = 1, wider: bool = False
) -> Program:
    """Play Algorithm 4: pull the arm of the largest index, with one hybrid counter per arm.

    Node noise is as printed, or larger with ``wider``. Every arm is pulled once first.
    """
    at_array, at_node, one_more = (
        Laplace(scale=exact(array, name="array")),
        exact(node, name="node"),
        int(wider),
    )
    budget = float(exact(epsilon, name="epsilon"))

    def program(coins: Coins, data: Any) -> None:
        pulls, levels, leaves = [0] * arms, [0] * arms, [0] * arms
        blocks: list[Any] = [0] * arms
        nodes: list[Any] = [[0] for _ in range(arms)]
        noisy: list[Any] = [[0] for _ in range(arms)]
        closed: list[Any] = [0] * arms
        totals: list[Any] = [0] * arms
        played = 0
        for rewards in data:
            arm = played
            if played >= arms:
                log_t = math.log2(played + 1)
                arm = 0
                best: Any = None
                for one in range(arms):
                    depth = 0
                    while 2 ** (depth + 1) <= pulls[one] + 1:
                        depth += 1
                    reach = math.sqrt(3 * log_t / pulls[one])
                    reach += 6 * math.sqrt(8) * log_t * depth / (pulls[one] * budget)
                    index = totals[one] / pulls[one] + reach
                    if best is None or index > best:
                        best = index
                        arm = one
            coins.reveal(arm, site="arm")
            value = rewards[arm]
            level = levels[arm]
            blocks[arm] = blocks[arm] + value
            pulls[arm] += 1
            leaves[arm] += 1
            before = closed[arm]
            if level > 0:
                rank = 0
                while leaves[arm] % 2 ** (rank + 1) == 0:
                    rank += 1
                covered = value
                for lower in range(rank):
                    covered = covered + nodes[arm][lower]
                    nodes[arm][lower] = 0
                    noisy[arm][lower] = 0
                nodes[arm][rank] = covered
                noisy[arm][rank] = coins.release(
                    covered, Laplace(scale=at_node * (level + one_more)), site="node"
                )
                total = 0
                for one in reversed(noisy[arm]):
                    total = total + one
                totals[arm] = before + total
            if leaves[arm] == 2**level:
                closed[arm] = before + coins.release(blocks[arm], at_array, site="array")
                totals[arm] = closed[arm] if level == 0 else totals[arm]
                levels[arm] = level + 1
                leaves[arm] = 0
                blocks[arm] = 0
                nodes[arm] = [0] * (level + 2)
                noisy[arm] = [0] * (level + 2)
            played += 1  # noqa: SIM113  (a proof for every size reads the loop's own state)

    return program
