"""Theorem 10, the private lower bound (appendix H): its construction, its three steps, and both ends of its
range.

A lower bound is never verified by simulation. It is refuted by a certified-private learner whose regret is
below it on every admissible instance; its construction and its inequalities can be checked one by one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.claims import LowerBound, PureDP
from dpaudit.errors import CertificateError
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import arb, ball, lower, precision, upper
from dpaudit.plots import table
from dpaudit.proofs.build import certify, compose_parallel, report_noisy_max
from dpaudit.suite import Outcome, Run, Suite

__all__ = ["add_rows", "point_mass_bound"]


def add_rows(suite: Suite) -> None:
    """The theorem at the end of its range, its construction, its steps, the minimax reading, and what is
    not checkable."""
    _theorem(suite)
    _minimax(suite)
    suite.not_checkable(
        "HHM-CONJ",
        reason=(
            "a conjecture about every non-lazy, non-forgetful algorithm: the class is not defined, no "
            "construction or constant is given, and one algorithm's regret decides nothing"
        ),
    )


CONSTANT = Fraction(1, 100)
LOG_ACTIONS = 256
BUDGET = Fraction(1500)


def point_mass_bound(*, log_actions: int, epsilon: Fraction) -> Any:
    """An upper bound, as a ball, of repaired FTNL's regret at every horizon if one of K = 2^log_actions
    actions always pays 1, the others 0.

    Epoch 0 costs at most 1. After an epoch of n = 2^s rounds a rival's noisy sum overtakes with probability
    (2 + x) exp(-x)/4, x = n epsilon/2 (two draws of Laplace(2/epsilon)), and there are K - 1 rivals: the
    next epoch costs at most 2n times that.
    """
    rivals = ball(2**log_actions - 1)
    total, s = arb(1), 0
    while True:
        x = ball(2**s * epsilon / 2)
        term = 2 ** (s + 1) * rivals * (2 + x) * (-x).exp() / 4
        total += term
        # Once x >= 4 a term is below half of the one before: the rest is below the last one.
        if x >= 4 and s >= 4:
            return total + term * arb(0).union(arb(1))
        s += 1


def _certified(epsilon: Fraction) -> str:
    """The kernel's own words on repaired FTNL: Report Noisy Max with Laplace(2/epsilon) once on each
    epoch's data."""
    claim = PureDP(epsilon=epsilon)
    leader = report_noisy_max(sensitivity=1, scale=2 / epsilon, range="general")
    certificate = certify(claim, compose_parallel([leader], by="position"))
    if certificate.bound > epsilon or certificate.assumptions:
        raise CertificateError(
            f"the learner must be certified {epsilon}-DP, got {certificate.bound} with "
            f"{certificate.assumptions}; "
            "do not use it against a lower bound."
        )
    return f"repaired FTNL is certified {certificate.bound}-DP for any number of actions"


def _threshold(constant: Fraction) -> list[Any]:
    """The smallest log K from which the learner is below ``constant`` max{...}, with epsilon = 6 log K."""
    log_actions = 2
    while True:
        regret = upper(point_mass_bound(log_actions=log_actions, epsilon=Fraction(6 * log_actions)))
        if regret < float(constant) * log_actions:
            return [
                f"{constant}",
                log_actions,
                6 * log_actions,
                round(regret, 6),
                float(constant) * log_actions,
            ]
        log_actions += 1


