"""Check that the audit detects mistakes in P_Amp's noise, and that some changes cost nothing.

The printed noise is ten times what the budget needs, so most mistakes in its constants stay within (ε, δ).
They are therefore compared with the guarantee of the correct mechanism at its printed noise: μ-GDP with the
least μ, at the worst pair of users. CZ22-EXPlab/jdp covers one draw used in several rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from audits.shuffle_linear_bandits.amplified_privacy import SQUARED, gaussian_witness
from dpaudit.certify.build import gaussian_mechanism
from dpaudit.core.claims import GaussianDP
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import SERVER, View
from dpaudit.kernel.ball import ball, enclose, precision, upper_short
from dpaudit.reference.mechanisms.gaussian_randomiser import Symmetrize
from dpaudit.reference.mechanisms.linear_bandit_noise import local_noise, tree_levels, variance_above
from dpaudit.suite import Control, Step, controls, false_inequality, over

__all__ = ["rows"]

rows = Group("Mistakes in the noise")

EPSILON, DELTA = Fraction(1, 2), Fraction(1, 10)
VARIANCE = variance_above(local_noise(epsilon=EPSILON, delta=DELTA))
with precision(128):
    CLAIM = GaussianDP(
        mu=upper_short(enclose(lambda: ball(SQUARED / VARIANCE).sqrt())),
        view=View.of(SERVER),
        domain="a user's context and reward, |φ| <= 1 and |y| <= 1",
    )


def _message(
    symmetrize: Symmetrize = "copy",
    *,
    less: Any = 1,
    times: int = 1,
    expect: str = "refuted",
    about: str = "",
) -> Control:
    """Audit a message whose variance is the printed one over ``less``, with a certificate if the mechanism
    is correct."""
    with precision(128):
        variance = upper_short(enclose(lambda: ball(VARIANCE) / less))

    def evaluate(run: Run) -> list[Evidence]:
        below = gaussian_witness(
            CLAIM,
            variance=variance,
            batches=times,
            symmetrize=symmetrize,
            words="a message, at its worst pair",
        )
        right = gaussian_mechanism(sensitivity_squared=SQUARED, variance=VARIANCE)
        return [below, *([right.certify(CLAIM)] if expect == "verified" else [])]

    return Control(claim=CLAIM, evaluate=evaluate, expect=expect, about=about)


@controls(rows, "CZ22-B.1s1/controls", "the local randomiser with deliberate mistakes")
def mistakes() -> Mapping[str, Control]:
    """Less noise than printed is detected, and three ways to make N symmetric have the same cost

    The claim is that a message at σ for (1/2, 1/10) is μ-GDP with μ = sqrt(4.5)/σ exactly.

    Note: averaging N and Nᵀ halves the variance off the diagonal, and an N that is not symmetric gives two
    observations: at some pair of users either costs as much as ``copy`` does at its worst, and no pair
    costs more
    """
    return {
        "correct": _message(expect="verified"),
        "averaged": _message("average", expect="verified"),
        "not symmetric": _message("none", expect="verified"),
        "sqrt 2 lost": _message(less=2),
        "the 4 lost": _message(less=16),
        "the logarithm lost": _message(less=ln(Fraction(5, 2) / DELTA), about="σ without sqrt(log(2.5/δ))"),
        "half the variance": _message("average", less=2, about="(N + Nᵀ)/2, and half the variance of N"),
        "sent twice": _message(times=2),
    }


LEAVES = over(leaves="4 16 1000 20000")


def _log_depth(leaves: Fraction) -> tuple[Any, Any]:
    return tree_levels(int(leaves)), 1 + ln(leaves)


def _undivided(leaves: Fraction) -> tuple[Any, Any]:
    return tree_levels(int(leaves)), 1


@controls(rows, "CZ22-E.7s/controls", "the tree's accounting with deliberate mistakes")
def wrong_depths() -> Mapping[str, Control]:
    """A depth by natural logarithm, and a budget not divided by the levels, are detected

    A leaf changes 1 + ⌈log₂ T⌉ nodes. Noise for fewer nodes is too small by the ratio in μ².
    """
    return {
        "depth 1 + log T": false_inequality(
            Step(name="depth", text="1 + ⌈log₂ T⌉ <= 1 + log T", sides=_log_depth, over=LEAVES)
        ),
        "budget of one level": false_inequality(
            Step(name="levels", text="1 + ⌈log₂ T⌉ <= 1", sides=_undivided, over=LEAVES)
        ),
    }
