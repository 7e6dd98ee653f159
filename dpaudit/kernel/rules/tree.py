"""Rule ``tree``: one record is in few nodes of a binary tree, and each node is one noisy sum.

Statement. The premise holds for the release of one node. If a record is in at most L released nodes
(``levels``), each with noise of its own drawn once, then the release of all nodes, and all prefix sums made
of them, costs L times the premise. L is either declared, with the reason in words (an assumption), or
derived: a static tree over n leaves (``leaves``) whose prefix sums use, for each set bit of i, the dyadic
block of that size has L = floor(log2 n) + 1.

Proof. Nodes without the changed record have the same law on both sides. The others are at most L releases on
data that differ in one record: sequential composition. Prefix sums are post-processing of nodes. Derived L: a
leaf lies in exactly one dyadic block of each size 1, 2, 4, ..., and only blocks of size at most n are used:
floor(log2 n) + 1 sizes. It is attained by the first leaf, since the prefix of length 2^k is the one block of
size 2^k, for every 2^k <= n. (So a tree with 2^r leaves costs its first leaf r + 1 nodes, one more than the
largest number r of nodes in any single prefix sum.) ∎

Source: Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011, Theorem 3.5.
"""

from __future__ import annotations

from dpaudit.kernel.rules.pairs import read_grid
from dpaudit.kernel.rules.sequential import MAX_TIMES, add_up
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


@rule("tree", premises=(1, 1))
def _tree(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    grid = read_grid(parameters)
    if "leaves" in parameters:
        return add_up(premises, [parameters.integer("leaves", low=1, high=MAX_TIMES).bit_length()], grid)
    levels = parameters.integer("levels", low=1, high=MAX_TIMES)
    declared = f"one record is in at most {levels} released nodes: {parameters.text('declared')}"
    return add_up(premises, [levels], grid).with_assumptions([declared])
