"""Witnesses of programs: never above what is proved, refused where anything of them was changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import ProgramProof, Witness
from dpaudit.distributions import Laplace
from dpaudit.prover import EachMoves, OneReplaced, Symbols
from dpaudit.reference.mechanisms.proved_programs import PROVED_PROGRAMS, ProvedProgram
from dpaudit.reference.mechanisms.sparse_vector_programs import sparse_vector
from dpaudit.suite.program_proofs import Proving

WRONG = [item for item in PROVED_PROGRAMS if not item.right and item.wrong_verdict == "refuted"]
FREE = [item for item in PROVED_PROGRAMS if item.right and item.data.low is None and not item.data.integers]


def of(item: ProvedProgram, epsilon: Fraction) -> tuple[Proving, Witness | None, Fraction | None]:
    """The witness against a claim of ``epsilon``, and the proved bound."""
    proving = Proving(program=item.program, epsilon=epsilon, data=item.data, adjacency=item.adjacency)
    evidence = proving.outcome().evidence
    witness = next((one for one in evidence if isinstance(one, Witness)), None)
    return proving, witness, next((one.bound for one in evidence if isinstance(one, ProgramProof)), None)


@pytest.mark.parametrize("item", WRONG, ids=lambda item: item.name)
def test_a_wrong_program_is_refuted_within_its_known_optimum(item: ProvedProgram) -> None:
    """Above the claim and not above the known epsilon; infinite where that is."""
    proving, witness, _ = of(item, item.claim)
    assert witness is not None
    found = recompute(witness, proving.claim)
    # a transcript's loss is in a ball
    assert found == witness.bound or (
        witness.form == "transcript" and found and 0 <= found - witness.bound < 1e-9
    )
    if witness.bound is None:
        assert item.bound == float("inf")
    else:
        assert item.claim < witness.bound <= item.bound


@pytest.mark.parametrize("item", FREE, ids=lambda item: item.name)
def test_a_right_program_is_refuted_below_its_epsilon_only(item: ProvedProgram) -> None:
    """At nine tenths of its proved epsilon a witness, if there is one, says no more than the proof."""
    assert isinstance(item.bound, Fraction)
    _, none, bound = of(item, item.bound)
    assert none is None
    assert bound == item.bound
    _, witness, _ = of(item, item.bound * 9 / 10)
    assert witness is None or (witness.bound is not None and witness.bound <= item.bound)


RAY = Proving(
    program=sparse_vector(threshold=4, query="4/3"), epsilon=1, data=Symbols(3), adjacency=EachMoves(by=1)
)


def noisy_sum(coins: Any, data: Any) -> None:
    coins.release(sum(data), Laplace(scale="1/2"), site="sum")


STRAIGHT = Proving(program=noisy_sum, epsilon=1, data=Symbols(2, low=0, high=1), adjacency=OneReplaced())


def witness_of(proving: Proving) -> Witness:
    return next(one for one in proving.outcome().evidence if isinstance(one, Witness))


def _first(body: dict[str, Any], table: str, value: str) -> None:
    body[table][next(iter(body[table]))] = value


def _noisier(tree: list[Any]) -> None:
    for node in tree:
        if node[0] == "draw":
            node[2] = "400"


EDITS: dict[str, tuple[Proving, Callable[[dict[str, Any]], object]]] = {
    "a longer step": (RAY, lambda body: _first(body, "change", "3")),
    "data that are not there": (RAY, lambda body: body["change"].update(x9="1")),
    "larger multipliers": (RAY, lambda body: body["weights"][0][0].update({"0": "100"})),
    "negative multipliers": (RAY, lambda body: body["weights"][0][0].update({"0": "-1"})),
    "no multipliers": (RAY, lambda body: body["weights"][0][0].clear()),
    "a path of another outcome": (RAY, lambda body: body.update(paths=[body["paths"][0] - 1])),
    "a path twice": (RAY, lambda body: body["paths"].append(body["paths"][0])),
    "an impossible start": (RAY, lambda body: body["point"].update(n0="1000", n1="-1000")),
    "infinite": (RAY, lambda body: body.update(infinite=True)),
    "no ray": (RAY, lambda body: body.update(kind="straight")),
    "other neighbours": (RAY, lambda body: body["adjacency"].update(by="2")),
    "more noise": (RAY, lambda body: _noisier(body["tree"])),
    "a field besides": (RAY, lambda body: body.update(remark="true")),
    "a ray in bounded data": (STRAIGHT, lambda body: body.update(kind="ray", weights=[[{}, ["2"]]])),
    "data outside": (STRAIGHT, lambda body: _first(body, "start", "7")),
    "noise that moves further": (STRAIGHT, lambda body: _first(body, "weights", "5")),
    "shown bare": (STRAIGHT, lambda body: body.update(kind="shown", weights=["1"])),
    "more noise in the sum": (STRAIGHT, lambda body: body["tree"][0].__setitem__(3, "4")),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_changed_witness_is_refused(name: str) -> None:
    """Each edit fails, or gives a smaller bound than is stated; unchanged it holds."""
    proving, edit = EDITS[name]
    witness = witness_of(proving)
    assert recompute(witness, proving.claim) == witness.bound
    body = copy.deepcopy(witness.body)
    edit(body)
    assert body != witness.body, "nothing was changed"
    with pytest.raises(CertificateError):
        recompute(replace(witness, body=body), proving.claim)


def test_a_witness_is_about_its_own_size_and_neighbours() -> None:
    """A claim of another domain, unit or adjacency is another claim; more than the bound is too much."""
    witness = witness_of(STRAIGHT)
    assert witness.bound == 2
    for changed in (PureDP(epsilon=1), replace(STRAIGHT.claim, unit="user")):
        with pytest.raises(CertificateError):
            recompute(witness, changed)
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(replace(witness, bound=Fraction(3)), STRAIGHT.claim)
