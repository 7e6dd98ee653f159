"""Prove inequalities between formulas for all parameters of a range.

The function of a row is run on symbols and gives an expression. The search splits the range into boxes, and
``dpaudit.kernel`` checks the result without the function.
"""
