"""Report Noisy Max by itself (claims HHM-RNM, HHM-FRESH): the step on which Theorem 6 rests.

The paper cites Claim 3.9 of Dwork and Roth for Laplace(1/epsilon). That claim is about counting queries when
a record is added or removed: all scores move the same way. Here one reward *vector* is replaced, and one
score may fall while its rival rises.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms.environment import RewardVectors
from algorithms.online.ftnl import epochs
from algorithms.play import play
from audits.private_online_learning.neighbours import vector_pairs
from audits.program_rows import add_privacy_rows
from dpaudit.claims import Adjacency, PureDP
from dpaudit.coins import Coins
from dpaudit.laws import Laplace, NoisyArgmax
from dpaudit.plots import Plot, delta_curve, table
from dpaudit.proofs.build import BoundedSum
from dpaudit.proofs.build import report_noisy_max as certified_noisy_max
from dpaudit.proofs.sites import Site
from dpaudit.replays.histories import Neighbours
from dpaudit.replays.privacy import PrivacyAudit, digest_of, privacy_outcome
from dpaudit.suite import Outcome, Row, Run, Suite
from mechanisms.report_noisy_max import report_noisy_max, rnm_noise

__all__ = ["add_rows", "largest_ratio"]

EPSILON = Fraction(1)
EPSILONS = ("0.1", "0.25", "0.5", "1", "2", "8")
DOMAIN = "a vector of K rewards in [0, 1]"


def add_rows(suite: Suite) -> None:
    """Report Noisy Max as printed, repaired, and where the printed constant is right; and the reuse of
    observations."""
    _noisy_max(suite, "HHM-RNM", "printed", expect="refuted")
    _noisy_max(suite, "HHM-RNM/repaired", "repaired", expect="verified")
    _monotone(suite)
    _reuse(suite)


def _leader(coins: Coins, data: Any, noise: Laplace) -> int:
    return int(report_noisy_max(coins, data.sum(axis=0), noise=noise))


def _corner_pairs(n_actions: int, rows: int) -> list[Neighbours]:
    """Action 1 is ahead by ``rows``; one vector is replaced so that it falls while all others, or one other,
    rise."""
    data = np.zeros((rows, n_actions))
    data[:, 0] = 1.0
    all_rise, one_rises, flat = data.copy(), data.copy(), data.copy()
    all_rise[0] = [0.0] + [1.0] * (n_actions - 1)
    one_rises[0] = [0.0, 1.0] + [0.0] * (n_actions - 2)
    flat[0] = 0.0
    return [
        Neighbours(f"{rows} vectors, leader falls and {what}", data, other)
        for what, other in (("all rise", all_rise), ("one rises", one_rises), ("none rises", flat))
    ]


def _noisy_max(suite: Suite, id_: str, variant: Any, *, expect: str) -> None:
    noise = rnm_noise(epsilon=EPSILON, variant=variant)
    audit = PrivacyAudit(
        claim=PureDP(epsilon=EPSILON, domain=DOMAIN),
        program=lambda coins, data: _leader(coins, data, noise),
        neighbours=lambda run: [
            pair for k in (2, 3, 5) for rows in (2, 256) for pair in _corner_pairs(k, rows)
        ],
        sites=[Site("leader", total=EPSILON)],
        proof=certified_noisy_max(sensitivity=1, scale=noise.scale, range="general"),
    )

    def evaluate(run: Run) -> Outcome:
        """Exact losses of corner pairs; then the largest log-ratio on a grid of epsilon, K and n, by the
        exact law of the winner."""
        outcome = privacy_outcome(audit, run)
        ratios = ratio_table(variant, sizes=run.choose(quick=range(0, 17, 4), full=range(17)))
        plots = [*outcome.plots, delta_plot(noise), ratios]
        return Outcome(outcome.evidence, outcome.notes, outcome.obstacles, plots, outcome.samples)

    suite.add(
        Row(
            id=id_,
            title=f"Report Noisy Max ({variant}) is ε-DP for replaced vectors",
            kind="privacy",
            claim=audit.claim,
            evaluate=evaluate,
            expect=expect,
            view=str(audit.claim.view),
            source="Algorithm 3; Claim 3.9 of Dwork and Roth (2014)",
            fingerprint=lambda seed: digest_of(audit, seed, row_id=id_),
        )
    )


def largest_ratio(epsilon: Fraction, *, n_actions: int, rows: int, variant: Any) -> float:
    """The largest log-ratio of the winner's law over replaced vectors, for sums in [0, rows], divided by
    epsilon.

    P(winner = 1) falls in the rivals' scores and rises in its own, so that the worst replacement moves all of
    them against it by 1; the ratio grows with the deficit, so that all rivals are level. A geometric grid of
    deficits up to ``rows`` (and the smallest ones) is evaluated.
    """
    noise = rnm_noise(epsilon=epsilon, variant=variant)
    # A replaced vector moves the difference by 2; with one vector it goes from 1 behind to 1 ahead.
    deficits = np.array(
        sorted({1, rows, *(2**k for k in range(rows.bit_length())), min(rows, int(64 / epsilon) + 1)})
    )
    # Action 1 trails by d before and by d - 2 after the replacement.
    before = np.zeros((len(deficits), n_actions))
    before[:, 0] = -deficits
    after = before.copy()
    after[:, 0] += 2
    winner = np.zeros(len(deficits), dtype=np.int64)
    gain = NoisyArgmax(after, noise).logp(winner) - NoisyArgmax(before, noise).logp(winner)
    return float(np.max(gain)) / float(epsilon)


def delta_plot(noise: Laplace) -> Plot:
    """delta(epsilon): the largest over leads of one exact hockey-stick divergence from below; from above,
    what the certified pure bound E = 2/scale implies, (e^E - e^epsilon)/(1 + e^E) (binary randomised response
    dominates every E-DP pair, Kairouz, Oh and Viswanath 2015)."""
    pure = 2 / float(noise.scale)
    grid = np.linspace(0.0, 1.1 * pure, 45)
    leads = np.arange(-1, 13, dtype=float)
    scores = np.stack([np.zeros_like(leads), leads], axis=-1)  # action 1 trails by the lead, then by two less
    worlds = [NoisyArgmax(scores - shift, noise) for shift in (np.zeros(2), np.array([0.0, 2.0]))]
    here, there = (
        np.exp([law.logp(np.full(len(leads), j, dtype=np.int64)) for j in (0, 1)]) for law in worlds
    )
    factor = np.exp(grid)[:, None, None]
    divergences = [np.maximum(p - factor * q, 0.0).sum(axis=1) for p, q in ((here, there), (there, here))]
    lower = np.maximum(*divergences).max(axis=1)
    upper = np.maximum(np.exp(pure) - np.exp(grid), 0.0) / (1.0 + np.exp(pure))
    return delta_curve(
        title="δ(ε) of one Report Noisy Max, two actions",
        epsilon=grid.tolist(),
        lower=lower.tolist(),
        upper=upper.tolist(),
        claimed_epsilon=float(EPSILON),
        claimed_delta=0.0,
        note="lower: exact, over leads of -1 to 12; upper: from the certified pure bound",
    )


def ratio_table(variant: Any, *, sizes: Any) -> Plot:
    """The grid of the claim's recipe: epsilon, K and n = 2^s against largest log-ratio / epsilon."""
    rows = [
        [epsilon, k, 2**s, largest_ratio(Fraction(epsilon), n_actions=k, rows=2**s, variant=variant)]
        for epsilon in EPSILONS
        for k in (2, 3, 5)
        for s in sizes
    ]
    return table(
        title="Largest log-ratio of the winner's law, divided by ε",
        columns=["ε", "K", "vectors n", "ratio / ε"],
        rows=[[e, k, n, round(ratio, 6) if math.isfinite(ratio) else None] for e, k, n, ratio in rows],
    )


