"""Prove privacy claims of ordinary Python and numpy functions, for all data of a declaration.

An interpreter runs the unmodified function once per path of public decisions, on private values that no
Python code can touch. Every operation on them is recorded as a step with a rule in ``dpaudit.kernel.values``.
What has no rule is refused.
"""
