"""Witnesses, evidence against a claim: what each form holds, and its lower bound computed again in balls.

``recompute`` is the door; one file for each form (``transcript``, ``leak``, ``mixture``, ``window_event``,
``divergence``, ``noise``).
"""
