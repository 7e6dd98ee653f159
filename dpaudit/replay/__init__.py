"""Replays of a program on neighbouring inputs: exact losses, leaks, and what its proof has to pay for.

``privacy`` holds the audit of one program; the other files are what it does, in this order: which pairs
(``domains``, ``search``, ``positions``) along which histories (``histories``, ``quantiles``), what they show
(``findings``, ``witnessing``, ``entered``), and whether the certificate speaks of the program (``leaves``,
``mismatches``). ``followed`` is for aggregates whose distribution has no closed form.
"""