def _theorem(suite: Suite) -> None:
    @suite.row(
        "HHM-T10",
        title=(
            "Every ε-DP learner has regret Ω(max{log K/Δ_min, log K/ε}) on some instance, for every Δ_min > 0"
        ),
        kind="lower-bound",
        claim=LowerBound(
            text=(
                "for every ε-DP learner some distribution with a unique best action and all gaps ≥ Δ_min "
                "has regret ≥ c max{log K/Δ_min, log K/ε}; here c = 1/100, Δ_min = 1, K = 2^256, ε = "
                "1500, any T ≥ 12"
            ),
            quantity_name="regret / (c max{log K/Δ_min, log K/ε})",
            claimed=1,
            constants=(
                ("c", str(CONSTANT)),
                ("Delta_min", "1"),
                ("log_K", str(LOG_ACTIONS)),
                ("epsilon", str(BUDGET)),
            ),
        ),
        expect="refuted",
        source="Theorem 10",
    )
    def evaluate(run: Run) -> Outcome:
        """Bound a certified-private learner's regret on every instance at the end Δ_min = 1 of the range.

        Rewards lie in [0, 1], so that gaps of 1 leave one kind of instance: one action always pays 1, all
        others 0. There the repaired FTNL, whose privacy the kernel certifies, has regret at most 1 + (K -
        1) Σ_s 2^(s+1) (2 + x_s) exp(-x_s)/4 with x_s = 2^s ε/2, at every horizon: one reward vector tells
        it the best action. With ε = 6 log K this stays below 1.15 for every K, while the printed bound is
        c log K. The table gives the number of actions from which the learner is below the bound, for
        constants c from 1 to 1/10 000.
        """
        with precision(160):
            regret = point_mass_bound(log_actions=LOG_ACTIONS, epsilon=BUDGET)
            ratio = regret / ball(CONSTANT * LOG_ACTIONS)
            rows = [
                _threshold(Fraction(1, c)) for c in (1, 10, 100, *run.choose(quick=(), full=(1000, 10_000)))
            ]
        estimate = Estimate(
            quantity="regret / (c max{log K/Δ_min, log K/ε})",
            lower=None,
            upper=upper(ratio),
            confidence=1.0,
            samples=1,
            method="closed form in balls, union bound over the rivals",
            scope=(
                "repaired FTNL on every instance with Δ_min = 1: one action pays 1, all others 0; every "
                "horizon"
            ),
            covers_claim=True,
            details={"regret at most": upper(regret)},
        )
        picture = table(
            title="Where a certified-private learner is below c max{log K/Δ_min, log K/ε} at Δ_min = 1",
            columns=["c", "log K from", "ε = 6 log K", "regret at most", "c log K"],
            rows=rows,
        )
        notes = [
            _certified(BUDGET),
            "no universal c will do: the learner's regret stays near 1 while log K grows; for Δ_min > 1 "
            "there is no instance at all",
            "the private term alone holds for every Δ_min ≤ 1 (HHM-T10/conversion-repaired, "
            "HHM-T10/range-repaired); the non-private one needs Δ_min bounded away from 1",
        ]
        return Outcome([estimate], notes, plots=[picture], samples=1)


def _minimax(suite: Suite) -> None:
    log_actions, budget = 20_000, Fraction(12)

    @suite.row(
        "HHM-T10/minimax",
        title="With Δ_min = √(ln K/T): regret Ω(max{√(T log K), log K/ε}) if T ≥ ln K/(100ε²)",
        kind="lower-bound",
        claim=LowerBound(
            text=(
                "for every ε-DP learner some instance has regret ≥ c max{√(T log K), log K/ε} if T ≥ ln "
                "K/(100ε²); here c = 1/100, K = 2^20000, ε = 12, T = 1"
            ),
            quantity_name="regret / (c max{√(T log K), log K/ε})",
            claimed=1,
            constants=(
                ("c", str(CONSTANT)),
                ("log_K", str(log_actions)),
                ("epsilon", str(budget)),
                ("T", "1"),
            ),
        ),
        expect="refuted",
        source="Paragraph after Theorem 10",
    )
    def evaluate(run: Run) -> Outcome:
        """Compare the printed minimax bound with T, which no learner's regret exceeds.

        The condition T ≥ ln K/(100ε²) is what the private term needs; that T is at least 4 ln K, so that
        Δ_min = √(ln K/T) ≤ 1/2 leaves room for the construction, is not asked. With ε ≥ √(ln K)/10 even T =
        1 is admitted, where the regret is at most 1 and √(T log K) grows with K.
        """
        with precision(160):
            need = ball(log_actions) * arb.const_log2() / ball(100 * budget * budget)
            if not need <= 1:
                raise ArithmeticError(
                    f"the corner must satisfy T >= ln K/(100 epsilon^2), got {need} for T = 1."
                )
            root, private = ball(log_actions).sqrt(), ball(Fraction(log_actions, 1) / budget)
            bound = ball(CONSTANT) * (root if root > private else private)
            ratio, only_root = 1 / bound, 1 / (ball(CONSTANT) * root)
        estimate = Estimate(
            quantity="regret / (c max{√(T log K), log K/ε})",
            lower=None,
            upper=upper(ratio),
            confidence=1.0,
            samples=1,
            method="regret is at most T; closed form in balls",
            scope="every learner, T = 1, K = 2^20000, ε = 12",
            covers_claim=True,
        )
        notes = [
            f"already without the private term: 1 against c √(T log K) = {1 / lower(only_root):.3f}",
            "for T ≥ 4 ln K the gap √(ln K/T) is at most 1/2 and the reading is that of Theorem 10's proof",
        ]
        return Outcome([estimate], notes, samples=1)
