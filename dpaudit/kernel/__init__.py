"""The trusted base: everything that the check of a certificate imports, in three tiers.

``kernel_t0`` (rational arithmetic, one file that also runs alone), ``t1`` with ``ball`` (ball arithmetic),
and ``t2`` (special functions and tails). ``check`` uses the lowest tier that derives a bound. ``proofs.md``
has the statement, conditions, proof and source of every rule.
"""
