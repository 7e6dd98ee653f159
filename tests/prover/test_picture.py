"""Test the picture of a proof: the page has it word for word, and its most expensive leaf costs the bound."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.prover import EachMoves, Symbols, prove
from dpaudit.prover.picture import form_text, path_tree
from dpaudit.reference.mechanisms.proved_programs import PROVED_PROGRAMS, ProvedProgram

PAGE = (Path(__file__).parents[2] / "docs" / "prover.md").read_text(encoding="utf-8")


def certificate(program: Any, data: Symbols, adjacency: Any) -> tuple[dict[str, Any], Any]:
    proof = prove(program, PureDP(epsilon=1), data=data, adjacency=adjacency)
    assert proof.certificate is not None
    return proof.certificate, proof.bound


def test_the_page_shows_what_is_drawn() -> None:
    """The page has the picture of the example's program on two records word for word."""
    names: dict[str, Any] = {}
    exec(compile(re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)[0], "prover.md", "exec"), names)
    drawn = path_tree(certificate(names["above"], Symbols(2), EachMoves())[0])
    assert "\n".join(f"    {line}" for line in drawn.splitlines()) in PAGE


@pytest.mark.parametrize(
    "item",
    [item for item in PROVED_PROGRAMS if isinstance(item.bound, Fraction) and item.bound < 5],
    ids=lambda item: item.name,
)
def test_the_most_expensive_leaf_costs_the_bound(item: ProvedProgram) -> None:
    """The largest cost of a leaf is the bound, or at most the bound if a number is solved for a draw."""
    written, bound = certificate(item.program, item.data, item.adjacency)
    drawn = path_tree(written)
    costs = [Fraction(cost) for cost in re.findall(r"costs (\S+)$", drawn, re.M)]
    solved = "is solved for one draw" in drawn
    assert costs or solved
    assert max(costs, default=Fraction(0)) <= bound
    assert solved or max(costs) == bound
    assert drawn.count("end: ") == sum(node[0] == "end" for node in written["tree"])


def test_forms_read_as_sums() -> None:
    """Forms are written with their signs, coefficients and constant."""
    assert form_text({"n0": "1", "x1": "-3/2", "": "-2"}) == "n0 - 3/2 x1 - 2"
    assert form_text({"x0": "-1"}) == "- x0"
    assert form_text({}) == "0"
