"""Private descent: DP-FTRL by a tree with restarts, and DP-SGD by Poisson subsampling.

Records are points of the plane. The loss of a model x is |x - record|²/2, with its gradient clipped to length
1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.certify.build import (
    LossGrid,
    accounted,
    gaussian_mechanism,
    poisson_subsampled_gaussian,
    tree_mechanism,
)
from dpaudit.certify.proof import Proof
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Program
from dpaudit.core.claims import ApproxDP, ZeroConcentratedDP
from dpaudit.core.data import Anything, Records
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.distributions import BinaryTree, Gaussian, SubsampledGaussianSum
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Interval
from dpaudit.suite import evidence, privacy
from dpaudit.suite.program_proofs import evidence_of, record_digest

__all__ = ["rows"]

rows = Group("Private descent")

EPOCH = 4
#: Two epochs of points of the plane.
POINTS = Records(Anything(), width=2, size=2 * EPOCH)
#: Any number of numbers.
NUMBERS = Records(Anything())


def clipped(gradient: Any) -> Any:
    return gradient / max(1.0, float(np.linalg.norm(gradient)))


def ftrl(variance: int) -> Program:
    """Train for two epochs of four records. Each epoch begins with a new tree."""

    def program(coins: Coins, data: Any) -> None:
        for epoch in (data[:EPOCH], data[EPOCH:]):
            tree = coins.channel(BinaryTree(leaves=EPOCH, noise=Gaussian(variance=variance)), site="tree")
            answers: list[Any] = []
            for step, record in enumerate(epoch):
                model = np.zeros(2) - BinaryTree.prefix(answers, step) / 2
                answers.append(tree.ask(clipped(model - record)))

    return program


def audit(variance: int) -> PrivacyAudit:
    node = gaussian_mechanism(sensitivity=2, variance=variance)
    data = np.zeros((2 * EPOCH, 2))
    left, right = data.copy(), data.copy()
    left[0], right[0] = (1e6, 0), (-1e6, 0)
    return PrivacyAudit(
        claim=ZeroConcentratedDP(rho="1/2"),
        program=ftrl(variance),
        neighbours=lambda run: [Neighbours("the first record, far out", left, right)],
        sites=[Site("tree", mechanism=tree_mechanism(node, leaves=EPOCH))],
        domain=Interval(None, None),
    )


@privacy(rows, "FTRL/right", "Kairouz et al. 2021, Theorem 4.1", accounting="", prove=POINTS)
def ftrl_right() -> PrivacyAudit:
    """DP-FTRL with restarts and noise for the three nodes of every record is (1/2)-zCDP

    a record enters one tree, of four leaves
    """
    return replace(audit(12), claim=ZeroConcentratedDP(rho="1/2", domain=POINTS.words))


@privacy(rows, "FTRL/unscaled", "the noise of one node", expect="refuted", accounting="", role="control")
def ftrl_unscaled() -> PrivacyAudit:
    """DP-FTRL with the noise of one release in every node is (1/2)-zCDP

    a record enters one tree, of four leaves
    """
    return audit(4)


def steps(number: int, *, rate: str) -> Proof:
    step = poisson_subsampled_gaussian(sensitivity=1, rate=rate, scale=1)
    sites = [Site("gradient", mechanism=step, touches=number)]
    return accounted(sites, declared="a record may enter every step", grid=LossGrid())


def sgd(rate: str, *, number: int) -> Program:
    """Take ``number`` gradient steps on Poisson subsamples of numbers, with noise of standard deviation 1."""

    def program(coins: Coins, data: Any) -> None:
        model = 0.0
        for _ in range(number):
            gradients = np.clip(model - np.asarray(data, dtype=float), -1, 1)
            distribution = SubsampledGaussianSum(gradients, rate=rate, sigma=1, dimension=0)
            model = model - coins.observe(distribution, site="gradient") / 100

    return program


LONG = ApproxDP(epsilon=1, delta="42/10000000", adjacency="add-remove", domain=NUMBERS.words)
TWO_HUNDRED = sgd("1/100", number=200)


@evidence(
    rows,
    "SGD/long",
    "Abadi et al. 2016; Zhu, Dong, Wang 2022",
    claim=LONG,
    fingerprint=lambda seed: record_digest(TWO_HUNDRED, LONG, NUMBERS),
)
def long(run: Run) -> Outcome:
    """200 steps of DP-SGD with σ = 1 and sampling rate 1/100 are (1, 4.2e-6)-DP

    on a grid of losses, in both directions. dp-accounting gives 4.13e-6
    """
    proof = evidence_of(TWO_HUNDRED, LONG, NUMBERS)
    return Outcome([steps(200, rate="1/100").certify(LONG), *proof.evidence], proof.notes)


def descent(*, rate: str) -> PrivacyAudit:
    """Return the audit of the program at ``rate``, claimed at rate 1/100."""
    step = poisson_subsampled_gaussian(sensitivity=1, rate=rate, scale=1)
    one, two = np.array([0.5]), np.array([0.5, 1e6])
    return PrivacyAudit(
        claim=ApproxDP(epsilon="1/2", delta="1/1000000", adjacency="add-remove"),
        domain=Interval(None, None),
        program=sgd(rate, number=3),
        neighbours=lambda run: [Neighbours("a record far out", one, two)],
        sites=[Site("gradient", mechanism=step, touches=3)],
        proof=steps(3, rate=rate),
    )


@privacy(rows, "SGD/right", "Abadi et al. 2016, with 3 steps", accounting="", prove=NUMBERS)
def sgd_right() -> PrivacyAudit:
    """3 steps of DP-SGD with σ = 1 and sampling rate 1/100 are (1/2, 1e-6)-DP

    every step is one subsampled release
    """
    audit = descent(rate="1/100")
    return replace(audit, claim=replace(audit.claim, domain=NUMBERS.words))


@privacy(rows, "SGD/denser", "a rate ten times as high", expect="refuted", accounting="", role="control")
def sgd_denser() -> PrivacyAudit:
    """3 steps of DP-SGD with σ = 1 and sampling rate 1/10 are (1/2, 1e-6)-DP

    every step is one subsampled release
    """
    return descent(rate="1/10")
