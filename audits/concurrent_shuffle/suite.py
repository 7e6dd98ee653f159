"""Audit Tenenbaum, Kaplan, Mansour, Stemmer: "Concurrent Shuffle Differential Privacy Under Continual
Observation" (ICML 2023).

The suite contains every claim of the paper as printed, one group of claims per file. If the audit refutes a
claim, the suite also contains a repaired variant.
"""

from audits.concurrent_shuffle.rows import (
    binary_sums,
    errors,
    lower_bound,
    lower_bound_induction,
    lower_bound_lemmas,
    lower_bound_prefixes,
    mutants,
    privacy,
    protocols,
    proved,
    regret,
    regret_exponents,
    trees,
    variances,
    vector_sums,
)
from audits.concurrent_shuffle.symbols import SYMBOLS
from dpaudit.core.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="concurrent_shuffle",
    title="Concurrent Shuffle Differential Privacy Under Continual Observation",
    reference="Tenenbaum, Kaplan, Mansour, Stemmer, ICML 2023, arXiv 2301.12535",
    symbols=SYMBOLS,
)

suite.include(trees.rows)
suite.include(privacy.rows, proved.rows, protocols.rows)
suite.include(variances.rows, errors.rows, binary_sums.rows, vector_sums.rows)
suite.include(
    lower_bound.rows, lower_bound_induction.rows, lower_bound_prefixes.rows, lower_bound_lemmas.rows
)
suite.include(regret.rows, regret_exponents.rows)
suite.include(mutants.rows)
