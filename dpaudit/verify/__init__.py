"""Verify a report from the file alone: each result in a child process, then the file as a whole."""
