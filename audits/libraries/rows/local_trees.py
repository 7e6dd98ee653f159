"""Trees of local reports: ldp-hierarchical-mechanism, which builds on pure-ldp."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np

from audits.libraries.released import released, seeding
from audits.libraries.second_routes import event
from dpaudit.core.claims import PureDP
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import ball

__all__ = ["rows"]

rows = Group("Trees of local reports")

#: Three levels of reports with ε = 1/2 each.
TREE = PureDP(epsilon="3/2", domain="one user's value")

TREES: dict[str, Any] = {
    "package": "ldp-hierarchical-mechanism",
    "version": "0.1.3",
    "needs": ("sklearn", "tqdm"),
}


class _RecordingServer:
    """A server that records the reports of one user."""

    def __init__(self, reports: list[Any]) -> None:
        self._reports = reports

    def aggregate(self, report: Any) -> None:
        self._reports.append(report)


def _reports(protocol: str) -> Any:
    """Return the reports of one user's value to the servers of all levels."""
    from hierarchical_mechanism_LDP.mechanism import Private_TreeBary

    made = Private_TreeBary(8, 2, 0.5, protocol)

    def reports(value: int) -> list[Any]:
        received: list[Any] = []
        own = copy.copy(made)
        own.clients, own.servers = list(made.clients), [_RecordingServer(received)] * len(made.servers)
        own.update_tree(np.array([value]))
        return received

    return seeding(reports)


@released(rows, "ldp-hierarchical/unary", claim=TREE, **TREES)
def unary() -> tuple[Any, list[tuple[Any, Any]]]:
    """One user's reports on all 3 levels of Private_TreeBary are ε (depth - 1)-LDP, ε = 1/2 (ideal)

    Note: eps is the budget of one level, and each user reports on all levels by default. get_privacy and the
    README state this.
    """
    return _reports("unary_encoding"), [(0, 7), (3, 4)]


@released(
    rows,
    "ldp-hierarchical/direct",
    claim=TREE,
    second=event(
        "the report of the first level is -1",
        inputs=(0, 7),
        p=lambda: ball(Fraction(1, 2)).exp() / (ball(Fraction(1, 2)).exp() + 1),
        q=lambda: Fraction(0),
    ),
    **TREES,
)
def direct() -> tuple[Any, list[tuple[Any, Any]]]:
    """The same reports with protocol="direct_encoding" are ε (depth - 1)-LDP, ε = 1/2 (ideal)

    Refuted: The function get_client_server makes the clients of pure-ldp without index_mapper, whose default
    expects values from 1 on (x - 1), while the tree numbers its intervals from 0. The first interval of a
    level becomes -1, which direct encoding reports with probability e^ε/(e^ε + d - 1), and never reports for
    another interval: a report of -1 identifies the interval with certainty. index_mapper=lambda x: x repairs
    it. Unary encoding takes -1 as the last entry, which is only a renumbering (the other row on this tree).
    """
    return _reports("direct_encoding"), [(0, 7)]
