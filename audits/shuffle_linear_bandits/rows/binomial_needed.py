"""Compare the printed number b of binomial trials in P_Vec with the least certified number (``dpaudit
calibrate``)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from audits.shuffle_linear_bandits.binomial_privacy import stated
from dpaudit.certify.proof import Proof
from dpaudit.core.question import Question
from dpaudit.core.suite import Group
from dpaudit.reference.mechanisms.binomial_vectors import printed_sheet

__all__ = ["rows"]

rows = Group("Binomial trials that are needed")


def _ask(epsilon: str, delta: str, *, dim: int = 5, batch_size: int = 20) -> None:
    sheet = printed_sheet(dim=dim, batch_size=batch_size, epsilon=epsilon, delta=delta)

    def mechanism(trials: Fraction) -> Proof:
        fewer = replace(sheet, trials=-int(-trials // 1))
        return fewer.statistic().proof(epsilon=epsilon, delta=delta)

    rows.calibrate(
        Question(
            id=f"CZ22-C.1p/ε={epsilon}",
            title=f"P_Vec, d = {dim}, B = {batch_size}, δ = {delta}: vector and matrix jointly",
            claim=stated(epsilon, delta),
            parameter="trials b of a user and entry",
            printed=sheet.trials,
            mechanism=mechanism,
        )
    )


_ask("1/5", "1/10")
_ask("1", "1/1000000")
