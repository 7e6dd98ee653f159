"""Audit the claims of "Concurrent Shuffle Differential Privacy Under Continual Observation", one group of
rows per file."""
