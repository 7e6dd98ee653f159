"""Benchmarks: each simulator and the plain per-round loop, measured in one run."""
