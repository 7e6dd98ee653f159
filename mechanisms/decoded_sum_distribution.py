"""The exact distribution of one batch's decoded sum.

It is computed by enumeration of any protocol, and in closed form with discrete Laplace noise. Their total
variation distance is enclosed too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from dpaudit.coins import enumerate_view
from dpaudit.core.views import PUBLIC, View
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.mechanisms.fixed_point import split_reward
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["declared_sum", "distance", "enumerated_sum"]


def enumerated_sum(
    release: Callable[[Any, Sequence[float]], Any], rewards: Sequence[float], g: int
) -> tuple[dict[Any, Any], float]:
    """Return the exact distribution of g times the decoded sum for these ``rewards``, and the mass left out.

    The distribution is a dict of balls. The enumeration omits tails of hidden draws (``tail`` is
    1/20). A sum that is not a multiple of 1/g has a separate key.
    """

    def program(coins: Any, data: Any) -> float:
        return float(release(coins, data))

    distribution = enumerate_view(program, list(rewards), view=View.of(PUBLIC), tail=0.05)
    found: dict[Any, Any] = {}
    for key, seen in distribution.transcripts.items():
        scaled = seen[-1] * g
        value = round(scaled) if abs(scaled - round(scaled)) < 1e-9 else scaled
        found[value] = found.get(value, arb(0)) + distribution.probabilities[key]
    return found, distribution.left_out


def declared_sum(sheet: Sheet, rewards: Sequence[float], epsilon: Fraction) -> dict[Any, Any]:
    """Return the distribution of g times the decoded sum in closed form.

    The sum consists of rounding coins and Lap_Z(g/ε), folded into [-τ, n g + τ] by the modulus m. With β =
    e^{-ε/g} a residue r has (1-β)/(1+β) (β^r + β^{m-r})/(1-β^m).
    """
    coins: dict[int, Fraction] = {0: Fraction(1)}
    for reward in rewards:
        whole, rest = split_reward(reward, precision=sheet.precision)
        step: dict[int, Fraction] = {}
        for total, p in coins.items():
            for value, q in ((whole, 1 - rest), (whole + 1, rest)):
                if q:
                    step[total + value] = step.get(total + value, Fraction(0)) + p * q
        coins = step
    m, beta = sheet.modulus, ball(-epsilon / sheet.precision).exp()
    scale = (1 - beta) / (1 + beta) / (1 - beta**m)
    folded = [scale * (beta**r + beta ** (m - r)) for r in range(m)]
    window = range(-sheet.noise_margin, sheet.users * sheet.precision + sheet.noise_margin + 1)
    return {v: sum((ball(p) * folded[(v - total) % m] for total, p in coins.items()), arb(0)) for v in window}


def distance(left: dict[Any, Any], right: dict[Any, Any], left_out: float) -> Any:
    """Return the total variation distance as a ball.

    The mass that the left distribution omits may be anywhere.
    """
    zero = arb(0)
    gaps = [abs(left.get(key, zero) - right.get(key, zero)) for key in left.keys() | right.keys()]
    # Without the missing mass, the sum is too small by at most that mass or counts it once too often.
    return sum(gaps, zero) / 2 + arb(0, left_out / 2)
