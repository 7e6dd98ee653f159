"""Test the checker of proofs for every size: it runs standalone, and forged certificates prove nothing
false."""

from __future__ import annotations

import copy
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.distributions import Laplace
from dpaudit.kernel import step_t0
from dpaudit.prover import EVERY, EachMoves, OneReplaced, Symbols, prove
from dpaudit.prover.forms import Form
from dpaudit.reference.mechanisms.lazy_bandit_programs import lazy_ucb
from dpaudit.reference.mechanisms.prefix_sum_programs import smart_sums
from dpaudit.reference.mechanisms.sparse_vector_programs import (
    adaptive_sparse_vector,
    numeric_sparse_vector,
    sparse_vector,
)
from tests.prover.frames import needs_frames

pytestmark = needs_frames

ALONE = Path(str(step_t0.__file__))

Certificate = dict[str, Any]


def certificate(program: Any, adjacency: Any = None, **data: Any) -> Certificate:
    proof = prove(program, PureDP(epsilon=1), data=Symbols(EVERY, **data), adjacency=adjacency or EachMoves())
    assert proof.certificate is not None
    return proof.certificate


CASES: dict[str, Callable[[], Certificate]] = {
    "sparse vector": lambda: certificate(sparse_vector(threshold=2, query=4)),
    "second answer": lambda: certificate(sparse_vector(threshold=2, query=8, cut_off=2)),
    "value": lambda: certificate(numeric_sparse_vector(threshold=3, query=6, value=3)),
    "adaptive": lambda: certificate(adaptive_sparse_vector(answers=1)),
    "smart sums": lambda: certificate(smart_sums(scale=2, block=2), OneReplaced(), low=0, high=1),
    "lazy": lambda: certificate(lazy_ucb(arms=2, scale=1), OneReplaced(), low=0, high=1, width=2),
}


