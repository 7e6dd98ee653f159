"""Tier 0 for private values: check that a recorded numpy program is differentially private.

The rules need the standard library alone. ``check`` is the checker. ``derive`` gives the bounds of one step.
"""
