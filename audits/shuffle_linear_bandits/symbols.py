"""Explain the paper's symbols that occur in the titles of rows."""

from __future__ import annotations

__all__ = ["SYMBOLS"]

SYMBOLS = {
    "SDP": "shuffle privacy: the view is the whole output of the shufflers",
    "LDP": "local privacy: the view is each user's messages",
    "JDP": "joint privacy: the view is the actions of all other users",
    "T": "rounds, each with one user; a user may return",
    "B": "users of one batch",
    "M": "number of batches, T/B",
    "M₀": "number of rounds, or batches, that include one user",
    "d": "the dimension of the features φ, of length at most 1",
    "P_Amp": "each user's Gaussian noise (σ₁ on φy, σ₂ on the matrix φφᵀ), amplified by shuffling",
    "P_Vec": "each entry encoded as separate bits with binomial noise; the bits of each entry are shuffled",
    "g": "P_Vec's precision: an entry is rounded to a multiple of 1/g",
    "b": "P_Vec's noise bits per user and entry",
    "p": "the probability that a noise bit is 1",
    "σ₁": "P_Amp's noise on a user's vector",
    "ε₀": "the ε of one user's messages before they are shuffled",
    "V_t": "the sum of φφᵀ that the server has after round t, with noise and ridge",
    "λ": "the ridge of the regression",
    "α": "the confidence sets fail with probability at most 2α",
}
