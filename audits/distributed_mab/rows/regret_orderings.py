"""The paper's statements in addition to its rates: Theorem 1 compared with the central baseline and with
approximate DP, larger s in Theorem 2, and the difference between Theorems 2 and 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from audits.distributed_mab.regret_approximate import converted_renyi, renyi_budget
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import ball
from dpaudit.reference.algorithms.mab.batched_regret import Setting
from dpaudit.reference.algorithms.mab.simulated_regret import (
    baseline_regret,
    in_units_of_noise,
    mean_regret,
    noise_cells,
)
from dpaudit.suite import (
    Expression,
    Sides,
    Step,
    average,
    expected,
    inequality,
    integers,
    largest,
    on,
    over,
    reals,
    step,
    steps,
)

__all__ = ["rows"]

rows = Group("Regret: orderings in addition to the rates")

TWENTIETH = Fraction(1, 20)
#: Tolerance for the rounding of two expressions that are equal.
EQUAL = 1 + Fraction(1, 2**100)


@expected(
    rows,
    "CZ23-OPT",
    "after Theorem 1",
    at_most=5,
    quantity="regret of Dist-DP-SE / regret of DP-SE",
    over=over(means=((1.0, 0.0), (0.75, 0.5), (0.5, 0.49), (0.5,) + (0.4,) * 9), epsilon="1/1000 1/10 1 20"),
)
def baseline(means: Sequence[float], epsilon: Fraction) -> Expression:
    """Dist-DP-SE's regret is at most 5 times the regret of DP-SE in the central model

    Simulate both algorithms on the same instances, T = 2^24, p = 1/T, arms in random order. The printed rates
    are the same expression.
    """
    at = Setting(name="dist_dp_se", epsilon=epsilon, n_arms=len(means), horizon=2**24)
    return mean_regret(at, means, label="Dist-DP-SE") / baseline_regret(at, means, label="DP-SE")


@expected(
    rows,
    "CZ23-S/regret",
    "discussion of Theorem 2",
    at_most=1,
    quantity="regret at s' / regret at s",
    over=over(n_arms=(2, 10)),
)
def scaling_factor(n_arms: int) -> Expression:
    """Larger s: lower regret of Dist-RDP-SE, (s, s') = (1, 10) and (10, 100)

    Simulate in the regime in which noise dominates: T = 2^24, averaged over an octave of ε below 1/20.
    """
    mean = {s: _octave("dist_rdp_se", 24, scale=s, n_arms=n_arms) for s in (1, 10, 100)}
    return largest([mean[10] / mean[1], mean[100] / mean[10]])


def _octave(name: str, exponent: int, *, scale: int = 1, n_arms: int = 2, times: int = 1) -> Expression:
    cells = noise_cells(name, scale=scale, epsilon=TWENTIETH, n_arms=n_arms, exponent=exponent)
    return in_units_of_noise(cells, times=times)


@expected(
    rows,
    "CZ23-T2R/separation",
    "Theorems 1 and 2",
    at_most="9/10",
    quantity="growth of Dist-RDP-SE / growth of Dist-DP-SE",
    constants=[("factor", "9/10")],
    role="sharper",
)
def separation() -> Expression:
    """With s = 100 the noise's part of the regret grows from T = 2^16 to 2^60 by at most 9/10 of Dist-DP-SE's
    factor

    Simulate both algorithms in the regime in which noise dominates (one arm pays 1, one 0, an octave of ε
    below 1/20) and compare their growth in T, while log T grows by 15/4. The radii give about 2√L + L/100 and
    √2 √L + L, L = log(4 b² T). At these horizons these grow by factors of 1.7 and 2.5, while √(log T) and log
    T grow by 1.94 and 15/4.
    """
    early, late = (
        (_octave("dist_rdp_se", t, scale=100, times=2), _octave("dist_dp_se", t, times=2)) for t in (16, 60)
    )
    return (late[0] / early[0]) / (late[1] / early[1])


# Approximate DP: the printed expressions with equal constants


def _log(log2_T: int) -> Any:
    return ln(2**log2_T)


NOISE_TERMS = {"log2_T": (2, 12, 24, 200), "n_arms": (2, 50), "epsilon": "1/1000 1 20"}
TERMS: dict[str, Any] = {
    "log2_T": integers(1, None),
    "n_arms": integers(1, None),
    "epsilon": reals(0, None, "()"),
}


@inequality(
    rows,
    "CZ23-OPT/tenenbaum",
    "after Theorem 1; Table 1",
    kind="regret",
    over=over(**NOISE_TERMS, level="1022/1000 23/10 14 41"),
    prove=on(**TERMS, level=reals(1, None)),
)
def earlier_work(log2_T: int, n_arms: int, epsilon: Fraction, level: Fraction) -> Sides:
    """Theorem 1's rate is at most the rate of Tenenbaum et al. for δ <= 1/e: K log T/ε <= K log T
    √(log(1/δ))/ε

    Evaluate both noise terms with equal constants, at δ = e^{-level}. The sampling terms are the same
    expression.

    Note: for δ above 1/e the quoted rate is smaller, by at most a constant factor if δ is bounded away from 1
    """
    ours = n_arms * _log(log2_T) / ball(epsilon)
    return ours, ours * ball(level).sqrt()


@step(
    over=over(log2_T=(2, 12, 24, 200), delta="999/1000 1/2 1/1000000 1/1000000000000000000"),
    prove=on(log2_T=integers(1, None), delta=reals(0, 1, "()")),
)
def _factor(log2_T: int, delta: Fraction) -> Sides:
    """√(log T) · √(log T log(1/δ)) <= log T √(log(1/δ)), both sides times K/ε (equal, up to 2^-100)"""
    log_t, level = _log(log2_T), ln(1 / delta)
    return log_t.sqrt() * (log_t * level).sqrt(), ball(EQUAL) * log_t * level.sqrt()


@step(
    over=over(log2_T=(2, 12, 24, 200), power="1/1000 1/2 9/10 999/1000"),
    prove=on(log2_T=integers(1, None), power=reals(0, 1, "()")),
)
def _threshold(log2_T: int, power: Fraction) -> Sides:
    """K √(log T log(1/δ))/ε <= K log T/ε for 1/T < δ < 1, δ = T^{-power}"""
    log_t = _log(log2_T)
    return (log_t * (log_t * ball(power))).sqrt(), log_t


@steps(rows, "CZ23-ADP", "discussion of Theorem 2", kind="regret")
def approximate() -> list[Step]:
    """K √(log T log(1/δ))/ε: a factor √(log T) below Tenenbaum et al., below Theorem 1 for δ > 1/T

    Evaluate the printed expressions with equal constants, at both ends of the range of δ.

    Note: the algorithms' own constants give another threshold: CZ23-ADP/constants
    """
    return [_factor, _threshold]


@inequality(
    rows,
    "CZ23-ADP/conversion",
    "discussion of Theorem 2, Lemma 10",
    over=over(epsilon="1/1000 1/10 1/2 1 4 20", delta="1/1000000000000 1/100000 1/100 1/3").where(
        lambda epsilon, delta: epsilon <= math.log(1 / delta), "ε <= log(1/δ)"
    ),
    role="step",
)
def conversion(epsilon: Fraction, delta: Fraction) -> Sides:
    """Theorem 2 run with ε/√(log(1/δ)) is (2ε, δ)-DP for ε <= log(1/δ) and s = 1000

    Convert Theorem 2's ε(α) at the smaller budget by Lemma 10. Its regret term K √(log T)/ε becomes K √(log T
    log(1/δ))/ε, the printed term.

    Note: the closed form is √2 ε + ε²/(2 log(1/δ)): for ε far above log(1/δ) it is no longer O(ε)
    """
    smaller = Fraction(float(epsilon) / math.sqrt(math.log(1 / delta))) * (1 - Fraction(1, 2**40))
    return converted_renyi(smaller, delta, 1000), 2 * epsilon


ADP = {
    "at_most": 1,
    "quantity": "regret of Dist-RDP-SE / regret of Dist-DP-SE",
    "constants": [("C", 1)],
    "over": over(exponent=(24, 48)),
}


@expected(
    rows,
    "CZ23-ADP/constants-repaired",
    "repair of CZ23-ADP/constants",
    **ADP,
    role="repaired",
    repairs="CZ23-ADP/constants",
    words="at δ = T^(-1/4)",
    few=False,
)
@expected(
    rows,
    "CZ23-ADP/constants",
    "discussion of Theorem 2, 'when δ > 1/T'",
    **ADP,
    role="what-if",
    expect="refuted",
    words="at δ = 10/T",
    few=True,
)
def constants_included(exponent: int, words: str, few: bool) -> Expression:
    """(ε, δ)-DP from Theorem 2 has lower regret than Theorem 1 {words}, constants included

    Convert the largest possible budget of Theorem 2 to (ε, δ)-DP by Lemma 10, simulate both algorithms and
    average over an octave of ε below 1/20, with s = 100.

    Note: the radii give 2√L/ε' and (√2 √L + L)/ε, with L = log(4b²T) and the converted budget ε'. At δ near
    1/T the conversion costs about √(2 log T), more than the gain of the noise's tail, √L/2. At T^(-1/4) it
    costs less. The paper compares rates, and its O(.) statement is not affected
    """
    horizon = 2**exponent
    delta = Fraction(10, horizon) if few else Fraction(1, round(horizon ** (1 / 4)))
    pure = noise_cells("dist_dp_se", epsilon=TWENTIETH, n_arms=2, exponent=exponent)
    renyi = [(_converted(setting, delta), means) for setting, means in pure]
    unit = [float(setting.epsilon) for setting, _ in pure]
    ours = [mean_regret(setting, means) / (1 / e) for (setting, means), e in zip(renyi, unit, strict=True)]
    return average(ours) / in_units_of_noise(pure)


def _converted(setting: Setting, delta: Fraction) -> Setting:
    budget = renyi_budget(setting.epsilon, delta, scale=100)
    return replace(setting, name="dist_rdp_se", scale_factor=100, epsilon=budget)
