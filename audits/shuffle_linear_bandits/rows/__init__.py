"""Define the rows of the paper, one group of claims per file."""
