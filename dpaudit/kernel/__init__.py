"""The trusted base: all that the check of a certificate imports, and nothing else, in three tiers.

``kernel_t0`` (rational arithmetic, one file that also runs alone), ``t1`` with ``ball`` (ball arithmetic),
``t2`` (special functions and tails); ``check`` takes the lowest tier that reaches a bound. ``proofs.md``
has statement, conditions, proof and source of every rule.
"""
