"""A mechanism audited from the outside: it is run on pairs of neighbours, and bets are laid on its outputs.

``check`` is the whole audit: ``search`` picks the next pair, ``runs`` calls the mechanism, ``outcomes`` and
``features`` make numbers of what it returns, ``experts`` bet on them. ``notes`` and ``power`` say what was
not seen.
"""
