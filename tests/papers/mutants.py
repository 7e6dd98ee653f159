"""All mutants of the private online learning algorithms, by algorithm and name."""

from __future__ import annotations

from tests.papers.mutant import Mutant
from tests.papers.mutants_bandit import DP_SE, HYBRID_UCB, LAZY_UCB
from tests.papers.mutants_full_information import FTNL, NAIVE_FTNL

__all__ = ["MUTANTS"]

#: Per algorithm: name of the mutant -> (program, how it is caught).
MUTANTS: dict[str, dict[str, Mutant]] = {
    "lazy_ucb": LAZY_UCB,
    "hybrid_ucb": HYBRID_UCB,
    "ftnl": FTNL,
    "naive_ftnl": NAIVE_FTNL,
    "dp_se": DP_SE,
}
