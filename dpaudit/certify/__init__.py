"""Finding what the kernel checks: rule trees as values, and searches for them. Nothing here is trusted.

``build`` has one constructor for each rule, ``decide`` settles claims about noise either way, ``calibrate``
looks for the least noise that a claim needs.
"""
