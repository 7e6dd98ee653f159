"""Explain the paper's symbols that occur in the titles of rows."""

from __future__ import annotations

__all__ = ["SYMBOLS"]

SYMBOLS = {
    "SDP": "shuffle privacy: the view is the whole output of one shuffler",
    "CSDP": "concurrent shuffle privacy: the view is the output of k shufflers that run at the same time",
    "n": "number of users, who arrive in order; the sum of inputs is estimated after each user",
    "k": "shufflers",
    "V_t": "the nodes of the tree whose sums are added up at time t",
    "V": "the sub-Gaussian variance of one node's mechanism",
    "d_low": "users below each lowest node of Algorithm 3; d is the degree of the others, or the dimension",
    "M_sum_vec": "the shuffled sum of vectors, each entry as bits with binomial noise",
    "Algorithm 2": "a binary tree: log n - 1 shufflers, one per level",
    "Algorithm 3": "a tree of k levels of degree d: k shufflers",
    "Algorithm 4": "a linear bandit whose vector and matrix sums are Algorithm 3's",
    "rep(n, k)": "the length of blocks of equal bits in the lower bound's hard inputs; it is the error bound",
    "Big": "a batch with more users is big; below it, the bound for k - 1 shufflers applies",
    "P(n, k)": "the lower bound's probability of an error of rep(n, k)",
    "β": "the probability with which an error bound may fail",
}
