"""Child processes that answer questions: one line of JSON a question, one line of JSON an answer.

``child`` is the parent's side, which starts, asks and ends one; ``serving`` is the child's side; ``forks``
serves each question in a fork, ``fork_server`` forks children that share their imports. Rows of suites run
behind it, and so do the checks of an untrusted report.
"""
