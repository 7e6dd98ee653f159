"""Derive the bounds of a step with the rule of its operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpaudit.kernel.values.arrays import ARRAYS
from dpaudit.kernel.values.elementwise import ELEMENTWISE, Rule
from dpaudit.kernel.values.fixed_samples import SAMPLES, sampled_facts
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting, need
from dpaudit.kernel.values.order_statistics import order_facts
from dpaudit.kernel.values.selections import SELECTIONS
from dpaudit.kernel.values.texts import TEXTS

__all__ = ["RULES", "derive"]

RULES: dict[str, Rule] = {**ELEMENTWISE, **ARRAYS, **SELECTIONS, **TEXTS, **SAMPLES}

#: Number of operands of each operation. ``None`` means any number.
OPERANDS = {
    **dict.fromkeys(RULES, 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "mod", "minimum", "maximum", "and", "or"), 2),
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne", "matrix", "outer", "softmax"), 2),
    **dict.fromkeys(("data", "const", "public", "sample"), 0),
    "where": 3,
    "stack": None,
    "columns": None,
    "gather": None,
}

#: Operations on texts. The second one only counts them.
OF_TEXTS = ("of_text", "ones")


def derive(s: Setting, op: str, ids: Sequence[int], infos: Sequence[Info], params: dict[str, Any]) -> Info:
    """Derive the bounds of the result of one operation from the bounds of its operands.

    Raises
    ------
    RefusedStepError
        The operation is unknown, or the conditions of its rule do not hold.
    """
    need(op in RULES, f"the operation {str(op)[:40]!r} has no rule")
    wanted = OPERANDS[op]
    need(
        wanted is None or len(infos) == wanted,
        f"the operation {op} requires {wanted} operands, got {len(infos)}",
    )
    need(
        op in OF_TEXTS or not any(info.kind == "t" for info in infos),
        "a private text can only be used in functions of one text that return a number",
    )
    if op != "softmax":
        need(
            not any("softmax" in info.facts for info in infos),
            "probabilities computed from private scores can only be used in rng.choice",
        )
    found = RULES[op](s, ids, infos, params)
    _require_sound(s, found)
    found = _with_order(s, op, ids, infos, params, found)
    found = sampled_facts(s, op, ids, infos, params, found)
    # A value that never changes may have the guard of its operands, but its rows are not 0 outside of it.
    return found if found.private or found.guard is None else replace(found, guard=None)


def _with_order(
    s: Setting, op: str, ids: Sequence[int], infos: Sequence[Info], params: dict[str, Any], found: Info
) -> Info:
    """Return the bounds with the facts on order statistics of this step, not of its operands."""
    facts = {name: fact for name, fact in found.facts.items() if name not in ("order", "tests")}
    more = order_facts(s, op, ids, infos, params, found)
    return replace(found, facts=facts | more) if more or len(facts) < len(found.facts) else found


def _require_sound(s: Setting, info: Info) -> None:
    """Refuse negative extents and bounds, because they would lower a cost."""
    for extent in info.shape:
        need(
            extent >= 0 if isinstance(extent, int) else s.at_most(0, extent),
            "a shape must not have a negative extent",
        )
    for bound in (info.change1, info.change2, info.change, info.norm1, info.norm2):
        most = s.largest(bound)
        need(most is None or most.numerator >= 0, "a bound on a change or norm must not be negative")


__all__ += ["RefusedStepError"]
