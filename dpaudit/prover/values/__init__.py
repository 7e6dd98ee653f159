"""Prove privacy claims of ordinary Python and numpy functions, for all data of a declaration.

An interpreter runs the unmodified function once per path of public decisions, on private values that no
Python code can access. It records every operation on them as a step with a rule in ``dpaudit.kernel.values``.
It refuses operations without a rule.
"""
