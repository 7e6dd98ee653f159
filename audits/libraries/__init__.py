"""Mechanisms of public packages, run as they are installed; what is not installed is skipped by name."""
