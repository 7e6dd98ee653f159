"""Audit rows: "Shuffle and Joint Differential Privacy for Generalized Linear Contextual Bandits"."""
