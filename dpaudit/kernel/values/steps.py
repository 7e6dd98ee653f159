"""All rules by the name of their operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpaudit.kernel.values.arrays import ARRAYS
from dpaudit.kernel.values.elementwise import ELEMENTWISE, Rule
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting, need

__all__ = ["RULES", "derive"]

RULES: dict[str, Rule] = {**ELEMENTWISE, **ARRAYS}

#: Operands of each operation; ``None``: any number.
OPERANDS = {
    **dict.fromkeys(RULES, 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "mod", "minimum", "maximum", "and", "or"), 2),
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne", "matrix", "outer", "softmax"), 2),
    **dict.fromkeys(("data", "const", "public"), 0),
    "where": 3,
    "stack": None,
    "columns": None,
}


def derive(s: Setting, op: str, ids: Sequence[int], infos: Sequence[Info], params: dict[str, Any]) -> Info:
    """The bounds of the result of one operation, from those of its operands.

    Raises
    ------
    RefusedStepError
        The operation is unknown, or the conditions of its rule do not hold.
    """
    need(op in RULES, f"the operation {str(op)[:40]!r} has no rule")
    wanted = OPERANDS[op]
    need(wanted is None or len(infos) == wanted, f"{op} takes {wanted} operands")
    if op != "softmax":
        need(
            not any("softmax" in info.facts for info in infos),
            "probabilities made of private scores are of use only in rng.choice",
        )
    found = RULES[op](s, ids, infos, params)
    _require_sound(s, found)
    return found


def _require_sound(s: Setting, info: Info) -> None:
    """Extents and bounds have a possible sign: a negative one would lower a cost."""
    for extent in info.shape:
        need(
            extent >= 0 if isinstance(extent, int) else s.at_most(0, extent), "a shape has a negative extent"
        )
    for bound in (info.change1, info.change2, info.change, info.norm1, info.norm2):
        most = s.largest(bound)
        need(most is None or most.numerator >= 0, "a bound on a change or norm is negative")


__all__ += ["RefusedStepError"]
