"""The classics: mechanisms that everybody knows, right and wrong, each audited in a few lines."""

from audits.classics.rows import (
    descent,
    joint_bandits,
    prover_bandits,
    prover_every_size,
    prover_noisy_max,
    prover_sparse_vector,
    prover_sums,
    selection,
    shuffled,
    sparse_vector,
)
from dpaudit.suite import Suite

__all__ = ["suite"]

suite = Suite(paper="classics", title="Classics of differential privacy, right and wrong")

suite.include(sparse_vector.rows, selection.rows, descent.rows, joint_bandits.rows, shuffled.rows)
suite.include(prover_sparse_vector.rows, prover_noisy_max.rows, prover_sums.rows, prover_bandits.rows)
suite.include(prover_every_size.rows)
