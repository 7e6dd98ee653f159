"""Theorem C.3 worked out: the regret of Algorithm 4 for all instances, from the noise that its nodes have.

n = m^{2k+1}, d_tree = m², d_low = m. The budget is halved between vector and matrix (reading (i) of Appendix
C: both together are (ε, δ)), each node has an equal share of its half, and the node mechanism is P_Vec as
printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import arb, ball, lower
from dpaudit.reference.algorithms.contextual.concurrent_radius import (
    concurrent_radius,
    entry_error_bound,
    printed_ridge,
    quoted_regret,
    regular_by_ridge,
)
from dpaudit.reference.mechanisms.concurrent_tree import Tree, build_tree
from dpaudit.reference.mechanisms.prefix_noise import VectorEntryNoise

__all__ = ["REWARD_NOISE", "Setting"]

#: Rewards in [0, 1]: their noise is sub-Gaussian with this standard deviation.
REWARD_NOISE = Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Algorithm 4 with k = ``shufflers`` for m^{2k+1} users and features of ``dim`` entries."""

    m: int
    shufflers: int
    dim: int
    epsilon: Fraction
    delta: Fraction

    @property
    def horizon(self) -> int:
        return self.m ** (2 * self.shufflers + 1)

    @property
    def tree(self) -> Tree:
        return build_tree(
            horizon=self.horizon, n_shufflers=self.shufflers, degree=self.m**2, leaf_degree=self.m
        )

    @property
    def nodes(self) -> tuple[VectorEntryNoise, ...]:
        """The noise of one entry by height: of the vector's, and of the matrix's."""
        share = 2 * self.shufflers
        return tuple(
            VectorEntryNoise.printed(size, self.epsilon / share, self.delta / share, dim=self.dim)
            for size in self.tree.sizes
        )

    @property
    def proxy(self) -> arb:
        """Of the noise of a prefix, at most: d - 1 nodes of each height, or at the end the d of the last."""
        each = [node.proxy for node in self.nodes]
        return (self.m**2 * each[-1]).max(sum(((self.m**2 - 1) * one for one in each), arb(0)))

    @property
    def error_bound(self) -> arb:
        """σ-tilde."""
        return entry_error_bound(self.proxy, horizon=self.horizon, dim=self.dim, blind=self.m - 1)

    @property
    def norm_bound(self) -> arb:
        """What ‖H'_t‖ and ‖h_t‖ do not exceed at any time but with probability 1/(2n), for every input: by
        the entries alone, or by a net.

        Entries: ‖H'‖ <= d σ-tilde. Net: on 9^d points x the largest 2|xᵀNx| bounds the noise matrix N, whose
        xᵀNx has twice the proxy of an entry (``norm_exceeded``); over n times, with probability 1/(4n); users
        who are not reported add their number at most. ‖h‖ <= sqrt(d) σ-tilde by its entries, with probability
        1/(4n) as well: σ-tilde fails with 1/(2n²) at most.
        """
        net = 4 * (self.proxy * (8 * self.horizon**2 * arb(9) ** self.dim).log()).sqrt() + (self.m - 1)
        by_entries = self.dim * self.error_bound
        return net.min(by_entries).max(arb(self.dim).sqrt() * self.error_bound)

    def ridge(self, constant: int) -> arb:
        """λ = C 2 σ-tilde sqrt(d)."""
        return constant * printed_ridge(self.error_bound, dim=self.dim)

    def regret(self, constant: int) -> arb:
        """Theorem C.2 at this λ with α = 1/n, and n α = 1 for the event that it fails, for all instances."""
        return 1 + quoted_regret(
            self.horizon,
            dim=self.dim,
            regular=regular_by_ridge(self.ridge(constant)),
            reward_noise_std=REWARD_NOISE,
            confidence_alpha=Fraction(1, self.horizon),
        )

    @property
    def rate(self) -> arb:
        """(k^{3/4} n^{(k+1)/(2k+1)}/sqrt(ε)) (σ + d) L^{5/4}, L = log(n d k/δ)."""
        k, n, level = self.shufflers, self.horizon, ln(self.horizon * self.dim * self.shufflers / self.delta)
        power: arb = (ln(k) * 3 / 4 + ln(n) * (k + 1) / (2 * k + 1) + level.log() * 5 / 4).exp()
        return power / ball(self.epsilon).sqrt() * ball(REWARD_NOISE + self.dim)

    def radius(self) -> Callable[[int], float]:
        """β_t of Theorem C.3 with the printed λ, in floats, computed once a round."""
        ridge, known = self.ridge(1), dict[int, float]()

        def radius(time: int) -> float:
            if time not in known:
                found = concurrent_radius(
                    time,
                    dim=self.dim,
                    ridge=ridge,
                    reward_noise_std=REWARD_NOISE,
                    confidence_alpha=Fraction(1, self.horizon),
                )
                known[time] = lower(found)
            return known[time]

        return radius

    def __str__(self) -> str:
        users = f"n = {self.m}^{2 * self.shufflers + 1}"
        return f"k = {self.shufflers}, {users}, d = {self.dim}, ε = {self.epsilon}, δ = {float(self.delta):g}"
