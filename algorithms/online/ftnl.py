"""Follow the Noisy Leader: epochs of 1, 2, 4, ... rounds, each played with the previous epoch's noisy leader.

Hu, Huang and Mehta (arXiv 2102.07929), Algorithm 2. The leader comes from Report Noisy Max on the sums of
exactly the previous epoch. Variants: ``printed`` (noise Laplace(1/epsilon), which costs up to 2 epsilon when
a whole reward vector is replaced) and ``repaired`` (Laplace(2/epsilon)); see ``mechanisms.report_noisy_max``.

``naive`` releases all K sums with Laplace(K/epsilon) (section 5). ``follow_the_leader`` adds no noise and is
not private. The schedule is public: under coins with replicates all runs advance as one array.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.coins.base import Coins, Program
from dpaudit.core.exact import ExactLike, positive
from dpaudit.core.views import SERVER
from dpaudit.distributions import Laplace
from dpaudit.reference.algorithms.play import Pulls, Strategy, full_information_program
from dpaudit.reference.mechanisms.report_noisy_max import RnmVariant, report_noisy_max, rnm_noise

__all__ = ["Selector", "epochs", "follow_the_leader", "naive", "naive_program", "program", "strategy"]

#: Returns the next leader from the sums (K,), or (R, K), of one epoch.
Selector = Callable[[Coins, Any], Any]


def strategy(*, epsilon: ExactLike, variant: RnmVariant = "repaired", first_action: int = 0) -> Strategy:
    """Play Algorithm 2 with privacy parameter ``epsilon`` (exact, positive); epoch 0 plays ``first_action``.

    Leaders are released at site ``leader``.
    """
    noise = rnm_noise(epsilon=epsilon, variant=variant)
    return epochs(lambda coins, sums: report_noisy_max(coins, sums, noise=noise), first_action=first_action)


def naive(*, epsilon: ExactLike, first_action: int = 0) -> Strategy:
    """Play naive FTNL (section 5): every sum is released with Laplace(K/epsilon), at site ``sums``."""
    exact_epsilon = positive(epsilon, name="epsilon")
    return epochs(
        lambda coins, sums: _argmax_of_released(coins, sums, exact_epsilon), first_action=first_action
    )


def follow_the_leader(*, first_action: int = 0) -> Strategy:
    """Play FTL in epochs: no noise, not private. The baseline below the private lower bound."""
    return epochs(lambda coins, sums: _argmax(sums), first_action=first_action)


def program(*, epsilon: ExactLike, variant: RnmVariant = "repaired", first_action: int = 0) -> Program:
    """Run ``program(coins, data)`` for reward vectors (T, K); returns the decisions as runs (action,
    count).
    """
    return full_information_program(strategy(epsilon=epsilon, variant=variant, first_action=first_action))


def naive_program(*, epsilon: ExactLike, first_action: int = 0) -> Program:
    """Run ``program`` for naive FTNL."""
    return full_information_program(naive(epsilon=epsilon, first_action=first_action))


def epochs(select: Selector, *, first_action: int = 0) -> Strategy:
    """Play the epoch schedule with any selector: play, use the last epoch only, choose."""

    def run(coins: Coins, n_arms: int) -> Pulls:
        action: Any = first_action if coins.replicates is None else np.full(coins.replicates, first_action)
        length = 1
        while True:
            batch = yield action, length
            action = select(coins, batch.sum())
            length *= 2

    return run


def _argmax(scores: Any) -> Any:
    return int(np.argmax(scores)) if scores.ndim == 1 else np.argmax(scores, axis=-1)


def _argmax_of_released(coins: Coins, sums: Any, epsilon: Fraction) -> Any:
    n_actions = np.shape(sums)[-1]
    return _argmax(coins.release(sums, Laplace(scale=n_actions / epsilon), site="sums", to=SERVER))
