"""What the paper's letters stand for where the titles of rows use them."""

from __future__ import annotations

__all__ = ["SYMBOLS"]

SYMBOLS = {
    "T": "the horizon: rounds, each with a user of its own",
    "M": "batches of Algorithm 1 (shuffle privacy); Algorithm 2 (joint privacy) has none",
    "R": "rewards lie in [0, R]",
    "S": "the radius of the parameters: ‖θ*‖ <= S",
    "μ": "the link: the mean reward of an arm x is μ(⟨x, θ*⟩)",
    "θ*": "the unknown parameter",
    "θ_1": "Algorithm 1's estimate from its first batch, which weights the users of the later ones",
    "κ": "the largest 1/μ'(⟨x, θ*⟩) over arms x: large where the link is flat",
    "κ*": "1/κ* is the largest slope μ'(⟨x, θ*⟩) over arms x; the noise is drawn for weights of at most 1/κ*",
    "V": "the matrix that explores: λI, the sum of x xᵀ over the first batch, or over T_o, and noise",
    "H": "the matrix of the other rounds: λI, the sum of x xᵀ weighted by the slope of μ, and noise",
    "T_o": "the rounds of Algorithm 2 in which criterion I held",
    "θ_o": "Algorithm 2's estimate from the rounds in T_o",
    "θ_τ": "Algorithm 2's estimate from the other rounds, made when criterion II last held, in round τ",
    "criterion I": "some arm is long in V's norm, max ‖x‖² in V⁻¹ >= 1/(γ²κR²): the round explores",
    "criterion II": "det H has doubled since round τ: θ_τ is fitted again",
    "γ": "the radius of the confidence set around θ_o, over sqrt κ",
    "λ": "the ridge that V and H begin with, which noise must not eat up",
    "ζ": "the probability with which the confidence sets, and so the regret bound, may fail",
}
