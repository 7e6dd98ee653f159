"""Chowdhury, Zhou: "Distributed Differential Privacy in Multi-Armed Bandits" (ICLR 2023).

Every claim of the paper, as printed; a repaired variant stands beside what the audit refutes. The rows live in
``audits/chowdhury_zhou``, one group of claims a file.
"""

from audits.chowdhury_zhou import noise_facts, tails
from dpaudit.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="distributed_mab",
    title="Distributed Differential Privacy in Multi-Armed Bandits",
    reference="Chowdhury, Zhou, ICLR 2023, arXiv 2206.05772",
)

noise_facts.add_rows(suite)
tails.add_rows(suite)
