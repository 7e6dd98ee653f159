"""Replay a program on neighbouring inputs: exact losses, leaks, and what its certificate must cover.

``privacy`` audits one program. The other files are its steps, in this order: choose pairs (``domains``,
``search``, ``positions``) and histories (``histories``, ``quantiles``), collect what replays show
(``findings``, ``witness_search``, ``coverage``), and check that the certificate fits the program (``leaves``,
``certificate_matching``). ``aggregate_histories`` is for aggregates whose distribution has no closed form.
"""
