"""Private mechanisms and protocols as programs over coins, one per file, with their exact properties."""
