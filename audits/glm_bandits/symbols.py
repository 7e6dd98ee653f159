"""Explain the paper's symbols that occur in the titles of rows.

Several letters mean different things in the appendices. A key such as ``n (T, Algorithm 7)`` gives the
meaning in the statements of appendix T and in Algorithm 7.
"""

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
    "V (Q, 7.1, 116)": "the hidden signs of the lower bound, uniform on {-1, 1}^d: θ_V = θ_0 + a Σ V_j e_j",
    "T (Q, 7.1, 116)": "rounds of the lower bound; T_0 is the number at which its proof stops",
    "M (Q, 7.1)": "the largest slope of the link on [-τ, τ], except for the mixture (P + Q)/2 in Q.3",
    "m (Q, 7.1)": "the smallest slope of the link on [-τ, τ]",
    "r (Q, 7.1, 116)": "the length of the arms ±r e_j of the lower bound",
    "γ (Q, 7.1, 116)": "the constant in a = γε, the step of θ_V; no confidence radius",
    "X (Q, 7.1)": "the actions of all rounds, which are the learner's public output",
    "T (T)": "the number of gradient steps of P_GD, not of rounds",
    "n (T, Algorithm 7)": "the users of one descent, each of whom takes part in all of its T calls",
    "γ (R, 126)": "the assumed bound on the distance of g(θ̃) and g(θ*) in H(θ*)⁻¹",
    "ν (R, 126)": "how far the loss of the estimate is above its minimum",
    "c (R)": "R times the assumed bound on |⟨x, θ̂ - θ*⟩| over the arms of the design",
    "T_s (O)": "the matrix λI + Σ x xᵀ before round s, no number of rounds; That_s has noise",
    "m (O)": "the number of doublings of the determinant",
    "L (O)": "a bound on the length of the summed vectors",
    "γ (E.4, E.10, E.11, F)": "the radius of Algorithm 1's confidence sets, (9), or (24) with its two ridges",
    "V (E.10, E.11, H)": "the matrix of the first batch of Algorithm 1",
    "m (49)": "the nodes above a leaf of the tree, ⌈log₂ T + 1⌉",
}
