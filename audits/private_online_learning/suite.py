"""Hu, Huang, Mehta: "Near-Optimal Algorithms for Private Online Learning in a Stochastic Environment" (arXiv
2102.07929v2).

Every claim of the paper as printed, under the paper's own numbering. Each refuted claim has a repaired
variant. Each file has one group of claims.
"""

from audits.private_online_learning.rows import (
    experiments,
    lemma_11,
    lemma_12,
    lemma_13,
    lower_bound,
    lower_bound_learners,
    noise_needed,
    privacy,
    proved,
    regret_bandit,
    regret_full_information,
    report_noisy_max,
    space_and_horizon,
    structure,
    theorem_7,
)
from dpaudit.core.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="private_online_learning",
    title="Near-Optimal Algorithms for Private Online Learning in a Stochastic Environment",
    reference="Hu, Huang, Mehta, arXiv 2102.07929v2",
)

suite.include(privacy.rows, proved.rows, report_noisy_max.rows, structure.rows)
suite.include(lemma_11.rows, lemma_12.rows, lemma_13.rows, theorem_7.rows)
suite.include(lower_bound.rows, lower_bound_learners.rows)
suite.include(regret_bandit.rows, space_and_horizon.rows, regret_full_information.rows)
suite.include(experiments.rows, noise_needed.rows)
