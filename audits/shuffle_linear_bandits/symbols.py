"""What the paper's letters stand for where the titles of rows use them."""

from __future__ import annotations

__all__ = ["SYMBOLS"]

SYMBOLS = {
    "SDP": "shuffle privacy: of all that the shufflers show",
    "LDP": "local privacy: of each user's messages",
    "JDP": "joint privacy: of the actions that all other users are shown",
    "T": "rounds, each with one user; a user may return",
    "B": "users of one batch",
    "M": "batches: T/B of them",
    "M₀": "rounds, or batches, in which one user returns",
    "d": "the dimension of the features φ, of length at most 1",
    "P_Amp": "each user's Gaussian noise (σ₁ on φy, σ₂ on the matrix φφᵀ), amplified by shuffling",
    "P_Vec": "each entry as bits of its own with binomial noise, the bits of each entry shuffled",
    "g": "P_Vec's precision: an entry is rounded to a multiple of 1/g",
    "b": "P_Vec's noise bits of one user and entry",
    "p": "the probability that such a bit is 1",
    "σ₁": "P_Amp's noise on a user's vector",
    "ε₀": "the ε of one user's messages before they are shuffled",
    "V_t": "the sum of φφᵀ that the server knows after round t, with noise and ridge",
    "λ": "the ridge of the regression",
    "α": "the confidence sets fail with probability 2α at most",
}
