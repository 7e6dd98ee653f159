"""Hu, Huang, Mehta: "Near-Optimal Algorithms for Private Online Learning in a Stochastic Environment" (arXiv
2102.07929v2).

Every claim of the paper, by the paper's own numbering, as printed; a repaired variant stands beside what the
audit refutes. One group of claims a file.
"""

from audits.private_online_learning import (
    experiments,
    lower_bound,
    lower_bound_learners,
    lower_bound_selectors,
    lower_bound_steps,
    privacy,
    regret_bandit,
    regret_full_information,
    regret_hybrid,
    regret_optimality,
)
from audits.private_online_learning.rows import (
    lemma_11,
    lemma_12,
    lemma_13,
    noise_needed,
    report_noisy_max,
    space_and_horizon,
    structure,
    theorem_7,
)
from dpaudit.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="private_online_learning",
    title="Near-Optimal Algorithms for Private Online Learning in a Stochastic Environment",
    reference="Hu, Huang, Mehta, arXiv 2102.07929v2",
)

privacy.add_rows(suite)
suite.include(report_noisy_max.rows, structure.rows)
suite.include(lemma_11.rows, lemma_12.rows, lemma_13.rows, theorem_7.rows)
lower_bound.add_rows(suite)
lower_bound_steps.add_rows(suite)
lower_bound_selectors.add_rows(suite)
lower_bound_learners.add_rows(suite)
regret_bandit.add_rows(suite)
regret_hybrid.add_rows(suite)
regret_optimality.add_rows(suite)
suite.include(space_and_horizon.rows)
regret_full_information.add_rows(suite)
experiments.add_rows(suite)
suite.include(noise_needed.rows)
