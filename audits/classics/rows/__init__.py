"""Each file has one family of mechanisms. Each audit is a program of a few lines and a row."""
