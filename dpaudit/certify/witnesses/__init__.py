"""Witnesses, the evidence against a claim: the content of each form, and its lower bound recomputed in balls.

Start at ``recompute``. Each form has one file (``transcript``, ``leak``, ``mixture``, ``window_event``,
``divergence``, ``noise`` and others).
"""
