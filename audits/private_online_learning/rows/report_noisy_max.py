"""Report Noisy Max by itself (claims HHM-RNM, HHM-FRESH), the step on which Theorem 6 depends.

The paper cites Claim 3.9 of Dwork and Roth for Laplace(1/ε). This claim is about counting queries under
add/remove adjacency, so all scores move in the same direction. Here one reward *vector* is replaced, and one
score may fall while its rival rises.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from audits.private_online_learning.neighbours import REWARDS, vector_pairs
from dpaudit.certify.build import BoundedSum
from dpaudit.certify.build import report_noisy_max as certified_noisy_max
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Program
from dpaudit.core import data as declared
from dpaudit.core.claims import Adjacency, PureDP
from dpaudit.core.data import Records
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.plots import Plot, delta_curve, table
from dpaudit.core.suite import Group, Run
from dpaudit.distributions import Laplace
from dpaudit.reference.algorithms.environment import RewardVectors
from dpaudit.reference.algorithms.online.ftnl import epochs
from dpaudit.reference.algorithms.play import play
from dpaudit.reference.mechanisms.report_noisy_max import RnmVariant, report_noisy_max, rnm_noise
from dpaudit.reference.mechanisms.winner_ratios import largest_winner_ratio, winner_deltas
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import full, over, privacy

__all__ = ["rows"]

rows = Group("Report Noisy Max")

EPSILON = Fraction(1)
SOURCE = "Algorithm 3; Claim 3.9 of Dwork and Roth (2014)"
CLAIM = PureDP(epsilon=EPSILON, domain=str(REWARDS))
#: Numbers of actions.
WIDTHS = over(n_actions=(2, 3, 5))
RATIOS = over(
    epsilon="0.1 0.25 0.5 1 2 8",
    s=(0, 4, 8, 12, 16, full(1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15)),
)


def _leader(noise: Laplace) -> Program:
    return lambda coins, data: int(report_noisy_max(coins, data.sum(axis=0), noise=noise))


def _corner_pairs(n_actions: int, rows: int) -> list[Neighbours]:
    """Return a pair in which action 1 leads by ``rows``. One vector is replaced, so action 1 falls while all
    others, or one other, rise."""
    data = np.zeros((rows, n_actions))
    data[:, 0] = 1.0
    vectors = {
        "all rise": [0.0] + [1.0] * (n_actions - 1),
        "one rises": [0.0, 1.0] + [0.0] * (n_actions - 2),
        "none rises": [0.0] * n_actions,
    }
    return [
        Neighbours(f"{rows} vectors, leader falls and {what}", data, np.vstack([[vector], data[1:]]))
        for what, vector in vectors.items()
    ]


def _pictures(run: Run, variant: RnmVariant, n_actions: int) -> list[Plot]:
    pictures = [_ratio_table(run, variant, n_actions)]
    return (
        [_delta_plot(rnm_noise(epsilon=EPSILON, variant=variant)), *pictures] if n_actions == 2 else pictures
    )


def _vectors(n_actions: int, **others: object) -> Records:
    """Return the data: any number of reward vectors."""
    return Records(declared.Interval(0, 1), width=n_actions)


@privacy(
    rows,
    "HHM-RNM/repaired",
    SOURCE,
    role="repaired",
    over=WIDTHS,
    accounting="",
    plots=_pictures,
    variant="repaired",
    prove=_vectors,
)
@privacy(
    rows,
    "HHM-RNM",
    SOURCE,
    role="step",
    over=WIDTHS,
    expect="refuted",
    accounting="",
    plots=_pictures,
    variant="printed",
    prove=_vectors,
)
def replaced_vectors(variant: RnmVariant, n_actions: int) -> PrivacyAudit:
    """Report Noisy Max ({variant}) is ε-DP for replaced vectors

    Compute exact losses of corner pairs, then the largest log-ratio on a grid of ε, K and n from the exact
    distribution of the winner.
    """
    noise = rnm_noise(epsilon=EPSILON, variant=variant)
    return PrivacyAudit(
        claim=PureDP(epsilon=EPSILON, domain=_vectors(n_actions).words),
        domain=REWARDS,
        program=_leader(noise),
        neighbours=lambda run: [pair for n in (2, 256) for pair in _corner_pairs(n_actions, n)],
        sites=[Site("leader", total=EPSILON)],
        proof=certified_noisy_max(sensitivity=1, scale=noise.scale, range="general"),
    )


def _ratio_table(run: Run, variant: RnmVariant, n_actions: int) -> Plot:
    """Return the largest log-ratio / ε for each ε, K and n = 2^s."""
    entries = []
    for point in RATIOS.at(run):
        epsilon, n = point["epsilon"], 2 ** point["s"]
        noise = rnm_noise(epsilon=epsilon, variant=variant)
        ratio = largest_winner_ratio(noise, n_actions=n_actions, vectors=n) / float(epsilon)
        entries.append([float(epsilon), n_actions, n, round(ratio, 6)])
    return table(
        title=f"Largest log-ratio of the winner's distribution of {n_actions}, divided by ε",
        columns=["ε", "K", "vectors n", "ratio / ε"],
        rows=entries,
    )


def _delta_plot(noise: Laplace) -> Plot:
    """Plot delta(epsilon). The lower curve is exact. The upper curve follows from the certified pure bound E
    = 2/scale: (e^E - e^epsilon)/(1 + e^E), because binary randomised response dominates every E-DP pair
    (Kairouz, Oh and Viswanath 2015)."""
    pure, leads = 2 / float(noise.scale), range(-1, 13)
    grid = np.linspace(0.0, 1.1 * pure, 45)
    return delta_curve(
        title="δ(ε) of one Report Noisy Max, two actions",
        epsilon=grid.tolist(),
        lower=winner_deltas(grid, noise=noise, leads=leads).tolist(),
        upper=(np.maximum(np.exp(pure) - np.exp(grid), 0.0) / (1.0 + np.exp(pure))).tolist(),
        claimed_epsilon=float(EPSILON),
        claimed_delta=0.0,
        note="lower: exact, over leads of -1 to 12; upper: from the certified pure bound",
    )


@privacy(
    rows,
    "HHM-RNM/cited",
    "Claim 3.9 of Dwork and Roth, as they state it",
    role="step",
    over=over(n_actions=(2, 5)),
    accounting="",
    prove=_vectors,
)
def added_vector(n_actions: int) -> PrivacyAudit:
    """Report Noisy Max with Laplace(1/ε) is ε-DP when a vector is added or removed

    Under the adjacency of the cited claim, all scores move in the same direction and Laplace(1/ε) is enough.
    """
    noise = rnm_noise(epsilon=EPSILON, variant="printed")
    return PrivacyAudit(
        claim=PureDP(epsilon=EPSILON, adjacency=Adjacency.ADD_REMOVE, domain=_vectors(n_actions).words),
        domain=REWARDS,
        program=_leader(noise),
        neighbours=lambda run: [_one_more(n_actions, n) for n in (1, 16, 256)],
        sites=[Site("leader", total=EPSILON)],
        proof=certified_noisy_max(sensitivity=BoundedSum(0, 1), scale=noise.scale, range="monotone"),
    )


def _one_more(n_actions: int, rows: int) -> Neighbours:
    data = np.zeros((rows, n_actions))
    data[:, 0] = 1.0
    more = np.vstack([data, [[0.0] + [1.0] * (n_actions - 1)]])
    return Neighbours(f"{rows} vectors and one more that favours the others", data, more)


@privacy(
    rows,
    "HHM-FRESH",
    "Section 5: fresh observations every time",
    role="what-if",
    expect="refuted",
    accounting="refuted",
)
def reused_observations() -> PrivacyAudit:
    """FTNL on all observations so far (not only the last epoch's) is ε-DP

    Epochs that share observations add up, as the paper itself says, so there is no proof.
    """
    noise = rnm_noise(epsilon=EPSILON, variant="repaired")

    def reusing(coins: Coins, data: Any) -> Any:
        seen = np.zeros(data.shape[1])

        def select(coins: Coins, sums: Any) -> Any:
            nonlocal seen
            seen = seen + sums
            return report_noisy_max(coins, seen, noise=noise)

        return play(epochs(select), coins, RewardVectors(data))

    level, *others = vector_pairs(n_actions=2, epochs=7)
    first = level.left.copy()
    first[0] = [0.0, 1.0]
    turned = Neighbours("first vector reversed", level.left, first)
    return PrivacyAudit(
        claim=CLAIM,
        domain=REWARDS,
        program=reusing,
        neighbours=lambda run: [level, *others, turned],
        sites=[Site("leader", total=EPSILON)],
    )
