"""Bound the cost of outcomes that hide who sent a message, or whose record was sampled.

Such a release has no separate draw. Its law in the record is one of these:

* ``shuffled``: a function of the multiset of all users' messages, which are drawn by one randomiser. User i
  has the private symbol ``nodes[i]``. The randomiser keeps a bit with probability e^epsilon / (1 + e^epsilon)
  (``epsilon``), or row x of ``rows`` has the exact probabilities of the messages for the symbol x.
* ``subsampled-gaussian``: the sum of the rows of ``node`` over a sample, plus Gaussian noise of ``variance``
  on each coordinate. Each record is in the sample with probability ``rate``, independently, and nobody sees
  the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.costs import Cost, mechanism
from dpaudit.kernel.values.info import Info, Setting, Support, disjoint, magnitude, need, union
from dpaudit.kernel.values.polynomials import Poly, upper_root

__all__ = ["AMPLIFIED", "BLANKET_GRID", "amplified_cost"]

AMPLIFIED = ("shuffled", "subsampled-gaussian")
#: The grid of the values of a privacy blanket.
BLANKET_GRID = {"step": "1/100", "bits": "128", "tail": "70"}


def amplified_cost(s: Setting, infos: Sequence[Info], release: dict[str, Any]) -> tuple[Cost, Support]:
    """Return the cost of an amplified release, and the records that it depends on."""
    law = release["law"]
    need(law in AMPLIFIED and release.keys() >= {"law", "node"}, "an amplified release has a law and a node")
    return (_shuffled if law == "shuffled" else _subsampled)(s, infos, release)


def _shuffled(s: Setting, infos: Sequence[Info], release: dict[str, Any]) -> tuple[Cost, Support]:
    """Return the cost of shuffled messages: rule ``shuffled-response`` or ``shuffled-table``.

    *Proof.* Given earlier outcomes, the messages are independent, and each is drawn from the row of its
    user's symbol. The supports of the symbols are disjoint and one record changes, so at most one symbol
    changes. It is one of the inputs of the table on both sides. This is the mechanism of the rule, whose
    bounds hold for all values of the other symbols, constants included.
    """
    need(s.group == 1 and not s.length_is_private, "shuffled messages require one message of one record each")
    nodes = release["nodes"]
    need(isinstance(nodes, list) and nodes, "shuffled messages require the symbols of all users")
    need(all(type(k) is int and 0 <= k < len(infos) for k in nodes), "a symbol must be an existing step")
    response = release.keys() == {"law", "node", "nodes", "epsilon"}
    need(response or release.keys() == {"law", "node", "nodes", "rows"}, "a randomiser has epsilon or rows")
    inputs = 2 if response else len(release["rows"])
    support: Support = ()
    for info in (infos[k] for k in nodes):
        need(info.shape == () and not info.records and info.kind in "bi", "a symbol must be a single integer")
        inside = info.low is not None and s.at_most(0, info.low) and s.at_most(info.high, inputs - 1)
        need(inside, f"a symbol must provably be from 0 to {inputs - 1}")
        own = info.support if info.private else ()
        need(disjoint(support, own), "two of the shuffled messages may depend on the same record")
        support = union(support, own)
    users = str(len(nodes))
    if response:
        local = Fraction(release["epsilon"])
        tree = mechanism("shuffled-response", {"users": users, "local": str(local)})
        return (Cost(mechanisms=(tree,)) if support != () and local else Cost()), support
    rows = [[str(Fraction(chance)) for chance in row] for row in release["rows"]]
    tree = mechanism("shuffled-table", {"users": users, "rows": rows, "grid": BLANKET_GRID})
    return (Cost(mechanisms=(tree,)) if support != () else Cost()), support


def _subsampled(s: Setting, infos: Sequence[Info], release: dict[str, Any]) -> tuple[Cost, Support]:
    """Return the cost of a sum over a Poisson subsample: rule ``poisson-subsampled-gaussian``.

    *Proof.* Row i of the node is a function of record i and of earlier outcomes, and there is one row for
    each record. So x' has the same rows as x and one more, or one less. Under replace-one, one row is
    replaced by another. Its L2 norm is at most the bound on the norm of a row. This is the mechanism of the
    rule, whose bound holds for all values of the other rows. Under zero-out, the rule is that of a row that
    becomes 0, but the row of a null record need not be 0. So there is no such bound.
    """
    need(release.keys() == {"law", "node", "rate", "variance"}, "a subsampled sum has a rate and a variance")
    node = release["node"]
    need(type(node) is int and 0 <= node < len(infos), "a release must refer to an existing step")
    info, rate, variance = infos[node], Fraction(release["rate"]), Fraction(release["variance"])
    need(
        s.adjacency in ("add-remove", "replace-one") and s.group == 1,
        "a sum over a Poisson subsample requires adjacency='add-remove' or 'replace-one' of one record",
    )
    one_each = info.records == 1 and info.shape[:1] == (_number_of_records(s),) and len(info.shape) <= 2
    need(one_each and info.aligned == (0, None, 1), "a Poisson subsample requires one row for each record")
    need(
        0 < rate < 1 and variance > 0, "a Poisson subsample requires a rate in (0, 1) and a variance above 0"
    )
    norm = _norm_of_row(s, info)
    need(norm is not None, "the norm of a record's row is not bounded (clip it)")
    if not norm:
        return Cost(), info.support
    parameters = {"sensitivity": str(norm), "rate": str(rate), "variance": str(variance)}
    return Cost(mechanisms=(mechanism("poisson-subsampled-gaussian", parameters),)), info.support


def _number_of_records(s: Setting) -> Poly:
    return Poly.symbol("N") if s.size is None else Poly.of(s.size)


def _norm_of_row(s: Setting, info: Info) -> Fraction | None:
    """Return a bound on the L2 norm of a row, which is its absolute value if it is a single number."""
    squared, most = s.largest(info.norm2), s.largest(magnitude(s, info))
    bounds = [None if squared is None else upper_root(squared), most if len(info.shape) == 1 else None]
    return min((bound for bound in bounds if bound is not None), default=None)
