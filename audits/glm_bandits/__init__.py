"""Audit the claims of "Shuffle and Joint Differential Privacy for Generalized Linear Contextual Bandits"."""
