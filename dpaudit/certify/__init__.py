"""Build certificates and witnesses, and search for their parameters. The kernel checks the results.

No code here is trusted. ``build`` has one constructor for each rule of the kernel. ``decide`` proves or
refutes claims about noise. ``calibrate`` searches for the least noise that a claim needs.
"""
