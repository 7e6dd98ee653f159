"""The noise that the paper's mechanisms need: the printed parameter and the smallest certified parameter
(``dpaudit calibrate``).

All rows are at ε = 1 and event level, with one reward vector replaced. They use the proofs of the privacy
rows with the noise as a free parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from dpaudit.certify import build
from dpaudit.certify.proof import Proof
from dpaudit.certify.sites import Site
from dpaudit.core.claims import PureDP
from dpaudit.core.question import Question
from dpaudit.core.suite import Group

__all__ = ["rows"]

rows = Group("Noise needed")

#: Trees on 2^r leaves. The printed noise is furthest from the noise needed at r = 1.
HEIGHTS = (1, 2, 4, 10)
ACTIONS = 10


def _laplace(scale: Fraction | int, *, sensitivity: int = 1) -> Proof:
    return build.laplace_mechanism(sensitivity=sensitivity, scale=scale)


def _array(scale: Fraction) -> Proof:
    site = Site("array", mechanism=_laplace(scale))
    return build.accounted([site], declared="every observation enters one array, released once")


def _hybrid(scale: Fraction, r: int) -> Proof:
    """Compose one array at ε/2 with r + 1 nodes, the ones that end the prefixes 1, 2, 4, ..., 2^r."""
    tree = Site("tree", mechanism=build.tree_mechanism(_laplace(scale), leaves=2**r))
    declared = "an observation enters one array and the tree of that array"
    return build.accounted([Site("array", mechanism=_laplace(2)), tree], declared=declared)


def _leader(scale: Fraction) -> Proof:
    noisy_max = build.report_noisy_max(sensitivity=1, scale=scale, range="general")
    return build.compose_parallel([noisy_max], by="position")


def _naive(scale: Fraction) -> Proof:
    return build.compose_parallel([_laplace(scale, sensitivity=ACTIONS)], by="position")


def _ask(id: str, title: str, parameter: str, printed: int, mechanism: Callable[[Fraction], Proof]) -> None:
    claim = PureDP(epsilon=1, domain="a vector of K rewards in [0, 1], one per round")
    rows.calibrate(
        Question(id=id, title=title, claim=claim, parameter=parameter, printed=printed, mechanism=mechanism)
    )


_ask("HHM-T2", "Anytime-Lazy-UCB: an array's sum", "scale of the sum's noise", 1, _array)
for r in HEIGHTS:
    title = f"Hybrid-UCB: the tree on {2**r} leaves, given the array's half"
    _ask(f"HHM-T5P/r={r}", title, "scale of a node's noise", 2 * r, partial(_hybrid, r=r))
_ask("HHM-RNM", "Report Noisy Max over sums (FTNL)", "scale of a score's noise", 1, _leader)
_ask("HHM-NAIVE-P", f"Naive FTNL: {ACTIONS} noisy means at once", "scale of a sum's noise", ACTIONS, _naive)
