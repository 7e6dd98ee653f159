"""Write the certificate of a bounded proof as ``dpaudit/kernel/program_t0.py`` reads it.

It is plain JSON with exact strings. ``tree`` lists the nodes, parents first:

- ["draw", distribution, scale, next]
- ["finite", weights, [next, ...]]
- ["show", text, next]
- ["form", form, next]
- ["release", form, distribution, scale, next], with the variance as the scale of a Gaussian
- ["compare", form, strict, next if below, next if not]
- ["fork", question, [next, ...]]
- ["empty", multipliers]
- ["end"]

``cells`` partition the paths, which are counted in the order of the tree. A cell has ``shifts``: the shifts
of its draws for each extreme change of the data. A cell of several paths also has its ``rows``, the
multipliers ``inside`` by which each path implies them, and the ``cuts`` that exclude other paths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpaudit.prover.explore import Explored, Node
from dpaudit.prover.regions import Merged

__all__ = ["merged_fields", "written_tree"]


def _numbers(weights: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: str(weight) for name, weight in weights.items()}


def written_tree(
    explored: Explored, leads: Callable[[tuple[Any, ...]], list[Any]] | None = None
) -> list[list[Any]]:
    """Return the tree as a list of nodes.

    ``leads`` writes the end of a path that continues elsewhere (an event "goto" of a generic step). The
    function raises nothing: an unexplored branch becomes a missing node, which the checker rejects.
    """
    order = explored.positions
    nodes: list[list[Any]] = [[] for _ in range(len(order) - 1)]

    def place(then: Node | dict[str, Fraction] | None) -> int | None:
        if then is None:
            return None
        if isinstance(then, Node):
            return order[id(then)] - 1
        nodes.append(["empty", _numbers(then)])
        return len(nodes) - 1

    pending: list[Any] = [explored.root.then[0]]
    while pending:
        node = pending.pop()
        following = [place(then) for then in node.then]
        goes_on = leads is not None and node.event[0] == "goto"
        nodes[order[id(node)] - 1] = leads(node.event) if goes_on and leads else _written(node, following)
        pending.extend(then for then in node.then if isinstance(then, Node))
    return nodes


def _written(node: Node, then: list[int | None]) -> list[Any]:
    kind, *rest = node.event
    if kind == "draw":
        return ["draw", rest[0], str(rest[1]), then[0]]
    if kind == "finite":
        return ["finite", [str(weight) for weight in rest[0]], then]
    if kind == "show":
        return ["show", rest[0], then[0]]
    if kind == "form":
        return ["form", rest[0].to_json(), then[0]]
    if kind == "release":
        return ["release", rest[0].to_json(), rest[1], str(rest[2]), then[0]]
    if kind == "compare":
        return ["compare", rest[0].to_json(), rest[1], *then]
    if kind == "fork":
        return ["fork", rest[0], then]
    return ["end"]


def merged_fields(merged: Merged) -> dict[str, Any]:
    """Return the fields of a cell of several paths, except its paths and shifts."""
    return {
        "rows": [form.to_json() for form in merged.rows],
        "inside": [[_numbers(weights) for weights in one] for one in merged.inside],
        "cuts": {
            f"{node - 1}.{answer}": _numbers(weights) for (node, answer), weights in merged.cuts.items()
        },
    }
