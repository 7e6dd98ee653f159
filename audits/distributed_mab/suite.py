"""Chowdhury, Zhou: "Distributed Differential Privacy in Multi-Armed Bandits" (ICLR 2023).

Every claim of the paper, as printed; a repaired variant stands beside what the audit refutes. One group of
claims a file.
"""

from audits.distributed_mab import (
    accounting,
    analyzer_tails,
    assumption_1,
    communication,
    concentrated_privacy,
    elimination_steps,
    encoding,
    experiments,
    mechanism_facts,
    mutants,
    noise_facts,
    noise_privacy,
    protocol_privacy,
    regret_rates,
    renyi_privacy,
    returning_users,
    scaling,
    shuffle_privacy,
    tails,
)
from audits.distributed_mab.rows import concentration, regret_orderings
from dpaudit.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="distributed_mab",
    title="Distributed Differential Privacy in Multi-Armed Bandits",
    reference="Chowdhury, Zhou, ICLR 2023, arXiv 2206.05772",
)

noise_facts.add_rows(suite)
mechanism_facts.add_rows(suite)
tails.add_rows(suite)
suite.include(concentration.rows)
analyzer_tails.add_rows(suite)
assumption_1.add_rows(suite)
noise_privacy.add_rows(suite)
renyi_privacy.add_rows(suite)
concentrated_privacy.add_rows(suite)
accounting.add_rows(suite)
returning_users.add_rows(suite)
scaling.add_rows(suite)
protocol_privacy.add_rows(suite)
shuffle_privacy.add_rows(suite)
encoding.add_rows(suite)
communication.add_rows(suite)
elimination_steps.add_rows(suite)
regret_rates.add_rows(suite)
suite.include(regret_orderings.rows)
experiments.add_rows(suite)
mutants.add_rows(suite)
