"""Audit the claims of "Shuffle Private Linear Contextual Bandits", one group of rows per file."""
