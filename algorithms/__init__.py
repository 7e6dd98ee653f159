"""Reference algorithms: one family a file, built on the mechanisms, played against environments."""
