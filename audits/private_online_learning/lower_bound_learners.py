"""Learners and selectors against Theorem 10's lower bound, on its own hard family, by exact laws (appendix
H).

Certified-private learners must be above the private term; Follow the Leader falls below it and is shown not
private. Instance j has mean 1/2 + gap for action j and 1/2 for all others. Epochs of 1, 2, 4, ... rounds,
the first one with action 1: by symmetry the worst instance is the one whose best action is the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms.online import ftnl
from algorithms.play import full_information_program
from audits.private_online_learning.family_law import (
    epoch_lengths,
    epoch_regret,
    follow_the_leader_error,
    noisy_max_error,
)
from dpaudit.claims import LowerBound, PureDP
from dpaudit.evidence import Estimate
from dpaudit.plots import curves, series, table
from dpaudit.replays.histories import Neighbours
from dpaudit.replays.privacy import PrivacyAudit, privacy_outcome
from dpaudit.suite import Outcome, Row, Run, Suite

__all__ = ["CERTIFIED", "SCALES", "add_rows", "family_regret", "smallest_horizon"]

#: Margin for the quadratures, far above their errors.
ROUNDING = 1e-8

#: The constant of the private term in the paper's proof: regret at least 0.0098 ln K/epsilon.
PRIVATE_TERM = Fraction(98, 10_000)


def add_rows(suite: Suite) -> None:
    """Selectors against (58), private learners against both terms, and Follow the Leader below the private
    one."""
    _private_term(suite)
    _non_private_term(suite)
    _without_noise(suite)


def smallest_horizon(*, n_actions: int, gap: float, epsilon: float) -> int:
    """The smallest T that Theorem 10 admits: max{ln K/(16 gap²), ln K/(10 epsilon gap)}, rounded up."""
    log = math.log(n_actions)
    return max(1, math.ceil(max(log / (16 * gap**2), log / (10 * epsilon * gap))))


#: Learner -> scale of the Laplace noise on each epoch's sums; 0 for none.
SCALES: dict[str, Callable[[int, float], float]] = {
    "FTNL, repaired": lambda k, epsilon: 2 / epsilon,
    "naive FTNL": lambda k, epsilon: k / epsilon,
    "FTNL, printed": lambda k, epsilon: 1 / epsilon,
    "Follow the Leader": lambda k, epsilon: 0.0,
}
CERTIFIED = ("FTNL, repaired", "naive FTNL")


def family_regret(learner: str, *, n_actions: int, gap: float, epsilon: float, horizon: int) -> float:
    """The largest pseudo-regret of ``learner`` over the K instances, by the exact law of the leader of each
    epoch."""
    scale = SCALES[learner](n_actions, epsilon)
    errors = []
    for length in epoch_lengths(horizon)[:-1]:
        if scale:
            error = noisy_max_error(n=length, best=0.5 + gap, others=0.5, n_actions=n_actions, scale=scale)
        else:
            error = follow_the_leader_error(
                n=length, best=0.5 + gap, others=0.5, n_actions=n_actions, best_first=False
            )
        errors.append(error)
    return epoch_regret(errors, gap=gap, horizon=horizon)


def _private_grid(run: Run) -> list[tuple[int, float, float]]:
    sizes = run.choose(quick=(2, 16, 256), full=(2, 4, 16, 64, 256))
    gaps = run.choose(quick=(0.02, 0.25), full=(0.02, 0.05, 0.1, 0.25, 0.5))
    budgets = run.choose(quick=(0.01, 0.1, 2.0), full=(0.01, 0.03, 0.1, 0.5, 1.0, 2.0))
    return [(k, gap, epsilon) for k in sizes for gap in gaps for epsilon in budgets]


def _ratio_rows(run: Run, bound: Any, horizons: Any) -> list[list[Any]]:
    rows = []
    for k, gap, epsilon in _private_grid(run):
        horizon = horizons(k, gap, epsilon)
        for learner in CERTIFIED:
            regret = family_regret(learner, n_actions=k, gap=gap, epsilon=epsilon, horizon=horizon)
            rows.append(
                [
                    learner,
                    k,
                    gap,
                    epsilon,
                    horizon,
                    regret,
                    bound(k, gap, epsilon),
                    regret / bound(k, gap, epsilon),
                ]
            )
    return rows


COLUMNS = ["learner", "K", "Δ", "ε", "T", "regret", "bound", "regret / bound"]


def _private_term(suite: Suite) -> None:
    @suite.row(
        "HHM-T10/private-term",
        title="Private term: every ε-DP learner has regret ≥ 0.0098 ln K/ε on some instance of the family",
        kind="lower-bound",
        claim=LowerBound(
            text=(
                "for every ε-DP learner the largest regret over P_1..P_K is ≥ 0.0098 ln K/ε if T ≥ "
                "max{ln K/(16Δ²), ln K/(10εΔ)}, Δ ≤ 1/2"
            ),
            quantity_name="regret / (0.0098 ln K/ε)",
            claimed=1,
            constants=(("c", str(PRIVATE_TERM)),),
        ),
        expect="inconclusive",
        source="Theorem 10; appendix H, last sentence (the constant)",
    )
    def evaluate(run: Run) -> Outcome:
        """Compute the exact regret of every certified-private learner on the hard family, at the smallest
        horizon that the theorem admits.

        The leader's law is a one-dimensional integral, so that nothing is simulated. A private learner
        below the bound would refute it; none can verify it, since the claim is about all of them (the
        proof's steps are the other rows). The figure shows all learners against ε at one horizon.
        """
        rows = _ratio_rows(run, lambda k, gap, e: float(PRIVATE_TERM) * math.log(k) / e, _horizon)
        worst = min(rows, key=lambda row: row[-1])
        estimate = Estimate(
            quantity="regret / (0.0098 ln K/ε)",
            lower=worst[-1] * (1 - ROUNDING),
            upper=worst[-1] * (1 + ROUNDING),
            confidence=1.0,
            samples=len(rows),
            method="exact law of each epoch's leader, quadrature",
            scope="repaired and naive FTNL on the grid of the table, the smallest admitted T",
            covers_claim=True,
        )
        learner, k, gap, epsilon, horizon = worst[:5]
        note = (
            f"the smallest ratio is {worst[-1]:.3g}: {learner}, K = {k}, Δ = {gap}, ε = {epsilon}, "
            f"T = {horizon}"
        )
        top = sorted(rows, key=lambda row: row[-1])[:20]
        pictures = [
            _figure(run),
            table(title="Private learners closest to the bound", columns=COLUMNS, rows=top),
        ]
        return Outcome([estimate], [note], plots=pictures, samples=len(rows))


def _horizon(k: int, gap: float, epsilon: float) -> int:
    return smallest_horizon(n_actions=k, gap=gap, epsilon=epsilon)


def _figure(run: Run) -> dict[str, Any]:
    k, gap, horizon = 16, 0.25, 2**14 - 1
    grid = np.geomspace(0.0005, 2, run.choose(quick=7, full=25)).tolist()
    lines = [
        series(
            name=learner,
            x=grid,
            y=[family_regret(learner, n_actions=k, gap=gap, epsilon=e, horizon=horizon) for e in grid],
        )
        for learner in SCALES
    ]
    private = series(
        name="0.0098 ln K/ε", x=grid, y=[float(PRIVATE_TERM) * math.log(k) / e for e in grid], dashed=True
    )
    rate = series(name="ln K/Δ", x=grid, y=[math.log(k) / gap] * len(grid), dashed=True)
    return curves(
        title=f"Regret on the hard family, K = {k}, Δ = {gap}, T = {horizon}",
        series=[*lines, private, rate],
        x_title="ε",
        y_title="largest regret over the family",
        x_log=True,
        y_log=True,
        note="Follow the Leader is not private and may be below the private term; the others may not",
    )


def _non_private_term(suite: Suite) -> None:
    constant = Fraction(1, 256)

    @suite.row(
        "HHM-T10/non-private-term",
        title=(
            "Non-private term: every ε-DP learner has regret ≥ c ln K/Δ on some instance of the family, "
            "Δ ≤ 1/4"
        ),
        kind="lower-bound",
        claim=LowerBound(
            text=(
                "for every learner the largest regret over P_1..P_K is ≥ c ln K/Δ if T ≥ ln K/(16Δ²) and "
                "Δ ≤ 1/4; the paper prints no constant and no range, here c = 1/256"
            ),
            quantity_name="regret / (c ln K/Δ)",
            claimed=1,
            constants=(("c", str(constant)),),
        ),
        expect="inconclusive",
        source="Theorem 10, first term (Mourtada and Gaïffas 2019, Proposition 4)",
    )
    def evaluate(run: Run) -> Outcome:
        """Compute exact regrets at T = ln K/(16Δ²), where the bound is largest against what can be lost: of
        Follow the Leader and of private learners.

        T Δ = ln K/(16Δ) is the most that can be lost by then, so that no constant above 1/16 is possible. A
        learner below c ln K/Δ on the whole family would refute the constant.
        """
        rows: list[list[Any]] = []
        for k in (2, 4, 16, 256, 4096):
            for gap in (0.01, 0.05, 0.1, 0.25):
                horizon = math.ceil(math.log(k) / (16 * gap**2))
                bound = float(constant) * math.log(k) / gap
                for learner, epsilon in (
                    ("Follow the Leader", 1.0),
                    ("FTNL, repaired", 1.0),
                    ("FTNL, repaired", 8.0),
                ):
                    regret = family_regret(learner, n_actions=k, gap=gap, epsilon=epsilon, horizon=horizon)
                    rows.append([learner, k, gap, epsilon, horizon, regret, bound, regret / bound])
        worst = min(rows, key=lambda row: row[-1])
        estimate = Estimate(
            quantity="regret / (c ln K/Δ)",
            lower=worst[-1] * (1 - ROUNDING),
            upper=worst[-1] * (1 + ROUNDING),
            confidence=1.0,
            samples=len(rows),
            method="exact law of each epoch's leader",
            scope="Follow the Leader, repaired FTNL with ε = 1 and 8; K from 2 to 4096, Δ from 0.01 to 0.25",
            covers_claim=True,
        )
        picture = table(
            title="Learners against ln K/(256Δ)", columns=COLUMNS, rows=sorted(rows, key=lambda row: row[-1])
        )
        note = "for Δ up to 1 the term fails with every constant (HHM-T10)"
        return Outcome([estimate], [note], plots=[picture], samples=len(rows))


def _without_noise(suite: Suite) -> None:
    k, gap, epsilon = 16, 0.25, Fraction(1, 2000)
    horizon = smallest_horizon(n_actions=k, gap=gap, epsilon=float(epsilon))

    @suite.row(
        "HHM-T10/ftl-regret",
        title="Follow the Leader, without noise, obeys the private lower bound",
        kind="lower-bound",
        claim=LowerBound(
            text=(
                f"Follow the Leader's largest regret over P_1..P_K is ≥ 0.0098 ln K/ε at K = {k}, Δ = "
                f"1/4, ε = {epsilon}, T = {horizon}"
            ),
            quantity_name="regret / (0.0098 ln K/ε)",
            claimed=1,
            constants=(("c", str(PRIVATE_TERM)), ("epsilon", str(epsilon)), ("T", str(horizon))),
        ),
        expect="refuted",
        source="negative control for Theorem 10: the bound must be about private learners only",
    )
    def evaluate(run: Run) -> Outcome:
        """Compute Follow the Leader's exact regret on the hard family: it falls below the private term, so
        that the bound separates private learners from others."""
        regret = family_regret(
            "Follow the Leader", n_actions=k, gap=gap, epsilon=float(epsilon), horizon=horizon
        )
        ratio = regret / (float(PRIVATE_TERM) * math.log(k) / float(epsilon))
        estimate = Estimate(
            quantity="regret / (0.0098 ln K/ε)",
            lower=ratio * (1 - ROUNDING),
            upper=ratio * (1 + ROUNDING),
            confidence=1.0,
            samples=1,
            method="exact law of each epoch's leader: Binomial sums",
            scope=f"K = {k}, Δ = 1/4, ε = {epsilon}, T = {horizon}, the worst instance of the family",
            covers_claim=True,
        )
        return Outcome(
            [estimate], [f"regret {regret:.4f}; that it is not private is HHM-T10/ftl-private"], samples=1
        )

    _shown_not_private(suite)


def _shown_not_private(suite: Suite) -> None:
    def pairs(run: Run) -> list[Neighbours]:
        data = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
        changed = data.copy()
        changed[0] = [0.0, 1.0]
        return [Neighbours("first reward vector from (1/2, 1/2) to (0, 1)", data, changed)]

    audit = PrivacyAudit(
        claim=PureDP(epsilon=1000, domain="a vector of K rewards in [0, 1], one per round"),
        program=full_information_program(ftnl.follow_the_leader()),
        neighbours=pairs,
        sites=[],
    )

    def evaluate(run: Run) -> Outcome:
        """Replay Follow the Leader on neighbouring inputs: it shows another leader with certainty, so that
        its loss is infinite."""
        return privacy_outcome(audit, run)

    suite.add(
        Row(
            id="HHM-T10/ftl-private",
            title="Follow the Leader, without noise, is 1000-DP",
            kind="privacy",
            claim=audit.claim,
            evaluate=evaluate,
            expect="refuted",
            view=str(audit.claim.view),
            source="negative control for Theorem 10",
        )
    )
