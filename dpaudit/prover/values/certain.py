"""Decide conditions on private data that the declared range of the data alone decides.

Programs often check that their data lie in the declared range. Such a check has the same answer for all data.
Only entries of the data are compared, without arithmetic, so that rounding cannot change the answer.
"""

from __future__ import annotations

from dpaudit.kernel.values.polynomials import Bound
from dpaudit.prover.values.run import Run

__all__ = ["certain"]

#: Steps that return entries of their operand unchanged, or constants.
ENTRIES = ("data", "const", "pick", "rows", "reshape", "cast")
TURNED = {"gt": "lt", "ge": "le"}


def certain(run: Run, node: int) -> bool | None:
    """Return the answer if a Boolean step has it in every entry, for all declared data, and None otherwise.

    ``a <= b`` holds everywhere if the largest a is at most the smallest b, and nowhere if the smallest a is
    greater than the largest b. ``and`` and ``or`` of constant answers are constant. ``all`` of an array that
    is true everywhere is true, also for an empty array. If it is false everywhere, nothing is concluded.
    """
    op, ids, _ = run.record.nodes[node]
    if op in ("and", "or", "not", "all", "reshape", "pick", "rows"):
        answers = [certain(run, k) for k in ids]
        if None in answers:
            return None
        if op == "not":
            return not answers[0]
        if op == "all":
            return True if answers[0] else None
        return all(answers) if op == "and" else any(answers)
    if op not in ("lt", "le", "gt", "ge") or not all(_is_exact(run, k) for k in ids):
        return None
    left, right = ids if op in ("lt", "le") else reversed(ids)
    return _decided(run, TURNED.get(op, op), left, right)


def _decided(run: Run, op: str, left: int, right: int) -> bool | None:
    a, b = run.record.infos[left], run.record.infos[right]
    if _holds(a.high, b.low, strict=op == "lt"):
        return True
    return False if _holds(b.high, a.low, strict=op == "le") else None


def _holds(low: Bound, high: Bound, *, strict: bool) -> bool:
    if low is None or high is None or low.number is None or high.number is None:
        return False
    return low.number < high.number if strict else low.number <= high.number


def _is_exact(run: Run, node: int) -> bool:
    op, ids, _ = run.record.nodes[node]
    return op in ENTRIES and all(_is_exact(run, k) for k in ids)
