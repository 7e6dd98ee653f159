"""The picture of a proof: what the page shows is what the code draws; its most expensive leaf costs the
bound."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.prover import EachMoves, Symbols, prove
from dpaudit.prover.picture import in_words, path_tree
from dpaudit.reference.mechanisms.proved_programs import PROVED_PROGRAMS, ProvedProgram

PAGE = (Path(__file__).parents[2] / "docs" / "prover.md").read_text(encoding="utf-8")


def certificate(program: Any, data: Symbols, adjacency: Any) -> tuple[dict[str, Any], Any]:
    proof = prove(program, PureDP(epsilon=1), data=data, adjacency=adjacency)
    assert proof.certificate is not None
    return proof.certificate, proof.bound


def test_the_page_shows_what_is_drawn() -> None:
    """The example's program on two records, drawn, stands on the page word for word."""
    names: dict[str, Any] = {}
    exec(compile(re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)[0], "prover.md", "exec"), names)
    drawn = path_tree(certificate(names["above"], Symbols(2), EachMoves())[0])
    assert "\n".join(f"    {line}" for line in drawn.splitlines()) in PAGE


@pytest.mark.parametrize(
    "item",
    [item for item in PROVED_PROGRAMS if isinstance(item.bound, Fraction) and item.bound < 5],
    ids=lambda item: item.name,
)
def test_the_dearest_leaf_costs_the_bound(item: ProvedProgram) -> None:
    """Of all cells with shifts; one that is solved for a draw says so, and then none costs more."""
    written, bound = certificate(item.program, item.data, item.adjacency)
    drawn = path_tree(written)
    costs = [Fraction(cost) for cost in re.findall(r"costs (\S+)$", drawn, re.M)]
    solved = "is solved for one draw" in drawn
    assert costs or solved
    assert max(costs, default=Fraction(0)) <= bound
    assert solved or max(costs) == bound
    assert drawn.count("end: ") == sum(node[0] == "end" for node in written["tree"])


def test_forms_read_as_sums() -> None:
    """Signs, sizes and the constant, which stands at the key of no symbol."""
    assert in_words({"n0": "1", "x1": "-3/2", "": "-2"}) == "n0 - 3/2 x1 - 2"
    assert in_words({"x0": "-1"}) == "- x0"
    assert in_words({}) == "0"
