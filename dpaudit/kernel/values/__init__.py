"""Tier 0 for private values: check that a recorded numpy program is differentially private.

The rules use only the standard library. ``check`` checks a certificate. ``derive`` computes the bounds of one
step.
"""
