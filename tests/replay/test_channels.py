"""Correct channels are verified against their declaration, and broken ones are refuted or inconclusive."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Coins
from dpaudit.coins.replayer import SessionPair
from dpaudit.core.claims import ApproxDP, GaussianDP, PrivacyClaim, PureDP, ZeroConcentratedDP
from dpaudit.core.evidence import Witness
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Strength, VerdictKind, judge
from dpaudit.distributions import AboveThreshold, BinaryTree, Exponential, Gaussian, Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.channel_costs import threshold_cost
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.privacy import privacy_outcome

RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
#: One record with eight columns: some queries rise and some fall.
COLUMNS = [Neighbours("up and down", np.array([[0.0, 0, 0, 1, 0, 1]]), np.array([[1.0, 1, 1, 0, 1, 0]]))]
STREAM = [Neighbours("the first leaf", np.array([0.0, 0.5, 0.5, 0.5]), np.array([1.0, 0.5, 0.5, 0.5]))]
ENTRIES = np.full((2, 2), 0.5)
MATRICES = [
    Neighbours("the first leaf", np.zeros((4, 2, 2)), np.concatenate([[ENTRIES], np.zeros((3, 2, 2))]))
]


def verdict_of(
    program: Callable[[Coins, Any], Any], claim: PrivacyClaim, site: Site, pairs: Any
) -> tuple[VerdictKind, Strength, list[str]]:
    audit = PrivacyAudit(
        domain=ListedPairs(), claim=claim, program=program, neighbours=lambda run: pairs, sites=[site]
    )
    outcome = privacy_outcome(audit, RUN)
    for item in outcome.evidence:
        if isinstance(item, Witness):
            recompute(item, claim)
    found = judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=RUN.alpha)
    return found.verdict, found.strength, list(outcome.unmet)


# The sparse vector technique


def svt(**options: Any) -> AboveThreshold:
    noise = {"threshold_noise": Laplace(scale=2), "query_noise": Laplace(scale=8)}
    return AboveThreshold(**{"threshold": 1, "max_positives": 2, **noise, **options})


def asking(kernel: AboveThreshold, *, stops: int = 2) -> Callable[[Coins, Any], None]:
    def program(coins: Coins, data: Any) -> None:
        session = coins.channel(kernel, site="svt")
        left = stops
        for total in np.asarray(data).sum(axis=0):
            left -= bool(session.ask(float(total)))
            if left == 0:
                break

    return program


SVT = Site("svt", mechanism=build.above_threshold(sensitivity=1, threshold_scale=2, query_scale=8, answers=2))


@pytest.mark.parametrize(
    "claim", [PureDP(epsilon=1), ApproxDP(epsilon="1/2", delta="29/100"), ZeroConcentratedDP(rho="1/2")]
)
def test_a_right_sparse_vector_technique_is_verified(claim: PrivacyClaim) -> None:
    """1/2 for the threshold, 2 times 2/8 for two answers: epsilon 1, delta (e - e^(1/2))/(1 + e), rho 1/2."""
    assert verdict_of(asking(svt()), claim, SVT, COLUMNS) == (
        VerdictKind.CONSISTENT,
        Strength.ACCOUNTED,
        [],
    )


WRONG: dict[str, tuple[AboveThreshold, int, str]] = {
    "query noise halved": (svt(query_noise=Laplace(scale=4)), 2, "a query's noise is"),
    "a fresh threshold after each": (svt(resample_threshold=True), 2, "draws the threshold's noise again"),
    "four answers": (svt(max_positives=4), 4, "answers 'above' 4 times"),
    "no end": (svt(max_positives=None), 100, "answers 'above' None times"),
    "no query noise": (svt(query_noise=None), 2, "a query's noise is None"),
    "one-sided threshold noise": (
        svt(threshold_noise=Exponential(scale=2), query_noise=Laplace(scale=8)),
        2,
        "the threshold's noise is",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sparse_vector_technique_is_never_verified(name: str) -> None:
    """Each wrong technique has its unmet condition, and is refuted if its sampled answers cost more."""
    kernel, stops, words = WRONG[name]
    verdict, _, unmet = verdict_of(asking(kernel, stops=stops), PureDP(epsilon=1), SVT, COLUMNS)
    assert verdict in (VerdictKind.REFUTED, VerdictKind.INCONCLUSIVE)
    assert any(words in text for text in unmet)
    if name == "no query noise":
        assert verdict is VerdictKind.REFUTED


def session(kernel: AboveThreshold, here: Any, there: Any) -> SessionPair:
    return SessionPair(kernel, kernel, tuple(here), tuple(there), (False,) * len(here), (0, 1, 2))


@pytest.mark.parametrize("moves", [(1, 1, -1), (1, 1, 1), (-1, 0, 0.5), (0, 1, 0), (-1, -1, -1)])
@pytest.mark.parametrize("noise", [Laplace, Exponential])
def test_the_cost_of_a_session_bounds_all_its_answers(moves: Any, noise: Any) -> None:
    """Against every sequence of answers that ends with the first "above", in both directions, with queries
    near and far from the threshold."""
    kernel = svt(max_positives=1, threshold_noise=noise(scale=2), query_noise=noise(scale=4))
    worst = 0.0
    for places in itertools.product((-6.0, 1.0, 9.0), repeat=3):
        there = [place + move for place, move in zip(places, moves, strict=True)]
        cost = threshold_cost(session(kernel, places, there))
        assert cost is not None
        for length in (1, 2, 3):
            for last in (False, True):
                answers = (*[False] * (length - 1), last)
                loss = abs(
                    float(kernel.log_joint(places[:length], answers))
                    - float(kernel.log_joint(there[:length], answers))
                )
                worst = max(worst, loss if np.isfinite(loss) else 0.0)
                assert loss <= float(cost) + 1e-6
    assert worst > 0


def test_the_cost_of_a_session_is_that_of_its_certificate() -> None:
    """Full moves both ways cost D/b + 2kD/c, one way D/b + kD/c, one query D/c."""
    kernel = svt(max_positives=1, query_noise=Laplace(scale=4))
    here = (0.0, 0.0, 0.0)
    assert threshold_cost(session(kernel, here, (1.0, 1.0, -1.0))) == 1
    assert threshold_cost(session(kernel, here, (1.0, 1.0, 1.0))) == Fraction(3, 4)
    assert threshold_cost(session(kernel, here, (0.0, 1.0, 0.0))) == Fraction(1, 4)
    assert threshold_cost(session(svt(query_noise=None), here, (1.0, 1.0, 1.0))) is None


# Trees


def scalar(kernel: BinaryTree) -> Callable[[Coins, Any], None]:
    def program(coins: Coins, data: Any) -> None:
        tree = coins.channel(kernel, site="tree")
        for row in data:
            tree.ask(float(row))

    return program


def matrix(kernel: BinaryTree) -> Callable[[Coins, Any], None]:
    def program(coins: Coins, data: Any) -> None:
        tree = coins.channel(kernel, site="tree")
        for row in data:
            tree.ask(row)

    return program


def declared(node: Any, leaves: int = 4) -> Site:
    return Site("tree", mechanism=build.tree_mechanism(node, leaves=leaves))


NORMAL = build.gaussian_mechanism(sensitivity=1, scale=2)
LAPLACE = build.laplace_mechanism(sensitivity=1, scale=3)
TREE = BinaryTree(leaves=4, noise=Gaussian(sigma=2))
COUNT = BinaryTree(leaves=4, noise=Laplace(scale=3))

RIGHT_TREES: dict[str, tuple[Any, PrivacyClaim, Site, Any]] = {
    "pure": (scalar(COUNT), PureDP(epsilon=1), declared(LAPLACE), STREAM),
    "zCDP": (scalar(TREE), ZeroConcentratedDP(rho="3/8"), declared(NORMAL), STREAM),
    "matrices in l2": (matrix(TREE), GaussianDP(mu="867/1000"), declared(NORMAL), MATRICES),
    "matrices in l1": (
        matrix(COUNT),
        PureDP(epsilon=2),
        declared(build.laplace_mechanism(sensitivity=2, scale=3)),
        MATRICES,
    ),
}


@pytest.mark.parametrize("name", RIGHT_TREES)
def test_a_right_tree_is_verified(name: str) -> None:
    """Every level pays for one leaf: three levels of four leaves."""
    assert verdict_of(*RIGHT_TREES[name]) == (VerdictKind.CONSISTENT, Strength.ACCOUNTED, [])


CHEAP = BinaryTree(leaves=4, noise_by_level=[Laplace(scale=3), Laplace(scale=3), Laplace(scale=1)])
UNSCALED = build.gaussian_mechanism(sensitivity_squared="1/3", scale=2)

WRONG_TREES: dict[str, tuple[Any, PrivacyClaim, Site, Any]] = {
    "a level with less noise": (scalar(CHEAP), PureDP(epsilon=1), declared(LAPLACE), STREAM),
    "a level too few": (scalar(COUNT), PureDP(epsilon="2/3"), declared(LAPLACE, 3), STREAM),
    "sigma not scaled": (scalar(TREE), ZeroConcentratedDP(rho="1/8"), declared(UNSCALED), STREAM),
    "l2 for l1": (matrix(COUNT), PureDP(epsilon=1), declared(LAPLACE), MATRICES),
}


@pytest.mark.parametrize("name", WRONG_TREES)
def test_a_wrong_tree_is_refuted(name: str) -> None:
    """A wrong tree is refuted by a transcript for a pure claim, and by sampled losses otherwise."""
    verdict, strength, unmet = verdict_of(*WRONG_TREES[name])
    assert verdict is VerdictKind.REFUTED
    assert strength is (Strength.ESTIMATE if name == "sigma not scaled" else Strength.WITNESS)
    assert any("does not match the certificate's mechanism" in text for text in unmet)
