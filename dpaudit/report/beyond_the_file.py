"""State what ``dpaudit verify`` cannot know from the report file alone.

The command line, the HTML page, the README and docs/verify.md print this text.
"""

from __future__ import annotations

__all__ = ["CANNOT_KNOW"]

#: The text at the end of every verification.
CANNOT_KNOW = (
    "From the file alone dpaudit verify confirms arithmetic: that each bound follows from the rule tree, or "
    "from the distributions and values, that the file shows, and each verdict from the evidence "
    "beside it. It cannot "
    "know that these trees, distributions, inputs, neighbours, texts, roles, expectations, plots and "
    "stamps are the "
    "program's, that an estimate's runs took place, or that no row or cell is missing or set aside; dpaudit "
    "verify --suite runs the programs again and compares."
)
