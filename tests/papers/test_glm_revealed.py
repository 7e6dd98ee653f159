"""What Algorithms 1 and 2 of Sarmasarkar reveal at the printed parameters: the last release of each argument
drawn on both neighbours, every parameter from the printed formula in floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from audits.glm_bandits.poisoned_batch import Instance, poisoned
from audits.glm_bandits.repaired_joint import joint_proof
from audits.glm_bandits.revealing_action import revealing_action
from audits.glm_bandits.shuffled_descent import descent
from dpaudit.core.claims import ApproxDP
from dpaudit.core.views import View, user

RUNS = 200_000


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Chances that the next user plays b, with the changed user explored or not, and that a is played, where
    H is as it began or holds noise."""

    explored: float
    unexplored: float
    other: float
    coin: float

    @property
    def delta(self) -> float:
        """At ε = 1, of "b is played"."""
        return self.unexplored - math.e * self.explored


def drawn(S: int, *, T: int = 2**44, c: float = 1.0, nodes: int = 1, root: bool = False) -> Drawn:
    """Algorithm 2 at d = 2, ε = 1, δ = 1/10, ζ = 1/20, from (16)-(21) and Appendix I.1: the round after 2^k
    explored ones, noise of ``nodes`` nodes in V. The arms are those of the module, from this G and σ."""
    rng, delta, zeta = np.random.default_rng(S + nodes), 0.1, 0.05
    star, kappa = (math.exp(z) + 2 + math.exp(-z) for z in (S / 2, S))
    logs = math.log(32 / delta) * math.log(T) * (math.log(16 * T / zeta) + math.sqrt(2))
    ridge = 64 * (4 * math.sqrt(2) + 1) * logs / star
    gamma = c * S**4 * 2 * math.log(2 * T / zeta) ** 2 * math.log(32 / delta) / star**2
    reach = gamma**2 * kappa
    sigma = math.sqrt(36 * math.ceil(math.log2(T) + 1)) * math.log(32 / delta) / star
    rounds = 2 ** (math.floor(math.log2(reach)) - 1)
    assert rounds < T
    b_1 = 32 * sigma / rounds
    spread = sigma * math.sqrt(nodes) * (math.sqrt(2) if root else 1)
    middle = ridge + rounds - 0.5 - spread**2
    b = (b_1, math.sqrt(middle * (1 - reach * b_1**2 / ridge) / reach))
    longer = 2 * b_1**2  # a_2² - b_2²

    def entries() -> list[np.ndarray]:
        draws = rng.normal(scale=sigma * math.sqrt(nodes), size=(RUNS, 2, 2))
        made = (draws + draws.swapaxes(1, 2)) / (math.sqrt(2) if root else 2)
        return [made[:, 0, 0].astype(np.longdouble), made[:, 0, 1].astype(np.longdouble), made[:, 1, 1]]

    def explores(count: int) -> np.ndarray:
        """Criterion I, and b the longer arm in V^-1."""
        z11, z12, z22 = entries()
        v11, v22 = ridge + z11, ridge + count + z22
        det = v11 * v22 - z12**2
        length = (v22 * b[0] ** 2 - 2 * z12 * b[0] * b[1] + v11 * b[1] ** 2) / det
        ahead = v22 * b[0] ** 2 - 2 * z12 * b[0] * b[1] - v11 * longer
        return np.asarray((length >= 1 / reach) & (ahead > 0))

    h11, h12, h22 = entries()
    behind = (ridge + h22) * b[0] ** 2 - 2 * h12 * b[0] * b[1] - (ridge + h11) * longer  # of b, in H^-1
    explored, unexplored = (float(explores(rounds - out).mean()) for out in (0, 1))
    return Drawn(
        explored=explored, unexplored=unexplored, other=1 - explored, coin=float((behind < 0).mean())
    )


@pytest.mark.parametrize("S", [12, 16])
def test_the_action_reveals_what_is_bounded(S: int) -> None:
    """δ of the drawn actions is no less than the bound, and near it."""
    found = revealing_action(S=S, horizon=2**44, epsilon=Fraction(1), delta=Fraction(1, 10))
    assert float(found.delta) - 0.01 <= drawn(S).delta <= float(found.delta) + 0.1


def test_the_action_reveals_in_other_readings() -> None:
    """Other constants in (21), m nodes in each prefix with the symmetrisation /√2, a policy with H's noise
    from the start: δ is above 1/10 in each."""
    assert drawn(12, T=2**54, c=10).delta > 0.3
    assert drawn(16, T=2**54, c=100).delta > 0.99
    assert drawn(16, nodes=45, root=True).delta == pytest.approx(0.26, abs=0.02)
    again = drawn(16)
    assert again.coin == pytest.approx(1 / 2, abs=0.01)
    assert again.other * again.coin - math.e * (1 - again.unexplored) > 0.45


def test_nothing_is_revealed_at_a_small_kappa_star() -> None:
    """At S = 4 the same action tells less than δ: the instance breaks what it should, and only that."""
    assert drawn(4).delta < 0.1


