"""Benchmarks: each simulator beside the plain per-round loop, measured in one run."""
