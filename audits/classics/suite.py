"""The classics: well-known mechanisms, correct and broken, each audited in a few lines."""

from audits.classics.rows import (
    descent,
    joint_bandits,
    proved_at_every_size,
    proved_at_one_size,
    selection,
    shuffled,
    sparse_vector,
)
from dpaudit.core.suite import Suite

__all__ = ["suite"]

suite = Suite(paper="classics", title="Classics of differential privacy, right and wrong")

suite.include(sparse_vector.rows, selection.rows, descent.rows, joint_bandits.rows, shuffled.rows)
suite.include(proved_at_one_size.rows, proved_at_every_size.rows)
