"""Selectors against the testing step of Theorem 10 (appendix H, (58)): the best private ones, and those
that step 3 builds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from audits.private_online_learning.family_law import noisy_max_error
from audits.private_online_learning.hard_family import smallest_private_error
from audits.private_online_learning.lower_bound_learners import CERTIFIED, SCALES
from dpaudit.claims import Ordering
from dpaudit.evidence import Estimate
from dpaudit.plots import table
from dpaudit.suite import Outcome, Run, Suite

__all__ = ["add_rows", "fano_bound"]

#: Margins for the linear programs and for the quadratures, far above their errors.
TOLERANCE = 1e-6
ROUNDING = 1e-8


def add_rows(suite: Suite) -> None:
    """(58) against the best private selectors, and the majority vote of private learners against 0.2."""
    _testing(suite)
    _majority(suite)


def fano_bound(*, n_actions: int, n: int, gap: float, epsilon: float) -> float:
    """Eq. (58): 0.45 min{1, (K - 1)/exp(10 epsilon n gap)}."""
    return 0.45 * min(1.0, (n_actions - 1) * math.exp(-10 * epsilon * n * gap))


def _testing(suite: Suite) -> None:
    @suite.row(
        "HHM-T10/testing",
        title="No ε-DP selector errs less than 0.45 min{1, (K−1)/e^(10εnΔ)}",
        kind="structure",
        claim=Ordering(
            text=(
                "(58) divided by the smallest worst-case error of any ε-DP selector from n reward "
                "vectors is at most 1"
            ),
            quantity_name="bound / smallest error",
            claimed=1,
        ),
        source="Appendix H, eq. (58)",
    )
    def evaluate(run: Run) -> Outcome:
        """Find the best ε-DP selector by linear programming and compare its error with (58).

        For small K and n the set of all ε-DP selectors is a polytope: a table of answers by data sets, with
        the ratios of neighbours bounded by e^ε. Its smallest worst-case error is exact up to the solver's
        tolerance, and no selector of any kind does better. Beside it: the exact error of Report Noisy Max
        with Laplace(2/ε), a certified selector, here and for larger K and n.
        """
        sizes = run.choose(
            quick=[(2, 1), (2, 3), (3, 1), (3, 2)],
            full=[(2, 1), (2, 3), (2, 5), (3, 1), (3, 2), (3, 3), (4, 1)],
        )
        rows = []
        for k, n in sizes:
            for gap in (Fraction(1, 50), Fraction(1, 4), Fraction(1, 2)):
                for epsilon in ("1/100", "1/10", "1/2", "2"):
                    rows.append(_selector_row(k, n, gap, Fraction(epsilon)))
        ratios = [row[4] / (row[5] - TOLERANCE) for row in rows]
        estimate = Estimate(
            quantity="bound / smallest error",
            lower=max(row[4] / (row[5] + TOLERANCE) for row in rows),
            upper=max(ratios),
            confidence=1.0,
            samples=len(rows),
            method="linear program over all ε-DP selectors, tolerance 1e-6",
            scope=f"(K, n) in {sizes}, Δ = 1/50, 1/4, 1/2, ε = 1/100, 1/10, 1/2, 2",
            covers_claim=True,
        )
        columns = ["K", "n", "Δ", "ε", "(58)", "best selector", "Report Noisy Max"]
        beyond = [
            _noisy_max_row(k, n, 0.25, e) for k in (2, 16, 256) for n in (4, 64) for e in (0.01, 0.1, 1.0)
        ]
        picture = table(title="Worst-case error of private selectors", columns=columns, rows=[*rows, *beyond])
        note = (
            "(58) holds for all parameters: with β the average error and y = e^(10εnΔ), group privacy "
            "and Markov's inequality give β ≥ (K−1)(0.9 − β)/y"
        )
        return Outcome([estimate], [note], plots=[picture], samples=len(rows))


def _selector_row(k: int, n: int, gap: Fraction, epsilon: Fraction) -> list[Any]:
    bound = fano_bound(n_actions=k, n=n, gap=float(gap), epsilon=float(epsilon))
    best = smallest_private_error(n_actions=k, n=n, gap=gap, epsilon=float(epsilon))
    return [
        k,
        n,
        float(gap),
        float(epsilon),
        bound,
        best,
        _noisy_max_row(k, n, float(gap), float(epsilon))[-1],
    ]


def _noisy_max_row(k: int, n: int, gap: float, epsilon: float) -> list[Any]:
    error = noisy_max_error(n=n, best=0.5 + gap, others=0.5, n_actions=k, scale=2 / epsilon)
    return [k, n, gap, epsilon, fano_bound(n_actions=k, n=n, gap=gap, epsilon=epsilon), None, error]


def _grid(run: Run) -> list[tuple[int, float, float]]:
    budgets = run.choose(quick=(0.01, 0.1, 2.0), full=(0.01, 0.03, 0.1, 0.5, 1.0, 2.0))
    return [
        (k, gap, epsilon)
        for k in (2, 4, 16, 64, 256)
        for gap in (0.02, 0.1, 0.25, 0.5)
        for epsilon in budgets
    ]


def _majority(suite: Suite) -> None:
    @suite.row(
        "HHM-T10/majority",
        title="The majority of a private learner's first m ≤ m* actions is wrong with probability ≥ 0.2",
        kind="structure",
        claim=Ordering(
            text=(
                "0.2 / P(the majority selector of repaired or naive FTNL errs) ≤ 1 for m = 2^R − 1 ≤ m* = "
                "ln K/(10εΔ)"
            ),
            quantity_name="0.2 / error",
            claimed=1,
        ),
        source="Appendix H, steps 2 and 3",
    )
    def evaluate(run: Run) -> Outcome:
        """Compute the exact error of the selector that step 3 builds, at the largest m = 2^R − 1 below m*.

        The last of R epochs holds more than half of the 2^R − 1 rounds, so that its leader is the majority:
        with one epoch action 1, else the noisy leader of the epoch before.
        """
        rows = []
        for k, gap, epsilon in _grid(run):
            most = math.log(k) / (10 * epsilon * gap)
            if most < 1:
                continue
            epochs = math.floor(math.log2(most + 1))
            for learner in CERTIFIED:
                error = _last_leader_error(learner, k, gap, epsilon, epochs)
                rows.append([learner, k, gap, epsilon, 2**epochs - 1, error, 0.2 / error])
        worst = max(row[-1] for row in rows)
        estimate = Estimate(
            quantity="0.2 / error",
            lower=worst * (1 - ROUNDING),
            upper=worst * (1 + ROUNDING),
            confidence=1.0,
            samples=len(rows),
            method="exact law of the last epoch's leader, quadrature",
            scope="repaired and naive FTNL, K up to 256, Δ from 0.02, ε from 0.01, where m* ≥ 1",
            covers_claim=True,
        )
        picture = table(
            title="Majority selectors closest to 0.2",
            columns=["learner", "K", "Δ", "ε", "m", "error", "0.2 / error"],
            rows=sorted(rows, key=lambda row: -row[-1])[:20],
        )
        return Outcome([estimate], plots=[picture], samples=len(rows))


def _last_leader_error(learner: str, k: int, gap: float, epsilon: float, epochs: int) -> float:
    """P(the last of ``epochs`` epochs plays a wrong action) on the worst instance."""
    if epochs == 1:
        return 1.0
    scale = SCALES[learner](k, epsilon)
    return noisy_max_error(n=2 ** (epochs - 2), best=0.5 + gap, others=0.5, n_actions=k, scale=scale)
