"""Explain the paper's symbols that occur in the titles of rows."""

from __future__ import annotations

__all__ = ["SYMBOLS"]

SYMBOLS = {
    "T": "the horizon: number of rounds, each with a different user",
    "M": "batches of Algorithm 1 (shuffle privacy); Algorithm 2 (joint privacy) has none",
    "R": "rewards lie in [0, R]",
    "S": "the radius of the parameters: ‖θ*‖ <= S",
    "μ": "the link: the mean reward of an arm x is μ(⟨x, θ*⟩)",
    "θ*": "the unknown parameter",
    "θ_1": "Algorithm 1's estimate from its first batch, which weights the users of the later ones",
    "κ": "the largest 1/μ'(⟨x, θ*⟩) over arms x: large if the link is flat",
    "κ*": "1/κ* is the largest slope μ'(⟨x, θ*⟩) over arms x; the noise is drawn for weights of at most 1/κ*",
    "V": "the matrix of exploration: λI, plus the sum of x xᵀ over the first batch, or over T_o, plus noise",
    "H": "the matrix of the other rounds: λI, plus the sum of x xᵀ weighted by the slope of μ, plus noise",
    "T_o": "the rounds of Algorithm 2 in which Criterion I held",
    "θ_o": "Algorithm 2's estimate from the rounds in T_o",
    "θ_τ": "Algorithm 2's estimate from the other rounds, made in round τ, when Criterion II last held",
    "criterion I": "some arm is long in V's norm, max ‖x‖² in V⁻¹ >= 1/(γ²κR²), so the round explores",
    "criterion II": "det H has doubled since round τ, so θ_τ is fitted again",
    "γ": "the radius of the confidence set around θ_o, divided by sqrt κ",
    "λ": "the initial ridge of V and H, which must exceed the noise",
    "ζ": "the largest probability that the confidence sets, and so the regret bound, fail",
}
