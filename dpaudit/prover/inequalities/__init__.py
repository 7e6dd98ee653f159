"""Prove inequalities on ranges: trace the function into an expression, and search the proof that the kernel checks."""
