"""The sparse vector technique in its six published variants, numbered as by Lyu, Su and Li (2017).

Queries are the columns of a table of 0 and 1, with one row per record. Replacing a record changes each by at
most 1, some up and some down. Every variant is claimed to be 1-DP, with at most c answers "above".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.certify.build import above_threshold
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Program
from dpaudit.core.claims import PureDP
from dpaudit.core.data import Integers, Records
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group
from dpaudit.distributions import AboveThreshold, Kernel, Laplace, ValuesAboveThreshold
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.suite import privacy

__all__ = ["rows"]

rows = Group("The sparse vector technique")

COLUMNS = 12
#: Any number of rows, which are proved for the correct variants.
TABLE = Records(Integers(0, 1), width=COLUMNS)
CLAIM = PureDP(epsilon=1)
PROVED = PureDP(epsilon=1, domain=TABLE.words)
#: So low that an answer "below" reveals much about the threshold's noise.
THRESHOLD = -20
HALF = tuple(range(6, 12))


def sparse_vector(kernel: Kernel, *, ends: Callable[[Any], bool] = bool, channels: int = 1) -> Program:
    """Query every column in turn. An answer that ``ends`` a channel opens the next of the ``channels``."""

    def program(coins: Coins, data: Any) -> None:
        queries = iter(data.sum(axis=0).tolist())
        for _ in range(channels):
            session = coins.channel(kernel, site="flags")
            any(ends(session.ask(query)) for query in queries)

    return program


def variant(
    program: Program,
    sites: list[Site],
    *,
    rising: tuple[int, ...] = (COLUMNS - 1,),
    answers: tuple[Any, Any] = (False, True),
    claim: PureDP = CLAIM,
) -> PrivacyAudit:
    """Return the audit of a variant. Between the inputs the columns ``rising`` rise by one, and all others
    fall by one. The forced history has the second of ``answers`` in the rising columns only."""
    up = np.isin(np.arange(COLUMNS), rising).astype(int)[None]
    return PrivacyAudit(
        claim=claim,
        program=program,
        neighbours=lambda run: [Neighbours("some columns rise, the others fall", 1 - up, up)],
        sites=sites,
        histories={
            "above in the rising columns": lambda site, occurrence, distribution: answers[
                occurrence in rising
            ]
        },
        domain=Values(0, 1),
    )


@privacy(rows, "SVT/1", "Lyu, Su, Li 2017, Algorithm 1", accounting="", prove=TABLE)
def algorithm_1() -> PrivacyAudit:
    """Algorithm 1, one noisy threshold and query noise of scale 4c/ε, is ε-DP

    one channel, one answer "above"
    """
    kernel = AboveThreshold(
        threshold=THRESHOLD, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=4)
    )
    svt = above_threshold(sensitivity=1, threshold_scale=2, query_scale=4)
    return variant(sparse_vector(kernel), [Site("flags", mechanism=svt)], claim=PROVED)


@privacy(rows, "SVT/2", "Dwork and Roth 2014, Algorithm 2", accounting="", prove=TABLE)
def algorithm_2() -> PrivacyAudit:
    """Algorithm 2, the threshold drawn again after each answer "above", c = 2, is ε-DP

    two channels with one answer "above" each
    """
    kernel = AboveThreshold(
        threshold=THRESHOLD, threshold_noise=Laplace(scale=4), query_noise=Laplace(scale=8)
    )
    svt = above_threshold(sensitivity=1, threshold_scale=4, query_scale=8)
    return variant(
        sparse_vector(kernel, channels=2),
        [Site("flags", mechanism=svt, touches=2)],
        rising=(5, 11),
        claim=PROVED,
    )


@privacy(rows, "SVT/3", "Roth 2011, lecture notes", expect="refuted", accounting="")
def algorithm_3() -> PrivacyAudit:
    """Algorithm 3, which shows the noisy value of the query above the threshold, is ε-DP

    claimed: one channel
    """
    kernel = ValuesAboveThreshold(
        threshold=THRESHOLD, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=2)
    )
    return variant(sparse_vector(kernel, ends=np.isfinite), [Site("flags", total=1)], answers=(np.nan, -60.0))


@privacy(rows, "SVT/4", "Lee and Clifton 2014", expect="refuted", accounting="")
def algorithm_4() -> PrivacyAudit:
    """Algorithm 4, query noise that does not know how many queries it answers, is ε-DP

    claimed: one channel
    """
    kernel = AboveThreshold(
        threshold=THRESHOLD, threshold_noise=Laplace(scale=4), query_noise=Laplace(scale="4/3")
    )
    svt = above_threshold(sensitivity=1, threshold_scale=4, query_scale="4/3")
    return variant(sparse_vector(kernel), [Site("flags", mechanism=svt)])


@privacy(rows, "SVT/5", "Stoddard et al. 2014", expect="refuted", accounting="")
def algorithm_5() -> PrivacyAudit:
    """Algorithm 5, without noise on the queries and without an end, is ε-DP

    claimed: one channel
    """
    kernel = AboveThreshold(
        threshold=THRESHOLD, threshold_noise=Laplace(scale=2), query_noise=None, max_positives=None
    )
    return variant(sparse_vector(kernel, ends=lambda answer: False), [Site("flags", total=1)], rising=HALF)


@privacy(rows, "SVT/6", "Chen et al. 2015", expect="refuted", accounting="")
def algorithm_6() -> PrivacyAudit:
    """Algorithm 6, without an end, is ε-DP

    claimed: one channel
    """
    kernel = AboveThreshold(
        threshold=THRESHOLD,
        threshold_noise=Laplace(scale=2),
        query_noise=Laplace(scale=2),
        max_positives=None,
    )
    return variant(sparse_vector(kernel, ends=lambda answer: False), [Site("flags", total=1)], rising=HALF)
