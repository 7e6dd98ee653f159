"""The trusted base: all that the check of a certificate imports, and nothing else."""
