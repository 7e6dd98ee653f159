"""Check proofs of inequalities between expressions on ranges of real and integer parameters.

``interval`` computes with exact ends. ``expression`` holds a table of nodes, ``domain`` the range and its
pieces. ``evaluate`` encloses nodes on a finite box, ``growth`` on an unbounded one, ``series`` beside one
end. ``rewrite`` has exact identities. ``leaf`` decides one box, and ``check`` a whole proof.
"""
