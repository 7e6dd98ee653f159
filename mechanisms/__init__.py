"""Private mechanisms and protocols as programs over coins, one idea a file, and their exact properties."""
