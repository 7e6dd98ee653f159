"""Certificates: rigorous upper bounds as plain data, and the small kernel that checks them.

``build`` writes certificates, ``kernel`` checks one, ``verify`` checks a whole report. What has to be trusted
is ``kernel``, ``terms``, the rule files, and the exact numbers and balls below them; everything else only
proposes.
"""
