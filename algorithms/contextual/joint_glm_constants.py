"""The constants of the rarely switching algorithm under joint privacy, as printed and as in the experiments.

Sarmasarkar (2026): equations (19) to (21), section 6, appendix I.1; Remark A.1 and the experiments of section
8. Every constant that an O(.) hides, and C and c of (20) and (21), is a parameter (default 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpaudit.reference.algorithms.contextual.joint_glm import JointConstants

__all__ = ["GlmBudget", "practical_constants", "printed_constants"]


@dataclass(frozen=True, kw_only=True)
class GlmBudget:
    """The instance and the levels: horizon T, d, S, R, kappa and kappa* (4), epsilon, delta, zeta."""

    horizon: int
    dim: int
    param_norm: float
    kappa: float
    kappa_star: float
    epsilon: float
    delta: float
    failure_prob: float
    reward_bound: float = 1.0

    @property
    def depth(self) -> int:
        """Return m = ceil(log2 T + 1), the number of nodes that contain a leaf."""
        return math.ceil(math.log2(self.horizon) + 1)

    def ridge(self) -> float:
        """Return the ridge of (19)."""
        root, tail = 4 * math.sqrt(self.dim) + 1, math.log(16 * self.horizon / self.failure_prob)
        logs = math.log(32 / self.delta) * math.log(self.horizon)
        return 64 * root * logs * (tail + math.sqrt(self.dim)) / (self.epsilon * self.kappa_star)

    def ridge_ends(self) -> tuple[float, float]:
        """Return (lambda_min, lambda_max) of section 6."""
        root = 4 * math.sqrt(self.dim)
        return self.ridge() * root / (root + 1), self.ridge() * (root + 2) / (root + 1)

    def beta(self, constant: float = 1.0) -> float:
        """Return beta of (20)."""
        logs = math.log(self.horizon / self.failure_prob) * math.log(1 / self.delta)
        scale = self.reward_bound * self.param_norm * math.sqrt(self.dim)
        return constant * scale * logs / math.sqrt(self.epsilon * self.kappa_star)

    def gamma(self, constant: float = 1.0, *, kappa_power: int = 2) -> float:
        """Return gamma of (21); the proof of I.8 has ``kappa_power`` 1."""
        logs = math.log(self.horizon * self.dim / self.failure_prob) ** 2 * math.log(32 / self.delta)
        scale = self.reward_bound**5 * self.param_norm**4 * self.dim
        return constant * scale * logs / (min(self.epsilon, 1.0) * self.kappa_star**kappa_power)

    def node_std(self) -> float:
        """Return sigma_noise of appendix I.1."""
        level = math.log(32 / self.delta)
        return 6 * math.sqrt(self.depth) * level / (self.kappa_star * self.epsilon)

    def caps(self, gamma: float, ridge_low: float, ridge_high: float) -> tuple[float, float]:
        """Return count1_cutoff and count2_cutoff of section 6, real numbers."""
        explore = 8 * self.dim * self.reward_bound**2 * self.kappa * gamma**2 * math.log(self.horizon)
        grown = self.horizon / (self.kappa_star**2 * ridge_low * self.dim)
        return explore, math.log2(ridge_high / ridge_low + grown)

    def call_budget(self, cap: float) -> tuple[float, float]:
        """Return (epsilon, delta) of one of ``cap`` calls, section 6."""
        epsilon = self.epsilon / (6 * math.sqrt(2 * cap * math.log(4 / self.delta)))
        return epsilon, self.delta / (6 * cap)


def printed_constants(
    budget: GlmBudget,
    *,
    gamma_constant: float = 1.0,
    beta_constant: float = 1.0,
    kappa_power: int = 2,
    threshold_factor: float = 1.0,
    symmetrise: float = 0.5,
    enforce_caps: bool = False,
) -> JointConstants:
    """Return the constants of (19) to (21) and section 6; the pseudo-code has no caps.

    ``threshold_factor`` is 1 in Algorithm 2, 1/2 in Algorithm 3, 1/4 in the proof of P.2.
    """
    gamma = budget.gamma(gamma_constant, kappa_power=kappa_power)
    low, high = budget.ridge_ends()
    explore, exploit = budget.caps(gamma, low, high)
    return JointConstants(
        horizon=budget.horizon,
        dim=budget.dim,
        param_norm=budget.param_norm,
        ridge=budget.ridge(),
        ridge_upper=high,
        width=gamma * math.sqrt(budget.kappa),
        beta=budget.beta(beta_constant),
        threshold=threshold_factor / (gamma**2 * budget.kappa * budget.reward_bound**2),
        call_explore=budget.call_budget(explore),
        call_exploit=budget.call_budget(exploit),
        std_explore=budget.node_std(),
        std_exploit=budget.node_std(),
        cap_explore=math.floor(explore) if enforce_caps else None,
        cap_exploit=math.floor(exploit) if enforce_caps else None,
        symmetrise=symmetrise,
    )


def practical_constants(budget: GlmBudget) -> JointConstants:
    """Return the experiments' constants.

    Ridge, widths and threshold are set by hand. Caps are scaled down and enforced. zCDP trees have
    sensitivity 1 for V and 1/kappa* for H, and V and H are clipped.
    """
    b = budget
    level = math.log(4 / b.delta) * math.log(4 * b.horizon / b.failure_prob) ** 2 / (b.epsilon * b.kappa_star)
    ridge = 2 * level + 0.75 * b.dim * math.log(4 * b.horizon / b.failure_prob) / b.reward_bound**2
    low, high = ridge - 1.5 * level, ridge + 1.5 * level
    radius = math.sqrt(b.dim * math.log(b.horizon / b.failure_prob))
    gamma = b.reward_bound * b.param_norm * radius
    explore, exploit = b.caps(gamma, low, high)
    # The printed cap has 8 d R^2 kappa gamma^2 log T; the cap of the experiments has no 8 and is divided by
    # 20000.
    cap_explore, cap_exploit = int(explore / 8 / 20000), int(exploit)
    std = _concentrated_std(b.epsilon / 3, b.delta / 3, nodes=math.ceil(math.log2(b.horizon)) + 1)
    return JointConstants(
        horizon=b.horizon,
        dim=b.dim,
        param_norm=b.param_norm,
        ridge=ridge,
        ridge_upper=high,
        width=gamma * math.sqrt(b.kappa),
        beta=4 * radius,
        threshold=1 / (0.01 * b.kappa * b.reward_bound**4 * b.param_norm**2 * b.dim),
        call_explore=_shared(b.epsilon / 3, b.delta / 3, cap_explore),
        call_exploit=_shared(b.epsilon / 3, b.delta / 3, cap_exploit),
        std_explore=std,
        std_exploit=std / b.kappa_star,
        cap_explore=cap_explore,
        cap_exploit=cap_exploit,
        psd_mode="clip",
        shrink_leaf=True,
        fit_all=True,
        average=True,
    )


def _concentrated_std(epsilon: float, delta: float, *, nodes: int) -> float:
    """Return a node's deviation for sensitivity 1: rho / nodes each, with the rho at which rho-zCDP gives
    (epsilon, delta).
    """
    level = math.log(1 / delta)
    root = math.sqrt(level + epsilon) - math.sqrt(level)
    return math.sqrt(nodes / 2) / root


def _shared(epsilon: float, delta: float, calls: int) -> tuple[float, float]:
    """Return (epsilon, delta) of one of ``calls`` calls.

    Up to 10 calls their budgets add up. Beyond, Dwork and Roth's Theorem 3.20 applies, ``e0 sqrt(2 k
    log(1/delta')) + k e0 (exp(e0) - 1) = epsilon`` with half of delta for delta'.
    """
    if calls <= 10:
        return epsilon / max(calls, 1), delta / max(calls, 1)
    root = math.sqrt(2 * calls * math.log(2 / delta))
    low, high = 0.0, epsilon / root
    for _ in range(100):
        mid = (low + high) / 2
        over = mid * root + calls * mid * math.expm1(mid) > epsilon
        low, high = (low, mid) if over else (mid, high)
    return low, delta / (2 * calls)
