"""Child processes that answer requests, with one line of JSON for each request and for each answer.

``child`` is the parent's side: it starts and ends a child and sends requests. ``serving`` is the child's
side. ``forks`` serves each request in a fork, and ``fork_server`` forks children that share their imports.
``own_fork`` forks this process for one task.
Rows of suites and the checks of an untrusted report run in such children.
"""
