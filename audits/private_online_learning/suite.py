"""Hu, Huang, Mehta: "Near-Optimal Algorithms for Private Online Learning in a Stochastic Environment" (arXiv
2102.07929v2).

Every claim of the paper, by the paper's own numbering, as printed; a repaired variant stands beside what the
audit refutes. One group of claims a file.
"""

from audits.private_online_learning import (
    anytime,
    experiments,
    hybrid_noise,
    hybrid_steps,
    lemma_13,
    noise_needed,
    proof_steps,
    regret_bandit,
    regret_full_information,
    regret_hybrid,
    regret_optimality,
    selection,
    structure,
    theorem_7,
    theorem_7_forms,
)
from audits.private_online_learning.rows import lower_bound, lower_bound_learners, privacy
from dpaudit.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="private_online_learning",
    title="Near-Optimal Algorithms for Private Online Learning in a Stochastic Environment",
    reference="Hu, Huang, Mehta, arXiv 2102.07929v2",
)

suite.include(privacy.rows)
selection.add_rows(suite)
structure.add_rows(suite)
proof_steps.add_rows(suite)
hybrid_noise.add_rows(suite)
hybrid_steps.add_rows(suite)
lemma_13.add_rows(suite)
theorem_7.add_rows(suite)
theorem_7_forms.add_rows(suite)
suite.include(lower_bound.rows, lower_bound_learners.rows)
regret_bandit.add_rows(suite)
regret_hybrid.add_rows(suite)
regret_optimality.add_rows(suite)
anytime.add_rows(suite)
regret_full_information.add_rows(suite)
experiments.add_rows(suite)
noise_needed.add_questions(suite)
