"""Certificates and witnesses: finding them, and verifying a whole report.

``build`` writes certificates, which ``dpaudit.kernel`` checks, and nothing here is trusted for them;
``witnesses`` and its neighbours compute witnesses again; ``verify`` checks a report from the file alone.
"""