AT = Instance(
    R=3, score=Fraction(16), nearest=Fraction(4, 5), T=10**19, M=4, epsilon=Fraction(1, 10),
    delta=Fraction(1, 10**6),
)  # fmt: skip
LARGE = Instance(
    R=8, score=Fraction(35, 2), nearest=Fraction(7, 10), T=10**23, M=3, epsilon=Fraction(1, 100),
    delta=Fraction(1, 10**6), constant=10**5,
)  # fmt: skip


def _second_batch(at: Instance) -> tuple[float, float]:
    """δ of a half-line of the second batch's ones, drawn at θ_1 = 0 and V = B_1, by (6)-(12) and (127); and
    B_1 + B_2 in units of T."""
    R, z, T, eps, delta = at.R, float(at.score), float(at.T), float(at.epsilon), float(at.delta)
    S, c = z / R, float(at.nearest)
    kappa, star = ((math.exp(x) + 2 + math.exp(-x)) / R**2 for x in (z, c * z))
    sigma = at.constant * R * math.log(1 / delta) / (star * eps)
    nu = at.constant * R * S**2 / eps * math.log(T / delta) ** 1.5
    inner = R * math.log(T) + 12 * sigma * math.sqrt(math.log(2 * at.M * T / delta))
    gamma = 30 * R * S * math.sqrt(inner) + math.sqrt(4 * R * S * nu)
    growth = T ** (1 / (2 * (1 - 2 ** (1 - at.M))))
    first = (math.sqrt(kappa) * math.exp(3 * S) * gamma**2 / S * growth) ** (2 / 3)
    g = 2 * math.sqrt(growth)
    b = 24e4 * g**2 * math.log(8 / (delta / 2)) ** 2 / ((eps / 2) ** 2 * growth)
    weights = [R**2 / 4 / math.exp(R * gamma * math.sqrt(kappa / first) * x) * x**2 for x in (1, c)]
    move = (weights[0] - weights[1]) * star * g
    rng, spread = np.random.default_rng(2), math.sqrt(growth * b * 3 / 16)
    threshold = eps * spread**2 / move + move / 2
    noise = rng.normal(scale=spread, size=10**6)  # n b coins, more than 10^17
    here, there = ((noise + x > threshold).mean() for x in (move, 0.0))
    return float(here - math.exp(eps) * there), (first + growth) / T


@pytest.mark.parametrize("at", [AT, LARGE], ids=["constants 1", "constants 1e5"])
def test_the_second_batch_reveals_what_is_bounded(at: Instance) -> None:
    """δ of the drawn batch is no less than the bound, far above the claimed one, inside the horizon."""
    shown, used = _second_batch(at)
    found = poisoned(at)
    assert used < 1
    assert at.delta < found.delta
    assert float(found.delta) - 0.003 <= shown <= 2 * float(found.delta) + 0.003


def test_larger_constants_show_less() -> None:
    """At one horizon larger constants make γ larger, the weights smaller and δ smaller."""
    deltas = [poisoned(at).delta for at in (LARGE, Instance(**{**vars(LARGE), "constant": 1}))]
    assert 0 < deltas[0] < deltas[1]


@pytest.mark.parametrize("epsilon", ["1/10", "1/5"])
def test_the_repaired_whole_against_gaussian_losses(epsilon: str) -> None:
    """At an ε as small as the true losses: the certified δ is above the Gaussian δ of both trees alone, which
    is a part of the whole, and not far above that of trees and calls together."""
    e, delta, T, calls = float(Fraction(epsilon)), Fraction(1, 10), 50_000, 10
    budget = 1 / (6 * math.sqrt(2 * calls * math.log(40)))
    call = descent(n=T, d=2, epsilon=Fraction(budget), delta=delta / (6 * calls))
    proof = joint_proof(
        score=8, call=call, calls=calls, horizon=T, budget=(Fraction(1), delta), target=Fraction(epsilon)
    )
    made = proof.certify(ApproxDP(epsilon=epsilon, delta=delta, domain="", view=View.everybody_but(user(0))))
    node = 2 / (36 * 17 * math.log(320) ** 2)  # a node's μ², m = 17
    noise = 24e4 * 4 * math.log(20 / float(call.call_delta)) ** 2 / float(call.call_epsilon) ** 2 * 3 / 16
    one = 4 * 4 * T / (noise * T) * call.steps  # (2L)² in units of L/g, g = 2 √T
    curve = [
        stats.norm.cdf(mu / 2 - e / mu) - math.exp(e) * stats.norm.cdf(-mu / 2 - e / mu)
        for mu in (math.sqrt(2 * 17 * node), math.sqrt(2 * 17 * node + 2 * calls * one))
    ]
    left_out = 2 * calls * float(delta) / 1000
    assert made.bound is not None
    assert curve[0] <= made.bound - left_out <= 10 * curve[1] + 1e-6
    assert made.bound < delta / 10
