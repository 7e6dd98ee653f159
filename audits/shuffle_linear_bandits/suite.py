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
)
from dpaudit.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="shuffle_linear_bandits",
    title="Shuffle Private Linear Contextual Bandits",
    reference="Chowdhury, Zhou, ICML 2022, arXiv 2202.05567",
)

suite.include(amplification.rows, local_privacy.rows)
suite.include(regret_rates.rows, corollaries.rows, regret_steps.rows)
suite.include(protocols.rows, mutants.rows)
