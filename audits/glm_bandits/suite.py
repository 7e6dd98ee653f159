"""Audit Sarmasarkar: "Shuffle and Joint Differential Privacy for Generalized Linear Contextual Bandits"
(2026).

The suite contains every claim of the paper as printed, one group of claims per file. If the audit refutes a
claim, the suite also contains a repaired variant.
"""

from audits.glm_bandits.rows import (
    confidence,
    costs,
    dependence,
    descent,
    design,
    experiments,
    joint_program,
    joint_regret,
    later_batches,
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
    requirements,
    runnable,
    self_concordance,
    shuffle,
    shuffle_program,
    switches,
    tails,
    tree_mutants,
    trees,
)
from audits.glm_bandits.symbols import SYMBOLS
from dpaudit.core.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="glm_bandits",
    title="Shuffle and Joint Differential Privacy for Generalized Linear Contextual Bandits",
    reference="Sarmasarkar, arXiv 2602.00417, version 1",
    symbols=SYMBOLS,
)

suite.include(shuffle.rows, optimiser.rows, trees.rows, ledger.rows)
suite.include(self_concordance.rows, model_facts.rows)
suite.include(potentials.rows, design.rows, tails.rows)
suite.include(parameters.rows, switches.rows)
suite.include(confidence.rows, regret.rows, joint_regret.rows, later_batches.rows, rates.rows)
suite.include(requirements.rows, runnable.rows)
suite.include(lower_bound.rows, lower_bound_step_four.rows, lower_bound_information.rows)
suite.include(experiments.rows, costs.rows)
suite.include(tree_mutants.rows, descent.rows, joint_program.rows, shuffle_program.rows)
suite.include(dependence.rows)
