"""Remark 4: batches of l(b) = η^b users keep the order of the regret, for any constant η > 1."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from algorithms.mab.distributed_regret import simulate_variant
from algorithms.mab.reward_models import bernoulli_arms
from audits.distributed_mab.elimination_event import Race
from audits.distributed_mab.elimination_regret import INSTANCES, C, expected_ratio, horizons, instance
from dpaudit.claims import RegretRate
from dpaudit.evidence import Estimate
from dpaudit.plots import table
from dpaudit.suite import Outcome, Run, Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The row CZ23-R4."""
    growths = (Fraction(3, 2), Fraction(2), Fraction(4))

    @suite.row(
        "CZ23-R4",
        title="Remark 4: l(b) = η^b keeps the order of the regret, η = 3/2, 2, 4",
        kind="regret",
        claim=RegretRate(
            text=(
                f"E Reg(T) <= {C} (Σ log(KT/p)/Δ_a + ...), p = 1/T, for all instances with l(b) = ⌈η^b⌉, "
                "η = 3/2, 2, 4, on the grid"
            ),
            quantity_name="E Reg / rate",
            claimed=C,
            constants=(("C", str(C)),),
        ),
        source="Remark 4",
    )
    def growth_row(run: Run) -> Outcome:
        """The bound of CZ23-L1 for three growths; beside it simulated regrets, relative to η = 2."""
        lengths = horizons(run)
        found: dict[Fraction, float] = {}
        for growth, budget, arms, horizon in itertools.product(growths, ("1/10", "5"), (2, 50), lengths):
            race = Race(
                name="dist_dp_se",
                epsilon=Fraction(budget),
                n_arms=arms,
                failure_prob=Fraction(1, horizon),
                horizon=horizon,
                growth=growth,
            )
            found[growth] = max(found.get(growth, 0.0), expected_ratio(race))
        estimate = Estimate(
            quantity="E Reg / rate",
            lower=None,
            upper=max(found.values()),
            confidence=1.0,
            samples=3 * 2 * 2 * len(lengths),
            method="bound for all instances: pulls on E at every gap, and T P[not E]",
            scope="Dist-DP-SE, ε = 1/10, 5; K = 2, 50; T up to 2^" + str(max(lengths).bit_length() - 1),
            covers_claim=True,
        )
        rows = _relative(run, growths)
        picture = table(
            title="Mean simulated regret by growth, relative to η = 2",
            columns=["instance", *(f"η = {growth}" for growth in growths)],
            rows=rows,
        )
        notes = [f"η = {growth}: bound / rate at most {value:.4g}" for growth, value in found.items()]
        spread = [value for row in rows for value in row[1:]]
        notes.append(
            f"simulated means lie between {min(spread):.3g} and {max(spread):.3g} times those of η = 2"
        )
        return Outcome([estimate], notes, plots=[picture])


def _relative(run: Run, growths: Sequence[Fraction]) -> list[list[Any]]:
    runs, horizon = run.choose(quick=100, full=1000), 2**20
    rows: list[list[Any]] = []
    for top, gaps in INSTANCES:
        race = Race(
            name="dist_dp_se",
            epsilon=Fraction(1, 2),
            n_arms=1 + len(gaps),
            failure_prob=Fraction(1, horizon),
            horizon=horizon,
        )
        model = bernoulli_arms(instance(top, gaps, runs))
        means = {
            growth: float(
                simulate_variant(
                    race.variant,
                    model,
                    horizon=horizon,
                    growth=growth,
                    points=2,
                    seed=run.seed_sequence(f"{growth}, {top}, {gaps}"),
                )
                .curves[:, -1]
                .mean()
            )
            for growth in growths
        }
        rows.append(
            [f"best {top:g}, gaps {gaps}", *(means[growth] / means[Fraction(2)] for growth in growths)]
        )
    return rows
