"""What the paper says beside its rates: Theorem 1 against the central baseline, and larger s in Theorem 2."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from audits.distributed_mab.regret_bounds import Setting
from audits.distributed_mab.regret_growth import inverse_budget, noise_octave
from audits.distributed_mab.simulated_regret import baseline_regret, mean_regret
from dpaudit.rows import Expression, average, expected, largest, over
from dpaudit.suite import Group

__all__ = ["rows"]

rows = Group("Regret: orderings beside the rates")


@expected(
    rows,
    "CZ23-OPT",
    "after Theorem 1",
    at_most=5,
    quantity="regret of Dist-DP-SE / regret of DP-SE",
    over=over(means=((1.0, 0.0), (0.75, 0.5), (0.5, 0.49), (0.5,) + (0.4,) * 9), epsilon="1/1000 1/10 1 20"),
)
def baseline(means: Sequence[float], epsilon: Fraction) -> Expression:
    """Dist-DP-SE's regret is at most 5 times that of DP-SE, of the central model

    Simulate both algorithms on the same instances, T = 2^24, p = 1/T, arms in random order; the printed rates
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

    Simulate where noise decides: T = 2^24, averaged over an octave of ε below 1/20.
    """
    mean = {scale: _octave(scale, n_arms) for scale in (1, 10, 100)}
    return largest([mean[10] / mean[1], mean[100] / mean[10]])


def _octave(scale: int, n_arms: int) -> Expression:
    cells = noise_octave(
        "dist_rdp_se", scale=scale, epsilon=Fraction(1, 20), n_arms=n_arms, exponent=24, unit=inverse_budget
    )
    return average([mean_regret(setting, means) / unit for setting, means, unit in cells])
