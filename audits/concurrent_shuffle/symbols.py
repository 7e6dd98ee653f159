"""What the paper's letters stand for where the titles of rows use them."""

from __future__ import annotations

__all__ = ["SYMBOLS"]

SYMBOLS = {
    "SDP": "shuffle privacy: of all that one shuffler shows",
    "CSDP": "concurrent shuffle privacy: of all that k shufflers show, which run at the same time",
    "n": "users, one after the other; the sum of their inputs is estimated after each",
    "k": "shufflers",
    "V_t": "the nodes of the tree whose sums are added up at time t",
    "V": "the sub-Gaussian variance of one node's mechanism",
    "d_low": "users below each lowest node of Algorithm 3; d is the degree of the others, or the dimension",
    "M_sum_vec": "the shuffled sum of vectors, each entry as bits with binomial noise",
    "Algorithm 2": "a binary tree: log n - 1 shufflers, one a level",
    "Algorithm 3": "a tree of k levels of degree d: k shufflers",
    "Algorithm 4": "a linear bandit whose vector and matrix sums are Algorithm 3's",
    "rep(n, k)": "the length of blocks of equal bits in the lower bound's hard inputs: the error shown",
    "Big": "above so many users a batch is big: the bound for k shufflers is that for k - 1 below it",
    "P(n, k)": "the probability that the lower bound gives to an error of rep(n, k)",
    "β": "the probability with which an error bound may fail",
}
