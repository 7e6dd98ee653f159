"""Hu, Huang, Mehta: "Near-Optimal Algorithms for Private Online Learning in a Stochastic Environment" (arXiv
2102.07929v2).

Every claim of the paper, by the paper's own numbering, as printed; a repaired variant stands beside what the
audit refutes. The rows live in ``audits/hu_huang_mehta``, one group of claims a file.
"""

from audits.hu_huang_mehta import privacy, selection, structure
from dpaudit.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="private_online_learning",
    title="Near-Optimal Algorithms for Private Online Learning in a Stochastic Environment",
    reference="Hu, Huang, Mehta, arXiv 2102.07929v2",
)

privacy.add_rows(suite)
selection.add_rows(suite)
structure.add_rows(suite)
