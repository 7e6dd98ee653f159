"""Private selection: the output is the index of the largest noisy score.

Scores are the column sums of a table of 0 and 1, with one row per record. Replacing a record changes each
score by at most 1, some up and some down: the general case, with cost 2/scale.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from dpaudit.certify.build import report_noisy_max
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import PureDP
from dpaudit.core.data import Integers, Records
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Run
from dpaudit.distributions import Distribution, Exponential, Gumbel, Laplace, NoisyArgmax
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.suite import over, privacy

__all__ = ["rows"]

rows = Group("Private selection")

#: Votes on twelve candidates, by any number of voters.
VOTES = Records(Integers(0, 1), width=12)

Family = Literal["laplace", "gumbel", "exponential"]
NOISE: dict[str, type[Laplace] | type[Gumbel] | type[Exponential]] = {
    "laplace": Laplace,
    "gumbel": Gumbel,
    "exponential": Exponential,
}


def noisy_max(noise: Distribution) -> Any:
    def program(coins: Coins, data: Any) -> Any:
        return coins.observe(NoisyArgmax(data.sum(axis=0), noise), site="winner")

    return program


def pairs(run: Run) -> list[Neighbours]:
    """Return pairs in which one vote moves from the first of twelve candidates to all others. A single vote
    attains the bound for Laplace noise, because the largest noise of the eleven others is hardly ever
    negative. If the others are far behind, it attains the bound for Gumbel noise."""
    first, others = np.eye(12, dtype=int)[:1], 1 - np.eye(12, dtype=int)[:1]
    rest = np.tile(first, (40, 1))
    return [
        Neighbours("the only vote", first, others),
        Neighbours("one of 41 votes", np.concatenate([first, rest]), np.concatenate([others, rest])),
    ]


def selection(family: Family, scale: int) -> PrivacyAudit:
    mechanism = report_noisy_max(sensitivity=1, range="general", noise=family, scale=scale)
    return PrivacyAudit(
        claim=PureDP(epsilon=1),
        program=noisy_max(NOISE[family](scale=scale)),
        neighbours=pairs,
        sites=[Site("winner", mechanism=mechanism)],
        domain=Values(0, 1),
    )


@privacy(
    rows,
    "SEL/right",
    "McSherry and Talwar 2007, Theorem 6; Ding et al. 2021",
    over=over(family="laplace gumbel exponential"),
    accounting="",
    prove=VOTES,
)
def right(family: Family) -> PrivacyAudit:
    """Noisy max with noise of scale 2/ε is ε-DP: Laplace; Gumbel, the exponential mechanism;
    exponential, which is permute-and-flip

    a record moves each score by at most 1
    """
    return replace(selection(family, 2), claim=PureDP(epsilon=1, domain=VOTES.words))


@privacy(
    rows,
    "SEL/halved",
    "as if all scores moved in the same direction",
    over=over(family="laplace gumbel exponential"),
    expect="refuted",
    accounting="",
    role="control",
)
def halved(family: Family) -> PrivacyAudit:
    """Noisy max with noise of scale 1/ε is ε-DP if a record moves scores up and down

    a record moves each score by at most 1
    """
    return selection(family, 1)