def _monotone(suite: Suite) -> None:
    """The setting of the cited claim: all scores move the same way, and Laplace(1/epsilon) is enough."""
    noise = rnm_noise(epsilon=EPSILON, variant="printed")

    def pairs(run: Run) -> list[Neighbours]:
        found = []
        for k in (2, 5):
            for rows in (1, 16, 256):
                data = np.zeros((rows, k))
                data[:, 0] = 1.0
                more = np.vstack([data, [[0.0] + [1.0] * (k - 1)]])
                found.append(Neighbours(f"{rows} vectors and one more that favours the others", data, more))
        return found

    audit = PrivacyAudit(
        claim=PureDP(epsilon=EPSILON, domain=DOMAIN, adjacency=Adjacency.ADD_REMOVE),
        program=lambda coins, data: _leader(coins, data, noise),
        neighbours=pairs,
        sites=[Site("leader", total=EPSILON)],
        proof=certified_noisy_max(sensitivity=BoundedSum(0, 1), scale=noise.scale, range="monotone"),
    )
    suite.add(
        Row(
            id="HHM-RNM/cited",
            title="Report Noisy Max with Laplace(1/ε) is ε-DP when a vector is added or removed",
            kind="privacy",
            claim=audit.claim,
            evaluate=lambda run: privacy_outcome(audit, run),
            view=str(audit.claim.view),
            source="Claim 3.9 of Dwork and Roth (2014), as they state it",
        )
    )


def _reuse(suite: Suite) -> None:
    noise = rnm_noise(epsilon=EPSILON, variant="repaired")

    def reusing(coins: Coins, data: Any) -> Any:
        seen = np.zeros(data.shape[1])

        def select(coins: Coins, sums: Any) -> Any:
            nonlocal seen
            seen = seen + sums
            return report_noisy_max(coins, seen, noise=noise)

        return play(epochs(select), coins, RewardVectors(data))

    def pairs(run: Run) -> list[Neighbours]:
        found = vector_pairs(n_actions=2, epochs=7)
        first = found[0].left.copy()
        first[0] = [0.0, 1.0]
        return [*found, Neighbours("first vector turned round", found[0].left, first)]

    audit = PrivacyAudit(
        claim=PureDP(epsilon=EPSILON, domain=DOMAIN),
        program=reusing,
        neighbours=pairs,
        sites=[Site("leader", total=EPSILON)],
        # No proof: the paper itself says that this does not hold. Epochs that share observations add up.
        proof=None,
    )
    add_privacy_rows(
        suite,
        "HHM-FRESH",
        audit,
        title="FTNL on all observations so far (not only the last epoch's) is ε-DP",
        expect="refuted",
        expect_accounting="refuted",
        source="Section 5: Report Noisy Max needs fresh observations every time",
    )