def test_it_runs_alone(tmp_path: Path) -> None:
    """The standalone checker exits with 0 for a proof, 1 for a smaller claim, 2 without a file."""
    whole = CASES["sparse vector"]()
    file = tmp_path / "proof.json"
    for epsilon, code in (("1", 0), ("99/100", 1)):
        whole["claim"]["epsilon"] = epsilon
        file.write_text(json.dumps(whole))
        command = [sys.executable, "-I", "-S", str(ALONE), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert "derived 1 from 7 paths" in done.stdout
    assert step_t0.main([str(tmp_path / "none.json")]) == 2
    assert step_t0.main([]) == 2
    imports = [
        line.split() for line in ALONE.read_text().splitlines() if line.strip().startswith("from dpaudit")
    ]
    assert [line[1] for line in imports] == ["dpaudit.kernel.claim_t0"]


def test_floats_and_double_keys_are_refused(tmp_path: Path) -> None:
    """Floats, repeated keys, NaN and lists are refused."""
    file = tmp_path / "proof.json"
    for text in ('{"claim": {"epsilon": 1.0}}', '{"claim": {}, "claim": {}}', '{"claim": NaN}', "[]"):
        file.write_text(text)
        assert step_t0.main([str(file)]) == 1


@pytest.mark.parametrize("name", CASES)
def test_changed_numbers_prove_no_less(name: str) -> None:
    """A random change of a run is refused or still derives at least 1, near which each program's loss
    comes."""
    whole, rng, refused = CASES[name](), random.Random(name), 0
    assert step_t0.check(whole).epsilon == 1
    for _ in range(150):
        forged = copy.deepcopy(whole)
        _change(forged["runs"], rng)
        try:
            assert step_t0.check(forged).epsilon >= 1
        except step_t0.StepProofError:
            refused += 1
    assert refused >= 40


def _change(node: Any, rng: random.Random) -> None:
    """Change one random leaf of nested lists and dicts."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(node[key], dict | list) and node[key]:
            node = node[key]
            continue
        kinds: dict[type, list[Any]] = {
            str: ["0", "1", "-1", "1/2", "1/1000", "2"],
            int: [0, 1, 2, -1, None, True],
        }
        node[key] = rng.choice(kinds.get(type(node[key]), [None, "0", 0, []]))
        return


def forged(name: str, change: Callable[[Certificate], Any]) -> Certificate:
    whole = copy.deepcopy(CASES[name]())
    change(whole)
    return whole


def compare(tree: list[list[Any]]) -> list[Any]:
    return next(node for node in tree if node[0] == "compare")


def first(tree: list[list[Any]], kind: str) -> list[Any]:
    return next(node for node in tree if node[0] == kind)


FORGERIES: dict[str, tuple[str, Callable[[Certificate], Any]]] = {
    "an answer is cut off without a reason": (
        "sparse vector",
        lambda c: (
            compare(c["states"][0]["step"]).__setitem__(4, len(c["states"][0]["step"]))
            or c["states"][0]["step"].append(["empty", {"0": "1"}])
        ),
    ),
    "a branch runs back": (
        "sparse vector",
        lambda c: compare(c["states"][0]["step"]).__setitem__(4, 0),
    ),
    "a state's value is not carried": (
        "sparse vector",
        lambda c: first(c["states"][0]["step"], "goto").__setitem__(2, {}),
    ),
    "a state's value is replaced by a draw": (
        "sparse vector",
        lambda c: first(c["states"][0]["step"], "goto").__setitem__(2, {"s9": {"n0": "1"}}),
    ),
    "a form has a value of no state": (
        "sparse vector",
        lambda c: compare(c["states"][0]["step"])[1].update({"s7": "1"}),
    ),
    "a draw that was not made": (
        "sparse vector",
        lambda c: compare(c["states"][0]["step"])[1].update({"n5": "1"}),
    ),
    "the record before the loop": (
        "sparse vector",
        lambda c: c["before"].insert(0, ["form", {"x0": "1"}, 1]),
    ),
    "the exit comes back": (
        "sparse vector",
        lambda c: c["states"][0].__setitem__("exit", [["goto", 0, {}]]),
    ),
    "a negative potential": ("sparse vector", lambda c: c["runs"][0]["nodes"][0].__setitem__(3, "-1")),
    "a potential that is too small": (
        "sparse vector",
        lambda c: c["runs"][0]["nodes"][0].__setitem__(3, "1/4"),
    ),
    "no run at all": ("sparse vector", lambda c: c["runs"].clear()),
    "moves are missing": ("sparse vector", lambda c: c["runs"][0]["moves"][0].pop()),
    "a path is missing": ("sparse vector", lambda c: c["runs"][0]["moves"][0][0].pop()),
    "exits are missing": ("lazy", lambda c: c["runs"][0]["exits"][0].clear()),
    "the start is missing": ("sparse vector", lambda c: c["runs"][0]["start"].clear()),
    "discrete noise": (
        "sparse vector",
        lambda c: first(c["before"], "draw").__setitem__(1, "discrete-laplace"),
    ),
    "a scale of 0": ("sparse vector", lambda c: first(c["before"], "draw").__setitem__(2, "0")),
    "a release that costs nothing": ("value", lambda c: _release(c).__setitem__(3, "-3")),
    "a claim of one replaced record, by less than its domain": (
        "lazy",
        lambda c: c["adjacency"].update({"by": "1/2", "at_most": False}),
    ),
    "one corner of a record": ("lazy", lambda c: c["runs"][0]["moves"][0].pop()),
    "the changed record is forgotten": ("lazy", lambda c: _same_phase(c)),
    "another width": ("lazy", lambda c: c["data"].update({"width": 1})),
    "a fixed size": ("sparse vector", lambda c: c["data"].update({"size": 3})),
    "the other kind of proof": ("sparse vector", lambda c: c.update({"proof": "program, own regions"})),
    "a symbol twice": ("sparse vector", lambda c: c["states"][0]["symbols"].append("s9")),
    "a symbol that looks like a draw": (
        "sparse vector",
        lambda c: c["states"][0].__setitem__("symbols", ["n0"]),
    ),
}


def _release(whole: Certificate) -> list[Any]:
    return next(node for state in whole["states"] for node in state["step"] if node[0] == "release")


def _same_phase(whole: Certificate) -> None:
    for node in whole["runs"][0]["nodes"]:
        node[1] = 0


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused(name: str) -> None:
    """Each forgery breaks one condition of the rule and is refused."""
    case, change = FORGERIES[name]
    with pytest.raises(step_t0.StepProofError):
        step_t0.check(forged(case, change))


def test_cycles_with_a_tiny_cost_have_no_potential() -> None:
    """A cost of 1e-9 per record has no potential and no bound (H10)."""

    def tiny(coins: Any, data: Any) -> None:
        for value in data:
            coins.release(value, Laplace(scale=10**9), site="shown")

    proof = prove(tiny, PureDP(epsilon=1), data=Symbols(EVERY), adjacency=EachMoves())
    assert (proof.verdict, proof.bound, proof.certificate) == ("inconclusive", math.inf, None)


def test_a_null_set_needs_a_draw_of_its_own_step() -> None:
    """A tie of a state's value is possible, while a tie of this step's noise is a null set (H8)."""

    def tree(kind: str) -> list[list[Any]]:
        start: list[list[Any]] = [["draw", "laplace", "1", 1]]
        return [
            *start,
            ["compare", {kind: "1"}, False, 2, 5],
            ["compare", {kind: "-1"}, False, 3, 4],
            ["empty", {"0": "1", "1": "1"}],
            ["end"],
            ["end"],
        ]

    assert len(step_t0.Tree(tree("n0"), (), {}, None).paths) == 2
    with pytest.raises(step_t0.StepProofError, match="prove nothing"):
        step_t0.Tree(tree("s0"), ("s0",), {}, None)


def test_forms_agree_with_those_of_the_prover() -> None:
    """Sums and changes of forms agree between the checker and the prover."""
    rng = random.Random(0)
    for _ in range(50):
        terms = {f"s{i}": Fraction(rng.randint(-3, 3), rng.randint(1, 4)) for i in range(3)}
        moved = {f"s{i}": Fraction(rng.randint(-3, 3), rng.randint(1, 4)) for i in range(3)}
        ours = step_t0.total([(Fraction(1), (tuple(terms.items()), Fraction(1)))])
        assert step_t0.change(ours, moved) == Form(terms, Fraction(1)).change(moved)
