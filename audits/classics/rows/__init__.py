"""One family of mechanisms a file: each audit is a program of a few lines and a row."""
