"""Sarmasarkar: "Shuffle and Joint Differential Privacy for Generalized Linear Contextual Bandits" (2026).

Every claim of the paper, as printed; a repaired variant stands beside what the audit refutes. One group of
claims a file.
"""

from audits.glm_bandits.rows import (
    confidence,
    costs,
    design,
    experiments,
    ledger,
    lower_bound,
    lower_bound_information,
    lower_bound_step_four,
    model_facts,
    optimiser,
    parameters,
    potentials,
    rates,
    regret,
    runnable,
    self_concordance,
    shuffle,
    switches,
    tails,
    tree_mutants,
    trees,
)
from dpaudit.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="glm_bandits",
    title="Shuffle and Joint Differential Privacy for Generalized Linear Contextual Bandits",
    reference="Sarmasarkar, arXiv 2602.00417, version 1",
)

suite.include(shuffle.rows, optimiser.rows, trees.rows, ledger.rows)
suite.include(self_concordance.rows, model_facts.rows)
suite.include(potentials.rows, design.rows, tails.rows)
suite.include(parameters.rows, switches.rows)
suite.include(confidence.rows, regret.rows, rates.rows, runnable.rows)
suite.include(lower_bound.rows, lower_bound_step_four.rows, lower_bound_information.rows)
suite.include(experiments.rows, costs.rows)
suite.include(tree_mutants.rows)
