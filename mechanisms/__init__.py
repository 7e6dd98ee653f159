"""Reference mechanisms: one idea a file, each taking all of its randomness from the coins."""
