"""Chowdhury, Zhou: "Shuffle Private Linear Contextual Bandits" (ICML 2022).

Every claim of the paper, as printed; a repaired variant stands beside what the audit refutes. One group of
claims a file.
"""

from audits.shuffle_linear_bandits.rows import (
    amplification,
    corollaries,
    local_privacy,
    mutants,
    protocols,
    regret_rates,
    regret_steps,
    binomial_errors,
    binomial_mutants,
    binomial_needed,
    binomial_privacy,
    binomial_returning,
    central_tree,
    composition,
    experiment_labels,
    noise_controls,
    separate_batches,
)
from audits.shuffle_linear_bandits.rows import corollaries, experiments, regret_rates, regret_steps
from dpaudit.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="shuffle_linear_bandits",
    title="Shuffle Private Linear Contextual Bandits",
    reference="Chowdhury, Zhou, ICML 2022, arXiv 2202.05567",
)

suite.include(amplification.rows, local_privacy.rows)
suite.include(regret_rates.rows, corollaries.rows, regret_steps.rows)
suite.include(protocols.rows)
suite.include(binomial_privacy.rows)
suite.include(binomial_returning.rows)
suite.include(binomial_errors.rows)
suite.include(binomial_mutants.rows)
suite.include(binomial_needed.rows)
suite.include(amplification.rows, local_privacy.rows, composition.rows, central_tree.rows)
suite.include(separate_batches.rows, experiment_labels.rows, noise_controls.rows)
suite.include(regret_rates.rows, corollaries.rows, regret_steps.rows, experiments.rows)
suite.include(protocols.rows, mutants.rows)
