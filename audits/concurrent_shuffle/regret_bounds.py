"""Compute Theorem C.3 with constants: the regret of Algorithm 4 for all instances, from the noise of its
nodes.

n = m^{2k+1}, d_tree = m², d_low = m. The budget is halved between vector and matrix, so that the pair is
(ε, δ) (reading (i) of Appendix C). Each node has an equal share of its half. The node mechanism is P_Vec as
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

#: Rewards in [0, 1] have sub-Gaussian noise with this standard deviation.
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
        """Return the noise of one entry by height: for the vector, and for the matrix."""
        share = 2 * self.shufflers
        return tuple(
            VectorEntryNoise.printed(size, self.epsilon / share, self.delta / share, dim=self.dim)
            for size in self.tree.sizes
        )

    @property
    def proxy(self) -> arb:
        """Return an upper bound on the proxy of the noise of a prefix.

        A prefix has at most d - 1 nodes of each height, or at the end the d nodes of the last height.
        """
        each = [node.proxy for node in self.nodes]
        return (self.m**2 * each[-1]).max(sum(((self.m**2 - 1) * one for one in each), arb(0)))

    @property
    def error_bound(self) -> arb:
        """Return σ-tilde."""
        return entry_error_bound(self.proxy, horizon=self.horizon, dim=self.dim, blind=self.m - 1)

    @property
    def norm_bound(self) -> arb:
        """Return a bound that ‖H'_t‖ and ‖h_t‖ do not exceed at any time, except with probability 1/(2n),
        for every input.

        The bound uses the entries alone, or a net.

        Entries: ‖H'‖ <= d σ-tilde.

        Net: on 9^d points x the largest 2|xᵀNx| bounds the noise matrix N, and xᵀNx has twice the proxy of
        an entry (``norm_exceeded``). Over n times this fails with probability 1/(4n). Users who are not
        reported add at most their number.

        ‖h‖ <= sqrt(d) σ-tilde by its entries, with failure probability 1/(4n) as well: σ-tilde fails with
        1/(2n²) at most.
        """
        net = 4 * (self.proxy * (8 * self.horizon**2 * arb(9) ** self.dim).log()).sqrt() + (self.m - 1)
        by_entries = self.dim * self.error_bound
        return net.min(by_entries).max(arb(self.dim).sqrt() * self.error_bound)

    def ridge(self, constant: int) -> arb:
        """Return λ = C 2 σ-tilde sqrt(d)."""
        return constant * printed_ridge(self.error_bound, dim=self.dim)

    def regret(self, constant: int) -> arb:
        """Return the bound of Theorem C.2 at this λ with α = 1/n, plus n α = 1 for its failure event, for
        all instances."""
        return 1 + quoted_regret(
            self.horizon,
            dim=self.dim,
            regular=regular_by_ridge(self.ridge(constant)),
            reward_noise_std=REWARD_NOISE,
            confidence_alpha=Fraction(1, self.horizon),
        )

    @property
    def rate(self) -> arb:
        """Return (k^{3/4} n^{(k+1)/(2k+1)}/sqrt(ε)) (σ + d) L^{5/4}, L = log(n d k/δ)."""
        k, n, level = self.shufflers, self.horizon, ln(self.horizon * self.dim * self.shufflers / self.delta)
        power: arb = (ln(k) * 3 / 4 + ln(n) * (k + 1) / (2 * k + 1) + level.log() * 5 / 4).exp()
        return power / ball(self.epsilon).sqrt() * ball(REWARD_NOISE + self.dim)

    def radius(self) -> Callable[[int], float]:
        """Return β_t of Theorem C.3 with the printed λ, in floats, computed once per round."""
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
