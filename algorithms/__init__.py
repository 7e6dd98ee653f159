"""Reference algorithms: one family a file, built on the mechanisms and on the environments of
``algorithms.environment``.
"""
