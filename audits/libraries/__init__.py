"""Mechanisms of public packages, run as they are installed. Missing packages are skipped by name."""
