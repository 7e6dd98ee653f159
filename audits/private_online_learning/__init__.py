"""The rows of the private online learning suite, one group of claims per file."""
