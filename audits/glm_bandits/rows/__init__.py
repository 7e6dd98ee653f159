"""The rows of the paper, one group of claims a file."""
