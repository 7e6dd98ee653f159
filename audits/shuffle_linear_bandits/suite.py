"""Audit Chowdhury, Zhou: "Shuffle Private Linear Contextual Bandits" (ICML 2022).

The suite contains every claim of the paper as printed, one group of claims per file. If the audit refutes a
claim, the suite also contains a repaired variant.
"""

from audits.shuffle_linear_bandits.rows import (
    amplification,
    binomial_errors,
    binomial_mutants,
    binomial_needed,
    binomial_privacy,
    binomial_returning,
    central_tree,
    composition,
    corollaries,
    experiment_labels,
    experiments,
    local_privacy,
    mutants,
    noise_controls,
    protocols,
    regret_rates,
    regret_steps,
    separate_batches,
)
from audits.shuffle_linear_bandits.symbols import SYMBOLS
from dpaudit.core.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="shuffle_linear_bandits",
    title="Shuffle Private Linear Contextual Bandits",
    reference="Chowdhury, Zhou, ICML 2022, arXiv 2202.05567",
    symbols=SYMBOLS,
)

suite.include(
    amplification.rows, local_privacy.rows, composition.rows, central_tree.rows, separate_batches.rows
)
suite.include(binomial_privacy.rows, binomial_returning.rows, binomial_needed.rows, binomial_errors.rows)
suite.include(protocols.rows)
suite.include(regret_rates.rows, corollaries.rows, regret_steps.rows)
suite.include(experiments.rows, experiment_labels.rows)
suite.include(mutants.rows, noise_controls.rows, binomial_mutants.rows)
