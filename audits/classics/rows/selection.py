"""Private selection: the index of the largest noisy score, which is all that comes out.

Scores are the columns of a table of 0 and 1, one row a record; replacing a record moves each by at most 1,
some up and some down: the general case, 2/scale.
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

#: Votes on twelve candidates, of any number of voters.
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
    """One vote goes from the first of twelve candidates to all others. Alone it attains the bound for Laplace
    noise, since the largest noise of eleven others is hardly ever negative; where the others are far
    behind, it does so for Gumbel noise."""
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
    "as if all scores moved the same way",
    over=over(family="laplace gumbel exponential"),
    expect="refuted",
    accounting="",
    role="control",
)
def halved(family: Family) -> PrivacyAudit:
    """Noisy max with noise of scale 1/ε is ε-DP where a record moves scores up and down

    a record moves each score by at most 1
    """
    return selection(family, 1)
