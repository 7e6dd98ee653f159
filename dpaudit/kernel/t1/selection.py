"""T1: the rule ``above-threshold``, and exact deltas of one Laplace sum and of noisy argmax with two
candidates.

Proofs are in ``proofs.md`` (``above-threshold``, ``laplace`` and ``noisy-max``) and in ``two_candidates``.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball, enclose
from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, Setting, direction, moved
from dpaudit.kernel.t1.pairs import laplace_pair
from dpaudit.kernel.t1.tier import Curves, Tier
from dpaudit.kernel.t1.two_candidates import two_candidate_delta

__all__ = ["add_selections"]


def add_selections(tier: Tier) -> None:
    """Add ``above-threshold``, and extend ``laplace`` and ``noisy-max``."""

    @tier.rule("above-threshold")
    def _above_threshold(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        noise = p.choice("noise", ["laplace", "exponential"])
        how, assumed = direction(p, setting, "one_query")
        shift, answers = moved(p, setting), p.integer("answers", low=1, high=10**12)
        query = shift / p.positive("query_scale")
        pure = shift / p.positive("threshold_scale") + (2 if how == "general" else 1) * answers * query
        one = how == "one_query" and noise == "laplace"
        return Guarantee(pure=min(pure, query) if one else pure, assumptions=assumed)

    @tier.extend("laplace")
    def _laplace(
        p: Parameters, premises: tuple[Guarantee, ...], setting: Setting, bounds: Guarantee
    ) -> Curves | None:
        if "dimension" not in p or p.integer("dimension", low=1, high=10**12) > 1:
            return None
        pure = bounds.pure or Fraction(0)
        return Curves(
            profile=lambda epsilon: _laplace_delta(pure, epsilon), pair=lambda grid: laplace_pair(pure, grid)
        )

    @tier.extend("noisy-max")
    def _noisy_max(
        p: Parameters, premises: tuple[Guarantee, ...], setting: Setting, bounds: Guarantee
    ) -> Curves | None:
        noise, pure = p.choice("noise", ["laplace", "gumbel", "exponential", "gaussian"]), bounds.pure
        two = "candidates" in p and p.integer("candidates", low=1, high=10**12) == 2
        if pure is None or not (two or noise == "gumbel"):
            return None
        return Curves(profile=lambda epsilon: two_candidate_delta(noise, ratio=pure, epsilon=epsilon))


def _laplace_delta(pure: Fraction, epsilon: Fraction) -> arb:
    return arb(0) if epsilon >= pure else enclose(lambda: 1 - ball((epsilon - pure) / 2).exp())
